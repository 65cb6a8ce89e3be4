/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the mcube allocator share.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The structures come first: a zone (struct mcube_zone) has containers (struct
 * mcube_container), and a container has free frames in bins (struct mcube_bins,
 * bins.h).  The declarations follow by the file that defines them.  No file
 * outside this directory but the tests includes this header: policies use
 * policy.h.
 */
#ifndef _MM_MCUBE_ALLOC_INTERNAL_H
#define _MM_MCUBE_ALLOC_INTERNAL_H

#include <linux/cache.h>
#include <linux/jump_label.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/vmstat.h>

#include "bins.h"

/* Pages, or groups of pages, that are taken under one lock of a container. */
#define MCUBE_BULK_MAX		16U

struct mcube_policy;
struct mutex;

/* Keys of the search cursors, see mcube_nr_keys(). */
#define MCUBE_NR_KEYS		(2 * MCUBE_MAX_VALUES)

/**
 * struct mcube_block_map - where the colors and banks of a block lie
 * @color_phase: phase of the block in the color map.
 * @color_xor: linear value of the block in the color map.
 * @bank_phase: phase of the block in the bank map.
 * @bank_xor: linear value of the block in the bank map.
 *
 * See mcube_offset_map_locate().
 */
struct mcube_block_map {
	u16 color_phase;
	u16 color_xor;
	u16 bank_phase;
	u16 bank_xor;
};

/**
 * struct mcube_container - an aligned block of 2^container_order frames
 * @lock: guards all members below but @level, @node, @full and @all.
 * @active: the container holds its block.
 * @owner: CPU that allocates from the container, or -1.  Advice only: any CPU
 *         may take a frame from any container under @lock.
 * @user: CPU whose search with a hint found the container last, or -1.  Advice
 *        only: other CPUs search elsewhere; read and written without a lock.
 * @fill_order: order in which the frames enter the bins; set when the block was
 *              taken.
 * @key: variant of that order.
 * @block_map: where the colors and banks of the block lie.
 * @mz: containers of the zone; constant while @active.
 * @bins: the free frames.
 * @counted: the free frames are part of mz->color_free.
 * @level: index in mz->level[] of the list that the container is on, or -1;
 *         guarded by mz->lock.
 * @node: link in mz->level[@level]; guarded by mz->lock.
 * @full: the container is in mz->full; guarded by mz->lock.
 * @all: link in mz->full or mz->searched; guarded by mz->lock.
 *
 * While the allocator is on, every block of every present section has a
 * descriptor, active or not, and a descriptor is freed only after an RCU grace
 * period.  So a pointer to a descriptor that was found under rcu_read_lock()
 * stays valid: lock the descriptor and check @active.
 */
struct mcube_container {
	spinlock_t lock;	/* everything but the lists */
	bool active;
	int owner;
	int user;
	enum mcube_fill_order fill_order;
	u64 key;
	struct mcube_block_map block_map;
	struct mcube_zone *mz;
	struct mcube_bins bins;
#ifdef CONFIG_MCUBE_COLOR_STAT
	bool counted;
#endif

	int level;
	bool full;
	struct list_head node;
	struct list_head all;
};

/* Largest folio that containers serve; bins.c finds a group within a word. */
#define MCUBE_LARGE_MAX		4U

/**
 * struct mcube_large - where folios of several pages come from, see large.c
 * @nr_exhausted: number of colors in @exhausted.
 * @exhausted: by color, the least order of which the last full search found no
 *             group; 0 if there is none.
 * @cursor: by color, the container where the last search ended; may be inactive
 *          by now.
 * @missed: by color, number of containers in a row that had no group.
 * @order: by color, order of the groups that @missed counts.
 *
 * Written under the lock of the zone.
 */
struct mcube_large {
	unsigned int nr_exhausted;
	u8 exhausted[MCUBE_MAX_VALUES];
	struct mcube_container *cursor[MCUBE_MAX_VALUES];
	unsigned int missed[MCUBE_MAX_VALUES];
	u8 order[MCUBE_MAX_VALUES];
};

/**
 * struct mcube_none - colors that a free list of the buddy allocator lacks
 * @first: first entry of the list when @color was valid; a search for a container
 *         may rotate the list, and then nothing is known.
 * @nr_free: free blocks of this order, of all types, at that time or later.
 * @taken: number of blocks that searches took from the list lately.
 * @color: colors that none of the first blocks of the list has.
 *
 * The buddy allocator does not say when a block is freed.  But a free block that
 * is added at the head of the list changes the first entry, and a block that is
 * added at the tail raises the number of free blocks.  Either makes @color
 * invalid.  A block that is added at the tail while another block of the order is
 * taken goes unnoticed until the next change.
 */
struct mcube_none {
	struct list_head *first;
	unsigned long nr_free;
	unsigned int taken;
	DECLARE_BITMAP(color, MCUBE_MAX_VALUES);
};

/**
 * struct mcube_zone_cpu - what a CPU has of a zone
 * @cur: container that the CPU owns, for requests without a hint; or NULL.
 * @home: container that the CPU owns, for requests with a hint; or NULL.
 * @found: container that the last search of the CPU found; may be inactive by
 *         now.
 * @foreign: counts requests whose cursor is at a container of another CPU.
 * @pause: requests for @missed that the CPU lets pass before it searches again, see
 *         mcube_search_misses().
 * @misses: searches for @missed that found nothing since one found a container.
 * @missed: what the last search that found nothing was for: a key, or a number above
 *          the keys for groups of frames.
 * @cursor: by key, the container that the CPU took a frame from last; may be
 *          inactive by now.  Memory of its own: with many colors and banks it
 *          would make the percpu allocator add a chunk, which stays.
 * @color_delta: by color, what the CPU has yet to add to mz->color_free; used
 *               with interrupts off.
 */
struct mcube_zone_cpu {
	struct mcube_container *cur;
	struct mcube_container *home;
	struct mcube_container *found;
	unsigned int foreign;
	unsigned int pause;
	unsigned int misses;
	unsigned int missed;
	struct mcube_container **cursor;
#ifdef CONFIG_MCUBE_COLOR_STAT
	s8 color_delta[MCUBE_MAX_VALUES];
#endif
};

/**
 * struct mcube_zone - containers of one zone
 * @zone: the zone.
 * @cpu: what each CPU has of the zone.
 * @open: containers may be taken; guarded by zone->lock.
 * @nr_exhausted: number of bits set in @exhausted, and of exhausted colors in
 *                @large: what a free looks at.
 * @exhausted: keys for which the last full search found no frame.
 * @unseen: exhausted keys for which blocks were taken since; these containers
 *          may have frames that no search has seen.
 * @cursor: by key, the container after which the next search of any CPU begins;
 *          guarded by @lock, may be inactive by now.
 * @lock: guards the lists, the cursors and the exhausted bits.  Innermost:
 *        zone->lock, container lock, this lock.
 * @levels: bit l is set while level[l] has a container.
 * @level: containers that have free frames and no owner, by mcube_bins_top().
 *         A container on a low level is nearly used up, a container on a high
 *         level nearly free.  On the highest level are the spares, which are
 *         wholly free.
 * @nr_spares: number of containers on the highest level.
 * @next_owner: CPU whose containers are looked at next; a hint.
 * @searched: active containers that have free frames or an owner; searches look
 *            at these containers alone.
 * @full: all other active containers.
 * @nr: number of active containers.
 * @nr_searched: number of containers in @searched.
 * @missed: by key, number of containers in a row that did not match.
 * @large: exhausted, cursor and missed for groups of frames.
 * @none: what buddy.c learned about the free lists of the zone, by type and
 *        order; guarded by zone->lock.
 * @zones: link in the list of all zones, see control.c.
 * @color_free: free frames of the counted containers, by color, but for the
 *              differences that CPUs have in color_delta.  All active containers
 *              are counted while a policy is in force, otherwise none is.
 *
 * What each page reads comes first and is seldom written.
 */
struct mcube_zone {
	struct zone *zone;
	struct mcube_zone_cpu __percpu *cpu;
	bool open;
	unsigned int nr_exhausted;
	DECLARE_BITMAP(exhausted, MCUBE_NR_KEYS);
	DECLARE_BITMAP(unseen, MCUBE_NR_KEYS);
	struct mcube_container *cursor[MCUBE_NR_KEYS];

	/* the lists, cursors and exhausted bits */
	spinlock_t lock ____cacheline_aligned_in_smp;
	unsigned long levels;
	struct list_head level[MCUBE_MAX_ORDER + 1];
	unsigned int nr_spares;
	int next_owner;
	struct list_head searched;
	struct list_head full;
	unsigned int nr;
	unsigned int nr_searched;
	unsigned int missed[MCUBE_NR_KEYS];
	struct mcube_large large;

	struct mcube_none none[MIGRATE_PCPTYPES][NR_PAGE_ORDERS];
	struct list_head zones;
#ifdef CONFIG_MCUBE_COLOR_STAT
	atomic_t color_free[MCUBE_MAX_VALUES] ____cacheline_aligned_in_smp;
#endif
};

/* Why a container returns to the buddy lists; for the tracepoint. */
enum mcube_reason {
	MCUBE_REASON_FREE,
	MCUBE_REASON_PRESSURE,
	MCUBE_REASON_PAGE,
	MCUBE_REASON_OFF,
};

/* config.c */

/**
 * enum mcube_stat - events since boot, per CPU
 * @MCUBE_SERVED: pages allocated without a hint: by the downward search, or in
 *                the next color of the hop table.
 * @MCUBE_HOPPED: requests without a hint that were given the next color of the
 *                hop table.
 * @MCUBE_COLORED: pages and folios allocated for a hint.
 * @MCUBE_FALLBACK: order-0 movable requests that the allocator could not serve,
 *                  and requests whose hint it could not follow.
 * @MCUBE_UNCOVERED: movable requests of order > 0 that the allocator does not
 *                   serve.
 * @MCUBE_TAKEN: containers taken from the buddy lists.
 * @MCUBE_RELEASED: containers released: wholly free, while the zone had enough
 *                  spares.
 * @MCUBE_BROKEN_UP: containers broken up: memory pressure, isolation, memory
 *                   failure, switching off.
 * @MCUBE_NR_STATS: number of counters.
 */
enum mcube_stat {
	MCUBE_SERVED,
	MCUBE_HOPPED,
	MCUBE_COLORED,
	MCUBE_FALLBACK,
	MCUBE_UNCOVERED,
	MCUBE_TAKEN,
	MCUBE_RELEASED,
	MCUBE_BROKEN_UP,
	MCUBE_NR_STATS,
};

struct mcube_stats {
	unsigned long nr[MCUBE_NR_STATS];
};

DECLARE_PER_CPU(struct mcube_stats, mcube_stats);

/**
 * mcube_hinted_count() - pages or folios follow the task's hint
 * @hint: the hint.
 * @nr: number of pages or folios.
 *
 * The page cache learns of it by the task's hint.
 */
static inline void mcube_hinted_count(u32 hint, unsigned int nr)
{
	this_cpu_add(mcube_stats.nr[MCUBE_COLORED], nr);
	if (hint & MCUBE_HINT_FILE)
		current->mcube_hint = hint | MCUBE_HINT_SERVED;
}

/*
 * Settings.  They change only while the allocator is off, except for the fill
 * order of new containers.
 */
struct mcube_config {
	unsigned int order;
	unsigned int cluster_order;
	enum mcube_fill_order fill_order;
	const struct mcube_map *map;
	struct mcube_fill *fill[MCUBE_NR_FILL_ORDERS];
	struct mcube_offset_map color;
	struct mcube_offset_map bank;
};

extern struct mcube_config mcube_config;
extern const char * const mcube_fill_order_names[MCUBE_NR_FILL_ORDERS];

unsigned long mcube_alloc_stat(enum mcube_stat stat);

#ifdef CONFIG_SMP
void __mod_mcube_free_pages(struct zone *zone, int delta);
#else
static inline void __mod_mcube_free_pages(struct zone *zone, int delta)
{
	__mod_zone_page_state(zone, NR_FREE_PAGES, delta);
	__mod_zone_page_state(zone, NR_FREE_MCUBE_PAGES, delta);
}
#endif

/**
 * mcube_nr_keys() - keys of the search cursors
 *
 * A hint's key is its color, or the number of colors plus its bank if it names
 * no color.
 *
 * Return: number of keys of the present map, at most MCUBE_NR_KEYS.
 */
static inline unsigned int mcube_nr_keys(void)
{
	return mcube_config.color.nr_values + mcube_config.bank.nr_values;
}

/* lookup.c */
struct mcube_lookup_table {
	unsigned long nr;
	struct mcube_container *section[] __counted_by(nr);
};

extern struct mcube_lookup_table __rcu *mcube_lookup_table;

/**
 * mcube_lookup() - find the descriptor of the block that a page frame lies in
 * @pfn: the page frame.
 *
 * Inline, as every page that is freed passes here.
 *
 * Context: RCU read side; the descriptor stays valid that long.
 * Return: the descriptor, active or not; NULL if the block has no descriptor.
 */
static inline struct mcube_container *mcube_lookup(unsigned long pfn)
{
	struct mcube_lookup_table *t = rcu_dereference(mcube_lookup_table);
	unsigned long nr = pfn_to_section_nr(pfn);
	struct mcube_container *c;

	if (unlikely(!t || nr >= t->nr))
		return NULL;
	c = READ_ONCE(t->section[nr]);
	if (unlikely(!c))
		return NULL;
	return c + ((pfn & ~PAGE_SECTION_MASK) >> mcube_config.order);
}

int mcube_lookup_cover(unsigned long start_pfn, unsigned long nr_pages);
void mcube_lookup_free(void);
void mcube_lookup_each(void (*fn)(struct mcube_container *c));

/* hint.c */
void mcube_block_map_init(struct mcube_block_map *block_map, unsigned long pfn);
void mcube_block_map_for_hint(struct mcube_block_map *block_map,
			      unsigned long pfn, u32 hint);
bool mcube_hint_matches(u32 hint, const struct mcube_block_map *block_map,
			const unsigned long *free);

/**
 * mcube_hint_fits() - are color and bank of a hint values of the present map?
 * @hint: the hint.
 *
 * A task keeps its hint while the allocator is switched off and on again with
 * another map, and a policy may have chosen the hint before its task slept in
 * reclaim.  So each hint is checked where it enters the allocator.
 *
 * Context: RCU read side in which zone->mcube was found: the map is constant.
 * Return: false if a table indexed by color or bank has no entry for the hint.
 */
static inline bool mcube_hint_fits(u32 hint)
{
	/* Without a bank, what is left of the hint is color + 1. */
	if (likely((hint & MCUBE_HINT_VALUES) <= mcube_config.color.nr_values))
		return true;
	return mcube_hint_color(hint) < (int)mcube_config.color.nr_values &&
	       mcube_hint_bank(hint) < (int)mcube_config.bank.nr_values;
}

/**
 * mcube_hint_select() - the frames of a block that a hint allows
 * @hint: the hint, not 0.
 * @block_map: where the colors and banks of the block lie.
 * @sel: set to a bitmap of offsets.
 * @sel2: set to a second bitmap that must allow the frame too, or to NULL.
 *
 * Return: false if the map does not have the color or bank of the hint.
 */
static inline bool mcube_hint_select(u32 hint,
				     const struct mcube_block_map *block_map,
				     const unsigned long **sel,
				     const unsigned long **sel2)
{
	int color = mcube_hint_color(hint), bank = mcube_hint_bank(hint);

	*sel = NULL;
	*sel2 = NULL;
	if (bank >= 0) {
		*sel = mcube_offset_map_select(&mcube_config.bank,
					       block_map->bank_phase,
					       block_map->bank_xor, bank);
		if (!*sel)
			return false;
	}
	if (color >= 0) {
		*sel2 = *sel;
		*sel = mcube_offset_map_select(&mcube_config.color,
					       block_map->color_phase,
					       block_map->color_xor, color);
	}
	return *sel;
}

/**
 * mcube_task_hint() - the hint of the current task
 *
 * Return: the hint; 0 in an interrupt or in reclaim, whose pages are not meant.
 */
static inline u32 mcube_task_hint(void)
{
	u32 hint = current->mcube_hint;

	if (likely(!hint))
		return 0;
	return in_task() && !(current->flags & PF_MEMALLOC) ? hint : 0;
}

/*
 * Containers that one search examines, with interrupts off, before the CPU takes a
 * block instead.
 */
#define MCUBE_SEARCH_MAX	16U

/* zone.c */
void mcube_zone_init(struct mcube_zone *mz, struct zone *zone);
void mcube_zone_add(struct mcube_container *c);
void mcube_zone_del(struct mcube_container *c);
void mcube_zone_move(struct mcube_container *c, int level);
struct mcube_container *mcube_search_start(struct mcube_zone *mz, struct mcube_container *c,
					   unsigned int *missed);
bool mcube_search_pauses(struct mcube_zone *mz, unsigned int key);
void mcube_search_misses(struct mcube_zone *mz, unsigned int key, bool missed);
void __mcube_container_relist(struct mcube_container *c, int level);
void mcube_set_block_type(struct page *page, int migratetype);
unsigned int mcube_zone_max_spares(struct mcube_zone *mz);
bool mcube_zone_has_block(struct zone *zone, unsigned int order);
void mcube_large_set_exhausted(struct mcube_zone *mz, unsigned int color,
			       unsigned int order);
void mcube_large_freed(struct mcube_container *c, unsigned int off,
		       unsigned int level);

/* Has no container a group of a color and order?  A guess without mz->lock. */
static inline bool mcube_large_is_exhausted(const struct mcube_zone *mz,
					    unsigned int color,
					    unsigned int order)
{
	unsigned int from = READ_ONCE(mz->large.exhausted[color]);

	return from && order >= from;
}

/**
 * mcube_container_relist() - move a container to the list that it belongs on
 * @c: the container, active, locked.
 *
 * Return: true if the container was on another list before.
 */
static inline bool mcube_container_relist(struct mcube_container *c)
{
	int level = c->owner < 0 ? mcube_bins_top(&c->bins) : -1;

	/* Only the holder of the container's lock changes c->level. */
	if (likely(level == c->level))
		return false;
	__mcube_container_relist(c, level);
	return true;
}

/**
 * mcube_container_usable() - is a pointer to a container still good?
 * @c: the container, locked.
 * @mz: containers of the zone that the pointer was found in.
 *
 * A pointer to a container may be older than the container.
 *
 * Return: false if the container is not active, or if memory hotplug has moved
 * its block to another zone.
 */
static inline bool mcube_container_usable(const struct mcube_container *c,
					  const struct mcube_zone *mz)
{
	return likely(c->active && c->mz == mz);
}

/* container.c */
bool mcube_cma_comes_first(struct zone *zone);
struct mcube_container *mcube_container_take(struct mcube_zone *mz, int owner,
					     u32 hint);
struct mcube_container *mcube_container_claim(struct mcube_zone *mz,
					      unsigned int level, int cpu);
bool mcube_container_adopt(struct mcube_container *c, int cpu);
void mcube_container_own(struct mcube_container **slot,
			 struct mcube_container *c, int cpu);

/* exhausted.c */
void mcube_exhausted_set(struct mcube_zone *mz, unsigned int key, bool exhausted);
void mcube_exhausted_freed(struct mcube_container *c, unsigned int off,
			   unsigned int level, unsigned int nr);
void mcube_container_close(struct mcube_container *c);

/* hinted.c */
struct page *mcube_hinted_alloc(struct mcube_zone *mz, u32 hint);
unsigned int mcube_hinted_bulk(struct mcube_zone *mz, u32 hint,
			       struct page **pages, unsigned int nr);

/* large.c */
unsigned int mcube_large_take(struct mcube_zone *mz, u32 hint,
			      unsigned int order, struct page **pages,
			      unsigned int nr);

/* alloc.c */
struct page *mcube_search_buddy(struct zone *zone, unsigned int order,
				int migratetype);

/* release.c */
void mcube_shrink_spares(void);
void mcube_container_release(struct mcube_container *c);
bool mcube_container_break_up(struct mcube_zone *mz, unsigned int order,
			      enum mcube_reason reason);
void mcube_zone_drain(struct mcube_zone *mz);

/* color_stat.c */
#ifdef CONFIG_MCUBE_COLOR_STAT
void mcube_color_stat_start(void);
void mcube_color_stat_stop(void);
unsigned long mcube_color_stat_reserved(void);
#else
static inline void mcube_color_stat_start(void)
{
}

static inline void mcube_color_stat_stop(void)
{
}

static inline unsigned long mcube_color_stat_reserved(void)
{
	return 0;
}
#endif

/* reserve.c */

/**
 * struct mcube_reserve - the reserved colors, and the other colors
 * @nr: number of reserved colors: the first colors of @order.
 * @nr_kept: number of the other colors.
 * @nr_hop: number of colors that memory hops over: @nr_kept, or all colors while the
 *          reserved colors are lent.
 * @hop: the hop table: the other colors, then the reserved colors, each in order.
 * @order: all colors, see mcube_dim_order().
 * @place: by color, its place in @order; the last place for colors that the map
 *         has not.
 */
struct mcube_reserve {
	unsigned int nr;
	unsigned int nr_kept;
	unsigned int nr_hop;
	u8 hop[MCUBE_MAX_VALUES];
	u8 order[MCUBE_MAX_VALUES];
	u8 place[MCUBE_MAX_VALUES];
};

/* Written with the policy lock held; CPUs may hop meanwhile, by the same map. */
extern struct mcube_reserve mcube_reserve;

/* In force or being started, newest first; guarded by the policy lock. */
extern struct list_head mcube_policies;

DECLARE_STATIC_KEY_FALSE(mcube_hop_key);

void mcube_reserve_withdraw(struct mcube_policy *p);

/**
 * mcube_reserve_hops() - shall a page without a hint hop?
 *
 * Return: true if the page shall hop.
 */
static __always_inline bool mcube_reserve_hops(void)
{
	return static_branch_unlikely(&mcube_hop_key) && in_task();
}

/* Colors of the hop table that pages get in an order that differs from row to row. */
#define MCUBE_HOP_ROW	8U

/*
 * current->mcube_hop: bits 0 to 7 are the place in the hop table, and the bits above
 * count how often the task has gone through the table.
 */
static inline unsigned int mcube_hop_next(unsigned int hop, unsigned int nr)
{
	hop++;
	if (hop % MCUBE_MAX_VALUES >= nr)
		hop = ALIGN(hop, MCUBE_MAX_VALUES);
	return hop;
}

/**
 * mcube_hop_place() - place in the hop table of a page that hops
 * @hop: where the task is, see mcube_hop_next().
 * @nr: number of colors in the hop table.
 *
 * The key of a row is the XOR of the digits of its number, of three bits each.  So most
 * of eight rows that are a power of two apart have different keys.
 *
 * Return: the place; over a row, each place of the row once.
 */
static inline unsigned int mcube_hop_place(unsigned int hop, unsigned int nr)
{
	unsigned int place = hop % MCUBE_MAX_VALUES, row = hop / MCUBE_HOP_ROW;

	if (ALIGN_DOWN(place, MCUBE_HOP_ROW) + MCUBE_HOP_ROW > nr)
		return place;
	/* current->mcube_hop has 16 bits, hence the row 13. */
	return place ^ ((row ^ row >> 3 ^ row >> 6 ^ row >> 9 ^ row >> 12) % MCUBE_HOP_ROW);
}

/**
 * mcube_reserve_hint() - make the hint for a page that hops
 *
 * Return: a hint for the next color of this task in the hop table.
 */
static inline u32 mcube_reserve_hint(void)
{
	unsigned int nr = READ_ONCE(mcube_reserve.nr_hop);

	current->mcube_hop = mcube_hop_next(current->mcube_hop, nr);
	return mcube_hint_make(READ_ONCE(mcube_reserve.hop[mcube_hop_place(current->mcube_hop,
									   nr)]), -1);
}

/* buddy.c */
struct page *mcube_buddy_search(struct zone *zone, unsigned int order,
				int migratetype, u32 hint);
struct page *mcube_buddy_take_any(struct zone *zone, int migratetype);

/* policy.c */
extern struct mutex mcube_control_lock;

void mcube_policy_disable_all(void);

/* control.c */
#define MCUBE_ORDER_MIN		((unsigned int)pageblock_order)
#define MCUBE_ORDER_MAX		min_t(unsigned int, MAX_PAGE_ORDER, MCUBE_MAX_ORDER)

int mcube_alloc_enable(bool on);
bool mcube_alloc_enabled(void);
int mcube_alloc_set_order(unsigned int order);
int mcube_alloc_set_cluster_order(unsigned int order);
unsigned int mcube_alloc_containers(void);
unsigned long mcube_alloc_free_pages(void);
int mcube_alloc_add_zones(void);
void mcube_alloc_pause(bool pause);

#endif /* _MM_MCUBE_ALLOC_INTERNAL_H */
