// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU lists of the frames that were freed last, by color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A frame that was freed a moment ago is still in the cache, and so is its
 * struct page.  The next user clears the frame in the cache and evicts no other
 * line.  That is the first purpose of the page allocator's per-CPU lists.  The
 * bins have an order of their own: a program that maps, uses and unmaps memory
 * again and again would walk through all free frames, and through all colors of
 * the cache, however little memory it has at a time.
 *
 * So each CPU remembers a few frames of each color that it freed last:
 *
 *   mcube_alloc_free()                                mcube_hinted_alloc()
 *     |    |                                                ^       ^
 *     |    |  mcube_pcp_push()          mcube_pcp_pop()     |       |
 *     |    +--------> color 0: [123, 907, 411] -------------+       |
 *     |               color 1: [268,  76, 802]                      |
 *     v                                                             |
 *   bins of the frame's container ----- is the frame still free? ---+
 *
 * This is advice only.  The frames stay in the bins of their containers, any
 * CPU may have taken a frame in the meantime, and the lists need not be
 * emptied: a frame that is popped is looked up, and is taken if it is free.
 *
 * The lists are kept only while free frames are counted by color
 * (color_stat.c), that is while a policy is in force, as policies ask for
 * colors.  Without a hint the order of the bins holds: M3 wants a random
 * order.
 */

#include <linux/irqflags.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "color_stat.h"
#include "internal.h"

/* All colors together: a MiB, about as much as the per-CPU page lists hold. */
#define FRAMES	256U

struct pcp_frames {
	u8 head[MCUBE_MAX_VALUES];	/* by color: the frame pushed last */
	unsigned long pfn[FRAMES];	/* depth of each color; 0: no frame */
};

static DEFINE_PER_CPU(struct pcp_frames, pcp_frames);

static unsigned int depth = 1;		/* a power of two */

/*
 * Index of a frame.  A color that the map does not have stays within the array:
 * the caller checks colors, and a mistake there must not write elsewhere.
 */
static unsigned int slot(u8 color, unsigned int head)
{
	return (color * depth + head) % FRAMES;
}

/**
 * mcube_pcp_reset() - forget all frames and set the number of colors
 * @nr_colors: number of colors of the address map, at most MCUBE_MAX_VALUES.
 *
 * Context: no CPU pushes or pops.
 */
void mcube_pcp_reset(unsigned int nr_colors)
{
	int cpu;

	BUILD_BUG_ON(FRAMES < MCUBE_MAX_VALUES);
	depth = rounddown_pow_of_two(FRAMES / nr_colors);
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&pcp_frames, cpu), 0, sizeof(pcp_frames));
}

/**
 * mcube_pcp_push() - remember a frame that was freed
 * @color: color of the frame.
 * @pfn: page frame number.
 *
 * Context: interrupts are off.
 */
void mcube_pcp_push(u8 color, unsigned long pfn)
{
	struct pcp_frames *p = this_cpu_ptr(&pcp_frames);
	unsigned int head = (p->head[color] + 1) & (depth - 1);

	p->head[color] = head;
	p->pfn[slot(color, head)] = pfn;
}

/**
 * __mcube_pcp_pop() - the frame of a color that this CPU freed last
 * @color: the color.
 *
 * Return: the page frame number, perhaps in use by now; 0 if no frame is known.
 */
unsigned long __mcube_pcp_pop(u8 color)
{
	unsigned long flags, pfn;
	struct pcp_frames *p;
	unsigned int head;

	local_irq_save(flags);
	p = this_cpu_ptr(&pcp_frames);
	head = p->head[color];
	pfn = p->pfn[slot(color, head)];
	if (pfn) {
		p->pfn[slot(color, head)] = 0;
		p->head[color] = (head - 1) & (depth - 1);
	}
	local_irq_restore(flags);
	return pfn;
}
