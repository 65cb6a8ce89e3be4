// SPDX-License-Identifier: GPL-2.0
/*
 * Two modes of latencies, and sets of lines.
 *
 * Two lines of one bank in different rows close each other's row, so a load of one after
 * the other takes longer. Of random pairs one in as many as there are banks conflicts: the
 * upper mode is small. It has to be apart from the lower mode, narrow, and the same pairs
 * have to be in it when timed again. Noise has a tail, which is none of the three.
 *
 *	       lower mode                      upper mode
 *	  |      .:|:.                   |        .|.
 *	  |    .:::|:::..   .            |       .:|:.
 *	  +--------+-----------+-----------+-------+---->  latency
 *	          low      a third     a third    high
 *	                       |  empty    |
 *
 * Sets grow line by line: a line is timed against a line of each set until it conflicts,
 * and then against a second one of that set. That takes half as many pairs as lines times
 * banks. Lines alone in a set are tried again. In the end pairs are timed that were not
 * timed before: lines of one set have to conflict and lines of two sets must not. Latencies
 * that depend on a line rather than on a pair fail here.
 */
#include "cluster.h"

#include <stdlib.h>

#include <math.h>

#include "numbers.h"

#define LEAST_HIGH	8u		/* pairs in the upper mode */
#define LEAST_GAP	.85
#define MOST_SPREAD	.7		/* of the upper mode, of the distance of the modes */
#define MOST_SHARE	.6
#define MOST_BANKS	300
#define CHECKED		400u		/* pairs of each kind that are timed again */
#define REPRESENTED	3u		/* lines that stand for a set */

static double at(const double *sorted, unsigned int nr, double q)
{
	return sorted[(unsigned int)(q * (nr - 1))];
}

/* How many of the sorted numbers are below @bound. */
static unsigned int below(const double *x, unsigned int nr, double bound)
{
	unsigned int from = 0;

	while (from < nr) {
		unsigned int middle = (from + nr) / 2;

		if (x[middle] < bound)
			from = middle + 1;
		else
			nr = middle;
	}
	return from;
}

/*
 * Two modes, from the guess that the first @n are the lower one: the threshold moves to the
 * middle of both medians until it stays there. Returns whether there are two.
 */
static bool modes(struct cluster_split *s, const double *x, unsigned int n, unsigned int nr)
{
	double distance = 0, between;

	for (unsigned int round = 0, before = 0; round < 50 && n != before; round++) {
		if (!n || nr - n < LEAST_HIGH)
			return false;
		before = n;
		s->low = at(x, n, .5);
		s->high = at(x + n, nr - n, .5);
		s->threshold = (s->low + s->high) / 2;
		n = below(x, nr, s->threshold);
	}
	distance = s->high - s->low;
	if (!n || nr - n < LEAST_HIGH || distance <= 0)
		return false;
	between = below(x, nr, s->high - distance / 3) - below(x, nr, s->low + distance / 3);
	s->share = (double)(nr - n) / nr;
	s->gap = 1 - between / (nr - n);
	return s->share <= MOST_SHARE && s->gap >= LEAST_GAP &&
	       at(x + n, nr - n, .9) - at(x + n, nr - n, .1) <= MOST_SPREAD * distance;
}

/**
 * cluster_split - find two modes in latencies of random pairs
 * @s:		what was found
 * @latency:	the latencies, sorted by this function
 * @nr:		how many
 */
void cluster_split(struct cluster_split *s, double *latency, unsigned int nr)
{
	struct cluster_split x = { };

	*s = (struct cluster_split){ .why = "too few pairs were timed" };
	if (nr < 8 * LEAST_HIGH)
		return;
	qsort(latency, nr, sizeof(*latency), by_double);
	s->why = "row-conflict timing is not bimodal";
	s->low = at(latency, nr, .5);
	s->high = at(latency, nr, .99);
	for (double share = .5; share > 1. / MOST_BANKS; share /= 1.5)
		if (modes(&x, latency, nr * (1 - share), nr) && x.gap > s->gap)
			*s = x;
}

/**
 * cluster_at_least - lower bound of a share, 95 % (Wilson's)
 * @good:	how many are
 * @nr:		of how many
 *
 * Return: the bound, 0 to 1.
 */
double cluster_at_least(unsigned int good, unsigned int nr)
{
	double z = 1.645, n = nr, p = nr ? good / n : 0;

	if (!nr)
		return 0;
	return (p + z * z / (2 * n) - z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) /
		(1 + z * z / n);
}

/**
 * cluster_confirm - do pairs stay in their mode when they are timed again?
 * @s:		the modes
 * @low:	new latencies of pairs of the lower mode
 * @nr_low:	how many
 * @high:	new latencies of pairs of the upper mode
 * @nr_high:	how many
 */
void cluster_confirm(struct cluster_split *s, const double *low, unsigned int nr_low,
		     const double *high, unsigned int nr_high)
{
	unsigned int low_stay = 0, high_stay = 0;
	double a, b;

	for (unsigned int i = 0; i < nr_low; i++)
		low_stay += low[i] < s->threshold;
	for (unsigned int i = 0; i < nr_high; i++)
		high_stay += high[i] >= s->threshold;
	a = cluster_at_least(low_stay, nr_low);
	b = cluster_at_least(high_stay, nr_high);
	s->confidence = a < b ? a : b;
	if (!s->why && (low_stay < nr_low * .9 || high_stay < nr_high * .8))
		s->why = "row-conflict timing is not bimodal: slow pairs are not slow again";
}

static uint64_t next(uint64_t *x)
{
	return xorshift64s(x) >> 16;
}

static bool timed(struct cluster_lines *l, unsigned int a, unsigned int b)
{
	l->timed++;
	return l->conflict(l->context, a, b);
}

/**
 * struct stand - lines that stand for each set
 * @line:	the lines
 * @nr:		how many
 * @members:	lines in the set
 */
struct stand {
	uint16_t line[REPRESENTED];
	uint16_t nr;
	uint16_t members;
};

/* Does the line belong to the set? A first conflict is confirmed, by another line if any. */
static bool belongs(struct cluster_lines *l, const struct stand *s, unsigned int line)
{
	if (!s->nr || !timed(l, s->line[0], line))
		return false;
	return timed(l, s->line[s->nr > 1], line);
}

static bool place(struct cluster_lines *l, struct stand *stand, unsigned int line)
{
	for (unsigned int k = 0; k < l->nr_sets; k++) {
		struct stand *s = &stand[k];

		if (!belongs(l, s, line))
			continue;
		l->set[line] = k;
		s->members++;
		if (s->nr < REPRESENTED)
			s->line[s->nr++] = line;
		return true;
	}
	return false;
}

/* Take sets of one or two lines apart, and place these lines anew. */
static void place_again(struct cluster_lines *l, struct stand *stand)
{
	for (unsigned int k = 0; k < l->nr_sets; k++)
		if (stand[k].members <= 2)
			stand[k].nr = 0;
	for (unsigned int i = 0; i < l->nr; i++) {
		if (l->set[i] != CLUSTER_NONE && stand[l->set[i]].nr)
			continue;
		l->set[i] = CLUSTER_NONE;
		place(l, stand, i);
	}
}

static void check(struct cluster_lines *l, uint64_t *rng)
{
	unsigned int nr[2] = { }, hit[2] = { };
	uint16_t first[CLUSTER_MAX_SETS], link[CLUSTER_MAX_LINES];

	for (unsigned int k = 0; k < l->nr_sets; k++)
		first[k] = CLUSTER_NONE;
	/* The line before in its set, or the last of the set: another one to time it with. */
	for (unsigned int i = 0; i < l->nr; i++) {
		if (l->set[i] == CLUSTER_NONE)
			continue;
		link[i] = first[l->set[i]];
		first[l->set[i]] = i;
	}
	for (unsigned int try = 0; try < 8 * CHECKED; try++) {
		unsigned int a = next(rng) % l->nr, b = next(rng) % l->nr;

		if (l->set[a] == CLUSTER_NONE || l->set[b] == CLUSTER_NONE)
			continue;
		if (nr[1] < CHECKED && link[a] != CLUSTER_NONE) {
			nr[1]++;
			hit[1] += timed(l, a, link[a]);
		}
		if (nr[0] < CHECKED && l->set[a] != l->set[b]) {
			nr[0]++;
			hit[0] += timed(l, a, b);
		}
	}
	l->within = nr[1] ? (double)hit[1] / nr[1] : 0;
	l->across = nr[0] ? (double)hit[0] / nr[0] : 1;
}

/**
 * cluster - put lines into sets that share a bank
 * @l:		the lines
 * @seed:	of the choice of pairs that are timed again
 */
void cluster(struct cluster_lines *l, uint64_t seed)
{
	static _Thread_local struct stand stand[CLUSTER_MAX_SETS];
	uint64_t rng = seed * 2 + 1;
	unsigned int alone = 0;

	l->nr_sets = 0;
	l->timed = 0;
	l->why = NULL;
	l->within = 0;
	l->across = 0;
	for (unsigned int i = 0; i < l->nr; i++) {
		l->set[i] = CLUSTER_NONE;
		if (l->progress && i % 16 == 0)
			l->progress(l->context, (double)i / l->nr);
		if (place(l, stand, i))
			continue;
		if (l->nr_sets == CLUSTER_MAX_SETS) {
			l->why = "more bank sets than any machine has banks";
			return;
		}
		l->set[i] = l->nr_sets;
		stand[l->nr_sets++] = (struct stand){ { i }, 1, 1 };
	}
	place_again(l, stand);
	for (unsigned int i = 0; i < l->nr; i++)
		alone += l->set[i] == CLUSTER_NONE;
	check(l, &rng);
	if (alone > l->nr / 5)
		l->why = "a fifth of the lines conflicts with no other";
	else if (l->within < .8)
		l->why = "lines that conflict with a third line do not conflict with each other";
	else if (l->across > .1)
		l->why = "lines of different bank sets conflict";
}
