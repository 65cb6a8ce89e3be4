// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of pages of one size; memory.h says what is known of them.
 *
 * Huge pages come from the pool of hugetlb where it has enough of them, which this program
 * never changes; else 2 MiB pages come from transparent huge pages.  The kernel may give
 * small pages where huge ones are asked for, so each unit is looked at afterwards: by
 * pagemap, which has to show consecutive frames, or by smaps where frames are hidden.
 */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numbers.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define PRESENT		(1ull << 63)
#define FRAME		((1ull << 55) - 1)

/* Frame numbers of @n pages from @p on; false where they are hidden or a page is missing. */
static bool frames(const char *p, uint64_t *entry, size_t n)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0;

	for (size_t i = 0; ok && i < n;) {
		ssize_t got = pread(fd, entry + i, (n - i) * sizeof(*entry),
				    ((uintptr_t)p / PAGE + i) * sizeof(*entry));

		ok = got > 0;
		i += ok ? got / sizeof(*entry) : 0;
	}
	for (size_t i = 0; ok && i < n; i++) {
		ok = (entry[i] & PRESENT) && (entry[i] & FRAME);
		entry[i] &= FRAME;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Fill in m->unit by pagemap. Returns false if the frames are hidden, or *@whole is false
 * if a unit is not one aligned run of frames.
 */
static bool look_up(struct memory *m, bool *whole)
{
	size_t per = 1ul << (m->shift - PAGE_SHIFT);
	uint64_t *entry = malloc(per * sizeof(*entry));
	bool ok = entry;

	*whole = true;
	for (size_t u = 0; ok && u < m->bytes >> m->shift; u++) {
		ok = frames(m->base + (u << m->shift), entry, per);
		for (size_t i = 0; ok && i < per; i++)
			*whole &= entry[i] == entry[0] + i;
		*whole &= !ok || !(entry[0] & (per - 1));
		m->unit[u] = ok ? entry[0] << PAGE_SHIFT : 0;
	}
	free(entry);
	return ok;
}

/* Are all bytes from m->base on in transparent huge pages, as smaps counts them? */
static bool all_huge(const struct memory *m)
{
	unsigned long start, end, kib, inside = 0;
	char line[512];
	bool in = false;
	FILE *f = fopen("/proc/self/smaps", "r");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			in = start < (uintptr_t)m->base + m->bytes && end > (uintptr_t)m->base;
		else if (in && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			inside += kib;
	}
	fclose(f);
	/* The ends of the mapping are cut off, so nothing else can be huge in it. */
	return inside << 10 >= m->bytes;
}

static bool map(struct memory *m, size_t extra, int flags)
{
	m->mapped_bytes = m->bytes + extra;
	m->mapped = mmap(NULL, m->mapped_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (m->mapped == MAP_FAILED) {
		m->mapped = NULL;
		return false;
	}
	m->base = (char *)(((uintptr_t)m->mapped + extra) & ~((1ul << m->shift) - 1));
	return true;
}

static void touch(struct memory *m)
{
	for (size_t at = 0; at < m->bytes; at += PAGE)
		*(volatile uint64_t *)(m->base + at) = at + 1;
}

/* Cut the ends off that alignment left over, so that smaps counts this buffer alone. */
static void trim(struct memory *m)
{
	char *end = (char *)m->mapped + m->mapped_bytes, *tail = m->base + m->bytes;

	if (m->base > (char *)m->mapped)
		munmap(m->mapped, m->base - (char *)m->mapped);
	if (end > tail)
		munmap(tail, end - tail);
	m->mapped = m->base;
	m->mapped_bytes = m->bytes;
}

static const char *get_hugetlb(struct memory *m)
{
	if (!map(m, 0, MAP_HUGETLB | m->shift << MAP_HUGE_SHIFT | MAP_POPULATE))
		return "the pool of hugetlb has too few pages of this size";
	m->how = "hugetlb";
	return NULL;
}

static const char *get_pages(struct memory *m)
{
	if (!map(m, m->shift > PAGE_SHIFT ? (1ul << m->shift) - PAGE : 0, 0))
		return "no memory";
	trim(m);
	m->how = m->shift > PAGE_SHIFT ? "thp" : "pages";
	madvise(m->base, m->bytes, m->shift > PAGE_SHIFT ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	touch(m);
	/* Compacts memory where no huge page was free at the fault; Linux 6.1 and later. */
	if (m->shift > PAGE_SHIFT && !all_huge(m))
		madvise(m->base, m->bytes, MADV_COLLAPSE);
	return NULL;
}

/**
 * memory_get - get a buffer of pages of one size
 * @m:		the buffer, set up here
 * @bytes:	at least so many
 * @shift:	SHIFT_1G, SHIFT_2M or SHIFT_4K: of pages, none smaller
 *
 * Return: NULL, or why there is no such buffer; then nothing is left to put.
 */
const char *memory_get(struct memory *m, size_t bytes, unsigned int shift)
{
	size_t unit = 1ul << shift;
	const char *bad = "";
	bool whole;

	memset(m, 0, sizeof(*m));
	m->shift = shift;
	m->bytes = (bytes + unit - 1) & ~(unit - 1);
	m->unit = calloc(m->bytes >> shift, sizeof(*m->unit));
	if (!m->unit)
		return "no memory";
	if (shift > PAGE_SHIFT)
		bad = get_hugetlb(m);
	if (bad && shift <= SHIFT_2M)
		bad = get_pages(m);
	if (!bad) {
		/* Without the lock the kernel may move or swap pages meanwhile. */
		mlock(m->base, m->bytes);
		touch(m);
		m->physical = look_up(m, &whole);
		if (!m->physical)
			whole = shift == PAGE_SHIFT || strcmp(m->how, "thp") || all_huge(m);
		if (!whole)
			bad = "the kernel gave smaller pages than it was asked for";
	}
	if (bad) {
		memory_put(m);
		return bad;
	}
	if (!m->physical)
		memset(m->unit, 0, (m->bytes >> shift) * sizeof(*m->unit));
	return NULL;
}

/**
 * memory_put - give a buffer back
 * @m:	the buffer, of memory_get()
 */
void memory_put(struct memory *m)
{
	if (m->mapped)
		munmap(m->mapped, m->mapped_bytes);
	free(m->unit);
	memset(m, 0, sizeof(*m));
}

/**
 * memory_available - bytes that a program can have without swapping
 *
 * Return: MemAvailable, 0 if it is not known.
 */
size_t memory_available(void)
{
	unsigned long kib = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

/**
 * memory_sort - the units of a buffer in the order of their physical addresses
 * @m:	the buffer, whose physical addresses are known
 *
 * Return: the units, for free(); NULL without memory.
 */
struct memory_unit *memory_sort(const struct memory *m)
{
	size_t n = m->bytes >> m->shift;
	struct memory_unit *unit = malloc(n * sizeof(*unit));

	for (size_t i = 0; unit && i < n; i++)
		unit[i] = (struct memory_unit){ m->unit[i], m->base + (i << m->shift) };
	if (unit)
		qsort(unit, n, sizeof(*unit), by_u64);
	return unit;
}

/**
 * memory_find - where a physical address is mapped
 * @m:		the buffer
 * @unit:	units of it, of memory_sort()
 * @n:		how many
 * @address:	the physical address
 *
 * Return: the byte, or NULL if these units do not have it.
 */
char *memory_find(const struct memory *m, const struct memory_unit *unit, size_t n,
		  uint64_t address)
{
	uint64_t inside = address & ((1ul << m->shift) - 1), key = address - inside;
	const struct memory_unit *u = bsearch(&key, unit, n, sizeof(*unit), by_u64);

	return u ? u->at + inside : NULL;
}
