// SPDX-License-Identifier: GPL-2.0
/*
 * Code that looks for pages by address works with the mcube allocator on.
 *
 * Compaction and huge pages with memory in small pieces, migration of pages
 * that came from containers, soft offlining of pages in use and of pages that
 * are free in containers, contiguous allocations through the hugetlb pool.
 *
 * How much compaction finds depends on where the pages in use lie: each case
 * expects a machine that has just been booted.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif

#define THP		"/sys/kernel/mm/transparent_hugepage/"
#define SOFT_OFFLINE	"/sys/devices/system/memory/soft_offline_page"
#define UNPOISON	"/sys/kernel/debug/hwpoison/unpoison-pfn"
#define GIGANTIC	"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"

/* Free pages needed for a huge page of 1 GiB, with a margin. */
#define ENOUGH		(3 * 1024 * (long)(MIB / PAGE_SIZE_))

FIXTURE(alloc_compaction) {
	struct mcube_saved saved;
	struct mcube_memory before;
	char *p;
	size_t n, kept;
};

/*
 * Nearly all memory is in containers with every eighth page in use, so that no
 * huge page can be allocated without migration.
 */
FIXTURE_SETUP(alloc_compaction)
{
	const char *why = mcube_unusable();
	size_t i;

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_off());
	mcube_write(THP "enabled", "madvise");
	mcube_write(THP "defrag", "madvise");
	mcube_write("/proc/sys/vm/drop_caches", "3");
	ASSERT_TRUE(mcube_memory_settled(&self->before));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	self->n = self->before.free / 100 * 80;
	self->p = mcube_map_anon(self->n);
	ASSERT_NE(NULL, self->p);
	for (i = 0; i < self->n; i++)
		*(size_t *)(self->p + i * PAGE_SIZE_) = i;
	for (i = 0; i < self->n; i++)
		if (i % 8)
			madvise(self->p + i * PAGE_SIZE_, PAGE_SIZE_,
				MADV_DONTNEED);
		else
			self->kept++;
	EXPECT_LT(self->n / 4, mcube_stat("free_pages"));
}

static void check_kept(struct __test_metadata *_metadata,
		       FIXTURE_DATA(alloc_compaction) *self)
{
	size_t i, wrong = 0;

	for (i = 0; i < self->n; i += 8)
		wrong += *(size_t *)(self->p + i * PAGE_SIZE_) != i;
	EXPECT_EQ(0, wrong);
}

FIXTURE_TEARDOWN_PARENT(alloc_compaction)
{
	struct mcube_memory after;
	const char *why;

	if (mcube_unusable())
		return;
	EXPECT_EQ(0, mcube_off());
	mcube_write("/proc/sys/vm/drop_caches", "3");
	usleep(300000);
	EXPECT_TRUE(mcube_memory_settled(&after));
	why = mcube_memory_check_off(&after);
	EXPECT_EQ(NULL, why) {
		TH_LOG("%s", why ? why : "");
	}
	EXPECT_GE(256, after.lost - self->before.lost) {
		mcube_memory_print("before", &self->before);
		mcube_memory_print("after", &after);
	}
	mcube_restore(&self->saved);
}

static char *map_huge(size_t huge)
{
	size_t align = HUGE_PAGES * PAGE_SIZE_;
	char *p = mmap(NULL, (huge + 1) * align, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	return madvise(p, huge * align, MADV_HUGEPAGE) ? NULL : p;
}

TEST_F_TIMEOUT(alloc_compaction, compact_memory, 300)
{
	struct mcube_memory m;

	ASSERT_EQ(0, mcube_write("/proc/sys/vm/compact_memory", "1"));
	check_kept(_metadata, self);
	ASSERT_TRUE(mcube_memory_settled(&m));
	EXPECT_EQ(m.free, m.buddy + m.mcube);
}

TEST_F_TIMEOUT(alloc_compaction, huge_pages, 300)
{
	long got, want = self->n / HUGE_PAGES / 4;
	long moved = mcube_field("/proc/vmstat", "pgmigrate_success");
	size_t i;
	char *t;

	if (!mcube_exists(THP "enabled"))
		SKIP(return, "no transparent huge pages");
	t = map_huge(want);
	ASSERT_NE(NULL, t);
	for (i = 0; i < want * HUGE_PAGES; i++)
		t[i * PAGE_SIZE_] = i;
	got = mcube_field("/proc/meminfo", "AnonHugePages") / 4 / HUGE_PAGES;
	moved = mcube_field("/proc/vmstat", "pgmigrate_success") - moved;
	TH_LOG("%ld of %ld huge pages, %ld pages moved", got, want, moved);
	/* At least some pages; compaction decides how many. */
	EXPECT_LE(want / 4, got);
	for (i = 0; i < want * HUGE_PAGES; i++)
		ASSERT_EQ((char)i, t[i * PAGE_SIZE_]);
	check_kept(_metadata, self);
}

TEST_F_TIMEOUT(alloc_compaction, migrate_between_nodes, 300)
{
	unsigned long nodes[2] = { 1, 2 };
	size_t count, i, on_node = 0;
	void **list;
	int *status, *want, round;

	if (mcube_max_node() < 1)
		SKIP(return, "the machine has one node");
	count = self->kept < 2048 ? self->kept : 2048;
	list = calloc(count, sizeof(*list));
	status = calloc(count, sizeof(*status));
	want = calloc(count, sizeof(*want));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < count; i++) {
			list[i] = self->p + i * 8 * PAGE_SIZE_;
			want[i] = round % 2;
		}
		ASSERT_LE(0, syscall(SYS_move_pages, 0, count, list, want, status,
				     0));
		for (on_node = 0, i = 0; i < count; i++)
			on_node += status[i] == round % 2;
		EXPECT_LE(count * 9 / 10, on_node);
	}
	/* Move the whole process to the other node and back. */
	EXPECT_LE(0, syscall(SYS_migrate_pages, 0, 64, &nodes[0], &nodes[1]));
	EXPECT_LE(0, syscall(SYS_migrate_pages, 0, 64, &nodes[1], &nodes[0]));
	check_kept(_metadata, self);
}

static bool unpoison(uint64_t pfn)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)pfn);
	return !mcube_write(UNPOISON, text);
}

/*
 * The content of a page in use migrates, and no request may get the frame
 * again.
 */
TEST_F_TIMEOUT(alloc_compaction, soft_offline_pages_in_use, 120)
{
	uint64_t pfn[16], now;
	size_t i;

	if (!mcube_exists(UNPOISON))
		SKIP(return, "no CONFIG_HWPOISON_INJECT to mend pages again");
	for (i = 0; i < 16; i++) {
		char *page = self->p + i * 8 * PAGE_SIZE_;

		ASSERT_EQ(0, mcube_pfns(page, 1, &pfn[i]));
		ASSERT_EQ(0, madvise(page, PAGE_SIZE_, MADV_SOFT_OFFLINE)) {
			TH_LOG("errno %d", errno);
		}
		ASSERT_EQ(0, mcube_pfns(page, 1, &now));
		EXPECT_NE(now, pfn[i]);
	}
	check_kept(_metadata, self);
	for (i = 0; i < 16; i++)
		EXPECT_TRUE(unpoison(pfn[i]));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A frame that is free in a container must leave the allocator. */
TEST_F_TIMEOUT(alloc_compaction, soft_offline_pages_free_in_containers, 120)
{
	uint64_t pfn[16], *now;
	size_t n = 4096, i, k, found = 0, hits = 0;
	char text[32], *t;
	long broken_up;

	if (!mcube_exists(SOFT_OFFLINE) || !mcube_exists(UNPOISON))
		SKIP(return, "no CONFIG_HWPOISON_INJECT to mend pages again");
	/* These frames are free for sure: they were allocated and freed. */
	t = mcube_map_anon(n);
	now = calloc(self->n, sizeof(*now));
	ASSERT_NE(NULL, t);
	ASSERT_NE(NULL, now);
	for (i = 0; i < n; i++)
		t[i * PAGE_SIZE_] = 1;
	ASSERT_EQ(0, mcube_pfns(t, n, now));
	for (i = 0; i < 16; i++)
		pfn[i] = now[i * n / 16];
	munmap(t, n * PAGE_SIZE_);

	broken_up = mcube_stat(STAT_BROKEN_UP);
	for (i = 0; i < 16; i++) {
		snprintf(text, sizeof(text), "%#llx",
			 (unsigned long long)pfn[i] * PAGE_SIZE_);
		if (!mcube_write(SOFT_OFFLINE, text))
			found++;
		else
			pfn[i] = 0;
	}
	TH_LOG("%zu of 16 frames went offline, %ld containers broken up", found,
	       mcube_stat(STAT_BROKEN_UP) - broken_up);
	EXPECT_LE(12, found);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));

	/* A request for most of the free memory gets no such frame either. */
	n = mcube_field("/proc/vmstat", "nr_free_pages") / 100 * 80;
	n = n < self->n ? n : self->n;
	t = mcube_map_anon(n);
	ASSERT_NE(NULL, t);
	for (i = 0; i < n; i++)
		t[i * PAGE_SIZE_] = 1;
	ASSERT_EQ(0, mcube_pfns(t, n, now));
	qsort(now, n, sizeof(*now), by_value);
	for (i = 0; i < 16; i++)
		hits += pfn[i] && bsearch(&pfn[i], now, n, sizeof(*now), by_value);
	EXPECT_EQ(0, hits);
	munmap(t, n * PAGE_SIZE_);
	for (k = 0, i = 0; i < 16; i++)
		k += pfn[i] && unpoison(pfn[i]);
	EXPECT_EQ(found, k);
	check_kept(_metadata, self);
}

/* Huge pages of 1 GiB come from alloc_contig_pages(): isolation, migration. */
TEST_F_TIMEOUT(alloc_compaction, contiguous_allocation, 300)
{
	long broken_up = mcube_stat(STAT_BROKEN_UP), got;

	if (!mcube_exists(GIGANTIC))
		SKIP(return, "no huge pages of 1 GiB");
	if (self->before.free < ENOUGH)
		SKIP(return, "too little memory for a huge page of 1 GiB");
	ASSERT_EQ(0, mcube_write(GIGANTIC, "1"));
	got = mcube_read_num(GIGANTIC);
	TH_LOG("%ld huge pages of 1 GiB, %ld containers broken up", got,
	       mcube_stat(STAT_BROKEN_UP) - broken_up);
	if (!got) {
		/*
		 * If every GiB has an unmovable page, the allocation fails with
		 * the allocator off, too.
		 */
		ASSERT_EQ(0, mcube_off());
		mcube_write(GIGANTIC, "1");
		got = mcube_read_num(GIGANTIC);
		mcube_write(GIGANTIC, "0");
		check_kept(_metadata, self);
		if (!got)
			SKIP(return, "not with the allocator off either");
		ASSERT_FALSE(got) {
			TH_LOG("only with the allocator off");
		}
	}
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	ASSERT_EQ(0, mcube_write(GIGANTIC, "0"));
	check_kept(_metadata, self);
}

TEST_HARNESS_MAIN
