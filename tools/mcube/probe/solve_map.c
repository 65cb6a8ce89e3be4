// SPDX-License-Identifier: GPL-2.0
/*
 * Maps of banks: the bank of an address, and the form that the kernel takes; solve.h.
 */
#include "solve.h"

#include <string.h>

#define PAGE_BITS	12u

/**
 * solve_components - numbers that make up the bank
 * @map:	the functions
 *
 * Return: how many.
 */
unsigned int solve_components(const struct solve_map *map)
{
	return map->nr_masks + map->nr_quotients + (map->modulus != 0) + map->nr_tables;
}

static unsigned int entry(const struct solve_map *map, const struct solve_table *t,
			  uint64_t address)
{
	return map->entry[t->first + (address >> t->shift) % t->len];
}

/**
 * solve_component - one of the numbers that make up the bank
 * @map:	the functions
 * @i:		which, below solve_components()
 * @address:	physical address
 *
 * Return: the number.
 */
unsigned int solve_component(const struct solve_map *map, unsigned int i, uint64_t address)
{
	if (i < map->nr_masks)
		return __builtin_parityll((address + map->offset) & map->mask[i]);
	i -= map->nr_masks;
	if (i < map->nr_quotients)
		return __builtin_parityll(address / map->modulus & map->quotient[i]);
	i -= map->nr_quotients;
	if (map->modulus && !i--)
		return (address >> map->modulus_shift) % map->modulus;
	return entry(map, &map->table[i], address);
}

/**
 * solve_radix - how many values a component has
 * @map:	the functions
 * @i:		which, below solve_components()
 *
 * Return: the number.
 */
unsigned int solve_radix(const struct solve_map *map, unsigned int i)
{
	unsigned int top = 0;

	if (i < map->nr_masks + map->nr_quotients)
		return 2;
	i -= map->nr_masks + map->nr_quotients;
	if (map->modulus && !i--)
		return map->modulus;
	for (unsigned int k = 0; k < map->table[i].len; k++)
		if (map->entry[map->table[i].first + k] > top)
			top = map->entry[map->table[i].first + k];
	return top + 1;
}

/**
 * solve_banks - number of banks
 * @map:	the functions
 *
 * Return: the number, if all combinations of the components occur.
 */
unsigned int solve_banks(const struct solve_map *map)
{
	unsigned int banks = 1;

	for (unsigned int i = 0; i < solve_components(map); i++)
		banks *= solve_radix(map, i);
	return banks;
}

/**
 * solve_value - bank of an address
 * @map:	the functions
 * @address:	physical address
 *
 * Return: a number that addresses of one bank have in common.
 */
unsigned int solve_value(const struct solve_map *map, uint64_t address)
{
	unsigned int value = 0, scale = 1;

	for (unsigned int i = 0; i < solve_components(map); i++) {
		value += solve_component(map, i, address) * scale;
		scale *= i < map->nr_masks + map->nr_quotients ? 2 : solve_radix(map, i);
	}
	return value;
}

/**
 * solve_rest - what is left of a mask after the leading bits of a basis
 * @basis:	masks with leading bits of their own
 * @nr:		how many
 * @mask:	the mask
 *
 * Return: a mask without these bits, 0 if @mask is a sum of the basis.
 */
uint64_t solve_rest(const uint64_t *basis, unsigned int nr, uint64_t mask)
{
	for (unsigned int i = 0; i < nr; i++)
		if (mask >> solve_top(basis[i]) & 1)
			mask ^= basis[i];
	return mask;
}

/**
 * solve_span - add a mask to a basis
 * @basis:	masks with leading bits of their own, room for one more
 * @nr:		how many
 * @mask:	the mask
 *
 * Return: @nr + 1, or @nr if the mask is a sum of those that are there.
 */
unsigned int solve_span(uint64_t *basis, unsigned int nr, uint64_t mask)
{
	uint64_t left = solve_rest(basis, nr, mask);

	if (left)
		basis[nr] = left;
	return nr + (left != 0);
}

/**
 * solve_adds - does a component tell addresses apart that those of another map do not?
 * @whole:	map that has the component
 * @map:	the other map
 * @i:		the component
 * @least:	lowest and
 * @most:	highest address bit that counts
 *
 * Return: true if each value of it occurs with each bank of @map; false for maps of more
 * than 1024 banks.
 */
bool solve_adds(const struct solve_map *whole, const struct solve_map *map, unsigned int i,
		unsigned int least, unsigned int most)
{
	unsigned int banks = solve_banks(map), radix = solve_radix(whole, i), seen = 0;

	static _Thread_local uint8_t found[1024];

	if (banks * radix > sizeof(found))
		return false;
	memset(found, 0, sizeof(found));
	for (uint64_t k = 1; k <= 65536; k++) {
		uint64_t x = k * 0x9e3779b97f4a7c15ull;
		uint64_t address = ((x ^ x >> 29) >> 12 & ((2ull << most) - 1)) >> least << least;
		unsigned int at = solve_value(map, address) * radix +
			solve_component(whole, i, address);

		seen += !found[at];
		found[at] = 1;
	}
	return seen == banks * radix;
}

/* A table of @merged components from @i on, each with two values, or of one component. */
static bool add_table(struct solve_map *pages, const struct solve_map *map, unsigned int shift,
		      unsigned int len, unsigned int i, unsigned int merged)
{
	struct solve_table *t = &pages->table[pages->nr_tables];
	unsigned int first = 0;

	for (unsigned int k = 0; k < pages->nr_tables; k++)
		first += pages->table[k].len;
	if (pages->nr_tables == SOLVE_MAX_TABLES || first + len > SOLVE_MAX_ENTRIES)
		return false;
	*t = (struct solve_table){ shift, len, first };
	for (unsigned int e = 0; e < len; e++) {
		uint64_t address = (uint64_t)e << shift;

		pages->entry[first + e] = 0;
		for (unsigned int k = 0; k < merged; k++)
			pages->entry[first + e] |= solve_component(map, i + k, address) << k;
	}
	pages->nr_tables++;
	return true;
}

/* The period of functions that look at no bit of the quotient above @bit, in granules. */
static unsigned int period(const struct solve_map *map, unsigned int bit, unsigned int shift)
{
	if (bit < shift)
		return map->modulus;
	return bit - shift > 6 ? SOLVE_MAX_ENTRIES + 1 : map->modulus << (bit - shift + 1);
}

/**
 * solve_pages - what the map says about whole pages, in the form that the kernel takes
 * @map:	the functions
 * @pages:	masks of address bits from 12 on, and tables, of the first bytes of pages
 *
 * Return: false if the kernel's form cannot say it: an offset, or too long a table.
 */
bool solve_pages(const struct solve_map *map, struct solve_map *pages)
{
	unsigned int i, n, shift;
	uint64_t basis[SOLVE_MAX_MASKS + 1];

	*pages = (struct solve_map){ };
	if (map->offset || map->nr_tables)
		return false;
	for (i = 0, n = 0; i < map->nr_masks; i++) {
		uint64_t mask = map->mask[i] >> PAGE_BITS << PAGE_BITS;

		if (solve_span(basis, n, mask) == n)
			continue;
		n++;
		pages->mask[pages->nr_masks++] = mask;
	}
	for (i = 0; i < map->nr_quotients; i += n) {
		uint64_t mask = map->quotient[i];
		unsigned int low = __builtin_ctzll(mask);

		/* Plain bits side by side share a table. */
		for (n = 1; low >= PAGE_BITS && mask == 1ull << low &&
		     i + n < map->nr_quotients && map->quotient[i + n] == mask << n; n++)
			;
		if (!solve_adds(map, pages, map->nr_masks + i, PAGE_BITS, 45))
			continue;
		shift = low > PAGE_BITS ? low : PAGE_BITS;
		if (!add_table(pages, map, shift,
			       period(map, solve_top(map->quotient[i + n - 1]), shift),
			       map->nr_masks + i, n))
			return false;
	}
	i = map->nr_masks + map->nr_quotients;
	if (!map->modulus || !solve_adds(map, pages, i, PAGE_BITS, 45))
		return true;
	shift = map->modulus_shift > PAGE_BITS ? map->modulus_shift : PAGE_BITS;
	return add_table(pages, map, shift, map->modulus, i, 1);
}
