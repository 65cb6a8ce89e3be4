// SPDX-License-Identifier: GPL-2.0
/*
 * faultcost: what one anonymous page fault and one free cost
 *
 * Each round maps N pages, writes one byte into each page, and unmaps the
 * pages.  The program counts the instructions of the faults and of the frees,
 * see icount.h.
 *
 * A second kind of round keeps the page tables (MADV_DONTNEED empties them),
 * so that the figure does not include their allocation.
 *
 *	faultcost [-n PAGES] [-w WARM] [-r ROUNDS] [-H HINT]
 *
 * The first WARM rounds are printed as "fresh", the whole rounds after them as
 * "steady", the rounds that keep the page tables as "kept".  HINT goes to the
 * debugfs file of mcube and holds for this program alone.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "icount.h"

#define HINT_FILE	"/sys/kernel/debug/mcube/hint"

static const char usage[] =
	"usage: faultcost [-n PAGES] [-w WARM] [-r ROUNDS] [-H HINT]\n";

static struct round fresh[MAX_ROUNDS], steady[MAX_ROUNDS], kept[MAX_ROUNDS];

static void touch(char *p, unsigned long pages)
{
	for (; pages; pages--, p += PAGE)
		asm volatile("movb $1, %0" : "=m"(*p));
}

/* Instructions of touch() itself: the pages are present, so nothing faults. */
static unsigned long touch_cost(char *p, unsigned long pages)
{
	unsigned long start = now();

	touch(p, pages);
	return now() - start;
}

static char *map(unsigned long pages)
{
	/* Aligned to 2 MiB, so that every round needs equally many page tables. */
	char *p = mmap((void *)0x200000000000UL, pages * PAGE,
		       PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	return p;
}

static struct round whole_round(unsigned long pages)
{
	char *p = map(pages);
	struct round r;
	unsigned long t0, t1, t2;

	t0 = now();
	touch(p, pages);
	t1 = now();
	if (munmap(p, pages * PAGE))
		die("munmap");
	t2 = now();
	r.make = t1 - t0;
	r.undo = t2 - t1;
	return r;
}

static struct round kept_round(char *p, unsigned long pages)
{
	struct round r;
	unsigned long t0, t1, t2;

	t0 = now();
	touch(p, pages);
	t1 = now();
	if (madvise(p, pages * PAGE, MADV_DONTNEED))
		die("madvise");
	t2 = now();
	r.make = t1 - t0;
	r.undo = t2 - t1;
	return r;
}

static void set_hint(const char *hint)
{
	int fd = open(HINT_FILE, O_WRONLY);

	if (fd < 0 || write(fd, hint, strlen(hint)) < 0)
		die(HINT_FILE);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long pages = 4096, warm = 4, rounds = 32, i;
	const char *hint = NULL;
	char *p;
	int opt;

	while ((opt = getopt(argc, argv, "n:w:r:H:")) != -1) {
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
		case 'H':
			hint = optarg;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!pages || warm > MAX_ROUNDS || rounds > MAX_ROUNDS) {
		fprintf(stderr, "faultcost: at least 1 page, at most %d rounds\n",
			MAX_ROUNDS);
		return 2;
	}

	memset(fresh, 1, sizeof(fresh));
	memset(steady, 1, sizeof(steady));
	memset(kept, 1, sizeof(kept));
	icount_begin();
	if (hint)
		set_hint(hint);

	for (i = 0; i < warm; i++)
		fresh[i] = whole_round(pages);
	for (i = 0; i < rounds; i++)
		steady[i] = whole_round(pages);
	p = map(pages);
	touch(p, pages);
	printf("touch %lu\n", touch_cost(p, pages));
	madvise(p, pages * PAGE, MADV_DONTNEED);
	for (i = 0; i < rounds; i++)
		kept[i] = kept_round(p, pages);

	printf("pages %lu\n", pages);
	print_rounds("fresh", fresh, warm);
	print_rounds("steady", steady, rounds);
	print_rounds("kept", kept, rounds);
	return 0;
}
