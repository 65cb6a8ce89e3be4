/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases of the address map: text that is accepted, text that is refused, and CPUs
 * with the masks expected for them.  KUnit (map-kunit.c) and the user-space test
 * (tools/testing/mcube/map_test.c) share these cases.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_TESTS_MAP_CASES_H
#define _MM_MCUBE_TESTS_MAP_CASES_H

#include <asm/page.h>
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mcube_map.h>
#include <linux/prandom.h>
#include <linux/string.h>

#define MAP_16 "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3"
#define MAP_64 MAP_16 "," MAP_16 "," MAP_16 "," MAP_16

/*
 * The machine of the M3 paper (Park et al., ASPLOS 2013, section 3.3 and Figure 5): bank
 * (pfn / 3) % 8, rank (pfn / 768) % 4.  Its three channels take turns line by line, so each
 * page lies in all of them.  With turns of a page, the channel is pfn % 3.
 */
#define MAP_PAPER_BANK "table:0:0,0,0,1,1,1,2,2,2,3,3,3,4,4,4,5,5,5,6,6,6,7,7,7"
#define MAP_PAPER_RANK "table:8:0,0,0,1,1,1,2,2,2,3,3,3"
#define MAP_PAPER MAP_PAPER_BANK " " MAP_PAPER_RANK
#define MAP_PAPER_PAGES "table:0:0,1,2 " MAP_PAPER

/* Text, the text that it reads back as, number of values. */
static const struct {
	const char *text;
	const char *canonical;
	unsigned int nr_values;
} map_good_text[] = {
	{ "none", "none", 1 },
	{ " none\n", "none", 1 },
	{ "0x1000", "0x1000", 2 },
	{ "0X1000\n", "0x1000", 2 },
	{ "0x00000000000000000000000000000000001000", "0x1000", 2 },
	{ "0x1000 0x2000 0x4000", "0x1000 0x2000 0x4000", 8 },
	{ "0x1000,0x2000,0x4000", "0x1000 0x2000 0x4000", 8 },
	{ "\t0x4000 , 0x2000\t0x1000\n\n", "0x4000 0x2000 0x1000", 8 },
	{ "0x8000000000000", "0x8000000000000", 2 },
	{ "0xabcdeF123000", "0xabcdef123000", 2 },
	/* i5-class DDR3, two channels: bits within a page are kept and do not count. */
	{ "0x2040 0x44000 0x88000 0x110000 0x220000",
	  "0x2040 0x44000 0x88000 0x110000 0x220000", 32 },
	{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000",
	  "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000", 256 },
	{ "table:0:0,1,2", "table:0:0,1,2", 3 },
	{ "table:30:1,0", "table:30:1,0", 2 },
	{ "table:2:2,1,0,2,1,0 0x44000", "0x44000 table:2:2,1,0,2,1,0", 6 },
	{ "0x44000,0x88000,table:0:0,1,2", "0x44000 0x88000 table:0:0,1,2", 12 },
	{ "table:3:" MAP_64, "table:3:" MAP_64, 4 },
	{ "table:3:" MAP_64 "," MAP_64 "," MAP_64 "," MAP_64,
	  "table:3:" MAP_64 "," MAP_64 "," MAP_64 "," MAP_64, 4 },
	/*
	 * Table (by its even period) and mask depend on bit 12; all values
	 * occur.
	 */
	{ "0x1000 table:0:0,0,1,1", "0x1000 table:0:0,0,1,1", 4 },
	{ "0x1000 0x2000 table:0:0,1,2,2,1,0", "0x1000 0x2000 table:0:0,1,2,2,1,0", 12 },
	{ "0x3000 table:0:0,1", "0x3000 table:0:0,1", 4 },
	{ "0x1000 table:0:0,1,2", "0x1000 table:0:0,1,2", 6 },
	/* Several tables. */
	{ MAP_PAPER, MAP_PAPER, 32 },
	{ MAP_PAPER_PAGES, MAP_PAPER_PAGES, 96 },
	{ "table:1:0,1 0x4000,table:0:0,1", "0x4000 table:1:0,1 table:0:0,1", 8 },
	{ "table:0:0,1,2 table:0:0,1,2,3,4 table:9:0,1 table:30:0,1",
	  "table:0:0,1,2 table:0:0,1,2,3,4 table:9:0,1 table:30:0,1", 60 },
	/* Both depend on pfn % 3, but the bit between the shifts makes all pairs. */
	{ "table:0:0,1,2 table:2:0,1,2", "table:0:0,1,2 table:2:0,1,2", 9 },
	/* Far apart, but nothing in common. */
	{ "table:0:0,1,2 table:30:0,1,2,3,4", "table:0:0,1,2 table:30:0,1,2,3,4", 15 },
};

static const struct {
	const char *text;
	int err;
} map_bad_text[] = {
	{ "", -EINVAL },
	{ "\n", -EINVAL },
	{ " \t ", -EINVAL },
	{ "None", -EINVAL },
	{ "nonee", -EINVAL },
	{ "none none", -EINVAL },
	{ "none 0x1000", -EINVAL },
	{ "0x1000 none", -EINVAL },
	{ "color", -EINVAL },
	{ "0", -EINVAL },
	{ "4096", -EINVAL },
	{ "1000", -EINVAL },
	{ "-0x1000", -EINVAL },
	{ "+0x1000", -EINVAL },
	{ "0x-1000", -EINVAL },
	{ "0x", -EINVAL },
	{ "0x 1000", -EINVAL },
	{ "0xg", -EINVAL },
	{ "0x1000g", -EINVAL },
	{ "0x1000 0x", -EINVAL },
	{ "0x1000;0x2000", -EINVAL },
	{ "0x1000|0x2000", -EINVAL },
	{ ",0x1000", -EINVAL },
	{ "0x1000,", -EINVAL },
	{ "0x1000,,0x2000", -EINVAL },
	{ "0x10000x2000", -EINVAL },
	{ "\"0x1000\"", -EINVAL },
	{ "0x1000\xff", -EINVAL },
	/* No bit that differs between pages. */
	{ "0x0", -EINVAL },
	{ "0x800", -EINVAL },
	{ "0xfff", -EINVAL },
	/* Too large. */
	{ "0x10000000000000", -ERANGE },
	{ "0xffffffffffffffff", -ERANGE },
	{ "0x10000000000000000", -ERANGE },
	{ "0x100000000000000000000000000000001000", -ERANGE },
	/* Not independent. */
	{ "0x1000 0x1000", -EINVAL },
	{ "0x1000 0x1040", -EINVAL },
	{ "0x3000 0x6000 0x5000", -EINVAL },
	{ "0x1000 0x2000 0x4000 0x7000", -EINVAL },
	{ "0x1000 table:0:0,1", -EINVAL },
	{ "0x1000 0x2000 table:0:0,0,1,1", -EINVAL },
	{ "0x1000 table:0:0,1,2,1,0,1", -EINVAL },
	/* Too many masks or values. */
	{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000 0x100000",
	  -EINVAL },
	{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000 table:20:0,1",
	  -EINVAL },
	{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 table:20:0,1,2",
	  -EINVAL },
	/* Tables. */
	{ "table", -EINVAL },
	{ "table:", -EINVAL },
	{ "table:0", -EINVAL },
	{ "table:0:", -EINVAL },
	{ "table::0,1", -EINVAL },
	{ "table:0:0", -EINVAL },
	{ "table:0:0,", -EINVAL },
	{ "table:0:0,1,", -EINVAL },
	{ "table:0:,0,1", -EINVAL },
	{ "table:0:0 1", -EINVAL },
	{ "table:0:0,0", -EINVAL },
	{ "table:0:0,2", -EINVAL },
	{ "table:0:1,2", -EINVAL },
	{ "table:0:0,-1", -EINVAL },
	{ "table:-1:0,1", -EINVAL },
	{ "table:31:0,1", -ERANGE },
	{ "table:4294967296:0,1", -ERANGE },
	{ "table:0:0,64", -EINVAL },
	{ "table:0:0,256", -ERANGE },
	{ "table:0:0,18446744073709551617", -ERANGE },
	{ "table:0x0:0,1", -EINVAL },
	{ "table:0:0,1table:0:0,1", -EINVAL },
	{ "table:0:0,1 table:0:0,1", -EINVAL },
	{ "table:0:0,1,2 table:0:0,1,2", -EINVAL },
	{ "table:0:0,1,2 table:0:0,1,2,3,4 table:0:0,1,2,0,1,2", -EINVAL },
	/* The bit between the shifts is that of the mask. */
	{ "0x1000 table:0:0,1,2 table:1:0,1,2", -EINVAL },
	{ "table:0:0,1 table:1:0,1 table:2:0,1 table:3:0,1 table:4:0,1", -EINVAL },
	/* Containers of order 10 begin in 210 ways, and each has bitmaps of 210 values. */
	{ "table:0:0,1,2 table:0:0,1,2,3,4 table:0:0,1,2,3,4,5,6 table:30:0,1", -EINVAL },
	/* In common pfn % 3, and 2^30 pages apart. */
	{ "table:0:0,1,2 table:30:0,1,2", -EINVAL },
	{ "table:0:0,1,0x1000", -EINVAL },
	{ "Table:0:0,1", -EINVAL },
	{ "table:0:" MAP_64 "," MAP_64 "," MAP_64 "," MAP_64 ",0", -EINVAL },
	{ "table:0:" MAP_64 "," MAP_64 "," MAP_64 ",0 table:9:" MAP_64, -EINVAL },
};

/*
 * Registers of CPUID leaf 4 (AMD: 0x8000001d) as real machines report them, and
 * the color masks expected for them: 2^nr_masks colors from bit 12 up.
 */
static const struct {
	const char *name;
	enum mcube_vendor vendor;
	u8 family;
	u8 model;
	bool index_unknown;
	u32 leaf[6][4];
	enum mcube_guess_how how;
	u8 level;
	u8 nr_masks;
	u32 size_kib;
	u32 llc_kib;
} map_cpus[] = {
	{
		.name = "Xeon E5335, 4 MiB L2 16 ways",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x0f,
		.leaf = {
			{ 0x0c000121, 0x01c0003f, 0x0000003f, 0x00000001 },
			{ 0x0c000122, 0x01c0003f, 0x0000003f, 0x00000001 },
			{ 0x0c004143, 0x03c0003f, 0x00000fff, 0x00000001 },
		},
		.how = MCUBE_GUESS_DIRECT, .level = 2, .nr_masks = 6,
		.size_kib = 4096, .llc_kib = 4096,
	},
	{
		.name = "Core i7 860, 8 MiB L3 16 ways",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x1e,
		.leaf = {
			{ 0x1c004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004122, 0x00c0003f, 0x0000007f, 0x00000000 },
			{ 0x1c004143, 0x01c0003f, 0x000001ff, 0x00000000 },
			{ 0x1c03c163, 0x03c0003f, 0x00001fff, 0x00000002 },
		},
		.how = MCUBE_GUESS_DIRECT, .level = 3, .nr_masks = 7,
		.size_kib = 8192, .llc_kib = 8192,
	},
	{
		.name = "Core i7 980X, 12 MiB L3, 12288 sets: L2",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x2c,
		.leaf = {
			{ 0x3c004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x3c004122, 0x00c0003f, 0x0000007f, 0x00000000 },
			{ 0x3c004143, 0x01c0003f, 0x000001ff, 0x00000000 },
			{ 0x3c07c163, 0x03c0003f, 0x00002fff, 0x00000002 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 3,
		.size_kib = 256, .llc_kib = 12288,
	},
	{
		.name = "Core i7-4750HQ, 6 MiB L3 in 4 slices, eDRAM as L4",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x46,
		.leaf = {
			{ 0x1c004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004143, 0x01c0003f, 0x000001ff, 0x00000000 },
			{ 0x1c03c163, 0x02c0003f, 0x00001fff, 0x00000006 },
			{ 0x1c03c183, 0x03c0f03f, 0x00001fff, 0x00000004 },
		},
		.how = MCUBE_GUESS_SLICE, .level = 3, .nr_masks = 5,
		.size_kib = 6144, .llc_kib = 6144,
	},
	{
		.name = "Core i5-6600K, 6 MiB L3 in 8 slices of 1024 sets",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x5e,
		.leaf = {
			{ 0x1c004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004143, 0x00c0003f, 0x000003ff, 0x00000000 },
			{ 0x1c03c163, 0x02c0003f, 0x00001fff, 0x00000006 },
		},
		.how = MCUBE_GUESS_SLICE, .level = 3, .nr_masks = 4,
		.size_kib = 6144, .llc_kib = 6144,
	},
	{
		.name = "the same as a model not known: L2",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0xfe,
		.leaf = {
			{ 0x1c004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c004143, 0x00c0003f, 0x000003ff, 0x00000000 },
			{ 0x1c03c163, 0x02c0003f, 0x00001fff, 0x00000006 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 4,
		.size_kib = 256, .llc_kib = 6144,
	},
	{
		.name = "Xeon Silver 4114, 13.75 MiB L3 11 ways, 10 slices",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x55,
		.leaf = {
			{ 0x1c01c121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c01c122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x1c01c143, 0x03c0003f, 0x000003ff, 0x00000000 },
			{ 0x1c01c163, 0x0280003f, 0x00004fff, 0x00000004 },
			{ 0x1c000000, 0x00000000, 0x00000000, 0x00000000 },
		},
		.how = MCUBE_GUESS_SLICE, .level = 3, .nr_masks = 5,
		.size_kib = 14080, .llc_kib = 14080,
	},
	{
		.name = "Ryzen 3 3100 (Zen 2), 8 MiB L3: L2",
		.vendor = MCUBE_VENDOR_AMD, .family = 0x17, .model = 0x71,
		.leaf = {
			{ 0x00004121, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x00004122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x00004143, 0x01c0003f, 0x000003ff, 0x00000002 },
			{ 0x0000c163, 0x03c0003f, 0x00001fff, 0x00000001 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 4,
		.size_kib = 512, .llc_kib = 8192,
	},
	{
		.name = "EPYC (Zen 5) as a guest sees it, 32 MiB L3: L2",
		.vendor = MCUBE_VENDOR_AMD, .family = 0x1a, .model = 0x02,
		.leaf = {
			{ 0x00000121, 0x02c0003f, 0x0000003f, 0x00000000 },
			{ 0x00000122, 0x01c0003f, 0x0000003f, 0x00000000 },
			{ 0x00000143, 0x03c0003f, 0x000003ff, 0x00000002 },
			{ 0x00004163, 0x03c0003f, 0x00007fff, 0x00000001 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 4,
		.size_kib = 1024, .llc_kib = 32768,
	},
	{
		.name = "Zen 4, bits of EDX that AMD reserves set: L2",
		.vendor = MCUBE_VENDOR_AMD, .family = 0x19, .model = 0x11,
		.leaf = {
			{ 0x00004121, 0x01c0003f, 0x0000003f, 0x00000004 },
			{ 0x00004143, 0x01c0003f, 0x000007ff, 0x00000006 },
			{ 0x0001c163, 0x03c0003f, 0x00007fff, 0x00000005 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 5,
		.size_kib = 1024, .llc_kib = 32768,
	},
	{
		.name = "Emerald Rapids, 320 MiB L3 20 ways, 128 slices",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0xcf,
		.leaf = {
			{ 0x0c000121, 0x02c0003f, 0x0000003f, 0x00000000 },
			{ 0x0c000143, 0x03c0003f, 0x000007ff, 0x00000000 },
			{ 0x0c000163, 0x04c0003f, 0x0003ffff, 0x00000004 },
		},
		.how = MCUBE_GUESS_SLICE, .level = 3, .nr_masks = 5,
		.size_kib = 327680, .llc_kib = 327680,
	},
	{
		.name = "arm64 by PPTT: how caches are indexed is not known",
		.vendor = MCUBE_VENDOR_OTHER, .index_unknown = true,
		.leaf = {
			{ 0x00000143, 0x01c0003f, 0x000007ff, 0x00000000 },
			{ 0x00000163, 0x03c0003f, 0x00007fff, 0x00000000 },
		},
		.how = MCUBE_GUESS_NONE, .llc_kib = 32768,
	},
	{
		.name = "emulator: hashed 16 MiB L3, unknown maker, direct 4 MiB L2",
		.vendor = MCUBE_VENDOR_OTHER, .family = 6, .model = 6,
		.leaf = {
			{ 0x00000121, 0x01c0003f, 0x0000003f, 0x00000001 },
			{ 0x00000143, 0x03c0003f, 0x00000fff, 0x00000001 },
			{ 0x00000163, 0x03c0003f, 0x00003fff, 0x00000006 },
		},
		.how = MCUBE_GUESS_L2, .level = 2, .nr_masks = 6,
		.size_kib = 4096, .llc_kib = 16384,
	},
	{
		.name = "64 MiB direct-mapped: no more than 256 colors",
		.vendor = MCUBE_VENDOR_OTHER,
		.leaf = { { 0x00000163, 0x0000003f, 0x000fffff, 0x00000000 } },
		.how = MCUBE_GUESS_DIRECT, .level = 3, .nr_masks = 8,
		.size_kib = 65536, .llc_kib = 65536,
	},
	{
		.name = "ways no larger than a page",
		.vendor = MCUBE_VENDOR_OTHER,
		.leaf = { { 0x00000143, 0x03c0003f, 0x0000003f, 0x00000000 } },
		.how = MCUBE_GUESS_NONE, .llc_kib = 64,
	},
	{
		.name = "fully associative",
		.vendor = MCUBE_VENDOR_OTHER,
		.leaf = { { 0x00000363, 0x03c0003f, 0x00000000, 0x00000000 } },
		.how = MCUBE_GUESS_NONE,
	},
	{
		.name = "hashed L3 and hashed L2",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x97,
		.leaf = {
			{ 0x00000143, 0x03c0003f, 0x000003ff, 0x00000004 },
			{ 0x00000163, 0x02c0003f, 0x00009fff, 0x00000004 },
		},
		.how = MCUBE_GUESS_NONE, .llc_kib = 30720,
	},
	{
		.name = "instruction caches only",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x2a,
		.leaf = { { 0x00000142, 0x03c0003f, 0x00000fff, 0x00000000 } },
		.how = MCUBE_GUESS_NONE,
	},
	{
		.name = "garbage: all ones",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x2a,
		.leaf = {
			{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
			{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
		},
		.how = MCUBE_GUESS_NONE,
	},
	{
		.name = "no caches at all",
		.vendor = MCUBE_VENDOR_INTEL, .family = 6, .model = 0x2a,
		.how = MCUBE_GUESS_NONE,
	},
};

/* The definition, one bit at a time and with nothing in common with map.c. */
static inline unsigned int map_direct_value(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, bit, k, value = 0, unit = 1;
	const u8 *entry = d->entry;
	u64 phys = pfn * PAGE_SIZE;

	for (i = 0; i < d->nr_masks; i++, unit *= 2)
		for (bit = 0; bit < 64; bit++)
			if ((d->mask[i] >> bit & 1) && (phys >> bit & 1))
				value ^= unit;
	for (i = 0; i < d->nr_tables; i++) {
		unsigned int len = d->table[i].len, top = 0;
		u64 index = pfn;

		for (bit = 0; bit < d->table[i].shift; bit++)
			index /= 2;
		value += entry[do_div(index, len)] * unit;
		for (k = 0; k < len; k++)
			top = max_t(unsigned int, top, entry[k]);
		unit *= top + 1;
		entry += len;
	}
	return value;
}

static inline u64 map_random_u64(struct rnd_state *rnd)
{
	u64 high = prandom_u32_state(rnd);

	return high << 32 | prandom_u32_state(rnd);
}

static inline u64 map_random_pfn(struct rnd_state *rnd)
{
	return map_random_u64(rnd) >> (64 - MCUBE_MAX_PHYS_BITS + PAGE_SHIFT);
}

/* A table of at most @most entries, in which every value occurs. */
static inline unsigned int map_random_table(struct rnd_state *rnd, u8 *entry, unsigned int most)
{
	unsigned int len = 2 + prandom_u32_state(rnd) % (most - 1), i, k, values;

	if (prandom_u32_state(rnd) & 1)
		len = 2 + len % 11;
	values = 2 + prandom_u32_state(rnd) % (len - 1);
	for (i = 0; i < len; i++)
		entry[i] = i < values ? i : prandom_u32_state(rnd) % values;
	for (i = len - 1; i; i--) {
		k = prandom_u32_state(rnd) % (i + 1);
		swap(entry[i], entry[k]);
	}
	return len;
}

/* A valid dimension: masks, tables, both or neither. */
static inline void map_random_dim(struct rnd_state *rnd, struct mcube_dim *d)
{
	u64 mask[MCUBE_MAX_MASKS];
	unsigned int i, nr, len;
	u8 entry[64];

	do {
		nr = prandom_u32_state(rnd) % (MCUBE_MAX_MASKS + 1);
		for (i = 0; i < nr; i++) {
			mask[i] = map_random_u64(rnd) >> (64 - MCUBE_MAX_PHYS_BITS);
			/* Sparse and dense, near bit 12 and anywhere. */
			if (prandom_u32_state(rnd) & 1)
				mask[i] &= map_random_u64(rnd) & map_random_u64(rnd);
			if (prandom_u32_state(rnd) & 1)
				mask[i] &= (PAGE_SIZE << 10) - 1;
		}
	} while (mcube_dim_init(d, mask, nr, NULL));
	/* Tables that are refused, as the values are many or depend, are left out. */
	nr = prandom_u32_state(rnd) & 1 ? 1 + prandom_u32_state(rnd) % 6 : 0;
	for (i = 0; i < nr; i++) {
		len = map_random_table(rnd, entry, i ? 13 : 64);
		mcube_dim_add_table(d, entry, len, prandom_u32_state(rnd) % 13, NULL);
	}
}

/*
 * Place a container at @base and compare the value of each offset with the
 * definition.
 * Return: number of offsets that are wrong, in no bitmap, or in two bitmaps.
 */
static inline unsigned int map_check_offset_map(const struct mcube_offset_map *s,
						const struct mcube_dim *d, u64 base)
{
	unsigned int off, value, wrong = 0, total = 0;
	const unsigned long *sel;
	u16 phase, xor;

	mcube_offset_map_locate(s, d, base, &phase, &xor);
	for (off = 0; off < 1U << s->order; off++) {
		value = map_direct_value(d, base + off);
		sel = mcube_offset_map_select(s, phase, xor, value);
		wrong += !sel || !test_bit(off, sel);
	}
	for (value = 0; value < d->nr_values; value++) {
		sel = mcube_offset_map_select(s, phase, xor, value);
		total += sel ? bitmap_weight(sel, 1U << s->order) : 0;
	}
	wrong += total != 1U << s->order;
	wrong += !!mcube_offset_map_select(s, phase, xor, d->nr_values);
	return wrong;
}

static inline void map_cpu_of_case(struct mcube_cpu *cpu, unsigned int nr)
{
	const u32 (*leaf)[4] = map_cpus[nr].leaf;
	unsigned int i;

	memset(cpu, 0, sizeof(*cpu));
	cpu->vendor = map_cpus[nr].vendor;
	cpu->family = map_cpus[nr].family;
	cpu->model = map_cpus[nr].model;
	cpu->index_unknown = map_cpus[nr].index_unknown;
	for (i = 0; i < ARRAY_SIZE(map_cpus[nr].leaf); i++) {
		if (!mcube_cpuid4_decode(&cpu->cache[i], leaf[i][0], leaf[i][1],
					 leaf[i][2], leaf[i][3]))
			break;
		cpu->nr_caches++;
	}
}

#endif /* _MM_MCUBE_TESTS_MAP_CASES_H */
