/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared code of programs that count instructions of reads: files without blocks, so
 * that no device has a part in the counts.
 */
#ifndef _MCUBE_HOLE_H
#define _MCUBE_HOLE_H

#include <fcntl.h>
#include <unistd.h>

#include "icount.h"

static inline int make_hole(int dir, const char *name, unsigned long length)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, length))
		die(name);
	return fd;
}

/* How many of the first @pages pages are in the page cache. */
static inline unsigned long cached(int fd, unsigned long pages)
{
	unsigned char *in = malloc(pages);
	unsigned long i, got = 0;
	void *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (!in || p == MAP_FAILED || mincore(p, pages * PAGE, in))
		die("mincore");
	for (i = 0; i < pages; i++)
		got += in[i] & 1;
	munmap(p, pages * PAGE);
	free(in);
	return got;
}

/* Ends the program unless @nr of the first @pages pages are in the page cache. */
static inline void expect_cached(const char *what, int fd, unsigned long pages,
				 unsigned long nr)
{
	unsigned long got = cached(fd, pages);

	if (got == nr)
		return;
	fprintf(stderr, "%s: after %s %lu pages are cached, not %lu\n",
		program_invocation_short_name, what, got, nr);
	exit(1);
}

/* Numbers below @nr in a random order; a constant seed gives the same in every run. */
static inline unsigned int *shuffled(unsigned long nr)
{
	unsigned int *order = calloc(nr, sizeof(*order));
	unsigned long i, j, seed = 1;

	if (!order)
		die("calloc");
	for (i = 0; i < nr; i++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		j = (seed >> 33) % (i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

#endif /* _MCUBE_HOLE_H */
