#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's part of bench/rocs.py: policies, loads under them, and what ROCS does.
# All names of ROCS's interface are in this file.
#
# The load has CPU 1. This script has CPU 0, which has the only timer: with a load there,
# each wait of the script would take a second. The script must not fill the shared
# cache while figures are taken, so it waits and reads files without starting programs.

MCUBE=/sys/kernel/mm/mcube
ROCS=$MCUBE/rocs
SEE=/sys/kernel/debug/mcube/rocs
MODEL=/sys/bus/event_source/devices/mcube_sim
# Further processes that are targets of ROCS.
also=
# Time that a program takes until it works, in seconds of the guest.
SETUP=${SETUP:-1}

begin() {
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	# The kernel must not drop samples: how many are left would depend on the tick.
	echo 10000000 > /proc/sys/kernel/perf_event_max_sample_rate
	echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
	taskset -p 1 $$ > /dev/null
	mkfifo /tmp/never
	exec 9<> /tmp/never
}

pause() { # SECONDS, without a program
	read -r -t "$1" -u 9 || :
}

event() { # NAME: of the modelled PMU, as ROCS wants it
	local config type

	read -r type < $MODEL/type
	read -r config < "$MODEL/events/$1"
	echo "type=$type config=${config#event=} precise=0"
}

load_rocs() { # SETTING=VALUE...: the module, with the events of the modelled PMU
	local pair

	[ -d $ROCS ] || insmod /guest/mcube_rocs.ko
	event cycles > $ROCS/events/cycles
	event instructions > $ROCS/events/instructions
	event llc_refs > $ROCS/events/refs
	event llc_misses > $ROCS/events/misses
	# The data source of a sample tells a hit from a miss.
	event llc_refs > $ROCS/events/sample_hit
	echo none > $ROCS/events/sample_miss
	for pair in "$@"; do
		echo "${pair#*=}" > "$ROCS/${pair%%=*}"
	done
}

policy() { # off | hop | srm | rocs | both; SETTING=VALUE... of ROCS
	local name=$1

	shift
	[ ! -d $ROCS ] || echo 0 > $ROCS/enabled
	echo 0 > $MCUBE/alloc/enabled
	[ "$name" != off ] || return 0
	echo shuffle > $MCUBE/alloc/fill_order
	echo 1 > $MCUBE/alloc/enabled
	case $name in
	hop | srm | both) echo 1 > $MCUBE/srm/enabled ;;
	esac
	case $name in
	rocs | both)
		load_rocs "$@"
		echo 1 > $ROCS/enabled
		;;
	esac
}

fixed() { # FILE OPTION...: a load, for a fixed number of iterations
	echo 1 > $MODEL/clear
	/guest/rocsload --cpu 1 "${@:2}" > "$1"
}

lines_of() { # FILE: prints the number of its lines, without a program
	local lines

	mapfile -t lines < "$1"
	echo ${#lines[@]}
}

state_of() { # PID: sets state, to none if ROCS has no such target
	local target _ its rest

	state=none
	while read -r target _ its rest; do
		[ "$target" != "$1" ] || state=$its
	done < $SEE/targets
}

frames() { # PID FILE: frames of the load's arrays; lines of ADDRESS and entries of pagemap
	local word address pages

	while read -r word address pages; do
		[ "$word" = array ] || continue
		echo "$address $pages" >> "$2"
		dd if="/proc/$1/pagemap" bs=8 skip=$((address / 4096)) count="$pages" \
			2> /dev/null | od -An -v -t x8 -w8 >> "$2"
	done < /tmp/load
}

begin_load() { # OPTION...: a load without an end; its lines are in /tmp/load
	echo 1 > $MODEL/clear
	/guest/rocsload --cpu 1 --check "$@" > /tmp/load 2> /tmp/load.err &
	pid=$!
	until grep -q '^start' /tmp/load; do pause 0.01; done
	wait_lines 4
}

end_load() { # FILE
	kill -TERM "$pid"
	wait "$pid" || { cat /tmp/load.err; exit 1; }
	cp /tmp/load "$1"
}

# A program without an end and without figures of its own. A line of figures in /tmp/load
# is for the time between two calls of tick.
begin_program() { # COMMAND...
	echo 1 > $MODEL/clear
	taskset 2 "$@" > /dev/null 2>&1 &
	pid=$!
	rm -f /tmp/ticks
	mkfifo /tmp/ticks
	exec 8<> /tmp/ticks
	/guest/tally 1 < /tmp/ticks > /tmp/load &
	tally=$!
	ticking=1
	# The program sets up its data first.
	pause "$SETUP"
	tick
	wait_lines 4
}

end_program() { # FILE
	kill -0 "$pid" || { echo "the program ended before it was killed"; exit 1; }
	kill -KILL "$pid" "$tally"
	wait "$pid" "$tally" || :
	exec 8>&-
	ticking=
	cp /tmp/load "$1"
}

tick() { # a line of figures if the program writes none
	[ -z "$ticking" ] || { pause 0.04; echo >&8; }
}

wait_lines() { # NUMBER: of further lines
	local want=$(($(lines_of /tmp/load) + $1))

	until [ "$(lines_of /tmp/load)" -ge $want ]; do
		tick
		pause 0.02
	done
}

program() { # FILE LINES COMMAND...: a program under the policy in force
	begin_program "${@:3}"
	wait_lines "$2"
	end_program "$1"
}

# Follow the process $pid under ROCS, to the end of a time of holding. FILE.marks gets a
# line for each change of state: the state, and the lines of /tmp/load by then.
follow() { # FILE LINES-TO-HOLD MOST-LINES
	local base=$1 hold=$2 most=$3 before='' left=0 now

	echo "start $(lines_of /tmp/load)" >> "$base.marks"
	wait_lines 4
	echo "$pid $also" > $ROCS/pids
	until state_of "$pid" && [ "$state" != none ]; do pause 0.005; done
	while :; do
		state_of "$pid"
		now=$(lines_of /tmp/load)
		if [ "$state" != "$before" ]; then
			echo "$state $now" >> "$base.marks"
			changed "$base" "$before"
			[ "$state" != hold ] || left=$((now + hold))
			before=$state
		fi
		[ "$state" != none ] || break
		[ "$state" != hold ] || [ "$now" -lt $left ] || break
		[ "$now" -lt "$most" ] || break
		tick
		# All CPUs share the time of the guest, and a profile has to end within ten
		# seconds of it: look seldom, so that the process gets more of them. Look as
		# often before the profile, which is compared with the time before it.
		if [ "$state" = hold ]; then pause 0.1; else pause 0.02; fi
	done
	echo "end $(lines_of /tmp/load)" >> "$base.marks"
	cat $SEE/targets > "$base.targets"
	cat $SEE/search > "$base.search"
	grep . $ROCS/stats/* > "$base.stats"
	echo > $ROCS/pids
}

changed() { # FILE STATE-BEFORE: the state of $pid is another
	case $2:$state in
	*:profile)
		frames "$pid" "$1.frames"
		echo 1 > $MODEL/pages
		;;
	profile:search)
		echo 1 > $MODEL/pages
		cat $SEE/profile > "$1.profile"
		;;
	esac
}

held() { # FILE LINES-TO-HOLD MOST-LINES OPTION...: a load under ROCS
	begin_load "${@:4}"
	follow "$1" "$2" "$3"
	end_load "$1.load"
}

program_held() { # FILE LINES-TO-HOLD MOST-LINES COMMAND...: a program under ROCS
	begin_program "${@:4}"
	follow "$1" "$2" "$3"
	end_program "$1.load"
}

data() { # mounts the disk with the files
	mkdir -p /data
	mount -t ext4 -o noatime /dev/vda /data
}

# A program that reads files on CPU 2, and a process on CPU 3 whose memory no cache holds.
others_begin() { # KIB
	sync
	echo 3 > /proc/sys/vm/drop_caches
	taskset 4 setsid bash -c 'while :; do grep -rF no_such_word /data/a /data/b; done' &
	reader=$!
	/guest/rocsload --kib "$1" --cpu 3 mcf > /dev/null &
	also=$!
	# The page cache fills in the first round.
	pause 2
}

others_end() {
	kill -KILL -- "-$reader" "$also"
	wait "$reader" "$also" || :
	also=
} 2> /dev/null

loaded() { # FILE LINES OPTION...: a load beside the others, under the policy in force
	begin_load "${@:3}"
	wait_lines "$2"
	end_load "$1"
}
