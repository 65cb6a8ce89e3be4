#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# For stress.sh: are all pages of the kernel's memory accounted for?
#
# Before and after the stress the counters of managed, free and used pages are
# compared. With the mcube allocator off, the free lists of the buddy allocator must
# hold all free pages, and no pageblock may be of type Mcube.
#
# Needs put(), from the script that sources this file.

# Prints: managed free mcube pcp known, in pages
account()
{
	put 1 /proc/sys/vm/stat_refresh
	cat /proc/zoneinfo /proc/vmstat /proc/meminfo | awk '
	$1 == "managed"		{ managed += $2 }
	$1 == "nr_free_pages" && !vmstat { free += $2 }
	$1 == "nr_free_mcube" && !vmstat { mcube += $2 }
	$1 == "count:"		{ pcp += $2 }
	# vmstat begins with this, flush left
	/^nr_free_pages/	{ vmstat = 1; free -= $2 }
	!vmstat			{ next }
	/^nr_(in)?active_(anon|file) |^nr_unevictable |^nr_isolated_/ { known += $2 }
	/^nr_slab_|^nr_page_table_pages |^nr_sec_page_table_pages / { known += $2 }
	/^nr_kernel_stack /	{ known += $2 / 4 }
	/^(Percpu|Hugetlb|HardwareCorrupted):/ { known += $2 / 4 }
	END { printf "%d %d %d %d %d\n", managed, free, mcube, pcp, known }'
}

buddy()
{
	awk '{ for (i = 5, n = 1; i <= NF; i++, n *= 2) sum += $i * n }
	     END { printf "%d\n", sum }' /proc/buddyinfo
}

# With the allocator off, the free lists hold all free pages; prints a difference. Memory is still
# freed for a while (RCU, KASAN's quarantine), so the counter is read between two
# readings of the lists, and must lie between the two sums in one of the tries. A
# page that is lost or counted twice would keep the counter outside. All readings
# are in one process, because a fork moves pages.
free_is_listed()
{
	awk '
	function lists(line, f, i, n, sum, k) {
		while ((getline line < buddyinfo) > 0) {
			k = split(line, f)
			for (i = 5, n = 1; i <= k; i++, n *= 2)
				sum += f[i] * n
		}
		close(buddyinfo)
		return sum
	}
	function counter(line, f, n) {
		while ((getline line < vmstat) > 0)
			if (split(line, f) && f[1] == "nr_free_pages")
				n = f[2]
		close(vmstat)
		return n
	}
	BEGIN {
		buddyinfo = "/proc/buddyinfo"
		vmstat = "/proc/vmstat"
		refresh = "/proc/sys/vm/stat_refresh"
		for (tries = 0; tries < 100; tries++) {
			a = lists()
			print 1 > refresh
			close(refresh)
			n = counter()
			b = lists()
			if ((a <= n && n <= b) || (b <= n && n <= a))
				exit 0
		}
		print "nr_free_pages " n ", buddyinfo " a " before, " b " after"
		exit 1
	}'
}

# Counts free blocks and pageblocks of type Mcube; there are none after the
# allocator went off.
leftover_blocks()
{
	awk '/^Number of blocks/ { for (i = 5; i <= NF; i++) if ($i == "Mcube") c = i; next }
	     /type +Mcube/ { for (i = 7; i <= NF; i++) { sub(">", "", $i); sum += $i } }
	     c && /^Node/ && !/type/ { sum += $c }
	     END { printf "%d\n", sum }' /proc/pagetypeinfo
}

settle()
{
	sync
	put 3 /proc/sys/vm/drop_caches
	sleep 2
	put 3 /proc/sys/vm/drop_caches
	sleep 1
	# The limit is in seconds, as one try takes a second or more on a debug kernel.
	read -r up _ < /proc/uptime
	until=$((${up%.*} + 10))
	while read -r up _ < /proc/uptime; [ "${up%.*}" -lt $until ]; do
		# shellcheck disable=SC2046
		set -- $(account)
		[ $(($2 - $3)) -eq "$(buddy)" ] && break
		sleep 0.2
	done
	echo "$*"
}

# TAINT_BAD_PAGE, TAINT_DIE, TAINT_WARN, TAINT_SOFTLOCKUP
taint()
{
	read -r t < /proc/sys/kernel/tainted
	echo $((t & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14)))
}
