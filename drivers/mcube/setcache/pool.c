// SPDX-License-Identifier: GPL-2.0
/*
 * Pool: the memory of page sets, and their locks
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The pool has the size that the administrator wrote, or less while memory is short, see
 * reclaim.c.  It grows and shrinks by a set at a time while reads go on.  A set that went
 * is freed when no task can find it any more (RCU) and nobody has a pin on it.  Pins are
 * held for a fill at most: nobody copies with page faults while it has a pin.
 *
 * But a fill takes as long as its device, and one that does not answer must not stop reads of
 * other devices, nor reclaim.  So nobody waits for pins who holds the mutex of the table.
 * settle() frees what is idle among the sets that went, and leaves the others to later calls.
 * It comes before a set is used again: the pool does not grow beyond a set that has pins.  The
 * work of reclaim.c calls it again and again until all are idle.
 *
 * Reclaim cannot wait for a grace period either.  It frees the pages of a set that went which
 * have no pins: a task that still finds the set sees that nothing is VALID there.  Pages with
 * pins, and the set itself, are left to settle().
 *
 * See home.h for the nodes on which sets and pages lie.
 */

#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

#include <trace/events/mcube_setcache.h>

#include "internal.h"

#define SHRINK_BATCH	64U	/* sets freed after a grace period */

/* Pages that the administrator asks for, and pages that are free at the moment. */
#define AS_WRITTEN	(GFP_USER | __GFP_NORETRY | __GFP_NOWARN)
#define IF_FREE		(AS_WRITTEN & ~__GFP_RECLAIM)

struct setcache_table setcache_table;
struct setcache_dead setcache_dead;

/* Covers growing and shrinking; a holder of the locks of several sets holds it. */
DEFINE_MUTEX(setcache_table_lock);

/* The holder of the lock takes sets for reclaim, and is soon done. */
static bool taking;

/* Sets whose memory lies together. */
struct segment {
	struct setcache_slot slot[1U << SETCACHE_HOME_SHIFT];
};

static struct kmem_cache *segments;

/* Sets that there shall be, and the end of those that went and may be in use. */
static u32 wanted, settled;

/* A list of segments, and its length. */
struct list {
	void **segment;
	u32 length;
};

static void lock_of_group(struct setcache_set *set)
	__acquires(&setcache_slot(set)->lock)
{
	spin_lock_nest_lock(&setcache_slot(set)->lock, &setcache_table_lock);
}

static void unlock_of_group(struct setcache_set *set)
	__releases(&setcache_slot(set)->lock)
{
	spin_unlock(&setcache_slot(set)->lock);
}

static const struct setcache_locks locks = {
	.lock = lock_of_group,
	.unlock = unlock_of_group,
};

/**
 * setcache_lock() - lock the set of a key
 * @key: the key.
 *
 * Return: the set, until setcache_unlock().
 */
struct setcache_set *setcache_lock(struct setcache_key *key)
	__acquires(RCU)
	__acquires(&setcache_slot(set)->lock)
{
	struct setcache_set *set;

	rcu_read_lock();
	for (;;) {
		set = setcache_table_find(&setcache_table, key);
		spin_lock(&setcache_slot(set)->lock);
		if (setcache_table_is_at(&setcache_table, key, set))
			return set;
		spin_unlock(&setcache_slot(set)->lock);
	}
}

/**
 * setcache_unlock() - unlock a set
 * @set: the set that setcache_lock() gave.
 */
void setcache_unlock(struct setcache_set *set)
	__releases(&setcache_slot(set)->lock)
	__releases(RCU)
{
	spin_unlock(&setcache_slot(set)->lock);
	rcu_read_unlock();
}

/**
 * setcache_kill() - pages must not be in a set
 * @cookie: the file.
 * @first: index of the first page.
 * @last: index of the last page.
 *
 * A range that long says that the cookie was taken, and that fills may take the room.
 *
 * Context: after a full barrier.
 */
void setcache_kill(u64 cookie, pgoff_t first, pgoff_t last)
{
	unsigned int killed = 0;
	pgoff_t index;

	if (last - first >= MCUBE_SETCACHE_KILL_MAX) {
		setcache_dead_add(&setcache_dead, cookie);
		return;
	}
	for (index = first; index - first <= last - first; index++) {
		struct setcache_key key = setcache_name(cookie, index);
		struct setcache_set *set;
		bool may_have;

		rcu_read_lock();
		may_have = setcache_table_may_have(&setcache_table, &key);
		rcu_read_unlock();
		if (!may_have)
			continue;
		set = setcache_lock(&key);
		killed += setcache_set_kill(set, &key);
		setcache_unlock(set);
	}
	setcache_count(SETCACHE_STAT_KILLED, killed);
}

/**
 * setcache_drop() - kill all pages
 *
 * Context: process, sleeps.
 */
void setcache_drop(void)
{
	static const struct setcache_range all = {
		.cookie_last = U64_MAX, .index_last = U64_MAX,
	};
	struct setcache_set *set;
	u32 i;

	guard(mutex)(&setcache_table_lock);
	for (i = 0; i < setcache_table.nr; i++) {
		set = setcache_table_set_at(&setcache_table, i);
		spin_lock(&setcache_slot(set)->lock);
		setcache_count(SETCACHE_STAT_KILLED, setcache_set_kill_range(set, &all));
		spin_unlock(&setcache_slot(set)->lock);
		cond_resched();
	}
}

/* Pages that the pool gives back when memory is short: KReclaimable, and so MemAvailable. */
static void account(struct folio *page, long nr)
{
	mod_node_page_state(folio_pgdat(page), NR_KERNEL_MISC_RECLAIMABLE, nr);
}

/**
 * setcache_exchange() - give a way another page
 * @set: the set.
 * @way: the way; nobody else looks at its page.
 * @new: the page, or %NULL.
 *
 * Return: the page that the way had, or %NULL.
 */
struct folio *setcache_exchange(struct setcache_set *set, unsigned int way, struct folio *new)
{
	struct folio *old = set->entry[way].page;

	if (old)
		account(old, -1);
	if (new)
		account(new, 1);
	set->entry[way].page = new;
	return old;
}

/**
 * setcache_forget() - take a page out of its set
 * @folio: the page.
 *
 * Its place gets another page.  If there is none, or somebody uses the page, it stays without
 * a key, and setcache_fill_reserve() does not fill it if it is broken.
 *
 * Context: process, sleeps.
 * Return: true if the page was in a set and is not any more.
 */
bool setcache_forget(struct folio *folio)
{
	struct folio *new = __folio_alloc_node(AS_WRITTEN, 0, folio_nid(folio)), *old = NULL;
	unsigned int way;
	u32 i;

	mutex_lock(&setcache_table_lock);
	for (i = 0; i < max(setcache_table.nr, settled); i++) {
		struct setcache_set *set = setcache_table_set_at(&setcache_table, i);

		for (way = 0; way < SETCACHE_WAYS && set->entry[way].page != folio; way++)
			;
		cond_resched();
		if (way == SETCACHE_WAYS)
			continue;
		spin_lock(&setcache_slot(set)->lock);
		setcache_count(SETCACHE_STAT_KILLED, setcache_set_expel(set, way));
		if (set->entry[way].page == folio && setcache_set_is_free(set, way) &&
		    (new || i >= setcache_table.nr)) {
			old = setcache_exchange(set, way, new);
			new = NULL;
		}
		spin_unlock(&setcache_slot(set)->lock);
		break;
	}
	mutex_unlock(&setcache_table_lock);
	if (new)
		folio_put(new);
	if (old)
		folio_put(old);
	return old;
}

static void free_pages_of(struct setcache_set *set)
{
	unsigned int way;

	for (way = 0; way < SETCACHE_WAYS; way++)
		if (set->entry[way].page)
			folio_put(setcache_exchange(set, way, NULL));
}

static int give_pages(u32 number, gfp_t gfp)
{
	struct setcache_set *set = setcache_table_set_at(&setcache_table, number);
	int nid = setcache_nid(setcache_page_node(number, setcache_nodes.nr,
						  setcache_nodes.homes));
	unsigned int way;

	setcache_set_init(set);
	for (way = 0; way < SETCACHE_WAYS; way++) {
		set->entry[way].page = __folio_alloc_node(gfp, 0, nid);
		if (!set->entry[way].page) {
			free_pages_of(set);
			return -ENOMEM;
		}
		account(set->entry[way].page, 1);
	}
	return 0;
}

static int add_segment(void)
{
	u32 first = setcache_table.nr_segments << SETCACHE_HOME_SHIFT;
	int nid = setcache_nid(setcache_set_node(first, setcache_nodes.nr, setcache_nodes.homes));
	struct segment *new = kmem_cache_alloc_node(segments, GFP_KERNEL | __GFP_ZERO, nid);
	unsigned int i;

	if (!new)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(new->slot); i++)
		spin_lock_init(&new->slot[i].lock);
	if (setcache_table_add_segment(&setcache_table, new))
		return 0;
	kmem_cache_free(segments, new);
	return -ENOSPC;
}

/* Free what a set has left that went, before a grace period; false if somebody uses it. */
static bool settle_set(u32 number)
{
	struct setcache_set *gone = setcache_table_set_at(&setcache_table, number);

	if (!setcache_set_is_idle(gone))
		return false;
	free_pages_of(gone);
	return true;
}

/* Free what sets that went have left, unless somebody uses it. */
static void settle(void)
{
	u32 i, end = setcache_table.nr;

	if (settled > setcache_table.nr)
		synchronize_rcu();
	for (i = setcache_table.nr; i < settled; i++)
		if (!settle_set(i))
			end = i + 1;
	settled = end;
}

/* Returns -EBUSY where the next set is one that went, and somebody uses it still. */
static int grow(u32 nr, gfp_t gfp)
{
	int ret;

	settle();
	while (setcache_table.nr < nr) {
		if (!setcache_table_next(&setcache_table)) {
			ret = add_segment();
			if (ret)
				return ret;
			continue;
		}
		if (setcache_table.nr < settled && !settle_set(setcache_table.nr))
			return signal_pending(current) ? -EINTR : -EBUSY;
		ret = give_pages(setcache_table.nr, gfp);
		if (ret)
			return ret;
		setcache_table_grow(&setcache_table, READ_ONCE(setcache_config.policy));
		settled = max(settled, setcache_table.nr);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Free segments that have neither a set of the table nor one that is in use. */
static void trim(void)
{
	u32 keep = DIV_ROUND_UP(settled, 1U << SETCACHE_HOME_SHIFT);
	void *segment;

	while (setcache_table.nr_segments > keep &&
	       (segment = setcache_table_take_segment(&setcache_table)))
		kmem_cache_free(segments, segment);
}

static void shrink(u32 nr)
{
	struct setcache_table *t = &setcache_table;
	unsigned int batch;

	while (t->nr > nr) {
		for (batch = 0; batch < SHRINK_BATCH && t->nr > nr; batch++)
			setcache_table_shrink(t, READ_ONCE(setcache_config.policy));
		settle();
		trim();
		cond_resched();
	}
}

static void free_segments(u32 first)
{
	u32 i;

	/* Reclaim may have left pages in sets beyond the last one. */
	for (i = first << SETCACHE_HOME_SHIFT;
	     i < setcache_table.nr_segments << SETCACHE_HOME_SHIFT; i++)
		free_pages_of(setcache_table_set_at(&setcache_table, i));
	for (i = first; i < setcache_table.nr_segments; i++)
		kmem_cache_free(segments, setcache_table.segment[i]);
	WRITE_ONCE(setcache_table.nr, 0);
	setcache_table.nr_segments = 0;
	settled = 0;
	wanted = 0;
}

static void free_all(void)
{
	free_segments(0);
	kvfree(setcache_table.segment);
}

/**
 * setcache_pool_max() - the largest pool
 *
 * Return: number of sets that take half of the memory.
 */
u32 setcache_pool_max(void)
{
	return min(totalram_pages() / 2 / SETCACHE_WAYS, U32_MAX / 4);
}

static void begin(const struct list *list, bool homes)
{
	struct setcache_layout layout = {
		.stride = sizeof(struct setcache_slot),
		.offset = offsetof(struct setcache_slot, set),
		.segment_shift = SETCACHE_HOME_SHIFT,
		.max_segments = list->length,
		.segment = list->segment,
	};

	setcache_nodes_choose(homes);
	layout.homes = homes ? setcache_nodes.nr : 0;
	setcache_table_init(&setcache_table, &layout, &locks, get_random_u64());
}

static int create(u32 nr, bool homes)
{
	struct list new = {
		.length = DIV_ROUND_UP(setcache_pool_max(), 1U << SETCACHE_HOME_SHIFT),
	};
	unsigned int i;
	int ret;

	new.segment = kvcalloc(new.length, sizeof(void *), GFP_KERNEL);
	if (!new.segment)
		return -ENOMEM;
	begin(&new, homes);
	ret = add_segment();
	for (i = 0; !ret && i < setcache_table.nr; i++)
		ret = give_pages(i, AS_WRITTEN);
	if (!ret)
		ret = grow(nr, AS_WRITTEN);
	if (ret)
		free_all();
	else
		wanted = nr;
	return ret;
}

/**
 * setcache_pool_create() - make the pool
 * @nr: number of sets, from %SETCACHE_GROUP to setcache_pool_max().
 * @homes: sets have homes.
 *
 * Context: process, sleeps; no task is in the engine.
 * Return: 0, -ENOMEM, or -EINTR; there is no pool after an error.
 */
int setcache_pool_create(u32 nr, bool homes)
{
	guard(mutex)(&setcache_table_lock);
	return create(nr, homes);
}

/* A segment without files, which has its pages still. */
static void clear_segment(struct segment *segment)
{
	struct folio *page[SETCACHE_WAYS];
	unsigned int i, way;

	for (i = 0; i < ARRAY_SIZE(segment->slot); i++) {
		struct setcache_set *set = &segment->slot[i].set;

		for (way = 0; way < SETCACHE_WAYS; way++)
			page[way] = set->entry[way].page;
		setcache_set_init(set);
		for (way = 0; way < SETCACHE_WAYS; way++)
			set->entry[way].page = page[way];
	}
}

/**
 * setcache_pool_replace() - make a pool instead of the pool that is there
 * @nr: as for setcache_pool_create().
 * @homes: sets have homes.
 *
 * All pages go.  The old pool leaves what the smallest pool takes.  So there is a pool after
 * an error as well: it has its homes as before, and grows to its size from free memory.  Its
 * first pages may lie on other nodes than the mode says.  Call setcache_reclaim_regrow() then.
 *
 * Context: process, sleeps; no task is in the engine.
 * Return: 0, -ENOMEM, or -EINTR.
 */
int setcache_pool_replace(u32 nr, bool homes)
{
	bool old_homes = setcache_nodes.homes;
	struct segment *first;
	struct list old;
	unsigned int i;
	u32 old_nr;
	int ret;

	guard(mutex)(&setcache_table_lock);
	old_nr = wanted;
	old.segment = setcache_table.segment;
	old.length = setcache_table.max_segments;
	first = old.segment[0];
	free_segments(1);
	ret = create(nr, homes);
	if (!ret) {
		for (i = 0; i < ARRAY_SIZE(first->slot); i++)
			free_pages_of(&first->slot[i].set);
		kmem_cache_free(segments, first);
		kvfree(old.segment);
		return 0;
	}
	clear_segment(first);
	begin(&old, old_homes);
	setcache_table_add_segment(&setcache_table, first);
	wanted = old_nr;
	return ret;
}

/**
 * setcache_pool_resize() - grow or shrink the pool
 * @nr: number of sets, as for setcache_pool_create().
 *
 * Where the pool grows, waits for sets that went and are in use; a signal ends the wait, and
 * nobody else has to wait.  Where it shrinks, leaves them to setcache_pool_regrow().
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM or -EINTR, and the pool is as large as before.
 */
int setcache_pool_resize(u32 nr)
{
	u32 old;
	int ret;

	mutex_lock(&setcache_table_lock);
	old = setcache_table.nr;
	for (;;) {
		shrink(nr);
		ret = grow(nr, AS_WRITTEN);
		if (ret != -EBUSY)
			break;
		mutex_unlock(&setcache_table_lock);
		schedule_timeout_interruptible(1);
		mutex_lock(&setcache_table_lock);
	}
	if (ret)
		shrink(old);
	else
		wanted = nr;
	trace_mcube_setcache_size(setcache_table.nr, setcache_table.moved,
				  setcache_table.dropped);
	mutex_unlock(&setcache_table_lock);
	return ret;
}

/**
 * setcache_pool_nr() - how large is the pool?
 *
 * Return: number of sets; 0 if there is no pool.
 */
u32 setcache_pool_nr(void)
{
	return READ_ONCE(setcache_table.nr);
}

/**
 * setcache_pool_take() - take sets from the pool
 * @sets: how many at most; 1 MiB is left.
 * @nid: the node that is short of memory, or NUMA_NO_NODE.
 *
 * Context: any that may take a spinlock; does not wait.
 * Return: number of pages of the node that are free now; -EAGAIN while another task takes sets;
 * -EBUSY while the pool grows or shrinks, which this task may do itself.
 */
long setcache_pool_take(unsigned long sets, int nid)
{
	struct setcache_table *t = &setcache_table;
	struct setcache_set *set;
	struct folio *page;
	unsigned int way;
	long freed = 0;

	if (!mutex_trylock(&setcache_table_lock))
		return READ_ONCE(taking) ? -EAGAIN : -EBUSY;
	WRITE_ONCE(taking, true);
	while (sets-- && t->nr > SETCACHE_SETS_PER_MIB) {
		set = setcache_table_shrink(t, READ_ONCE(setcache_config.policy));
		/* Pairs with setcache_set_get(): not VALID first, then the pins. */
		smp_mb();
		for (way = 0; way < SETCACHE_WAYS; way++) {
			if (!set->entry[way].page || !setcache_set_is_free(set, way))
				continue;
			page = setcache_exchange(set, way, NULL);
			freed += nid == NUMA_NO_NODE || nid == folio_nid(page);
			folio_put(page);
			setcache_count(SETCACHE_STAT_RECLAIMED, 1);
		}
	}
	trace_mcube_setcache_size(t->nr, t->moved, t->dropped);
	WRITE_ONCE(taking, false);
	mutex_unlock(&setcache_table_lock);
	return freed;
}

/**
 * setcache_pool_regrow() - grow by a step from free memory
 *
 * Frees what sets that went have left, too.
 *
 * Context: process, sleeps.
 * Return: 0 if the pool has its size, and no other set is in use; 1 if it is not so large yet;
 * -ENOMEM; -EBUSY if sets that went are in use.
 */
int setcache_pool_regrow(void)
{
	u32 nr;
	int ret;

	guard(mutex)(&setcache_table_lock);
	nr = setcache_table.nr;
	if (nr >= wanted) {
		settle();
		trim();
		return settled > nr ? -EBUSY : 0;
	}
	nr = min(wanted, nr + max(SHRINK_BATCH, wanted / 16));
	ret = grow(nr, IF_FREE);
	trace_mcube_setcache_size(setcache_table.nr, setcache_table.moved,
				  setcache_table.dropped);
	return ret ?: nr < wanted || settled > nr;
}

/**
 * setcache_pool_destroy() - free the pool
 *
 * Context: process, sleeps; no task is in the engine.
 */
void setcache_pool_destroy(void)
{
	guard(mutex)(&setcache_table_lock);
	free_all();
}

/**
 * setcache_pool_init() - prepare to make pools
 *
 * Return: 0 or -ENOMEM.
 */
int setcache_pool_init(void)
{
	segments = kmem_cache_create("mcube_setcache", sizeof(struct segment),
				     __alignof__(struct segment), 0, NULL);
	return segments ? 0 : -ENOMEM;
}

/**
 * setcache_pool_exit() - no pool is made any more
 */
void setcache_pool_exit(void)
{
	kmem_cache_destroy(segments);
}
