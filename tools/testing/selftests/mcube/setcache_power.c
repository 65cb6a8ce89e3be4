// SPDX-License-Identifier: GPL-2.0
/*
 * A writer whose power is cut, and a check of what it left on the disk.
 *
 *   setcache_power write DIR SEED CUT      writes until killed; prints "synced DIR N" when
 *                                          operation N is on the disk, and once after
 *                                          operation CUT a request to cut the power
 *   setcache_power check DIR SEED N        is each operation up to N on the disk?
 *   setcache_power list DIR SEED N END     prints pages that operation N or one before it
 *                                          wrote, and none from there to END
 *
 * The seed gives the operations.  Number N writes stamps N to a few pages of a file:
 * buffered, directly, through a mapping; or it punches a hole.  Some make a file of their
 * own too.  The writer reads the file in between, and knows what has to be there.
 *
 * No kselftest: guests_power.py runs it, and kills the machine.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"
#include "setcache_lib.h"

#define PAGES		512U	/* more than a pool of 1 MiB has */
#define MAX_PAGES	8U	/* of an operation */
#define READS		4U	/* after an operation */
#define AHEAD		64U	/* operations that may follow the last one that was synced */

enum how { BUFFERED, DIRECT, MAPPED, HOLE, KINDS };

struct op {
	uint32_t number;
	unsigned int first, nr;
	enum how how;
	bool sync, file;	/* it ends with fsync(); it makes a file */
};

static struct op op_of(uint64_t seed, uint32_t number)
{
	uint64_t state = seed * 1000003 + number;
	struct op op = { .number = number };

	/* The first numbers of close states are alike. */
	mcube_random(&state);
	mcube_random(&state);
	op.first = mcube_random(&state) % (PAGES - MAX_PAGES);
	op.nr = 1 + mcube_random(&state) % MAX_PAGES;
	op.how = mcube_random(&state) % KINDS;
	op.sync = mcube_random(&state) % 3 == 0;
	op.file = op.sync && mcube_random(&state) % 4 == 0;
	return op;
}

static bool touches(const struct op *op, unsigned int page)
{
	return page >= op->first && page < op->first + op->nr;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_file(const char *dir, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/pages", dir);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		die(path);
	return fd;
}

/* A file with a page, which is on the disk afterwards. */
static void make_file(const char *dir, uint32_t number, const char *page)
{
	int fd, dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", dir, number);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, page, PAGE_SIZE_) != PAGE_SIZE_ || fsync(fd) || fsync(dir_fd))
		die(path);
	close(fd);
	close(dir_fd);
}

static void write_pages(const struct op *op, int fd, int direct_fd, char *map, char *buf)
{
	off_t pos = op->first * PAGE_SIZE_, len = op->nr * PAGE_SIZE_;
	unsigned int i;
	bool bad = false;

	for (i = 0; i < op->nr; i++)
		stamp_fill(buf + i * PAGE_SIZE_, op->first + i, op->number);
	if (op->how == BUFFERED)
		bad = pwrite(fd, buf, len, pos) != len;
	else if (op->how == DIRECT)
		bad = pwrite(direct_fd, buf, len, pos) != len;
	else if (op->how == MAPPED)
		memcpy(map + pos, buf, len);
	else
		bad = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
	if (bad)
		die("a write");
}

/* Page sets have what was written last: a number, or 0 for a hole. */
static void read_some(int fd, const uint32_t *now, uint64_t *state, char *buf)
{
	struct stamped s = { 0 };
	unsigned int i, page;

	for (i = 0; i < READS; i++) {
		page = mcube_random(state) % PAGES;
		s.begun = now[page];
		s.done = now[page];
		if (pread(fd, buf, PAGE_SIZE_, page * PAGE_SIZE_) != PAGE_SIZE_ ||
		    !stamp_is_current(&s, page, now[page], buf, 0, PAGE_SIZE_))
			die("a read");
	}
}

static void run_writer(const char *dir, uint64_t seed, uint32_t cut)
{
	int fd = open_file(dir, O_RDWR | O_CREAT), direct_fd = open_file(dir, O_RDWR | O_DIRECT);
	char *buf = aligned_alloc(PAGE_SIZE_, MAX_PAGES * PAGE_SIZE_), *map, line[128];
	static uint32_t now[PAGES];
	uint64_t state = seed;
	uint32_t number;
	unsigned int i;

	if (ftruncate(fd, PAGES * PAGE_SIZE_) || fsync(fd))
		die("ftruncate");
	map = mmap(NULL, PAGES * PAGE_SIZE_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	for (number = 1;; number++) {
		struct op op = op_of(seed, number);

		write_pages(&op, fd, direct_fd, map, buf);
		for (i = op.first; i < op.first + op.nr; i++)
			now[i] = op.how == HOLE ? 0 : number;
		if (op.file)
			make_file(dir, number, buf);
		if (op.sync) {
			/* The next reads are of the disk. */
			if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
				die("fsync");
			i = snprintf(line, sizeof(line), "synced %s %u\n", dir, number);
			if (write(1, line, i) != (ssize_t)i)
				die("stdout");
		}
		read_some(fd, now, &state, buf);
		if (number == cut && write(1, "##host: cut-power\n", 18) != 18)
			die("stdout");
	}
}

/* The last operation up to @last on a page; 0 if there is none. */
static uint32_t last_on(uint64_t seed, unsigned int page, uint32_t last)
{
	struct op op;

	for (; last; last--) {
		op = op_of(seed, last);
		if (touches(&op, page))
			break;
	}
	return last;
}

static bool hole_between(uint64_t seed, unsigned int page, uint32_t first, uint32_t last)
{
	struct op op;

	for (; first <= last; first++) {
		op = op_of(seed, first);
		if (op.how == HOLE && touches(&op, page))
			return true;
	}
	return false;
}

/* Each word is that of the last operation up to @synced, or of a later one. */
static bool page_is_right(const char *buf, uint64_t seed, unsigned int page, uint32_t synced,
			  bool verbose)
{
	uint32_t done = last_on(seed, page, synced);
	bool zero = !done || hole_between(seed, page, done, synced + AHEAD);
	size_t at;

	for (at = 0; at < PAGE_SIZE_; at += 8) {
		uint64_t word;
		struct op op;

		memcpy(&word, buf + at, sizeof(word));
		if (!word && zero)
			continue;
		op = op_of(seed, (uint32_t)word);
		if (word >> 32 == page + 1 && op.number >= done && op.number &&
		    touches(&op, page) && op.how != HOLE)
			continue;
		if (verbose)
			printf("# page %u byte %zu: page %d of operation %u, not %u (of %u)\n",
			       page, at, (int)(word >> 32) - 1, (uint32_t)word, done, synced);
		return false;
	}
	return true;
}

static bool file_is_right(const char *dir, const struct op *op)
{
	struct stamped s = { .begun = op->number, .done = op->number };
	char path[128], buf[PAGE_SIZE_];
	int fd;

	snprintf(path, sizeof(path), "%s/%u", dir, op->number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, buf, sizeof(buf)) != sizeof(buf) ||
	    !stamp_is_current(&s, op->first, op->number, buf, 0, sizeof(buf))) {
		printf("# file %s is lost\n", path);
		return false;
	}
	close(fd);
	return true;
}

/* Usual reads and direct ones; returns how much is wrong. */
static unsigned int run_check(const char *dir, uint64_t seed, uint32_t synced)
{
	int fd = open_file(dir, O_RDONLY), direct_fd = open_file(dir, O_RDONLY | O_DIRECT);
	char *buf = aligned_alloc(PAGE_SIZE_, 2 * PAGE_SIZE_);
	unsigned int page, bad = 0, files = 0;
	uint32_t number;

	for (page = 0; page < PAGES; page++) {
		if (pread(fd, buf, PAGE_SIZE_, page * PAGE_SIZE_) != PAGE_SIZE_ ||
		    pread(direct_fd, buf + PAGE_SIZE_, PAGE_SIZE_, page * PAGE_SIZE_) !=
		    PAGE_SIZE_)
			die("a read");
		bad += !!memcmp(buf, buf + PAGE_SIZE_, PAGE_SIZE_) +
		       !page_is_right(buf, seed, page, synced, bad < 10);
	}
	for (number = 1; number <= synced; number++) {
		struct op op = op_of(seed, number);

		files += op.file;
		bad += op.file && !file_is_right(dir, &op);
	}
	printf("# %s: %u operations, %u files; %u wrong\n", dir, synced, files, bad);
	return bad;
}

static void run_list(const char *dir, uint64_t seed, uint32_t synced, uint32_t end)
{
	char buf[PAGE_SIZE_];
	int fd = open_file(dir, O_RDONLY);
	unsigned int page;
	uint64_t word, sum;
	size_t at;

	for (page = 0; page < PAGES; page++) {
		if (!last_on(seed, page, synced) || last_on(seed, page, end) > synced)
			continue;
		if (pread(fd, buf, PAGE_SIZE_, page * PAGE_SIZE_) != PAGE_SIZE_)
			die("a read");
		for (sum = 0, at = 0; at < PAGE_SIZE_; at += 8) {
			memcpy(&word, buf + at, sizeof(word));
			sum = (sum ^ word) * 0x100000001b3ULL;
		}
		printf("%u %016llx\n", page, (unsigned long long)sum);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	uint32_t number = argc > 4 ? strtoul(argv[4], NULL, 0) : 0;

	if (argc == 5 && !strcmp(argv[1], "write"))
		run_writer(argv[2], seed, number);
	if (argc == 5 && !strcmp(argv[1], "check"))
		return !!run_check(argv[2], seed, number);
	if (argc != 6 || strcmp(argv[1], "list")) {
		fputs("usage: setcache_power write|check DIR SEED N\n"
		      "       setcache_power list DIR SEED N END\n", stderr);
		return KSFT_FAIL;
	}
	run_list(argv[2], seed, number, strtoul(argv[5], NULL, 0));
	return 0;
}
