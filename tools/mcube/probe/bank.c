// SPDX-License-Identifier: GPL-2.0
/*
 * The DRAM banks of a memory.
 *
 *	random pairs ---> two modes? ---> threshold			cluster_split()
 *	lines that start pages ---> bank sets ---> functions		cluster(), solve()
 *	lines anywhere ---> bank sets ---> functions within pages, too	solve_as()
 *	pairs of new lines ---> does the map hold?			verify()
 *
 * Where repeats of a pair differ and there are no two modes, all is timed twice as often, up to
 * BANK_REPEATS times: noise becomes narrower by that, and what is no mode becomes none.
 *
 * Lines that start pages come first, as the search for an offset takes a fraction of the
 * time without the six bits within a page. Each step can refuse, and says why.
 *
 * In the end pairs that share a bank by the map have to conflict, and pairs that differ in
 * one function alone must not. A map that lacks a function fails the first, and a map with
 * one too many the second, for whichever of them.
 */
#include "bank.h"

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define RANDOM_PAIRS	8192u
#define AGAIN		300u		/* pairs of each mode that are timed again */
#define LEAST_LINES	1024u
#define LINES_PER_SET	12u
#define PAGE_ALIGN	12u
#define MOST_DRAWS	20000u		/* to find a pair that differs as wanted */
#define QUIET		.02		/* of a latency, from the fifth to the median of repeats */

/* What the steps share. */
struct probe {
	struct bank_report *r;
	const struct bank_memory *m;
	uint64_t rng;
	struct bank_line line[CLUSTER_MAX_LINES];
	struct cluster_lines lines;
	struct solve_sample sample[CLUSTER_MAX_LINES];
	struct solve_work work;
	double spread;			/* of repeats, summed up over pairs */
	double sum;			/* of latencies */
	double from;			/* share of the work before this step */
	double share;			/* of this step */
};

static void pick(struct probe *p, unsigned int align, struct bank_line *l)
{
	p->m->pick(p->m->context, xorshift64s(&p->rng) >> 8, align, l);
}

/*
 * What a fifth of some loads of the pair take at most; the first opens the rows. Whatever
 * disturbs a load makes it longer, so this outlives more of it than the median.
 */
static double latency(struct probe *p, const struct bank_line *a, const struct bank_line *b)
{
	double x[BANK_REPEATS];
	unsigned int n = p->r->repeats;

	p->r->timed++;
	p->m->once(p->m->context, a, b);
	for (unsigned int i = 0; i < n; i++)
		x[i] = p->m->once(p->m->context, a, b);
	qsort(x, n, sizeof(*x), by_double);
	p->spread += x[n / 2] - x[n / 5];
	p->sum += x[n / 5];
	return x[n / 5];
}

static bool conflicts(struct probe *p, const struct bank_line *a, const struct bank_line *b)
{
	return latency(p, a, b) >= p->r->split.threshold;
}

static bool lines_conflict(void *context, unsigned int a, unsigned int b)
{
	struct probe *p = context;

	return conflicts(p, &p->line[a], &p->line[b]);
}

static void advance(void *context, double share)
{
	struct probe *p = context;

	p->m->progress(p->m->context, p->from + share * p->share);
}

static void step(struct probe *p, double share)
{
	p->from += p->share;
	p->share = share;
	advance(p, 0);
}

/* Time random pairs, and those of each mode again. */
static void modes(struct probe *p)
{
	struct bank_line (*pair)[2] = malloc(RANDOM_PAIRS * sizeof(*pair));
	double *x = malloc(2 * RANDOM_PAIRS * sizeof(*x)), *sorted = x + RANDOM_PAIRS;
	struct cluster_split *s = &p->r->split;
	double again[2][AGAIN];
	unsigned int nr[2] = { };

	p->spread = 0;
	p->sum = 0;
	s->why = "no memory";
	if (!pair || !x)
		goto out;
	for (unsigned int i = 0; i < RANDOM_PAIRS; i++) {
		if (i % 64 == 0)
			advance(p, (double)i / RANDOM_PAIRS);
		pick(p, PAGE_ALIGN, &pair[i][0]);
		pick(p, PAGE_ALIGN, &pair[i][1]);
		x[i] = latency(p, &pair[i][0], &pair[i][1]);
		sorted[i] = x[i];
	}
	cluster_split(s, sorted, RANDOM_PAIRS);
	for (unsigned int i = 0; i < RANDOM_PAIRS && !s->why; i++) {
		unsigned int high = x[i] >= s->threshold;

		if (nr[high] < AGAIN)
			again[high][nr[high]++] = latency(p, &pair[i][0], &pair[i][1]);
	}
	if (!s->why)
		cluster_confirm(s, again[0], nr[0], again[1], nr[1]);
out:
	free(pair);
	free(x);
}

/* Find the threshold, with more repeats where these differ. */
static void threshold(struct probe *p)
{
	struct bank_report *r = p->r;

	r->repeats = p->m->repeats;
	modes(p);
	while (r->split.why && p->spread > QUIET * p->sum && r->repeats * 2 < BANK_REPEATS) {
		r->repeats = r->repeats * 2 + 1;
		modes(p);
	}
}

/* Put lines into bank sets, as many as the number of sets wants. */
static const char *sets(struct probe *p, unsigned int align)
{
	struct cluster_lines *l = &p->lines;
	struct bank_report *r = p->r;

	for (unsigned int want = LEAST_LINES;; want = LINES_PER_SET * l->nr_sets) {
		if (want > CLUSTER_MAX_LINES)
			want = CLUSTER_MAX_LINES;
		for (; l->nr < want; l->nr++)
			pick(p, align, &p->line[l->nr]);
		l->conflict = lines_conflict;
		l->progress = advance;
		l->context = p;
		cluster(l, xorshift64s(&p->rng));
		if (l->why || l->nr >= LINES_PER_SET * l->nr_sets || l->nr == CLUSTER_MAX_LINES)
			break;
	}
	r->lines = l->nr;
	r->sets = l->nr_sets;
	r->within = l->within;
	r->across = l->across;
	for (unsigned int i = 0; i < l->nr; i++)
		p->sample[i] = (struct solve_sample){ p->line[i].physical, l->set[i] };
	return l->why;
}

/* Two lines that the map has in one bank, or that differ in component @only. */
static bool draw(struct probe *p, const struct solve_map *map, unsigned int align, int only,
		 struct bank_line *a, struct bank_line *b)
{
	unsigned int nr = solve_components(map);

	pick(p, align, a);
	for (unsigned int try = 0; try < MOST_DRAWS; try++) {
		unsigned int i = 0;

		pick(p, align, b);
		while (i < nr && (solve_component(map, i, a->physical) !=
				  solve_component(map, i, b->physical)) == ((int)i == only))
			i++;
		if (i == nr && a->physical >> PAGE_ALIGN != b->physical >> PAGE_ALIGN)
			return true;
	}
	return false;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Time new pairs. Returns why the map does not hold, or NULL. */
static const char *verify(struct probe *p, const struct solve_map *map, unsigned int align,
			  unsigned int pairs)
{
	struct bank_verified *v = &p->r->verified;
	unsigned int nr = solve_components(map);
	struct bank_line a, b;
	double same, other;

	*v = (struct bank_verified){ };
	for (unsigned int i = 0; i < pairs; i++) {
		if (i % 16 == 0)
			advance(p, (double)i / pairs);
		if (draw(p, map, align, -1, &a, &b)) {
			v->same++;
			v->same_hold += conflicts(p, &a, &b);
		}
		if (draw(p, map, align, i % nr, &a, &b)) {
			v->other++;
			v->other_hold += !conflicts(p, &a, &b);
		}
	}
	same = cluster_at_least(v->same_hold, v->same);
	other = cluster_at_least(v->other_hold, v->other);
	p->r->confidence = same < other ? same : other;
	if (least(v->same, v->other) < pairs / 2)
		return "this memory has too few pairs to check the map with";
	if (v->same_hold < v->same * .95)
		return "lines of one bank by the map do not conflict";
	if (v->other_hold < v->other * .95)
		return "lines of two banks by the map conflict";
	return NULL;
}

/* From lines to a map that holds. Returns why there is none, or NULL. */
static const char *find(struct probe *p, unsigned int pairs)
{
	struct bank_report *r = p->r;
	struct solve_result found;
	const char *why;

	step(p, .4);
	p->lines.nr = 0;
	why = sets(p, PAGE_ALIGN);
	if (why)
		return why;
	solve(&found, &p->work, p->sample, p->lines.nr, SOLVE_OFFSET | SOLVE_MODULUS);
	r->map = found.map;
	r->page_map = found.map;
	r->seen = found.seen;
	r->holds = found.holds;
	r->pages = true;
	if (found.why)
		return found.why;
	step(p, .35);
	p->lines.nr = 0;
	if (!sets(p, SOLVE_LINE_SHIFT)) {
		solve_as(&found, &p->work, p->sample, p->lines.nr, &r->page_map);
		if (!found.why) {
			r->pages = false;
			r->map = found.map;
			r->seen |= found.seen;
			r->holds = found.holds;
		}
	}
	step(p, .1);
	why = verify(p, &r->map, r->pages ? PAGE_ALIGN : SOLVE_LINE_SHIFT, pairs);
	if (!why || r->pages)
		return why;
	r->map = r->page_map;
	r->pages = true;
	return verify(p, &r->map, PAGE_ALIGN, pairs);
}

/* Most pairs of lines that differ in these bits alone conflict; -1: there are none. */
static int differ(struct probe *p, uint64_t bits)
{
	unsigned int nr = 0, hit = 0;
	struct bank_line a, b;

	for (unsigned int try = 0; try < 200 && nr < 5; try++) {
		pick(p, SOLVE_LINE_SHIFT, &a);
		if (!p->m->find(p->m->context, a.physical ^ bits, &b))
			continue;
		nr++;
		hit += conflicts(p, &a, &b);
	}
	return nr < 3 ? -1 : hit * 2 > nr;
}

static bool stays(const struct solve_map *map, uint64_t bits)
{
	for (unsigned int i = 0; i < map->nr_masks; i++)
		if (__builtin_parityll(bits & map->mask[i]))
			return false;
	return true;
}

/*
 * Row bits and column bits: pairs that differ in one or two bits and share a bank conflict
 * if their rows differ. Of two bits that together keep the bank and change the row, the
 * higher one counts as the row's, as controllers have it.
 */
static void rows(struct probe *p)
{
	struct bank_report *r = p->r;

	if (r->map.offset || r->map.modulus || r->map.nr_tables)
		return;
	for (unsigned int high = SOLVE_LINE_SHIFT; high < 52; high++) {
		uint64_t bit = 1ull << high;
		int conflict = -1;

		if (!(r->seen & bit))
			continue;
		if (stays(&r->map, bit)) {
			conflict = differ(p, bit);
			if (conflict >= 0)
				*(conflict ? &r->row_bits : &r->column_bits) |= bit;
			continue;
		}
		for (unsigned int low = SOLVE_LINE_SHIFT; low < high && conflict < 0; low++) {
			if (!(r->seen >> low & 1) || !stays(&r->map, bit | 1ull << low))
				continue;
			conflict = differ(p, bit | 1ull << low);
			if (conflict > 0)
				r->row_bits |= bit;
			else if (!conflict)
				r->column_bits |= bit | 1ull << low;
		}
	}
}

/**
 * bank_probe - find the functions that choose the bank
 * @r:		what was found
 * @m:		memory to time
 * @seed:	of the choice of lines
 * @pairs:	pairs of each kind to verify the map with
 * @hypothesis:	maps to be tried first, of the first lines of pages
 * @nr:		how many
 */
void bank_probe(struct bank_report *r, const struct bank_memory *m, uint64_t seed,
		unsigned int pairs, const struct solve_map *hypothesis, unsigned int nr)
{
	struct probe *p = calloc(1, sizeof(*p));

	*r = (struct bank_report){ .why = "no memory" };
	if (!p)
		return;
	p->r = r;
	p->m = m;
	p->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	p->share = .15;
	threshold(p);
	r->why = r->split.why;
	r->refuted = !r->why && nr;
	for (unsigned int i = 0; i < nr && r->refuted; i++) {
		r->map = hypothesis[i];
		r->page_map = hypothesis[i];
		r->refuted = verify(p, &hypothesis[i], PAGE_ALIGN, pairs);
	}
	r->hypothesis = !r->why && nr && !r->refuted;
	if (r->hypothesis)
		r->pages = true;
	else if (!r->why)
		r->why = find(p, pairs);
	if (!r->why && !r->pages)
		rows(p);
	free(p);
}
