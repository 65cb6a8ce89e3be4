// SPDX-License-Identifier: GPL-2.0
/*
 * faultcost: what one anonymous page fault and one free cost
 *
 * Each round maps N pages, writes one byte into each, and unmaps them.  The
 * time stamp counter is read around both.  Under QEMU's -icount the counter
 * counts executed instructions, exactly: a loop of known length proves it.
 *
 * A rep string instruction counts there once per iteration, but once in all on
 * hardware: how often the one that clears a page counts is printed as "rep".
 *
 * A second kind of round keeps the page tables (MADV_DONTNEED empties them),
 * so that their allocation is not in the figure.
 *
 *	faultcost [-n PAGES] [-w WARM] [-r ROUNDS] [-H HINT]
 *
 * The first WARM rounds are printed as "fresh", those after them as "steady",
 * those that keep the page tables as "kept".  HINT goes to the debugfs file of
 * mcube and holds for this program alone.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE		4096UL
#define MAX_ROUNDS	1024
#define HINT_FILE	"/sys/kernel/debug/mcube/hint"

static const char usage[] =
	"usage: faultcost [-n PAGES] [-w WARM] [-r ROUNDS] [-H HINT]\n";

struct round {
	unsigned long fault;
	unsigned long free;
};

static struct round fresh[MAX_ROUNDS], steady[MAX_ROUNDS], kept[MAX_ROUNDS];

static void die(const char *what)
{
	fprintf(stderr, "faultcost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline unsigned long now(void)
{
	unsigned int lo, hi;

	asm volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi) :: "memory");
	return (unsigned long)hi << 32 | lo;
}

/* Two instructions per turn. */
static unsigned long known_loop(unsigned long turns)
{
	unsigned long start = now();

	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) :: "cc");
	return now() - start;
}

/* How the kernel clears a page (arch/x86/lib/clear_page_64.S). */
static bool has_erms(void)
{
	static char line[65536];
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool erms = false;

	while (f && !erms && fgets(line, sizeof(line), f))
		erms = strstr(line, " erms");
	if (f)
		fclose(f);
	return erms;
}

/* How often one rep string instruction counts that clears a page. */
static unsigned long rep_cost(char *p)
{
	unsigned long start, n = PAGE;

	if (has_erms()) {
		start = now();
		asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0) : "memory");
	} else {
		n /= 8;
		start = now();
		asm volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(0) : "memory");
	}
	return now() - start;
}

static void touch(char *p, unsigned long pages)
{
	for (; pages; pages--, p += PAGE)
		asm volatile("movb $1, %0" : "=m"(*p));
}

/* Instructions of touch() itself: the pages are there. */
static unsigned long touch_cost(char *p, unsigned long pages)
{
	unsigned long start = now();

	touch(p, pages);
	return now() - start;
}

static char *map(unsigned long pages)
{
	/* Aligned to 2 MiB, so that every round has as many page tables. */
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
	r.fault = t1 - t0;
	r.free = t2 - t1;
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
	r.fault = t1 - t0;
	r.free = t2 - t1;
	return r;
}

static void print(const char *name, const struct round *r, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		printf("%s %u %lu %lu\n", name, i,
		       r[i].fault,
		       r[i].free);
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
	static char scratch[PAGE];
	cpu_set_t cpu;
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

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	memset(fresh, 1, sizeof(fresh));
	memset(steady, 1, sizeof(steady));
	memset(kept, 1, sizeof(kept));
	memset(scratch, 1, sizeof(scratch));

	for (i = 0; i < 3; i++)
		printf("loop %lu\n", known_loop(500000));
	for (i = 0; i < 3; i++)
		printf("rep %lu\n", rep_cost(scratch));
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
	print("fresh", fresh, warm);
	print("steady", steady, rounds);
	print("kept", kept, rounds);
	return 0;
}
