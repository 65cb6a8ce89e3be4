/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recoloring: migrate pages to other colors.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_ALLOC_RECOLOR_H
#define _MM_MCUBE_ALLOC_RECOLOR_H

#include <linux/types.h>

struct folio;
struct list_head;

/* Pages that all policies together may try to move within a second. */
#define MCUBE_RECOLOR_PER_SECOND	4096U

unsigned int mcube_recolor_grant(unsigned int want);
bool mcube_recolor_isolate(struct folio *folio, struct list_head *list);
unsigned int mcube_recolor(struct list_head *list, gfp_t gfp,
			   unsigned int *next);

#endif /* _MM_MCUBE_ALLOC_RECOLOR_H */
