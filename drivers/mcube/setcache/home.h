/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Homes: the memory nodes on which sets and their pages lie
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: numbers only.  A table gets the memory of 8 consecutive sets at a time, a segment.
 *
 *                      memory of sets                     pages
 *   interleave         segment by segment, round robin    set by set, round robin
 *   hash-home          the home of the segment            the home of the segment
 *
 * Sets with consecutive numbers are at the same position of consecutive groups, see table.c,
 * and a group is a range of the hash.  So the homes follow from the hash if the nodes share
 * the groups in order, by 8:
 *
 *   groups     0..7   8..15  16..23  24..31        32 groups, 4 nodes
 *   home       node 0 node 1 node 2  node 3        at all positions
 *
 * When the table grows a group becomes two, in the same range of the hash, and its pages stay
 * at home.  A table that has fewer than 8 groups for each node takes the nodes round robin, so
 * that no node is left out.  These first sets keep their homes as the table grows; a page that
 * would have to go from one home to another is dropped.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_HOME_H
#define _DRIVERS_MCUBE_SETCACHE_HOME_H

#include <linux/log2.h>
#include <linux/types.h>

/* Sets of a segment, as a power of two: at most those of a group. */
#define SETCACHE_HOME_SHIFT	3

/**
 * setcache_home() - the home of a set
 * @number: number of the set in its table.
 * @nodes: number of nodes, at least 1.
 *
 * Return: less than @nodes; the same for all sets of a segment.
 */
static inline u32 setcache_home(u32 number, u32 nodes)
{
	u32 segment = number >> SETCACHE_HOME_SHIFT, columns;

	/* The segments of a position, if a segment has one position only. */
	columns = segment ? 1U << ilog2(segment) >> SETCACHE_HOME_SHIFT : 0;
	if (columns < nodes)
		return segment % nodes;
	return (u64)(segment & (columns - 1)) * nodes >> ilog2(columns);
}

/**
 * setcache_set_node() - where the memory of a set lies
 * @number: number of the set.
 * @nodes: number of nodes, at least 1.
 * @homes: sets have homes.
 *
 * Return: less than @nodes.
 */
static inline u32 setcache_set_node(u32 number, u32 nodes, bool homes)
{
	return homes ? setcache_home(number, nodes) :
		       (number >> SETCACHE_HOME_SHIFT) % nodes;
}

/**
 * setcache_page_node() - where the pages of a set lie
 * @number: number of the set.
 * @nodes: number of nodes, at least 1.
 * @homes: sets have homes.
 *
 * Return: less than @nodes.
 */
static inline u32 setcache_page_node(u32 number, u32 nodes, bool homes)
{
	return homes ? setcache_home(number, nodes) : number % nodes;
}

/**
 * setcache_bundle() - put pages of the same home together
 * @home: homes of pages.
 * @nr: number of pages, at most 255.
 * @order: filled in with the numbers of the pages, home by home, and in order for each home.
 */
static inline void setcache_bundle(const u16 *home, unsigned int nr, u8 *order)
{
	unsigned int i, at;

	for (i = 0; i < nr; i++) {
		for (at = i; at && home[order[at - 1]] > home[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

#endif /* _DRIVERS_MCUBE_SETCACHE_HOME_H */
