// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: lending the reserved colors while nothing streams
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Reserved colors keep streams away from memory.  While nothing streams they are cache
 * that memory does without: a program whose working set fills the last level
 * misses a sixteenth of it.  So memory hops over all colors until something
 * streams, and moves out of the reserved colors then:
 *
 *   quiet for lend seconds          a stream
 *   |                               |
 *   | lent: memory has all colors   | reserved: a work item moves memory out of
 *   |                               | the reserved colors, once through all frames
 *   +-------------------------------+------------------------------------> time
 *     tick  tick  tick  tick  tick    tick  tick
 *
 * A tick asks whether something streams, each second, and when the first segments of a stream
 * begin while the colors are lent:
 *
 *   Pages of segments, and pages of files that are read from their start, cached or
 *   not.  Counters tell both.  A read of a file that hops is no stream.  A read counts
 *   where it begins: a file that takes longer to read than the quiet time is quiet
 *   after that.
 *
 *   Files that are mapped and cached are read without a call.  A sample of page
 *   frames tells whether mapped pages lie in the reserved colors, see
 *   mcube_lend_mapped().  They may be read or not.  Frames are looked at before
 *   colors are lent, and then only when the kernel's count of mapped pages has
 *   grown, see mcube_lend_looks(): an idle machine looks at nothing.
 *
 * The move is what makes lending worth it: a program lives longer than a quiet time,
 * and with its memory in the reserved colors as well, a stream would cost it 20 to 30 % of
 * what the stream costs without the policy.  Memory that was there before the policy
 * was switched on moves out, too, after the first quiet time.
 *
 * Anyone may start a stream and so make memory of others move.  So 4096 pages move in
 * a second at most, and nothing moves into the reserved colors but new pages.  Pages that
 * several processes share stay, as each process would pay, and so does shmem: its
 * owner may demand a zone, as drivers of graphics do.  While another policy has asked
 * for colors as well, nothing moves: its pages belong there.
 *
 * None of this is in the paper, which reserves no colors.
 */

#include <linux/atomic.h>
#include <linux/gcd.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/mcube_map.h>
#include <linux/mcube_srm.h>
#include <linux/memory_hotplug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/timer.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "../alloc/policy.h"
#include "../alloc/recolor.h"
#include "../map/map.h"
#include "internal.h"
#include "lend.h"

#include <trace/events/mcube_srm.h>

/* Frames that a tick looks at. */
#define SAMPLE		16384UL

/* The work item moves so many pages in a second at most, ROUND at a time. */
#define PAGES_PER_SECOND	4096U
#define ROUND			64U

/* While colors are lent, the counters are added up so often at most. */
#define HURRY_DELAY	(HZ / 50)

/* Frames that the work item looks at before it sleeps for a moment. */
#define LOOK_MAX	65536UL
#define LOOK_DELAY	(HZ / 16)

static void tick_work_fn(struct work_struct *work);
static void vacate_work_fn(struct work_struct *work);

static DECLARE_DELAYED_WORK(tick_work, tick_work_fn);
static DECLARE_DELAYED_WORK(vacate_work, vacate_work_fn);

static DEFINE_MCUBE_RECOLOR_BUDGET(budget);

/* Guarded by the policy lock. */
static struct mcube_lend known;
static struct mcube_policy *policy;
static bool was_lent;

/* When mcube_srm_lend_hurry() may look again; written without a lock. */
static unsigned long look_at;

/* Of the tick: how often frames were sampled, so that each sample has other frames. */
static unsigned long samples;

/* Set by the tick: frames may be looked at now, and all of them shall be, from here on. */
static bool may_vacate, all_again;

/* Of the work item: frames that are left, the next frame, its node, and the next color. */
static unsigned long left;
static unsigned long next_pfn;
static int next_nid;
static unsigned int next_color;

static unsigned long pages_of_streams(void)
{
	return mcube_srm_stat(MCUBE_SRM_FILE) + mcube_srm_stat(MCUBE_SRM_TASK) +
		mcube_srm_stat(MCUBE_SRM_READ);
}

/*
 * The folio of a frame, referenced, if it is on an LRU list, has the flags @set and none of
 * the flags @clear; NULL else.  Most frames fail without a reference.
 */
static struct folio *folio_at(unsigned long pfn, unsigned long set, unsigned long clear)
{
	struct page *page = pfn_to_online_page(pfn);
	struct folio *folio;

	if (!page)
		return NULL;
	set |= BIT(PG_lru);
	folio = page_folio(page);
	/* Without a reference it may become a tail page, of which folio_test_*() must not ask. */
	if ((READ_ONCE(folio->flags) & (set | clear)) != set || !folio_try_get(folio))
		return NULL;
	/* The folio may have been freed, and others may have its frames now. */
	if (page_folio(page) != folio || !folio_test_lru(folio)) {
		folio_put(folio);
		return NULL;
	}
	return folio;
}

/**
 * mcube_srm_is_mapped_file() - does a page belong to a file, and is its folio mapped?
 * @page: the page, which anyone may use and free meanwhile.
 *
 * Takes no reference, which would get in the way of whoever splits, migrates or frees the
 * folio.  So it reads words only, and asks no folio_test_*(), which expects that the folio
 * stays.  The answer may be out of date; a sample has many pages.
 *
 * Return: true if that was so a moment ago.
 */
bool mcube_srm_is_mapped_file(const struct page *page)
{
	const struct folio *folio = page_folio(page);
	unsigned long flags = READ_ONCE(folio->flags);

	if ((flags & (BIT(PG_lru) | BIT(PG_swapbacked))) != BIT(PG_lru) ||
	    (unsigned long)READ_ONCE(folio->mapping) & PAGE_MAPPING_FLAGS)
		return false;
	return atomic_read(flags & BIT(PG_head) ? &folio->_large_mapcount :
						  &folio->_mapcount) >= 0;
}

static void look(struct mcube_lend_sample *s, const struct mcube_dim *dim, unsigned long pfn)
{
	bool reserved = mcube_reserve_has(mcube_dim_value(dim, pfn));
	struct page *page = pfn_to_online_page(pfn);

	s->nr[reserved]++;
	if (page && mcube_srm_is_mapped_file(page))
		s->mapped[reserved]++;
}

static unsigned long all_frames(void)
{
	unsigned long frames = 0;
	int nid;

	for_each_online_node(nid)
		frames += node_spanned_pages(nid);
	return frames;
}

static bool divides_a_period(const struct mcube_dim *dim, unsigned long per)
{
	unsigned int i;

	for (i = 0; i < dim->nr_tables; i++)
		if (gcd(per, dim->table[i].len) > 1)
			return true;
	return false;
}

/*
 * The distance between frames has no factor in common with the periods of a map, which
 * are powers of two and the lengths of tables.  Otherwise all frames of a sample would
 * have few colors.
 */
static bool streams_are_mapped(const struct mcube_dim *dim)
{
	unsigned long per = all_frames() / SAMPLE | 1, pfn, end;
	struct mcube_lend_sample s = { };
	int nid;

	while (divides_a_period(dim, per))
		per += 2;
	samples++;
	for_each_online_node(nid) {
		end = node_end_pfn(nid);
		for (pfn = node_start_pfn(nid) + samples % per; pfn < end; pfn += per) {
			look(&s, dim, pfn);
			cond_resched();
		}
	}
	mcube_srm_count(MCUBE_SRM_SAMPLED, s.nr[0] + s.nr[1]);
	return mcube_lend_mapped(&s, per);
}

/* Another policy may end the lending as well. */
static bool has_ended(void)
{
	bool lent = mcube_reserve_lent(), ended = was_lent && !lent;

	if (lent != was_lent)
		trace_mcube_srm_lend(lent, mcube_reserve_nr());
	was_lent = lent;
	return ended;
}

/* Memory that does not hop has all colors anyway. */
static unsigned int seconds_to_lend(void)
{
	return READ_ONCE(mcube_srm_config.vm_hop) ? READ_ONCE(mcube_srm_config.lend) : 0;
}

/* The tick has found out whether colors are lent. */
static void vacate(void)
{
	bool may = !mcube_reserve_lent() && !mcube_reserve_shared(policy) &&
		   READ_ONCE(mcube_srm_config.vm_hop);

	if (has_ended())
		WRITE_ONCE(all_again, true);
	WRITE_ONCE(may_vacate, may);
	if (may && (all_again || READ_ONCE(left)))
		queue_delayed_work(system_unbound_wq, &vacate_work, 0);
}

static void tick_work_fn(struct work_struct *work)
{
	unsigned int after = seconds_to_lend();
	struct mcube_map_info info;
	bool looks, mapped = false;

	mcube_policy_lock();
	looks = mcube_policy_enabled(policy) && mcube_reserve_nr() &&
		mcube_lend_looks(&known, pages_of_streams(),
				 global_node_page_state(NR_FILE_MAPPED), after);
	mcube_policy_unlock();
	if (looks) {
		mcube_map_info(&info);
		mapped = streams_are_mapped(&info.map.color);
	}
	mcube_policy_lock();
	if (mcube_policy_enabled(policy)) {
		mcube_reserve_lend(policy, mcube_lend_tick(&known, pages_of_streams(),
							   mapped, after));
		vacate();
		queue_delayed_work(system_unbound_wq, &tick_work, round_jiffies_relative(HZ));
	}
	mcube_policy_unlock();
}

/**
 * mcube_srm_lend_hurry() - a segment begins, or a file is read from its start
 *
 * Memory that programs take in the first second of a stream would lie in its colors until
 * it is moved.  So if something streams while the colors are lent, the tick comes at once.
 *
 * Context: any, the policy on.
 */
void mcube_srm_lend_hurry(void)
{
	unsigned long now = jiffies;

	if (likely(!mcube_reserve_lent()) || time_before(now, READ_ONCE(look_at)))
		return;
	WRITE_ONCE(look_at, now + HURRY_DELAY);
	if (mcube_lend_streams(&known, pages_of_streams()))
		mod_delayed_work(system_unbound_wq, &tick_work, 0);
}

/* A folio of several pages has several colors wherever it lies. */
static bool isolate_memory(unsigned long pfn, struct list_head *list)
{
	struct folio *folio = folio_at(pfn, BIT(PG_swapbacked),
				       BIT(PG_head) | BIT(PG_unevictable) |
				       BIT(PG_writeback) | BIT(PG_locked));
	bool got;

	if (!folio)
		return false;
	got = !folio_test_large(folio) && folio_test_anon(folio) && !folio_test_ksm(folio) &&
		!folio_likely_mapped_shared(folio) && mcube_recolor_isolate(folio, list);
	folio_put(folio);
	return got;
}

/* Take up to @want pages off their LRU lists; the number of frames looked at. */
static unsigned long isolate_some(const struct mcube_dim *dim, unsigned int want,
				  struct list_head *list)
{
	unsigned long start, end, pfn;

	/* Nodes may have gone since. */
	if (!node_online(next_nid)) {
		next_nid = first_online_node;
		next_pfn = 0;
	}
	start = max(next_pfn, node_start_pfn(next_nid));
	end = min(node_end_pfn(next_nid), start + LOOK_MAX);
	for (pfn = start; pfn < end && want; pfn++) {
		if (mcube_reserve_has(mcube_dim_value(dim, pfn)))
			want -= isolate_memory(pfn, list);
		if (!(pfn % MAX_ORDER_NR_PAGES))
			cond_resched();
	}
	next_pfn = pfn;
	if (pfn >= node_end_pfn(next_nid)) {
		next_nid = next_node_in(next_nid, node_online_map);
		next_pfn = 0;
	}
	return pfn - start;
}

/* A move that is interrupted goes on with the next stream, where it was. */
static void vacate_work_fn(struct work_struct *work)
{
	unsigned long looked = 0, some;
	struct mcube_map_info info;
	LIST_HEAD(list);

	mcube_map_info(&info);
	if (xchg(&all_again, false))
		WRITE_ONCE(left, all_frames());
	while (left && READ_ONCE(may_vacate) && static_branch_likely(&mcube_srm_key)) {
		if (looked >= LOOK_MAX) {
			queue_delayed_work(system_unbound_wq, &vacate_work, LOOK_DELAY);
			return;
		}
		if (mcube_recolor_grant(&budget, PAGES_PER_SECOND, ROUND) < ROUND) {
			queue_delayed_work(system_unbound_wq, &vacate_work, HZ);
			return;
		}
		some = isolate_some(&info.map.color, ROUND, &list);
		/* A node without frames counts, too, so that this ends. */
		some = max(some, 1UL);
		WRITE_ONCE(left, left - min(left, some));
		looked += some;
		mcube_srm_count(MCUBE_SRM_VACATED,
				mcube_recolor(&list, GFP_HIGHUSER_MOVABLE,
					      MCUBE_RECOLOR_SPREAD, &next_color));
	}
}

/**
 * mcube_srm_lend_start() - lend the reserved colors from now on, until something streams
 * @p: the policy, which is being started and has asked for its colors.
 *
 * Context: process, the policy lock held.
 */
void mcube_srm_lend_start(struct mcube_policy *p)
{
	policy = p;
	mcube_lend_init(&known, pages_of_streams());
	WRITE_ONCE(look_at, jiffies);
	mcube_reserve_lend(p, seconds_to_lend());
	was_lent = mcube_reserve_lent();
	/* The work item that moves memory was stopped, and is not queued yet. */
	WRITE_ONCE(may_vacate, false);
	WRITE_ONCE(all_again, false);
	WRITE_ONCE(left, 0);
	queue_delayed_work(system_unbound_wq, &tick_work, round_jiffies_relative(HZ));
}

/**
 * mcube_srm_lend_stop() - end the move of memory
 *
 * A tick that comes later finds the policy off, and is the last one.
 *
 * Context: process, sleeps, the policy lock held; the static key is off.
 */
void mcube_srm_lend_stop(void)
{
	cancel_delayed_work(&tick_work);
	cancel_delayed_work_sync(&vacate_work);
}
