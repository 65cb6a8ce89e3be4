/* SPDX-License-Identifier: GPL-2.0 */
/* The invariant of the bins (alloc/bins.c), checked frame by frame and group by group. */
#ifndef MCUBE_BINS_CHECK_H
#define MCUBE_BINS_CHECK_H

#include "mcube_test.h"

#include "alloc/bins.h"

/* The frames of @free, and no other frame, are in bins, and represent all free groups. */
static inline void check_bins(struct __test_metadata *_metadata, const struct mcube_bins *b,
			      const bool *free)
{
	unsigned int level, off, n = 1U << b->order;
	static u8 seen[MCUBE_MAX_PAGES];
	struct page *page;

	memset(seen, 0, sizeof(seen));
	for (level = 0; level <= b->order; level++) {
		ASSERT_EQ(!!(b->nonempty & BIT(level)),
			  !list_empty(&b->bin[level]));
		list_for_each_entry(page, &b->bin[level], lru) {
			off = page - b->base;
			ASSERT_EQ(page->private, level);
			ASSERT_EQ(seen[off], 0);
			seen[off]++;
		}
	}
	for (off = 0; off < n; off++) {
		ASSERT_EQ(seen[off], free[off]);
		ASSERT_EQ(!!test_bit(off, b->free), free[off]);
	}
	for (level = 0; level <= b->order; level++) {
		for (off = 0; off < n; off += 1U << level) {
			unsigned int i, reps = 0;
			bool all = true;

			for (i = off; i < off + (1U << level); i++) {
				all &= free[i];
				reps += free[i] && b->base[i].private >= level;
			}
			ASSERT_EQ(reps, all);
		}
	}
}

#endif /* MCUBE_BINS_CHECK_H */
