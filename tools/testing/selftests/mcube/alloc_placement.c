// SPDX-License-Identifier: GPL-2.0
/*
 * Pages land where the policy says.
 *
 * The test touches memory, reads the page frames through /proc/self/pagemap and
 * computes their colors and banks from the text of the map, with code that it
 * does not share with the kernel.  The page allocator comes first, which shows
 * that the measure of neighbours sees neighbours; then both fill orders, then
 * hints.
 */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define MANY	4096U
/* The M3 paper's machine: (pfn / 3) % 8 and (pfn / 768) % 4. */
#define PAPER_BANKS "table:0:0,0,0,1,1,1,2,2,2,3,3,3,4,4,4,5,5,5,6,6,6,7,7,7"
#define PAPER_RANKS "table:8:0,0,0,1,1,1,2,2,2,3,3,3"
#define TRACING	"/sys/kernel/tracing"
#define BATCHED	TRACING "/events/kmem/mm_page_free_batched/enable"

FIXTURE(alloc_placement) {
	struct mcube_saved saved;
	struct mcube_dim color, bank;
	uint64_t pfn[MANY];
};

FIXTURE_SETUP(alloc_placement)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	mcube_write("/proc/sys/vm/drop_caches", "3");
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_dim_from(&self->color, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, mcube_dim_from(&self->bank, MCUBE_MAP "bank_map"));
	ASSERT_EQ(4, self->color.nr_masks);
	ASSERT_EQ(3, self->bank.nr_masks);
}

FIXTURE_TEARDOWN_PARENT(alloc_placement)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

/* Touch @n fresh pages in order and note their frames; NULL on failure. */
static char *touch(unsigned int n, uint64_t *pfn)
{
	char *p = mcube_map_anon(n);
	unsigned int i;

	if (!p)
		return NULL;
	for (i = 0; i < n; i++)
		p[i * PAGE_SIZE_] = 1;
	if (mcube_pfns(p, n, pfn))
		return NULL;
	for (i = 0; i < n; i++)
		if (!pfn[i])
			return NULL;
	return p;
}

/* Pages whose frame lies before or behind the last page's, in percent. */
static unsigned int neighbours(const uint64_t *pfn, unsigned int n)
{
	unsigned int i, hits = 0;

	for (i = 1; i < n; i++)
		hits += pfn[i] == pfn[i - 1] + 1 || pfn[i] + 1 == pfn[i - 1];
	return hits * 100 / (n - 1);
}

static unsigned int count_values(const struct mcube_dim *d,
				 const uint64_t *pfn, unsigned int n)
{
	uint64_t seen[4] = { };
	unsigned int i, value, sum = 0;

	for (i = 0; i < n; i++) {
		value = mcube_value(d, pfn[i]) % 256;
		seen[value / 64] |= 1ULL << value % 64;
	}
	for (i = 0; i < 4; i++)
		sum += __builtin_popcountll(seen[i]);
	return sum;
}

static unsigned int count_equal(const struct mcube_dim *d, unsigned int value,
				const uint64_t *pfn, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += mcube_value(d, pfn[i]) == value;
	return sum;
}

/* Number of pages to request if one free page in @share follows the hint. */
static unsigned int affordable(unsigned int share, unsigned int most)
{
	long free = mcube_field("/proc/vmstat", "nr_free_pages");
	unsigned int n = free / share / 4;

	return n < most ? n : most;
}

TEST_F_TIMEOUT(alloc_placement, page_allocator_gives_neighbours, 120)
{
	char *p;

	ASSERT_EQ(0, mcube_off());
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	TH_LOG("%u %% of pages lie beside their predecessor",
	       neighbours(self->pfn, MANY));
	EXPECT_GE(neighbours(self->pfn, MANY), 30);
}

TEST_F_TIMEOUT(alloc_placement, shuffle_spreads, 120)
{
	unsigned int i, colors = 0, banks = 0, windows = MANY / 32;
	long served, fallback;
	char *p;

	mcube_pin(0);
	served = mcube_stat("served");
	fallback = mcube_stat("fallback");
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	served = mcube_stat("served") - served;
	fallback = mcube_stat("fallback") - fallback;

	for (i = 0; i < windows; i++) {
		colors += count_values(&self->color, self->pfn + 32 * i, 32);
		banks += count_values(&self->bank, self->pfn + 32 * i, 32);
	}
	TH_LOG("%u %% of pages lie beside their predecessor",
	       neighbours(self->pfn, MANY));
	TH_LOG("32 faults cover %u.%02u of 16 colors, %u.%02u of 8 banks",
	       colors / windows, colors * 100 / windows % 100,
	       banks / windows, banks * 100 / windows % 100);
	EXPECT_LE(neighbours(self->pfn, MANY), 5);
	EXPECT_GE(colors, 11 * windows);
	EXPECT_GE(banks, 7 * windows);
	/* Every page came from the allocator or was counted as a fallback. */
	EXPECT_GE(served + fallback, MANY);
	EXPECT_GE(served, MANY - MANY / 20);
	EXPECT_LE(served, MANY + 1024);
}

/* The paper's order: the first 32 frames of a container have one color. */
TEST_F_TIMEOUT(alloc_placement, paper_order_is_as_known, 120)
{
	unsigned int i, start, fresh = 0, order, full = 0, best, c;
	char *p;

	ASSERT_EQ(0, mcube_on("paper", NULL, NULL));
	order = mcube_read_num(MCUBE_ALLOC "container_order");
	ASSERT_GE(order, 9);
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	EXPECT_LE(neighbours(self->pfn, MANY), 5);

	/* Find where a new container begins, and look at its first frames. */
	for (start = 1; start + 32 < MANY; start++) {
		if (self->pfn[start] >> order == self->pfn[start - 1] >> order)
			continue;
		if ((self->pfn[start] & ((1 << order) - 1)) != (1U << order) - 1)
			continue;
		fresh++;
		for (best = 0, c = 0; c < 16; c++) {
			i = count_equal(&self->color, c, self->pfn + start, 32);
			best = i > best ? i : best;
		}
		full += best >= 28;
	}
	TH_LOG("%u fresh containers, %u with their first 32 frames on one color",
	       fresh, full);
	EXPECT_GE(fresh, 2);
	EXPECT_EQ(fresh, full);
}

/* Frames from @pfn on that are in the same container. */
static unsigned int same_container(const uint64_t *pfn, unsigned int n, unsigned int order)
{
	unsigned int i;

	for (i = 1; i < n && pfn[i] >> order == pfn[0] >> order; i++)
		;
	return i;
}

/*
 * Of each 16 frames of a container, every color comes once.  Only containers count of
 * which the process got all frames: then it is known where the 16 frames begin.
 */
static void check_even(struct __test_metadata *_metadata,
		       FIXTURE_DATA(alloc_placement) *self, const char *what,
		       unsigned int banks_of_run)
{
	unsigned int order = mcube_read_num(MCUBE_ALLOC "container_order");
	unsigned int i, j, n, whole = 0, runs = 0, colors = 0, banks = 0;

	for (i = 0; i < MANY; i += n) {
		n = same_container(self->pfn + i, MANY - i, order);
		if (n < 1U << order)
			continue;
		whole++;
		for (j = i; j < i + n; j += 16, runs++) {
			colors += count_values(&self->color, self->pfn + j, 16);
			banks += count_values(&self->bank, self->pfn + j, 16);
		}
	}
	TH_LOG("%s: %u whole containers, %u runs of 16 pages", what, whole, runs);
	EXPECT_GE(whole, 2);
	EXPECT_EQ(16 * runs, colors);
	EXPECT_EQ(banks_of_run * runs, banks);
}

/* The same of the pages at @p, which are in fresh containers, and of pages after them. */
static void check_even_twice(struct __test_metadata *_metadata,
			     FIXTURE_DATA(alloc_placement) *self, char *p,
			     unsigned int banks_of_run)
{
	check_even(_metadata, self, "fresh containers", banks_of_run);
	/* These containers are free again, in the order of the frees. */
	ASSERT_EQ(0, munmap(p, MANY * PAGE_SIZE_));
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	check_even(_metadata, self, "containers that were in use", banks_of_run);
}

/* Pages that follow their predecessor within their group of @size frames. */
static unsigned int followers(struct __test_metadata *_metadata, const uint64_t *pfn,
			      unsigned int size)
{
	unsigned int i, n = 0;

	for (i = 1; i < MANY; i++)
		n += pfn[i] == pfn[i - 1] + 1 && pfn[i] % size;
	TH_LOG("%u of %u pages follow their predecessor in its %u frames", n, MANY, size);
	return n;
}

TEST_F_TIMEOUT(alloc_placement, even_hands_out_colors, 120)
{
	char *p;

	ASSERT_EQ(0, mcube_on("even", NULL, NULL));
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	EXPECT_LE(neighbours(self->pfn, MANY), 5);
	check_even_twice(_metadata, self, p, 8);
}

/*
 * Clusters of eight: neighbours in a cluster, and clusters in even order.  A cluster has
 * two banks, so the two clusters of a run have four.
 */
TEST_F_TIMEOUT(alloc_placement, clusters_stay_together, 120)
{
	char *p;

	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "cluster_order", "3"));
	ASSERT_EQ(0, mcube_on("even", NULL, NULL));
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	/* Seven of eight, but for what other tasks took meanwhile. */
	EXPECT_GE(followers(_metadata, self->pfn, 8), MANY * 7 / 8 * 98 / 100);
	EXPECT_LE(neighbours(self->pfn, MANY), 90);
	check_even_twice(_metadata, self, p, 4);
}

/* What auto picks is said, and done: even, and clusters of 32 pages. */
TEST_F_TIMEOUT(alloc_placement, auto_does_what_it_says, 120)
{
	char text[256], *p;

	ASSERT_LT(0, mcube_read(MCUBE_ALLOC "fill_auto", text, sizeof(text)));
	EXPECT_STREQ("even cluster_order=5: a container has 16 colors; "
		     "neighbouring pages share rows or take turns in banks", text);
	ASSERT_EQ(0, mcube_on("auto", NULL, NULL));
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	EXPECT_GE(followers(_metadata, self->pfn, 32), MANY * 31 / 32 * 98 / 100);
	EXPECT_LE(neighbours(self->pfn, MANY), 98);
	check_even(_metadata, self, "fresh containers", 4);

	/* Nothing to go by: single pages, at random. */
	ASSERT_EQ(0, mcube_on("auto", "none", "none"));
	ASSERT_LT(0, mcube_read(MCUBE_ALLOC "fill_auto", text, sizeof(text)));
	EXPECT_STREQ("shuffle cluster_order=0: a container has 1 color; banks are unknown", text);
	ASSERT_NE(NULL, touch(MANY / 4, self->pfn));
	EXPECT_LE(neighbours(self->pfn, MANY / 4), 5);
}

/* Touch pages under a hint; all pages but counted fallbacks must follow it. */
static void check_hint(struct __test_metadata *_metadata,
		       FIXTURE_DATA(alloc_placement) *self, const char *hint,
		       int color, int bank, unsigned int n)
{
	long colored = mcube_stat("colored"), fallback = mcube_stat("fallback");
	unsigned int i, good = 0;
	char text[64], *p;

	ASSERT_GE(n, 16);
	ASSERT_EQ(0, mcube_hint(hint));
	ASSERT_LT(0, mcube_read(MCUBE_HINT, text, sizeof(text)));
	EXPECT_STREQ(hint, text);
	p = touch(n, self->pfn);
	ASSERT_EQ(0, mcube_hint("none"));
	ASSERT_NE(NULL, p);
	colored = mcube_stat("colored") - colored;
	fallback = mcube_stat("fallback") - fallback;

	for (i = 0; i < n; i++)
		good += (color < 0 || (int)mcube_value(&self->color, self->pfn[i]) == color) &&
			(bank < 0 || (int)mcube_value(&self->bank, self->pfn[i]) == bank);
	if (n - good > fallback || colored < good || fallback > n / 10)
		TH_LOG("%s: %u of %u pages obey, colored +%ld, fallback +%ld",
		       hint, good, n, colored, fallback);
	EXPECT_LE(n - good, fallback);
	EXPECT_GE(colored, good);
	EXPECT_LE(colored, n + 256);
	/* Enough memory is free, so more fallbacks are an error. */
	EXPECT_LE(fallback, n / 10);
	munmap(p, n * PAGE_SIZE_);
}

TEST_F_TIMEOUT(alloc_placement, hint_color, 300)
{
	unsigned int n = affordable(16, 512), c;
	char hint[64];

	for (c = 0; c < 16; c++) {
		snprintf(hint, sizeof(hint), "color=%u", c);
		check_hint(_metadata, self, hint, c, -1, n);
	}
}

TEST_F_TIMEOUT(alloc_placement, hint_bank, 300)
{
	unsigned int n = affordable(8, 512), b;
	char hint[64];

	for (b = 0; b < 8; b++) {
		snprintf(hint, sizeof(hint), "bank=%u", b);
		check_hint(_metadata, self, hint, -1, b, n);
	}
}

TEST_F_TIMEOUT(alloc_placement, hint_color_and_bank, 300)
{
	unsigned int n = affordable(128, 256), i;
	char hint[64];

	for (i = 0; i < 16; i += 3) {
		snprintf(hint, sizeof(hint), "color=%u bank=%u", i, i % 8);
		check_hint(_metadata, self, hint, i, i % 8, n);
	}
}

/* Pages of one color are allocated and freed 20 times, with the same result. */
TEST_F_TIMEOUT(alloc_placement, hint_holds_when_memory_is_reused, 300)
{
	unsigned int n = affordable(16, 256), round;

	for (round = 0; round < 20; round++)
		check_hint(_metadata, self, "color=7", 7, -1, n);
}

TEST_F_TIMEOUT(alloc_placement, small_containers, 300)
{
	unsigned int n = affordable(16, 512);
	char *p;

	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "container_order", "9"));
	ASSERT_EQ(0, mcube_on(NULL, NULL, NULL));
	check_hint(_metadata, self, "color=9", 9, -1, n);
	check_hint(_metadata, self, "bank=4", -1, 4, n);
	mcube_pin(0);
	p = touch(MANY, self->pfn);
	ASSERT_NE(NULL, p);
	EXPECT_LE(neighbours(self->pfn, MANY), 5);
}

/* Three channels: not linear over XOR, hence a table. */
TEST_F_TIMEOUT(alloc_placement, table_map, 300)
{
	unsigned int n = affordable(6, 512), b;
	char hint[64];

	ASSERT_EQ(0, mcube_on("shuffle", NULL, "0x24000 table:2:0,1,2"));
	ASSERT_EQ(0, mcube_dim_from(&self->bank, MCUBE_MAP "bank_map"));
	ASSERT_EQ(1, self->bank.nr_tables);
	ASSERT_EQ(3, self->bank.table[0].len);
	ASSERT_EQ(1, self->bank.nr_masks);
	ASSERT_EQ(6, mcube_read_num(MCUBE_MAP "nr_banks"));
	for (b = 0; b < 6; b++) {
		snprintf(hint, sizeof(hint), "bank=%u", b);
		check_hint(_metadata, self, hint, -1, b, n);
	}
}

/* The M3 paper's machine: 8 banks by threes of pages, 4 ranks by 768 pages. */
TEST_F_TIMEOUT(alloc_placement, map_of_the_m3_paper, 300)
{
	unsigned int n = affordable(32, 256), b;
	char hint[64];

	ASSERT_EQ(0, mcube_on("shuffle", NULL, PAPER_BANKS " " PAPER_RANKS));
	ASSERT_EQ(0, mcube_dim_from(&self->bank, MCUBE_MAP "bank_map"));
	ASSERT_EQ(2, self->bank.nr_tables);
	ASSERT_EQ(32, mcube_read_num(MCUBE_MAP "nr_banks"));
	for (b = 0; b < 32; b += 11) {
		ASSERT_EQ(b, mcube_value(&self->bank, b % 8 * 3 + b / 8 * 768));
		snprintf(hint, sizeof(hint), "bank=%u", b);
		check_hint(_metadata, self, hint, -1, b, n);
	}
}

/* How many banks a container has, and how large one is that has all. */
TEST_F_TIMEOUT(alloc_placement, containers_by_the_map, 120)
{
	static const struct {
		const char *banks;
		long order[2], smallest;	/* Banks of containers of order 9 and 10. */
	} cases[] = {
		{ "none", { 1, 1 }, 0 },
		{ MCUBE_TEST_BANKS, { 8, 8 }, 5 },
		{ "0x24000 0x200000", { 2, 4 }, 10 },
		{ PAPER_BANKS " " PAPER_RANKS, { 8, 16 }, 12 },
	};
	unsigned int i, order;
	char text[32];

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, mcube_off());
		ASSERT_EQ(0, mcube_write(MCUBE_MAP "bank_map", cases[i].banks));
		EXPECT_EQ(cases[i].smallest, mcube_read_num(MCUBE_ALLOC "cover_order"));
		for (order = 9; order <= 10; order++) {
			ASSERT_EQ(0, mcube_write_num(MCUBE_ALLOC "container_order", order));
			EXPECT_EQ(cases[i].order[order - 9],
				  mcube_read_num(MCUBE_ALLOC "container_banks"));
		}
		ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
		EXPECT_EQ(cases[i].order[1], mcube_read_num(MCUBE_ALLOC "container_banks"));
	}
	/* A rank of 2^30 pages: that takes too long. */
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "bank_map", "table:0:0,1,2 table:30:0,1"));
	EXPECT_EQ(3, mcube_read_num(MCUBE_ALLOC "container_banks"));
	ASSERT_LT(0, mcube_read(MCUBE_ALLOC "cover_order", text, sizeof(text)));
	EXPECT_STREQ("unknown", text);
}

TEST_F_TIMEOUT(alloc_placement, hint_is_inherited_and_cleared, 120)
{
	unsigned int n = affordable(16, 256);
	char text[64], *p;
	int status;
	pid_t pid;

	ASSERT_EQ(0, mcube_hint("color=5"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int good;

		mcube_read(MCUBE_HINT, text, sizeof(text));
		if (strcmp(text, "color=5") || !touch(n, self->pfn))
			_exit(101);
		good = count_equal(&self->color, 5, self->pfn, n);
		/* The child clears its own hint, not that of its parent. */
		if (mcube_hint("none"))
			_exit(102);
		_exit(good * 100 / n);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_GE(WEXITSTATUS(status), 90);
	EXPECT_LE(WEXITSTATUS(status), 100);
	mcube_read(MCUBE_HINT, text, sizeof(text));
	EXPECT_STREQ("color=5", text);

	ASSERT_EQ(0, mcube_hint("none"));
	mcube_read(MCUBE_HINT, text, sizeof(text));
	EXPECT_STREQ("none", text);
	p = touch(512, self->pfn);
	ASSERT_NE(NULL, p);
	EXPECT_LE(count_equal(&self->color, 5, self->pfn, 512), 128);
	EXPECT_GE(count_values(&self->color, self->pfn, 512), 12);
}

TEST_F_TIMEOUT(alloc_placement, hint_without_allocator_is_harmless, 120)
{
	long colored = mcube_stat("colored"), fallback = mcube_stat("fallback");
	char *p;

	ASSERT_EQ(0, mcube_hint("color=5"));
	ASSERT_EQ(0, mcube_off());
	p = touch(512, self->pfn);
	ASSERT_EQ(0, mcube_hint("none"));
	ASSERT_NE(NULL, p);
	EXPECT_EQ(colored, mcube_stat("colored"));
	EXPECT_EQ(fallback, mcube_stat("fallback"));
	EXPECT_GE(count_values(&self->color, self->pfn, 512), 8);
}

/* Page cache is movable too: a tmpfs file written under a hint. */
TEST_F_TIMEOUT(alloc_placement, page_cache_follows_the_hint, 120)
{
	unsigned int n = affordable(16, 256), i, good;
	long fallback = mcube_stat("fallback");
	int fd = memfd_create("mcube", MFD_CLOEXEC);
	char *p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, n * PAGE_SIZE_));
	ASSERT_EQ(0, mcube_hint("color=11"));
	for (i = 0; i < n; i++)
		ASSERT_EQ(1, pwrite(fd, "x", 1, i * PAGE_SIZE_));
	ASSERT_EQ(0, mcube_hint("none"));
	fallback = mcube_stat("fallback") - fallback;
	p = mmap(NULL, n * PAGE_SIZE_, PROT_READ, MAP_SHARED | MAP_POPULATE,
		 fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < n; i++)
		ASSERT_EQ('x', p[i * PAGE_SIZE_]);
	ASSERT_EQ(0, mcube_pfns(p, n, self->pfn));
	good = count_equal(&self->color, 11, self->pfn, n);
	EXPECT_LE(n - good, fallback);
	EXPECT_LE(fallback, n / 10);
}

TEST_F_TIMEOUT(alloc_placement, pages_stay_on_their_node, 300)
{
	int node, max = mcube_max_node(), nodes[512], tried = 0;
	unsigned int n, i, wrong;
	char path[64], *p;

	if (!max)
		SKIP(return, "the machine has one node");
	for (node = 0; node <= max; node++) {
		snprintf(path, sizeof(path),
			 MCUBE_NODES "/node%d/meminfo", node);
		if (!mcube_exists(path) || mcube_bind(node))
			continue;
		n = affordable(32, 512);
		p = touch(n, self->pfn);
		ASSERT_NE(NULL, p);
		ASSERT_EQ(0, mcube_nodes(p, n, nodes));
		for (wrong = 0, i = 0; i < n; i++)
			wrong += nodes[i] != node;
		EXPECT_EQ(0, wrong);
		munmap(p, n * PAGE_SIZE_);

		check_hint(_metadata, self, "color=2", 2, -1, n);
		ASSERT_EQ(0, mcube_hint("color=2"));
		p = touch(n, self->pfn);
		ASSERT_EQ(0, mcube_hint("none"));
		ASSERT_NE(NULL, p);
		ASSERT_EQ(0, mcube_nodes(p, n, nodes));
		for (wrong = 0, i = 0; i < n; i++)
			wrong += nodes[i] != node;
		EXPECT_EQ(0, wrong);
		munmap(p, n * PAGE_SIZE_);
		mcube_bind(-1);
		tried++;
	}
	EXPECT_GE(tried, 2);
}

/* Number of these frames that the trace has as freed in a batch. */
static size_t traced(const uint64_t *pfn, size_t n)
{
	FILE *f = fopen(TRACING "/trace", "re");
	unsigned long long frame;
	char line[512], *p;
	size_t found = 0, i;

	while (f && fgets(line, sizeof(line), f)) {
		p = strstr(line, "mm_page_free_batched:");
		p = p ? strstr(p, "pfn=") : NULL;
		if (!p || sscanf(p, "pfn=%llx", &frame) != 1)
			continue;
		for (i = 0; i < n && pfn[i] != frame; i++)
			;
		found += i < n;
	}
	if (f)
		fclose(f);
	return found;
}

/* Pages that go to containers are traced as pages on the way to a pcp list. */
TEST_F_TIMEOUT(alloc_placement, batched_frees_are_traced, 120)
{
	unsigned int n = 256;
	size_t found;
	char *p;

	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (!mcube_exists(BATCHED))
		SKIP(return, "no tracing");
	/* Pages may wait in the LRU batch of a CPU; munmap() empties that of its own CPU. */
	ASSERT_EQ(0, mcube_pin(0));
	p = touch(n, self->pfn);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, mcube_write(BATCHED, "1"));
	munmap(p, n * PAGE_SIZE_);
	ASSERT_EQ(0, mcube_write(BATCHED, "0"));
	found = traced(self->pfn, n);
	TH_LOG("%zu of %u frames traced", found, n);
	EXPECT_LE(n, found);
}

TEST_HARNESS_MAIN
