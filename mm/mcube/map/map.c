// SPDX-License-Identifier: GPL-2.0
/*
 * The address map: page frame number -> cache color, DRAM bank
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A value is a vector of parities, one per XOR mask, and above it entries of
 * periodic tables for what parities cannot express (three channels).  The
 * parities are linear: the parities of a frame are those of the first frame of
 * its container XOR those of its offset.  So one offset map, with one bitmap of
 * offsets per value, is computed once and shared by all containers; a container
 * adds a XOR and the phase of the tables.
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

/* Most pages that are looked at to find out about combinations of tables. */
#define MAX_TRIES	BIT(18)

static unsigned int parities(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, value = 0;

	for (i = 0; i < d->nr_masks; i++)
		value |= (hweight64((pfn << PAGE_SHIFT) & d->mask[i]) & 1) << i;
	return value;
}

/* @n % @len, with @inverse = 2^64 / @len rounded up; exact if n * len <= 2^64. */
static u32 modulo(u64 n, u32 len, u64 inverse)
{
	return n - mul_u64_u64_shr(n, inverse, 64) * len;
}

/* What a table adds to the value of a page. */
static unsigned int table_part(const struct mcube_dim *d, const struct mcube_table *t, u64 pfn)
{
	return d->entry[t->first + modulo(pfn >> t->shift, t->len, t->inverse)] * t->scale;
}

static unsigned int table_parts(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, sum = 0;

	for (i = 0; i < d->nr_tables; i++)
		sum += table_part(d, &d->table[i], pfn);
	return sum;
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
	return parities(d, pfn) + table_parts(d, pfn);
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
		value = parities(d, 1ULL << bit);
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

/* The element of @w + span that has none of the leading bits of the span. */
static unsigned int reduce(const u8 *span, unsigned int w)
{
	int bit;

	for (bit = MCUBE_MAX_MASKS - 1; bit >= 0; bit--)
		if (w & BIT(bit))
			w ^= span[bit];
	return w;
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
	if (hweight64(tied) > ilog2(MAX_TRIES) || odd << hweight64(tied) > MAX_TRIES)
		return -EINVAL;

	for (bit = 0; bit < MCUBE_MAX_PHYS_BITS - PAGE_SHIFT; bit++) {
		w = tied >> bit & 1 ? 0 : reduce(span, parities(d, 1ULL << bit));
		if (!w)
			continue;
		span[fls(w) - 1] = w;
		want /= 2;
	}

	bitmap_zero(seen, MCUBE_MAX_VALUES);
	do {
		w = reduce(span, parities(d, x));
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

static u64 inverse_of(unsigned int len)
{
	return div64_u64(U64_MAX, len) + 1;
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
	return t->first == first && t->scale == scale && t->inverse == inverse_of(t->len) &&
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
	t->inverse = t->len ? inverse_of(t->len) : 0;
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
	unsigned int i, value = parities(d, off);

	for (i = 0; i < d->nr_tables; i++)
		if (!is_coarse(&d->table[i], order))
			value += table_part(d, &d->table[i], base + off);
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
	map->inverse = inverse_of(map->nr_fine);
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
		sum = modulo(base_pfn >> map->order, nr, map->inverse);
	for (t = d->table; t < d->table + d->nr_tables; t++) {
		if (!is_coarse(t, map->order))
			continue;
		sum += nr * (table_part(d, t, base_pfn) / t->scale);
		nr *= t->nr;
	}
	*phase = sum;
	*xor = parities(d, base_pfn);
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
		for (nr = 1, bit = 0; bit < order && nr < d->nr_values; bit++) {
			unsigned int w = reduce(span, parities(d, 1ULL << bit));

			if (w) {
				span[fls(w) - 1] = w;
				nr *= 2;
			}
		}
		return nr;
	}
	nr = count_fine(d, order);
	if (!nr || order >= ilog2(MAX_TRIES) || nr > MAX_TRIES >> order)
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
