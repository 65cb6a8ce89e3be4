/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that are filled together
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_FILL_H
#define _DRIVERS_MCUBE_SETCACHE_FILL_H

#include <linux/types.h>

#include "internal.h"

/**
 * struct setcache_part - a page of a fill: a way that the fill has pinned
 * @set: the set.
 * @hash: of the page.
 * @way: the way.
 * @reserved: the fill has reserved the way, and reads the page.
 * @failed: the page could not be read.
 */
struct setcache_part {
	struct setcache_set *set;
	u64 hash;
	u8 way;
	bool reserved;
	bool failed;
};

/**
 * struct setcache_fill - pages that are filled together
 * @mapping: the file.
 * @file: its descriptor.
 * @cookie: its cookie.
 * @first: index of the first page.
 * @nr: number of pages.
 * @reserved: number of pages that are read.
 * @part: the pages.
 */
struct setcache_fill {
	struct address_space *mapping;
	struct file *file;
	u64 cookie;
	pgoff_t first;
	unsigned int nr;
	unsigned int reserved;
	struct setcache_part part[SETCACHE_BATCH];
};

static inline struct folio *setcache_folio(const struct setcache_part *part)
{
	return part->set->entry[part->way].page;
}

void setcache_read_block(struct setcache_fill *fill);

#endif /* _DRIVERS_MCUBE_SETCACHE_FILL_H */
