# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of mcube(8). The names of profiles come from the command itself.

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
	local command=${COMP_WORDS[1]} words=

	if [ "$COMP_CWORD" -eq 1 ]; then
		words="check status apply off map pages rocs ubm setcache record replay estimate report corun --help --version"
	else
		case $command:$prev in
		*:--png|*:--plot|*:--paper|*:--save|*:--functions|*:--out|report:--output) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
		record:-o|record:--output) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
		*:--only) words="anon file" ;;
		replay:--policy) words="lru mglru ubm ubm-mglru" ;;
		setcache:--mode) words="random all" ;;
		setcache:--policy) words="lru lfu nrlfu s3fifo" ;;
		setcache:--numa) words="interleave hash-home message" ;;
		rocs:--events) words=$(_mcube_events) ;;
		rocs:--pid) words=$(cd /proc && echo [0-9]*) ;;
		rocs:--cgroup|ubm:--cgroup|record:--cgroup|record:--on|replay:--dir)
			mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
		corun:--profile) words="off $(_mcube_profiles)" ;;
		*:--mapping|*:--explain|*:--color|*:--color-map|*:--bank*|*:--cache|estimate:--repeat|corun:--victim|corun:--with|\
		corun:--repeat|corun:--cpus|corun:--before|corun:--events|rocs:--watch|*:--interval|setcache:--size|*:--seconds|record:--buffer|\
		replay:--memory|replay:--repeat) return ;;
		*)
			words="--help --json"
			case $command in
			apply) words+=" --list --boot --dry-run $(_mcube_profiles)" ;;
			off) words+=" --dry-run" ;;
			map)
				words+=" show set verify probe known --color --bank --explain"
				words+=" --color-map --bank-map --colors --cache --paper --module"
				words+=" --core --save --mib"
				words+=" --memory --page --verify --seed --clock --hypothesis"
				words+=" --functions --out"
				;;
			estimate) words+=" --repeat --cache --png" ;;
			pages)
				words+=" --only --mapping --png --color-map --bank-map"
				words+=" $(cd /proc && echo [0-9]*)"
				;;
			rocs)
				words+=" on off status profile --pid --cgroup --auto --events"
				words+=" --alloc --watch --plot"
				;;
			ubm)
				words+=" on off status watch --cgroup --interval --seconds"
				words+=" --plot"
				;;
			setcache)
				words+=" on off status watch --mode --size --policy --numa"
				words+=" --interval --seconds --plot"
				;;
			record)
				words+=" --output --seconds --cgroup --on --paths"
				words+=" --anonymous --misses --exact-faults --buffer --"
				;;
			replay)
				words+=" --dir --memory --policy --repeat --no-readahead"
				words+=" --keep $(compgen -f -- "$cur")"
				;;
			report) words+=" --output --quick --dir --kselftests --list" ;;
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
