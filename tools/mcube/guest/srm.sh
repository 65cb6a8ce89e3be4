#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest's side of bench/srm.py: policies, programs that read files, and
# victims beside them. As a command it is one pass of a program:
#
#	srm.sh PROGRAM
#
# The victim has CPU 0 and the file program CPU 1. The other way round a busy CPU 0,
# which has the only timer, keeps the rest waiting for whole turns.

MCUBE=/sys/kernel/mm/mcube
MODEL=/sys/bus/event_source/devices/mcube_sim
COUNT=mcube_sim/cycles/,mcube_sim/accesses/,mcube_sim/llc_refs/,mcube_sim/llc_misses/
# No program finds it, so that all read everything.
WORD=no_such_word_in_here
# Programs with a loop of their own go round by it.
LOOPS=${LOOPS:-1}
# What is cached stays where it is; nothing is known before a job about its end.
fio_in() { # DIRECTORY OPTION...
	fio --minimal --output=/dev/null --invalidate=0 --thread --randrepeat=1 \
		--fallocate=none --directory="$1" --loops="$LOOPS" "${@:2}"
}

search() { # COMMAND...: finds nothing, which is no error
	"$@"
	[ $? -eq 1 ]
}

pass() { # PROGRAM: once through its files
	case $1 in
	grep) search grep -rF $WORD /data/a /data/b ;;
	tar) tar -C /data -cf - a b | cat > /dev/null ;;
	diff) diff -r /data/a /data/b ;;
	rg-mmap) search rg -uu -j1 --mmap -F $WORD /data/a /data/b ;;
	rg-read) search rg -uu -j1 --no-mmap -F $WORD /data/a /data/b ;;
	fio-mmap) fio_in /data --name=mapped --ioengine=mmap --rw=read --bs=4k \
			--filename=big --size="${BIG}m" ;;
	# As PostMark: small files come and go, others are read and written to.
	fio-mail)
		mkdir -p /data/mail
		fio_in /data/mail --ioengine=psync --nrfiles=200 --filesize=1k-16k \
			--bs=512 --openfiles=16 --unlink=1 \
			--name=come --rw=write --create_on_open=1 --unlink_each_loop=1 \
			--name=use --rw=randrw --file_service_type=random --io_size=1m ;;
	random) fio_in /data --name=random --ioengine=psync --rw=randread --norandommap=1 --bs=4k \
			--filename=big --size="${BIG}m" ;;
	# The same file 500 times over, in percent of the last level. Not by cat, which maps
	# a new buffer for each file: its faults would be most of what is seen.
	scan-*) fio_in /data --name=scan --ioengine=psync --rw=read --bs=64k --filename="$1" \
			--loops=500 ;;
	# A cache of 64 KiB, as it uses no page twice.
	join) join ;;
	table) sqlite3 -readonly /data/rows.db 'PRAGMA cache_size = -64;
			SELECT count(*), sum(length(t)) FROM rows' ;;
	*) echo "srm.sh: no program '$1'" >&2; return 2 ;;
	esac
}

begin() { # FILESYSTEM
	echo never > /sys/kernel/mm/transparent_hugepage/enabled
	taskset -p 1 $$ > /dev/null
	mkdir -p /data
	# The clock stands before the files' dates: each read would write an inode.
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

refill() { # PROGRAM: its files in the page cache, placed by the policy in force
	sync
	echo 3 > /proc/sys/vm/drop_caches
	taskset 2 /guest/srm.sh "$1" > /dev/null
}

stats() { # FILE
	grep . $MCUBE/srm/stats/* > "$1"
}

cost() { # PROGRAM FILE: modelled cost of a pass, alone, after another one
	local _

	# Both counted: what nobody counts is not modelled.
	echo 1 > $MODEL/clear
	for _ in first second; do
		taskset 2 perf stat -x, -o "$2" -e $COUNT -- /guest/srm.sh "$1" > /dev/null
	done
}

load() { # FILES SIZES BYTES [SEED]: a mail server's, for the hit ratio; what fio says of it
	mkdir -p /data/mail
	# It chooses among open files.
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

pairs() { # ROWS: the table that is joined
	sqlite3 /data/pairs.db "CREATE TABLE build AS SELECT k, v FROM pairs WHERE k < $1"
}

# SQLite has no hash join. It makes an index of one side, which fits in its cache, and
# looks up each row of the other, which is twice as long and in no order.
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

stream() { # PROGRAM [MASK]: again and again, from now on, on CPU 1 or these
	rm -rf /data/mail
	# shellcheck disable=SC2016
	LOOPS=100000 taskset "${2:-2}" setsid bash -c '
		while /guest/srm.sh "$0" > /dev/null; do :; done
		echo failed >> /tmp/failed' "$1" &
	streams+=($!)
	# These take their time to begin.
	case $1 in
	fio-mail) until compgen -G '/data/mail/come*' > /dev/null; do sleep 0.05; done ;;
	fio-mmap | random) sleep 0.5 ;;
	esac
}

quiet() { # end all streams; one that ended by itself is a failure
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
