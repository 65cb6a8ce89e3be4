// SPDX-License-Identifier: GPL-2.0
/*
 * Where the values of a dimension lie in a container, and which it has
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The parities are linear: the parities of a frame are those of the first frame of
 * its container XOR those of its offset.  So one offset map, with one bitmap of
 * offsets per value, is computed once and shared by all containers; a container
 * adds a XOR and the phase of the tables.
 *
 * Pure: the file is built into the kernel and into a user-space test.
 */

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/gcd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "dim.h"

/* A container has one entry of the table, or an entry holds for several containers. */
static bool is_coarse(const struct mcube_table *t, unsigned int order)
{
	return t->shift >= order;
}

/*
 * In how many ways can the tables of which a container has several entries fall on it?
 * A container starts at an entry that is a multiple of 2^(order - shift), modulo the
 * period.  0: in more ways than an offset map can have.
 */
static unsigned int count_fine(const struct mcube_dim *d, unsigned int order)
{
	const struct mcube_table *t;
	unsigned int nr = 1, ways;

	for (t = d->table; t < d->table + d->nr_tables; t++) {
		if (is_coarse(t, order))
			continue;
		ways = t->len >> min_t(unsigned int, __ffs(t->len), order - t->shift);
		nr *= ways / gcd(nr, ways);
		if (nr > U16_MAX)
			return 0;
	}
	return nr;
}

/* Of a coarse table only the value of the entry matters; 0: more than U16_MAX ways. */
static unsigned int count_phases(const struct mcube_dim *d, unsigned int order)
{
	unsigned int nr = count_fine(d, order), i;

	for (i = 0; i < d->nr_tables && nr <= U16_MAX; i++)
		if (is_coarse(&d->table[i], order))
			nr *= d->table[i].nr;
	return nr <= U16_MAX ? nr : 0;
}

/**
 * mcube_offset_map_longs() - memory that an offset map needs
 * @d: a valid dimension
 * @order: log2 of the pages of a container
 *
 * Return: number of longs to give to mcube_offset_map_build(), those of @d->nr_values
 * bitmaps in the common case (masks only); for a valid dimension at most
 * MCUBE_MAX_OFFSET_BYTES; 0 if @order is above MCUBE_MAX_ORDER.
 */
size_t mcube_offset_map_longs(const struct mcube_dim *d, unsigned int order)
{
	size_t longs;

	if (order > MCUBE_MAX_ORDER)
		return 0;
	longs = (size_t)count_phases(d, order) * d->nr_values * BITS_TO_LONGS(1U << order);
	return longs * sizeof(long) <= MCUBE_MAX_OFFSET_BYTES ? longs : 0;
}

/* What the fine tables and the parities give; @base: any container of the phase. */
static unsigned int fine_value(const struct mcube_dim *d, unsigned int order, u64 base,
			       unsigned int off)
{
	unsigned int i, value = mcube_parities(d, off);

	for (i = 0; i < d->nr_tables; i++)
		if (!is_coarse(&d->table[i], order))
			value += mcube_table_part(d, &d->table[i], base + off);
	return value;
}

/* What the coarse tables give, of phase / nr_fine. */
static unsigned int coarse_value(const struct mcube_dim *d, unsigned int order,
				 unsigned int phase)
{
	unsigned int value = 0;
	const struct mcube_table *t;

	for (t = d->table; t < d->table + d->nr_tables; t++) {
		if (!is_coarse(t, order))
			continue;
		value += phase % t->nr * t->scale;
		phase /= t->nr;
	}
	return value;
}

/**
 * mcube_offset_map_build() - compute the bitmaps of an offset map
 * @map: filled in
 * @d: a valid dimension
 * @order: log2 of the pages of a container
 * @mem: mcube_offset_map_longs() longs, which the offset map uses from now on
 */
void mcube_offset_map_build(struct mcube_offset_map *map, const struct mcube_dim *d,
			    unsigned int order, unsigned long *mem)
{
	size_t longs = mcube_offset_map_longs(d, order);
	unsigned int phase, off, value;
	u64 base;

	memset(map, 0, sizeof(*map));
	if (WARN_ON_ONCE(!longs))
		return;

	map->order = order;
	map->nr_phases = count_phases(d, order);
	map->nr_fine = count_fine(d, order);
	map->inverse = mcube_inverse(map->nr_fine);
	map->nr_values = d->nr_values;
	map->words = BITS_TO_LONGS(1U << order);
	map->sel = mem;

	memset(mem, 0, longs * sizeof(*mem));
	for (phase = 0; phase < map->nr_phases; phase++) {
		base = (u64)(phase % map->nr_fine) << order;
		for (off = 0; off < 1U << order; off++) {
			value = fine_value(d, order, base, off) +
				coarse_value(d, order, phase / map->nr_fine);
			__set_bit(off, mem + ((size_t)phase * map->nr_values + value) * map->words);
		}
	}
}

/**
 * mcube_offset_map_locate() - phase and XOR of one container
 * @map: the offset map
 * @d: the dimension that @map was built from
 * @base_pfn: first frame of the container, a multiple of 2^order
 * @phase: set to how the tables fall on the container
 * @xor: set to the parities of the first frame
 */
void mcube_offset_map_locate(const struct mcube_offset_map *map, const struct mcube_dim *d,
			     u64 base_pfn, u16 *phase, u16 *xor)
{
	unsigned int nr = map->nr_fine, sum = 0;
	const struct mcube_table *t;

	if (nr > 1)
		sum = mcube_modulo(base_pfn >> map->order, nr, map->inverse);
	for (t = d->table; t < d->table + d->nr_tables; t++) {
		if (!is_coarse(t, map->order))
			continue;
		sum += nr * (mcube_table_part(d, t, base_pfn) / t->scale);
		nr *= t->nr;
	}
	*phase = sum;
	*xor = mcube_parities(d, base_pfn);
}

/*
 * The values of a container, without those of coarse tables; @base: any container of the
 * phase.  The XOR of a container changes which values these are, but not how many.
 */
static unsigned int count_distinct(const struct mcube_dim *d, unsigned int order, u64 base)
{
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	unsigned int off;

	bitmap_zero(seen, MCUBE_MAX_VALUES);
	for (off = 0; off < 1U << order; off++)
		__set_bit(fine_value(d, order, base, off), seen);
	return bitmap_weight(seen, MCUBE_MAX_VALUES);
}

/**
 * mcube_dim_cover() - values that every container has
 * @d: a valid dimension
 * @order: log2 of the pages of a container
 *
 * Return: the least number of different values in an aligned block of 2^@order pages;
 * 0 if it takes too long to find out, which needs tables and a large @order.
 */
unsigned int mcube_dim_cover(const struct mcube_dim *d, unsigned int order)
{
	unsigned int least = MCUBE_MAX_VALUES, nr, phase, bit;
	u8 span[MCUBE_MAX_MASKS] = { };

	if (!d->nr_tables) {
		for (nr = 1, bit = 0; bit < order; bit++)
			nr <<= mcube_span_add(span, mcube_parities(d, 1ULL << bit));
		return nr;
	}
	nr = count_fine(d, order);
	if (!nr || order >= ilog2(MCUBE_MAX_TRIES) || nr > MCUBE_MAX_TRIES >> order)
		return 0;
	for (phase = 0; phase < nr; phase++)
		least = min(least, count_distinct(d, order, (u64)phase << order));
	return least;
}

/**
 * mcube_dim_cover_order() - the smallest containers that have all values
 * @d: a valid dimension
 *
 * M3 defines a container as the smallest piece of memory that covers all banks, 12 MiB on
 * the paper's machine.  Containers here are powers of two.
 *
 * Return: the smallest order at which every aligned block of 2^order pages has all
 * values; -ERANGE if it takes too long to find out.
 */
int mcube_dim_cover_order(const struct mcube_dim *d)
{
	unsigned int order, nr;

	for (order = 0; order <= MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; order++) {
		nr = mcube_dim_cover(d, order);
		if (nr == d->nr_values)
			return order;
		if (!nr)
			break;
	}
	return -ERANGE;
}
