/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Policy: which page of a set goes
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: the header of a set only.  See policy.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_POLICY_H
#define _DRIVERS_MCUBE_SETCACHE_POLICY_H

#include <linux/types.h>

#include "layout.h"

/* S3-FIFO counts no further: a page survives as many turns of the main queue. */
#define SETCACHE_S3FIFO_COUNT	3

/* The other policies count as far as a byte goes. */
#define SETCACHE_COUNT_MAX	255

void setcache_order_init(struct setcache_set *set);
bool setcache_order_touch(struct setcache_set *set, unsigned int way);
void setcache_policy_enter(struct setcache_set *set, unsigned int way,
			   enum setcache_policy policy);
unsigned int setcache_policy_victim(struct setcache_set *set, u16 among, u16 scope,
				    enum setcache_policy policy);
void setcache_policy_leave(struct setcache_set *set, unsigned int way);
void setcache_policy_forget(struct setcache_set *set);

/**
 * setcache_policy_hit() - a page was referenced
 * @set: the set.
 * @way: the way of the page.
 * @policy: the policy.
 *
 * Needs no lock.  A reference may be lost when two readers come at the same time.
 * S3-FIFO writes nothing for a page that has been referenced often, so that the
 * header stays in the caches of all CPUs.
 *
 * The reader for whom the page was filled comes back once, see setcache_set_await().  That
 * is the reference that brought the page in, and is not counted again.
 */
static inline void setcache_policy_hit(struct setcache_set *set, unsigned int way,
				       enum setcache_policy policy)
{
	u8 most = policy == SETCACHE_S3FIFO ? SETCACHE_S3FIFO_COUNT : SETCACHE_COUNT_MAX;
	u8 count = READ_ONCE(set->count[way]);
	u16 awaited = READ_ONCE(set->awaited);

	if (awaited >> way & 1) {
		WRITE_ONCE(set->awaited, awaited & ~(1U << way));
		return;
	}
	if (policy != SETCACHE_LRU && count < most)
		WRITE_ONCE(set->count[way], count + 1);
	if (policy != SETCACHE_S3FIFO && (READ_ONCE(set->order) & 0xf) != way)
		setcache_order_touch(set, way);
}

#endif /* _DRIVERS_MCUBE_SETCACHE_POLICY_H */
