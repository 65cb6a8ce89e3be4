/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a placement policy may use of the mcube allocator.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A policy decides where pages go; the allocator obeys without knowing any
 * policy by name.  All that the allocator needs of a policy is data that the
 * allocator owns:
 *
 *   policy                                allocator
 *   mcube_policy_enable() -------------> list of policies; stop() of each,
 *                                         newest first, when the allocator goes off
 *   mcube_reserve_request(), _hop(),
 *   _lend() ---------------------------> reserved colors, hop table (reserve.c)
 *   partition() of each policy <-------- the reserved colors changed
 *   mcube_hint_save(), _restore() -----> color of the pages in between
 *
 *   free frames by color <-------------- color_stat.c, buddy.c
 *   used frames of a block by color <--- container.c
 *
 * No policy takes a lock of the allocator or reads the allocator's fields.
 */
#ifndef _MM_MCUBE_ALLOC_POLICY_H
#define _MM_MCUBE_ALLOC_POLICY_H

#include <linux/compiler.h>
#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/types.h>

struct page;
struct zone;

/*
 * Users set shares of the colors in sixteenths; this is the largest share that a
 * policy lets them reserve.
 */
#define MCUBE_SHARES		16U
#define MCUBE_RESERVE_MAX	8U

/**
 * struct mcube_policy - a placement policy
 * @name: name of the policy, the same as that of its directory in sysfs.
 * @prepare: computes what @start needs, or refuses the map; called with the
 *           policy lock held, while the policy is off.
 * @start: puts the policy in force under a map; called after @prepare with the
 *         policy lock held, while free frames are counted by color.
 * @stop: ends what @start began; called with the policy lock held.  The
 *        allocator withdraws the policy's requests afterwards and waits for an
 *        RCU grace period.
 * @partition: told the number of reserved colors when the number has changed,
 *             from @start on and until @stop; called with the policy lock held,
 *             also in the middle of @start, when the policy's own request
 *             changes the number.  May be NULL.  Makes no request.
 *
 * All other members belong to the allocator.
 */
struct mcube_policy {
	const char *name;
	int (*prepare)(const struct mcube_map *map);
	void (*start)(const struct mcube_map *map);
	void (*stop)(void);
	void (*partition)(unsigned int nr);

	/* private: guarded by the policy lock */
	struct list_head node;
	bool on;
	bool hop;
	bool lend;
	unsigned int want;
};

/* policy.c */
void mcube_policy_lock(void);
int mcube_policy_lock_interruptible(void);
void mcube_policy_unlock(void);
int mcube_policy_enable(struct mcube_policy *p);
int mcube_policy_disable(struct mcube_policy *p);
void mcube_policy_remove(struct mcube_policy *p);

/**
 * mcube_policy_enabled() - is a policy in force?
 * @p: the policy.
 *
 * Return: true if the policy is in force; without the policy lock that can
 * change at once.
 */
static inline bool mcube_policy_enabled(const struct mcube_policy *p)
{
	return READ_ONCE(p->on);
}

/* reserve.c */
void mcube_reserve_request(struct mcube_policy *p, unsigned int nr);
void mcube_reserve_hop(struct mcube_policy *p, bool on);
void mcube_reserve_lend(struct mcube_policy *p, bool on);
bool mcube_reserve_lent(void);
bool mcube_reserve_shared(const struct mcube_policy *p);
unsigned int mcube_reserve_nr(void);
unsigned int mcube_reserve_color(unsigned int i);
unsigned int mcube_reserve_polluting(unsigned int i);
bool mcube_reserve_has(unsigned int color);
unsigned long mcube_reserve_hopped(void);

/* color_stat.c */
bool mcube_color_stat_free(struct zone *zone, unsigned int *free);

/* buddy.c */
void mcube_buddy_count(struct zone *zone, unsigned int *found);

/* bulk.c */
unsigned int mcube_alloc_folios(gfp_t gfp, unsigned int order, unsigned int nr,
				struct list_head *folios);

/* container.c */
bool mcube_container_may_take(struct zone *zone);
bool mcube_zone_covered(struct zone *zone);
struct page *mcube_container_used(unsigned long pfn, const u8 *color,
				  unsigned int nr, unsigned long *frames);

/* config.c */
unsigned int mcube_container_pages(void);

#endif /* _MM_MCUBE_ALLOC_POLICY_H */
