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
 *   policy A, 1 color         [A]
 *   policy B, 4 colors        [B  B  B  B]
 *                             ------------
 *   partition                  0  1  2  3
 *   hop table                              4  5  6  7 ... 15
 *
 * There is one partition.  Each policy in force asks for a number of colors, and
 * the largest number holds: the first colors of mcube_dim_order().  So a
 * partition that grows keeps the colors that it had, and the colors of large
 * folios lie in it as far as its size allows.  A policy hears of each change by
 * its function partition().
 *
 * While a policy wants memory to hop (bin hopping), each page without a hint
 * gets the next color of its task in the hop table.  Eight colors that follow each
 * other are a row.  The pages of a row get its colors in an order that differs from row
 * to row: place p of the row has the color at place p ^ key.
 *
 *   hop table        1 2 3 4 5 6 7 8   9 10 11 12 13 14 15
 *   pages of a task  1 2 3 4 5 6 7 8   9 10 ...               key 0
 *                    5 6 7 8 1 2 3 4   9 10 ...               key 4
 *                    2 1 4 3 6 5 8 7   9 10 ...               key 1
 *
 * So memory fills the colors of this cache evenly, and those of smaller caches as well,
 * whose colors are the low bits of these colors most often.  But pages that lie a power
 * of two apart have different colors, too.  Programs go through matrices in such steps,
 * and would have their pages in few sets of each cache.
 *
 * Reserved colors are lost to memory, also while no page is there that pollutes.  So
 * policies may lend them: then memory hops over all colors.  The partition does not
 * change by that, and the policies' own pages go there as before.  All policies that
 * asked for colors must lend them.  A policy that ends the lending moves the pages out
 * that have come meanwhile, as far as it likes.
 *
 * CPUs read the tables without a lock, each entry by itself.  The order changes
 * only with the map, and then only while no policy is in force.  Entries beyond
 * the colors of the map are 0, a color that every map has.
 */

#include <linux/array_size.h>
#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "internal.h"
#include "policy.h"

DEFINE_STATIC_KEY_FALSE(mcube_hop_key);

struct mcube_reserve mcube_reserve;

LIST_HEAD(mcube_policies);

static void update_order(const struct mcube_dim *dim)
{
	u8 order[MCUBE_MAX_VALUES] = { 0 }, place[MCUBE_MAX_VALUES];
	unsigned int i;

	mcube_dim_order(dim, order);
	/* Beyond the colors of the map: the last place, which is never reserved. */
	memset(place, MCUBE_MAX_VALUES - 1, sizeof(place));
	for (i = 0; i < dim->nr_values; i++)
		place[order[i]] = i;
	for (i = 0; i < MCUBE_MAX_VALUES; i++) {
		WRITE_ONCE(mcube_reserve.order[i], order[i]);
		WRITE_ONCE(mcube_reserve.place[i], place[i]);
	}
}

/* Does each policy that asked for reserved colors lend them? */
static bool all_lend(void)
{
	const struct mcube_policy *p;

	list_for_each_entry(p, &mcube_policies, node)
		if (p->want && !p->lend)
			return false;
	return true;
}

/*
 * CPUs that hop meanwhile may see entries of both hop tables.  Clear the rest of
 * the table, so that no CPU finds a color of an earlier map there.
 */
static void update_hop(unsigned int nr)
{
	struct mcube_reserve *r = &mcube_reserve;
	unsigned int all = mcube_config.color.nr_values, i;

	for (i = 0; i < ARRAY_SIZE(r->hop); i++)
		WRITE_ONCE(r->hop[i], i < all ? r->order[(nr + i) % all] : 0);
	WRITE_ONCE(r->nr_kept, all - nr);
	WRITE_ONCE(r->nr_hop, all_lend() ? all : all - nr);
}

/* Let the largest request hold; tell policies if that changes the partition. */
static void update_partition(void)
{
	const struct mcube_policy *p;
	unsigned int nr = 0;

	list_for_each_entry(p, &mcube_policies, node)
		nr = max(nr, p->want);
	nr = min(nr, mcube_config.color.nr_values - 1U);
	update_order(&mcube_config.map->color);
	update_hop(nr);
	if (nr == mcube_reserve.nr)
		return;
	WRITE_ONCE(mcube_reserve.nr, nr);
	list_for_each_entry(p, &mcube_policies, node)
		if (p->partition)
			p->partition(nr);
}

static void update_key(void)
{
	const struct mcube_policy *p;

	list_for_each_entry(p, &mcube_policies, node) {
		if (p->hop) {
			static_branch_enable_cpuslocked(&mcube_hop_key);
			return;
		}
	}
	static_branch_disable_cpuslocked(&mcube_hop_key);
}

/**
 * mcube_reserve_request() - ask for a number of reserved colors
 * @p: the policy, in force or being started.
 * @nr: number of colors, 0 for none; replaces what the policy asked for before.
 *
 * The partition has as many colors as the largest request of all policies, but at
 * least one color of the map is left out.  A request holds until the policy is
 * disabled.
 *
 * Context: process, the policy lock held.  Calls partition() of all policies in
 * force, and of @p, if the partition changes.
 */
void mcube_reserve_request(struct mcube_policy *p, unsigned int nr)
{
	p->want = nr;
	update_partition();
}
EXPORT_SYMBOL_NS_GPL(mcube_reserve_request, MCUBE);

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
EXPORT_SYMBOL_NS_GPL(mcube_reserve_hop, MCUBE);

/**
 * mcube_reserve_lend() - lend the reserved colors to memory, or no longer
 * @p: the policy, in force or being started.
 * @on: whether the policy lends them.
 *
 * Context: process, the policy lock held.
 */
void mcube_reserve_lend(struct mcube_policy *p, bool on)
{
	if (p->lend == on)
		return;
	p->lend = on;
	update_partition();
}

/**
 * mcube_reserve_lent() - does memory hop over the reserved colors, too?
 *
 * Context: any.
 * Return: true if colors are reserved and lent; without the policy lock that can change
 * at once.
 */
bool mcube_reserve_lent(void)
{
	return READ_ONCE(mcube_reserve.nr_hop) > READ_ONCE(mcube_reserve.nr_kept);
}

/**
 * mcube_reserve_shared() - has another policy asked for reserved colors?
 * @p: a policy.
 *
 * Context: process, the policy lock held.
 * Return: true if pages of another policy may lie in the reserved colors.
 */
bool mcube_reserve_shared(const struct mcube_policy *p)
{
	const struct mcube_policy *other;

	list_for_each_entry(other, &mcube_policies, node)
		if (other != p && other->want)
			return true;
	return false;
}

/**
 * mcube_reserve_withdraw() - withdraw the requests of a policy
 * @p: the policy, which has stopped and is no longer in mcube_policies.
 *
 * Context: process, the policy lock held.
 */
void mcube_reserve_withdraw(struct mcube_policy *p)
{
	p->want = 0;
	p->hop = false;
	p->lend = false;
	update_key();
	update_partition();
}

/**
 * mcube_reserve_nr() - number of reserved colors
 *
 * Context: any.
 * Return: the number; without the policy lock that can change at once.
 */
unsigned int mcube_reserve_nr(void)
{
	return READ_ONCE(mcube_reserve.nr);
}
EXPORT_SYMBOL_NS_GPL(mcube_reserve_nr, MCUBE);

/**
 * mcube_reserve_polluting() - a color that is reserved
 * @i: any number; consecutive numbers yield all these colors in turn.
 *
 * Context: any; a policy is in force, or was a moment ago.
 * Return: the color; 0 if no color is reserved, see mcube_reserve_nr().
 */
unsigned int mcube_reserve_polluting(unsigned int i)
{
	unsigned int nr = READ_ONCE(mcube_reserve.nr);

	return READ_ONCE(mcube_reserve.order[nr ? i % nr : 0]);
}
EXPORT_SYMBOL_NS_GPL(mcube_reserve_polluting, MCUBE);

/**
 * mcube_reserve_has() - is a color reserved?
 * @color: the color, less than MCUBE_MAX_VALUES.
 *
 * Context: any; a policy is in force, or was a moment ago.
 * Return: true if the color is in the partition.
 */
bool mcube_reserve_has(unsigned int color)
{
	return READ_ONCE(mcube_reserve.place[color]) <
		READ_ONCE(mcube_reserve.nr);
}
EXPORT_SYMBOL_NS_GPL(mcube_reserve_has, MCUBE);

/**
 * mcube_reserve_color() - a color that is not reserved
 * @i: any number; consecutive numbers yield all these colors in turn.
 *
 * Context: any; a policy is in force, or was a moment ago.
 * Return: the color.
 */
unsigned int mcube_reserve_color(unsigned int i)
{
	unsigned int nr = READ_ONCE(mcube_reserve.nr_kept);

	return READ_ONCE(mcube_reserve.hop[nr ? i % nr : 0]);
}
EXPORT_SYMBOL_NS_GPL(mcube_reserve_color, MCUBE);

/**
 * mcube_reserve_hopped() - number of pages that hopped since boot
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_reserve_hopped(void)
{
	return mcube_alloc_stat(MCUBE_HOPPED);
}
