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
 * memory waits a second, and lets others ask meanwhile.  The state is charged to
 * the parent of the cgroup, as struct mem_cgroup itself is, so that it takes
 * nothing of the limit that the cgroup reclaims for.
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

/**
 * struct request - a memory cgroup that reclaims and has no domain
 * @wanted: its id; 0 for none.
 * @failed: id of a memory cgroup for which there was no memory, 0 for none.
 * @not_before: when it may ask again, in jiffies.
 */
struct request {
	atomic_t wanted;
	int failed;
	unsigned long not_before;
};

/* By id, so that memory cgroups rarely wait for each other. */
static struct request requests[REQUESTS];

static void make_wanted(struct work_struct *work);

static DECLARE_WORK(make_work, make_wanted);

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
		queue_work(system_unbound_wq, &make_work);
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
static struct mcube_ubm_domain *alloc_domain(struct mem_cgroup *memcg)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN;
	static const struct mcube_ubm_tuning untuned = MCUBE_UBM_TUNING_DEFAULT;
	unsigned long capacity = mcube_ubm_domain_capacity(memcg);
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

/* The caller holds a reference of @memcg. */
static int make_domain(struct mem_cgroup *memcg)
{
	struct mcube_ubm_domain *d = alloc_domain(memcg);

	if (!d)
		return -ENOMEM;
	mutex_lock(&mcube_ubm_domains_lock);
	/* A dying cgroup may have been told to remove its domain already. */
	if (!open || (memcg && css_is_dying(&memcg->css)) ||
	    rcu_access_pointer(*place_of(memcg))) {
		mutex_unlock(&mcube_ubm_domains_lock);
		free_now(d);
		return 0;
	}
	mcube_ubm_core_tune(d->core, &mcube_ubm_tuning);
	d->serial = ++made;
	list_add_tail(&d->node, &mcube_ubm_domains);
	rcu_assign_pointer(*place_of(memcg), d);
	static_branch_deferred_inc(&mcube_ubm_refs_key);
	mutex_unlock(&mcube_ubm_domains_lock);
	mcube_ubm_count(MCUBE_UBM_DOMAINS, 1);
	return 0;
}

/* Return: false if there is no memory for the domain. */
static bool make_for(int id)
{
	struct mem_cgroup *memcg = NULL;
	int ret = 0;

	if (id > 0) {
		rcu_read_lock();
		memcg = mem_cgroup_from_id(id);
		if (memcg && !css_tryget_online(&memcg->css))
			memcg = NULL;
		rcu_read_unlock();
	}
	if (memcg || id == WHOLE_SYSTEM)
		ret = make_domain(memcg);
	if (memcg)
		css_put(&memcg->css);
	return !ret;
}

static void remove_outgrown(void)
{
	struct mcube_ubm_domain *d, *next;

	mutex_lock(&mcube_ubm_domains_lock);
	list_for_each_entry_safe(d, next, &mcube_ubm_domains, node) {
		if (READ_ONCE(d->outgrown))
			remove_domain(d);
	}
	mutex_unlock(&mcube_ubm_domains_lock);
}

static void make_wanted(struct work_struct *work)
{
	struct request *request;
	int id;

	remove_outgrown();
	for (request = requests; request < requests + REQUESTS; request++) {
		id = atomic_read(&request->wanted);
		if (!id)
			continue;
		if (!make_for(id)) {
			mcube_ubm_count(MCUBE_UBM_NO_MEMORY, 1);
			WRITE_ONCE(request->not_before, jiffies + RETRY_DELAY);
			WRITE_ONCE(request->failed, id);
		}
		atomic_set(&request->wanted, 0);
	}
}

/**
 * mcube_ubm_domain_want() - a memory cgroup without a domain reclaims
 * @folio: a page-cache folio of the memory cgroup, locked.
 *
 * Context: reclaim; allocates nothing.
 */
void mcube_ubm_domain_want(struct folio *folio)
{
	struct mem_cgroup *memcg;
	struct request *request;
	int id = WHOLE_SYSTEM;

	rcu_read_lock();
	memcg = folio_memcg_rcu(folio);
	if (memcg)
		id = mem_cgroup_online(memcg) ? mem_cgroup_id(memcg) : 0;
	request = &requests[(unsigned int)id % REQUESTS];
	/* In the read section: see mcube_ubm_domains_wait(). */
	if (id && !atomic_read(&request->wanted) &&
	    !(READ_ONCE(request->failed) == id &&
	      time_before(jiffies, READ_ONCE(request->not_before))) &&
	    !atomic_cmpxchg(&request->wanted, 0, id))
		queue_work(system_unbound_wq, &make_work);
	rcu_read_unlock();
}

/* See mcube_ubm_offline(); sleeps. */
void __mcube_ubm_offline(struct mem_cgroup *memcg)
{
	struct mcube_ubm_domain *d;

	mutex_lock(&mcube_ubm_domains_lock);
	d = rcu_dereference_protected(memcg->mcube_ubm,
				      lockdep_is_held(&mcube_ubm_domains_lock));
	if (d)
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
	mutex_lock(&mcube_ubm_domains_lock);
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
	cancel_work_sync(&make_work);
	/* The work item may have been canceled, and failures are of long ago. */
	memset(requests, 0, sizeof(requests));
	rcu_barrier();
}
