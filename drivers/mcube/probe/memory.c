// SPDX-License-Identifier: GPL-2.0
/*
 * The probe: uncached memory, and the cost of a pair of accesses
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The memory is this module's own, in blocks of the page allocator.  A block has one
 * mapping, the kernel's direct mapping, and set_memory_uc() changes that one: no frame is
 * ever mapped in two ways that differ in caching, which x86 forbids.  Blocks are whole
 * large pages, so that a mapping of 2 MiB changes as it is; a mapping of 1 GiB is split
 * into such of 2 MiB, and stays split.
 *
 * A block goes back to the page allocator only after set_memory_wb() has succeeded.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/capability.h>
#include <linux/cc_platform.h>
#include <linux/compiler.h>
#include <linux/cpufeature.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/set_memory.h>
#include <linux/sort.h>

#include <asm/msr.h>

#include "internal.h"

/**
 * probe_refused() - why the caller may not probe
 *
 * As /dev/mem: the probe tells physical addresses, and its timing tells of the memory's
 * wiring.  Guests of Xen without hardware help do not own their page tables, and guests with
 * encrypted memory share attributes with the encryption.
 *
 * Context: process.
 * Return: 0, %-EPERM without the right to it or under lockdown, or %-EOPNOTSUPP.
 */
int probe_refused(void)
{
	int ret;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	ret = security_locked_down(LOCKDOWN_DEV_MEM);
	if (ret)
		return ret;
	if (cpu_feature_enabled(X86_FEATURE_XENPV) || cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT)) {
		pr_warn_ratelimited("probe: this guest cannot change the attributes of memory\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * probe_max_mib() - how much memory may be held
 * @node: a node that has memory.
 *
 * Return: a quarter of the node's memory, at most %PROBE_MAX_MIB; in MiB.
 */
unsigned int probe_max_mib(int node)
{
	return min(PROBE_MAX_MIB,
		   rounddown(node_present_pages(node) / 4 >> (20 - PAGE_SHIFT), PROBE_MIB));
}

/* Give a block back as it came, or keep it: what is uncached must not be used as memory. */
static void give_back(void *block)
{
	if (set_memory_wb((unsigned long)block, PROBE_PAGES)) {
		pr_err("probe: %lu KiB stay uncached and are lost until the next boot\n",
		       PROBE_BYTES / SZ_1K);
		return;
	}
	free_pages((unsigned long)block, PROBE_ORDER);
}

/* Cycles of PROBE_PIECE pairs. The address of each access depends on the access before. */
static noinline u64 piece(const u64 *one, const u64 *other)
{
	unsigned long flags;
	unsigned int i;
	u64 from, to, v = 0;

	local_irq_save(flags);
	from = rdtsc_ordered();
	for (i = 0; i < PROBE_PIECE; i++) {
		v = READ_ONCE(one[v]);
		v = READ_ONCE(other[v]);
	}
	to = rdtsc_ordered();
	local_irq_restore(flags);
	return to - from;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * probe_pair() - access two lines in turn
 * @one: a line of zeros.
 * @other: another one, or the same.
 * @repeat: how often, a multiple of %PROBE_PIECE up to %PROBE_MAX_REPEAT.
 * @pieces: scratch memory.
 * @median: set to the median of pieces; NULL if nobody wants it.
 *
 * Interrupts are off for %PROBE_PIECE pairs at a time.
 *
 * Context: process; lets others run between pieces.
 * Return: the mean cost of a pair in hundredths of a cycle of the time-stamp counter.
 */
u64 probe_pair(const void *one, const void *other, unsigned int repeat,
	       struct probe_pieces *pieces, u64 *median)
{
	unsigned int nr = repeat / PROBE_PIECE, i;
	u64 sum = 0;

	for (i = 0; i < nr; i++) {
		pieces->cycles[i] = piece(one, other);
		sum += pieces->cycles[i];
		cond_resched();
	}
	if (median) {
		sort(pieces->cycles, nr, sizeof(u64), compare, NULL);
		*median = pieces->cycles[nr / 2] * 100 / PROBE_PIECE;
	}
	return div_u64(sum * 100, nr * PROBE_PIECE);
}

/* Median cost of a pair of lines in a block that nobody else uses. */
static u64 reference_cost(const void *block, struct probe_pieces *pieces)
{
	u64 median;

	probe_pair(block, block + PROBE_LINE, PROBE_REPEAT, pieces, &median);
	return median;
}

/* Hold one more block. */
static int hold_block(struct probe_memory *m, int node, struct probe_pieces *pieces)
{
	struct page *page;
	unsigned long index;
	void *block;
	int ret;

	/* Neither reclaims much nor kills: the memory is others' as well. */
	page = alloc_pages_node(node, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_THISNODE |
				__GFP_NORETRY | __GFP_NOWARN, PROBE_ORDER);
	if (!page)
		return -ENOMEM;
	block = page_address(page);
	index = page_to_pfn(page) >> PROBE_ORDER;
	if (!m->nr)
		m->cached = reference_cost(block, pieces);
	ret = set_memory_uc((unsigned long)block, PROBE_PAGES);
	if (!ret)
		ret = xa_err(xa_store(&m->blocks, index, block, GFP_KERNEL));
	if (ret) {
		/* A part of it may be uncached. */
		give_back(block);
		return ret;
	}
	if (!m->nr)
		m->uncached = reference_cost(block, pieces);
	m->nr++;
	return 0;
}

/* Start where most of the blocks follow within as much memory as they have. */
static void choose_first(struct probe_memory *m)
{
	unsigned long index, other;
	unsigned int most = 0, n;
	void *block;

	xa_for_each(&m->blocks, index, block) {
		n = 0;
		for (other = index; other < index + m->nr; other++)
			n += !!xa_load(&m->blocks, other);
		if (n > most) {
			most = n;
			m->first = index;
		}
		m->last = index;
	}
}

/**
 * probe_hold() - take memory and make it uncached
 * @m: where to; holds nothing yet.
 * @node: memory node.
 * @mib: how much, a multiple of %PROBE_MIB.
 * @pieces: scratch memory.
 *
 * Less memory is held where the node has less in whole blocks; @m tells how much.
 *
 * Context: process, sleeps.
 * Return: 0; %-EINTR after a signal, %-ENOMEM without a single block, or what
 * set_memory_uc() returns.  After an error nothing is held.
 */
int probe_hold(struct probe_memory *m, int node, unsigned int mib, struct probe_pieces *pieces)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < mib / PROBE_MIB && !ret; i++)
		ret = signal_pending(current) ? -EINTR : hold_block(m, node, pieces);
	if (ret == -ENOMEM && m->nr)
		ret = 0;
	if (ret)
		probe_drop(m);
	else
		choose_first(m);
	return ret;
}

/**
 * probe_drop() - give the memory back
 * @m: the memory; may hold nothing.
 *
 * Context: process, sleeps.
 */
void probe_drop(struct probe_memory *m)
{
	unsigned long index;
	void *block;

	xa_for_each(&m->blocks, index, block) {
		give_back(block);
		cond_resched();
	}
	xa_destroy(&m->blocks);
	m->nr = 0;
}

/**
 * probe_at() - address of a byte of the memory
 * @m: the memory.
 * @offset: of the byte, from the first byte of block @m->first.
 *
 * Return: the address, or NULL where no block is.
 */
void *probe_at(struct probe_memory *m, u64 offset)
{
	void *block = xa_load(&m->blocks, m->first + offset / PROBE_BYTES);

	return block ? block + offset % PROBE_BYTES : NULL;
}

/**
 * probe_is_uncached() - is uncached memory slower here?
 * @m: the memory.
 *
 * Hypervisors may overrule what a guest says of caching, and emulators have no caches.
 * Then a pair takes as long as in memory that is cached, two hits in the first level.
 * Two accesses of DRAM take more than twenty times as long.
 *
 * Return: true if a pair takes at least four times as long as in cached memory.
 */
bool probe_is_uncached(const struct probe_memory *m)
{
	return m->uncached >= 4 * m->cached;
}
