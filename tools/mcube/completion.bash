# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of mcube(8). The names of profiles come from the command itself.

_mcube_profiles()
{
	mcube apply --list --json 2>/dev/null |
		sed -n 's/^  "name": "\(.*\)",$/\1/p'
}

_mcube()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} words=

	if [ "$COMP_CWORD" -eq 1 ]; then
		words="check status apply off map pages corun --help"
	else
		case $command:$prev in
		*:--png) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
		*:--only) words="anon file" ;;
		corun:--profile) words="off $(_mcube_profiles)" ;;
		*:--mapping|*:--explain|*:--color*|*:--bank*|corun:--victim|corun:--with|\
		corun:--repeat|corun:--cpus|corun:--before|corun:--events) return ;;
		*)
			words="--help --json"
			case $command in
			apply) words+=" --list --dry-run $(_mcube_profiles)" ;;
			off) words+=" --dry-run" ;;
			map) words+=" show set --color --bank --explain --color-map --bank-map" ;;
			pages)
				words+=" --only --mapping --png --color-map --bank-map"
				words+=" $(cd /proc && echo [0-9]*)"
				;;
			corun)
				words+=" --victim --with --profile --repeat --cpus --before"
				words+=" --events --png"
				;;
			esac
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _mcube mcube
