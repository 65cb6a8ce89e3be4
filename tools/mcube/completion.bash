# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of mcube(8). Subcommands, options and what options take come from the command's
# own help, the names of profiles from the command, too.

_mcube_profiles()
{
	mcube apply --list --json 2>/dev/null |
		sed -n 's/^  "name": "\(.*\)",$/\1/p'
}

# Names of the sets of events that lie beside the command or with the administrator.
_mcube_events()
{
	local where file

	where=$(dirname "$(readlink -f "$(command -v mcube)")")
	for file in "$where"/events/*.conf "$where"/../share/mcube/events/*.conf \
		    /etc/mcube/events/*.conf; do
		[ -f "$file" ] && basename "$file" .conf
	done
}

_mcube()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} help takes='' words=''

	[ "$COMP_CWORD" -gt 1 ] || command='' prev=''
	# Without usage and examples.
	# shellcheck disable=SC2086
	help=$(mcube $command --help 2>/dev/null | sed '/^usage/,/^$/d; /^example/,$d')
	# --only {anon,file}, -o FILE, --output FILE
	[[ $prev != -* ]] || takes=$(sed -n "s/^  \(.*, \)\?$prev \([A-Z{][^ ]*\).*/\2/p" <<<"$help")
	case $command:$prev:$takes in
	corun:--profile:*) words="off $(_mcube_profiles)" ;;
	rocs:--events:*) words=$(_mcube_events) ;;
	*:PID) words=$(cd /proc && echo [0-9]*) ;;
	*:\{*\}) words=$(tr '{,}' '   ' <<<"$takes") ;;
	*:FILE*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	*:DIR* | *:PATH) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	*:[A-Z]*) return ;;
	*)
		words=$(sed -n 's/^    \([a-z]*\)  .*/\1/p; s/^  {\(.*\)}.*/\1/p
			s/^  \(-[a-z]\( [A-Z]*\)\?, \)\?\(--[a-z-]*\).*/\3/p' <<<"$help" | tr , ' ')
		case $command in
		apply) words+=" $(_mcube_profiles)" ;;
		pages) words+=" $(cd /proc && echo [0-9]*)" ;;
		replay) words+=" $(compgen -f -- "$cur")" ;;
		record) words+=" --" ;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _mcube mcube
