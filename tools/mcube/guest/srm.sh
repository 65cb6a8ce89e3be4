#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The guest's part of bench/srm.py: policies, programs that read files, and
# victims beside these programs. As a command, srm.sh runs one pass of a program:
#
#	srm.sh PROGRAM
#
# The victim has CPU 0 and the file program CPU 1. CPU 0 has the only timer: with
# the file program there, everything else would wait for whole quanta.

MCUBE=/sys/kernel/mm/mcube
MODEL=/sys/bus/event_source/devices/mcube_sim
COUNT=mcube_sim/cycles/,mcube_sim/accesses/,mcube_sim/llc_refs/,mcube_sim/llc_misses/
# No file has this word, so that programs read all files to the end.
WORD=no_such_word_in_here
# Passes of a program that has a loop of its own.
LOOPS=${LOOPS:-1}
# fio must not drop cached pages (--invalidate=0) or allocate blocks in advance.
fio_in() { # DIRECTORY OPTION...
	fio --minimal --output=/dev/null --invalidate=0 --thread --randrepeat=1 \
		--fallocate=none --directory="$1" --loops="$LOOPS" "${@:2}"
}

search() { # COMMAND...: succeeds if the command finds nothing
	"$@"
	[ $? -eq 1 ]
}

pass() { # PROGRAM: reads its files once
	case $1 in
	grep) search grep -rF $WORD /data/a /data/b ;;
	tar) tar -C /data -cf - a b | cat > /dev/null ;;
	diff) diff -r /data/a /data/b ;;
	rg-mmap) search rg -uu -j1 --mmap -F $WORD /data/a /data/b ;;
	rg-read) search rg -uu -j1 --no-mmap -F $WORD /data/a /data/b ;;
	fio-mmap) fio_in /data --name=mapped --ioengine=mmap --rw=read --bs=4k \
			--filename=big --size="${BIG}m" ;;
	# As in PostMark, small files come and go, and other files are read and written.
	fio-mail)
		mkdir -p /data/mail
		fio_in /data/mail --ioengine=psync --nrfiles=200 --filesize=1k-16k \
			--bs=512 --openfiles=16 --unlink=1 \
			--name=come --rw=write --create_on_open=1 --unlink_each_loop=1 \
			--name=use --rw=randrw --file_service_type=random --io_size=1m ;;
	random) fio_in /data --name=random --ioengine=psync --rw=randread --norandommap=1 --bs=4k \
			--filename=big --size="${BIG}m" ;;
	# The same file 500 times; the number is its size in percent of the last level. cat
	# maps a new buffer for each file, and its faults would be most of the misses.
	scan-*) fio_in /data --name=scan --ioengine=psync --rw=read --bs=64k --filename="$1" \
			--loops=500 ;;
	join) join ;;
	# SQLite's cache has 64 KiB only, since a scan uses no page twice.
	table) sqlite3 -readonly /data/rows.db 'PRAGMA cache_size = -64;
			SELECT count(*), sum(length(t)) FROM rows' ;;
	*) echo "srm.sh: no program '$1'" >&2; return 2 ;;
	esac
}

begin() { # FILESYSTEM
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	taskset -p 1 $$ > /dev/null
	mkdir -p /data
	# The guest's clock is before the files' dates, so each read would write an inode.
	mount -t "$1" -o noatime /dev/vda /data
}

policy() { # off | TL in pages [SHARE of colors reserved, sixteenths]
	echo 0 > $MCUBE/alloc/enabled
	[ "$1" != off ] || return 0
	echo shuffle > $MCUBE/alloc/fill_order
	echo 1 > $MCUBE/alloc/enabled
	echo "$1" > $MCUBE/srm/tl
	echo "${2:-1}" > $MCUBE/srm/reserve
	echo 1 > $MCUBE/srm/enabled
}

refill() { # PROGRAM: reads its files anew, so that the policy in force places them
	sync
	echo 3 > /proc/sys/vm/drop_caches
	taskset 2 /guest/srm.sh "$1" > /dev/null
}

stats() { # FILE
	grep . $MCUBE/srm/stats/* > "$1"
}

cost() { # PROGRAM FILE: modelled cost of a pass, alone, after another pass
	local _

	# perf counts both passes, since the model runs only while an event is open.
	echo 1 > $MODEL/clear
	for _ in first second; do
		taskset 2 perf stat -x, -o "$2" -e $COUNT -- /guest/srm.sh "$1" > /dev/null
	done
}

load() { # FILES SIZES BYTES [SEED]: load of a mail server, for the hit ratio; prints fio's report
	mkdir -p /data/mail
	# fio chooses among open files.
	ulimit -n $(($1 + 1024))
	fio_in /data/mail --output=/dev/stdout --ioengine=psync --bs=4k --openfiles="$1" \
		${4:+--randseed="$4"} \
		--name=use --rw=randrw --rwmixread=70 --nrfiles="$1" --filesize="$2" \
		--file_service_type=random --io_size="$3" \
		--name=come --rw=write --nrfiles=500 --filesize=4k-16k --create_on_open=1 \
		--unlink=1 --unlink_each_loop=1
}

read_sectors() {
	awk '{ print $3 }' /sys/block/vda/stat
}

pairs() { # ROWS: makes the table of the join
	sqlite3 /data/pairs.db "CREATE TABLE build AS SELECT k, v FROM pairs WHERE k < $1"
}

# SQLite has no hash join. It builds an index of one table, which fits in its cache, and
# looks up each row of the other table, which is twice as long and in random order.
join() {
	sqlite3 -readonly /data/pairs.db 'PRAGMA cache_size = -65536;
		PRAGMA temp_store = MEMORY;
		WITH RECURSIVE n(c) AS (SELECT count(*) FROM build),
		probe(i, x) AS (SELECT 0, 1 UNION ALL
			SELECT i + 1, (x * 1103515245 + 12345) % 2147483648 FROM probe, n
			WHERE i < 2 * c)
		SELECT sum(v) FROM probe CROSS JOIN n CROSS JOIN build
		WHERE build.k = probe.x / 8 % n.c'
}

victim() { # NAME KIB FILE; WORK: million accesses
	echo 1 > $MODEL/clear
	case $1 in
	join) perf stat -x, -o "$3" -e $COUNT -- /guest/srm.sh "$1" > /dev/null ;;
	*) /guest/victims -k "$2" ${WORK:+-a "$WORK"} "$1" > "$3" ;;
	esac
}

streams=()

stream() { # PROGRAM [MASK]: starts the program in a loop, on CPU 1 or the CPUs of MASK
	rm -rf /data/mail
	# shellcheck disable=SC2016
	LOOPS=100000 taskset "${2:-2}" setsid bash -c '
		while /guest/srm.sh "$0" > /dev/null; do :; done
		echo failed >> /tmp/failed' "$1" &
	streams+=($!)
	# These programs take time before they read.
	case $1 in
	fio-mail) until compgen -G '/data/mail/come*' > /dev/null; do sleep 0.05; done ;;
	fio-mmap | random) sleep 0.5 ;;
	esac
}

quiet() { # ends all streams; fails if a stream ended before
	local pid

	for pid in "${streams[@]}"; do
		kill -KILL -- "-$pid"
		wait "$pid" || :
	done 2> /dev/null
	streams=()
	[ ! -e /tmp/failed ] || { echo "a file program failed beside a victim"; exit 1; }
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	pass "$@"
fi
