// SPDX-License-Identifier: GPL-2.0
/*
 * filecost: what the page cache costs
 *
 * The file is one hole, so that no device has a part in the counts: the kernel
 * only allocates and clears pages.
 *
 *	fill		readahead() in pieces, then DONTNEED
 *	stream		read() from start to end, then DONTNEED
 *	write		write() into an empty file, then ftruncate()
 *	cached4k	read() of a page at a time, in a random order that is
 *			always the same; all pages are cached
 *	cached64k	read() from start to end; all pages are cached
 *	begin4k		read() of the first page of a short file, again and again
 *
 * The program counts instructions, see icount.h.  Beside "rep" it prints "zero"
 * for zeroing a page by memset(), and "copy" for copying a page.
 *
 *	filecost [-n PAGES] [-w WARM] [-r ROUNDS] FOLDER
 *
 * Each kind has WARM uncounted rounds before the ROUNDS that are printed.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "hole.h"

#define PIECE		(16 * PAGE)	/* bytes of a read() or write() */
#define AHEAD		(32 * PAGE)	/* bytes of a readahead() */
#define SHORT_PAGES	16

static const char usage[] =
	"usage: filecost [-n PAGES] [-w WARM] [-r ROUNDS] FOLDER\n";

static unsigned long pages = 4096;
static unsigned int *order;
static int hole, small, fresh;
static char buf[PIECE], scratch[2 * PAGE];

/* Eleven instructions per iteration. */
static unsigned long loop_count(char *p, unsigned long turns)
{
	unsigned long start = now();

	asm volatile("1:\tdec %0\n"
		     "\t.rept 8\n"
		     "\tmovq %2, (%1)\n"
		     "\t.endr\n"
		     "\tlea 64(%1), %1\n"
		     "\tjnz 1b"
		     : "+r"(turns), "+r"(p) : "r"(0UL) : "memory", "cc");
	return now() - start;
}

/* The kernel zeroes pages of files by memset(), arch/x86/lib/memset_64.S. */
static unsigned long zero_count(char *p)
{
	unsigned int a, b, c, d;

	if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1U << 11)
		return stosb_count(p, PAGE) - stosb_count(p, 0);
	return loop_count(p, PAGE / 64 + 1) - loop_count(p, 1) - 1;
}

static void drop(void)
{
	if (posix_fadvise(hole, 0, 0, POSIX_FADV_DONTNEED))
		die("posix_fadvise");
}

static void ahead(void)
{
	unsigned long at;

	for (at = 0; at < pages * PAGE; at += AHEAD)
		if (readahead(hole, at, AHEAD))
			die("readahead");
}

static void read_all(void)
{
	unsigned long at;

	for (at = 0; at < pages * PAGE; at += PIECE)
		if (pread(hole, buf, PIECE, at) != PIECE)
			die("read");
}

static struct round and_drop(void (*make)(void))
{
	unsigned long t0, t1, t2;

	t0 = now();
	make();
	t1 = now();
	drop();
	t2 = now();
	return (struct round){ t1 - t0, t2 - t1 };
}

static struct round fill_round(void)
{
	return and_drop(ahead);
}

static struct round stream_round(void)
{
	return and_drop(read_all);
}

static struct round write_round(void)
{
	unsigned long t0, t1, t2, at;

	t0 = now();
	for (at = 0; at < pages * PAGE; at += PIECE)
		if (pwrite(fresh, buf, PIECE, at) != PIECE)
			die("write");
	t1 = now();
	if (ftruncate(fresh, 0))
		die("ftruncate");
	t2 = now();
	return (struct round){ t1 - t0, t2 - t1 };
}

static struct round random_round(void)
{
	unsigned long t0 = now(), i;

	for (i = 0; i < pages; i++)
		if (pread(hole, buf, PAGE, order[i] * PAGE) != PAGE)
			die("read");
	return (struct round){ now() - t0, 0 };
}

static struct round cached_round(void)
{
	unsigned long t0 = now();

	read_all();
	return (struct round){ now() - t0, 0 };
}

static struct round begin_round(void)
{
	unsigned long t0 = now(), i;

	for (i = 0; i < pages; i++)
		if (pread(small, buf, PAGE, 0) != PAGE)
			die("read");
	return (struct round){ now() - t0, 0 };
}

static void expect(const char *what, unsigned long nr)
{
	expect_cached(what, hole, pages, nr);
}

static struct round mean(struct round (*run)(void), unsigned int passes)
{
	struct round sum = { 0, 0 }, r;
	unsigned int i;

	for (i = 0; i < passes; i++) {
		r = run();
		sum.make += r.make;
		sum.undo += r.undo;
	}
	return (struct round){ sum.make / passes, sum.undo / passes };
}

static void all_kinds(unsigned int warm, unsigned int rounds)
{
	/* Several passes where a timer tick is a visible share of one pass. */
	static const struct {
		const char *name;
		struct round (*run)(void);
		unsigned int passes;
	} kinds[] = {
		{ "fill", fill_round, 1 },
		{ "stream", stream_round, 4 },
		{ "write", write_round, 4 },
		{ "cached4k", random_round, 1 },
		{ "cached64k", cached_round, 8 },
		{ "begin4k", begin_round, 1 },
	};
	static struct round r[MAX_ROUNDS];
	unsigned int i, k;

	memset(r, 1, sizeof(r));
	ahead();
	expect("readahead()", pages);
	drop();
	expect("POSIX_FADV_DONTNEED", 0);
	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (kinds[k].run == random_round) {
			read_all();
			expect("read()", pages);
		}
		for (i = 0; i < warm; i++)
			kinds[k].run();
		for (i = 0; i < rounds; i++)
			r[i] = mean(kinds[k].run, kinds[k].passes);
		print_rounds(kinds[k].name, r, rounds);
	}
	expect("reading", pages);
}

int main(int argc, char **argv)
{
	unsigned long warm = 4, rounds = 32, i;
	int opt, dir;

	while ((opt = getopt(argc, argv, "n:w:r:")) != -1) {
		switch (opt) {
		case 'n':
			pages = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			warm = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 0);
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		return 2;
	}
	if (!pages || pages * PAGE % AHEAD || rounds > MAX_ROUNDS) {
		fprintf(stderr, "filecost: pages by %lu, at most %d rounds\n",
			AHEAD / PAGE, MAX_ROUNDS);
		return 2;
	}

	dir = open(argv[optind], O_DIRECTORY | O_RDONLY);
	if (dir < 0)
		die(argv[optind]);
	order = shuffled(pages);
	memset(buf, 1, sizeof(buf));
	memset(scratch, 1, sizeof(scratch));
	icount_begin();
	for (i = 0; i < 3; i++)
		printf("zero %lu\n", zero_count(scratch));
	for (i = 0; i < 3; i++)
		printf("copy %lu\n", copy_count(buf, scratch));

	hole = make_hole(dir, "hole", pages * PAGE);
	small = make_hole(dir, "small", SHORT_PAGES * PAGE);
	fresh = make_hole(dir, "fresh", 0);
	all_kinds(warm, rounds);
	return 0;
}
