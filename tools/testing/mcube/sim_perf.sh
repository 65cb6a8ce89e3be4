#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The perf commands of the admin guide on the mcube_sim PMU, in a guest of
# tools/mcube/dev/guests_model.py. The work is dd from /dev/zero: the kernel
# clears a buffer of 4 MiB four times, 64 lines a page. The buffer is far larger
# than the last level. The script prints KTAP on standard output.

set -u
cd "$(mktemp -d)" || exit 1

pmu=mcube_sim
work=(dd if=/dev/zero of=/dev/null bs=4M count=4)
lines=$((16 * 1024 * 1024 / $(cat /sys/bus/event_source/devices/$pmu/machine/line)))
n=0
failed=0

check() {
	local status=$? name=$1

	n=$((n + 1))
	if [ "$status" -eq 0 ]; then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		sed 's/^/# /' log 2>/dev/null | tail -20
		failed=1
	fi
}

# Prints the count of event $1 in $2, a file that perf wrote with the option -x,
count() {
	awk -F, -v e="$pmu/$1/" '$3 == e { print $1 }' "$2"
}

echo "KTAP version 1"
echo "1..11"

perf list $pmu >log 2>&1
[ "$(grep -c "$pmu/[a-z0-9_]*/" log)" -eq 17 ]
check "list: all events"

perf stat -x, -o log -e $pmu/llc_misses/,$pmu/llc_refs/,$pmu/row_conflicts/ \
	-- "${work[@]}" 2>noise
misses=$(count llc_misses log)
[ "$misses" -ge $((lines * 9 / 10)) ] && [ "$misses" -le $((lines * 12 / 10 + 20000)) ]
check "stat: a task's misses are the lines it touched"
[ "$(count llc_refs log)" -ge "$misses" ] && [ "$(count row_conflicts log)" -gt 0 ]
check "stat: requests and row conflicts"

perf stat -x, -o log -a -e $pmu/llc_misses/ -- "${work[@]}" 2>noise
[ "$(count llc_misses log)" -ge $((lines * 9 / 10)) ]
check "stat -a: the whole machine has at least as many misses"

perf stat -x, -o log -e "{$pmu/llc_misses/,$pmu/accesses/,page-faults}" -- "${work[@]}" 2>noise
[ "$(count llc_misses log)" -ge $((lines * 9 / 10)) ] && ! grep -q "not counted" log
check "stat: a group with a software event"

perf record -q -o data -e $pmu/llc_misses/ -c 1000 -d --phys-data -W \
	-- "${work[@]}" >log 2>&1
perf script -i data -F comm,ip,sym,addr,phys_addr,weight,data_src >samples 2>>log
taken=$(wc -l <samples)
[ "$taken" -ge $((lines * 9 / 10000)) ] && [ "$taken" -le $((lines * 12 / 10000 + 20)) ]
check "record -c 1000: a sample for each thousand misses"
[ "$(grep -c "RAM" samples)" -eq "$taken" ]
check "record -d: DRAM served all sampled misses"
[ "$(grep -c "clear_page\|rep_stos" samples)" -ge $((taken * 9 / 10)) ]
cut -c1-200 samples | head -5 >log
check "record: samples name the functions that clear"

perf report -i data --stdio --mem-mode --sort=mem,sym >log 2>&1 &&
	grep -q "RAM hit.*\(clear_page\|rep_stos\)" log
check "report --mem-mode"

perf record -q -o data -a -e $pmu/llc_misses/ -e $pmu/row_conflicts/ -c 1000 \
	-- "${work[@]}" >log 2>&1
perf script -i data -F comm,event >samples 2>>log
[ "$(grep -c "dd .*llc_misses" samples)" -ge $((lines * 8 / 10000)) ] &&
	grep -q "dd .*row_conflicts" samples
check "record -a: two events, samples name the task"

perf record -q -o data -e $pmu/accesses/ -- "${work[@]}" >log 2>&1
[ "$(perf script -i data -F comm 2>>log | grep -c dd)" -gt 10 ]
check "record with perf's default frequency"

exit $failed
