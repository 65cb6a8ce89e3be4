/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of UBM's glue share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_UBM_INTERNAL_H
#define _MM_MCUBE_UBM_INTERNAL_H

#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mcube_ubm.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "core.h"

/**
 * enum mcube_ubm_stat - counters
 * @MCUBE_UBM_NOTED: references to pages that were noted.
 * @MCUBE_UBM_ADDED: pages that came into the page cache of domains for readers.
 * @MCUBE_UBM_HELD: folios that reclaim kept, as they belong to a held loop.
 * @MCUBE_UBM_PROPOSED: pages that were made the next victims of reclaim.
 * @MCUBE_UBM_GUARDED: times that a domain lagged behind plain LRU and held still.
 * @MCUBE_UBM_DOMAINS: domains that were made.
 * @MCUBE_UBM_NO_MEMORY: domains that could not be made for want of memory.
 * @MCUBE_UBM_NR_STATS: number of counters.
 */
enum mcube_ubm_stat {
	MCUBE_UBM_NOTED,
	MCUBE_UBM_ADDED,
	MCUBE_UBM_HELD,
	MCUBE_UBM_PROPOSED,
	MCUBE_UBM_GUARDED,
	MCUBE_UBM_DOMAINS,
	MCUBE_UBM_NO_MEMORY,
	MCUBE_UBM_NR_STATS,
};

struct mcube_ubm_stats {
	unsigned long nr[MCUBE_UBM_NR_STATS];
};

DECLARE_PER_CPU(struct mcube_ubm_stats, mcube_ubm_stats);

static inline void mcube_ubm_count(enum mcube_ubm_stat stat, long nr)
{
	this_cpu_add(mcube_ubm_stats.nr[stat], nr);
}

unsigned long mcube_ubm_stat(enum mcube_ubm_stat stat);

/*
 * What the core of each domain is told; protected by mcube_ubm_domains_lock, and
 * read without the lock to be shown.
 */
extern struct mcube_ubm_tuning mcube_ubm_tuning;

#define MCUBE_UBM_MIN_RUN_MAX	4096U

/**
 * struct mcube_ubm_hand - pages whose folios a reader has a reference of
 * @first: first page.
 * @end: page after the last page.
 */
struct mcube_ubm_hand {
	pgoff_t first;
	pgoff_t end;
};

/**
 * struct mcube_ubm_cpu - what a CPU knows of a domain by itself
 * @refs: references that the core was not told of yet.
 * @missed: pages that came in since the core was told, without those of folios that
 *          have a sampled page.
 */
struct mcube_ubm_cpu {
	struct mcube_ubm_refs refs;
	unsigned long missed;
};

/**
 * struct mcube_ubm_domain - a memory cgroup whose page cache UBM shares out
 * @memcg: the memory cgroup; NULL for a system without memory cgroups.  Valid
 *         while the domain is in the list, or for a task in an RCU read section
 *         that found the domain.
 * @node: in mcube_ubm_domains, which is in the order of @serial.
 * @serial: how many domains were made before, and 1.
 * @rcu: frees the domain.
 * @cpu: see struct mcube_ubm_cpu.
 * @reclaimed: when reclaim came by last, in jiffies.
 * @kept: pages that reclaim kept since a held loop was read last.
 * @row: those of them that reclaim came by without another folio between.
 * @looks: held folios that reclaim for other cgroups came by on MGLRU.
 * @noted: when pages were noted last, in jiffies.
 * @quiet: pages that were noted since @reclaimed.
 * @patience: so many of these, and nothing is noted until reclaim comes by.
 * @quantum: pages that a CPU may note before it tells the core.
 * @outgrown: the page cache is too large for @core by now.
 * @bytes: size of @core.
 * @lock: protects what @core points to.  Taken for bounded work: a note, or a
 *        balance over the histograms.
 * @core: the policy.
 */
struct mcube_ubm_domain {
	struct mem_cgroup *memcg;
	struct list_head node;
	u64 serial;
	struct rcu_head rcu;
	struct mcube_ubm_cpu __percpu *cpu;
	unsigned long reclaimed;
	unsigned long kept;
	unsigned long row;
	unsigned long noted;
	u32 looks;
	u32 quiet;
	u32 patience;
	u32 quantum;
	bool outgrown;
	size_t bytes;
	struct mcube_ubm_core *core;

	spinlock_t lock ____cacheline_aligned_in_smp;
};

/*
 * A domain that has not reclaimed for so long has room for all its pages, and so has
 * a domain in which meanwhile as many pages were read as its cache has, and again.
 */
#define MCUBE_UBM_IDLE		(30 * HZ)
#define MCUBE_UBM_IDLE_CACHES	2

/**
 * mcube_ubm_domain_idle() - have all pages of a domain room?
 * @d: the domain.
 *
 * Return: true if the domain has not reclaimed for a while.
 */
static inline bool mcube_ubm_domain_idle(const struct mcube_ubm_domain *d)
{
	return READ_ONCE(d->quiet) > READ_ONCE(d->patience) ||
	       time_after(jiffies, READ_ONCE(d->reclaimed) + MCUBE_UBM_IDLE);
}

/* In its place, and in that of a memory cgroup, an odd number says when to try again. */
extern struct mcube_ubm_domain __rcu *mcube_ubm_whole_system;

static inline bool mcube_ubm_is_domain(const struct mcube_ubm_domain *d)
{
	return d && !((unsigned long)d & 1);
}

/**
 * mcube_ubm_domain_of() - the domain of a folio
 * @folio: the folio, in the page cache.
 *
 * Context: RCU read section, in which the domain stays.
 * Return: the domain, or NULL if its memory cgroup has none.
 */
static inline struct mcube_ubm_domain *mcube_ubm_domain_of(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg_rcu(folio);
	struct mcube_ubm_domain *d;

	d = memcg ? rcu_dereference(memcg->mcube_ubm) : rcu_dereference(mcube_ubm_whole_system);
	return mcube_ubm_is_domain(d) ? d : NULL;
}

/**
 * mcube_ubm_key_of() - what a domain knows a file by
 * @inode: the file.
 *
 * Return: the key.
 */
static inline struct mcube_ubm_key mcube_ubm_key_of(const struct inode *inode)
{
	return (struct mcube_ubm_key) {
		.ino = inode->i_ino,
		.dev = inode->i_sb->s_dev,
		.gen = inode->i_generation,
	};
}

/*
 * struct address_space::mcube_ubm has the hash of the file in its upper half, once the hash was
 * computed, and in its lowest bits how few pages are noted if the file is read at random.
 */
#define MCUBE_UBM_SHIFT		31U
#define MCUBE_UBM_HASHED	32U

static inline u64 mcube_ubm_word(u32 hash, u32 shift)
{
	return (u64)hash << 32 | MCUBE_UBM_HASHED | shift;
}

/**
 * mcube_ubm_hash_of() - hash of a file, computed once while its inode is in memory
 * @mapping: page cache of the file.
 * @key: mcube_ubm_key_of() the file.
 *
 * Return: the hash.
 */
static inline u32 mcube_ubm_hash_of(struct address_space *mapping,
				    const struct mcube_ubm_key *key)
{
	u64 word = READ_ONCE(mapping->mcube_ubm);

	if (!word) {
		word = mcube_ubm_word(mcube_ubm_hash(key), 0);
		WRITE_ONCE(mapping->mcube_ubm, word);
	}
	return word >> 32;
}

/* control.c */
int mcube_ubm_enable(bool on);
bool mcube_ubm_enabled(void);
int mcube_ubm_set_model(enum mcube_ubm_model model);
int mcube_ubm_set_min_run(unsigned int pages);
int mcube_ubm_set_guard(bool on);

/* domain.c */
extern struct mutex mcube_ubm_domains_lock;
extern struct list_head mcube_ubm_domains;
u64 mcube_ubm_domain_id(const struct mcube_ubm_domain *d);
unsigned long mcube_ubm_domain_capacity(struct mem_cgroup *memcg);
void mcube_ubm_domain_resized(struct mcube_ubm_domain *d,
			      unsigned long capacity);
void mcube_ubm_domain_want(struct mem_cgroup *memcg);
void mcube_ubm_domains_tune(const struct mcube_ubm_tuning *tuning);
void mcube_ubm_domains_open(void);
void mcube_ubm_domains_close(void);
void mcube_ubm_domains_wait(void);

/* reclaim.c */
void mcube_ubm_propose(const struct mcube_ubm_domain *d,
		       struct address_space *mapping,
		       const struct mcube_ubm_range *range,
		       const struct mcube_ubm_hand *hand);

#endif /* _MM_MCUBE_UBM_INTERNAL_H */
