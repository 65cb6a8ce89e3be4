// SPDX-License-Identifier: GPL-2.0
/*
 * The even fill order: each run of frames has every color once, on named maps and on
 * random maps, fresh and after use.
 */
#include "mcube_test.h"

#include "alloc/bins.h"

#define FRAMES		MCUBE_MAX_PAGES

static struct page frames[FRAMES];
static struct mcube_bins bins;

struct named_map {
	const char *name;
	u64 color[MCUBE_MAX_MASKS];
	u64 bank[MCUBE_MAX_MASKS];
	u8 table_len;
};

static const struct named_map named_maps[] = {
	{ "bits 12 to 16, banks 14^17 15^18 16^19 13",
	  { 0x1000, 0x2000, 0x4000, 0x8000, 0x10000 },
	  { 0x24000, 0x48000, 0x90000, 0x2000 }, 0 },
	{ "X5570: 128 colors, 16 banks in 3 channels",
	  { 0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000 },
	  { 0x44000, 0x88000, 0x110000, 0x20000 }, 3 },
	{ "Skylake: 32 colors, 64 banks",
	  { 0x1000, 0x2000, 0x4000, 0x8000, 0x10000 },
	  { 0x4080, 0x88000, 0x110000, 0x220000, 0x440000, 0xc3300 }, 0 },
	{ "one color, one bank", { }, { }, 0 },
	{ "colors of higher bits than banks",
	  { 0x20000, 0x40000, 0x80000 }, { 0x1000, 0x2000, 0x4000 }, 0 },
};

static unsigned int count_masks(const u64 *mask)
{
	unsigned int i;

	for (i = 0; i < MCUBE_MAX_MASKS && mask[i]; i++)
		;
	return i;
}

static int make_map(struct mcube_map *map, const struct named_map *m)
{
	static const u8 table[] = { 0, 1, 2 };
	const char *why;

	return mcube_dim_init(&map->color, m->color, count_masks(m->color), &why) ?:
	       mcube_dim_init(&map->bank, m->bank, count_masks(m->bank), &why) ?:
	       (m->table_len ?
		mcube_dim_add_table(&map->bank, table, m->table_len, 0, &why) : 0);
}

/* Random masks, mostly of bits within a container. */
static void random_map(struct mcube_map *map)
{
	struct named_map m;
	unsigned int i, nr;

	do {
		memset(&m, 0, sizeof(m));
		nr = get_random_u32_below(MCUBE_MAX_MASKS + 1);
		for (i = 0; i < nr; i++)
			m.color[i] = (u64)(get_random_u32() & get_random_u32() & 0xfff) << 12;
		nr = get_random_u32_below(MCUBE_MAX_MASKS + 1);
		for (i = 0; i < nr; i++)
			m.bank[i] = (u64)(get_random_u32() & get_random_u32() & 0xfff) << 12;
	} while (make_map(map, &m));
}

/* The parities of a frame: what the even order hands out. */
static unsigned int value(const struct mcube_dim *d, unsigned int off)
{
	return mcube_dim_value(d, off) & ((1U << d->nr_masks) - 1);
}

/* Number of values that a container of 2^order frames has. */
static unsigned int values(const struct mcube_dim *d, unsigned int order)
{
	static bool seen[MCUBE_MAX_VALUES];
	unsigned int off, nr = 0;

	memset(seen, 0, sizeof(seen));
	for (off = 0; off < 1U << order; off++) {
		nr += !seen[value(d, off)];
		seen[value(d, off)] = true;
	}
	return nr;
}

/*
 * Are the counts of the values in a run as equal as can be?  Frames of a cluster that
 * have the same value count as one.
 */
static bool is_even(const struct mcube_dim *d, const struct mcube_fill *f, const u16 *off,
		    unsigned int nr)
{
	unsigned int same = (1U << f->cluster) / values(d, f->cluster);
	unsigned int count[MCUBE_MAX_VALUES] = { }, i;
	unsigned int mean = nr / same / values(d, f->order);

	for (i = 0; i < nr; i++)
		count[value(d, off[i])]++;
	for (i = 0; i < MCUBE_MAX_VALUES; i++)
		if (count[i] % same || count[i] / same > max(mean, 1) ||
		    (count[i] && count[i] / same < mean))
			return false;
	return true;
}

static void take_all(struct mcube_bins *b, u16 *off)
{
	unsigned int i;

	for (i = 0; i < 1U << b->order; i++)
		off[i] = mcube_bins_take(b);
}

static struct mcube_bins *fresh(unsigned int order)
{
	memset(frames, 0xff, sizeof(frames));
	mcube_bins_init(&bins, frames, order);
	return &bins;
}

/*
 * Frames of a run: so many clusters as it takes to have all colors.  The colors within a
 * cluster are those of its first frames, so this is all colors if they are distinct.
 */
static unsigned int run_length(const struct mcube_dim *color, const struct mcube_fill *f)
{
	return values(color, f->order) / values(color, f->cluster) << f->cluster;
}

/* Check all frames in the order in which they left; returns whether the banks are even, too. */
static bool check_frames(struct __test_metadata *_metadata, const struct mcube_fill *f,
			 const struct mcube_map *map, const u16 *off)
{
	unsigned int run = run_length(&map->color, f), i, n = 1U << f->order;
	static bool seen[FRAMES];
	bool even = true;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < n; i++) {
		EXPECT_LT(off[i], n);
		EXPECT_FALSE(seen[off[i]]);
		seen[off[i]] = true;
	}
	for (i = 0; i < n; i += run) {
		EXPECT_TRUE(is_even(&map->color, f, off + i, run));
		even &= is_even(&map->bank, f, off + i, run);
	}
	for (i = 0; i < n; i++)
		if (i & ((1U << f->cluster) - 1))
			EXPECT_EQ(off[i], off[i - 1] + 1);
	return even;
}

static void shuffle(u16 *off, unsigned int n)
{
	unsigned int i, other;

	for (i = n - 1; i; i--) {
		other = get_random_u32_below(i + 1);
		swap(off[i], off[other]);
	}
}

static void put_all(struct mcube_bins *b, const u16 *off, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		mcube_bins_put(b, off[i]);
}

/*
 * Check a variant of an even order, fresh and when a CPU claims the container after use;
 * returns whether the banks are even in each run of the fresh container, too.
 */
static bool check_variant(struct __test_metadata *_metadata, const struct mcube_fill *f,
			  const struct mcube_map *map, u64 key)
{
	struct mcube_bins *b = fresh(f->order);
	static u16 off[FRAMES], again[FRAMES];
	unsigned int i, n = 1U << f->order;
	bool even;

	mcube_bins_fill(b, f, key);
	take_all(b, off);
	even = check_frames(_metadata, f, map, off);
	if (!f->cluster) {
		/* Freeing frame by frame gives the same bins: the levels are right. */
		for (i = n; i--;)
			mcube_bins_put(b, off[i]);
		take_all(b, again);
		EXPECT_EQ(memcmp(off, again, n * sizeof(*off)), 0);
	}
	memcpy(again, off, n * sizeof(*off));
	shuffle(again, n);
	put_all(b, again, n);
	mcube_bins_sort(b, f, key);
	take_all(b, again);
	EXPECT_EQ(memcmp(off, again, n * sizeof(*off)), 0);
	return even;
}

TEST(runs_of_named_maps_have_all_colors_and_even_banks)
{
	struct mcube_fill f;
	struct mcube_map map;
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(named_maps); i++) {
		ASSERT_EQ(make_map(&map, &named_maps[i]), 0);
		for (round = 0; round < 20 * test_scale(); round++) {
			mcube_even_build(&f, MCUBE_MAX_ORDER,
					 round % (MCUBE_CLUSTER_MAX + 1), &map,
					 get_random_u64());
			EXPECT_TRUE(check_variant(_metadata, &f, &map, 0));
			EXPECT_TRUE(check_variant(_metadata, &f, &map, get_random_u64()))
				TH_LOG("banks of a run differ by more than one: %s",
				       named_maps[i].name);
		}
	}
}

TEST(runs_of_random_maps_have_all_colors)
{
	unsigned int order, round, maps = 0, even = 0;
	struct mcube_fill f;
	struct mcube_map map;

	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		for (round = 0; round < 200 * test_scale(); round++) {
			random_map(&map);
			mcube_even_build(&f, order, round % (min(order, MCUBE_CLUSTER_MAX) + 1),
					 &map, get_random_u64());
			even += check_variant(_metadata, &f, &map, get_random_u64());
			maps++;
		}
	}
	TH_LOG("banks of each run differ by at most one: %u of %u random maps", even, maps);
	EXPECT_GE(even * 100, maps * 95);
}

/* Two CPUs in step meet in a bank as often as two random orders do. */
TEST(variants_differ_from_container_to_container)
{
	unsigned int rounds = 1000 * test_scale(), i, round, meet;
	unsigned long meetings = 0, never = 0;
	static u16 a[FRAMES], b[FRAMES];
	struct mcube_fill f;
	struct mcube_map map;

	ASSERT_EQ(make_map(&map, &named_maps[0]), 0);
	mcube_even_build(&f, MCUBE_MAX_ORDER, 0, &map, get_random_u64());
	for (round = 0; round < rounds; round++) {
		mcube_bins_fill(fresh(MCUBE_MAX_ORDER), &f, get_random_u64());
		take_all(&bins, a);
		mcube_bins_fill(fresh(MCUBE_MAX_ORDER), &f, get_random_u64());
		take_all(&bins, b);
		for (i = 0, meet = 0; i < FRAMES; i++)
			meet += value(&map.bank, a[i]) == value(&map.bank, b[i]);
		meetings += meet;
		never += !meet || meet == FRAMES;
	}
	TH_LOG("lockstep: same bank in %lu.%02lu %% of steps; never or always: %lu of %u pairs",
	       meetings * 100 / rounds / FRAMES, meetings * 10000 / rounds / FRAMES % 100,
	       never, rounds);
	EXPECT_LE(meetings * 100, 7ULL * rounds * FRAMES);
	EXPECT_GE(meetings * 100, 5ULL * rounds * FRAMES);
	EXPECT_EQ(never, 0);
}

/* Distinct colors in each whole run of what is free, in hundredths of a color. */
static unsigned int colors_of_runs(struct mcube_bins *b, const struct mcube_dim *color)
{
	unsigned int n = b->nr_free / color->nr_values, run, i, sum = 0;

	for (run = 0; run < n; run++) {
		u32 seen = 0;

		for (i = 0; i < color->nr_values; i++)
			seen |= BIT(value(color, mcube_bins_take(b)));
		sum += hweight32(seen);
	}
	while (mcube_bins_take(b) >= 0)
		;
	return sum * 100 / n;
}

enum after_use { ALL_IN_ORDER, ALL_AT_RANDOM, HALF_AT_RANDOM, NR_AFTER_USE };

/* Use up a container and free its frames; then count the colors of its runs. */
static unsigned int after_use(const struct mcube_fill *f, const struct mcube_dim *color,
			      enum after_use how, bool claim)
{
	u64 key = f->even ? get_random_u64() : 0;
	struct mcube_bins *b = fresh(MCUBE_MAX_ORDER);
	static u16 off[FRAMES];

	mcube_bins_fill(b, f, key);
	take_all(b, off);
	if (how != ALL_IN_ORDER)
		shuffle(off, FRAMES);
	put_all(b, off, how == HALF_AT_RANDOM ? FRAMES / 2 : FRAMES);
	if (claim)
		mcube_bins_sort(b, f, key);
	return colors_of_runs(b, color);
}

TEST(runs_of_refilled_containers)
{
	static const char * const what[] = {
		"all freed in the order of use", "all freed at random", "half freed at random",
	};
	unsigned int rounds = 100 * test_scale(), how, round;
	unsigned long as_freed, claimed;
	struct mcube_fill f;
	struct mcube_map map;

	ASSERT_EQ(make_map(&map, &named_maps[0]), 0);
	mcube_even_build(&f, MCUBE_MAX_ORDER, 0, &map, get_random_u64());
	for (how = 0; how < NR_AFTER_USE; how++) {
		as_freed = 0;
		claimed = 0;
		for (round = 0; round < rounds; round++) {
			as_freed += after_use(&f, &map.color, how, false);
			claimed += after_use(&f, &map.color, how, true);
		}
		as_freed /= rounds;
		claimed /= rounds;
		TH_LOG("%s: of 32 colors, a run has %lu.%02lu as freed, %lu.%02lu when claimed",
		       what[how], as_freed / 100, as_freed % 100, claimed / 100, claimed % 100);
		EXPECT_GT(claimed, how == HALF_AT_RANDOM ? as_freed : 3199);
		EXPECT_LE(claimed, 3200);
	}
}

/* Free about half of the clusters, and a frame of each other cluster; returns how many clusters. */
static unsigned int free_clusters(struct mcube_bins *b, unsigned int cluster, bool *whole)
{
	unsigned int size = 1U << cluster, off, i, nr = 0;

	for (off = 0; off < 1U << b->order; off += size) {
		whole[off >> cluster] = get_random_u32_below(2);
		nr += whole[off >> cluster];
		for (i = 0; i < (whole[off >> cluster] ? size : 1); i++)
			mcube_bins_put(b, off + i);
	}
	return nr;
}

/*
 * Whole clusters of a partly free container leave as if their frames had been put into empty
 * bins in the order of the template; other frames leave later.
 */
TEST(clusters_of_partly_free_containers_leave_in_order)
{
	unsigned int cluster, round, i, nr, off, size;
	static bool whole[FRAMES];
	static u16 wanted[FRAMES];
	struct mcube_fill f;
	struct mcube_map map;

	ASSERT_EQ(make_map(&map, &named_maps[1]), 0);
	for (cluster = 1; cluster <= MCUBE_CLUSTER_MAX; cluster++) {
		for (round = 0; round < 20 * test_scale(); round++) {
			size = 1U << cluster;
			mcube_even_build(&f, MCUBE_MAX_ORDER, cluster, &map, get_random_u64());
			mcube_bins_fill(fresh(MCUBE_MAX_ORDER), &f, 0);
			take_all(&bins, wanted);
			nr = free_clusters(&bins, cluster, whole);
			if (bins.nr_free < FRAMES / 4)
				continue;
			mcube_bins_sort(&bins, &f, 0);
			for (i = 0; i < nr * size; i++)
				wanted[i] = mcube_bins_take(&bins);
			fresh(MCUBE_MAX_ORDER);
			for (i = 0; i < FRAMES; i++)
				if (whole[f.off[i] >> cluster])
					mcube_bins_put(&bins, f.off[i]);
			bins.cluster = cluster;
			for (i = 0; i < nr * size; i++) {
				off = mcube_bins_take(&bins);
				ASSERT_EQ(wanted[i], off);
			}
		}
	}
}
