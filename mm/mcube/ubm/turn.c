// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: folios move between held and the rest
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Held folios lie on the active list of files, under MGLRU too, where that list has no other
 * folios.  A folio without a generation takes the way of the classic lists wherever it is
 * isolated, migrated or freed.  The rest is the inactive list, or the generations of MGLRU.
 *
 * Before reclaim takes folios off the lists, a turn does all work on lists for a bounded number
 * of folios, and reclaim sees nothing of it:
 *
 *	held		used tails go to the head; if the rest is too short, unused tails go to
 *			where reclaim looks first
 *	rest		near its end, folios that shall be held are pushed to held
 *	activated	on the classic lists, folios that programs used twice since the last turn
 *			go from the head of the active list back to the head of the inactive list:
 *			if they stayed, readers that follow each other would fill the active list
 *			with folios that no reader comes for
 *
 * Two bits of a folio that MGLRU counts references with are marks:
 *
 *	HELD		was pushed to held.  Other folios of an active list were activated
 *	UNUSED		the same mark near the end of the rest: not used since it came.  Gaps
 *			between uses are what counts, and readahead brings the same folios in
 *			again and again for nothing.  So the stamp of such a folio is one of
 *			long ago.  MGLRU clears the marks of an unused folio when it isolates,
 *			so a folio that was used has a mark instead, USED
 *	CANDIDATE	came back soon, and shall be held if it is used: folios that were read
 *			ahead for nothing, and those of POSIX_FADV_NOREUSE, are not
 *	AGAIN		was activated since it came
 *
 * MGLRU never makes the state of a candidate, references without PG_workingset.  It clears the mark
 * of a folio that comes back by a fault.  AGAIN is on the classic lists alone.  A mark that is
 * wrong, as the kernel changed the lists, costs a decision about one folio.
 *
 * Whether a mapped folio was used stands in page tables, which cannot be read under lru_lock.  So
 * mapped tails of held are isolated, looked at, and put back before the turn.
 */

#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/random.h>
#include <linux/rmap.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"

#include "../../internal.h"

#include <trace/events/mcube_ubm.h>

/* Used tails of held, and heads of the active list, that one turn may move. */
#define LOOK	128
/* Folios of the rest that one turn looks at: more than reclaim takes next. */
#define SCAN	(2 * SWAP_CLUSTER_MAX)
/* Mapped tails of held that one turn looks up in page tables; a folio batch has room for more. */
#define MAPPED	16
/* Folios that one turn gives back while interrupts are off. */
#define MOST	LOOK

static struct mcube_ubm_lruvec *locked(struct lruvec *lruvec)
{
	return rcu_dereference_protected(lruvec->mcube_ubm,
					 lockdep_is_held(&lruvec->lru_lock));
}

/* Put a folio that is on no list to the head of held, not used. */
static void add_held(struct lruvec *lruvec, struct folio *folio)
{
	set_mask_bits(&folio->flags, LRU_REFS_MASK | LRU_REFS_FLAGS, BIT(PG_active));
	mcube_ubm_mark(folio, MCUBE_UBM_IS_HELD);
	update_lru_size(lruvec, LRU_ACTIVE_FILE, folio_zonenum(folio), folio_nr_pages(folio));
	list_add(&folio->lru, mcube_ubm_held_list(lruvec));
}

static void hold(struct lruvec *lruvec, struct mcube_ubm_lruvec *u, struct folio *folio)
{
	lruvec_del_folio(lruvec, folio);
	add_held(lruvec, folio);
	mcube_ubm_held_pushed(&u->held, folio_nr_pages(folio));
	mcube_ubm_count(MCUBE_UBM_HELD, folio_nr_pages(folio));
}

/*
 * Give a held folio up, not used: to where reclaim looks @first, or to the rest.  Reclaim sets
 * PG_workingset when it deactivates a folio, and so does this.
 */
static void give_up(struct lruvec *lruvec, struct folio *folio, bool first)
{
	unsigned long was = lruvec->lrugen.enabled ? 0 : BIT(PG_workingset);

	lruvec_del_folio(lruvec, folio);
	set_mask_bits(&folio->flags, LRU_REFS_MASK | LRU_REFS_FLAGS | BIT(PG_active), was);
	if (first)
		lruvec_add_folio_tail(lruvec, folio);
	else
		lruvec_add_folio(lruvec, folio);
	mcube_ubm_count(MCUBE_UBM_GIVEN, folio_nr_pages(folio));
}

/* Put a folio that was activated back to the head of the inactive list. */
static void deactivate(struct lruvec *lruvec, struct folio *folio)
{
	folio_clear_active(folio);
	if (mcube_ubm_mark_of(folio) != MCUBE_UBM_CANDIDATE)
		mcube_ubm_mark(folio, MCUBE_UBM_AGAIN);
	lruvec_add_folio(lruvec, folio);
}

/* Return: no activated folio is left at the head. */
static bool deactivate_heads(struct lruvec *lruvec)
{
	struct folio *folio, *next;
	unsigned int look = LOOK;
	LIST_HEAD(oldest_first);

	list_for_each_entry_safe(folio, next, mcube_ubm_held_list(lruvec), lru) {
		if (mcube_ubm_mark_of(folio) == MCUBE_UBM_IS_HELD || !look)
			break;
		look--;
		lruvec_del_folio(lruvec, folio);
		list_add(&folio->lru, &oldest_first);
	}
	list_for_each_entry_safe(folio, next, &oldest_first, lru)
		deactivate(lruvec, folio);
	return look;
}

static bool was_looked_at(const struct folio_batch *mapped, const struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < mapped->nr; i++)
		if (mapped->folios[i] == folio)
			return true;
	return false;
}

/**
 * struct turn - reclaim comes by
 * @lruvec: the lists, locked.
 * @u: what UBM knows of them, locked.
 * @h: its decisions.
 * @mapped: mapped tails of held whose page tables were looked at.
 * @look: how many used tails may move still.
 * @scan: how many folios near the end of the rest may be looked at still.
 * @passed: how many of these stay in the rest.
 * @all: no work on the lists is left for another turn.
 * @dirty: how many folios are to be written first.
 */
struct turn {
	struct lruvec *lruvec;
	struct mcube_ubm_lruvec *u;
	struct mcube_ubm_held *h;
	const struct folio_batch *mapped;
	unsigned int look;
	unsigned int scan;
	unsigned int passed;
	bool all;
	unsigned int dirty;
};

/*
 * Move tails of held that were used to the head.  Return: the tail was not used, as far as its
 * flags tell, or as page tables tell if @sure.
 */
static bool rotate(struct turn *t, bool sure)
{
	struct list_head *held = mcube_ubm_held_list(t->lruvec);

	for (; !list_empty(held); t->look--) {
		struct folio *folio = lru_to_folio(held);

		if (!t->look)
			return false;
		/* More were activated than one turn could move. */
		if (mcube_ubm_mark_of(folio) != MCUBE_UBM_IS_HELD && !t->lruvec->lrugen.enabled) {
			lruvec_del_folio(t->lruvec, folio);
			deactivate(t->lruvec, folio);
			continue;
		}
		if (!folio_test_referenced(folio))
			return !sure || !folio_mapped(folio) || was_looked_at(t->mapped, folio);
		set_mask_bits(&folio->flags, LRU_REFS_MASK | LRU_REFS_FLAGS, 0);
		mcube_ubm_mark(folio, MCUBE_UBM_IS_HELD);
		list_move(&folio->lru, held);
		mcube_ubm_held_kept(t->h, folio_nr_pages(folio));
	}
	return true;
}

/* Is a folio of the rest to be held? */
static bool is_wanted(struct turn *t, struct folio *folio, u32 nr_rest)
{
	bool used = folio_test_referenced(folio) || folio_mapped(folio), again = false;
	bool generations = t->lruvec->lrugen.enabled;
	enum mcube_ubm_mark mark = mcube_ubm_mark_of(folio);
	u32 nr = folio_nr_pages(folio);

	/* Memory of programs that is free once it is needed lies on the lists of files too. */
	if (folio_test_anon(folio) || !folio_test_uptodate(folio))
		return false;
	if (folio_test_dirty(folio) || folio_test_writeback(folio)) {
		t->dirty++;
		return false;
	}
	if (mark == MCUBE_UBM_CANDIDATE && !(generations && folio_test_workingset(folio))) {
		again = used;
	} else if (mark && !generations) {
		/* Counted once.  A held folio is here if reclaim for others has deactivated it. */
		mcube_ubm_mark(folio, MCUBE_UBM_NO_MARK);
		if (mark == MCUBE_UBM_AGAIN) {
			mcube_ubm_held_again(t->h, nr);
			again = mcube_ubm_held_small(t->h);
			used = true;
		}
	}
	if (!used) {
		mcube_ubm_held_unused(t->h, nr);
		if (!generations)
			mcube_ubm_mark(folio, MCUBE_UBM_UNUSED);
	} else if (generations && !mark && !folio_test_workingset(folio)) {
		/* MGLRU keeps the marks of a folio that a read or a write referenced. */
		folio_set_referenced(folio);
		mcube_ubm_mark(folio, MCUBE_UBM_USED);
	}
	return used && mcube_ubm_held_takes(t->h, nr, nr_rest, again);
}

static u32 hold_tails(struct turn *t, struct list_head *list, u32 nr_rest)
{
	struct folio *folio, *next;

	list_for_each_entry_safe_reverse(folio, next, list, lru) {
		if (!t->scan)
			break;
		t->scan--;
		if (!is_wanted(t, folio, nr_rest)) {
			t->passed++;
			continue;
		}
		hold(t->lruvec, t->u, folio);
		nr_rest -= min_t(u32, nr_rest, folio_nr_pages(folio));
	}
	return nr_rest;
}

/* Hold folios near the end of the rest.  Return: pages of the rest. */
static u32 hold_rest(struct turn *t, u32 nr_rest)
{
	struct lru_gen_folio *lrugen = &t->lruvec->lrugen;
	int gen = lru_gen_from_seq(lrugen->min_seq[LRU_GEN_FILE]), zone;

	if (!lrugen->enabled)
		return hold_tails(t, &t->lruvec->lists[LRU_INACTIVE_FILE], nr_rest);
	for (zone = MAX_NR_ZONES - 1; zone >= 0; zone--)
		nr_rest = hold_tails(t, &lrugen->folios[gen][LRU_GEN_FILE][zone], nr_rest);
	return nr_rest;
}

/*
 * If reclaim is @urgent, used tails are given up too once enough of them went to the head.
 * Return: pages that were given up.
 */
static u32 give_up_tails(struct turn *t, u32 nr, u32 nr_rest, bool urgent)
{
	struct list_head *held = mcube_ubm_held_list(t->lruvec);
	u32 given = 0;

	while (given < nr && (rotate(t, true) || urgent) && !list_empty(held)) {
		struct folio *folio = lru_to_folio(held);

		given += folio_nr_pages(folio);
		mcube_ubm_held_demoted(t->h, folio_nr_pages(folio), nr_rest);
		give_up(t->lruvec, folio, true);
		t->passed++;
	}
	return given;
}

static bool tail_is_mapped(struct lruvec *lruvec)
{
	struct list_head *held = mcube_ubm_held_list(lruvec);

	return !list_empty(held) && folio_mapped(lru_to_folio(held));
}

/* Reclaim for this memory cgroup.  If it is @urgent, it gets held pages as well. */
static void own_turn(struct turn *t, bool urgent)
{
	u32 nr_held, nr_rest, all, nr, given, wanted = t->h->rest;
	struct lruvec *lruvec = t->lruvec;
	struct mcube_ubm_held *h = t->h;
	bool idle;

	if (!lruvec->lrugen.enabled)
		t->all = deactivate_heads(lruvec);
	idle = rotate(t, false);
	nr_held = mcube_ubm_nr_held(lruvec);
	nr_rest = mcube_ubm_nr_rest(lruvec);
	all = max(nr_held + nr_rest, 1U);
	if (abs((s64)all - h->capacity) > h->capacity / 4)
		mcube_ubm_held_resize(h, all);
	nr = mcube_ubm_held_turn(h, nr_held, nr_rest, idle);
	if (urgent)
		h->may_hold = 0;
	nr_rest = hold_rest(t, nr_rest);
	/* Reclaim would find little if most of what it comes to is to be written first. */
	if (urgent || t->dirty * 2 > SCAN - t->scan) {
		nr = max_t(u32, nr, SWAP_CLUSTER_MAX);
		t->all = false;
	}
	/* Not what this turn has pushed: it is used, and its age is not that of the tail. */
	nr = min(nr, nr_held);
	given = give_up_tails(t, nr, nr_rest, urgent);
	/* Few mapped tails are looked at in a turn. */
	if (given < nr || tail_is_mapped(lruvec))
		t->all = false;
	WRITE_ONCE(t->u->gave, given);
	t->u->nr_held = mcube_ubm_nr_held(lruvec);
	t->u->nr_rest = mcube_ubm_nr_rest(lruvec);
	if (t->u->max_seq != lruvec->lrugen.max_seq) {
		t->u->max_seq = lruvec->lrugen.max_seq;
		t->u->aged = h->clock;
	}
	if (wanted != h->rest)
		trace_mcube_ubm_rest(lruvec_memcg(lruvec), lruvec_pgdat(lruvec)->node_id,
				     nr_held, nr_rest, h->rest);
}

/*
 * Reclaim works for another target.  MGLRU does not scan held folios.  On the classic lists,
 * reclaim takes held folios for active ones, and judges by them the lists of other memory cgroups
 * as well.  So each turn gives some held folios back, and gives all of them back when nothing else
 * is left.
 */
static void others_turn(struct turn *t, int priority)
{
	struct list_head *held = mcube_ubm_held_list(t->lruvec);
	u32 nr = max(mcube_ubm_nr_held(t->lruvec) >> max(priority, 0), (u32)SCAN), given = 0;
	unsigned int look;

	for (look = MOST; look && given < nr && !list_empty(held); look--) {
		struct folio *folio = lru_to_folio(held);

		if (mcube_ubm_mark_of(folio) != MCUBE_UBM_IS_HELD && !t->lruvec->lrugen.enabled)
			break;
		given += folio_nr_pages(folio);
		/* Page tables are looked at before a folio is freed. */
		if (!folio_test_referenced(folio)) {
			give_up(t->lruvec, folio, false);
			continue;
		}
		/* To the youngest generation, or to the head of the active list. */
		lruvec_del_folio(t->lruvec, folio);
		mcube_ubm_mark(folio, MCUBE_UBM_NO_MARK);
		lruvec_add_folio(t->lruvec, folio);
		mcube_ubm_count(MCUBE_UBM_GIVEN, folio_nr_pages(folio));
	}
}

static void isolate_mapped(struct lruvec *lruvec, struct folio_batch *mapped)
{
	struct folio *folio, *next;
	unsigned int look = MAPPED;

	list_for_each_entry_safe_reverse(folio, next, mcube_ubm_held_list(lruvec), lru) {
		if (!look--)
			break;
		if (!folio_mapped(folio) || folio_test_referenced(folio) || !folio_try_get(folio))
			continue;
		if (!folio_test_clear_lru(folio)) {
			/* Another task isolates the folio, and has a reference. */
			folio_put(folio);
			continue;
		}
		lruvec_del_folio(lruvec, folio);
		folio_batch_add(mapped, folio);
		__node_stat_mod_folio(folio, NR_ISOLATED_FILE, folio_nr_pages(folio));
	}
}

/*
 * Put the folios back at the tail, in order.  Keep the references: the last put would take
 * lru_lock.  Return: a bit for each folio that was mlocked meanwhile, and is on no list.
 */
static unsigned long put_back(struct lruvec *lruvec, struct folio_batch *mapped)
{
	bool held = locked(lruvec) && lruvec->lrugen.enabled == lru_gen_enabled();
	unsigned long unevictable = 0;
	unsigned int i;

	for (i = mapped->nr; i--;) {
		struct folio *folio = mapped->folios[i];

		__node_stat_mod_folio(folio, NR_ISOLATED_FILE, -folio_nr_pages(folio));
		if (!folio_evictable(folio)) {
			__set_bit(i, &unevictable);
			continue;
		}
		folio_set_lru(folio);
		if (!held) {
			lruvec_add_folio(lruvec, folio);
			continue;
		}
		update_lru_size(lruvec, LRU_ACTIVE_FILE, folio_zonenum(folio),
				folio_nr_pages(folio));
		list_add_tail(&folio->lru, mcube_ubm_held_list(lruvec));
	}
	return unevictable;
}

/*
 * Find which mapped tails of held were used.  This drops lru_lock and reads page tables, so it is
 * done only if tails are to be given up, or once for each mark of the clock, so that the age of
 * the tail is right.  Return: put_back().
 */
static unsigned long look_at_mapped(struct lruvec *lruvec, struct folio_batch *mapped)
	__must_hold(&lruvec->lru_lock)
{
	struct reclaim_state *state = current->reclaim_state;
	struct mcube_ubm_lruvec *u = locked(lruvec);
	struct lru_gen_mm_walk *walk = NULL;
	unsigned long vm_flags;
	unsigned int i;
	bool short_of;

	if (!u)
		return 0;
	/* Written under u->lock: an old value costs a look. */
	short_of = mcube_ubm_nr_rest(lruvec) < READ_ONCE(u->held.rest);
	if (!short_of && atomic_read(&u->clock) - u->looked < READ_ONCE(u->held.step))
		return 0;
	u->looked = atomic_read(&u->clock);
	isolate_mapped(lruvec, mapped);
	if (!mapped->nr)
		return 0;
	spin_unlock_irq(&lruvec->lru_lock);
	/* What MGLRU notes in a walk counts only if reclaim isolates folios itself. */
	if (state)
		swap(walk, state->mm_walk);
	for (i = 0; i < mapped->nr; i++)
		if (folio_referenced(mapped->folios[i], 0, lruvec_memcg(lruvec), &vm_flags))
			folio_set_referenced(mapped->folios[i]);
	if (state)
		swap(walk, state->mm_walk);
	spin_lock_irq(&lruvec->lru_lock);
	return put_back(lruvec, mapped);
}

static void release_mapped(struct folio_batch *mapped, unsigned long unevictable)
{
	unsigned int i;

	for (i = 0; i < mapped->nr; i++) {
		if (test_bit(i, &unevictable))
			folio_putback_lru(mapped->folios[i]);
		else
			folio_put(mapped->folios[i]);
	}
}

/*
 * Did the last turn look at as many folios as reclaim takes now, and are they there still?  Reclaim
 * often comes back for twice as many, from one page on.
 */
static bool was_ahead(struct lruvec *lruvec, unsigned long nr)
{
	struct mcube_ubm_lruvec *u;
	bool was = false;
	int ahead;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (u && READ_ONCE(u->own) && mcube_ubm_nr_rest(lruvec) >= nr) {
		ahead = atomic_read(&u->ahead);
		while (!was && ahead >= (long)nr)
			was = atomic_try_cmpxchg(&u->ahead, &ahead, ahead - (int)nr);
	}
	rcu_read_unlock();
	return was;
}

/* May UBM begin to decide about these lists, which are locked? */
static bool may_begin(struct lruvec *lruvec)
{
	return !locked(lruvec) && READ_ONCE(mcube_ubm_may_begin) &&
	       lruvec->lrugen.enabled == lru_gen_enabled();
}

/* See mcube_ubm_turn(). */
void __mcube_ubm_turn(struct lruvec *lruvec, const struct mem_cgroup *target, int priority,
		      unsigned long nr)
{
	bool own = mcube_ubm_is_own(lruvec, target);
	bool urgent = own && mcube_ubm_is_urgent(lruvec, priority);
	struct mcube_ubm_lruvec *new = NULL;
	unsigned long unevictable = 0;
	struct turn t;
	struct folio_batch mapped;

	if (!rcu_access_pointer(lruvec->mcube_ubm)) {
		if (own)
			new = mcube_ubm_begin(lruvec);
		if (!new)
			return;
	} else if (own && !urgent && was_ahead(lruvec, nr)) {
		return;
	}
	folio_batch_init(&mapped);
	spin_lock_irq(&lruvec->lru_lock);
	if (new && may_begin(lruvec)) {
		mcube_ubm_held_init(&new->held,
				    max(mcube_ubm_nr_held(lruvec) + mcube_ubm_nr_rest(lruvec), 1U),
				    SWAP_CLUSTER_MAX, get_random_u32());
		atomic_set(&new->clock, new->held.clock);
		rcu_assign_pointer(lruvec->mcube_ubm, new);
		mcube_ubm_count(MCUBE_UBM_LRUVECS, 1);
		new = NULL;
	}
	if (own)
		unevictable = look_at_mapped(lruvec, &mapped);
	t = (struct turn){ .lruvec = lruvec, .u = locked(lruvec), .mapped = &mapped, .look = LOOK,
			   .scan = SCAN, .all = true };
	if (t.u && lruvec->lrugen.enabled == lru_gen_enabled()) {
		t.h = &t.u->held;
		spin_lock(&t.u->lock);
		mcube_ubm_sync(t.u);
		WRITE_ONCE(t.u->own, own);
		if (own)
			own_turn(&t, urgent);
		else
			others_turn(&t, priority);
		atomic_set(&t.u->ahead, own && t.all && t.passed > nr ? t.passed - nr : 0);
		spin_unlock(&t.u->lock);
	}
	spin_unlock_irq(&lruvec->lru_lock);
	release_mapped(&mapped, unevictable);
	kfree(new);
}

/* See mcube_ubm_protects(). */
bool __mcube_ubm_protects(struct lruvec *lruvec, struct folio *folio)
{
	struct mcube_ubm_lruvec *u = locked(lruvec);
	u32 nr = folio_nr_pages(folio);
	bool takes;

	if (!u || !u->own || !folio_is_file_lru(folio) || folio_test_anon(folio))
		return false;
	spin_lock(&u->lock);
	mcube_ubm_held_again(&u->held, nr);
	takes = !folio_test_dirty(folio) && !folio_test_writeback(folio) &&
		mcube_ubm_held_takes(&u->held, nr, 0, true);
	if (takes)
		hold(lruvec, u, folio);
	spin_unlock(&u->lock);
	return takes;
}
