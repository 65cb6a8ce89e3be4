/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of pages as plain arrays, for engines that are slow and easy to read.
 */
#ifndef MCUBE_REPLAY_ARRAY_H
#define MCUBE_REPLAY_ARRAY_H

#include <string.h>

#include <linux/types.h>

/* Most pages of an array. */
#define ARRAY_MOST	200

struct array {
	u32 nr;
	u64 id[ARRAY_MOST];
};

/* Where a page is, or -1. */
static inline int array_place(const struct array *a, u64 id)
{
	u32 i;

	for (i = 0; i < a->nr; i++)
		if (a->id[i] == id)
			return i;
	return -1;
}

/* Take a page out. */
static inline u64 array_take(struct array *a, u32 at)
{
	u64 id = a->id[at];

	a->nr--;
	memmove(&a->id[at], &a->id[at + 1], (a->nr - at) * sizeof(*a->id));
	return id;
}

#endif /* MCUBE_REPLAY_ARRAY_H */
