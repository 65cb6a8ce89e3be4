// SPDX-License-Identifier: GPL-2.0
/*
 * The address map: page frame number -> cache color, DRAM bank
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A value is a vector of parities, one per XOR mask, and above it entries of
 * periodic tables for what parities cannot express (three channels).  The
 * parities are linear, which offset.c makes use of.
 *
 * Pure: the file is built into the kernel and into a user-space test.
 */

#include <asm/page.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/gcd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mcube_map.h>
#include <linux/string.h>

#include "dim.h"

static unsigned int table_parts(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, sum = 0;

	for (i = 0; i < d->nr_tables; i++)
		sum += mcube_table_part(d, &d->table[i], pfn);
	return sum;
}

/**
 * mcube_dim_value() - color or bank of a page
 * @d: a valid dimension
 * @pfn: page frame number, of an address of at most MCUBE_MAX_PHYS_BITS bits
 *
 * This is the definition of the map; containers use struct mcube_offset_map.
 *
 * Return: the value, below @d->nr_values.
 */
unsigned int mcube_dim_value(const struct mcube_dim *d, u64 pfn)
{
	return mcube_parities(d, pfn) + table_parts(d, pfn);
}

/**
 * mcube_dim_order() - the values in the order of the frames that have them
 * @d: a valid dimension
 * @order: filled in with the @d->nr_values values
 *
 * Frames 0, 1, 2, 3, ... have the values in this order, where a value that
 * occurred before is left out:
 *
 *   frame               1   2   4       8
 *   its value           a   b   a ^ b   c          a ^ b adds no new value
 *   order       0   a   b   a ^ b   c   a ^ c   b ^ c   a ^ b ^ c
 *
 * So order[k] is the XOR of the independent values of frames 1, 2, 4, ... that
 * bits 0, 1, 2, ... of k choose.  The values of an aligned block of frames are
 * those of the first block, XOR a constant.  The first values of the order are
 * thus the values of whole blocks, of any size, as far as the number allows.
 * Memory has the lowest bits first, but all bits count: masks are independent,
 * so some frames have each value.
 *
 * Tables are not linear: with a table the order is numeric.
 */
void mcube_dim_order(const struct mcube_dim *d, u8 *order)
{
	unsigned int bit, i, nr = 1, value;

	order[0] = 0;
	for (; d->nr_tables && nr < d->nr_values; nr++)
		order[nr] = nr;
	for (bit = 0; nr < d->nr_values && bit < MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; bit++) {
		value = mcube_parities(d, 1ULL << bit);
		if (memchr(order, value, nr))
			continue;
		for (i = 0; i < nr; i++)
			order[nr + i] = order[i] ^ value;
		nr *= 2;
	}
}

/* The factor of the period that is odd. */
static unsigned int odd_part(const struct mcube_table *t)
{
	return t->len >> __ffs(t->len);
}

/*
 * The bits of a frame number that choose entries: the lowest bits of the index of each
 * table, as many as the period has factors of two.  If two tables have an odd factor in
 * common, the bits between their shifts count too: these bits decide how the residues of
 * both indices belong together.
 */
static u64 tied_bits(const struct mcube_dim *d)
{
	const struct mcube_table *t, *u;
	u64 tied = 0;

	for (t = d->table; t < d->table + d->nr_tables; t++) {
		tied |= (BIT_ULL(__ffs(t->len)) - 1) << t->shift;
		for (u = d->table; u < t; u++)
			if (gcd(odd_part(t), odd_part(u)) > 1)
				tied |= (BIT_ULL(t->shift) - 1) ^ (BIT_ULL(u->shift) - 1);
	}
	return tied;
}

/*
 * Does every value have pages?  The parities of a page are the sum (XOR) of one vector
 * per address bit.  The tied bits are tried out, together with the residues that the
 * tables can have.  Bits above all tables and masks let an odd period meet each of its
 * residues, whatever the bits below are.  All other bits are free, so with some parities
 * their sum with each element of the span of the free bits occurs.  Without tables this
 * tests that the masks are linearly independent.
 */
static int check_values(const struct mcube_dim *d, const char **why)
{
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	const struct mcube_table *t;
	u8 span[MCUBE_MAX_MASKS] = { };
	unsigned int bit, w, value, want = d->nr_values, high = 0;
	u64 tied = tied_bits(d), x = 0, y, odd = 1;

	for (t = d->table; t < d->table + d->nr_tables; t++) {
		odd *= odd_part(t) / gcd(odd, odd_part(t));
		high = max_t(unsigned int, high, t->shift + __ffs(t->len));
	}
	*why = "the tables are too long, or too far apart, to be checked together";
	if (hweight64(tied) > ilog2(MCUBE_MAX_TRIES) || odd << hweight64(tied) > MCUBE_MAX_TRIES)
		return -EINVAL;

	for (bit = 0; bit < MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; bit++) {
		if (!(tied >> bit & 1) && mcube_span_add(span, mcube_parities(d, 1ULL << bit)))
			want /= 2;
	}

	bitmap_zero(seen, MCUBE_MAX_VALUES);
	do {
		w = mcube_reduce(span, mcube_parities(d, x));
		for (y = 0; y < odd; y++) {
			value = w + table_parts(d, x | y << high);
			want -= !__test_and_set_bit(value, seen);
			if (!want)
				return 0;
		}
		x = (x - tied) & tied;
	} while (x);
	*why = "masks and tables are not independent, some values never occur";
	return -EINVAL;
}

static int check_masks(const struct mcube_dim *d, const char **why)
{
	unsigned int i;

	if (d->nr_masks > MCUBE_MAX_MASKS) {
		*why = "at most 8 masks";
		return -EINVAL;
	}
	for (i = 0; i < d->nr_masks; i++) {
		if (d->mask[i] >> MCUBE_MAX_PHYS_BITS) {
			*why = "physical addresses have at most 52 bits";
			return -EINVAL;
		}
		if (!(d->mask[i] >> PAGE_SHIFT)) {
			*why = "a mask needs a bit above those within a page";
			return -EINVAL;
		}
	}
	return 0;
}

static int check_table(const struct mcube_dim *d, unsigned int nr, const char **why)
{
	const struct mcube_table *t = &d->table[nr];
	unsigned int first = 0, scale = 1U << d->nr_masks, i;
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);

	if (nr) {
		first = t[-1].first + t[-1].len;
		scale = t[-1].scale * t[-1].nr;
	}
	*why = "a table has 2 or more entries, all tables together at most 256";
	if (t->len < 2 || t->len > MCUBE_MAX_ENTRIES - first)
		return -EINVAL;
	*why = "the shift of a table is at most 30";
	if (t->shift > MCUBE_MAX_TABLE_SHIFT)
		return -EINVAL;
	bitmap_zero(seen, MCUBE_MAX_VALUES);
	for (i = 0; i < t->len; i++)
		__set_bit(d->entry[first + i], seen);
	*why = "a table has to use every value from 0 to its largest";
	if (find_first_zero_bit(seen, MCUBE_MAX_VALUES) != bitmap_weight(seen, MCUBE_MAX_VALUES))
		return -EINVAL;
	*why = "a table with one value distinguishes nothing";
	if (bitmap_weight(seen, MCUBE_MAX_VALUES) == 1)
		return -EINVAL;
	*why = "more than 256 values";
	if (bitmap_weight(seen, MCUBE_MAX_VALUES) * scale > MCUBE_MAX_VALUES)
		return -EINVAL;
	*why = "a table was not added by mcube_dim_add_table()";
	return t->first == first && t->scale == scale && t->inverse == mcube_inverse(t->len) &&
	       t->nr == bitmap_weight(seen, MCUBE_MAX_VALUES) ? 0 : -EINVAL;
}

/**
 * mcube_dim_validate() - is a dimension valid?
 * @d: the dimension
 * @why: set to what is wrong, or NULL
 *
 * Invalid are masks without a bit that differs between pages, masks beyond 52
 * bits, and masks that depend on each other or on the tables: some values would
 * never occur, and their colors would have no memory.  A table is invalid if it
 * skips values, is constant, or is coarser than 2^30 pages.  More than 4 tables, more
 * than 256 entries in all of them and more than 256 values are invalid.  So are tables
 * that fall on containers in so many ways that offset maps could take more than
 * MCUBE_MAX_OFFSET_BYTES, or that have an odd factor in common and lie so far apart that
 * trying out their combinations takes too long.  A map that is neither linear over XOR
 * nor a few periodic tables cannot be expressed.
 *
 * Return: 0 or -EINVAL.
 */
int mcube_dim_validate(const struct mcube_dim *d, const char **why)
{
	unsigned int i, order, values = 1U << min_t(unsigned int, d->nr_masks, MCUBE_MAX_MASKS);
	const char *unused;
	int err;

	if (!why)
		why = &unused;
	err = check_masks(d, why);
	if (!err && d->nr_tables > MCUBE_MAX_TABLES) {
		*why = "at most 4 tables";
		err = -EINVAL;
	}
	for (i = 0; !err && i < d->nr_tables; i++) {
		err = check_table(d, i, why);
		values *= d->table[i].nr;
	}
	if (err)
		return err;
	if (d->nr_values != values) {
		*why = "the number of values does not fit masks and tables";
		return -EINVAL;
	}
	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		if (!mcube_offset_map_longs(d, order)) {
			*why = "the tables fall on containers in too many ways";
			return -EINVAL;
		}
	}
	err = check_values(d, why);
	if (!err)
		*why = NULL;
	return err;
}

static int accept(struct mcube_dim *d, const struct mcube_dim *new, const char **why)
{
	int err = mcube_dim_validate(new, why);

	if (!err)
		*d = *new;
	return err;
}

/**
 * mcube_dim_init() - make a dimension from masks
 * @d: the dimension
 * @mask: XOR masks of physical address bits, bit 0 of the value first
 * @nr_masks: number of masks
 * @why: set to what is wrong, or NULL
 *
 * Without masks the dimension has the one value 0.
 *
 * Return: 0, or -EINVAL (see mcube_dim_validate()) with @d unchanged.
 */
int mcube_dim_init(struct mcube_dim *d, const u64 *mask, unsigned int nr_masks,
		   const char **why)
{
	struct mcube_dim new;

	memset(&new, 0, sizeof(new));
	/* A number too large for its field becomes a smaller one that is refused too. */
	new.nr_masks = min_t(unsigned int, nr_masks, MCUBE_MAX_MASKS + 1);
	new.nr_values = 1U << new.nr_masks;
	if (nr_masks && nr_masks <= MCUBE_MAX_MASKS)
		memcpy(new.mask, mask, nr_masks * sizeof(*mask));
	return accept(d, &new, why);
}

/**
 * mcube_dim_add_table() - add a table to a dimension
 * @d: a valid dimension
 * @entry: entries of the table
 * @len: period of the table in entries
 * @shift: log2 of the pages per entry
 * @why: set to what is wrong, or NULL
 *
 * The number of values is multiplied by that of the table.
 *
 * Return: 0, or -EINVAL (see mcube_dim_validate()) with @d unchanged.
 */
int mcube_dim_add_table(struct mcube_dim *d, const u8 *entry, unsigned int len,
			unsigned int shift, const char **why)
{
	struct mcube_dim new = *d;
	struct mcube_table *t = &new.table[new.nr_tables];
	unsigned int i, first = 0;

	if (new.nr_tables == MCUBE_MAX_TABLES) {
		if (why)
			*why = "at most 4 tables";
		return -EINVAL;
	}
	if (new.nr_tables++)
		first = t[-1].first + t[-1].len;
	t->first = first;
	t->scale = d->nr_values;
	t->len = min_t(unsigned int, len, MCUBE_MAX_ENTRIES + 1);
	t->shift = min_t(unsigned int, shift, MCUBE_MAX_TABLE_SHIFT + 1);
	t->inverse = t->len ? mcube_inverse(t->len) : 0;
	for (i = 0; t->len <= MCUBE_MAX_ENTRIES - first && i < t->len; i++) {
		new.entry[first + i] = entry[i];
		t->nr = max_t(unsigned int, t->nr, entry[i] + 1U);
	}
	new.nr_values = min_t(unsigned int, d->nr_values * t->nr, U16_MAX);
	return accept(d, &new, why);
}

/**
 * mcube_dim_equal() - do two dimensions map alike?
 * @a: a valid dimension
 * @b: another valid dimension
 *
 * Return: true if masks and tables are the same.
 */
bool mcube_dim_equal(const struct mcube_dim *a, const struct mcube_dim *b)
{
	unsigned int i, used = 0;

	if (a->nr_masks != b->nr_masks || a->nr_tables != b->nr_tables ||
	    memcmp(a->mask, b->mask, a->nr_masks * sizeof(a->mask[0])))
		return false;
	for (i = 0; i < a->nr_tables; i++) {
		if (a->table[i].len != b->table[i].len || a->table[i].shift != b->table[i].shift)
			return false;
		used += a->table[i].len;
	}
	return !memcmp(a->entry, b->entry, used);
}
