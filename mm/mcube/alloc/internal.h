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

#include "bins.h"

struct mcube_policy;
struct mutex;

/* Keys of the search cursors: a color, or a bank if a hint names no color. */
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
 * @lock: guards all members below but @level, @node and @all.
 * @active: the container holds its block.
 * @owner: CPU that allocates from the container, or -1.  Advice only: any CPU
 *         may take a frame from any container under @lock.
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
 * @all: link in mz->all; guarded by mz->lock.
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
	enum mcube_fill_order fill_order;
	u64 key;
	struct mcube_block_map block_map;
	struct mcube_zone *mz;
	struct mcube_bins bins;
#ifdef CONFIG_MCUBE_COLOR_STAT
	bool counted;
#endif

	int level;
	struct list_head node;
	struct list_head all;
};

/**
 * struct mcube_zone - containers of one zone
 * @zone: the zone.
 * @open: containers may be taken; guarded by zone->lock.
 * @lock: guards the lists, the cursors and the exhausted bits.  Innermost:
 *        zone->lock, container lock, this lock.
 * @levels: bit l is set while level[l] has a container.
 * @level: containers that have free frames and no owner, by mcube_bins_top().
 *         A container on a low level is nearly used up, a container on a high
 *         level nearly free.  On the highest level are the spares, which are
 *         wholly free.
 * @nr_spares: number of containers on the highest level.
 * @all: active containers.
 * @nr: number of active containers.
 * @nr_exhausted: number of bits set in @exhausted.
 * @exhausted: keys for which the last full search found no frame.
 * @cursor: by key, the container where the last search ended; written under
 *          @lock, may be inactive by now.
 * @missed: by key, number of containers in a row that did not match.
 * @cur: the container that a CPU owns.
 * @zones: link in the list of all zones, see control.c.
 * @color_free: free frames of the counted containers, by color.  All active
 *              containers are counted while a policy is in force, otherwise
 *              none is.
 */
struct mcube_zone {
	struct zone *zone;
	bool open;

	spinlock_t lock;	/* the lists, cursors and exhausted bits */
	unsigned long levels;
	struct list_head level[MCUBE_MAX_ORDER + 1];
	unsigned int nr_spares;
	struct list_head all;
	unsigned int nr;
	unsigned int nr_exhausted;
	DECLARE_BITMAP(exhausted, MCUBE_NR_KEYS);
	struct mcube_container *cursor[MCUBE_NR_KEYS];
	unsigned int missed[MCUBE_NR_KEYS];

	struct mcube_container * __percpu *cur;
	struct list_head zones;
#ifdef CONFIG_MCUBE_COLOR_STAT
	atomic_t color_free[MCUBE_MAX_VALUES];
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
 * @MCUBE_COLORED: pages allocated for a hint.
 * @MCUBE_FALLBACK: order-0 movable requests that the allocator could not serve,
 *                  and requests whose hint it could not follow.
 * @MCUBE_UNCOVERED: movable requests of order > 0, which the allocator does not
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

/*
 * Settings.  They change only while the allocator is off, except for the fill
 * order of new containers.
 */
struct mcube_config {
	unsigned int order;
	enum mcube_fill_order fill_order;
	const struct mcube_map *map;
	struct mcube_fill *fill[MCUBE_NR_FILL_ORDERS];
	struct mcube_offset_map color;
	struct mcube_offset_map bank;
};

extern struct mcube_config mcube_config;
extern const char * const mcube_fill_order_names[MCUBE_NR_FILL_ORDERS];

unsigned long mcube_alloc_stat(enum mcube_stat stat);

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

/* zone.c */
void mcube_zone_init(struct mcube_zone *mz, struct zone *zone);
void mcube_zone_move(struct mcube_container *c, int level);
void __mcube_container_relist(struct mcube_container *c, int level);
void mcube_set_block_type(struct page *page, int migratetype);
unsigned int mcube_zone_max_spares(struct mcube_zone *mz);

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

/* container.c */
struct mcube_container *mcube_container_take(struct mcube_zone *mz, int owner,
					     u32 hint);
struct mcube_container *mcube_container_claim(struct mcube_zone *mz,
					      unsigned int level, int cpu);
void mcube_container_own(struct mcube_zone *mz, struct mcube_container *c,
			 int cpu);

/* release.c */
void mcube_shrink_spares(void);
void mcube_container_release(struct mcube_container *c);
bool mcube_container_break_up(struct mcube_zone *mz, unsigned int order,
			      enum mcube_reason reason);
void mcube_zone_drain(struct mcube_zone *mz);

#ifdef CONFIG_MCUBE_COLOR_STAT

/* color_stat.c */
DECLARE_STATIC_KEY_FALSE(mcube_color_stat_key);

void __mcube_color_stat_taken(struct mcube_container *c, unsigned int off);
void __mcube_color_stat_freed(struct mcube_container *c, unsigned int off);
void __mcube_color_stat_all(struct mcube_container *c, bool in);
void mcube_color_stat_start(void);
void mcube_color_stat_stop(void);

/**
 * mcube_color_stat_taken() - count that a frame left a container
 * @c: the container, locked.
 * @off: the frame.
 */
static __always_inline void mcube_color_stat_taken(struct mcube_container *c,
						   unsigned int off)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_taken(c, off);
}

/**
 * mcube_color_stat_freed() - count that a frame was freed into a container
 * @c: the container, locked.
 * @off: the frame.
 *
 * Remembers the frame for mcube_pcp_pop() as well.
 */
static __always_inline void mcube_color_stat_freed(struct mcube_container *c,
						   unsigned int off)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_freed(c, off);
}

/**
 * mcube_color_stat_color() - count that a frame of a known color left
 * @c: the container, locked.
 * @color: color of the frame.
 */
static __always_inline void mcube_color_stat_color(struct mcube_container *c,
						   unsigned int color)
{
	if (static_branch_unlikely(&mcube_color_stat_key) && c->counted)
		atomic_dec(&c->mz->color_free[color]);
}

/**
 * mcube_color_stat_all() - count the free frames of a container in or out
 * @c: the container, active, locked.
 * @in: true for a new container, false for a container that is broken up.
 */
static inline void mcube_color_stat_all(struct mcube_container *c, bool in)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_all(c, in);
}

/* pcp.c */
void mcube_pcp_reset(unsigned int nr_colors);
void mcube_pcp_push(u8 color, unsigned long pfn);
unsigned long __mcube_pcp_pop(u8 color);

/**
 * mcube_pcp_pop() - the frame of a color that this CPU freed last
 * @color: the color.
 *
 * Context: RCU read side, so that the number of colors does not change.
 * Return: the page frame number, perhaps in use by now; 0 if no frame is known.
 */
static __always_inline unsigned long mcube_pcp_pop(unsigned int color)
{
	return static_branch_unlikely(&mcube_color_stat_key) ?
		__mcube_pcp_pop(color) : 0;
}

#else /* CONFIG_MCUBE_COLOR_STAT */

static inline void mcube_color_stat_taken(struct mcube_container *c,
					  unsigned int off)
{
}

static inline void mcube_color_stat_freed(struct mcube_container *c,
					  unsigned int off)
{
}

static inline void mcube_color_stat_color(struct mcube_container *c,
					  unsigned int color)
{
}

static inline void mcube_color_stat_all(struct mcube_container *c, bool in)
{
}

static inline unsigned long mcube_pcp_pop(unsigned int color)
{
	return 0;
}

static inline void mcube_color_stat_start(void)
{
}

static inline void mcube_color_stat_stop(void)
{
}

#endif /* CONFIG_MCUBE_COLOR_STAT */

/* reserve.c */

/**
 * struct mcube_reserve - the reserved colors, and the other colors
 * @nr: number of reserved colors.
 * @nr_hop: number of the other colors.
 * @hop: the other colors, in order: the hop table.
 */
struct mcube_reserve {
	unsigned int nr;
	unsigned int nr_hop;
	u8 hop[MCUBE_MAX_VALUES];
};

/* Written with the policy lock held; CPUs may hop meanwhile, by the same map. */
extern struct mcube_reserve mcube_reserve;

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

/**
 * mcube_reserve_hint() - make the hint for a page that hops
 *
 * Return: a hint for the color that follows the last color of this task in the
 * hop table.
 */
static inline u32 mcube_reserve_hint(void)
{
	unsigned int i = current->mcube_hop + 1;

	if (i >= READ_ONCE(mcube_reserve.nr_hop))
		i = 0;
	current->mcube_hop = i;
	return mcube_hint_make(READ_ONCE(mcube_reserve.hop[i]), -1);
}

/* buddy.c */
struct page *mcube_buddy_search(struct zone *zone, unsigned int order,
				int migratetype, u32 hint);

/* policy.c */
extern struct mutex mcube_control_lock;

void mcube_policy_disable_all(void);

/* control.c */
#define MCUBE_ORDER_MIN		((unsigned int)pageblock_order)
#define MCUBE_ORDER_MAX		min_t(unsigned int, MAX_PAGE_ORDER, MCUBE_MAX_ORDER)

int mcube_alloc_enable(bool on);
bool mcube_alloc_enabled(void);
void mcube_alloc_set_fill_order(enum mcube_fill_order fill_order);
int mcube_alloc_set_order(unsigned int order);
unsigned int mcube_alloc_containers(void);
unsigned long mcube_alloc_free_pages(void);
int mcube_alloc_add_zones(void);
void mcube_alloc_pause(bool pause);

#endif /* _MM_MCUBE_ALLOC_INTERNAL_H */
