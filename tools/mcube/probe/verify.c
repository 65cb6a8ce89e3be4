// SPDX-License-Identifier: GPL-2.0
/*
 * Does a color map hold, and which address bits choose the sets of a cache?
 *
 *	mcube-probe color -l LEVEL -b BYTES [-L LINE] [-m MASK,...] [-f] [-c CPU] [-d DRAWS]
 *
 * With -m, draws of pages of one color, of pages of two colors that differ by a mask, and of
 * controls decide about the map (decide.h).  With -f no map is needed: pages that agree in
 * address bits 12 to 20 are taken in growing numbers until they compete, then half of them
 * is given each difference of these bits in turn.  The masks that follow are put to the same
 * test as a given map, by fresh draws.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chase.h"
#include "color.h"
#include "decide.h"
#include "options.h"
#include "probe.h"
#include "timing.h"

#define REPEATS		5
#define MODEL_REPEATS	2
#define MAP_DRAWS	16
#define LEAST_PAGES	3	/* of a color, 1.5 shares: two ways */
#define PAST_FIRST	16	/* pages of which a first level of 8 or 12 ways holds few */
#define ATTEMPTS	3
#define GROW_DRAWS	8
#define SEARCH_DRAWS	3
/* A crowd of random pages competes in some draws, so that it needs more of them. */
#define CROWD_GROW_DRAWS	24
#define CROWD_DRAWS		6
#define SEARCH_REPEATS	3
#define NEXT_MEMORY	"free some memory, or run it on a machine with more"

/* Times that go with struct evidence: what loads cost, not what competition adds. */
struct plain {
	struct draws fit, most, miss, same;
};

static double work_done, work;

static void step(double loads)
{
	work_done += loads;
	progress(work ? work_done / work : 0);
}

static struct timed draw(const struct pool *p, const struct options *o, const size_t *page,
			 size_t n, size_t others, unsigned int repeats)
{
	struct timed t = color_time(p, &o->cache, page, n, others, repeats);

	step((double)n * repeats);
	return t;
}

static void add(struct draws *excess, struct draws *plain, struct timed t)
{
	if (excess->nr == MAX_DRAWS)
		return;
	excess->x[excess->nr++] = t.plain - t.apart;
	if (plain)
		plain->x[plain->nr++] = t.plain;
}

/* Half of the pages of @color, half of the color that differs by @flip; all of it with 0. */
static size_t two_colors(const struct pool *p, unsigned int color, unsigned int flip, size_t *page,
			 size_t n)
{
	size_t got = pool_take(p, color, page, flip ? n / 2 : n);

	return flip ? got + pool_take(p, color ^ flip, page + got, n - n / 2) : got;
}

/* As many pages of other colors as push pages of @color and @color ^ @flip out of L1. */
static size_t others(const struct pool *p, unsigned int color, unsigned int flip, size_t *page,
		     size_t n)
{
	unsigned int left = p->colors - 1 - !!flip, from = random_below(p->colors);
	size_t want = n < PAST_FIRST ? PAST_FIRST - n : 0, got = 0;

	for (unsigned int i = 0; i < p->colors && left; i++) {
		unsigned int other = (from + i) % p->colors;

		if (other != color && other != (color ^ flip))
			got += pool_take(p, other, page + got, (want - got) / left--);
	}
	return got;
}

/* Pages of 1.5 shares of a color. */
static size_t color_pages(const struct pool *p, const struct options *o)
{
	return (o->cache.bytes * 3 / 2 / p->colors) >> PAGE_SHIFT;
}

/* A model's cycles have no noise but that of other CPUs, and it is slow. */
static unsigned int repeats(const struct options *o)
{
	return o->model ? MODEL_REPEATS : REPEATS;
}

/* Controls as large as the cache take the time, so a large cache gets fewer of them. */
static unsigned int controls(const struct options *o)
{
	return options_large(o) ? MIN_DRAWS : o->draws;
}

static unsigned int control_repeats(const struct options *o)
{
	return options_large(o) ? 2 : repeats(o);
}

static void measure(struct evidence *e, struct plain *plain, const struct pool *p,
		    const struct options *o, size_t *page)
{
	size_t n = color_pages(p, o), whole = o->cache.bytes >> PAGE_SHIFT, more;

	memset(e, 0, sizeof(*e));
	memset(plain, 0, sizeof(*plain));
	e->masks = p->masks;
	for (unsigned int k = 0; k < o->draws; k++) {
		unsigned int color = random_below(p->colors);
		size_t got = two_colors(p, color, 0, page, n);

		more = others(p, color, 0, page + got, got);
		add(&e->same, &plain->same, draw(p, o, page, got + more, more, repeats(o)));
		got = pool_even(p, page, n + more);
		add(&e->fit, &plain->fit, draw(p, o, page, got, more, repeats(o)));
		for (unsigned int i = 0; i < p->masks; i++) {
			got = two_colors(p, color, 1u << i, page, n);
			more = others(p, color, 1u << i, page + got, got);
			add(&e->flip[i], NULL, draw(p, o, page, got + more, more, repeats(o)));
		}
		if (k % (o->draws / controls(o)))
			continue;
		got = pool_even(p, page, whole * 3 / 4);
		add(&e->most, &plain->most, draw(p, o, page, got, 0, control_repeats(o)));
		got = pool_even(p, page, whole * 2);
		add(&e->miss, &plain->miss, draw(p, o, page, got, 0, control_repeats(o)));
	}
}

/* Loads of measure(), in pages times repeats. */
static double measure_work(const struct options *o, unsigned int masks)
{
	double pages = (double)(o->cache.bytes >> PAGE_SHIFT);

	return o->draws * repeats(o) * (2 + masks) * 1.5 * pages / (1u << masks) +
	       controls(o) * control_repeats(o) * 2.75 * pages;
}

static void print_draws(const char *name, const struct draws *d)
{
	if (d->nr)
		options_quantiles(name, d->x, d->nr, clock_scale());
}

static const char *word(enum verdict v)
{
	return v == HOLDS ? "holds" : v == HOLDS_NOT ? "does not hold" : "unknown";
}

static void print_masks(const struct pool *p)
{
	printf(", \"masks\": [");
	for (unsigned int i = 0; i < p->masks; i++)
		printf("%s\"%#llx\"", i ? ", " : "", (unsigned long long)p->mask[i]);
	printf("]");
}

static void print_decision(const struct decision *d, const struct evidence *e,
			   const struct plain *plain, const struct pool *p)
{
	printf(", \"verdict\": \"%s\", \"confidence\": %.6f, \"why\": \"%s\"", word(d->verdict),
	       (double)(unsigned int)(d->confidence * 1e6) / 1e6, d->why);
	print_masks(p);
	printf(", \"colors\": %u, \"draws\": %u, \"competing\": %.3f", p->colors, e->same.nr,
	       d->competing);
	printf(", \"mask_verdicts\": [");
	for (unsigned int i = 0; i < p->masks; i++)
		printf("%s{\"verdict\": \"%s\", \"competing\": %.3f}", i ? ", " : "",
		       word(d->mask[i]), decide_share(&e->flip[i], d->threshold));
	printf("], \"load\": {\"quantiles\": [0.2, 0.5, 0.8]");
	print_draws("same", &plain->same);
	print_draws("even", &plain->fit);
	print_draws("three_quarters", &plain->most);
	print_draws("beyond", &plain->miss);
	printf("}, \"excess\": {\"threshold\": %.2f", d->threshold / clock_scale());
	print_draws("same", &e->same);
	print_draws("even", &e->fit);
	print_draws("three_quarters", &e->most);
	print_draws("beyond", &e->miss);
	printf("}");
}

/* Measure and print a map; @lead is the object's first member. */
static enum verdict check_map(struct memory *m, const struct options *o, const uint64_t *mask,
			      unsigned int masks, size_t *page, const char *lead)
{
	static struct evidence e;
	static struct plain plain;
	struct decision d = { .why = NULL };
	struct pool p;

	d.why = pool_init(&p, m, mask, masks);
	if (!d.why && color_pages(&p, o) < LEAST_PAGES)
		d.why = "the map has more colors than the cache has room for";
	/* A busy machine may be quiet a moment later. */
	for (unsigned int i = 0; i < ATTEMPTS && !d.threshold; i++) {
		if (d.why && !i)
			break;
		measure(&e, &plain, &p, o, page);
		decide_map(&d, &e);
	}
	printf("{%s", lead);
	options_print(o, m);
	print_decision(&d, &e, &plain, &p);
	printf("}\n");
	pool_free(&p);
	return d.verdict;
}

/*
 * Votes of draws of @n pages that agree in bits 12 to 20 but for @flip in half of them.  With
 * @crowd pages of other values of these bits push them out of the first level.
 */
static unsigned int competing(const struct pool *p, const struct options *o, size_t *page,
			      size_t n, unsigned int flip, unsigned int draws, double threshold,
			      bool crowd)
{
	unsigned int votes = 0;

	for (unsigned int k = 0; k < draws; k++) {
		unsigned int color = random_below(p->colors);
		size_t got = two_colors(p, color, flip, page, n);
		size_t more = crowd ? others(p, color, flip, page + got, got) : 0;
		struct timed t = draw(p, o, page, got + more, more, SEARCH_REPEATS);

		votes += got == n && t.plain - t.apart > threshold;
	}
	return votes;
}

static const char *find_bits(struct pool *p, const struct options *o, size_t *page,
			     struct index_bits *found, size_t *room, double threshold, bool crowd)
{
	unsigned int draws = crowd ? CROWD_GROW_DRAWS : GROW_DRAWS;
	static unsigned char votes[SEARCH];
	size_t whole = o->cache.bytes >> PAGE_SHIFT, n, last = 0, most = p->first[1];

	for (unsigned int i = 1; i < p->colors; i++)
		if (p->first[i + 1] - p->first[i] < most)
			most = p->first[i + 1] - p->first[i];
	/* 3, 4, 6, 8, 12, ...: half of the first number that competes fits. */
	for (n = 3; n <= most; n = n & (n - 1) ? n / 3 * 4 : n / 2 * 3) {
		if (competing(p, o, page, n, 0, draws, threshold, crowd) >= draws - 1)
			break;
		last = n;
	}
	if (n > most)
		return "pages that agree in address bits 12 to 20 do not compete for the cache, as "
		       "many as there are";
	*room = last;
	draws = crowd ? CROWD_DRAWS : SEARCH_DRAWS;
	work = work_done + (double)SEARCH * draws * SEARCH_REPEATS * n +
	       measure_work(o, 6);
	for (unsigned int d = 0; d < SEARCH; d++)
		votes[d] = competing(p, o, page, n, d, draws, threshold, crowd);
	decide_index(found, votes, draws);
	if (!found->why && !found->masks)
		found->why = "pages compete whatever their address bits 12 to 20";
	if (!found->why && (n << found->masks < whole / 2 || last << found->masks > whole * 2))
		found->why = "the colors found, with the pages that each has room for, do not add up "
			     "to the cache";
	return found->why;
}

static const char *find(struct pool *p, const struct options *o, size_t *page,
			struct index_bits *found, size_t *room)
{
	size_t whole = o->cache.bytes >> PAGE_SHIFT;
	static struct draws fit, miss;
	double threshold;
	const char *why;

	fit.nr = 0;
	miss.nr = 0;
	for (unsigned int k = 0; k < controls(o); k++) {
		add(&fit, NULL, draw(p, o, page, pool_even(p, page, whole / 16), 0, repeats(o)));
		add(&miss, NULL, draw(p, o, page, pool_even(p, page, whole * 2), 0,
				      control_repeats(o)));
	}
	threshold = decide_threshold(&fit, &miss, &why);
	if (!threshold)
		return why;
	why = find_bits(p, o, page, found, room, threshold, false);
	/*
	 * A first level of more ways than the cache in question holds pages that compete.  The
	 * crowd shows them, but may itself compete where colors are few, so it comes second.
	 */
	if (why && o->cache.level == 2)
		why = find_bits(p, o, page, found, room, threshold, true);
	return why;
}

static int search(struct memory *m, const struct options *o, size_t *page)
{
	uint64_t mask[SEARCH_BITS];
	struct index_bits found;
	char lead[128];
	const char *why;
	struct pool p;
	size_t room = 0;

	for (unsigned int i = 0; i < SEARCH_BITS; i++)
		mask[i] = PAGE << i;
	memset(&found, 0, sizeof(found));
	why = pool_init(&p, m, mask, SEARCH_BITS);
	if (!why)
		why = find(&p, o, page, &found, &room);
	pool_free(&p);
	if (why) {
		printf("{\"result\": \"find\", \"room\": %zu, \"agreement\": %.3f", room,
		       found.agreement);
		options_print(o, m);
		printf(", \"verdict\": \"unknown\", \"confidence\": 0, \"masks\": [], "
		       "\"why\": \"%s\"}\n", why);
		return 0;
	}
	for (unsigned int i = 0; i < found.masks; i++)
		mask[i] = (uint64_t)found.mask[i] << PAGE_SHIFT;
	snprintf(lead, sizeof(lead), "\"result\": \"find\", \"room\": %zu, \"agreement\": %.3f",
		 room, found.agreement);
	check_map(m, o, mask, found.masks, page, lead);
	return 0;
}

static size_t largest(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Huge pages if they can be had; the pages of pagemap otherwise. */
static const char *get(struct memory *m, const struct options *o)
{
	size_t want = largest(5 * o->cache.bytes / 2, 64ul << 20), most = memory_available() / 4;
	const char *bad;

	if (o->find)
		want = largest(want, o->cache.level > 2 ? 512ul << 20 : 128ul << 20);
	if (most && want > most)
		want = most;
	if (want < 2 * o->cache.bytes)
		return "a quarter of the available memory is less than twice the cache";
	bad = memory_get(m, want, SHIFT_2M);
	if (!bad)
		return NULL;
	bad = memory_get(m, want, SHIFT_4K);
	if (!bad && !m->physical) {
		memory_put(m);
		bad = "no huge pages can be had, and the addresses of small ones are hidden from "
		      "this user";
	}
	return bad;
}

/** probe_color - the subcommand "color": @argc, @argv from it on; Return: exit status */
int probe_color(int argc, char **argv)
{
	struct options o = { .cache = { 2, 0, 64 }, .draws = MAP_DRAWS, .cpu = -1 };
	struct memory m;
	const char *bad;
	size_t *page;

	if (!options_parse(&o, argc, argv) || (!o.find && !o.masks))
		return fail("see the head of verify.c", "wrong options of 'color'");
	bad = pin(o.cpu);
	if (bad)
		return fail("name a CPU that this process may run on", "CPU %d: %s", o.cpu, bad);
	bad = get(&m, &o);
	if (bad)
		return fail(NEXT_MEMORY, "%s", bad);
	page = malloc((m.bytes >> PAGE_SHIFT) * sizeof(*page));
	if (!page)
		return fail(NEXT_MEMORY, "no memory");
	bad = options_clock(&o);
	if (bad)
		return fail("see Documentation/mm/mcube/model.rst", "%s", bad);
	work = o.find ? SEARCH * SEARCH_DRAWS * SEARCH_REPEATS * 24. + measure_work(&o, 6) :
		measure_work(&o, o.masks);
	if (o.find)
		search(&m, &o, page);
	else
		check_map(&m, &o, o.mask, o.masks, page, "\"result\": \"map\"");
	free(page);
	memory_put(&m);
	return 0;
}
