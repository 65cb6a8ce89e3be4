// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of block devices
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Adjacent pages of a fill are read by one bio.  The last bio is on the stack, and the
 * others are chained to it, so that a wait for the last one is a wait for all:
 *
 *   pages of the fill    0 1 2 . 4 5 . . 8 9       . is in a set already
 *   bios                 [---]   [-]     [=]       - allocated, = on the stack
 *
 * After an error it is not known which page cannot be read.  Then the pages are read one
 * by one, so that a bad sector fails no other page.  Asynchronous reads have no bio on the
 * stack; after an error all their pages fail, and the reader reads again and waits.
 *
 * The folios need no lock, as nobody but the fill knows them.
 */

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/minmax.h>

#include "fill.h"

static void add_run(struct bio *bio, const struct setcache_fill *fill, unsigned int first,
		    unsigned int nr)
{
	bio->bi_iter.bi_sector = (sector_t)(fill->first + first) << PAGE_SECTORS_SHIFT;
	for (; nr; nr--, first++)
		__bio_add_page(bio, folio_page(setcache_folio(&fill->part[first]), 0),
			       PAGE_SIZE, 0);
}

/* Read all pages; returns an error if some could not be read. */
static int read_runs(struct block_device *bdev, const struct setcache_fill *fill)
{
	struct bio_vec vec[SETCACHE_BATCH] __uninitialized;
	unsigned int first = 0, left = fill->reserved, nr;
	struct bio last, *bio = NULL;
	struct blk_plug plug;
	int ret;

	bio_init(&last, bdev, vec, ARRAY_SIZE(vec), REQ_OP_READ);
	for (;; first += nr) {
		while (!fill->part[first].reserved)
			first++;
		nr = setcache_run_at(fill, first);
		left -= nr;
		if (!left)
			break;
		/* A plug is worth its cost only where there are several bios. */
		if (!bio)
			blk_start_plug(&plug);
		bio = bio_alloc(bdev, nr, REQ_OP_READ, GFP_NOIO);
		add_run(bio, fill, first, nr);
		bio_chain(bio, &last);
		submit_bio(bio);
	}
	add_run(&last, fill, first, nr);
	ret = submit_bio_wait(&last);
	if (bio)
		blk_finish_plug(&plug);
	bio_uninit(&last);
	return ret;
}

static bool read_page(struct block_device *bdev, const struct setcache_fill *fill,
		      unsigned int i)
{
	struct bio_vec vec;
	struct bio bio;
	int ret;

	bio_init(&bio, bdev, &vec, 1, REQ_OP_READ);
	add_run(&bio, fill, i, 1);
	ret = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return !ret;
}

/**
 * setcache_read_block() - read pages of a block device
 * @fill: the pages; those that could not be read are marked.
 *
 * Context: process, sleeps until the pages have been read.
 */
void setcache_read_block(struct setcache_fill *fill)
{
	struct block_device *bdev = I_BDEV(fill->mapping->host);
	unsigned int i;

	if (!read_runs(bdev, fill))
		return;
	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved)
			fill->part[i].failed = fill->reserved == 1 ||
					       !read_page(bdev, fill, i);
}

/**
 * setcache_submit_block() - begin to read pages of a block device
 * @fill: the pages.
 * @left: incremented for each bio.
 * @end: called when a bio has ended; puts the bio.
 * @private: for @end.
 *
 * Context: process; waits for memory and requests, not until the pages have been read.
 */
void setcache_submit_block(const struct setcache_fill *fill, atomic_t *left,
			   bio_end_io_t *end, void *private)
{
	struct block_device *bdev = I_BDEV(fill->mapping->host);
	unsigned int first, nr;
	struct bio *bio;

	for (first = 0; first < fill->nr; first += max(nr, 1U)) {
		nr = setcache_run_at(fill, first);
		if (!nr)
			continue;
		bio = bio_alloc(bdev, nr, REQ_OP_READ, GFP_NOIO);
		add_run(bio, fill, first, nr);
		bio->bi_end_io = end;
		bio->bi_private = private;
		atomic_inc(left);
		submit_bio(bio);
	}
}
