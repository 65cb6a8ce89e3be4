// SPDX-License-Identifier: GPL-2.0
/*
 * Verdicts on a color map; decide.h says what the times are.
 *
 * A verdict rests on draws that are counted, not on averages: each draw competes or does
 * not, by a threshold between draws that fit the cache for certain and draws of twice the
 * cache.  If these two are not apart by far more than the first are spread, or some of them
 * lie on the wrong side, nothing is decided.
 *
 * Noise makes loads slower, never faster.  A map would hold wrongly only if noise hit the draws
 * of one color and missed those of two colors, which are made in turn.
 */
#include "decide.h"

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define BETWEEN		.4	/* threshold, from the medians of what fits to what does not */
#define SPREAD		.3	/* of draws that fit, at most, in gaps of these medians */
#define WRONG_SIDE	.1	/* of draws that fit, at most; twice as many of the others */
#define COMPETE		.85	/* share of draws from which a rule competes */
#define COMPETE_NOT	.15	/* share up to which a rule does not */
#define HALF		.5
#define AGREE		.97	/* of all differences, with the masks found */
#define UNCLEAR		.05	/* of all differences, at most */

/**
 * quantile - a quantile of some numbers
 * @x:	the numbers
 * @n:	how many, from 1 to MAX_DRAWS
 * @q:	0: the least, .5: the median, 1: the largest
 *
 * Return: the number at that place of the sorted numbers, the lower of two.
 */
double quantile(const double *x, size_t n, double q)
{
	double sorted[MAX_DRAWS];

	memcpy(sorted, x, n * sizeof(*x));
	qsort(sorted, n, sizeof(*x), by_double);
	return sorted[(size_t)(q * (n - 1))];
}

static double part(const struct draws *d, double q)
{
	return quantile(d->x, d->nr, q);
}

/**
 * decide_threshold - find what tells two kinds of draws apart
 * @low:	draws that fit for certain
 * @high:	draws that do not
 * @why:	a sentence if nothing does
 *
 * Return: the threshold, 0 if there is none.
 */
double decide_threshold(const struct draws *low, const struct draws *high, const char **why)
{
	double gap, threshold;

	*why = "too few draws";
	if (low->nr < MIN_DRAWS || high->nr < MIN_DRAWS)
		return 0;
	*why = "memory beyond the cache costs no more than memory that fits: the cache, or this "
	       "guest's share of it, is not as described";
	gap = part(high, HALF) - part(low, HALF);
	threshold = part(low, HALF) + gap * BETWEEN;
	if (gap <= 0 || threshold <= 0)
		return 0;
	*why = "times are spread too wide to tell a cache that is full from one that is not";
	if (part(low, .9) - part(low, .1) > gap * SPREAD ||
	    decide_share(low, threshold) > WRONG_SIDE ||
	    decide_share(high, threshold) < 1 - 2 * WRONG_SIDE)
		return 0;
	*why = NULL;
	return threshold;
}

/**
 * decide_share - how much of some draws competes
 * @d:		the draws
 * @threshold:	as decide_threshold() found it
 *
 * Return: 0 to 1; 0 without draws.
 */
double decide_share(const struct draws *d, double threshold)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < d->nr; i++)
		n += d->x[i] > threshold;
	return d->nr ? (double)n / d->nr : 0;
}

/* Probability of @k or fewer of @n at even chances. */
static double tail(unsigned int n, unsigned int k)
{
	double term = 1, sum = 0;

	for (unsigned int i = 0; i < n; i++)
		term /= 2;
	for (unsigned int i = 0; i <= k && i <= n; i++) {
		sum += term;
		term *= (double)(n - i) / (i + 1);
	}
	return sum < 1 ? sum : 1;
}

/* Chance that draws which really are even-handed look as one-sided as these. */
static double doubt(const struct draws *d, double share)
{
	unsigned int n = (unsigned int)(share * d->nr + .5);

	return tail(d->nr, n < d->nr - n ? n : d->nr - n);
}

/**
 * decide_map - does a color map hold?
 * @out:	what follows
 * @e:		what was measured
 *
 * It holds if pages of one color compete, and pages of two colors that differ by a mask do not,
 * for each mask.  Where pages of one color do not compete, or pages of two colors do, it does
 * not.  Anything between is unknown.
 */
void decide_map(struct decision *out, const struct evidence *e)
{
	double chance = 0, share;
	bool all = true, none_wrong = true;

	memset(out, 0, sizeof(*out));
	out->threshold = decide_threshold(&e->fit, &e->miss, &out->why);
	if (!out->threshold)
		return;
	out->why = "too few draws";
	if (e->same.nr < MIN_DRAWS || !e->masks || e->masks > MAX_MASKS)
		return;
	out->competing = decide_share(&e->same, out->threshold);
	if (out->competing <= COMPETE_NOT * 2) {
		out->verdict = HOLDS_NOT;
		out->confidence = 1 - doubt(&e->same, out->competing);
		out->why = "pages of one color do not compete for the cache";
		return;
	}
	out->why = "some pages of one color compete for the cache, others do not";
	if (out->competing < COMPETE)
		return;
	chance = doubt(&e->same, out->competing);
	for (unsigned int i = 0; i < e->masks; i++) {
		share = decide_share(&e->flip[i], out->threshold);
		if (e->flip[i].nr < MIN_DRAWS) {
			all = false;
		} else if (share <= COMPETE_NOT) {
			out->mask[i] = HOLDS;
			chance += doubt(&e->flip[i], share);
		} else if (share >= COMPETE) {
			out->mask[i] = HOLDS_NOT;
			out->confidence = 1 - doubt(&e->flip[i], share);
			none_wrong = false;
		} else {
			all = false;
		}
	}
	if (!none_wrong && (e->most.nr < MIN_DRAWS ||
			    decide_share(&e->most, out->threshold) > COMPETE_NOT)) {
		/* Then half of the pages is more than the sets of a color have room for. */
		out->why = "the cache, or this guest's share of it, is smaller than described";
		out->confidence = 0;
		memset(out->mask, 0, sizeof(out->mask));
	} else if (!none_wrong) {
		out->verdict = HOLDS_NOT;
		out->why = "pages of two colors that differ by a mask compete for the cache";
	} else if (all && chance < .05) {
		out->verdict = HOLDS;
		out->confidence = 1 - chance;
		out->why = "pages of one color compete for the cache, pages of other colors do not";
	} else {
		out->why = "for a mask, some pages of two colors compete and others do not";
	}
}

/*
 * Masks of which all members of a linear set @in have even parity: the set's null space, of which
 * the least mask with each highest bit is taken.  Returns their number.
 */
static unsigned int null_space(unsigned int *mask, const bool *in)
{
	unsigned int masks = 0, last = 0;

	for (unsigned int m = 1; m < SEARCH; m++) {
		/* The same highest bit as that of the mask before? */
		bool even = (m ^ last) > last;

		for (unsigned int d = 0; even && d < SEARCH; d++)
			even = !in[d] || !__builtin_parity(d & m);
		if (!even)
			continue;
		mask[masks++] = m;
		last = m;
	}
	return masks;
}

/**
 * decide_index - find the masks of a set index
 * @out:	what was found
 * @votes:	for each difference of bits 12 to 20, by how many draws pages that differ by it
 *		competed; 0 stands for pages without a difference
 * @draws:	draws of each difference
 *
 * If masks choose the set, differences that keep it are closed under XOR.  What noise did to
 * single differences is outvoted: a difference is in the set if, with most members, its sum is
 * one too.  What is then still not closed, or agrees with too few, is refused.
 */
void decide_index(struct index_bits *out, const unsigned char *votes, unsigned int draws)
{
	bool seen[SEARCH], in[SEARCH];
	unsigned int n = 0, unclear = 0, same = 0, size = 0;

	memset(out, 0, sizeof(*out));
	for (unsigned int d = 0; d < SEARCH; d++) {
		seen[d] = 3 * votes[d] >= 2 * draws;
		unclear += !seen[d] && 3 * votes[d] > draws;
		n += seen[d];
	}
	out->why = "pages that agree in address bits 12 to 20 do not compete for the cache";
	if (!draws || !seen[0])
		return;
	out->why = "too many differences of address bits compete at one time and not at another";
	if (unclear > UNCLEAR * SEARCH)
		return;
	for (unsigned int d = 0; d < SEARCH; d++) {
		unsigned int with = 0;

		for (unsigned int k = 0; k < SEARCH; k++)
			with += seen[k] && seen[d ^ k];
		in[d] = 2 * with > n;
		size += in[d];
		same += in[d] == seen[d];
	}
	out->agreement = (double)same / SEARCH;
	out->why = "which pages compete follows from no masks of address bits 12 to 20";
	for (unsigned int d = 0; d < SEARCH; d++)
		for (unsigned int k = 0; in[d] && k < SEARCH; k++)
			if (in[k] && !in[d ^ k])
				return;
	/* Where few differences keep the set, a few wrong votes would pass for the rule. */
	if (out->agreement < AGREE || SEARCH - same > size / 8)
		return;
	out->masks = null_space(out->mask, in);
	if (size << out->masks != SEARCH) {
		out->masks = 0;
		return;
	}
	out->why = NULL;
}
