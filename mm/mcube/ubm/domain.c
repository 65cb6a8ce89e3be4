// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: domains, the memory cgroups whose page cache UBM shares out
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page belongs to the domain of the memory cgroup that the page is charged to,
 * whoever reads it: the domain that pays for the page decides whether the page
 * stays, and reclaim asks the same domain.  The pages of the root cgroup are a
 * domain as well; without memory cgroups all pages are one domain.
 *
 *   reclaim finds no domain          the cgroup goes offline, or UBM off
 *            |                                    |
 *    slot by id ---> work item -> published -> removed -> freed after a grace
 *                     allocates     in memcg     from        period
 *                                                memcg
 *
 * A domain is made when its cgroup reclaims for the first time.  Reclaim must not
 * allocate, so it leaves the id of the cgroup in a slot, and a work item does the
 * rest; if the slot is taken, a later scan asks again.  A cgroup whose domain finds no
 * memory, or whose page cache is too small for a domain, waits a second: the time when it
 * may ask again stands in the place of the domain.  The state is charged to
 * the parent of the cgroup, as struct mem_cgroup itself is, so that it takes
 * nothing of the limit that the cgroup reclaims for.
 *
 * A domain goes when nothing was noted in it for STALE: its cgroup does not reclaim, or
 * reads no files.  If reclaim came by all the same, it would ask for a domain at once,
 * and the cgroup waits for as long again.  When memory is short a shrinker takes domains
 * that noted nothing for MCUBE_UBM_IDLE.
 *
 * A domain is as large as its page cache was then.  A cgroup may have reclaimed for
 * the first time while nearly all of its memory was anonymous, or its limit may be
 * raised.  So a domain is removed when its page cache would make it OUTGROWN times as
 * large, and the next reclaim makes another domain.  That happens a few times at most:
 * a domain never gets smaller.
 *
 * References are noted only while the domain reclaims, see
 * mcube_ubm_domain_idle(): if all pages fit, nothing has to be chosen.
 */

#include <linux/cgroup.h>
#include <linux/jiffies.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Id of no memory cgroup: the domain of a system without memory cgroups. */
#define WHOLE_SYSTEM	-1

/* After a failure, no domain is made for the memory cgroup for so long. */
#define RETRY_DELAY	HZ

/* A domain in which nothing was noted for so long is removed. */
#define STALE		(4 * MCUBE_UBM_IDLE)

/* Pages of a cache for which the smallest domain is not too large: it is 16 pages. */
#define CAPACITY_MIN	256

/* Memory cgroups that may ask for a domain at the same time. */
#define REQUESTS	64

/* A domain that would be so many times as large is made anew. */
#define OUTGROWN	4

/* Bounds of what a CPU may note by itself, in pages. */
#define QUANTUM_MIN	16UL
#define QUANTUM_MAX	256UL

/* Protects the list of domains, their being in memcg, and the tuning. */
DEFINE_MUTEX(mcube_ubm_domains_lock);
LIST_HEAD(mcube_ubm_domains);

/* Domains may be made; protected by mcube_ubm_domains_lock. */
static bool open;

/* Domains that were made; protected by mcube_ubm_domains_lock. */
static u64 made;

/* The domain of a system without memory cgroups. */
struct mcube_ubm_domain __rcu *mcube_ubm_whole_system;

/* Ids of memory cgroups that want a domain, in slots by id; 0 for none. */
static atomic_t wanted[REQUESTS];

static void make_wanted(struct work_struct *work);

/* Makes domains at once, and looks for stale domains now and then while there are any. */
static DECLARE_DEFERRABLE_WORK(make_work, make_wanted);

static struct mcube_ubm_domain __rcu **place_of(struct mem_cgroup *memcg)
{
	return memcg ? &memcg->mcube_ubm : &mcube_ubm_whole_system;
}

/* Pages of files in the generations of MGLRU. */
static long in_generations(const struct lruvec *lruvec)
{
	long pages = 0;
#ifdef CONFIG_LRU_GEN
	int gen, zone;

	for (gen = 0; gen < MAX_NR_GENS; gen++)
		for (zone = 0; zone < MAX_NR_ZONES; zone++)
			pages += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_FILE][zone]);
#endif
	return pages;
}

/* Pages of files on the classic lists; one kind of lists is empty. */
static long on_lists(struct lruvec *lruvec)
{
	long pages = 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		pages += mem_cgroup_get_zone_lru_size(lruvec, LRU_INACTIVE_FILE, zone) +
			 mem_cgroup_get_zone_lru_size(lruvec, LRU_ACTIVE_FILE, zone);
	return pages;
}

/**
 * mcube_ubm_domain_capacity() - the size of the page cache of a domain
 * @memcg: memory cgroup of the domain; NULL for the whole system.
 *
 * Return: pages on the LRU lists of files.
 */
unsigned long mcube_ubm_domain_capacity(struct mem_cgroup *memcg)
{
	long pages = 0;
	int nid;

	if (!memcg)
		return global_node_page_state(NR_INACTIVE_FILE) +
		       global_node_page_state(NR_ACTIVE_FILE);
	for_each_node_state(nid, N_MEMORY) {
		struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));

		pages += on_lists(lruvec) + in_generations(lruvec);
	}
	/* The sizes are read one by one while pages move. */
	return max(pages, 0L);
}

/**
 * mcube_ubm_domain_id() - the number of a domain in debugfs and tracepoints
 * @d: the domain.
 *
 * Context: RCU read section, or the domain is in the list.
 * Return: number of the cgroup; 0 for a system without memory cgroups.
 */
u64 mcube_ubm_domain_id(const struct mcube_ubm_domain *d)
{
	return d->memcg ? cgroup_id(d->memcg->css.cgroup) : 0;
}

/**
 * mcube_ubm_domain_resized() - the page cache of a domain has another size now
 * @d: the domain, locked or not published yet.
 * @capacity: its size in pages.
 */
void mcube_ubm_domain_resized(struct mcube_ubm_domain *d, unsigned long capacity)
{
	mcube_ubm_core_resize(d->core, capacity);
	WRITE_ONCE(d->patience,
		   min(capacity, (unsigned long)S32_MAX) * MCUBE_UBM_IDLE_CACHES);
	WRITE_ONCE(d->quantum, clamp(capacity / 64, QUANTUM_MIN, QUANTUM_MAX));
	if (!d->outgrown && mcube_ubm_core_bytes(capacity) / OUTGROWN > d->bytes) {
		WRITE_ONCE(d->outgrown, true);
		mod_delayed_work(system_unbound_wq, &make_work, 0);
	}
}

static void free_now(struct mcube_ubm_domain *d)
{
	free_percpu(d->cpu);
	kvfree(d->core);
	kfree(d);
}

static void free_by_rcu(struct rcu_head *rcu)
{
	free_now(container_of(rcu, struct mcube_ubm_domain, rcu));
}

/* With default settings, as mcube_ubm_domains_lock is not held: the caller tunes. */
static struct mcube_ubm_domain *alloc_domain(struct mem_cgroup *memcg,
					     unsigned long capacity)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN;
	static const struct mcube_ubm_tuning untuned = MCUBE_UBM_TUNING_DEFAULT;
	size_t bytes = mcube_ubm_core_bytes(capacity);
	struct mem_cgroup *payer = memcg ? parent_mem_cgroup(memcg) : NULL;
	struct mem_cgroup *before = set_active_memcg(payer);
	struct mcube_ubm_domain *d = kzalloc(sizeof(*d), gfp);

	if (d) {
		d->cpu = alloc_percpu_gfp(struct mcube_ubm_cpu, gfp);
		d->core = kvzalloc(bytes, gfp);
	}
	set_active_memcg(before);
	if (!d || !d->cpu || !d->core) {
		if (d)
			free_now(d);
		return NULL;
	}
	spin_lock_init(&d->lock);
	d->memcg = memcg;
	d->reclaimed = jiffies;
	d->noted = jiffies;
	d->bytes = bytes;
	mcube_ubm_core_init(d->core, capacity, &untuned);
	mcube_ubm_domain_resized(d, capacity);
	return d;
}

static void remove_domain(struct mcube_ubm_domain *d)
{
	lockdep_assert_held(&mcube_ubm_domains_lock);
	RCU_INIT_POINTER(*place_of(d->memcg), NULL);
	list_del(&d->node);
	static_branch_slow_dec_deferred(&mcube_ubm_refs_key);
	call_rcu(&d->rcu, free_by_rcu);
}

static bool has_domain(struct mem_cgroup *memcg)
{
	return mcube_ubm_is_domain(rcu_access_pointer(*place_of(memcg)));
}

/* The memory cgroup, which has no domain, wants none for @delay. */
static void put_off(struct mem_cgroup *memcg, unsigned long delay)
{
	lockdep_assert_held(&mcube_ubm_domains_lock);
	RCU_INIT_POINTER(*place_of(memcg), (struct mcube_ubm_domain *)((jiffies + delay) | 1));
}

/* The caller holds a reference of @memcg. */
static void make_domain(struct mem_cgroup *memcg)
{
	unsigned long capacity = mcube_ubm_domain_capacity(memcg);
	struct mcube_ubm_domain *d = NULL;

	if (capacity >= CAPACITY_MIN) {
		d = alloc_domain(memcg, capacity);
		mcube_ubm_count(MCUBE_UBM_NO_MEMORY, !d);
	}
	mutex_lock(&mcube_ubm_domains_lock);
	if (!d) {
		if (!has_domain(memcg))
			put_off(memcg, RETRY_DELAY);
		mutex_unlock(&mcube_ubm_domains_lock);
		return;
	}
	/* A dying cgroup may have been told to remove its domain already. */
	if (!open || (memcg && css_is_dying(&memcg->css)) || has_domain(memcg)) {
		mutex_unlock(&mcube_ubm_domains_lock);
		free_now(d);
		return;
	}
	mcube_ubm_core_tune(d->core, &mcube_ubm_tuning);
	d->serial = ++made;
	list_add_tail(&d->node, &mcube_ubm_domains);
	rcu_assign_pointer(*place_of(memcg), d);
	static_branch_deferred_inc(&mcube_ubm_refs_key);
	mutex_unlock(&mcube_ubm_domains_lock);
	mcube_ubm_count(MCUBE_UBM_DOMAINS, 1);
}

static void make_for(int id)
{
	struct mem_cgroup *memcg = NULL;

	if (id > 0) {
		rcu_read_lock();
		memcg = mem_cgroup_from_id(id);
		if (memcg && !css_tryget_online(&memcg->css))
			memcg = NULL;
		rcu_read_unlock();
	}
	if (memcg || id == WHOLE_SYSTEM)
		make_domain(memcg);
	if (memcg)
		css_put(&memcg->css);
}

static bool is_stale(const struct mcube_ubm_domain *d, unsigned long age)
{
	return time_after(jiffies, READ_ONCE(d->noted) + age);
}

static void remove_stale(struct mcube_ubm_domain *d)
{
	bool met = !time_after(jiffies, READ_ONCE(d->reclaimed) + MCUBE_UBM_IDLE);
	struct mem_cgroup *memcg = d->memcg;

	remove_domain(d);
	if (met)
		put_off(memcg, STALE);
}

static void remove_useless(void)
{
	struct mcube_ubm_domain *d, *next;

	mutex_lock(&mcube_ubm_domains_lock);
	list_for_each_entry_safe(d, next, &mcube_ubm_domains, node) {
		if (READ_ONCE(d->outgrown))
			remove_domain(d);
		else if (is_stale(d, STALE))
			remove_stale(d);
	}
	mutex_unlock(&mcube_ubm_domains_lock);
}

static void make_wanted(struct work_struct *work)
{
	unsigned int i;
	int id;

	remove_useless();
	for (i = 0; i < REQUESTS; i++) {
		id = atomic_read(&wanted[i]);
		if (!id)
			continue;
		make_for(id);
		atomic_set(&wanted[i], 0);
	}
	/* Nobody else adds domains. */
	if (!list_empty(&mcube_ubm_domains))
		queue_delayed_work(system_unbound_wq, &make_work, MCUBE_UBM_IDLE);
}

/* Pages of domains that may go; fails to look rather than to wait. */
static unsigned long count_stale(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mcube_ubm_domain *d;
	unsigned long pages = 0;

	if (!mutex_trylock(&mcube_ubm_domains_lock))
		return 0;
	list_for_each_entry(d, &mcube_ubm_domains, node)
		if (is_stale(d, MCUBE_UBM_IDLE))
			pages += PFN_UP(d->bytes);
	mutex_unlock(&mcube_ubm_domains_lock);
	return pages;
}

static unsigned long scan_stale(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct mcube_ubm_domain *d, *next;
	unsigned long pages = 0;

	if (!mutex_trylock(&mcube_ubm_domains_lock))
		return SHRINK_STOP;
	list_for_each_entry_safe(d, next, &mcube_ubm_domains, node) {
		if (pages >= sc->nr_to_scan)
			break;
		if (!is_stale(d, MCUBE_UBM_IDLE))
			continue;
		pages += PFN_UP(d->bytes);
		remove_stale(d);
	}
	mutex_unlock(&mcube_ubm_domains_lock);
	return pages;
}

static int __init mcube_ubm_shrinker_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "mcube-ubm");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_stale;
	shrinker->scan_objects = scan_stale;
	shrinker_register(shrinker);
	return 0;
}
late_initcall(mcube_ubm_shrinker_init);

/**
 * mcube_ubm_domain_want() - a memory cgroup without a domain reclaims
 * @memcg: the memory cgroup; NULL for the whole system.
 *
 * Context: reclaim, RCU read section, see mcube_ubm_domains_wait(); allocates nothing.
 */
void mcube_ubm_domain_want(struct mem_cgroup *memcg)
{
	unsigned long retry = (unsigned long)rcu_access_pointer(*place_of(memcg));
	int id = WHOLE_SYSTEM;
	atomic_t *slot;

	if (retry & 1 && time_before(jiffies, retry))
		return;
	if (memcg)
		id = mem_cgroup_online(memcg) ? mem_cgroup_id(memcg) : 0;
	slot = &wanted[(unsigned int)id % REQUESTS];
	if (id && !atomic_read(slot) && !atomic_cmpxchg(slot, 0, id))
		mod_delayed_work(system_unbound_wq, &make_work, 0);
}

/* See mcube_ubm_offline(); sleeps. */
void __mcube_ubm_offline(struct mem_cgroup *memcg)
{
	struct mcube_ubm_domain *d;

	mutex_lock(&mcube_ubm_domains_lock);
	d = rcu_dereference_protected(memcg->mcube_ubm,
				      lockdep_is_held(&mcube_ubm_domains_lock));
	if (mcube_ubm_is_domain(d))
		remove_domain(d);
	mutex_unlock(&mcube_ubm_domains_lock);
}

/**
 * mcube_ubm_domains_tune() - set what the core of each domain is told
 * @tuning: the settings.
 *
 * Context: process, sleeps; mcube_ubm_domains_lock is held.
 */
void mcube_ubm_domains_tune(const struct mcube_ubm_tuning *tuning)
{
	struct mcube_ubm_domain *d;

	lockdep_assert_held(&mcube_ubm_domains_lock);
	mcube_ubm_tuning = *tuning;
	list_for_each_entry(d, &mcube_ubm_domains, node) {
		spin_lock(&d->lock);
		mcube_ubm_core_tune(d->core, tuning);
		spin_unlock(&d->lock);
	}
}

/**
 * mcube_ubm_domains_open() - let domains be made from now on
 *
 * Context: process, sleeps.
 */
void mcube_ubm_domains_open(void)
{
	struct mem_cgroup *memcg = NULL;

	mutex_lock(&mcube_ubm_domains_lock);
	/* Waits for a domain that were noted before UBM was switched off are over. */
	do {
		memcg = mem_cgroup_iter(NULL, memcg, NULL);
		if (!has_domain(memcg))
			RCU_INIT_POINTER(*place_of(memcg), NULL);
	} while (memcg);
	open = true;
	mutex_unlock(&mcube_ubm_domains_lock);
}

/**
 * mcube_ubm_domains_close() - remove all domains, and make no more
 *
 * The hooks have to be on still: a memory cgroup that goes offline meanwhile has
 * to remove its domain itself, or the domain would outlive the memory cgroup.
 *
 * Context: process, sleeps.
 */
void mcube_ubm_domains_close(void)
{
	struct mcube_ubm_domain *d, *next;

	mutex_lock(&mcube_ubm_domains_lock);
	open = false;
	list_for_each_entry_safe(d, next, &mcube_ubm_domains, node)
		remove_domain(d);
	mutex_unlock(&mcube_ubm_domains_lock);
}

/**
 * mcube_ubm_domains_wait() - wait until no domain is left
 *
 * Context: process, sleeps; mcube_ubm_domains_close() was called and the hooks
 * are off.
 */
void mcube_ubm_domains_wait(void)
{
	static_key_deferred_flush(&mcube_ubm_refs_key);
	/* A task in a hook may queue the work item until the grace period ends. */
	synchronize_rcu();
	cancel_delayed_work_sync(&make_work);
	/* The work item may have been canceled. */
	memset(wanted, 0, sizeof(wanted));
	rcu_barrier();
}
