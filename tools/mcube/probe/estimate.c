// SPDX-License-Identifier: GPL-2.0
/*
 * What would placement save here?  Chases over working sets of a cache's size
 *
 *	mcube-probe estimate -l LEVEL -b BYTES [-L LINE] [-m MASK,...] [-c CPU] [-d DRAWS]
 *
 * Each draw takes new pages for a working set: at random, as the kernel places a new mapping,
 * and with -m, whose masks have to hold, as many of each color.  All are pages of one size, so
 * that the TLB has no part in the difference.  Then half of the cache is followed in turns
 * with a stream on the same core, which goes through pages of all colors or of one.  Variants
 * of a draw are timed in turns, and ratios are those of one draw.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chase.h"
#include "color.h"
#include "decide.h"
#include "options.h"
#include "probe.h"
#include "timing.h"

#define REPEATS		9	/* the fastest counts */
#define LARGE_REPEATS	2
#define PASSES		2
#define TURNS		16	/* of working set and stream, each pass */
#define POOL		4	/* pages to choose from, in sizes of the cache */

static const unsigned int eighths[] = { 2, 4, 5, 6, 7, 8 };

#define MAX_VARIANTS	3
#define SIZES		(sizeof(eighths) / sizeof(eighths[0]))

enum { EVEN, RANDOM, KERNEL, VARIANTS };
enum { ALONE, ALL, ONE, STREAMS };

static const char * const placed[VARIANTS] = { "even", "random", "kernel" };
static const char * const streams[STREAMS] = { "alone", "all", "one" };

struct job {
	struct options o;
	struct memory m;
	struct pool pool;
	size_t *page, *all, *at;
	unsigned int repeats;
	double done, work;
};

static void did(struct job *j, double pages)
{
	j->done += pages;
	progress(j->done / j->work);
}

/* Link a word of each line of some pages. */
static void link_pages(struct job *j, struct chase *c, char *base, const size_t *page, size_t n)
{
	size_t lines = PAGE / j->o.cache.line;

	for (size_t i = 0; i < n * lines; i++)
		j->at[i] = page[i / lines] + i % lines * j->o.cache.line;
	chase_link(c, base, j->at, n * lines);
}

/* A new mapping, as any program gets one. */
static char *new_mapping(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_NOHUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

/* Time a working set of @n pages in each variant that @use names; 0 ticks in the others. */
static void placed_draw(struct job *j, size_t n, const bool *use, double *ticks)
{
	struct chase chase[VARIANTS];
	char *fresh = NULL;

	memset(ticks, 0, VARIANTS * sizeof(*ticks));
	if (use[EVEN]) {
		pool_even(&j->pool, j->page, n);
		link_pages(j, &chase[EVEN], j->m.base, j->page, n);
	}
	/* A page may be in both sets: each set has a word of its lines to itself. */
	shuffle(j->all, j->m.bytes >> PAGE_SHIFT);
	link_pages(j, &chase[RANDOM], j->m.base + sizeof(void *), j->all, n);
	if (use[KERNEL]) {
		fresh = new_mapping(n << PAGE_SHIFT);
		for (size_t i = 0; i < n; i++)
			j->page[i] = i << PAGE_SHIFT;
		if (fresh)
			link_pages(j, &chase[KERNEL], fresh, j->page, n);
	}
	for (unsigned int r = 0; r < j->repeats; r++)
		for (unsigned int v = 0; v < VARIANTS; v++) {
			double t;

			if (!use[v] || (v == KERNEL && !fresh))
				continue;
			t = chase_time(&chase[v], PASSES);
			ticks[v] = !ticks[v] || t < ticks[v] ? t : ticks[v];
			did(j, n);
		}
	if (fresh)
		munmap(fresh, n << PAGE_SHIFT);
}

/* Read lines of the stream's pages in order, from where it stopped last. */
static size_t read_on(const struct job *j, const size_t *page, size_t pages, size_t at, size_t n)
{
	size_t lines = PAGE / j->o.cache.line;

	for (size_t i = 0; i < n; i++, at++)
		(void)*(volatile char *)(j->m.base + page[at / lines % pages] +
					 at % lines * j->o.cache.line + 2 * sizeof(void *));
	return at;
}

/* Ticks for a load of the working set, whose turns alternate with those of a stream. */
static double in_turns(const struct job *j, const struct chase *c, const size_t *page,
		       size_t pages)
{
	size_t n = c->loads / TURNS, at = random_below(pages) * (PAGE / j->o.cache.line);
	void **p = follow(c->first, c->loads);
	uint64_t ticks = 0, from;

	for (unsigned int turn = 0; turn < (PASSES + 1) * TURNS; turn++) {
		if (pages)
			at = read_on(j, page, pages, at, n);
		from = clock_begin();
		p = follow(p, n);
		/* The first pass brings working set and stream to where they stay. */
		if (turn >= TURNS)
			ticks += clock_end() - from;
	}
	return (double)ticks / (n * PASSES * TURNS);
}

static void stream_draw(struct job *j, size_t n, const bool *use, double *ticks)
{
	size_t pages = j->m.bytes >> PAGE_SHIFT, ones;
	struct chase chase;

	memset(ticks, 0, STREAMS * sizeof(*ticks));
	shuffle(j->all, pages);
	if (use[ONE])
		pool_even(&j->pool, j->page, n);
	else
		memcpy(j->page, j->all, n * sizeof(*j->page));
	link_pages(j, &chase, j->m.base, j->page, n);
	ones = use[ONE] ? pool_take(&j->pool, random_below(j->pool.colors), j->page, pages) : 0;
	for (unsigned int r = 0; r < j->repeats; r++)
		for (unsigned int v = 0; v < STREAMS; v++) {
			double t;

			if (!use[v])
				continue;
			t = in_turns(j, &chase, v == ONE ? j->page : j->all,
				     v == ONE ? ones : v == ALL ? pages : 0);
			ticks[v] = !ticks[v] || t < ticks[v] ? t : ticks[v];
			did(j, n);
		}
}

/* Draws by variant, and their ratios to the first variant that was used. */
static void print_variants(double ticks[][MAX_DRAWS], const char * const *name,
			   unsigned int variants, unsigned int draws)
{
	double ratio[MAX_DRAWS];
	char text[32];

	for (unsigned int v = 0; v < variants; v++)
		if (ticks[v][0] > 0)
			options_quantiles(name[v], ticks[v], draws, clock_scale());
	for (unsigned int v = 1; v < variants; v++) {
		if (ticks[v][0] <= 0 || ticks[0][0] <= 0)
			continue;
		for (unsigned int k = 0; k < draws; k++)
			ratio[k] = ticks[v][k] / ticks[0][k];
		snprintf(text, sizeof(text), "%s/%s", name[v], name[0]);
		options_quantiles(text, ratio, draws, 1);
	}
}

static void measure(struct job *j)
{
	static double ticks[SIZES + 1][MAX_VARIANTS][MAX_DRAWS];
	bool use[VARIANTS] = { j->pool.masks > 0, true, j->m.shift == SHIFT_4K };
	bool streaming[STREAMS] = { true, true, j->pool.masks > 0 };
	unsigned int draws = j->o.draws;
	size_t whole = j->o.cache.bytes >> PAGE_SHIFT;
	double one[MAX_VARIANTS];

	for (unsigned int k = 0; k < draws; k++) {
		for (unsigned int s = 0; s < SIZES; s++) {
			placed_draw(j, whole * eighths[s] / 8, use, one);
			for (unsigned int v = 0; v < VARIANTS; v++)
				ticks[s][v][k] = one[v];
		}
		stream_draw(j, whole / 2, streaming, one);
		for (unsigned int v = 0; v < STREAMS; v++)
			ticks[SIZES][v][k] = one[v];
	}
	printf("{\"result\": \"estimate\"");
	options_print(&j->o, &j->m);
	printf(", \"colors\": %u, \"draws\": %u, \"quantiles\": [0.2, 0.5, 0.8], \"sizes\": [",
	       j->pool.colors, draws);
	for (unsigned int s = 0; s < SIZES; s++) {
		printf("%s{\"share\": %.3f, \"bytes\": %zu", s ? ", " : "", eighths[s] / 8.,
		       whole * eighths[s] / 8 << PAGE_SHIFT);
		print_variants(ticks[s], placed, VARIANTS, draws);
		printf("}");
	}
	printf("], \"stream\": {\"bytes\": %zu", whole / 2 << PAGE_SHIFT);
	print_variants(ticks[SIZES], streams, STREAMS, draws);
	printf("}}\n");
}

/* Small pages as programs have them, if their addresses are known; else huge pages. */
static const char *get(struct job *j)
{
	size_t want = POOL * j->o.cache.bytes, most = memory_available() / 4;
	const char *bad;

	if (most && want > most)
		want = most;
	if (want < 3 * j->o.cache.bytes / 2)
		return "a quarter of the available memory is less than 1.5 times the cache";
	bad = memory_get(&j->m, want, SHIFT_4K);
	if (bad || j->m.physical || !j->o.masks)
		return bad;
	memory_put(&j->m);
	return memory_get(&j->m, want, SHIFT_2M);
}

/** probe_estimate - the subcommand "estimate": @argc, @argv from it on; Return: exit status */
int probe_estimate(int argc, char **argv)
{
	struct job j = { .o = { .cache = { 2, 0, 64 }, .draws = MIN_DRAWS, .cpu = -1 } };
	size_t pages, whole;
	const char *bad;

	if (!options_parse(&j.o, argc, argv) || j.o.find)
		return fail("see the head of estimate.c", "wrong options of 'estimate'");
	bad = pin(j.o.cpu);
	if (bad)
		return fail("name a CPU that this process may run on", "CPU %d: %s", j.o.cpu, bad);
	bad = get(&j);
	if (!bad)
		bad = pool_init(&j.pool, &j.m, j.o.mask, j.o.masks);
	if (bad)
		return fail("free some memory, or run it as root", "%s", bad);
	pages = j.m.bytes >> PAGE_SHIFT;
	whole = j.o.cache.bytes >> PAGE_SHIFT;
	j.page = malloc(pages * sizeof(*j.page));
	j.all = malloc(pages * sizeof(*j.all));
	j.at = malloc((whole * sizeof(*j.at)) * (PAGE / j.o.cache.line));
	if (!j.page || !j.all || !j.at)
		return fail("free some memory", "no memory");
	for (size_t i = 0; i < pages; i++)
		j.all[i] = i << PAGE_SHIFT;
	bad = options_clock(&j.o);
	if (bad)
		return fail("see Documentation/mm/mcube/model.rst", "%s", bad);
	j.repeats = options_large(&j.o) ? LARGE_REPEATS : REPEATS;
	j.work = (double)j.o.draws * j.repeats * whole *
		 (4 * (1 + (j.pool.masks > 0) + (j.m.shift == SHIFT_4K)) +
		  .5 * (2 + (j.pool.masks > 0)));
	measure(&j);
	free(j.page);
	free(j.all);
	free(j.at);
	pool_free(&j.pool);
	memory_put(&j.m);
	return 0;
}
