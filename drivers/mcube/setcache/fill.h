/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that are filled together
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_FILL_H
#define _DRIVERS_MCUBE_SETCACHE_FILL_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "internal.h"

/**
 * enum setcache_obstacle - why a fill has no more pages
 * @SETCACHE_NO_OBSTACLE: it has all.
 * @SETCACHE_IS_CACHED: the page is in the page cache.
 * @SETCACHE_IS_BUSY: another fill reads the page.
 * @SETCACHE_IS_FULL: all ways of the set are in use.
 */
enum setcache_obstacle {
	SETCACHE_NO_OBSTACLE,
	SETCACHE_IS_CACHED,
	SETCACHE_IS_BUSY,
	SETCACHE_IS_FULL,
};

/**
 * struct setcache_part - a page of a fill: a way that the fill has pinned
 * @set: the set.
 * @hash: of the page.
 * @way: the way.
 * @reserved: the fill has reserved the way, and reads the page.
 * @direct: how many pages from this one on a direct read was to bring; 0 if none was.
 * @failed: the page could not be read.
 * @doomed: the page was killed while it was read.  Its blocks may have been those of another
 *          file by then, so nobody may see what was read.
 */
struct setcache_part {
	struct setcache_set *set;
	u64 hash;
	u8 way;
	bool reserved;
	u8 direct;
	bool failed;
	bool doomed;
};

/**
 * struct setcache_fill - pages that are filled together
 * @mapping: the file.
 * @file: its descriptor.
 * @cookie: its cookie.
 * @first: index of the first page.
 * @nr: number of pages.
 * @reserved: number of pages that are read.
 * @direct: direct reads may bring adjacent pages.
 * @later: the reader does not wait, and reads again later.
 * @part: the pages.
 */
struct setcache_fill {
	struct address_space *mapping;
	struct file *file;
	u64 cookie;
	pgoff_t first;
	unsigned int nr;
	unsigned int reserved;
	bool direct;
	bool later;
	struct setcache_part part[SETCACHE_BATCH];
};

static inline struct folio *setcache_folio(const struct setcache_part *part)
{
	return part->set->entry[part->way].page;
}

/* How many pages from @first on are adjacent and reserved. */
static inline unsigned int setcache_run_at(const struct setcache_fill *fill, unsigned int first)
{
	unsigned int end = first;

	while (end < fill->nr && fill->part[end].reserved)
		end++;
	return end - first;
}

/*
 * The last page that comes with a page.  A direct read unlocks its pages in order, and brings
 * the first ones, so its last page tells of all.
 */
static inline unsigned int setcache_last_with(const struct setcache_fill *fill, unsigned int i)
{
	return i + max(fill->part[i].direct, 1) - 1;
}

/* fill.c */
wait_queue_head_t *setcache_fill_queue(u64 hash);
bool setcache_is_cached(struct address_space *mapping, pgoff_t index);
enum setcache_obstacle setcache_fill_reserve(struct setcache_fill *fill,
					     struct setcache_key *key, pgoff_t last);
void setcache_fill_submit(struct setcache_fill *fill, unsigned int i,
			  wait_queue_entry_t *waiter);
bool setcache_fill_await(const struct setcache_fill *fill);
void setcache_fill_finish(struct setcache_fill *fill);
void setcache_fill_publish(struct setcache_fill *fill);
void setcache_fill_put(const struct setcache_fill *fill);

/* block.c */
void setcache_read_block(struct setcache_fill *fill);
void setcache_submit_block(const struct setcache_fill *fill, atomic_t *left,
			   bio_end_io_t *end, void *private);

/* direct.c */
bool setcache_direct_fits(struct file *file);
unsigned int setcache_submit_direct(struct setcache_fill *fill, atomic_t *left,
				    void (*done)(void *private), void *private);
bool setcache_direct_mend(struct setcache_fill *fill);

/* orphan.c */
int setcache_orphan_init(void);
void setcache_orphan_exit(void);
bool setcache_fill_leave(const struct setcache_fill *fill);

/* async.c */
ssize_t setcache_fill_later(struct kiocb *iocb, const struct setcache_fill *what,
			    struct setcache_key *key, pgoff_t last);

#endif /* _DRIVERS_MCUBE_SETCACHE_FILL_H */
