// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages of a list stay, by how soon they came back
 *
 * Copyright (C) 2026 The mcube authors
 *
 *      second access in the rest, or came back soon, or nothing in the rest is used
 *     +------------------------------------------------------------+
 *     v                                                            |
 *   +--------------------+                  +--------------------+ |
 *   | h        held    t |                  | h       rest      t|-+--> leaves, with a stamp
 *   +--------------------+                  +--------------------+    ^
 *     ^  found used    |                      ^                       |
 *     +----------------+--- not used ---------|-----------------------+
 *                                             comes in
 *
 * The rule is that of LIRS (Jiang and Zhang, SIGMETRICS 2002), which calls held LIR and the
 * rest HIR, but it works on what reclaim sees: bits that say that a page was used, and the
 * shadow of a page that left.  A hit takes no lock.
 *
 * Let the clock count pages that left.
 *
 * 1. A page that left at S and comes back at R was not used for at least R - S clocks, and
 *    before that for the time that it takes to pass the rest.  So the distance of its two last
 *    references is about (R - S) + NR_rest.
 *
 * 2. The page at the tail of held was pushed at P and was not used since, or reclaim would have
 *    pushed it anew.  So its distance will be more than NOW - P.
 *
 * Thus the page that comes back is the better one to hold if
 *
 *	((R - S) + NR_rest) * 5/4 < NOW - P
 *
 * where 5/4 keeps two equal pages from taking turns.  P is not stored with a page: its number
 * among all pushes is that of the last push less the length of held, and the clock is marked
 * every so many pushes.  A page that held gave up leaves before all others; its stamp is older
 * by the age of the tail, as its last reference is.
 *
 * What LIRS cannot do is to be as good as LRU where LRU is right: for readers that follow each
 * other it loses nine hits of ten, as it gives the rest 1 % of the pages.  So the size of the
 * rest is a decision:
 *
 * 3. It starts with all pages, which is LRU or FIFO, whatever the lists are.
 *
 * 4. A slot of held is worth kept / NR_held hits, or what pages that came back lately promise:
 *    a page with the gap G needs a slot for G clocks and gives a hit, so a slot is worth 1 / G
 *    per clock, times the share of held pages that were used in time.  A slot of the rest is
 *    worth again / NR_rest.  Where that is less, the rest shrinks.
 *
 * 5. All refaults with a gap below G are hits when the rest is larger by G, where clocks go
 *    faster without the hits in held.  If enough of them come, more than the held pages that
 *    make room were worth, the rest gets all pages again: sizes between are worse than both.
 *    That is a trial: if the hits do not come, it goes back, and waits for longer each time.
 *
 * 6. Pages that are read ahead lie in the rest until their reader comes.  If pages reach the end
 *    of the rest before they are used, the rest is to have more pages, an eighth at most.
 *
 * 7. If held has more than an eighth of the pages, and no program has used one of them for three
 *    times as many clocks as both lists have pages, all are given up.
 *
 * All numbers are integers.  Nothing here locks: the caller holds the lock of the lists.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "held.h"

/* A sum counts in 1/256, so that it fades smoothly; it stays below MOST. */
#define SHIFT		8
#define ONE		256U
#define MOST		(2ULL * U32_MAX * ONE)
/* Worth of a slot, in 2^-24 hits; one of more than 64 hits is of few pages that stay anyway. */
#define MOST_WORTH	(64ULL << 24)
/* A clock of no page: older than all. */
#define AGES		(U32_MAX / 8)
/* An evaluation per 1/16 of the pages; sums fade by 1/16 at each. */
#define FADE		16
/* Held pages of which nothing is known, as if so many had been kept. */
#define BELIEF		16

static void count(u64 *sum, u32 nr)
{
	if (*sum < MOST)
		*sum += (u64)nr * ONE;
}

static void fade(u64 *sum)
{
	*sum -= *sum / FADE;
}

/**
 * mcube_ubm_held_resize() - the lists may have more or fewer pages
 * @h: decisions
 * @capacity: pages of both lists together, at least 1
 *
 * The counts of gaps stay.  The marks of pushes are lost: all held pages count as pushed now.
 */
void mcube_ubm_held_resize(struct mcube_ubm_held *h, u32 capacity)
{
	bool all = h->rest == h->most;
	u32 i;

	h->capacity = capacity;
	h->floor = max(min(max(capacity / 100, h->batch), capacity / 2), 2U);
	h->least = max(h->floor, min(h->least, capacity / 8));
	h->rest = all ? capacity : max(min(h->rest, capacity), h->least);
	h->most = capacity;
	h->step = max(capacity / MCUBE_UBM_HELD_STEPS, 1U);
	h->marked = h->pushes / h->step;
	for (i = 0; i < MCUBE_UBM_HELD_MARKS; i++)
		h->mark[i] = h->clock;
	h->trying = false;
}

/**
 * mcube_ubm_held_init() - begin, with nothing held
 * @h: decisions
 * @capacity: pages of both lists together, at least 1
 * @batch: pages that reclaim wants at a time
 * @clock: where the clock starts: far from the stamps of earlier decisions
 *
 * All pages of the lists have come in once: the sum of @capacity pages fades, and from then on
 * as many come in as leave.
 */
void mcube_ubm_held_init(struct mcube_ubm_held *h, u32 capacity, u32 batch, u32 clock)
{
	memset(h, 0, sizeof(*h));
	h->batch = batch;
	h->clock = clock;
	h->started = clock;
	h->turned = clock;
	h->hold = clock;
	h->next = clock + 2 * batch + 1;
	h->wait = 1;
	h->age = AGES;
	count(&h->misses, capacity);
	mcube_ubm_held_resize(h, capacity);
}

/**
 * mcube_ubm_held_passed() - folios have left
 * @h: decisions
 * @nr: their pages
 */
void mcube_ubm_held_passed(struct mcube_ubm_held *h, u32 nr)
{
	count(&h->gone, nr);
	count(&h->misses, nr);
	h->clock += nr;
}

/**
 * mcube_ubm_held_stamp() - the stamp of a folio that leaves
 * @h: decisions
 * @clock: the clock after it
 * @nr: its pages
 *
 * Pages that held gave up lie where reclaim looks first, so they leave first.
 *
 * Return: the stamp for its shadow; @clock if no page of h->leaving is left.
 */
u32 mcube_ubm_held_stamp(struct mcube_ubm_held *h, u32 clock, u32 nr)
{
	if (!h->leaving)
		return clock;
	h->leaving -= min(h->leaving, nr);
	return clock - h->age;
}

/**
 * mcube_ubm_held_back() - a folio comes back
 * @h: decisions
 * @stamp: of its shadow
 * @nr: its pages
 * @nr_held: pages of held
 * @nr_rest: pages of the rest
 *
 * Return: it is to be held, once it has been used.
 */
bool mcube_ubm_held_back(struct mcube_ubm_held *h, u32 stamp, u32 nr, u32 nr_held, u32 nr_rest)
{
	u64 gap = h->clock - stamp, all = max((u64)nr_held + nr_rest, 1ULL);

	if (gap < 4 * all && h->near < MOST) {
		count(&h->near, nr);
		h->worth += nr * div64_u64((u64)ONE << 32, max(gap + nr_rest, all / ONE) + 1);
	}
	if (gap < 2 * all)
		count(&h->gaps[div64_u64(gap * MCUBE_UBM_HELD_BINS, 2 * all)], nr);
	if (!h->age)
		return false;
	return (gap + nr_rest) * 5 < ((u64)h->age + (h->clock - h->turned)) * 4;
}

/**
 * mcube_ubm_held_recent() - would a cache of this size have had the page still, or nearly so?
 * @h: decisions
 * @gap: clocks since the stamp of the page
 * @active: held may have given the page up: its stamp is older by the age of the tail
 *
 * Return: programs that wait for the page wait for want of memory.
 */
bool mcube_ubm_held_recent(const struct mcube_ubm_held *h, u32 gap, bool active)
{
	u64 most = h->capacity;

	if (active)
		most += min((u64)h->age, 4 * most);
	return gap <= most;
}

/**
 * mcube_ubm_held_pushed() - a folio was pushed to the head of held, from anywhere
 * @h: decisions
 * @nr: its pages
 */
void mcube_ubm_held_pushed(struct mcube_ubm_held *h, u32 nr)
{
	u64 at;

	h->pushes += nr;
	at = div_u64(h->pushes, h->step);
	/* Of a folio that is larger than a step, the last mark counts. */
	h->marked = max(h->marked, at - min_t(u64, at, MCUBE_UBM_HELD_MARKS));
	while (h->marked < at)
		h->mark[++h->marked % MCUBE_UBM_HELD_MARKS] = h->clock;
}

/**
 * mcube_ubm_held_kept() - the tail of held was found used, and went to the head
 * @h: decisions
 * @nr: its pages
 */
void mcube_ubm_held_kept(struct mcube_ubm_held *h, u32 nr)
{
	count(&h->kept, nr);
	mcube_ubm_held_pushed(h, nr);
}

/**
 * mcube_ubm_held_again() - reclaim comes to a folio of the rest that was used again
 * @h: decisions
 * @nr: its pages
 */
void mcube_ubm_held_again(struct mcube_ubm_held *h, u32 nr)
{
	count(&h->again, nr);
}

/**
 * mcube_ubm_held_unused() - a folio reaches the end of the rest, and was not used since it came in
 * @h: decisions
 * @nr: its pages
 *
 * Pages that are read ahead need time until their reader comes.
 */
void mcube_ubm_held_unused(struct mcube_ubm_held *h, u32 nr)
{
	h->least = max(h->floor, min(h->least + nr, h->capacity / 8));
	h->rest = max(h->rest, h->least);
}

/**
 * mcube_ubm_held_demoted() - the tail of held goes to where reclaim looks first
 * @h: decisions
 * @nr: its pages
 * @nr_rest: pages of the rest
 */
void mcube_ubm_held_demoted(struct mcube_ubm_held *h, u32 nr, u32 nr_rest)
{
	h->leaving = min(h->leaving + nr, 4 * h->batch);
	if (h->age > nr_rest)
		count(&h->failed, nr);
}

/* Clocks since the tail of held was pushed. */
static u32 tail_age(const struct mcube_ubm_held *h, u32 nr_held)
{
	u64 at;

	if (!nr_held)
		return AGES;
	at = h->pushes > nr_held ? div_u64(h->pushes - nr_held, h->step) : 0;
	if (at + MCUBE_UBM_HELD_MARKS <= h->marked)
		at = h->marked - MCUBE_UBM_HELD_MARKS + 1;
	if (!at)
		return h->settled ? min(h->clock - h->started, AGES) : h->clock - h->started;
	return min(h->clock - h->mark[at % MCUBE_UBM_HELD_MARKS], AGES);
}

/* Hits of a slot while sums fade, in 2^-24. */
static u64 per_slot(u64 sum, u32 nr)
{
	return nr ? min(div_u64(sum << 16, nr), MOST_WORTH) : 0;
}

/* Worth of a slot if held had the pages that came back lately, see 4 above. */
static u64 promise(const struct mcube_ubm_held *h)
{
	u64 kept = h->kept >> SHIFT, failed = h->failed >> SHIFT, worth;

	if (h->near * 50 <= h->misses)
		return 0;
	worth = div64_u64(h->worth, h->near) * (h->misses >> SHIFT) >> SHIFT;
	worth = min(worth, MOST_WORTH);
	return worth * div64_u64((kept + BELIEF) << 16, kept + failed + BELIEF) >> 16;
}

/*
 * The most that a larger rest gains, see 5 above, in sums.  @by is set to the refaults that
 * promise it.
 */
static u64 growth(const struct mcube_ubm_held *h, u64 all, u64 slot, u64 *by)
{
	u64 gain = 0, sum = 0, faster, need, cost;
	u32 i;

	if (!h->misses)
		return 0;
	faster = min(div64_u64((h->misses + h->kept) << 8, h->misses), 1ULL << 16);
	for (i = 0; i < MCUBE_UBM_HELD_BINS; i++) {
		sum += h->gaps[i];
		need = ((i + 1) * 2 * all / MCUBE_UBM_HELD_BINS + h->rest) * faster >> 8;
		need = max(need - h->rest, all / 64);
		if (h->rest + need > all - h->least)
			break;
		cost = (need * slot >> 16) * 3 / 2;
		if (sum > cost + gain) {
			gain = sum - cost;
			*by = sum;
		}
	}
	return gain;
}

/*
 * May the rest grow?  Enough held pages were seen at the tail, and the last trial is long ago.  The
 * sums of the first two capacities do not say yet what held pages are worth.
 */
static bool may_grow(const struct mcube_ubm_held *h, u32 nr_held, u64 all)
{
	return h->clock - h->started > 2 * all && (s32)(h->clock - h->hold) >= 0 &&
	       (((h->kept + h->failed) >> SHIFT) * 2 > nr_held || h->age > 2 * all);
}

static void end_trial(struct mcube_ubm_held *h, u64 all)
{
	if (h->clock - h->trial <= min(8ULL * h->rest, (u64)AGES))
		return;
	h->trying = false;
	if (h->again * 4 >= h->promised) {
		h->wait = 1;
		return;
	}
	h->rest = h->before;
	h->hold = h->clock + (u32)min(h->wait * all, (u64)AGES);
	h->wait = min(h->wait * 2, 64U);
}

static void evaluate(struct mcube_ubm_held *h, u32 nr_held, u32 nr_rest)
{
	u64 all = max((u64)nr_held + nr_rest, 2ULL * h->least), by = 0, gain;
	u64 held = per_slot(h->kept, nr_held), rest = per_slot(h->again, nr_rest);
	u64 best = max(held, promise(h));
	bool rare = h->again * 3 < h->gone, none = h->again < ONE / 2;
	u32 i, down;

	h->settled |= h->clock - h->started >= all / 4;
	if (h->kept < ONE / 2 && nr_held > all / 8 && h->age > 3 * all) {
		h->rest = min_t(u64, all, U32_MAX);
		h->trying = false;
		h->hold = h->clock;
	}
	gain = growth(h, all, held, &by);
	if (h->trying) {
		end_trial(h, all);
	} else if (nr_held && gain * 5 > h->misses && may_grow(h, nr_held, all)) {
		h->before = h->rest;
		h->rest = min_t(u64, all, U32_MAX);
		h->trying = true;
		h->trial = h->clock;
		h->promised = by;
	} else if (rest * 5 < best * 4 || (!best && (rare || !rest))) {
		if (none || rare || rest * 3 < best * 2)
			down = h->settled ? all / 4 : all;
		else
			down = all / 64;
		h->rest -= min(h->rest - min(h->rest, h->least), max(down, 1U));
	}
	h->least -= (h->least - h->floor + 4 * FADE - 1) / (4 * FADE);
	h->most = min_t(u64, all - h->least, U32_MAX);
	h->rest = min(h->rest, h->most);

	for (i = 0; i < MCUBE_UBM_HELD_BINS; i++)
		fade(&h->gaps[i]);
	fade(&h->misses);
	fade(&h->gone);
	fade(&h->again);
	fade(&h->kept);
	fade(&h->failed);
	fade(&h->near);
	fade(&h->worth);
	h->next = h->clock + (!h->settled && none ? 1 : max((u32)(all / 16), 1U));
}

/**
 * mcube_ubm_held_turn() - reclaim begins
 * @h: decisions
 * @nr_held: pages of held
 * @nr_rest: pages of the rest
 * @idle: the tail of held was not used since it was pushed; the caller has moved a bounded
 *        number of tails that were used to the head, each with mcube_ubm_held_kept()
 *
 * Return: how many pages to move from the tail of held to the rest, at most two batches.
 */
u32 mcube_ubm_held_turn(struct mcube_ubm_held *h, u32 nr_held, u32 nr_rest, bool idle)
{
	u32 few = h->batch / 2 - min(h->batch / 2, nr_rest);
	u32 batches = max((h->clock - h->turned) / h->batch, 1U);

	h->age = idle || !nr_held ? tail_age(h, nr_held) : 0;
	h->turned = h->clock;
	if (h->rest == h->most) {
		h->most = max(nr_held + nr_rest, 2 * h->least) - h->least;
		h->rest = h->most;
	}
	if ((s32)(h->clock - h->next) >= 0)
		evaluate(h, nr_held, nr_rest);
	/* Reclaim has to free pages: one page of the rest and all demoted pages may leave. */
	h->may_hold = max(nr_rest, 1U) - 1;
	/* What reclaim has just freed will be pages of the rest again. */
	h->full = max(nr_held + nr_rest, h->full - min(h->full, batches));
	nr_rest += min(h->full - nr_held - nr_rest, 2 * h->batch);
	h->excess = nr_rest > h->rest + h->batch / 2;
	/* If some pages of the rest are in use, reclaim would find too little. */
	few = max(few, h->rest - min(h->rest, nr_rest));
	return min(min(few, nr_held), 2 * h->batch);
}

/**
 * mcube_ubm_held_small() - is the rest to have less than half of the pages?
 * @h: decisions
 *
 * If not, lists whose rest lies in the order of last references are LRU, and to hold pages that
 * were used again would disturb it.
 *
 * Return: held pages are what counts.
 */
bool mcube_ubm_held_small(const struct mcube_ubm_held *h)
{
	return h->rest <= h->capacity / 2;
}

/**
 * mcube_ubm_held_takes() - reclaim comes to a folio of the rest
 * @h: decisions
 * @nr: its pages
 * @nr_rest: pages of the rest, with this folio or without it
 * @again: it was used again, and the lists would keep it
 *
 * Where the rest has more pages than it is to have, and its pages are not used, all that
 * reclaim comes to are held, until the rest is as small as that: so a loop gets its first pages.
 * A few pages more or less are no reason: other memory of the cgroup comes and goes, and held pages
 * would give way to others each time.
 *
 * Return: it is to be held.
 */
bool mcube_ubm_held_takes(struct mcube_ubm_held *h, u32 nr, u32 nr_rest, bool again)
{
	if (h->may_hold < nr || (!again && (!h->excess || nr_rest <= h->rest)))
		return false;
	h->may_hold -= nr;
	return true;
}
