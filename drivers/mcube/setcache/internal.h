/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the engine of page sets
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_INTERNAL_H
#define _DRIVERS_MCUBE_SETCACHE_INTERNAL_H

#include <linux/cache.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/numa.h>
#include <linux/page-flags.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "../../../mm/mcube/setcache/engine.h"
#include "home.h"
#include "set.h"
#include "table.h"

struct address_space;
struct file;
struct iov_iter;
struct kiocb;

/* Sets of a MiB, and pages that a read fills at a time. */
#define SETCACHE_SETS_PER_MIB	((1U << 20) / (SETCACHE_WAYS << PAGE_SHIFT))
#define SETCACHE_BATCH		16U

/**
 * struct setcache_slot - a set and its lock
 * @lock: covers key and state of the ways.
 * @set: the set.
 */
struct setcache_slot {
	spinlock_t lock;	/* key and state of the ways */
	struct setcache_set set;
} ____cacheline_aligned;

/**
 * enum setcache_stat - what is counted
 * @SETCACHE_STAT_HITS: pages of reads that were in a set.
 * @SETCACHE_STAT_FILLS: pages that came from the device into a set.
 * @SETCACHE_STAT_BYPASSED: reads that found their page in the page cache.
 * @SETCACHE_STAT_WAITS: reads that waited for a fill by another task.
 * @SETCACHE_STAT_FULL: reads through the page cache, as all ways were in use.
 * @SETCACHE_STAT_NOWAIT: reads that may not wait, and whose page was in no set.
 * @SETCACHE_STAT_ASYNC: those of the fills for which nobody waited.
 * @SETCACHE_STAT_DOOMED: pages that were killed while they were being filled; no fills.
 * @SETCACHE_STAT_KILLED: pages that were killed.
 * @SETCACHE_STAT_ERRORS: fills that failed.
 * @SETCACHE_STAT_RECLAIMED: pages that the pool gave back as memory was short.
 * @SETCACHE_STAT_REMOTE: pages of reads that were in a set on another node.
 * @SETCACHE_STAT_MESSAGES: messages that readers sent to other nodes.
 * @SETCACHE_STAT_BUNDLES: times that a worker took messages from its queue.
 * @SETCACHE_STAT_FALLBACKS: pages on another node that a reader looked up itself instead.
 * @SETCACHE_NR_STATS: number of counters.
 */
enum setcache_stat {
	SETCACHE_STAT_HITS,
	SETCACHE_STAT_FILLS,
	SETCACHE_STAT_BYPASSED,
	SETCACHE_STAT_WAITS,
	SETCACHE_STAT_FULL,
	SETCACHE_STAT_NOWAIT,
	SETCACHE_STAT_ASYNC,
	SETCACHE_STAT_DOOMED,
	SETCACHE_STAT_KILLED,
	SETCACHE_STAT_ERRORS,
	SETCACHE_STAT_RECLAIMED,
	SETCACHE_STAT_REMOTE,
	SETCACHE_STAT_MESSAGES,
	SETCACHE_STAT_BUNDLES,
	SETCACHE_STAT_FALLBACKS,
	SETCACHE_NR_STATS,
};

/**
 * enum setcache_mode - which files take part
 * @SETCACHE_OFF: none; the pool has no memory.
 * @SETCACHE_RANDOM: descriptors with POSIX_FADV_RANDOM.
 * @SETCACHE_EVERY: all.
 */
enum setcache_mode {
	SETCACHE_OFF,
	SETCACHE_RANDOM,
	SETCACHE_EVERY,
};

/**
 * enum setcache_numa - how sets use the nodes of the machine
 * @SETCACHE_INTERLEAVE: memory is spread over the nodes.
 * @SETCACHE_HASH_HOME: the hash names the node; all CPUs look there.
 * @SETCACHE_MESSAGE: as hash-home; CPUs of that node look, and readers ask them.
 */
enum setcache_numa {
	SETCACHE_INTERLEAVE,
	SETCACHE_HASH_HOME,
	SETCACHE_MESSAGE,
};

/**
 * struct setcache_config - the settings
 * @mode: which files take part.
 * @policy: which page of a set goes.
 * @numa: how sets use the nodes.
 * @size: MiB of pages that the sets have, or shall have in another mode than off.
 */
struct setcache_config {
	enum setcache_mode mode;
	enum setcache_policy policy;
	enum setcache_numa numa;
	u32 size;
};

/**
 * struct setcache_nodes - the nodes of the pool
 * @nr: number of nodes; does not change while the pool is there.
 * @homes: sets have homes.
 * @nid: the nodes.
 */
struct setcache_nodes {
	u32 nr;
	bool homes;
	int nid[MAX_NUMNODES];
};

extern struct setcache_config setcache_config;
extern struct setcache_nodes setcache_nodes;
extern struct setcache_table setcache_table;
extern struct setcache_dead setcache_dead;
extern struct mutex setcache_table_lock;

DECLARE_PER_CPU(unsigned long [SETCACHE_NR_STATS], setcache_stats);

static inline void setcache_count(enum setcache_stat stat, unsigned int nr)
{
	this_cpu_add(setcache_stats[stat], nr);
}

static inline struct setcache_slot *setcache_slot(struct setcache_set *set)
{
	return container_of(set, struct setcache_slot, set);
}

static inline struct setcache_key setcache_name(u64 cookie, pgoff_t index)
{
	return setcache_key(setcache_table.seed, cookie, index);
}

/* As setcache_set_get(), but a page that is broken is not there. */
static inline int setcache_get(struct setcache_set *set, const struct setcache_key *key,
			       enum setcache_policy policy)
{
	int way = setcache_set_get(set, key, policy);

	if (way >= 0 && unlikely(READ_ONCE(mcube_setcache_poisoned)) &&
	    folio_test_hwpoison(set->entry[way].page)) {
		setcache_set_put(set, way);
		return -1;
	}
	return way;
}

/* config.c */
unsigned long setcache_stat(enum setcache_stat stat);

/* numa.c */
void setcache_nodes_choose(bool homes);
int setcache_nid(u32 node);
int setcache_nid_of(const struct setcache_set *set);
bool setcache_is_remote(const struct setcache_key *key, const struct setcache_set *set,
			unsigned int way, bool asked);

/* pool.c */
int setcache_pool_init(void);
void setcache_pool_exit(void);
u32 setcache_pool_max(void);
int setcache_pool_create(u32 nr, bool homes);
int setcache_pool_replace(u32 nr, bool homes);
int setcache_pool_resize(u32 nr);
u32 setcache_pool_nr(void);
long setcache_pool_take(unsigned long sets, int nid);
int setcache_pool_regrow(void);
void setcache_pool_destroy(void);
struct setcache_set *setcache_lock(struct setcache_key *key);
void setcache_unlock(struct setcache_set *set);
void setcache_kill(u64 cookie, pgoff_t first, pgoff_t last);
void setcache_drop(void);
struct folio *setcache_exchange(struct setcache_set *set, unsigned int way, struct folio *new);
bool setcache_forget(struct folio *folio);

/* user.c */
int setcache_user(const struct file *file, u8 *share);
void setcache_user_reads(const struct file *file);
void setcache_users_reset(void);

/* read.c */
ssize_t setcache_read(struct kiocb *iocb, struct iov_iter *to, loff_t *size);

/* ask.c */
int setcache_workers_start(void);
void setcache_workers_stop(void);
ssize_t setcache_ask(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
		     struct setcache_key *key, ssize_t *got);

/* fill.c */
void setcache_fill_init(void);

/* miss.c; returned where pages have come into sets meanwhile. */
#define SETCACHE_LOOK_AGAIN	(-ERESTART)
ssize_t setcache_miss(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
		      struct setcache_key *key);

/* async.c */
int setcache_async_init(void);
void setcache_async_exit(void);

/* control.c */
int setcache_set_mode(enum setcache_mode mode);
int setcache_set_size(u32 mib);
int setcache_set_numa(enum setcache_numa numa);
void setcache_control_exit(void);

/* reclaim.c */
int setcache_reclaim_init(void);
void setcache_reclaim_regrow(void);
void setcache_reclaim_exit(void);

/* debugfs.c */
void setcache_debugfs_init(void);
void setcache_debugfs_exit(void);

/* sysfs.c */
int setcache_sysfs_init(void);
void setcache_sysfs_exit(void);

#endif /* _DRIVERS_MCUBE_SETCACHE_INTERNAL_H */
