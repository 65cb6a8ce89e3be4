#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# The mcube command on a running mcube kernel, as root and as a normal user.
#
# Needs a guest with python3, perf, setpriv and the command installed under
# /usr. /dev/vda, if it is there, has an ext4 file system to write to. With a
# second memory node it also tests that pages are told apart by node. It changes
# the policies and the map, and restores them. It prints TAP, and compares
# settings, errors and counts, never times.

S=/sys/kernel/mm/mcube
COLORS="0x1000 0x2000 0x4000 0x8000 0x10000"
BANKS="0x24000 0x48000 0x90000 0x120000"
count=0 failed=0 out='' status=0

# run COMMAND...: keep its output and status for the expectations below
run()
{
	out=$("$@" 2>&1)
	status=$?
}

result()	# NAME, after a test command
{
	local good=$?

	count=$((count + 1))
	if [ $good = 0 ]; then
		echo "ok $count $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count $1"
	echo "# status $status, output:"
	echo "#   ${out//$'\n'/$'\n'#   }"
}

# says NAME STATUS TEXT...: the command returned STATUS and said every TEXT
says()
{
	local name=$1 want=$2 text missing=

	shift 2
	for text in "$@"; do
		[[ $out == *"$text"* ]] || missing+=" '$text'"
	done
	[ -z "$missing" ] || out+=$'\n'"(expected$missing)"
	[[ $status = "$want" && -z $missing && $out != *Traceback* ]]
	result "$name"
}

# holds NAME PYTHON: the expression is true of the JSON in $out, named d
holds()
{
	[ $status = 0 ] && python3 -c '
import json, sys
d = json.load(sys.stdin)
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$2" <<<"$out" 2>/dev/null
	result "$1"
}

# is NAME FILE VALUE
is()
{
	[ "$(cat "$S/$2")" = "$3" ]
	result "$1"
}

user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# modules ROOM: let modprobe find the module of a room, if the guest was given the module
modules()
{
	if [ -f "/lib/modules/mcube_$1.ko" ]; then
		mkdir -p "/lib/modules/$(uname -r)"
		cp "/lib/modules/mcube_$1.ko" "/lib/modules/$(uname -r)/"
		depmod
		return
	fi
	count=$((count + 1))
	echo "ok $count $1: with the module # SKIP there is no /lib/modules/mcube_$1.ko"
	return 1
}

# ROCS from the start to a search: a process looks through a buffer of 4 MiB again and again.
# Code of the kernel, as in dd, would not count.
rocs_modelled()
{
	local profiled='"state": "(search|hold)"' i

	python3 -c '
text = b"y" * (4 << 20)
while True:
    text.find(b"x")' &
	run mcube rocs on --pid $! --alloc
	says "rocs on: events of the model" 0 "events: model" "alloc/enabled: 0 -> 1" "ROCS is on"
	is "rocs on: the kernel has it" rocs/enabled 1
	echo 20000 >$S/rocs/window_kcycles
	echo 200 >$S/rocs/budget
	echo 20 >$S/rocs/tick_ms
	# A stopped process has no windows, so its profile is not replaced between two commands.
	for ((i = 0; i < 120; i++)); do
		run mcube rocs --json
		if [[ $out =~ $profiled ]]; then
			kill -STOP $!
			run mcube rocs --json
			[[ $out =~ $profiled ]] && break
			kill -CONT $!
		fi
		echo "# no profile yet"
		sleep 1
	done
	holds "rocs: the target is profiled" "
		[t['pid'] for t in d['targets']] == [$!] and d['targets'][0]['stack'] > 500
		and d['targets'][0]['step'] == d['targets'][0]['stack'] // 32
		and d['targets'][0]['comm'] == 'python3' and d['targets'][0]['miss_rate'] > 0.25
		and 0 < d['targets'][0]['ipc'] < 1 and d['partition']['colors'] == 2
		and d['counters']['samples'] > 500"
	run mcube rocs profile --pid $! --json
	holds "rocs profile: the buffer, and no page twice" "
		len(d['pages']) == d['stack'] == len({p['address'] for p in d['pages']})
		and sum(r['pages'] for r in d['regions']) == d['stack']
		and max(r['pages'] for r in d['regions']) > 0.9 * d['stack']"
	run mcube rocs
	says "rocs: for people" 0 "ROCS is on" "pids $!" "2 of 32 colors" "moved_in"
	run mcube rocs on --events intel
	says "rocs on: other events while on" 1 "is on with other events" "mcube rocs off"
	run mcube rocs off
	says "rocs off" 0 "have left the pollute partition"
	is "rocs off: the kernel has it" rocs/enabled 0
	kill -KILL $!
}

# A clear message, and nothing half on
rocs_without_pmu()
{
	run mcube rocs on --auto --alloc --events intel
	says "rocs on: the machine has no such event" 1 "rocs/events/cycles" \
		"all settings are as before" "a virtual machine needs a PMU"
	is "rocs on: not on" rocs/enabled 0
	is "rocs on: the allocator is as before" alloc/enabled 0
	is "rocs on: the choice is as before" rocs/auto 0
	run mcube rocs
	says "rocs: off" 0 "ROCS is off" "no targets" "moved_in"
	run mcube apply rocs
	says "apply rocs" 1 "does not have the event" "all settings are as before"
	run mcube rocs off
	says "rocs off already" 0 "off already"
}

# Page sets: each page of a file comes in once, and is found there afterwards
setcache_live()
{
	dd if=/dev/urandom of=/mnt/c bs=1M count=4 2>/dev/null
	sync
	echo 3 >/proc/sys/vm/drop_caches
	cat >/tmp/pick.py <<-'EOF'
		import os, random, sys
		f = os.open("/mnt/c", os.O_RDONLY)
		os.posix_fadvise(f, 0, 0, os.POSIX_FADV_RANDOM)
		pages = list(range(1024))
		for _ in range(int(sys.argv[1])):
		    random.shuffle(pages)
		    for p in pages:
		        assert len(os.pread(f, 4096, 4096 * p)) == 4096
	EOF
	run mcube setcache on --size 16
	says "setcache on" 0 "size_mib: 64 -> 16" "mode: off -> random" "POSIX_FADV_RANDOM"
	python3 /tmp/pick.py 3
	run mcube setcache --json
	holds "setcache: hits and fills" 'd["mode"] == "random" and d["size_mib"] == 16
		and d["counters"]["hits"] == 2048 and d["counters"]["fills"] == 1024
		and d["hit_ratio"] == 2 / 3 and d["pressure"]["resident"] == 1024
		and d["pressure"]["filling"] == 0 and d["pressure"]["fills"] == 1024
		and d["pressure"]["sets"] == 256 and d["pressure"]["again"] == 0'
	run mcube setcache on --size 1
	says "setcache on: another size while on" 0 "size_mib: 16 -> 1"
	(python3 /tmp/pick.py 40) &
	pid=$!
	run mcube setcache watch --interval 1 --seconds 3 --json
	holds "setcache watch: a pool that is too small" 'len(d) >= 3
		and d[-1]["counters"]["fills"] > d[0]["counters"]["fills"]
		and d[-1]["pressure"]["sets"] == 16 and d[-1]["pressure"]["again"] > 0'
	wait $pid
	result "setcache: the reader is fine"
	run mcube setcache
	says "setcache: for people" 0 "size 1 MiB" "hit ratio" "hottest set" "bypassed"
	run mcube status
	says "status: page sets" 0 "profile in force: setcache" "setcache: "
	run mcube setcache on --size 1000G
	says "setcache on: too large" 1 "half of the memory" "is still '1'"
	run user mcube setcache
	says "user: setcache" 0 "only root may see the single sets"
	run user mcube setcache on --size 2
	says "user: setcache on" 1 "may only be written by root"
	run mcube setcache off
	says "setcache off" 0 "their memory is free"
	is "setcache off: the kernel has it" setcache/mode "[off] random all"
	rm /mnt/c
	rmmod mcube_setcache
	result "setcache: the module can go"
}

# UBM after a loop that does not fit, as the command shows it
ubm_live()
{
	run mcube ubm on
	says "ubm on" 0 "UBM is on"
	is "ubm on: the kernel has it" ubm/enabled 1
	echo 8M >/sys/fs/cgroup/rec/memory.max
	# Cached pages are charged to the cgroup that read them first.
	echo 3 >/proc/sys/vm/drop_caches
	# On one CPU, so that the pages are on one node: of few pages nothing is held.
	(echo 0 >/sys/fs/cgroup/rec/cgroup.procs
	 for i in 1 2 3 4 5 6; do taskset 1 dd if=/mnt/b of=/dev/null bs=64k 2>/dev/null; done)
	run mcube ubm --cgroup /rec --json
	holds "ubm status: pages of a loop are held, and used" '
		d["enabled"] and d["counters"]["held"] > 0 and d["cgroups"][0]["held"] > 1024
		and d["cgroups"][0]["kept"] > 0 and {r["cgroup"] for r in d["lruvecs"]} == {"/rec"}
		and d["cgroups"][0]["wanted"] * 2 < d["cgroups"][0]["held"]'
	run mcube ubm watch --seconds 1 --interval 1 --json
	holds "ubm watch: looks at the cgroup" '
		len(d) >= 2 and any(c["cgroup"] == "/rec" for c in d[-1]["cgroups"])'
	run mcube ubm
	says "ubm: for people" 0 "UBM is on" "/rec holds" "wanted"
	run mcube ubm --cgroup /nosuch
	says "ubm: no such cgroup" 1 "choose from" "/rec"
	echo max >/sys/fs/cgroup/rec/memory.max
	run mcube ubm off
	says "ubm off" 0 "as in the stock kernel"
	is "ubm off: the kernel has it" ubm/enabled 0
}

recorded() { run mcube record -o /tmp/t.gz --on /mnt --json "$@"; }

# What programs read from /mnt is what is recorded, and what is replayed
references()
{
	local around gen

	dd if=/dev/urandom of=/mnt/a bs=1M count=4 2>/dev/null
	dd if=/dev/urandom of=/mnt/b bs=1M count=12 2>/dev/null
	sync
	echo 3 >/proc/sys/vm/drop_caches
	recorded -- sh -c '(cat /mnt/a /mnt/a; dd if=/mnt/b bs=8M; dd if=/mnt/b bs=512 count=64
		) >/dev/null 2>&1'
	holds "record: each page of each read, once" '
		d["references"] == 1024 + 1024 + 3072 + 8 and d["lost"] == 0 and d["status"] == 0
		and sorted(f["pages"] for f in d["files"]) == [1024, 3072]
		and set(d["ranges"]) == {"r"} and d["unknown_sizes"] == 0'
	zcat /tmp/t.gz >/tmp/t
	[[ $(head -n 1 /tmp/t) = "# mcube-trace 1" ]] && ! grep -q /mnt /tmp/t
	result "record: anonymous unless asked"
	[ -z "$(ls /sys/kernel/tracing/instances)" ]
	result "record: the instance of tracefs is gone"
	cat >/tmp/touch.py <<'END'
import mmap
with open("/mnt/b", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
for page in (7, 300, 5, 7, 301):
    m[page << 12]
END
	around=$(cat /sys/kernel/debug/fault_around_bytes)
	recorded --paths --exact-faults -- python3 /tmp/touch.py
	holds "record: each page that is touched by a fault" '
		d["references"] == 4 and d["ranges"] == {"f": 4}
		and d["files"][0]["path"] == "/mnt/b"'
	zcat /tmp/t.gz >/tmp/t
	grep -q "^0 300 1 f$" /tmp/t && grep -q "^# program: python3 /tmp/touch.py$" /tmp/t
	result "record: pages and paths"
	[ "$(cat /sys/kernel/debug/fault_around_bytes)" = "$around" ]
	result "record: faults map as much as before"
	recorded -- python3 /tmp/touch.py
	holds "record: cached pages are mapped around" '
		d["ranges"].get("m", 0) >= 2 and d["references"] <= 4'
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/rec
	(echo 0 >/sys/fs/cgroup/rec/cgroup.procs
	 while sleep 0.3; do cat /mnt/a >/dev/null; done) &
	pid=$!
	sleep 0.5
	recorded --cgroup /rec --seconds 4
	holds "record: the processes of a cgroup" 'd["references"] >= 1024 and len(d["files"]) == 1'
	kill $pid
	wait $pid 2>/dev/null
	run mcube record -o /tmp/none.gz --on /mnt -- true
	says "record: nothing to record" 1 "there was no reference"

	# A loop of 12 MiB, in memory for less and for more than the loop
	recorded -- sh -c 'for i in 1 2 3 4; do dd if=/mnt/b bs=64k; done >/dev/null 2>&1'
	gen=$(cat /sys/kernel/mm/lru_gen/enabled)
	run mcube replay /tmp/t.gz --dir /mnt --memory 8M 48M --policy lru mglru --no-readahead \
		--json
	holds "replay: hits of a loop, by memory" '
		[r["references"] for r in d["rows"]] == [4 * 3072] * 4
		and [r["misses"] for r in d["rows"][2:]] == [3072] * 2
		and [r["hits"] for r in d["rows"][2:]] == [3 * 3072] * 2
		and all(r["misses"] > 2 * 3072 and r["cache_pages"] < 2048 for r in d["rows"][:2])
		and all(r["exact"] for r in d["rows"])
		and all(abs(r["device_pages"] - r["misses"]) < 100 for r in d["rows"])'
	[ "$(cat /sys/kernel/mm/lru_gen/enabled)" = "$gen" ] && [ ! -e /mnt/mcube-replay ] &&
		[ -z "$(ls -d /sys/fs/cgroup/mcube-replay* 2>/dev/null)" ]
	result "replay: all is as before"
	run mcube replay /tmp/t.gz --dir /tmp --memory 8M
	says "replay: no device" 1 "is on no block device" "--dir"
	run mcube replay /etc/passwd --dir /mnt --memory 8M
	says "replay: no trace" 1 "cannot be read"
	if [ -e $S/ubm/enabled ]; then
		ubm_live
	else
		run mcube ubm on
		says "ubm on: not built" 1 "CONFIG_MCUBE_UBM"
	fi
}

colors=$(cat $S/map/color_map) banks=$(cat $S/map/bank_map)
echo "TAP version 13"

# On a modelled machine, only the cases that differ there: all other cases are
# the same, and would take ten times as long.
if [ -d /sys/bus/event_source/devices/mcube_sim ]; then
	run mcube map set --color "$COLORS" --bank "$BANKS"
	# The demo and the benchmarks show what a policy cuts; here the summary has to
	# follow from the counts of the runs. The victim clears 20 MiB, a word at a time.
	again="dd if=/dev/zero of=/dev/null bs=512K count=40"
	stream="dd if=/dev/zero of=/dev/null bs=4M count=8"
	run mcube corun --victim "$again" --repeat 2 --json \
		--with "(echo color=3 >/sys/kernel/debug/mcube/hint; exec $stream)"
	holds "corun: modelled cycles, and a summary that follows from the runs" '
		d["parameters"]["counted"] == "model" and "seconds" not in str(d["rows"])
		and all(r["cost"]["min"] > 1e6 for r in d["rows"]) and len(d["runs"]) == 8
		and all(r["counts"]["instructions"] > 20 * 2**20 / 8
			and r["counts"]["misses"] > 5000
			and r["counts"]["references"] > 3e5 for r in d["runs"])
		and all(d["summary"][p]["extra_misses"] == sum(
			(0.5 if r["together"] else -0.5) * r["counts"]["misses"]
			for r in d["runs"] if r["policy"] == p) for p in ("off", "m3"))'
	run mcube check
	says "check: modelled" 0 "costs are modelled cycles" "machine '" "rocs': model, "

	run mcube off
	if modules rocs; then rocs_modelled; fi
	run mcube off
	run mcube map set --color "$colors" --bank "$banks"
	echo "# $count tests, $failed failed"
	[ $failed = 0 ]
	exit
fi

# check, status, map

run mcube check
echo "# ${out//$'\n'/$'\n'# }"
says "check: the kernel has mcube" "$status" "ok      kernel" "address map, alloc" \
	"QEMU without acceleration"
[ $status -le 1 ]
result "check: returns 0 or 1"
run mcube map set --color "$COLORS" --bank "$BANKS"
says "map set" 0 "map/bank_map: $banks -> $BANKS"
is "map set: the kernel has it" map/color_map "$COLORS"
run mcube check
says "check: ready once the map is set" 0 "ready to use" "32 colors" "16 banks" "mcube apply m3"
run mcube check --json
holds "check --json" 'd["usable"] and {i["state"] for i in d["items"]} <= {"ok", "note"}'
run mcube map
says "map" 0 "32 colors" "16 banks" "color=sysfs bank=sysfs" \
	"bit 0 = parity of address bits 14, 17"
run mcube map --explain 0x2a5000 --json
holds "map --explain" 'd["explained"][0]["color"] == 5 and d["explained"][0]["bank"] == 12'
run mcube map --explain nonsense
says "map --explain: no address" 1 "'nonsense' is no physical address"
run mcube status
says "status: off" 0 "profile in force: none" "enabled 0" "uncovered"

# apply, off

run mcube apply --list
says "apply --list" 0 "m3-paper" "available"
run mcube apply m3 --dry-run
says "apply --dry-run" 0 "alloc/enabled: would write '1'"
is "apply --dry-run writes nothing" alloc/enabled 0
run mcube apply m3
says "apply m3" 0 "alloc/enabled: 0 -> 1" "m3 is in force"
is "apply m3: on" alloc/enabled 1
is "apply m3: fill order" alloc/fill_order "shuffle paper even [auto]"
run mcube apply m3
says "apply m3 again" 0 "in force already"
run mcube apply m3-paper
says "apply another profile" 0 "alloc/fill_order: auto -> paper"
is "apply another profile: fill order" alloc/fill_order "shuffle [paper] even auto"
run mcube status --json
holds "status: profile and counters" \
	'd["profiles"] == ["m3-paper"] and d["systems"]["alloc"]["counters"]["served"] > 0
	 and 0 <= d["systems"]["alloc"]["shares"]["uncovered"] < 1'
run mcube off
says "off" 0 "alloc/enabled: 1 -> 0"
is "off: the kernel has it" alloc/enabled 0
run mcube off
says "off again" 0 "off already"

# writes that the kernel refuses

run mcube apply m3
run mcube map set --color none
says "map set while on" 1 "$S/map/color_map" "'none' cannot be set while it is in use" \
	"the kernel says:" "the map is in use, turn off what uses it first" "mcube off"
run mcube off
run mcube map set --color "0x3000 0x6000 0x5000"
says "map set: masks that depend on each other" 1 "mask 0x5000 says nothing"
run mcube map set --color "0x1000 0x2000" --bank 4096
says "map set: half of it refused" 1 "'4096' is no part of an address map"
is "map set: the other half is not written" map/color_map "$COLORS"
mkdir -p /etc/mcube/profiles
cat >/etc/mcube/profiles/masks.conf <<'END'
[profile]
title = masks that the kernel refuses, too
[apply]
map/color_map = 0x3000 0x6000 0x5000
[off]
alloc/enabled = 0
END
run mcube apply masks
says "apply: masks that depend on each other" 1 "the kernel says:" "allowed: masks" \
	"is no value that it takes"
rm /etc/mcube/profiles/masks.conf
cat >/etc/mcube/profiles/wrong.conf <<'END'
[profile]
title = a number too large
[apply]
alloc/fill_order = paper
alloc/container_order = 99
alloc/enabled = 1
END
run mcube apply m3
run mcube off
run mcube apply wrong
says "apply: refused by the kernel" 1 "$S/alloc/container_order: '99' is out of range" \
	"the kernel says: alloc/container_order: expected 9 to 10" "allowed: the order of" \
	"all settings are as before"
is "apply: what was written is undone" alloc/fill_order "shuffle paper even [auto]"
is "apply: nothing after it was written" alloc/enabled 0
echo "alloc/fill_order paper" >/etc/mcube/profiles/wrong.conf
run mcube apply wrong
says "apply: a profile that cannot be read" 1 "wrong.conf:1" "is not understood"
rm -r /etc/mcube
run mcube apply nosuch
says "apply: no such profile" 1 "no profile 'nosuch'" "choose from: m3-paper, m3"
run mcube apply m3 --nonsense
says "wrong usage" 2 "unrecognized arguments"
run mcube
says "no command" 2 "usage: mcube"

# pages: under a hint, the pages of a program lie on the color that was asked for

cat >/tmp/hold.py <<'END'
import mmap
import signal
a = mmap.mmap(-1, 8 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
a.write(b"x" * len(a))
print("held", flush=True)
signal.pause()
END
hold()		# HINT [COMMAND...]: start it, set $pid
{
	local hint=$1

	shift
	(echo "$hint" >/sys/kernel/debug/mcube/hint
	 exec "$@" python3 /tmp/hold.py >/tmp/held) &
	pid=$!
	until grep -q held /tmp/held 2>/dev/null; do sleep 0.2; done
}
run mcube apply m3
hold color=3
run mcube pages $pid --only anon --json
holds "pages: hint color=3" 'd["colors"][3] > 0.9 * d["pages"] >= 1800
	and sum(d["colors"]) == sum(map(sum, d["grid"])) == d["pages"] and d["name"] == "python3"'
run mcube pages $pid
says "pages: heat map" 0 "process $pid (python3)" "bank 15" "mapping" "libc.so.6"
run mcube pages $pid --only file --mapping '*libc*' --json
holds "pages: of a file" 'd["pages"] > 20
	and all("libc" in m["name"] and not m["anon"] for m in d["mappings"])'
run mcube pages $pid --mapping '*nosuch*'
says "pages: no such mapping" 1 "has no such page" "libc"
kill $pid
wait $pid 2>/dev/null
rm /tmp/held
run mcube pages $pid
says "pages: no such process" 1 "there is no process $pid"
hold bank=9
run mcube pages $pid --only anon --json
holds "pages: hint bank=9" 'd["banks"][9] > 0.9 * d["pages"] >= 1800'
kill $pid
wait $pid 2>/dev/null
rm /tmp/held
if [ -d /sys/devices/system/node/node1 ]; then
	hold none numactl --membind=1
	run mcube pages $pid --only anon --json
	holds "pages: node" 'sum(m["nodes"].get("1", 0) for m in d["mappings"]) > 0.9 * d["pages"]'
	kill $pid
	wait $pid 2>/dev/null
fi

# corun: counts, and the policies are as before, also after an interrupt

# The victim and the co-runner that are interrupted below, as long as they run.
sleepers()
{
	local file

	for file in /proc/[0-9]*/cmdline; do
		tr '\0' ' ' <"$file"
		echo
	done 2>/dev/null | grep -x 'sleep 1234 \|sleep 2345 '
}

# 120 ms: perf counted nothing for 1 of 400 programs of 4 ms in a guest.
# shellcheck disable=SC2016 # for the shell that corun starts
work='i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done'
run mcube apply m3-paper
run mcube corun --victim "$work" --with 'sleep 0.1' --events page-faults,minor-faults \
	--repeat 2 --json
holds "corun: counts by perf" 'len(d["rows"]) == 4 and set(d["summary"]) == {"off", "m3"}
	and all(r["cost"]["min"] > 30 for r in d["rows"])
	and [(r["policy"], r["together"]) for r in d["runs"]][:4] ==
		[("off", False), ("off", True), ("m3", False), ("m3", True)]
	and "seconds" not in str(d["rows"])'
run mcube status
says "corun: the policy is as before" 0 "profile in force: m3-paper"
run mcube corun --victim 'echo went wrong >&2; exit 7' --with 'sleep 0.1' --events page-faults
says "corun: the victim fails" 1 "failed with status 7" "went wrong"
run mcube corun --victim 'sleep 30' --with 'exit 5' --events page-faults
says "corun: a co-runner fails" 1 "co-runner 'exit 5' failed with status 5"
mcube corun --victim 'sleep 1234' --with 'sleep 2345' --events page-faults >/tmp/corun 2>&1 &
pid=$!
until [ -n "$(sleepers)" ] && [ "$(cat $S/alloc/enabled)" = 0 ]; do sleep 0.2; done
sleep 1
kill -TERM $pid
wait $pid
status=$? out=$(cat /tmp/corun)
says "corun: interrupted" 130 "interrupted"
sleep 1
out=$(sleepers)
[ -z "$out" ]
result "corun: nothing is left behind"
run mcube status
says "corun: the policy is as before after an interrupt" 0 "profile in force: m3-paper"
run mcube corun --victim true --with true
says "corun: an emulated CPU without a model" 1 "CPU is emulated" "--events"
run mcube off

# ROCS, on a machine without a PMU

run mcube rocs
says "rocs: not loaded" 1 "its module is not loaded" "'mcube rocs on'"
run mcube rocs on --auto --events intel
says "rocs on: allocator off" 1 "the mcube allocator is off" "--alloc"
run mcube rocs on --auto --alloc
says "rocs on: no events for this machine" 1 "no set of events is for this processor" "--events"
run mcube rocs on --auto --alloc --events intel
says "rocs on: no module" 1 "mcube_rocs cannot be loaded" "what to do:"
if modules rocs; then rocs_without_pmu; fi

# References of pages: what programs read is what is recorded

mkdir -p /mnt
if mount -t ext4 -o noatime /dev/vda /mnt 2>/dev/null; then
	references
	rmdir /sys/fs/cgroup/rec
	run mcube setcache
	says "setcache: not loaded" 1 "module is not loaded" "'mcube setcache on'"
	if modules setcache; then setcache_live; fi
	umount /mnt
else
	count=$((count + 1))
	echo "ok $count record and replay # SKIP there is no disk"
fi

# published maps, the probe, the report

run mcube map known --json
holds "map known: an emulated CPU fits no map" 'len(d["maps"]) > 10
	and not any(m["cpu"] for m in d["maps"]) and all(m["source"] for m in d["maps"])'
if modules probe; then
	run mcube map probe --module --mib 16 --save /tmp/pairs
	says "map probe: an emulator does not obey" 1 "does not obey" "--core"
	[ ! -e /tmp/pairs ] && rmmod mcube_probe
	result "map probe: nothing is left open"
fi

# reported NAME PYTHON: the expression is true of the report
reported()
{
	out=$(tar xzOf /tmp/report.tar.gz mcube-report/report.json)
	status=$?
	holds "$1" "$2"
}

run mcube apply m3-paper
run mcube report --quick --output /tmp/report.tar.gz --dir /tmp --kselftests none
says "report" 0 "check: ok" "status: ok" "report: /tmp/report.tar.gz"
reported "report: what ran, and what an emulator refuses" '
	(s := {x["name"]: x for x in d["steps"]}) and not d["not_run"] and not d["interrupted"]
	and d["restored"] == "yes" and d["machine"]["mcube"]
	and s["status"]["data"]["profiles"] == ["m3-paper"]
	and s["corun m3"]["status"] == "refused" and "emulated" in s["corun m3"]["why"]
	and all(x["status"] in ("ok", "refused") for x in d["steps"])'
run mcube status
says "report: the policy is as before" 0 "profile in force: m3-paper"
rm /tmp/report.tar.gz
mcube report --quick --output /tmp/report.tar.gz --dir /tmp --kselftests none >/tmp/said 2>&1 &
pid=$!
until grep -q 'check: ok' /tmp/said; do sleep 0.2; done
kill -TERM $pid
wait $pid
status=$? out=$(cat /tmp/said)
says "report: interrupted" 130 "report: /tmp/report.tar.gz"
reported "report: what there was until then" 'd["interrupted"] and d["not_run"]
	and d["steps"][0]["name"] == "check" and d["restored"] == "yes"'
out=$(ls -d /tmp/mcube-report-* 2>&1)
[[ $out == *"No such file"* ]]
result "report: its files are gone"
run mcube off

# a normal user

run user mcube check
says "user: check" 1 "missing user" "not root" "sudo"
run user mcube status
says "user: status" 0 "profile in force: none"
run user mcube map --explain 0x1000
says "user: map" 0 "color 1 of 32"
run user mcube record -- true
says "user: record" 1 "only root may trace" "sudo"
run user mcube apply m3
says "user: apply" 1 "may only be written by root" "sudo"
is "user: apply changes nothing" alloc/enabled 0
run user mcube map set --bank none
says "user: map set" 1 "may only be written by root"
run user mcube pages $$
says "user: pages of another" 1 "may not be looked at" "sudo"
run user sh -c "mcube pages \$\$"
says "user: pages of its own" 1 "hides page frame numbers" "CAP_SYS_ADMIN"

run mcube map set --color "$colors" --bank "$banks"
says "the map is as before" 0
echo "# $count tests, $failed failed"
[ $failed = 0 ]
