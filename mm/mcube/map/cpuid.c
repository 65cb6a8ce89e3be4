// SPDX-License-Identifier: GPL-2.0
/*
 * Default color masks from what a CPU reports about its caches
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pages have different colors if they cannot compete for a set of the cache.
 * So a mask is an address bit that is certainly part of the set index.  Too few
 * masks are safe, too many are not.  The first rule that applies gives the
 * masks:
 *
 *  - If CPUID says that address bits index the last-level cache, and its number
 *    of sets is a power of two, the masks are these bits.
 *  - If the last-level cache is cut in slices, a hash of the whole address
 *    chooses the slice, and address bits index the sets within the slice.
 *    CPUID reports only the sum of the sets of all slices; the sets of one
 *    slice are known for each model (slice_sets[]).  The masks are the bits
 *    that index a slice.
 *  - If address bits index the L2 cache, the masks are these bits.  They keep programs apart in
 *    L2 alone.  That address bits index the L2 of AMD is assumed: AMD's leaf does not say.
 *  - Otherwise there are no masks; a user who knows the function has to set
 *    them.
 *
 * Of other architectures struct cacheinfo does not say how a cache is indexed: no masks.
 *
 * Only levels 2 and 3 count: an L1 has no more than a page per way, and an L4
 * (eDRAM) lies on the memory side.
 *
 * Pure: the file is built into the kernel and into a user-space test.
 */

#include <asm/page.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mcube_map.h>
#include <linux/string.h>

/*
 * Sets in a slice of the L3 of Intel's family 6.  Clients since Skylake have
 * two slices of 1024 sets for each core; servers and all earlier models have
 * one slice of 2048 sets.  Source: size of a slice / ways / 64 bytes, both as Intel's
 * data sheets and guides to uncore counters say: 2.5 MiB and 20 ways until Broadwell,
 * 1.375 MiB and 11 ways in Skylake-SP, 1.5 and 12 in Ice Lake-SP, 1.875 and 15 in
 * Sapphire Rapids.  Slices of Emerald and Granite Rapids are larger and may have 4096
 * sets; then the masks are one too few.
 */
static const struct {
	u8 model;
	u16 sets;
} slice_sets[] = {
	{ 0x2a, 2048 },		/* Sandy Bridge */
	{ 0x2d, 2048 },		/* Sandy Bridge-EP */
	{ 0x3a, 2048 },		/* Ivy Bridge */
	{ 0x3e, 2048 },		/* Ivy Bridge-EP */
	{ 0x3c, 2048 },		/* Haswell */
	{ 0x45, 2048 },		/* Haswell ULT */
	{ 0x46, 2048 },		/* Haswell with eDRAM */
	{ 0x3f, 2048 },		/* Haswell-EP */
	{ 0x3d, 2048 },		/* Broadwell */
	{ 0x47, 2048 },		/* Broadwell with eDRAM */
	{ 0x4f, 2048 },		/* Broadwell-EP */
	{ 0x56, 2048 },		/* Broadwell-DE */
	{ 0x55, 2048 },		/* Skylake-SP, Cascade Lake, Cooper Lake */
	{ 0x6a, 2048 },		/* Ice Lake-SP */
	{ 0x6c, 2048 },		/* Ice Lake-DE */
	{ 0x8f, 2048 },		/* Sapphire Rapids */
	{ 0xcf, 2048 },		/* Emerald Rapids */
	{ 0xad, 2048 },		/* Granite Rapids */
	{ 0xae, 2048 },		/* Granite Rapids-D */
	{ 0x4e, 1024 },		/* Skylake mobile */
	{ 0x5e, 1024 },		/* Skylake */
	{ 0x8e, 1024 },		/* Kaby Lake mobile and successors */
	{ 0x9e, 1024 },		/* Kaby Lake, Coffee Lake */
	{ 0xa5, 1024 },		/* Comet Lake */
	{ 0xa6, 1024 },		/* Comet Lake mobile */
};

/**
 * mcube_cpuid4_decode() - read one subleaf of CPUID leaf 4
 * @c: filled in with the cache
 * @eax: register EAX of leaf 4, or of AMD's leaf 0x8000001d
 * @ebx: register EBX of that leaf
 * @ecx: register ECX of that leaf
 * @edx: register EDX of that leaf
 *
 * Return: false if the subleaf is the end of the list.
 */
bool mcube_cpuid4_decode(struct mcube_cache *c, u32 eax, u32 ebx, u32 ecx,
			 u32 edx)
{
	u32 type = eax & 0x1f;

	if (!type)
		return false;
	c->data = type == 1 || type == 3;
	c->level = eax >> 5 & 7;
	c->complex = edx & BIT(2);
	c->line = (ebx & 0xfff) + 1;
	c->partitions = (ebx >> 12 & 0x3ff) + 1;
	c->ways = eax & BIT(9) ? 0 : (ebx >> 22) + 1;
	c->sets = ecx + 1;
	return true;
}

/**
 * mcube_cache_size() - bytes of a cache
 * @c: the cache
 *
 * Return: size of the cache; 0 if the size is not known.
 */
u64 mcube_cache_size(const struct mcube_cache *c)
{
	return (u64)c->line * c->partitions * c->ways * c->sets;
}

/* Add one mask for each address bit that indexes @sets and differs between pages. */
static bool index_bits(struct mcube_guess *g, const struct mcube_cache *c, u32 sets)
{
	u64 granule = (u64)c->line * c->partitions;
	unsigned int bit, top;

	if (!sets || !is_power_of_2(sets) || c->ways == 0 ||
	    !granule || granule > PAGE_SIZE || !is_power_of_2(granule))
		return false;
	top = ilog2(granule) + ilog2(sets);
	for (bit = PAGE_SHIFT; bit < top; bit++)
		if (g->nr_masks < MCUBE_MAX_MASKS)
			g->mask[g->nr_masks++] = BIT_ULL(bit);
	if (!g->nr_masks)
		return false;
	g->level = c->level;
	g->size = mcube_cache_size(c);
	return true;
}

static u32 sets_of_a_slice(const struct mcube_cpu *cpu, const struct mcube_cache *c)
{
	unsigned int i;

	if (cpu->vendor != MCUBE_VENDOR_INTEL || cpu->family != 6)
		return 0;
	for (i = 0; i < ARRAY_SIZE(slice_sets); i++)
		if (slice_sets[i].model == cpu->model)
			return c->sets % slice_sets[i].sets ? 0 : slice_sets[i].sets;
	return 0;
}

static const struct mcube_cache *find_level(const struct mcube_cpu *cpu, u8 level)
{
	unsigned int i;

	for (i = 0; i < cpu->nr_caches && i < ARRAY_SIZE(cpu->cache); i++)
		if (cpu->cache[i].level == level && cpu->cache[i].data)
			return &cpu->cache[i];
	return NULL;
}

/**
 * mcube_guess_colors() - default color masks of a CPU
 * @g: filled in; without masks, all zero but @llc_size
 * @cpu: the CPU and its caches
 */
void mcube_guess_colors(struct mcube_guess *g, const struct mcube_cpu *cpu)
{
	const struct mcube_cache *l2 = find_level(cpu, 2);
	const struct mcube_cache *l3 = find_level(cpu, 3);
	const struct mcube_cache *llc = l3 ?: l2;
	bool amd, hashed;

	memset(g, 0, sizeof(*g));
	if (!llc)
		return;
	g->llc_size = mcube_cache_size(llc);

	/*
	 * EDX[2] of AMD's leaf is reserved and says nothing.  An L3 of AMD is spread over
	 * slices.
	 */
	amd = cpu->vendor == MCUBE_VENDOR_AMD && !cpu->index_unknown;
	hashed = cpu->index_unknown || (amd ? !!l3 : llc->complex);

	if (!hashed && index_bits(g, llc, llc->sets))
		g->how = MCUBE_GUESS_DIRECT;
	else if (hashed && index_bits(g, llc, sets_of_a_slice(cpu, llc)))
		g->how = MCUBE_GUESS_SLICE;
	else if (l2 && l2 != llc && !cpu->index_unknown && (amd || !l2->complex) &&
		 index_bits(g, l2, l2->sets))
		g->how = MCUBE_GUESS_L2;
}
