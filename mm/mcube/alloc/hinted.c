// SPDX-License-Identifier: GPL-2.0
/*
 * Frames for a hint, from containers
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A hint names a color, or a bank, or both.  Any container of the zone may serve
 * it, but a container has few frames of each color (16 of 1024 with 64 colors).
 * So there is a key for each color, and for each bank if no color is named, see
 * hint_key().  Each CPU has a cursor for each key, which points at the container
 * that it took a frame from last.  The zone has a cursor for each key, from which
 * the searches of all CPUs go on, and a bit, which says that the key is
 * exhausted: no container has a frame.
 *
 *   a frame of the color that this CPU freed last (pcp.c)
 *     else the cursor's container
 *       else containers that this CPU knows, try_known()
 *         else a bounded search, unless the key is exhausted
 *           else a new block, take_for()
 *
 * CPUs work in containers of their own, or the lock of a container would change
 * its CPU with each page:
 *
 *   CPU 0  cursor[color 0] [1] [2] ...     CPU 1  cursor[color 0] [1] [2] ...
 *              \   |   /  \                            |   |   /
 *               home      the last home                home
 *
 * Each CPU owns a container as its home.  Where the cursor's container has no
 * more frame, the cursor moves to the home.  When the home has no frame, a
 * search finds a container that no other CPU works in, or a block is taken, and
 * the richer of both containers is the next home.  So a CPU that hops over the
 * colors works in a single container most of the time, and the lists of
 * containers, which all CPUs share, change once per container.  A container that
 * is found but poorer than the home gets a mark of the CPU (@user), so that the
 * next color of the same file is sought there first, and other CPUs pass on.
 *
 * Lists of free frames by color for each CPU, filled 16 at a time, would save as
 * many transfers of locks.  But the frames would have left the bins: breaking
 * up, isolation, hotplug, memory pressure and switching off would have to empty
 * the lists of all CPUs first, and 16 frames of each of 32 colors are 2 MiB
 * that no other CPU can use.  A home stays an ordinary container.  A request
 * for several pages (bulk.c) does take its frames together.
 */

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "color_stat.h"
#include "internal.h"

/* Requests of a CPU that use a foreign container before the CPU searches. */
#define FOREIGN_MAX	16

/* Frames of a color were taken; a color of -1: the caller counts by color. */
static __always_inline void account_hinted(struct mcube_container *c,
					   unsigned int nr, int color)
{
	__mod_mcube_free_pages(c->mz->zone, -(int)nr);
	if (color >= 0)
		mcube_color_stat_color(c, color, nr);
	mcube_container_relist(c);
}

/* Take up to @nr frames, at most MCUBE_BULK_MAX; the number of frames. */
static __always_inline unsigned int
take_hinted(struct mcube_zone *mz, struct mcube_container *c, u32 hint,
	    struct page **pages, unsigned int nr)
{
	int color = mcube_hint_color(hint), off;
	const unsigned long *sel, *sel2;
	unsigned int got = 0;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (mcube_container_usable(c, mz) &&
	    mcube_hint_select(hint, &c->block_map, &sel, &sel2)) {
		while (got < nr) {
			off = mcube_bins_take_from(&c->bins, sel, sel2);
			if (off < 0)
				break;
			if (color < 0)
				mcube_color_stat_taken(c, off);
			pages[got++] = c->bins.base + off;
		}
		if (got)
			account_hinted(c, got, color);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return got;
}

/* Take a given frame, if it is free and belongs to the zone. */
static struct page *take_frame(struct mcube_zone *mz, unsigned long pfn,
			       unsigned int color)
{
	struct mcube_container *c = mcube_lookup(pfn);
	unsigned long flags;
	unsigned int off;
	bool taken;

	if (!c)
		return NULL;
	spin_lock_irqsave(&c->lock, flags);
	off = pfn & ((1U << c->bins.order) - 1);
	taken = mcube_container_usable(c, mz) && test_bit(off, c->bins.free);
	if (likely(taken)) {
		mcube_bins_remove(&c->bins, off);
		account_hinted(c, 1, color);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return taken ? pfn_to_page(pfn) : NULL;
}

/* A frame of the color that this CPU freed last. */
static struct page *take_pcp(struct mcube_zone *mz, u32 hint)
{
	int color = mcube_hint_color(hint);
	struct page *page = NULL;
	unsigned long pfn;

	if (color < 0 || mcube_hint_bank(hint) >= 0)
		return NULL;
	while (!page && (pfn = mcube_pcp_pop(color)))
		page = take_frame(mz, pfn, color);
	return page;
}

/* Index of cursors and exhausted bits: the color, or else the bank. */
static unsigned int hint_key(u32 hint)
{
	int color = mcube_hint_color(hint);

	return color >= 0 ? color :
			    mcube_config.color.nr_values + mcube_hint_bank(hint);
}

static bool hint_is_single(u32 hint)
{
	return mcube_hint_color(hint) < 0 || mcube_hint_bank(hint) < 0;
}

/* Does another CPU work in the container?  A guess: c->lock is not held. */
static bool is_foreign(const struct mcube_container *c)
{
	int cpu = raw_smp_processor_id(), owner = READ_ONCE(c->owner);
	int user = READ_ONCE(c->user);

	return (owner >= 0 && owner != cpu) || (user >= 0 && user != cpu);
}

/* A search found the container: other CPUs shall search elsewhere. */
static void use(struct mcube_zone *mz, struct mcube_container *c,
		unsigned int key)
{
	struct mcube_zone_cpu *zc = this_cpu_ptr(mz->cpu);
	struct mcube_container *old = zc->found;
	int cpu = smp_processor_id();

	WRITE_ONCE(zc->cursor[key], c);
	if (old == c && READ_ONCE(c->user) == cpu)
		return;
	if (old && READ_ONCE(old->user) == cpu)
		WRITE_ONCE(old->user, -1);
	WRITE_ONCE(c->user, cpu);
	WRITE_ONCE(zc->found, c);
}

/*
 * Continue the search of all CPUs at the zone's cursor and examine a bounded
 * number of containers.  A container that another CPU works in is the last
 * choice.  When as many containers in a row as the zone has did not match, the
 * key is exhausted until a frame of the key is freed or a container is taken.
 * The search may miss a frame that is freed meanwhile in a container already
 * passed; the next frame that is freed clears the bit.  A search for a color and
 * a bank shares the cursor of its color, and says nothing about the color.
 */
static struct mcube_container *search(struct mcube_zone *mz, u32 hint)
{
	struct mcube_container *c, *found = NULL, *foreign = NULL;
	unsigned int key = hint_key(hint), left;
	bool single = hint_is_single(hint);
	unsigned long flags;

	spin_lock_irqsave(&mz->lock, flags);
	c = mcube_search_start(mz, mz->cursor[key], &mz->missed[key]);
	for (left = min(mz->nr_searched, MCUBE_SEARCH_MAX); left && !found; left--) {
		c = list_next_entry_circular(c, &mz->searched, all);
		mz->missed[key] += single;
		if (!mcube_hint_matches(hint, &c->block_map, c->bins.free))
			continue;
		if (!is_foreign(c))
			found = c;
		else if (!foreign)
			foreign = c;
	}
	/* The next search begins at what was found, which may be full by then, or after it. */
	if (mz->nr_searched)
		mz->cursor[key] = found ? list_prev_entry_circular(c, &mz->searched, all) : c;
	found = found ?: foreign;
	if (found) {
		if (single)
			mz->missed[key] = 0;
		use(mz, found, key);
	} else if (single && mz->missed[key] >= mz->nr_searched) {
		mz->missed[key] = 0;
		mcube_exhausted_set(mz, key, true);
		__clear_bit(key, mz->unseen);
	}
	spin_unlock_irqrestore(&mz->lock, flags);
	mcube_search_misses(mz, key, !found);
	return found;
}

/*
 * Take a block for the hint; this CPU owns it.  If the key was exhausted, few
 * containers have a frame for it: those that CPUs took like this one.  So no CPU
 * need search all containers once this one is used up: the key stays
 * exhausted, but is marked as unseen.
 */
static struct mcube_container *take_for(struct mcube_zone *mz, u32 hint)
{
	unsigned int key = hint_key(hint);
	bool exhausted = hint_is_single(hint) && test_bit(key, mz->exhausted);
	int cpu = raw_smp_processor_id();
	struct mcube_zone_cpu *zc = per_cpu_ptr(mz->cpu, cpu);
	struct mcube_container *c;
	unsigned long flags;

	c = mcube_container_take(mz, cpu, hint);
	if (!c)
		return NULL;
	mcube_container_own(&zc->home, c, cpu);
	WRITE_ONCE(zc->cursor[key], c);
	if (exhausted) {
		spin_lock_irqsave(&mz->lock, flags);
		mcube_exhausted_set(mz, key, true);
		__set_bit(key, mz->unseen);
		spin_unlock_irqrestore(&mz->lock, flags);
	}
	return c;
}

/* No block can be taken: do unseen containers remain?  Then search again. */
static bool search_unseen(struct mcube_zone *mz, unsigned int key)
{
	unsigned long flags;
	bool unseen;

	if (!test_bit(key, mz->unseen))
		return false;
	spin_lock_irqsave(&mz->lock, flags);
	unseen = __test_and_clear_bit(key, mz->unseen);
	if (unseen)
		mcube_exhausted_set(mz, key, false);
	spin_unlock_irqrestore(&mz->lock, flags);
	return unseen;
}

/*
 * Own the container that a search found, if it has more free frames than the
 * present home of this CPU.
 */
static void settle(struct mcube_zone *mz, struct mcube_container *c)
{
	int cpu = raw_smp_processor_id();
	struct mcube_container **home = &per_cpu_ptr(mz->cpu, cpu)->home;
	const struct mcube_container *old = READ_ONCE(*home);

	if (old && READ_ONCE(old->owner) == cpu &&
	    READ_ONCE(old->bins.nr_free) >= READ_ONCE(c->bins.nr_free))
		return;
	if (READ_ONCE(c->owner) < 0 && mcube_container_adopt(c, cpu))
		mcube_container_own(home, c, cpu);
}

/* Take from a container that may have frames, and point the cursor at it. */
static unsigned int try_hinted(struct mcube_zone *mz, struct mcube_container *c,
			       u32 hint, struct page **pages, unsigned int nr)
{
	unsigned int got;

	if (!c || !mcube_hint_matches(hint, &c->block_map, c->bins.free))
		return 0;
	got = take_hinted(mz, c, hint, pages, nr);
	if (got)
		WRITE_ONCE(this_cpu_read(mz->cpu->cursor)[hint_key(hint)], c);
	return got;
}

/*
 * Containers that this CPU works in and that may have frames for the hint.
 * Where all containers are foreign, searches would find no other, so only one
 * request in FOREIGN_MAX searches.
 */
static unsigned int try_known(struct mcube_zone *mz, u32 hint,
			      struct page **pages, unsigned int nr)
{
	struct mcube_zone_cpu *zc = raw_cpu_ptr(mz->cpu);
	unsigned int key = hint_key(hint), got;

	got = try_hinted(mz, READ_ONCE(zc->home), hint, pages, nr) ?:
	      try_hinted(mz, READ_ONCE(zc->found), hint, pages, nr);
	if (!got && ++zc->foreign % FOREIGN_MAX)
		got = try_hinted(mz, READ_ONCE(zc->cursor[key]), hint, pages, nr);
	return got;
}

/*
 * The cursor's container has no frame, or another CPU works in it.  Try the
 * containers that this CPU knows, search the others, or take a block.
 */
static noinline unsigned int find_hinted(struct mcube_zone *mz, u32 hint,
					 struct page **pages, unsigned int nr)
{
	unsigned int key = hint_key(hint), got;
	struct mcube_container *c;

	got = try_known(mz, hint, pages, nr);
	if (got)
		return got;
	do {
		while (!test_bit(key, mz->exhausted) && !mcube_search_pauses(mz, key)) {
			c = search(mz, hint);
			if (!c)
				break;
			got = take_hinted(mz, c, hint, pages, nr);
			if (got) {
				settle(mz, c);
				return got;
			}
		}
		c = take_for(mz, hint);
		if (c)
			return take_hinted(mz, c, hint, pages, nr);
	} while (search_unseen(mz, key));
	return 0;
}

static __always_inline unsigned int
alloc_several(struct mcube_zone *mz, u32 hint, struct page **pages,
	      unsigned int nr)
{
	struct mcube_container *c;
	unsigned int got = 0;

	c = READ_ONCE(this_cpu_read(mz->cpu->cursor)[hint_key(hint)]);
	if (likely(c && !is_foreign(c)))
		got = take_hinted(mz, c, hint, pages, nr);
	return likely(got) ? got : find_hinted(mz, hint, pages, nr);
}

/**
 * mcube_hinted_alloc() - take a free frame for a hint
 * @mz: containers of the zone.
 * @hint: the hint, which fits the map, see mcube_hint_fits().
 *
 * Context: any but NMI, RCU read side; zone->lock is not held.
 * Return: the page, or NULL.
 */
struct page *mcube_hinted_alloc(struct mcube_zone *mz, u32 hint)
{
	struct page *page = take_pcp(mz, hint);

	if (!page)
		alloc_several(mz, hint, &page, 1);
	return page;
}

/**
 * mcube_hinted_bulk() - take free frames of a container for a hint
 * @mz: containers of the zone.
 * @hint: the hint, which fits the map, see mcube_hint_fits().
 * @pages: filled in.
 * @nr: number of pages wanted, at most MCUBE_BULK_MAX.
 *
 * Context: any but NMI, RCU read side; zone->lock is not held.
 * Return: number of pages.  Fewer than @nr, but not 0, if the container has no
 * more; other containers may have some.
 */
unsigned int mcube_hinted_bulk(struct mcube_zone *mz, u32 hint,
			       struct page **pages, unsigned int nr)
{
	return alloc_several(mz, hint, pages, nr);
}
