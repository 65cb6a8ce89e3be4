#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's part of bench/ubm-kernel.py and bench/ubm/record_traces.py: real programs
# that read files again and again. As a command, ubm.sh runs the rounds of a program:
#
#	ubm.sh PROGRAM ROUNDS
#
# The programs themselves lie in the guest's root file system, in memory that no cgroup is
# charged for. /data has what they read, on ext4: pieces of the kernel source, and indexes
# of them. Each program reads the same files whatever its round, but looks for other words.

LRU_GEN=/sys/kernel/mm/lru_gen/enabled
UBM=/sys/kernel/mm/mcube/ubm
GROUP=/sys/fs/cgroup/ubm
WORDS=(folio_mark_accessed bio_put lru_add_drain mmap_lock queue_limits vm_flags
	shrink_folio_list elevator_init page_counter blk_mq_run_hw_queue oom_kill zone_watermark)
PATTERNS=('kmem_cache_.*alloc' 'EXPORT_SYMBOL.*' 'mutex_.*lock' 'list_.*del' 'pr_warn.*'
	'copy_.*user' 'spin_lock.*' 'WARN_ON.*')

# One program of each function; the number of the round is the argument.

cscope_round() { # a query: cscope reads its whole database
	cscope -d -f /data/cscope.out -L -0 "${WORDS[$1 % ${#WORDS[@]}]}"
}

cpp_round() { # the preprocessor on files that share headers
	local file

	while read -r file; do
		/guest/cc1 -E -quiet -nostdinc @/data/tree/flags "$file" || return
	done < /data/tree/files
}

join_round() { # a table is scanned; its rows are looked up in a larger table by an index
	sqlite3 -readonly /data/join.db "PRAGMA cache_size = 32; PRAGMA mmap_size = 0;
		SELECT count(*), sum(price * amount) FROM sale CROSS JOIN item USING (k)
		WHERE amount % 7 != $1 % 7"
}

# The index of all words is scanned, then the files that have the words are searched. The
# index has the names of the files on the host that made it.
index_round() {
	local pattern=${PATTERNS[$1 % ${#PATTERNS[@]}]}

	(cd /data/src && lid -k none -f /data/ID -r "$pattern" | tr ' ' '\n' |
		sed 's|.*/src/||' | sort -u | xargs grep -E "$pattern")
}

rg_round() { # a tree is searched
	rg -uu -j1 --no-mmap -F -c "${WORDS[$1 % ${#WORDS[@]}]}" /data/src
}

work() { # PROGRAM ROUNDS
	local i

	for ((i = 0; i < $2; i++)); do
		"$1_round" "$i" > /dev/null || { echo "ubm.sh: $1 failed in round $i"; return 1; }
	done
}

begin() {
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	mkdir -p /data
	# The guest's clock is before the files' dates, so each read would write an inode.
	mount -t ext4 -o "${1:-noatime,ro}" /dev/vda /data
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control
}

policy() { # lru | mglru | ubm | ubm-mglru
	[ ! -e $UBM/enabled ] || echo 0 > $UBM/enabled
	case $1 in
	lru | ubm) echo 0 > $LRU_GEN ;;
	*) echo 7 > $LRU_GEN ;;
	esac
	case $1 in
	ubm*) echo 1 > $UBM/enabled ;;
	esac
}

device() { # prints requests and sectors that the device has read
	awk '{ print $1, $3 }' /sys/block/vda/stat
}

number() { # NAME: a number of the cgroup's memory.stat
	awk -v name="$1" '$1 == name { print $2 }' $GROUP/memory.stat
}

# Runs a program in a cgroup of its own and prints a line of names and numbers. The cache is
# empty at first. Seconds of the CPU are those in user space and in the kernel.
limited() { # KIB PROGRAM ROUNDS
	local start before after cpu TIMEFORMAT='%U %S'

	echo 3 > /proc/sys/vm/drop_caches
	mkdir $GROUP
	echo "$1K" > $GROUP/memory.max
	echo 0 > $GROUP/memory.swap.max 2> /dev/null || :
	read -ra before < <(device)
	start=${EPOCHREALTIME/./}
	# shellcheck disable=SC2016
	cpu=$({ time bash -c 'echo $$ > "$1/cgroup.procs"; exec /guest/ubm.sh "$2" "$3"' \
		- $GROUP "$2" "$3" 2> /tmp/errors; } 2>&1) || { cat /tmp/errors; return 1; }
	start=$((${EPOCHREALTIME/./} - start))
	read -ra after < <(device)
	echo "run program $2 kib $1 microseconds $start user ${cpu% *} system ${cpu#* } requests $((after[0] - before[0]))" \
		"sectors $((after[1] - before[1])) file $(number file)" \
		"refault $(number workingset_refault_file) scan $(number pgscan)" \
		"peak $(cat $GROUP/memory.peak)" \
		"oom $(awk '$1 == "oom_kill" { print $2 }' $GROUP/memory.events)"
	rmdir $GROUP
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	work "$@"
fi
