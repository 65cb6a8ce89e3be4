// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: pages of an access sequence share a cache color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A program that streams through files uses each page once or seldom, and on
 * its way through the last-level cache it evicts what others use all the time.
 * The page cache knows who it is allocating for, so it can see to it that such
 * pages compete with each other only (see runs.c), while memory of programs
 * gets all colors:
 *
 *   read(), write(), mmap() of a file
 *     longer than tl pages .............. run of the file, or by page index
 *     shorter ........................... run of the task: it reads many
 *     read again and again (rescan.c) ... as memory
 *     executed .......................... as memory
 *   all else: anonymous memory, shmem ... hop over the colors, one by one,
 *                                         but for those reserved for files
 *
 *   mapping_alloc_folio() -> mcube_srm_alloc_folio()
 *        |  current->mcube_hint = color of the run
 *        v
 *   page allocator -> mcube_rmqueue() -> a frame of that color, if there is
 *
 * The hint is all that the store is told.  Where it has no frame of the color,
 * and the buddy lists neither (pick.c), the page gets another, and the run
 * ends: the next one is dealt a color with more frames.  So that there is one,
 * pages that were used once are evicted ahead (refill.c).
 *
 * State: one u32 in struct address_space, one in task_struct that children
 * inherit, so that the greps that a shell script starts one after the other
 * share a run.  Both are advice, written without a lock: two readers of a file
 * may lengthen its run by a few pages.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper (for those of the runs see runs.c):
 *
 *  - Folios of more than a page span several colors.  While the policy is on,
 *    files that could have larger ones get pages; or runs of regions of several
 *    colors (region.c), and folios that fit there.
 *  - The text of a program is used again and again, by whoever runs it.  A file
 *    that is mapped to be executed has pages all over the colors from then on.
 *  - Pages of block devices have colors too, when they are read through the
 *    device node.  Metadata of a mounted file system lies in the same mapping;
 *    it is used again, and hops as memory does.
 *  - A mode without state for long files, for comparison: it has no races and
 *    gives a page its color back after eviction, but cannot avoid a color of
 *    which no frame is free.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/bitmap.h>
#include <linux/cpuset.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pagemap.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/stat.h>
#include <linux/topology.h>
#include <linux/writeback.h>

#include "policy.h"
#include "region.h"
#include "runs.h"
#include "scan.h"
#include "srm.h"

#include <trace/events/mcube.h>

struct mcube_srm_config mcube_srm_config = {
	.tl = MCUBE_RUN_DEFAULT,
	.rescan = 16,
	.reserve = 1,
	.region_order = MCUBE_REGION_AUTO,
	.vm_hop = true,
	.refill = true,
};

DEFINE_STATIC_KEY_FALSE(mcube_srm_key);
DEFINE_PER_CPU(struct mcube_srm_stats, mcube_srm_stats);

/* Taken once per run. */
static DEFINE_SPINLOCK(palette_lock);
static struct mcube_palette palette;
static unsigned long region_free[MCUBE_MAX_VALUES];	/* of the store */
static unsigned long region_found[MCUBE_MAX_VALUES];	/* and of pieces */

struct mcube_regions mcube_srm_regions;

/*
 * What a task may hold of free memory while it reads or writes.  So many pages
 * have one color of a region before the next one's turn comes.
 */
#define BATCH_MAX	16UL

static void count(enum mcube_srm_stat stat, long nr)
{
	this_cpu_add(mcube_srm_stats.nr[stat], nr);
}

/* By color, to be added up by region. */
static unsigned int color_frames[MCUBE_MAX_VALUES];

static void add_frames(unsigned long *sum)
{
	unsigned int color;

	lockdep_assert_held(&palette_lock);
	for (color = 0; color < mcube_srm_config.nr_colors; color++)
		sum[mcube_srm_regions.of[color]] += color_frames[color];
}

/*
 * Blocks can be had, which have all colors.  The reserved ones take from each
 * block what is theirs, and leave the rest; where that is three quarters of free
 * memory they have what there is already, so that large pages are still to be had.
 */
static void blocks_too(struct zone *zone)
{
	unsigned int region = mcube_srm_regions.reserved;

	if (mcube_nr_free(zone) < zone_page_state(zone, NR_FREE_PAGES) / 4 * 3)
		region = 0;
	for (; region < mcube_srm_regions.nr; region++)
		region_free[region] = MCUBE_PLENTY;
}

/*
 * If none has enough of the store's frames, memory may be in pieces that are not
 * the store's: those that will be looked at first count as well.
 */
static void find_pieces(struct zone *zone, unsigned int tl)
{
	unsigned int i;

	for (i = 0; i < mcube_srm_regions.nr; i++)
		if (region_free[i] >= tl)
			return;
	mcube_pick_count(zone, color_frames);
	add_frames(region_found);
}

/*
 * The zone that the page allocator will use for the task: the first above its low
 * watermark, else above its minimum.  Below that the task has pages reclaimed, and
 * takes them from the first if there are some.  NULL if none has a store.
 */
static struct zone *zone_in_turn(void)
{
	const gfp_t gfp = GFP_HIGHUSER_MOVABLE;
	struct zone *zone, *above_min = NULL, *first = NULL;
	int idx = gfp_zone(gfp);
	struct zoneref *ref;

	for_each_zone_zonelist(zone, ref, node_zonelist(numa_mem_id(), gfp), idx) {
		if (!mcube_has_store(zone) ||
		    !cpuset_zone_allowed(zone, gfp))
			continue;
		if (zone_watermark_ok(zone, 0, low_wmark_pages(zone), idx, 0))
			return zone;
		if (!above_min &&
		    zone_watermark_ok(zone, 0, min_wmark_pages(zone), idx, 0))
			above_min = zone;
		if (!first)
			first = zone;
	}
	return above_min ?: first;
}

/*
 * Is there so little that some color may have none?  With more each has about as
 * much as a run takes, if not in the store then in pieces.
 */
static bool is_full(struct zone *zone, unsigned int tl)
{
	return zone_page_state(zone, NR_FREE_PAGES) <
		high_wmark_pages(zone) + tl * mcube_srm_regions.nr;
}

/*
 * Free frames by region in that zone, the store's and what a run of @tl pages
 * would find; what others have would not be used.
 * Return: its node, if that will soon be used up; else NUMA_NO_NODE.
 */
static int count_free(unsigned int tl)
{
	size_t size = mcube_srm_regions.nr * sizeof(region_free[0]);
	bool served, blocks = false;
	struct zone *zone;

	memset(region_free, 0, size);
	zone = zone_in_turn();
	served = zone && mcube_color_stat_free(zone, color_frames);
	if (served) {
		add_frames(region_free);
		blocks = mcube_may_take(zone);
		if (blocks)
			blocks_too(zone);
	}
	memcpy(region_found, region_free, size);
	if (!served || blocks)
		return NUMA_NO_NODE;
	find_pieces(zone, tl);
	return is_full(zone, tl) ? zone_to_nid(zone) : NUMA_NO_NODE;
}

static bool has_mempolicy(void)
{
#ifdef CONFIG_NUMA
	return current->mempolicy;
#else
	return false;
#endif
}

static unsigned int deal(unsigned int tl)
{
	unsigned int region, next;
	unsigned long lacking;
	int nid;

	scoped_guard(spinlock, &palette_lock) {
		nid = count_free(tl);
		region = mcube_palette_deal(&palette, region_found, tl);
		next = mcube_palette_oldest(&palette);
		lacking = tl - min(tl, region_free[next]);
	}
	/* Who has a policy will perhaps not look there. */
	if (lacking && nid != NUMA_NO_NODE && !has_mempolicy() &&
	    READ_ONCE(mcube_srm_config.refill))
		mcube_refill(nid, &mcube_srm_regions, next, lacking);
	count(MCUBE_SRM_DEALT, 1);
	trace_mcube_srm_deal(region, mcube_region_color(&mcube_srm_regions,
							region, 0));
	return region;
}

static u32 file_key(const struct inode *inode)
{
	return hash_64(inode->i_ino ^ ((u64)inode->i_sb->s_dev << 32), 32);
}

/*
 * What the next pages of a file shall have: a region, for how many of them, and
 * where the sequence remembers it; NULL if it follows from the page's index, or
 * if they are placed as memory.  The policy may go off and on again while they
 * are allocated, with other regions: hence the epoch that it was made in.
 */
struct choice {
	unsigned int region;
	unsigned int left;
	u32 *run;
	u32 epoch;
	u32 hint;
	enum mcube_srm_stat stat;
};

static bool is_long(const struct inode *inode, unsigned int tl)
{
	return i_size_read(inode) > (loff_t)tl << PAGE_SHIFT;
}

static void choose_region(struct choice *c, struct address_space *mapping,
			  pgoff_t index)
{
	unsigned int tl = READ_ONCE(mcube_srm_config.tl);
	u32 old;

	c->run = &current->mcube_run;
	c->stat = MCUBE_SRM_TASK;
	if (is_long(mapping->host, tl)) {
		c->run = &mapping->mcube_run;
		c->stat = MCUBE_SRM_FILE;
		if (READ_ONCE(mcube_srm_config.mode) == MCUBE_SRM_STATELESS) {
			c->run = NULL;
			c->region = mcube_run_stateless(file_key(mapping->host),
							index, tl,
							mcube_srm_regions.nr);
			c->left = tl - index % tl;
			return;
		}
	}
	old = READ_ONCE(*c->run);
	/* tl may have become less. */
	c->left = min(mcube_run_left(old, c->epoch), tl);
	/* Epochs come round. */
	if (c->left && mcube_run_color(old) < mcube_srm_regions.nr) {
		c->region = mcube_run_color(old);
	} else {
		c->region = deal(tl);
		c->left = tl;
	}
}

/* Return: false if the policy has gone off. */
static bool choose(struct choice *c, struct address_space *mapping,
		   pgoff_t index)
{
	unsigned int color;

	/* Regions change only when all who are in here have left. */
	guard(rcu)();
	if (!static_branch_likely(&mcube_srm_key))
		return false;
	c->epoch = mcube_srm_config.epoch;
	if (mcube_scan_spreads(READ_ONCE(mapping->mcube_scan))) {
		/* Part of a working set: one color after the other, as memory. */
		c->run = NULL;
		c->left = 1;
		c->stat = MCUBE_SRM_HOPPED;
		color = mcube_reserve_color(index);
	} else {
		choose_region(c, mapping, index);
		color = mcube_region_color(&mcube_srm_regions, c->region,
					   c->left / BATCH_MAX);
	}
	c->hint = mcube_hint_make(color, -1) | MCUBE_HINT_FILE;
	return true;
}

/* @nr pages were allocated; if they have other colors, the run ends. */
static void chosen(const struct choice *c, unsigned int nr, bool served)
{
	u32 run = 0;

	count(c->stat, nr);
	if (!served && c->stat != MCUBE_SRM_HOPPED)
		count(MCUBE_SRM_MISSED, nr);
	if (!c->run)
		return;
	if (served)
		run = mcube_run_make(c->epoch, c->region,
				     c->left - min(c->left, nr));
	WRITE_ONCE(*c->run, run);
}

/**
 * mcube_srm_max_order() - the order that a folio may have
 * @mapping: of the file that it is for.
 * @order: the order that it would have otherwise.
 *
 * Return: the lesser of @order and the regions', but not less than the file
 * demands.
 */
unsigned int mcube_srm_max_order(struct address_space *mapping,
				 unsigned int order)
{
	return max(min(order, mcube_srm_regions.order),
		   mapping_min_folio_order(mapping));
}

static bool is_covered(const struct inode *inode, gfp_t gfp, unsigned int order)
{
	bool movable = gfp_migratetype(gfp) == MIGRATE_MOVABLE;

	/* Of a device, metadata is asked for as movable, data is not. */
	return order <= mcube_srm_regions.order && !current->mcube_hint &&
		movable != S_ISBLK(inode->i_mode);
}

static struct folio *alloc_one(struct address_space *mapping, gfp_t gfp,
			       unsigned int order, pgoff_t index)
{
	struct folio *folio;
	struct choice c;
	u32 hint;

	if (!is_covered(mapping->host, gfp, order)) {
		count(MCUBE_SRM_UNCOVERED, 1);
		return filemap_alloc_folio_noprof(gfp, order);
	}
	if (!choose(&c, mapping, index))
		return filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_save(c.hint);
	folio = filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_restore(hint);
	if (folio)
		chosen(&c, 1U << order, hint & MCUBE_HINT_SERVED);
	return folio;
}

/* alloc_pages_bulk() knows nothing of these. */
static bool has_policy(gfp_t gfp)
{
	return has_mempolicy() || cpuset_do_page_mem_spread() ||
		(gfp & __GFP_WRITE && !node_dirty_ok(NODE_DATA(numa_mem_id())));
}

static void fill_batch(struct mcube_srm_batch *batch, gfp_t gfp, pgoff_t index)
{
	struct choice c;
	unsigned int got;
	u32 hint;

	if (!choose(&c, batch->mapping, index))
		return;
	hint = mcube_hint_save(c.hint);
	got = alloc_pages_bulk_noprof(gfp, numa_mem_id(), NULL,
				      min3(batch->last - index + 1,
					   (unsigned long)c.left, BATCH_MAX),
				      &batch->folios, NULL);
	hint = mcube_hint_restore(hint);
	batch->stat = c.stat;
	/* If there was nothing, the one that is asked for now has the run. */
	chosen(&c, got, hint & MCUBE_HINT_SERVED || !got);
}

/* The next of a batch, which is filled first if it is empty and can be. */
static struct folio *take_batched(struct mcube_srm_batch *batch, gfp_t gfp,
				  pgoff_t index)
{
	struct address_space *mapping = batch->mapping;
	struct folio *folio;

	if (list_empty(&batch->folios) && index < batch->last &&
	    is_covered(mapping->host, gfp, 0) && !has_policy(gfp) &&
	    !mcube_scan_spreads(READ_ONCE(mapping->mcube_scan)))
		fill_batch(batch, gfp, index);
	folio = list_first_entry_or_null(&batch->folios, struct folio, lru);
	if (folio)
		list_del(&folio->lru);
	return folio;
}

/**
 * mcube_srm_alloc_folio() - a folio for the page cache
 * @mapping: the file's.
 * @gfp: as for filemap_alloc_folio().
 * @order: likewise.
 * @index: page index that it is for.
 *
 * Where the caller said by mcube_srm_batch_begin() that more will follow, some of those
 * are taken along: that costs less than one by one, and makes up for what a
 * certain color costs.
 *
 * Context: process, as @gfp says.
 * Return: the folio, or NULL.
 */
struct folio *mcube_srm_alloc_folio(struct address_space *mapping, gfp_t gfp,
				    unsigned int order, pgoff_t index)
{
	struct mcube_srm_batch *batch = current->mcube_batch;
	struct folio *folio = NULL;

	if (batch && batch->mapping == mapping && !order)
		folio = take_batched(batch, gfp, index);
	return folio ?: alloc_one(mapping, gfp, order, index);
}
EXPORT_SYMBOL_GPL(mcube_srm_alloc_folio);

/* What was not needed, as it was there already, is free again. */
static void give_back(struct mcube_srm_batch *batch)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, &batch->folios, lru) {
		count(batch->stat, -1);
		list_del(&folio->lru);
		folio_put(folio);
	}
}

/* See mcube_srm_batch_begin(). */
void __mcube_srm_batch_begin(struct mcube_srm_batch *batch,
			 struct address_space *mapping, pgoff_t last)
{
	batch->mapping = mapping;
	batch->last = last;
	INIT_LIST_HEAD(&batch->folios);
	batch->outer = current->mcube_batch;
	/* It may wait long for this one: nothing shall wait with it. */
	if (batch->outer)
		give_back(batch->outer);
	current->mcube_batch = batch;
}

void __mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	current->mcube_batch = batch->outer;
	give_back(batch);
}

static int divide(const struct mcube_dim *dim)
{
	unsigned int order = mcube_srm_config.region_order;

	return order == MCUBE_REGION_AUTO ?
		mcube_regions_init_auto(&mcube_srm_regions, dim, MCUBE_SHARES) :
		mcube_regions_init(&mcube_srm_regions, dim, order);
}

static struct mcube_policy policy;

static int start(const struct mcube_map *map)
{
	DECLARE_BITMAP(reserved, MCUBE_MAX_VALUES);
	const struct mcube_dim *dim = &map->color;
	int ret;

	if (dim->nr_values < 2)
		return -EOPNOTSUPP;
	scoped_guard(spinlock, &palette_lock) {
		ret = divide(dim);
		mcube_regions_reserve(&mcube_srm_regions,
				      mcube_srm_config.reserve, MCUBE_SHARES,
				      reserved);
		mcube_palette_init(&palette, mcube_srm_regions.nr,
				   mcube_srm_regions.reserved);
	}
	if (ret)
		return -ERANGE;
	mcube_srm_config.nr_colors = dim->nr_values;
	mcube_srm_config.epoch++;
	mcube_reserve_request(&policy, mcube_srm_config.reserve, reserved);
	mcube_reserve_hop(&policy, mcube_srm_config.vm_hop);
	static_branch_enable_cpuslocked(&mcube_srm_key);
	return 0;
}

static void stop(void)
{
	static_branch_disable_cpuslocked(&mcube_srm_key);
	mcube_refill_stop();
}

static struct mcube_policy policy = {
	.name = "srm",
	.start = start,
	.stop = stop,
};

/**
 * mcube_srm_enable() - switch the policy on or off
 * @on: which.
 *
 * Context: process, sleeps.
 * Return: 0; -ENODEV if the store is off, -EOPNOTSUPP if the address map has
 * but one color, -ERANGE if it has too few for region_order, or is a table.
 */
int mcube_srm_enable(bool on)
{
	if (on)
		return mcube_policy_enable(&policy);
	mcube_policy_disable(&policy);
	return 0;
}

/**
 * mcube_srm_enabled() - is the policy on?
 *
 * Return: true if so; it can change at once.
 */
bool mcube_srm_enabled(void)
{
	return mcube_policy_enabled(&policy);
}

static int set_while_off(unsigned int *what, unsigned int value)
{
	guard(mcube_policy)();
	if (mcube_policy_enabled(&policy))
		return -EBUSY;
	*what = value;
	return 0;
}

/**
 * mcube_srm_set_region_order() - shall runs have regions of several colors?
 * @order: folios of up to 2^@order pages have their place there; 0..4, or
 *         MCUBE_REGION_AUTO.
 *
 * Context: process, sleeps.
 * Return: 0, or -EBUSY while the policy is on.
 */
int mcube_srm_set_region_order(unsigned int order)
{
	return set_while_off(&mcube_srm_config.region_order, order);
}

/**
 * mcube_srm_set_reserve() - how many colors shall be for files alone?
 * @share: in sixteenths of all, 0..MCUBE_RESERVE_MAX; rounded down.
 *
 * Context: process, sleeps.
 * Return: 0, or -EBUSY while the policy is on.
 */
int mcube_srm_set_reserve(unsigned int share)
{
	return set_while_off(&mcube_srm_config.reserve, share);
}

/**
 * mcube_srm_set_hop() - shall pages that are no file's hop over the colors?
 * @on: whether.
 *
 * Context: process, sleeps.
 */
void mcube_srm_set_hop(bool on)
{
	guard(mcube_policy)();
	mcube_srm_config.vm_hop = on;
	if (mcube_policy_enabled(&policy))
		mcube_reserve_hop(&policy, on);
}

/**
 * mcube_srm_stat() - events since boot
 * @stat: which.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_srm_stat(enum mcube_srm_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(mcube_srm_stats.nr[stat], cpu);
	return sum;
}
