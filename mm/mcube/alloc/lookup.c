// SPDX-License-Identifier: GPL-2.0
/*
 * Container descriptors by page frame number
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Freeing a page has to find its container, with interrupts off, in a few
 * instructions.  Two loads do: a table indexed by memory section, and per
 * section an array of descriptors, one for each aligned block.  Holes in the
 * physical address space cost eight bytes a section.
 *
 *   table->section[pfn >> PFN_SECTION_SHIFT] ──> container[32]  (4 MiB each)
 *
 * The table only grows while the store is on: descriptors are never moved
 * or freed under a reader, and a section whose descriptors could not be
 * allocated is just not covered.  Writers hold mem_hotplug_lock and the
 * control mutex, see control.c.
 */

#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "internal.h"

struct mcube_lookup_table __rcu *mcube_lookup_table;

static unsigned int containers_per_section(void)
{
	return 1U << (PFN_SECTION_SHIFT - mcube_config.order);
}

static struct mcube_lookup_table *table_grow(struct mcube_lookup_table *old,
				      unsigned long nr)
{
	struct mcube_lookup_table *t;

	/* Room for what can be plugged in later. */
	nr = max(nr, pfn_to_section_nr(max_possible_pfn) + 1);
	t = kvzalloc(struct_size(t, section, nr), GFP_KERNEL);
	if (!t)
		return NULL;
	t->nr = nr;
	if (old)
		memcpy(t->section, old->section,
		       old->nr * sizeof(old->section[0]));
	rcu_assign_pointer(mcube_lookup_table, t);
	if (old) {
		synchronize_rcu();
		kvfree(old);
	}
	return t;
}

/**
 * mcube_lookup_cover() - have descriptors for a range
 * @start_pfn: first page frame.
 * @nr_pages: length of the range.
 *
 * Context: process, mem_hotplug_lock held.
 * Return: 0, or -ENOMEM when part of the range is not covered.
 */
int mcube_lookup_cover(unsigned long start_pfn, unsigned long nr_pages)
{
	unsigned long first = pfn_to_section_nr(start_pfn), nr;
	unsigned long last = pfn_to_section_nr(start_pfn + nr_pages - 1);
	struct mcube_lookup_table *t = rcu_dereference_protected(mcube_lookup_table, true);
	unsigned int i, n = containers_per_section();

	if (!t || last >= t->nr) {
		t = table_grow(t, last + 1);
		if (!t)
			return -ENOMEM;
	}
	for (nr = first; nr <= last; nr++) {
		struct mcube_container *c;

		if (t->section[nr] || !present_section_nr(nr))
			continue;
		c = kvcalloc(n, sizeof(*c), GFP_KERNEL);
		if (!c)
			return -ENOMEM;
		for (i = 0; i < n; i++) {
			spin_lock_init(&c[i].lock);
			INIT_LIST_HEAD(&c[i].node);
			INIT_LIST_HEAD(&c[i].all);
			c[i].owner = -1;
			c[i].level = -1;
		}
		/* Pairs with READ_ONCE() in mcube_lookup(). */
		smp_store_release(&t->section[nr], c);
	}
	return 0;
}

/**
 * mcube_lookup_each() - visit all descriptors
 * @fn: called with each, active or not, none of them locked.
 *
 * Context: process, mem_hotplug_lock held, the store on; sleeps.
 */
void mcube_lookup_each(void (*fn)(struct mcube_container *c))
{
	struct mcube_lookup_table *t = rcu_dereference_protected(mcube_lookup_table, true);
	unsigned int i, n = containers_per_section();
	unsigned long nr;

	for (nr = 0; t && nr < t->nr; nr++) {
		for (i = 0; t->section[nr] && i < n; i++)
			fn(t->section[nr] + i);
		cond_resched();
	}
}

/**
 * mcube_lookup_free() - free all descriptors
 *
 * Context: process, all containers inactive, no new readers; waits for those
 * that there are.
 */
void mcube_lookup_free(void)
{
	struct mcube_lookup_table *t = rcu_replace_pointer(mcube_lookup_table, NULL, true);
	unsigned long nr;

	if (!t)
		return;
	synchronize_rcu();
	for (nr = 0; nr < t->nr; nr++)
		kvfree(t->section[nr]);
	kvfree(t);
}
