// SPDX-License-Identifier: GPL-2.0
/*
 * The address map: page frame number -> cache color, DRAM bank
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A value is a vector of parities, one per XOR mask, and above it an entry of a
 * periodic table for what parities cannot express (three channels).  The
 * parities are linear: the parities of a frame are those of the first frame of
 * its container XOR those of its offset.  So one offset map, with one bitmap of
 * offsets per value, is computed once and shared by all containers; a container
 * adds a XOR and the phase of the table.
 *
 * Pure: the file is built into the kernel and into a user-space test.
 */

#include <asm/page.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mcube_map.h>
#include <linux/string.h>

static unsigned int parities(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, value = 0;

	for (i = 0; i < d->nr_masks; i++)
		value |= (hweight64((pfn << PAGE_SHIFT) & d->mask[i]) & 1) << i;
	return value;
}

static unsigned int table_index(const struct mcube_dim *d, u64 pfn)
{
	u32 index;

	div_u64_rem(pfn >> d->table_shift, d->table_len, &index);
	return index;
}

/**
 * mcube_dim_value() - color or bank of a page
 * @d: a valid dimension
 * @pfn: page frame number
 *
 * This is the definition of the map; containers use struct mcube_offset_map.
 *
 * Return: the value, below @d->nr_values.
 */
unsigned int mcube_dim_value(const struct mcube_dim *d, u64 pfn)
{
	unsigned int value = parities(d, pfn);

	if (d->table_len)
		value |= (unsigned int)d->table[table_index(d, pfn)] << d->nr_masks;
	return value;
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
 * A table is not linear: with a table the order is numeric.
 */
void mcube_dim_order(const struct mcube_dim *d, u8 *order)
{
	unsigned int bit, i, nr = 1, value;

	order[0] = 0;
	for (; d->table_len && nr < d->nr_values; nr++)
		order[nr] = nr;
	for (bit = 0; nr < d->nr_values && bit < MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; bit++) {
		value = parities(d, 1ULL << bit);
		if (memchr(order, value, nr))
			continue;
		for (i = 0; i < nr; i++)
			order[nr + i] = order[i] ^ value;
		nr *= 2;
	}
}

static unsigned int table_values(const struct mcube_dim *d)
{
	unsigned int i, top = 0;

	for (i = 0; i < d->table_len; i++)
		top = max_t(unsigned int, top, d->table[i]);
	return top + 1;
}

static unsigned int count_values(const struct mcube_dim *d)
{
	return table_values(d) << d->nr_masks;
}

/*
 * Does every value have pages?  The parities of a page are the sum (XOR) of one
 * vector per address bit.  The address bits that choose the table entry are
 * fixed for an entry, and all other bits are free.  So the vectors offset(i) +
 * span(other bits) occur with entry i.  Only the factors of two in table_len
 * tie an entry to address bits; whatever these bits are, an odd period meets
 * each of its residues.  Without a table this tests that the masks are linearly
 * independent.
 */
static bool every_value_occurs(const struct mcube_dim *d)
{
	DECLARE_BITMAP(span, MCUBE_MAX_VALUES);
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	unsigned int nr_parities = 1U << d->nr_masks;
	unsigned int tied = 0, bit, i, v, w, high;

	if (d->table_len)
		tied = __ffs(d->table_len);

	bitmap_zero(span, MCUBE_MAX_VALUES);
	__set_bit(0, span);
	for (bit = 0; bit < MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; bit++) {
		if (bit >= d->table_shift && bit < d->table_shift + tied)
			continue;
		w = parities(d, 1ULL << bit);
		if (test_bit(w, span))
			continue;
		for (v = 0; v < nr_parities; v++)
			if (test_bit(v, span))
				__set_bit(v ^ w, span);
	}

	bitmap_zero(seen, MCUBE_MAX_VALUES);
	for (i = 0; i < max_t(unsigned int, d->table_len, 1); i++) {
		high = 0;
		w = 0;
		if (d->table_len) {
			high = d->table[i] << d->nr_masks;
			w = parities(d, (u64)(i & ((1U << tied) - 1)) << d->table_shift);
		}
		for (v = 0; v < nr_parities; v++)
			if (test_bit(v, span))
				__set_bit(high | (v ^ w), seen);
	}
	return find_first_zero_bit(seen, MCUBE_MAX_VALUES) >= d->nr_values;
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

static int check_table(const struct mcube_dim *d, const char **why)
{
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	unsigned int i;

	if (!d->table_len) {
		*why = "a table shift without a table";
		return d->table_shift ? -EINVAL : 0;
	}
	if (d->table_len == 1 || d->table_len > MCUBE_MAX_TABLE) {
		*why = "a table has 2 to 64 entries";
		return -EINVAL;
	}
	if (d->table_shift > MCUBE_MAX_TABLE_SHIFT) {
		*why = "the shift of a table is at most 30";
		return -EINVAL;
	}
	bitmap_zero(seen, MCUBE_MAX_VALUES);
	for (i = 0; i < d->table_len; i++)
		__set_bit(d->table[i], seen);
	if (find_first_zero_bit(seen, MCUBE_MAX_VALUES) != table_values(d)) {
		*why = "a table has to use every value from 0 to its largest";
		return -EINVAL;
	}
	if (table_values(d) == 1) {
		*why = "a table with one value distinguishes nothing";
		return -EINVAL;
	}
	return 0;
}

/**
 * mcube_dim_validate() - is a dimension valid?
 * @d: the dimension
 * @why: set to what is wrong, or NULL
 *
 * Invalid are masks without a bit that differs between pages, masks beyond 52
 * bits, and masks that depend on each other or on the table: some values would
 * never occur, and their colors would have no memory.  A table is invalid if it
 * skips values, is constant, has more than 64 entries, or is coarser than 2^30
 * pages.  More than 256 values are invalid.  A map that is neither linear over
 * XOR nor periodic cannot be expressed.
 *
 * Return: 0 or -EINVAL.
 */
int mcube_dim_validate(const struct mcube_dim *d, const char **why)
{
	const char *unused;
	int err;

	if (!why)
		why = &unused;
	err = check_masks(d, why);
	if (!err)
		err = check_table(d, why);
	if (err)
		return err;
	if (count_values(d) > MCUBE_MAX_VALUES) {
		*why = "more than 256 values";
		return -EINVAL;
	}
	if (d->nr_values != count_values(d)) {
		*why = "the number of values does not fit masks and table";
		return -EINVAL;
	}
	if (!every_value_occurs(d)) {
		*why = "masks and table are not independent, some values never occur";
		return -EINVAL;
	}
	*why = NULL;
	return 0;
}

/**
 * mcube_dim_init() - make a dimension from masks and a table
 * @d: the dimension
 * @mask: XOR masks of physical address bits, bit 0 of the value first
 * @nr_masks: number of masks
 * @table: entries of the table, ignored if @table_len is 0
 * @table_len: period of the table, 0 for no table
 * @table_shift: log2 of the pages per entry
 * @why: set to what is wrong, or NULL
 *
 * Without masks and table the dimension has the one value 0.
 *
 * Return: 0, or -EINVAL (see mcube_dim_validate()) with @d unchanged.
 */
int mcube_dim_init(struct mcube_dim *d, const u64 *mask, unsigned int nr_masks,
		   const u8 *table, unsigned int table_len,
		   unsigned int table_shift, const char **why)
{
	struct mcube_dim new;
	int err;

	memset(&new, 0, sizeof(new));
	/*
	 * A number too large for its field becomes a smaller one that is
	 * refused too.
	 */
	new.nr_masks = min_t(unsigned int, nr_masks, MCUBE_MAX_MASKS + 1);
	new.table_len = min_t(unsigned int, table_len, MCUBE_MAX_TABLE + 1);
	new.table_shift = min_t(unsigned int, table_shift, MCUBE_MAX_TABLE_SHIFT + 1);
	if (nr_masks && nr_masks <= MCUBE_MAX_MASKS)
		memcpy(new.mask, mask, nr_masks * sizeof(*mask));
	if (table_len && table_len <= MCUBE_MAX_TABLE) {
		memcpy(new.table, table, table_len);
		new.nr_values = min_t(unsigned int, count_values(&new), U16_MAX);
	} else {
		new.nr_values = 1U << new.nr_masks;
	}

	err = mcube_dim_validate(&new, why);
	if (!err)
		*d = new;
	return err;
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
	return a->nr_masks == b->nr_masks && a->table_len == b->table_len &&
	       a->table_shift == b->table_shift &&
	       !memcmp(a->mask, b->mask, a->nr_masks * sizeof(a->mask[0])) &&
	       !memcmp(a->table, b->table, a->table_len);
}

/*
 * In how many ways can the table fall on a container?  If an entry covers a
 * whole container or more, only the value of the entry matters.  Otherwise a
 * container starts at an entry that is a multiple of 2^(order - shift), modulo
 * the period.
 */
static unsigned int count_phases(const struct mcube_dim *d, unsigned int order)
{
	if (!d->table_len)
		return 1;
	if (d->table_shift >= order)
		return table_values(d);
	return d->table_len >> min_t(unsigned int, __ffs(d->table_len),
				     order - d->table_shift);
}

/**
 * mcube_offset_map_longs() - memory that an offset map needs
 * @d: a valid dimension
 * @order: log2 of the pages of a container
 *
 * Return: number of longs to give to mcube_offset_map_build(), at most 64 * 256
 * bitmaps, in the common case (masks only) nr_values bitmaps; 0 if @order is
 * above MCUBE_MAX_ORDER.
 */
size_t mcube_offset_map_longs(const struct mcube_dim *d, unsigned int order)
{
	if (order > MCUBE_MAX_ORDER)
		return 0;
	return (size_t)count_phases(d, order) * d->nr_values * BITS_TO_LONGS(1U << order);
}

static unsigned int value_in_phase(const struct mcube_dim *d, unsigned int order,
				   unsigned int phase, unsigned int off)
{
	unsigned int entry;

	if (!d->table_len)
		return parities(d, off);
	if (d->table_shift >= order)
		return phase << d->nr_masks | parities(d, off);
	entry = ((phase << (order - d->table_shift)) + (off >> d->table_shift)) %
		d->table_len;
	return (unsigned int)d->table[entry] << d->nr_masks | parities(d, off);
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

	memset(map, 0, sizeof(*map));
	if (WARN_ON_ONCE(!longs))
		return;

	map->order = order;
	map->nr_phases = count_phases(d, order);
	map->nr_values = d->nr_values;
	map->words = BITS_TO_LONGS(1U << order);
	map->sel = mem;

	memset(mem, 0, longs * sizeof(*mem));
	for (phase = 0; phase < map->nr_phases; phase++) {
		for (off = 0; off < 1U << order; off++) {
			value = value_in_phase(d, order, phase, off);
			__set_bit(off, mem + ((size_t)phase * map->nr_values + value) * map->words);
		}
	}
}

/**
 * mcube_offset_map_locate() - phase and XOR of one container
 * @map: the offset map
 * @d: the dimension that @map was built from
 * @base_pfn: first frame of the container, a multiple of 2^order
 * @phase: set to how the table falls on the container
 * @xor: set to the parities of the first frame
 */
void mcube_offset_map_locate(const struct mcube_offset_map *map, const struct mcube_dim *d,
			     u64 base_pfn, u16 *phase, u16 *xor)
{
	u32 rem = 0;

	if (d->table_len && d->table_shift >= map->order)
		rem = d->table[table_index(d, base_pfn)];
	else if (d->table_len)
		div_u64_rem(base_pfn >> map->order, map->nr_phases, &rem);
	*phase = rem;
	*xor = parities(d, base_pfn);
}
