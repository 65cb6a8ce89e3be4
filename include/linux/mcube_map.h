/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The address map of mcube: from a page frame number to a cache color and a
 * DRAM bank.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers and bitmaps only.  The same files are built into the kernel,
 * into KUnit and into a user-space test.  See Documentation/mm/mcube/map.rst.
 */
#ifndef _LINUX_MCUBE_MAP_H
#define _LINUX_MCUBE_MAP_H

#include <linux/bug.h>
#include <linux/types.h>

/* Most colors, or banks, that a map has. */
#define MCUBE_MAX_VALUES	256
/* Most XOR masks of a dimension: 2^8 values. */
#define MCUBE_MAX_MASKS		8
/* Most tables of a dimension. */
#define MCUBE_MAX_TABLES	4
/* Most entries of all tables of a dimension. */
#define MCUBE_MAX_ENTRIES	256
/* Largest granule of a table: 2^30 pages. */
#define MCUBE_MAX_TABLE_SHIFT	30
/* Most bits of a physical address. */
#define MCUBE_MAX_PHYS_BITS	52
/* Largest container: 2^10 pages, 4 MiB with 4 KiB pages. */
#define MCUBE_MAX_ORDER		10
/* Most memory of the offset map of a dimension. */
#define MCUBE_MAX_OFFSET_BYTES	(2U << 20)
/* Room for any dimension as text, see mcube_dim_format(). */
#define MCUBE_DIM_TEXT		1280

/**
 * struct mcube_table - numbers that successive granules of pages have in turn
 * @inverse: 2^64 / @len, rounded up: a look-up multiplies where it would divide.
 * @scale: what 1 in an entry adds to the value of the dimension.
 * @first: place of the first entry in the dimension.
 * @len: period in entries, at least 2.
 * @nr: the entries are 0..@nr - 1, and each of these occurs.
 * @shift: log2 of the pages for which an entry holds.
 */
struct mcube_table {
	u64 inverse;
	u16 scale;
	u16 first;
	u16 len;
	u16 nr;
	u8 shift;
};

/**
 * struct mcube_dim - how one property (color or bank) follows from the address
 * @nr_masks: number of XOR masks, at most MCUBE_MAX_MASKS.
 * @nr_tables: number of tables, at most MCUBE_MAX_TABLES.
 * @nr_values: the values are 0..@nr_values - 1; 1 if nothing is distinguished.
 * @mask: physical address bits whose parity is bit i of the value.  Bits below
 *	PAGE_SHIFT are kept but do not count, as the value is that of the first
 *	byte of the page.
 * @table: for maps that are not linear over XOR: an interleave over three
 *	channels has the table 0,1,2.
 * @entry: the entries of all tables, at most MCUBE_MAX_ENTRIES.
 *
 * value = parities + sum over tables t of
 *		entry[t.first + (pfn >> t.shift) % t.len] * t.scale
 *
 * The parities are the lowest bits.  The first table stands above them, and each
 * table above the one before it.  Fill it by mcube_dim_init(), mcube_dim_add_table()
 * or mcube_dim_parse(); all zero is not valid.
 */
struct mcube_dim {
	u8 nr_masks;
	u8 nr_tables;
	u16 nr_values;
	u64 mask[MCUBE_MAX_MASKS];
	struct mcube_table table[MCUBE_MAX_TABLES];
	u8 entry[MCUBE_MAX_ENTRIES];
};

/**
 * enum mcube_level - the cache that colors belong to
 * @MCUBE_LEVEL_NONE: there is one color.
 * @MCUBE_LEVEL_L2: L2 alone, as nothing tells how the last level is indexed.
 * @MCUBE_LEVEL_LAST: the last-level cache.
 * @MCUBE_LEVEL_GIVEN: root wrote the colors, and knows.
 * @MCUBE_NR_LEVELS: number of these.
 */
enum mcube_level {
	MCUBE_LEVEL_NONE,
	MCUBE_LEVEL_L2,
	MCUBE_LEVEL_LAST,
	MCUBE_LEVEL_GIVEN,
	MCUBE_NR_LEVELS,
};

/**
 * struct mcube_map - the address map
 * @color: the sets of the cache that a page competes for.
 * @bank: the DRAM bank (channel and rank included) that a page lies in.
 * @level: which cache @color is about.
 */
struct mcube_map {
	struct mcube_dim color;
	struct mcube_dim bank;
	enum mcube_level level;
};

/**
 * struct mcube_offset_map - where the values of a dimension lie in a container
 * @order: containers are aligned blocks of 2^@order pages.
 * @nr_phases: different ways the tables can fall on a container, at least 1.
 * @nr_fine: those of the tables of which a container has several entries.
 * @inverse: 2^64 / @nr_fine, rounded up; not used if @nr_fine is 1.
 * @nr_values: number of values, as in the dimension.
 * @words: longs of one bitmap.
 * @sel: bitmap number phase * @nr_values + value has the offsets whose value is
 *	`value` in a container with that phase whose first frame has parities 0.
 *
 * The parities are linear, parity(base ^ off) = parity(base) ^ parity(off), so
 * one set of bitmaps serves every container.  mcube_offset_map_locate() gives
 * the phase and the XOR in which containers differ.
 */
struct mcube_offset_map {
	u8 order;
	u16 nr_phases;
	u16 nr_fine;
	u16 nr_values;
	u16 words;
	u64 inverse;
	unsigned long *sel;
};

/* map.c */
int mcube_dim_init(struct mcube_dim *d, const u64 *mask, unsigned int nr_masks,
		   const char **why);
int mcube_dim_add_table(struct mcube_dim *d, const u8 *entry, unsigned int len,
			unsigned int shift, const char **why);
int mcube_dim_validate(const struct mcube_dim *d, const char **why);
bool mcube_dim_equal(const struct mcube_dim *a, const struct mcube_dim *b);
unsigned int mcube_dim_value(const struct mcube_dim *d, u64 pfn);
void mcube_dim_order(const struct mcube_dim *d, u8 *order);

/* offset.c */
size_t mcube_offset_map_longs(const struct mcube_dim *d, unsigned int order);
void mcube_offset_map_build(struct mcube_offset_map *map, const struct mcube_dim *d,
			    unsigned int order, unsigned long *mem);
void mcube_offset_map_locate(const struct mcube_offset_map *map, const struct mcube_dim *d,
			     u64 base_pfn, u16 *phase, u16 *xor);
unsigned int mcube_dim_cover(const struct mcube_dim *d, unsigned int order);
int mcube_dim_cover_order(const struct mcube_dim *d);

/**
 * mcube_offset_map_select() - offsets of a container that have a value
 * @map: the offset map.
 * @phase: phase of the container, from mcube_offset_map_locate().
 * @xor: XOR of the container, from mcube_offset_map_locate().
 * @value: color or bank.
 *
 * Return: a bitmap of 2^order offsets, empty if the container has no page of
 * that value; NULL if there is no such value.
 */
static inline const unsigned long *
mcube_offset_map_select(const struct mcube_offset_map *map, u16 phase, u16 xor,
			unsigned int value)
{
	if (value >= map->nr_values)
		return NULL;
	if (WARN_ON_ONCE(phase >= map->nr_phases || (value ^ xor) >= map->nr_values))
		return NULL;
	return map->sel + ((size_t)phase * map->nr_values + (value ^ xor)) * map->words;
}

/* parse.c */
int mcube_dim_parse(struct mcube_dim *d, const char *text, size_t len,
		    const char **why);
int mcube_dim_format(const struct mcube_dim *d, char *buf, size_t size);

/**
 * enum mcube_vendor - vendors whose caches cpuid.c treats differently
 * @MCUBE_VENDOR_OTHER: only CPUID tells about the last-level cache.
 * @MCUBE_VENDOR_INTEL: the sets of a slice follow from family and model.
 * @MCUBE_VENDOR_AMD: AMD or Hygon; how an L3 is indexed is not documented.
 */
enum mcube_vendor {
	MCUBE_VENDOR_OTHER,
	MCUBE_VENDOR_INTEL,
	MCUBE_VENDOR_AMD,
};

/**
 * struct mcube_cache - a cache as CPUID leaf 4 or struct cacheinfo describes it
 * @level: 1, 2, 3 or 4.
 * @data: holds data (a data or a unified cache).
 * @complex: a hash of the address chooses the set (CPUID.4 EDX[2]).
 * @line: bytes of a line.
 * @partitions: lines that share a tag.
 * @ways: associativity, 0 when fully associative.
 * @sets: number of sets over all slices.
 */
struct mcube_cache {
	u8 level;
	bool data;
	bool complex;
	u32 line;
	u32 partitions;
	u32 ways;
	u32 sets;
};

/**
 * struct mcube_cpu - what the default map follows from
 * @vendor: vendor of the CPU.
 * @family: family, as in struct cpuinfo_x86.
 * @model: model, as in struct cpuinfo_x86.
 * @nr_caches: entries in @cache.
 * @index_unknown: nothing says how the caches are indexed; their @complex does not count.
 * @cache: caches of the CPU in any order.
 */
struct mcube_cpu {
	enum mcube_vendor vendor;
	u8 family;
	u8 model;
	u8 nr_caches;
	bool index_unknown;
	struct mcube_cache cache[8];
};

/**
 * enum mcube_guess_how - how the default color masks were found
 * @MCUBE_GUESS_NONE: none were found; a user has to set masks.
 * @MCUBE_GUESS_DIRECT: address bits index the last-level cache.
 * @MCUBE_GUESS_SLICE: address bits index the sets within a slice of the
 *	last-level cache, and the number of these sets is known.
 * @MCUBE_GUESS_L2: the index of the last-level cache is unknown; address bits
 *	index the L2 cache.
 */
enum mcube_guess_how {
	MCUBE_GUESS_NONE,
	MCUBE_GUESS_DIRECT,
	MCUBE_GUESS_SLICE,
	MCUBE_GUESS_L2,
};

/**
 * struct mcube_guess - the default color masks of a CPU
 * @how: the rule that gave the masks.
 * @level: level of the cache that the masks index, 0 with MCUBE_GUESS_NONE.
 * @size: bytes of that cache, 0 with MCUBE_GUESS_NONE.
 * @llc_size: bytes of the last-level cache, 0 if there is none.
 * @nr_masks: number of masks.
 * @mask: one address bit each, lowest first.
 */
struct mcube_guess {
	enum mcube_guess_how how;
	u8 level;
	u8 nr_masks;
	u64 size;
	u64 llc_size;
	u64 mask[MCUBE_MAX_MASKS];
};

/* cpuid.c */
bool mcube_cpuid4_decode(struct mcube_cache *c, u32 eax, u32 ebx, u32 ecx,
			 u32 edx);
u64 mcube_cache_size(const struct mcube_cache *c);
void mcube_guess_colors(struct mcube_guess *g, const struct mcube_cpu *cpu);

#endif /* _LINUX_MCUBE_MAP_H */
