// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that were freed last, by color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A frame that was freed a moment ago is still cached, and its struct page is.
 * Whoever gets it next clears it there, and takes no line from others.  The page
 * allocator's per-CPU lists see to that, first of all.  The store takes frames in
 * an order of its own: a program that has memory mapped, uses it and unmaps it
 * again and again would walk through all that is free, and through all colors of
 * the cache, however little it has at a time.
 *
 * So each CPU remembers what it freed last, a few frames of each color:
 *
 *   mcube_alloc_free()                     push             pop    alloc_hinted()
 *       |                             |                ^            ^
 *       |              color 0:  [ 123, 907, 411 ] ----+            |
 *       |              color 1:  [ 268,  76, 802 ]                 |
 *       v                                                           |
 *   the frame's container ------- is the frame free there still? ---+
 *
 * This is advice.  Frames stay in their containers, anybody may have taken one
 * meanwhile, and nothing need be given back: what is popped is looked up, and is
 * taken if it is free.
 *
 * Only while SRM-buffer is on, which is what asks for colors.  Without a hint
 * the order is the store's: M3 wants it random.
 */

#include <linux/bug.h>
#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "internal.h"

/* Of all colors together: a MiB, about what per-CPU lists hold as well. */
#define FRAMES	256U

struct pcp_frames {
	u8 head[MCUBE_MAX_VALUES];	/* by color: the last one pushed */
	unsigned long pfn[FRAMES];	/* depth of each color; 0: none */
};

static DEFINE_PER_CPU(struct pcp_frames, pcp_frames);

static unsigned int depth = 1;		/* a power of two */
static unsigned int nr;			/* colors, each with @depth frames */

/**
 * mcube_pcp_reset() - forget all, for another number of colors
 * @nr_colors: of the address map, at most MCUBE_MAX_VALUES.
 *
 * Context: nobody pushes or pops.
 */
void mcube_pcp_reset(unsigned int nr_colors)
{
	int cpu;

	BUILD_BUG_ON(FRAMES < MCUBE_MAX_VALUES);
	nr = nr_colors;
	depth = rounddown_pow_of_two(FRAMES / nr_colors);
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&pcp_frames, cpu), 0, sizeof(pcp_frames));
}

/**
 * mcube_pcp_push() - a frame was freed
 * @color: of the frame.
 * @pfn: of the frame.
 *
 * Context: interrupts are off.
 */
void mcube_pcp_push(unsigned int color, unsigned long pfn)
{
	struct pcp_frames *r = this_cpu_ptr(&pcp_frames);
	unsigned int head;

	if (WARN_ON_ONCE(color >= nr))
		return;
	head = (r->head[color] + 1) & (depth - 1);
	r->head[color] = head;
	r->pfn[color * depth + head] = pfn;
}

/**
 * __mcube_pcp_pop() - the frame of a color that this CPU freed last
 * @color: the color.
 *
 * Return: its page frame number, perhaps in use by now; 0 if none is known or
 * the present map has no such color.
 */
unsigned long __mcube_pcp_pop(unsigned int color)
{
	unsigned long flags, pfn;
	struct pcp_frames *r;
	unsigned int head;

	if (WARN_ON_ONCE(color >= nr))
		return 0;
	local_irq_save(flags);
	r = this_cpu_ptr(&pcp_frames);
	head = r->head[color];
	pfn = r->pfn[color * depth + head];
	if (pfn) {
		r->pfn[color * depth + head] = 0;
		r->head[color] = (head - 1) & (depth - 1);
	}
	local_irq_restore(flags);
	return pfn;
}
