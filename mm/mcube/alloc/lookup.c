// SPDX-License-Identifier: GPL-2.0
/*
 * Container descriptors by page frame number
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Freeing a page, maybe with interrupts off, has to find its container within a
 * few instructions.  Two loads suffice: a table indexed by memory section, and
 * for each section an array of descriptors, one for each aligned block.  A hole
 * in the physical address space costs eight bytes per section.
 *
 *   table->section[pfn >> PFN_SECTION_SHIFT] --> container[32]  (4 MiB each)
 *
 * mcube_lookup() in internal.h reads the table.  control.c and hotplug.c extend
 * it.
 *
 * While the allocator is on, the table only grows: no descriptor is moved or
 * freed under a reader.  A section has no containers if there was no memory for
 * its descriptors.  Writers hold mcube_control_lock, see policy.c.
 *
 * The descriptors are allocated without the help of the OOM killer: switching
 * the allocator on is to fail when memory is short, and not to wait for long.
 */

#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "internal.h"

#define DESCRIPTOR_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct mcube_lookup_table __rcu *mcube_lookup_table;

static unsigned int containers_per_section(void)
{
	return 1U << (PFN_SECTION_SHIFT - mcube_config.order);
}

static struct mcube_lookup_table *table_grow(struct mcube_lookup_table *old,
					     unsigned long nr)
{
	struct mcube_lookup_table *t;

	/* Room for memory that may be added later. */
	nr = max(nr, pfn_to_section_nr(max_possible_pfn) + 1);
	t = kvzalloc(struct_size(t, section, nr), DESCRIPTOR_GFP);
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
 * mcube_lookup_cover() - make descriptors for a range
 * @start_pfn: first page frame.
 * @nr_pages: length of the range.
 *
 * Context: process, mcube_control_lock held, mcube_config complete.
 * Return: 0, or -ENOMEM if part of the range has no descriptors.
 */
int mcube_lookup_cover(unsigned long start_pfn, unsigned long nr_pages)
{
	unsigned long first = pfn_to_section_nr(start_pfn), nr;
	unsigned long last = pfn_to_section_nr(start_pfn + nr_pages - 1);
	struct mcube_lookup_table *t =
		rcu_dereference_protected(mcube_lookup_table, true);
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
		c = kvcalloc(n, sizeof(*c), DESCRIPTOR_GFP);
		if (!c)
			return -ENOMEM;
		for (i = 0; i < n; i++) {
			spin_lock_init(&c[i].lock);
			INIT_LIST_HEAD(&c[i].node);
			INIT_LIST_HEAD(&c[i].all);
			c[i].owner = -1;
			c[i].user = -1;
			c[i].level = -1;
			mcube_block_map_init(&c[i].block_map,
					     section_nr_to_pfn(nr) +
					     ((unsigned long)i << mcube_config.order));
		}
		/* Pairs with READ_ONCE() in mcube_lookup(). */
		smp_store_release(&t->section[nr], c);
	}
	return 0;
}

/**
 * mcube_lookup_each() - visit all descriptors
 * @fn: called with each descriptor, active or not; no descriptor is locked.
 *
 * Context: process, mcube_control_lock held, the mcube allocator on; sleeps.
 */
void mcube_lookup_each(void (*fn)(struct mcube_container *c))
{
	struct mcube_lookup_table *t =
		rcu_dereference_protected(mcube_lookup_table, true);
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
 * Context: process, all containers inactive, no new readers; waits for the
 * present readers.
 */
void mcube_lookup_free(void)
{
	struct mcube_lookup_table *t =
		rcu_replace_pointer(mcube_lookup_table, NULL, true);
	unsigned long nr;

	if (!t)
		return;
	synchronize_rcu();
	for (nr = 0; nr < t->nr; nr++)
		kvfree(t->section[nr]);
	kvfree(t);
}
