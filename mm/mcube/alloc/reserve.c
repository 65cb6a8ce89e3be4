// SPDX-License-Identifier: GPL-2.0
/*
 * Reserved colors, and the colors that all other memory hops over
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pages that are used once evict from the cache the lines that are used again
 * and again.  A policy that knows such pages puts them in few colors, where
 * they compete with each other: the pollute partition.  The partition pays
 * only if other memory stays out, so the allocator owns it:
 *
 *   request            colors  0  1  2  3  4  5  6  7 ... 15
 *   policy A, 1/16            [A]
 *   policy B, 4/16            [B  B  B  B]
 *                             ------------
 *   partition                  0  1  2  3
 *   hop table                              4  5  6  7 ... 15
 *
 * There is one partition.  Policies ask for shares in sixteenths of all colors,
 * and the request with the most colors holds.  Among equal requests, the request
 * of the policy that was enabled first holds.
 *
 * While a policy wants memory to hop (bin hopping), each page without a hint
 * gets the color that follows the last color of its task in the hop table.
 */

#include <linux/array_size.h>
#include <linux/bitmap.h>
#include <linux/jump_label.h>
#include <linux/list.h>

#include "internal.h"
#include "policy.h"

DEFINE_STATIC_KEY_FALSE(mcube_hop_key);

struct mcube_reserve mcube_reserve;

/* Written and read with the policy lock held, oldest request first. */
static LIST_HEAD(requests);

/*
 * Compute the partition and the table of the other colors.  CPUs that hop
 * meanwhile may see entries of both tables.  Clear the rest of the table, so
 * that no CPU finds a color of an earlier map there.
 */
static void update_table(void)
{
	struct mcube_reserve *r = &mcube_reserve;
	const struct mcube_policy *p, *largest = NULL;
	unsigned int color, weight, most = 0, i, nr = 0;

	list_for_each_entry(p, &requests, request) {
		weight = bitmap_weight(p->reserved, MCUBE_MAX_VALUES);
		if (weight > most) {
			most = weight;
			largest = p;
		}
	}
	for (color = 0; color < mcube_config.color.nr_values; color++) {
		if (!largest || !test_bit(color, largest->reserved)) {
			WRITE_ONCE(r->hop[nr], color);
			nr++;
		}
	}
	for (i = nr; i < ARRAY_SIZE(r->hop); i++)
		WRITE_ONCE(r->hop[i], 0);
	WRITE_ONCE(r->nr_hop, nr);
	WRITE_ONCE(r->nr, mcube_config.color.nr_values - nr);
}

static void update_key(void)
{
	const struct mcube_policy *p;

	list_for_each_entry(p, &requests, request) {
		if (p->hop) {
			static_branch_enable_cpuslocked(&mcube_hop_key);
			return;
		}
	}
	static_branch_disable_cpuslocked(&mcube_hop_key);
}

/**
 * mcube_reserve_request() - ask for a share of the colors
 * @p: the policy, which is being started.
 * @colors: bitmap of the colors that the share amounts to; at least one color
 *          of the map is left out.
 *
 * A request holds until the policy is disabled.
 *
 * Context: process, the policy lock held, the hop key not yet enabled for @p.
 */
void mcube_reserve_request(struct mcube_policy *p, const unsigned long *colors)
{
	bitmap_copy(p->reserved, colors, MCUBE_MAX_VALUES);
	list_add_tail(&p->request, &requests);
	update_table();
}

/**
 * mcube_reserve_hop() - let memory without a hint hop, or no longer
 * @p: the policy, after mcube_reserve_request().
 * @on: whether the policy wants memory to hop.
 *
 * Memory hops while at least one policy wants it to.
 *
 * Context: process, the policy lock held.
 */
void mcube_reserve_hop(struct mcube_policy *p, bool on)
{
	p->hop = on;
	update_key();
}

/**
 * mcube_reserve_withdraw() - withdraw the request of a policy
 * @p: the policy, which has stopped, or could not start.
 *
 * Context: process, the policy lock held.
 */
void mcube_reserve_withdraw(struct mcube_policy *p)
{
	if (list_empty(&p->request))
		return;
	list_del_init(&p->request);
	p->hop = false;
	update_key();
	update_table();
}

/**
 * mcube_reserve_color() - a color that is not reserved
 * @i: any number; consecutive numbers yield all these colors in turn.
 *
 * Context: any; a policy is in force, or was a moment ago.
 * Return: the color.
 */
unsigned int mcube_reserve_color(unsigned int i)
{
	unsigned int nr = READ_ONCE(mcube_reserve.nr_hop);

	return READ_ONCE(mcube_reserve.hop[nr ? i % nr : 0]);
}

/**
 * mcube_reserve_hopped() - number of pages that hopped since boot
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_reserve_hopped(void)
{
	return mcube_alloc_stat(MCUBE_HOPPED);
}
