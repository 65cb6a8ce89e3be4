// SPDX-License-Identifier: GPL-2.0
/*
 * setcachecost: what a read at random costs, by the page cache, by direct I/O and from
 * page sets
 *
 *	pagecache.hit	pread() of pages that are in the page cache
 *	pagecache.miss	pread() of pages that are not, in a memory cgroup that is full
 *	direct.miss	pread() with O_DIRECT
 *	setcache.hit	pread() of pages that are in page sets
 *	setcache.miss	pread() of pages that are not, and all sets are full
 *
 * each of a page (4k), of 4 pages (16k) and of 16 pages (64k) at a time, and of 32 pages by
 * io_uring (ring), in a random order that is always the same.  Readahead is off, by
 * POSIX_FADV_RANDOM.  A pass for misses begins with empty caches and reads each page once.  Its
 * first half, which has more pages than the cgroup or the sets, is not counted.
 *
 * The program counts instructions, see icount.h, and prints them per 1000 pages.  The
 * line "copy" says by how much the instruction that copies a page counts more than one: to
 * the user, and from a RAM disk (both rep movsq, after eight bytes).
 *
 *	setcachecost [-n PAGES] [-h HOT] [-r ROUNDS] [-c CGROUP] FILE
 *
 * FILE has PAGES, or is made so; HOT of them are read as hits.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hole.h"
#include "ring_lib.h"

#define SETCACHE	"/sys/kernel/mm/mcube/setcache/"
#define PIECE		(16 * PAGE)
#define BUFFER		(RING_DEPTH * PAGE)
#define KINDS		4
/* MiB of the sets: few pages of the hot file in each set, and much less than the file. */
#define SIZE_HITS	"64"
#define SIZE_MISSES	"4"

static const char usage[] =
	"usage: setcachecost [-n PAGES] [-h HOT] [-r ROUNDS] [-c CGROUP] FILE\n";

static unsigned long pages = 8192, hot = 2048, rounds = 6;
static const char *cgroup = "/sys/fs/cgroup/cost", *name;
static char *buf, scratch[2 * PAGE];
static int buffered, direct;
static struct ring ring;

static void put(const char *folder, const char *file, const char *value)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die(path);
	close(fd);
}

static unsigned long stat_of(const char *file)
{
	char path[256], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), SETCACHE "stats/%s", file);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(path);
	close(fd);
	return strtoul(text, NULL, 10);
}

/* As pass(), by io_uring. */
static void pass_ring(int fd, const unsigned int *order, unsigned long piece,
		      unsigned long from, unsigned long to)
{
	unsigned long i, n;

	for (i = from; i < to; i += n) {
		for (n = 0; n < RING_DEPTH && i + n < to; n++)
			ring_add(&ring, fd, buf + n * piece, piece, order[i + n] * piece);
		if (ring_submit(&ring, n))
			die("io_uring_enter");
		while (ring_complete(&ring))
			if (ring_take(&ring) != (int)piece)
				die("io_uring");
	}
}

/* Read pieces @from to @to in the given order. */
static void pass(int fd, const unsigned int *order, unsigned long piece,
		 unsigned long from, unsigned long to)
{
	unsigned long i;

	for (i = from; i < to; i++)
		if (pread(fd, buf, piece, order[i] * piece) != (ssize_t)piece)
			die("pread");
}

static void drop(void)
{
	sync();
	/* Not 3: that would take memory from the sets. */
	put("/proc/sys/vm", "drop_caches", "1");
}

/* Passes of each kind: misses or, after a first pass, hits. */
static void count(const char *what, int fd, bool hits)
{
	static const struct {
		const char *name;
		unsigned long piece;
		void (*pass)(int fd, const unsigned int *order, unsigned long piece,
			     unsigned long from, unsigned long to);
	} kinds[KINDS] = {
		{ "4k", PAGE, pass }, { "16k", PIECE / 4, pass }, { "64k", PIECE, pass },
		{ "ring", PAGE, pass_ring },
	};
	unsigned long start, k, i;

	for (k = 0; k < KINDS; k++) {
		unsigned long piece = kinds[k].piece;
		unsigned long all = (hits ? hot : pages) * PAGE / piece;
		unsigned long from = hits ? 0 : all / 2;
		unsigned int *order = shuffled(all);

		if (hits)
			kinds[k].pass(fd, order, piece, 0, all);
		for (i = 0; i < rounds; i++) {
			if (!hits) {
				drop();
				kinds[k].pass(fd, order, piece, 0, from);
			}
			start = now();
			kinds[k].pass(fd, order, piece, from, all);
			printf("%s%s %lu\n", what, kinds[k].name, (now() - start) * 1000 /
			       ((all - from) * piece / PAGE));
		}
		free(order);
	}
}

/* As count(), from page sets; nothing but what is counted may come in between. */
static void count_sets(const char *what, bool hits)
{
	unsigned long fills = stat_of("fills"), want = hits ? hot : KINDS * rounds * pages;

	count(what, buffered, hits);
	fills = stat_of("fills") - fills;
	if (fills == want)
		return;
	fprintf(stderr, "setcachecost: %s: %lu fills, expected %lu\n", what, fills, want);
	exit(1);
}

static void open_files(void)
{
	struct stat st;
	unsigned long i;

	buffered = open(name, O_RDWR | O_CREAT, 0600);
	if (buffered < 0 || fstat(buffered, &st))
		die(name);
	if (S_ISREG(st.st_mode)) {
		memset(buf, 1, PIECE);
		for (i = 0; i < pages * PAGE; i += PIECE)
			if (pwrite(buffered, buf, PIECE, i) != (ssize_t)PIECE)
				die("pwrite");
	}
	if (posix_fadvise(buffered, 0, 0, POSIX_FADV_RANDOM))
		die("posix_fadvise");
	direct = open(name, O_RDONLY | O_DIRECT);
	if (direct < 0)
		die("O_DIRECT");
	drop();
}

static void all_kinds(void)
{
	count("pagecache.hit", buffered, true);
	drop();
	put(cgroup, "cgroup.procs", "0");
	count("pagecache.miss", buffered, false);
	put("/sys/fs/cgroup", "cgroup.procs", "0");
	drop();
	count("direct.miss", direct, false);
	put(SETCACHE, "size_mib", SIZE_HITS);
	put(SETCACHE, "mode", "random");
	count_sets("setcache.hit", true);
	put(SETCACHE, "size_mib", SIZE_MISSES);
	count_sets("setcache.miss", false);
	put(SETCACHE, "mode", "off");
}

int main(int argc, char **argv)
{
	int opt, i;

	while ((opt = getopt(argc, argv, "n:h:r:c:")) != -1) {
		if (opt == 'n')
			pages = strtoul(optarg, NULL, 0);
		else if (opt == 'h')
			hot = strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			rounds = strtoul(optarg, NULL, 0);
		else if (opt == 'c')
			cgroup = optarg;
		else
			goto usage;
	}
	if (optind + 1 != argc || !rounds || !hot || hot > pages || pages % 32 || hot % 16)
		goto usage;
	name = argv[optind];
	if (posix_memalign((void **)&buf, PAGE, BUFFER))
		die("posix_memalign");
	memset(buf, 1, BUFFER);
	if (ring_open(&ring))
		die("io_uring_setup");
	memset(scratch, 1, sizeof(scratch));
	icount_begin();
	for (i = 0; i < 3; i++)
		printf("copy %lu\n", copy_count(buf, scratch));
	open_files();
	all_kinds();
	return 0;

usage:
	fputs(usage, stderr);
	return 2;
}
