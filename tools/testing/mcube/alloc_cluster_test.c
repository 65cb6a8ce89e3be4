// SPDX-License-Identifier: GPL-2.0
/*
 * Clusters: neighbouring frames leave the bins together, against a model, and how many
 * DRAM rows a stream opens.
 */
#include "mcube_test.h"

#include "alloc/bins.h"
#include "bins_check.h"

#define FRAMES		MCUBE_MAX_PAGES

static struct page frames[FRAMES];
static struct mcube_bins bins;

static struct mcube_bins *fresh(unsigned int order)
{
	memset(frames, 0xff, sizeof(frames));
	mcube_bins_init(&bins, frames, order);
	return &bins;
}

static struct mcube_bins *filled(unsigned int order, unsigned int cluster)
{
	static struct mcube_fill f;

	mcube_fill_build(&f, order, MCUBE_FILL_SHUFFLE, get_random_u64());
	f.cluster = cluster;
	mcube_bins_fill(fresh(order), &f, get_random_u64());
	return &bins;
}

/* Clusters come out whole, in ascending order, each from another group of clusters. */
TEST(clusters_are_what_is_spread)
{
	unsigned int cluster, i, nr, off, first = 0;
	static bool seen[FRAMES];

	for (cluster = 1; cluster <= MCUBE_CLUSTER_MAX; cluster++) {
		filled(MCUBE_MAX_ORDER, cluster);
		memset(seen, 0, sizeof(seen));
		nr = FRAMES >> cluster;
		for (i = 0; i < FRAMES; i++) {
			off = mcube_bins_take(&bins);
			if (i % (1U << cluster)) {
				ASSERT_EQ(off, first + i % (1U << cluster));
				continue;
			}
			first = off;
			ASSERT_EQ(first % (1U << cluster), 0);
			/* The first 8 clusters lie in different eighths. */
			if (i >> cluster < 8 && nr >= 8) {
				ASSERT_FALSE(seen[first / (FRAMES / 8)]);
				seen[first / (FRAMES / 8)] = true;
			}
		}
		ASSERT_EQ(mcube_bins_take(&bins), -1);
	}
}

/* Order of the largest wholly free group that contains the frame. */
static int group_of(const bool *free, unsigned int order, unsigned int off)
{
	unsigned int level, i, first;

	for (level = 0; level <= order; level++) {
		first = off & ~((1U << level) - 1);
		for (i = first; i < first + (1U << level); i++)
			if (!free[i])
				return (int)level - 1;
	}
	return order;
}

static int largest_group(const bool *free, unsigned int order)
{
	unsigned int off;
	int most = -1;

	for (off = 0; off < 1U << order; off++)
		most = max(most, group_of(free, order, off));
	return most;
}

/* The largest group that a cluster reaches into, or -1 if none of it is free. */
static int reach_of_cluster(const bool *free, unsigned int order, unsigned int first,
			    unsigned int nr)
{
	unsigned int off;
	int most = -1;

	for (off = first; off < first + nr; off++)
		most = max(most, group_of(free, order, off));
	return most;
}

/* A frame is in use, free, or free and of the open cluster. */
enum state { USED, FREE, OPEN };

static int lowest(const enum state *state, unsigned int first, unsigned int nr, enum state wanted)
{
	unsigned int off;

	for (off = first; off < first + nr; off++)
		if (state[off] == wanted)
			return off;
	return -1;
}

static void frames_that_are(const enum state *state, enum state wanted, bool *are)
{
	unsigned int off;

	for (off = 0; off < FRAMES; off++)
		are[off] = state[off] == wanted;
}

/* The owner of a frame may write what the bins wrote. */
static void use(enum state *state, unsigned int off)
{
	state[off] = USED;
	frames[off].index = get_random_u32_below(2 * FRAMES);
	frames[off].private = get_random_u32_below(2 * FRAMES);
}

/* A frame leaves: the lowest of the open cluster, else of the largest group's cluster. */
static void take(struct __test_metadata *_metadata, enum state *state)
{
	unsigned int nr = 1U << bins.cluster, size = 1U << bins.order, off, first;
	int got = mcube_bins_take(&bins), open = lowest(state, 0, size, OPEN);
	bool free[FRAMES];

	if (open >= 0) {
		ASSERT_EQ(got, open);
		use(state, got);
		return;
	}
	frames_that_are(state, FREE, free);
	if (got < 0) {
		ASSERT_EQ(largest_group(free, bins.order), -1);
		return;
	}
	first = got & ~(nr - 1);
	ASSERT_EQ(got, lowest(state, first, nr, FREE));
	ASSERT_EQ(reach_of_cluster(free, bins.order, first, nr), largest_group(free, bins.order));
	for (off = first; off < first + nr; off++)
		if (state[off] == FREE)
			state[off] = OPEN;
	use(state, got);
}

/* Hints: a group of any frames, or a single frame; the open cluster serves none. */
static void take_hinted(struct __test_metadata *_metadata, enum state *state)
{
	unsigned int order = get_random_u32_below(min(bins.order, 5U) + 1), off;
	DECLARE_BITMAP(all, FRAMES);
	bool free[FRAMES];
	u16 first;
	int got;

	bitmap_fill(all, FRAMES);
	frames_that_are(state, FREE, free);
	if (!order) {
		got = mcube_bins_take_from(&bins, all, NULL);
		ASSERT_EQ(got < 0, largest_group(free, bins.order) < 0);
		if (got < 0)
			return;
		ASSERT_TRUE(free[got]);
		use(state, got);
		return;
	}
	if (!mcube_bins_take_groups(&bins, all, order, &first, 1)) {
		ASSERT_LT(largest_group(free, bins.order), (int)order);
		return;
	}
	for (off = first; off < first + (1U << order); off++) {
		ASSERT_TRUE(free[off]);
		use(state, off);
	}
}

/* A folio is freed: a group of frames that are all in use. */
static void put_group(struct __test_metadata *_metadata, enum state *state, unsigned int off)
{
	unsigned int order = get_random_u32_below(min(bins.order, 4U) + 1), first, i;

	first = off & ~((1U << order) - 1);
	for (i = first; i < first + (1U << order); i++)
		if (state[i] != USED)
			return;
	/* Frames that are freed into a container without free frames stay unbinned. */
	if (!bins.nr_free)
		return;
	mcube_bins_put_group(&bins, first, order);
	for (i = first; i < first + (1U << order); i++)
		state[i] = FREE;
}

static void close_cluster(enum state *state)
{
	unsigned int off;

	mcube_bins_close(&bins);
	for (off = 0; off < FRAMES; off++)
		if (state[off] == OPEN)
			state[off] = FREE;
}

/* A CPU claims the container: representatives of clusters enter the bins anew. */
static void sort_bins(enum state *state)
{
	static const struct mcube_map no_masks;
	static struct mcube_fill even;

	close_cluster(state);
	mcube_even_build(&even, bins.order, bins.cluster, &no_masks, get_random_u64());
	mcube_bins_sort(&bins, &even, get_random_u64());
}

static void compare(struct __test_metadata *_metadata, const enum state *state)
{
	bool free[FRAMES], open[FRAMES];
	unsigned int off, nr = 0;

	frames_that_are(state, FREE, free);
	frames_that_are(state, OPEN, open);
	check_bins(_metadata, &bins, free);
	ASSERT_EQ(mcube_bins_top(&bins), largest_group(free, bins.order));
	ASSERT_EQ(mcube_bins_largest(&bins), max(largest_group(free, bins.order),
						 largest_group(open, bins.order)));
	for (off = 0; off < 1U << bins.order; off++) {
		ASSERT_EQ(mcube_bins_is_free(&bins, off), state[off] != USED);
		nr += state[off] != USED;
	}
	ASSERT_EQ(bins.nr_free, nr);
}

/* All frames leave the bins for the buddy lists. */
static void drain(struct __test_metadata *_metadata, const enum state *state)
{
	unsigned int order, off;
	int first;

	mcube_bins_close(&bins);
	while ((first = mcube_bins_drain_group(&bins, &order)) >= 0)
		for (off = first; off < first + (1U << order); off++) {
			ASSERT_NE(state[off], USED);
			ASSERT_EQ(frames[off].private, 0);
		}
	ASSERT_EQ(bins.nr_free, 0);
}

TEST(random_operations_against_a_model)
{
	unsigned int order, cluster, round, off, used;
	enum state state[FRAMES];

	for (order = 0; order <= 7; order++) {
		for (cluster = 1; cluster <= min(order, MCUBE_CLUSTER_MAX); cluster++) {
			filled(order, cluster);
			for (off = 0; off < FRAMES; off++)
				state[off] = off < 1U << order ? FREE : USED;
			for (round = 0; round < 2000 * test_scale(); round++) {
				used = get_random_u32_below(100) < round / 10 % 100;
				off = get_random_u32_below(1U << order);
				if (used) {
					take(_metadata, state);
				} else if (state[off] == USED && round % 4 == 0) {
					put_group(_metadata, state, off);
				} else if (state[off] == USED) {
					mcube_bins_put(&bins, off);
					state[off] = FREE;
				} else if (state[off] == FREE && round % 8 == 0) {
					mcube_bins_remove(&bins, off);
					use(state, off);
				} else if (round % 8 == 4) {
					take_hinted(_metadata, state);
				} else if (round % 64 == 1) {
					close_cluster(state);
				} else if (round % 64 == 2) {
					sort_bins(state);
				}
				compare(_metadata, state);
			}
			drain(_metadata, state);
		}
	}
}

/* Frames of a container that was taken for a hint have no levels and no slots yet. */
TEST(unbinned_frames_enter_with_clusters)
{
	static const struct mcube_map no_masks;
	static struct mcube_fill even;
	unsigned int round, off;
	bool free[FRAMES];

	for (round = 0; round < 20 * test_scale(); round++) {
		mcube_bins_fill_unbinned(fresh(MCUBE_MAX_ORDER));
		for (off = 0; off < FRAMES; off++) {
			free[off] = get_random_u32_below(100) < 95;
			if (!free[off])
				mcube_bins_remove(&bins, off);
		}
		mcube_even_build(&even, MCUBE_MAX_ORDER, MCUBE_CLUSTER_MAX, &no_masks,
				 get_random_u64());
		mcube_bins_sort(&bins, &even, get_random_u64());
		ASSERT_EQ(bins.unbinned, 0);
		ASSERT_EQ(bins.cluster, MCUBE_CLUSTER_MAX);
		check_bins(_metadata, &bins, free);
	}
}

/*
 * DRAM of a Skylake with two channels (Pessl et al., DRAMA): masks of the bank, some with
 * bits within the page; 64 banks and rows of 8 KiB, so 512 KiB hold a row of each.
 */
static const u64 skylake[] = { 0x4080, 0x88000, 0x110000, 0x220000, 0x440000, 0xc3300 };

static unsigned int bank_of(u64 addr)
{
	unsigned int i, bank = 0;

	for (i = 0; i < ARRAY_SIZE(skylake); i++)
		bank |= (hweight64(addr & skylake[i]) & 1) << i;
	return bank;
}

/* Rows that streams open as they work through the frames, per page of a stream. */
static unsigned int rows_per_page(const u16 *off, unsigned int streams)
{
	unsigned int part = FRAMES / streams, i, line, s, opened = 0;
	u64 row[64], addr;

	memset(row, 0xff, sizeof(row));
	for (i = 0; i < part; i++) {
		for (line = 0; line < 64; line++) {
			for (s = 0; s < streams; s++) {
				addr = (u64)off[s * part + i] << 12 | line << 6;
				opened += row[bank_of(addr)] != addr >> 19;
				row[bank_of(addr)] = addr >> 19;
			}
		}
	}
	return opened * 100 / FRAMES;
}

TEST(clusters_keep_rows_open)
{
	unsigned int rounds = 20 * test_scale(), cluster, round, i, rows[2][MCUBE_CLUSTER_MAX + 1];
	static u16 off[FRAMES];

	for (i = 0; i < FRAMES; i++)
		off[i] = i;
	TH_LOG("rows per page, ascending frames: one stream %u.%02u, two streams %u.%02u",
	       rows_per_page(off, 1) / 100, rows_per_page(off, 1) % 100,
	       rows_per_page(off, 2) / 100, rows_per_page(off, 2) % 100);
	memset(rows, 0, sizeof(rows));
	for (cluster = 0; cluster <= MCUBE_CLUSTER_MAX; cluster++) {
		for (round = 0; round < rounds; round++) {
			filled(MCUBE_MAX_ORDER, cluster);
			for (i = 0; i < FRAMES; i++)
				off[i] = mcube_bins_take(&bins);
			rows[0][cluster] += rows_per_page(off, 1);
			rows[1][cluster] += rows_per_page(off, 2);
		}
		rows[0][cluster] /= rounds;
		rows[1][cluster] /= rounds;
		TH_LOG("rows per page, clusters of %u: one stream %u.%02u, two streams %u.%02u",
		       1U << cluster, rows[0][cluster] / 100, rows[0][cluster] % 100,
		       rows[1][cluster] / 100, rows[1][cluster] % 100);
	}
	/* Eight neighbours share their four rows. */
	EXPECT_LE(rows[0][3] * 4, rows[0][0]);
}
