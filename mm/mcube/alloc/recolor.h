/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recoloring: migrate pages to other colors.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_ALLOC_RECOLOR_H
#define _MM_MCUBE_ALLOC_RECOLOR_H

#include <linux/gfp_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct folio;
struct list_head;
struct mm_struct;

/**
 * enum mcube_recolor_to - the colors that pages are moved to
 * @MCUBE_RECOLOR_SPREAD: the colors that are not reserved.
 * @MCUBE_RECOLOR_POLLUTE: the reserved colors.
 */
enum mcube_recolor_to {
	MCUBE_RECOLOR_SPREAD,
	MCUBE_RECOLOR_POLLUTE,
};

/**
 * struct mcube_recolor_budget - how many pages a policy has tried to move
 * @lock: guards all members below.
 * @start: when the present second began, in jiffies; 0 if none has yet.
 * @tried: pages tried in this second.
 */
struct mcube_recolor_budget {
	spinlock_t lock;	/* guards all members below */
	unsigned long start;
	unsigned int tried;
};

#define DEFINE_MCUBE_RECOLOR_BUDGET(_name)				\
	struct mcube_recolor_budget _name = {				\
		.lock = __SPIN_LOCK_UNLOCKED(mcube_recolor_budget.lock), \
	}

/* recolor.c */
unsigned int mcube_recolor_grant(struct mcube_recolor_budget *b,
				 unsigned int per_second, unsigned int want);
bool mcube_recolor_may(struct folio *folio);
bool mcube_recolor_isolate(struct folio *folio, struct list_head *list);
unsigned int mcube_recolor(struct list_head *list, gfp_t gfp,
			   enum mcube_recolor_to to, unsigned int *next);

/* recolor_mm.c */

/* At most this many addresses in a call of mcube_recolor_mm(). */
#define MCUBE_RECOLOR_BATCH		64U

/**
 * struct mcube_recolor_result - what became of pages that were to be moved
 * @moved: pages that were moved to a color of the side that was asked for.
 * @there: pages that had such a color already.
 * @refused: pages that stay where they are for another reason.
 * @split: large folios that were split.
 */
struct mcube_recolor_result {
	unsigned int moved;
	unsigned int there;
	unsigned int refused;
	unsigned int split;
};

int mcube_recolor_mm(struct mm_struct *mm, const unsigned long *addr,
		     unsigned int nr, enum mcube_recolor_to to, bool split,
		     unsigned int *next, struct mcube_recolor_result *result);

#endif /* _MM_MCUBE_ALLOC_RECOLOR_H */
