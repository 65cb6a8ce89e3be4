#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stress for the mcube allocator. Run it as root in a guest with a debug kernel.
#
#   MINUTES=5 NODES=2 sh stress.sh
#
# Everything that moves pages happens at once: stress-ng's vm and filesystem
# stressors run a few at a time, memory blocks and CPUs go off- and online,
# memory is compacted, THP settings change, processes are killed at the limit of
# a memory cgroup, tasks move between nodes, allocations fail, caches are
# dropped, and pages are soft offlined. All the time the mcube allocator goes on
# and off, with other fill orders, container orders, maps and hints. ROCS goes on
# and off, and its module comes and goes; the clock and page faults stand in for a PMU.
# UBM goes on and off while a file is read in memory cgroups that come and go.  Page sets
# go on and off, with other sizes and policies, and their module comes and goes, while a
# file is read, written and truncated.
#
# At the end the allocator is off, all settings are restored, and the kernel's
# memory must add up.  The verdict is one KTAP result: no splat (taint flags,
# kernel log), no page lost, no page left in the allocator, no process left.
#
# stress_accounts.sh, in the same folder, counts the pages.
#
# Environment: MINUTES (5; 0.5 is enough) of stress; NODES (default: all nodes)
# for cpuset moves; SLICE (8) seconds per set of stressors; DISK, a directory on
# a real file system (default: /dev/vda if it has ext4, else tmpfs); LIB, the folder
# of stress_accounts.sh (default: that of this script).

MINUTES=${MINUTES:-5}
SLICE=${SLICE:-8}
MCUBE=/sys/kernel/mm/mcube
ALLOC=$MCUBE/alloc
SRM=$MCUBE/srm
ROCS=$MCUBE/rocs
UBM=$MCUBE/ubm
SETCACHE=$MCUBE/setcache
MODULE=/lib/modules/mcube_rocs.ko
SETCACHE_MODULE=/lib/modules/mcube_setcache.ko
HINT=/sys/kernel/debug/mcube/hint
CG=/sys/fs/cgroup
MEM=/sys/devices/system/memory
CPU=/sys/devices/system/cpu
UNPOISON=/sys/kernel/debug/hwpoison/unpoison-pfn
WORK=${TMPDIR:-/tmp}/mcube-stress.$$
SLACK=1024		# pages, a quarter of which KASAN's quarantine may hold

VM="vm mmap fork brk malloc shm shm-sysv rmap stackmmap userfaultfd
vm-rw vm-splice mlock mlockmany msync mmapaddr mmapmany mmapfixed mincore memfd
tlb-shootdown pageswap remap fault numa mmaphuge stack memrate mprotect tmpfs
zombie pagemove mremap mmapfork munmap secretmem vm-addr vm-segv bigheap
vforkmany randlist pipe sockmany switch"
FS="hdd iomix dentry dir dirdeep fallocate fiemap filename getdent link
readahead rename seek sync-file symlink utime xattr chmod chown copy-file io
sendfile splice locka fpunch io-uring revio open touch file-ioctl dirmany"

# shellcheck source=tools/testing/mcube/stress_accounts.sh
. "${LIB:-$(dirname "$0")}/stress_accounts.sh"

note()
{
	read -r up _ < /proc/uptime
	echo "# [$up] $*"
}

# put VALUE FILE: a failed write is no error, since the stress provokes failures
put()
{
	{ echo "$1" > "$2"; } 2>/dev/null
}

rnd()
{
	echo $(($(od -An -N2 -tu2 /dev/urandom) % $1))
}

pick()
{
	shift "$(rnd $#)"
	echo "$1"
}

running()
{
	[ -e "$WORK/run" ]
}

# Loops: each is a process of its own and runs until $WORK/run is gone --------

loop_allocator()
{
	while running; do
		put "$(pick 0 1 1)" $ALLOC/enabled
		case $(rnd 7) in
		0) put "$(pick paper shuffle even auto)" $ALLOC/fill_order ;;
		1)	put 0 $ALLOC/enabled
			put "$(pick 9 10)" $ALLOC/container_order
			put "$(pick 0 1 3 5)" $ALLOC/cluster_order ;;
		2)	put 0 $ALLOC/enabled
			put "$(pick '0x1000 0x2000 0x4000 0x8000' '0x8000 0x10000' \
				'0x1000 0x2000 0x4000 table:8:0,1,2')" $MCUBE/map/color_map
			put "$(pick '0x24000 0x48000 0x90000' none \
				'0x12000 table:4:0,1,2')" $MCUBE/map/bank_map ;;
		3) cat $ALLOC/stats/* $MCUBE/map/* /proc/pagetypeinfo > /dev/null ;;
		4) sleep 1 ;;
		esac
		[ ! -e $SRM/enabled ] || case $(rnd 7) in
		0) put "$(pick 0 1 1)" $SRM/enabled ;;
		1) put "$(pick 16 256 4096)" $SRM/tl ;;
		2) put "$(pick segments stateless)" $SRM/mode ;;
		3) put "$(pick 0 1 1)" $SRM/vm_hop ;;
		4)
			put 0 $SRM/enabled
			put "$(pick auto 0 1 2 4)" $SRM/group_order
			put "$(pick 0 1 8)" $SRM/reserve
			put 1 $SRM/enabled
			;;
		5) put "$(pick 0 16 64)" $SRM/reuse ;;
		6) put "$(pick 0 1 1)" $SRM/reclaim ;;
		esac
		sleep "$(pick 0.02 0.1 0.5 2)"
	done
}

# Nanoseconds are cycles and accesses; page faults are instructions, misses and samples.
rocs_settings()
{
	put 0 $ROCS/enabled
	put "$(pick 1 2 8)" $ROCS/reserve
	for e in cycles refs; do
		put "type=1 config=0" $ROCS/events/$e
	done
	for e in instructions misses sample_miss; do
		put "type=1 config=2" $ROCS/events/$e
	done
	put none $ROCS/events/sample_hit
	put "$(pick linear coarse)" $ROCS/search
	put "$(pick 2 16)" $ROCS/steps
	put "$(pick 1000 5000)" $ROCS/window_kcycles
	put "$(pick 1 5)" $ROCS/tick_ms
	put "$(pick 1 3)" $ROCS/profile_windows
	put "$(pick 0 1)" $ROCS/split_thp
	put 0 $ROCS/min_rate
	put 1000 $ROCS/budget
	put 100 $ROCS/sample_cost
	put 1 $ROCS/auto
}

rocs_unload()
{
	[ -e $ROCS/enabled ] || return 0
	cat $ROCS/stats/moved_in >> "$WORK/rocs-moved"
	rmmod mcube_rocs && echo >> "$WORK/count.rocs-unloaded"
}

# The allocator goes off at any time, and ROCS with the allocator; a chosen process is
# searched within a second.
rocs_on()
{
	put 1 $ALLOC/enabled
	put 1 $ROCS/enabled && echo >> "$WORK/count.rocs"
	put "$(pidof stress-ng | cut -d' ' -f1-16)" $ROCS/pids
	sleep "$(pick 0.1 0.3 1)"
}

loop_rocs()
{
	while running; do
		[ -e $ROCS/enabled ] || insmod $MODULE || return
		rocs_settings
		times=$(pick 1 5 15)
		while running && [ "$times" -gt 0 ]; do
			rocs_on
			times=$((times - 1))
		done
		cat $ROCS/stats/* /sys/kernel/debug/mcube/rocs/* > /dev/null
		case $(rnd 3) in
		0) rocs_unload ;;
		1) put 0 $ROCS/enabled ;;
		esac
	done
	rocs_unload
}

# The file does not fit in the cgroup, so UBM decides about the cgroup's lists in each round.
loop_ubm()
{
	[ -e $UBM/enabled ] || return
	dd if=/dev/zero of="$DISK/mcube-ubm" bs=1M count=12 2>/dev/null
	while running; do
		put "$(pick 0 1 1)" $UBM/enabled
		mkdir $CG/mcube-ubm && echo >> "$WORK/count.ubm"
		put 8M $CG/mcube-ubm/memory.max
		sh -c "echo 0 > $CG/mcube-ubm/cgroup.procs
		       for i in 1 2 3 4; do cat $DISK/mcube-ubm; done" > /dev/null &
		reader=$!
		sleep "$(pick 0.02 0.1 0.5)"
		put "$(pick 0 1 1)" $UBM/enabled
		cat /sys/kernel/debug/mcube/ubm/* $UBM/stats/* > /dev/null
		wait $reader
		rmdir $CG/mcube-ubm
	done
	put 0 $UBM/enabled
	rm -f "$DISK/mcube-ubm"
}

# Reads and direct writes of one file, with mode "all" by page sets; a page has a text of
# its own, so a page in the place of another is seen.
setcache_file()
{
	f=$DISK/mcube-setcache
	awk 'BEGIN { for (i = 0; i < 16384; i++) printf "page set %06d\n", i }' > "$f.good"
	cp "$f.good" "$f"
	while running; do
		case $(rnd 4) in
		0)	dd if="$f.good" of="$f" bs=4k conv=notrunc oflag=direct ;;
		1)	: > "$f"
			cp "$f.good" "$f" ;;
		2)	dd if="$f.good" of="$f" bs=4k conv=notrunc,fsync
			put 1 /proc/sys/vm/drop_caches ;;
		esac || until cp "$f.good" "$f" || ! running; do
			# The disk may be full.
			sleep 0.5
		done
		running || break
		cmp "$f.good" "$f"
		# A comparison that was killed says nothing.
		case $? in
		0) echo >> "$WORK/count.setcache" ;;
		1) echo >> "$WORK/count.setcache-wrong" ;;
		esac
	done
	rm -f "$f" "$f.good"
}

loop_setcache()
{
	[ -e $SETCACHE_MODULE ] || return
	setcache_file &
	while running; do
		[ -e $SETCACHE/mode ] || insmod $SETCACHE_MODULE || break
		put "$(pick 1 2 4)" $SETCACHE/size_mib
		put "$(pick lru lfu nrlfu s3fifo)" $SETCACHE/policy
		put "$(pick off random all all)" $SETCACHE/mode
		cat $SETCACHE/stats/* /sys/kernel/debug/mcube/setcache/sets > /dev/null
		sleep "$(pick 0.02 0.1 0.5)"
		[ "$(rnd 8)" -gt 0 ] || ! rmmod mcube_setcache ||
			echo >> "$WORK/count.setcache-unloaded"
	done
	wait
	rmmod mcube_setcache
}

loop_hint()
{
	while running; do
		put "$(pick "color=$(rnd 16)" "bank=$(rnd 8)" \
			"color=$(rnd 16) bank=$(rnd 8)" none)" $HINT
		dd if=/dev/zero of="$WORK/hint" bs=1M count=8 2>/dev/null
		cat "$WORK/hint" > /dev/null
		rm -f "$WORK/hint"
		sleep 0.2
	done
}

# Can fail if memory is short
online()
{
	read -r state < "$1/state"
	[ "$state" = online ] || put online "$1/state"
}

# Soft offlining moves the content of the page elsewhere.  The page is unpoisoned
# again, because a memory block with a poisoned page would not come online.  For
# the same reason stress-ng's madvise, which poisons pages for good, is not among
# the stressors.
soft_offline()
{
	[ -e $UNPOISON ] || return
	read -r _ kb _ < /proc/meminfo
	pfn=$(($(rnd 65536) * (kb / 4) / 65536))
	put "$(printf '0x%x' $((pfn * 4096)))" $MEM/soft_offline_page || return
	echo >> "$WORK/count.soft"
	sleep 0.2
	put $pfn $UNPOISON
}

# The kernel retries until a signal comes, possibly for ever (see
# Documentation/admin-guide/mm/memory-hotplug.rst)
offline()
{
	timeout 20 sh -c "echo offline > $1/state" 2> /dev/null
}

loop_memory()
{
	blocks=
	for b in "$MEM"/memory[0-9]*; do
		blocks="$b $blocks"
	done
	while running; do
		soft_offline
		# shellcheck disable=SC2086
		b=$(pick $blocks)
		offline "$b"
		case $? in
		0)	echo >> "$WORK/count.memory"
			sleep "$(pick 0 0.1 0.5 1)" ;;
		124)	echo >> "$WORK/count.given-up" ;;
		esac
		tries=0
		until online "$b" || [ $tries -eq 20 ]; do
			tries=$((tries + 1))
			sleep 0.2
		done
		sleep 1
	done
}

# Where the host starves a guest, the fair server of the scheduler runs. It counts as a
# task of its CPU, so sched_cpu_dying() of 6.12 warns that a CPU which goes offline just
# then is "not properly vacated", and stops the server only after that.
loop_cpu()
{
	n=$(grep -c ^processor /proc/cpuinfo)
	[ "$n" -gt 1 ] || return
	for server in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
		put 0 "$server"
	done
	while running; do
		c=$(($(rnd $((n - 1))) + 1))
		put 0 "$CPU/cpu$c/online" && echo >> "$WORK/count.cpu"
		sleep "$(pick 0 0.1 0.5 1)"
		put 1 "$CPU/cpu$c/online"
		sleep 2
	done
}

loop_compact()
{
	while running; do
		put 1 /proc/sys/vm/compact_memory
		sleep 2
	done
}

loop_thp()
{
	t=/sys/kernel/mm/transparent_hugepage
	while running; do
		put "$(pick always madvise never)" $t/enabled
		put "$(pick always defer madvise never)" $t/defrag
		put "$(pick always never advise)" $t/shmem_enabled
		put "$(rnd 8)" /proc/sys/vm/nr_hugepages
		sleep 2
		put 0 /proc/sys/vm/nr_hugepages
	done
}

loop_memcg()
{
	mkdir -p $CG/mcube-oom || return
	put 24M $CG/mcube-oom/memory.max
	put 0 $CG/mcube-oom/memory.swap.max
	while running; do
		# A string that doubles until it is killed
		sh -c "echo 0 > $CG/mcube-oom/cgroup.procs
		       echo 1000 > /proc/self/oom_score_adj
		       a=xxxxxxxxxxxxxxxx
		       i=0; while [ \$i -lt 24 ]; do a=\$a\$a; i=\$((i+1)); done" \
			> /dev/null 2>&1
		echo >> "$WORK/count.memcg"
		sleep 1
	done
	rmdir $CG/mcube-oom
}

loop_cpuset()
{
	[ "$NODES" -gt 1 ] && mkdir -p $CG/mcube-cpuset || return
	(
		put 0 $CG/mcube-cpuset/cgroup.procs
		put 900 /proc/self/oom_score_adj
		while running; do
			timeout -s KILL 30 stress-ng --vm 1 --vm-bytes 8M --hdd 1 \
				--hdd-bytes 8M --temp-path "$WORK" -t 5
		done
	) &
	while running; do
		put "$(rnd "$NODES")" $CG/mcube-cpuset/cpuset.mems
		echo >> "$WORK/count.cpuset"
		sleep 1
		put "0-$((NODES - 1))" $CG/mcube-cpuset/cpuset.mems
		sleep 0.3
	done
	wait
	rmdir $CG/mcube-cpuset
}

# Faults hit only tasks that ask for them: children of this shell.
fault_setup()
{
	for f in fail_page_alloc failslab; do
		d=/sys/kernel/debug/$f
		[ -d $d ] || continue
		put 0 $d/verbose
		put Y $d/task-filter
		put N $d/ignore-gfp-wait
		put N $d/ignore-gfp-highmem
		put N $d/cache-filter
		put 0 $d/min-order
		put 1 $d/interval
		put -1 $d/times
		put "$1" $d/probability
	done
}

loop_faults()
{
	[ -e /proc/self/make-it-fail ] || return
	while running; do
		# Switching on needs memory and must fail cleanly without it
		sh -c "echo 1 > /proc/self/make-it-fail
		       echo 0 > $ALLOC/enabled; echo 1 > $ALLOC/enabled
		       echo color=1 > $HINT
		       dd if=/dev/zero of=$WORK/fault bs=64k count=64
		       wc $WORK/fault; ls -R $MCUBE" > /dev/null 2>&1
		rm -f "$WORK/fault"
		echo >> "$WORK/count.faults"
		sleep 1
	done
}

loop_caches()
{
	while running; do
		sleep 3
		put "$(pick 1 2 3)" /proc/sys/vm/drop_caches
	done
}

# Logs state and kernel stack of a process and its children, and kills them
tree()
{
	note "  $1 $(tr '\0' ' ' < "/proc/$1/cmdline" | cut -c1-60): $(
		sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status") $(
		tr '\n' ' ' < "/proc/$1/stack")"
	children=	# stays empty if the process has ended meanwhile
	read -r children < "/proc/$1/task/$1/children"
	for child in $children; do
		tree "$child"
		kill -KILL "$child"
	done
	kill -KILL "$1"
}

# Main ----------------------------------------------------------------------

skip()
{
	printf 'TAP version 13\n1..1\nok 1 mcube-stress # SKIP %s\n' "$1"
	exit 4
}

# The shell knows whole numbers only.
seconds=$(awk -v m="$MINUTES" 'BEGIN {
	if (m ~ /^([0-9]+|[0-9]*\.[0-9]+)$/) printf "%d", m * 60 }')
if [ "${seconds:-0}" -lt 1 ] || [ "$SLICE" -lt 1 ]; then
	echo "stress.sh: MINUTES must be at least a second (0.02), SLICE at least 1" \
		"second; MINUTES=$MINUTES SLICE=$SLICE" >&2
	exit 2
fi

[ "$(id -u)" = 0 ] || skip "must be root"
[ -e $ALLOC/enabled ] || skip "no CONFIG_MCUBE_ALLOC"
command -v stress-ng > /dev/null || skip "no stress-ng"

if [ -z "$NODES" ]; then
	NODES=0
	for n in /sys/devices/system/node/node[0-9]*; do
		[ -e "$n" ] && NODES=$((NODES + 1))
	done
fi
mkdir -p "$WORK" && : > "$WORK/run"
mounted=
if [ -z "$DISK" ] && [ -b /dev/vda ] && mkdir -p "$WORK/disk" &&
   mount -t ext4 /dev/vda "$WORK/disk" 2>/dev/null; then
	DISK=$WORK/disk
	mounted=y
fi
DISK=${DISK:-$WORK}

have=" $(stress-ng --stressors | tr '\n' ' ') "
usable()
{
	for s in $1; do
		case $have in *" $s "*) printf '%s ' "$s" ;; esac
	done
}
VM=$(usable "$VM")
FS=$(usable "$FS")

# The OOM killer must spare this script and the processes that started it.
for p in /proc/[0-9]*; do
	put -900 "$p/oom_score_adj"
done
put "+memory +cpuset" $CG/cgroup.subtree_control

echo "TAP version 13"
echo "1..1"
put 0 $ALLOC/enabled
put 1 $ALLOC/enabled
put 0 $ALLOC/enabled
# The first run of stress-ng caches and allocates what stays for all runs
stress-ng --vm 1 --vm-bytes 4M --hdd 1 --hdd-bytes 4M --temp-path "$DISK" -t 1 \
	> /dev/null 2>&1
before=$(settle)
taint_before=$(taint)
note "$MINUTES min, $NODES nodes, $(echo "$VM" | wc -w) vm and $(echo "$FS" |
	wc -w) file system stressors on $DISK"
note "before: managed free mcube pcp known = $before"

fault_setup 5
loops=
for loop in allocator rocs ubm setcache hint memory cpu compact thp memcg cpuset faults caches; do
	# Output is discarded, as the shell would report each process that is
	# killed
	loop_$loop > /dev/null 2>&1 &
	loops="$loops $!:$loop"
done

read -r kb _ <<-END
	$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
END
bytes=$((kb / 16))K
read -r start _ < /proc/uptime
end=$((${start%.*} + seconds))
# shellcheck disable=SC2034	# by eval
vm=$VM fs=$FS
slices=0
odd=0
while read -r now _ < /proc/uptime; [ "${now%.*}" -lt "$end" ]; do
	args=
	names=
	for kind in vm vm fs fs; do
		eval "list=\$$kind"
		# shellcheck disable=SC2086
		set -- $list
		if [ $# -eq 0 ]; then
			case $kind in vm) list=$VM ;; fs) list=$FS ;; esac
			# shellcheck disable=SC2086
			set -- $list
		fi
		names="$names $1"
		args="$args --$1 1"
		case $1 in
		vm | mmap | malloc | shm | shm-sysv | memfd | mremap | msync | \
		hdd | iomix | fallocate | fiemap | readahead | seek | copy-file | \
		sync-file | memrate | revio | pagemove)
			args="$args --$1-bytes $bytes" ;;
		bigheap) args="$args --bigheap-growth 64K" ;;
		esac
		shift
		eval "$kind=\"\$*\""
	done
	left=$((end - ${now%.*}))
	[ $left -gt "$SLICE" ] && left=$SLICE
	# Some stressors are slow to stop, so SIGKILL enforces a limit
	# shellcheck disable=SC2086
	timeout -s KILL $((left + 60)) stress-ng $args --temp-path "$DISK" \
		--oomable --skip-silent -t "$left" > "$WORK/log" 2>&1
	ret=$?
	slices=$((slices + 1))
	case $ret in 0 | 2 | 3) ;; *) odd=$((odd + 1)) ;; esac
	[ $((slices % 4)) -eq 1 ] && note "slice $slices:$names (exit $ret)"
done

rm -f "$WORK/run"
late=
tries=0
for p in $loops; do
	while [ -d "/proc/${p%:*}" ] && [ $tries -lt 120 ]; do
		tries=$((tries + 1))
		sleep 0.5
	done
	[ -d "/proc/${p%:*}" ] || continue
	late="$late ${p#*:}"
	note "${p#*:} does not end:"
	tree "${p%:*}"
done
fault_setup 0
for p in $(pidof stress-ng); do
	kill -KILL "$p"
done
for b in "$MEM"/memory[0-9]*; do
	online "$b" || online "$b"
done
for c in "$CPU"/cpu[0-9]*; do
	put 1 "$c/online"
done
put madvise /sys/kernel/mm/transparent_hugepage/enabled
put madvise /sys/kernel/mm/transparent_hugepage/defrag
put never /sys/kernel/mm/transparent_hugepage/shmem_enabled
put 0 /proc/sys/vm/nr_hugepages
put none $HINT
note "$slices slices, $odd ended oddly"
for c in memory given-up cpu memcg cpuset faults soft rocs rocs-unloaded ubm setcache \
	setcache-unloaded setcache-wrong; do
	[ -e "$WORK/count.$c" ] && note "$c: $(wc -l < "$WORK/count.$c") times"
done
[ -e "$WORK/rocs-moved" ] && note "rocs/stats/moved_in: $(awk '{ n += $1 }
	END { print n }' "$WORK/rocs-moved")"
[ ! -e $UBM ] || for f in held given back lruvecs no_memory; do
	note "ubm/stats/$f: $(cat $UBM/stats/$f)"
done
for f in taken released broken_up served colored fallback uncovered; do
	note "stats/$f: $(cat $ALLOC/stats/$f)"
done
put 0 $ALLOC/enabled
put 10 $ALLOC/container_order
put 0 $ALLOC/cluster_order
put shuffle $ALLOC/fill_order
# Shared memory and files that stressors left behind
ipcs -m 2>/dev/null | awk '$2 ~ /^[0-9]+$/ { print $2 }' | while read -r id; do
	ipcrm -m "$id" 2>/dev/null
done
[ -n "$mounted" ] && rm -rf "$DISK"/tmp-stress-ng* && umount "$DISK"
stale=
[ ! -e "$WORK/count.setcache-wrong" ] || stale=y
rm -rf "$WORK"

after=$(settle)
note "after: managed free mcube pcp known = $after"
why=
complain()
{
	why="$why${why:+; }$1"
}
# shellcheck disable=SC2086
set -- $before $after
lost=$((($6 - $7 - $9 - ${10}) - ($1 - $2 - $4 - $5)))
note "pages without a known owner: $lost more than before"
[ "$1" = "$6" ] || complain "managed pages went from $1 to $6"
[ $lost -lt $SLACK ] || complain "$lost pages lost"
[ "$8" = 0 ] || complain "nr_free_mcube is $8"
listed=$(free_is_listed) || complain "$listed"
for f in enabled stats/containers stats/free_pages; do
	[ "$(cat $ALLOC/$f)" = 0 ] || complain "alloc/$f is $(cat $ALLOC/$f)"
done
[ "$(leftover_blocks)" = 0 ] || complain "pageblocks of type Mcube remain"
[ "$(taint)" = "$taint_before" ] || complain "the kernel is tainted by $(taint)"
# Most data races are those of other parts of the kernel; the host reads the reports.
splat=$(dmesg | grep -v 'BUG: KCSAN:' |
	grep -m1 -E 'BUG:|WARNING:|KASAN:|UBSAN:|Bad page|Oops|INFO: task')
[ -z "$splat" ] || complain "$splat"
[ -z "$late" ] || complain "did not end:$late"
[ ! -e $ROCS ] || [ ! -e $MODULE ] || complain "mcube_rocs is still loaded"
[ -z "$stale" ] || complain "page sets gave wrong data"
[ ! -e $SETCACHE ] || [ ! -e $SETCACHE_MODULE ] || complain "mcube_setcache is still loaded"
[ $slices -gt 0 ] || complain "there was no stress"

if [ -n "$why" ]; then
	echo "# $why"
	echo "not ok 1 mcube-stress"
	exit 1
fi
echo "ok 1 mcube-stress"
