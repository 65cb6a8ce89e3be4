// SPDX-License-Identifier: GPL-2.0
/*
 * The allocator gives way under memory pressure.
 *
 * A process brings most of the free memory into containers: it touches memory
 * and frees all but a few pages.  Then requests come that the allocator does not
 * serve: unmovable pages, huge pages, the hugetlb pool.  They must get what they
 * would have got without the allocator, which breaks up containers for them, and
 * MemFree must tell the truth all the while.
 *
 * The bounds hold for memory as a boot leaves it, so each case expects a machine
 * that has just been booted; a small machine, as each case fills its memory.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define THP		"/sys/kernel/mm/transparent_hugepage/enabled"
#define BOOST		"/proc/sys/vm/watermark_boost_factor"
#define CGROUP		MCUBE_CGROUPS "/mcube-selftest"
#define LEFT		4L	/* huge pages of a node */

FIXTURE(alloc_pressure) {
	struct mcube_saved saved;
	struct mcube_memory before;
	long pool;		/* huge pages */
	long boost, min_free;
};

static void calm_down(void)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
	usleep(200000);
}

/*
 * Touch memory in a child that the OOM killer kills first.  Return: 0 or its
 * signal.
 */
static int hog(size_t pages, const char *hint)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		char *p = mcube_map_anon(pages);
		size_t i;

		mcube_write("/proc/self/oom_score_adj", "1000");
		if (mcube_exists(CGROUP))
			mcube_write(CGROUP "/cgroup.procs", "0");
		if (!p || (hint && mcube_hint(hint)))
			_exit(1);
		for (i = 0; i < pages; i++)
			*(size_t *)(p + i * PAGE_SIZE_) = i;
		for (i = 0; i < pages; i++)
			if (*(size_t *)(p + i * PAGE_SIZE_) != i)
				_exit(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

FIXTURE_SETUP(alloc_pressure)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	self->pool = mcube_read_num(MCUBE_POOL);
	self->boost = mcube_read_num(BOOST);
	self->min_free = mcube_read_num(MCUBE_MIN_FREE);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_off());
	mcube_write(THP, "madvise");
	/*
	 * Fallbacks raise the min watermark by up to 1.5 times the high
	 * watermark.
	 */
	mcube_write(BOOST, "0");
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_TRUE(mcube_memory_settled(&self->before));
}

/* No page may be lost. */
FIXTURE_TEARDOWN_PARENT(alloc_pressure)
{
	struct mcube_memory after;
	const char *why;

	if (mcube_unusable())
		return;
	if (self->pool >= 0)
		mcube_write_num(MCUBE_POOL, self->pool);
	if (self->boost >= 0)
		mcube_write_num(BOOST, self->boost);
	mcube_write_num(MCUBE_MIN_FREE, self->min_free);
	mcube_write(THP, "madvise");
	rmdir(CGROUP);
	EXPECT_EQ(0, mcube_off());
	calm_down();
	EXPECT_TRUE(mcube_memory_settled(&after));
	why = mcube_memory_check_off(&after);
	EXPECT_EQ(NULL, why) {
		TH_LOG("%s", why ? why : "");
	}
	/* Sockets and pipes leave slab and per-CPU caches behind, not blocks. */
	EXPECT_GE(768, after.lost - self->before.lost) {
		mcube_memory_print("before", &self->before);
		mcube_memory_print("after", &after);
	}
	mcube_restore(&self->saved);
}

enum keep { KEEP_ONE_IN_64, KEEP_ONE_PER_CONTAINER };

/*
 * Bring @share percent of free memory into containers and keep a few pages in
 * use, so that the allocator releases no container by itself.  Return: the mapping.
 */
static char *park(struct __test_metadata *_metadata, unsigned int share,
		  enum keep keep, size_t *pages)
{
	long avail = mcube_field("/proc/vmstat", "nr_free_pages");
	size_t n = avail / 100 * share, i, kept = 0;
	unsigned int order = mcube_read_num(MCUBE_ALLOC "container_order");
	uint64_t *pfn = malloc(n * sizeof(*pfn));
	uint8_t *seen = calloc(1, 1 << 20);
	char *p = mcube_map_anon(n);

	ASSERT_NE(NULL, p);
	ASSERT_NE(NULL, pfn);
	ASSERT_NE(NULL, seen);
	for (i = 0; i < n; i++)
		*(size_t *)(p + i * PAGE_SIZE_) = i;
	if (keep == KEEP_ONE_PER_CONTAINER)
		ASSERT_EQ(0, mcube_pfns(p, n, pfn));
	for (i = 0; i < n; i++) {
		bool stay = i % 64 == 0;

		if (keep == KEEP_ONE_PER_CONTAINER) {
			uint64_t c = pfn[i] >> order;

			/*
			 * Keep a page of the lower half, so that the upper half
			 * is free in one piece.
			 */
			stay = c < (1 << 20) && !seen[c] &&
			       !(pfn[i] >> (order - 1) & 1);
			if (stay)
				seen[c] = 1;
		}
		if (stay)
			kept++;
		else
			madvise(p + i * PAGE_SIZE_, PAGE_SIZE_, MADV_DONTNEED);
	}
	avail = mcube_stat("free_pages");
	TH_LOG("%zu pages parked, %zu kept in use; %ld of %ld free pages are in containers",
	       n, kept, avail, mcube_field("/proc/vmstat", "nr_free_pages"));
	/* With fewer free pages in containers the rest would prove nothing. */
	EXPECT_LT(n / 8, avail);
	EXPECT_LE(8, mcube_stat("containers"));
	*pages = n;
	free(pfn);
	free(seen);
	return p;
}

static void check_kept(struct __test_metadata *_metadata, const char *p,
		       size_t pages)
{
	size_t i, wrong = 0;

	for (i = 0; i < pages; i++) {
		size_t value = *(const size_t *)(p + i * PAGE_SIZE_);

		/* A page that was freed reads as the zero page. */
		wrong += value && value != i;
	}
	EXPECT_EQ(0, wrong);
}

/* The accounts are read one after the other: retry until they agree. */
static void check_truth(struct __test_metadata *_metadata)
{
	long memfree, in_containers;
	struct mcube_memory m;
	int try;

	for (try = 0; try < 50; try++) {
		memfree = mcube_field("/proc/meminfo", "MemFree") / 4;
		in_containers = mcube_stat("free_pages");
		if (mcube_memory_settled(&m) && labs(memfree - m.free) < 256 &&
		    labs(in_containers - m.mcube) < 256)
			break;
		usleep(100000);
	}
	ASSERT_EQ(m.free, m.buddy + m.mcube) {
		mcube_memory_print("now", &m);
	}
	EXPECT_GE(256, labs(in_containers - m.mcube)) {
		TH_LOG("stats/free_pages %ld, nr_free_mcube %ld", in_containers,
		       m.mcube);
	}
	EXPECT_GE(256, labs(memfree - m.free)) {
		TH_LOG("MemFree %ld pages, nr_free_pages %ld", memfree, m.free);
	}
	EXPECT_EQ(0, m.listed);
}

TEST_F_TIMEOUT(alloc_pressure, memfree_tells_the_truth, 300)
{
	long before = mcube_field("/proc/vmstat", "nr_free_pages"), after;
	size_t pages;
	char *p;

	p = park(_metadata, 80, KEEP_ONE_IN_64, &pages);
	check_truth(_metadata);
	/*
	 * All memory is free but the pages kept, page tables and per-CPU lists.
	 */
	after = mcube_field("/proc/vmstat", "nr_free_pages");
	EXPECT_LE(before - after, (long)(pages / 64 + pages / 256 + 8192));
	check_kept(_metadata, p, pages);
	munmap(p, pages * PAGE_SIZE_);
	check_truth(_metadata);
}

TEST_F_TIMEOUT(alloc_pressure, transparent_huge_pages, 300)
{
	long broken_up, uncovered, huge, half;
	struct mcube_memory m;
	size_t pages, n, i;
	char *p, *t;

	if (mcube_write(THP, "madvise"))
		SKIP(return, "no transparent huge pages");
	p = park(_metadata, 85, KEEP_ONE_PER_CONTAINER, &pages);
	broken_up = mcube_stat(STAT_BROKEN_UP);
	uncovered = mcube_stat("uncovered");
	/*
	 * As many huge pages as the buddy lists can have at most, plus half of
	 * the upper halves of containers; the lower halves would need
	 * compaction.
	 */
	half = mcube_stat("containers") / 2;
	ASSERT_LE(4, half);
	ASSERT_TRUE(mcube_memory_settled(&m));
	n = m.buddy / HUGE_PAGES * HUGE_PAGES + half * HUGE_PAGES;
	t = mmap(NULL, (n + HUGE_PAGES) * PAGE_SIZE_, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, t);
	t = (char *)(((uintptr_t)t + HUGE_PAGES * PAGE_SIZE_ - 1) &
		     ~(HUGE_PAGES * PAGE_SIZE_ - 1));
	ASSERT_EQ(0, madvise(t, n * PAGE_SIZE_, MADV_HUGEPAGE));
	for (i = 0; i < n; i++)
		t[i * PAGE_SIZE_] = i;
	huge = mcube_field("/proc/meminfo", "AnonHugePages") / 4 / HUGE_PAGES;
	TH_LOG("%ld of %zu huge pages, %ld containers broken up", huge,
	       n / HUGE_PAGES, mcube_stat(STAT_BROKEN_UP) - broken_up);
	EXPECT_LE(half, huge);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	/* Compaction may hand a huge page over directly, which is not counted. */
	EXPECT_LE(uncovered + huge * 3 / 4, mcube_stat("uncovered"));
	for (i = 0; i < n; i++)
		ASSERT_EQ((char)i, t[i * PAGE_SIZE_]);
	check_truth(_metadata);
	check_kept(_metadata, p, pages);
}

TEST_F_TIMEOUT(alloc_pressure, hugetlb_pool, 300)
{
	long broken_up, want, got, half;
	struct mcube_memory m;
	size_t pages;
	char *p;

	if (self->pool < 0)
		SKIP(return, "no hugetlb");
	p = park(_metadata, 85, KEEP_ONE_PER_CONTAINER, &pages);
	broken_up = mcube_stat(STAT_BROKEN_UP);
	half = mcube_stat("containers") / 2;
	ASSERT_LE(4, half);
	ASSERT_TRUE(mcube_memory_settled(&m));
	want = self->pool + m.buddy / HUGE_PAGES + half;
	ASSERT_EQ(0, mcube_write_num(MCUBE_POOL, want));
	got = mcube_read_num(MCUBE_POOL) - self->pool;
	TH_LOG("%ld of %ld huge pages, %ld containers broken up", got,
	       want - self->pool, mcube_stat(STAT_BROKEN_UP) - broken_up);
	EXPECT_LE(half, got);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	check_truth(_metadata);
	check_kept(_metadata, p, pages);
	/* Huge pages that are freed do not go to containers. */
	ASSERT_EQ(0, mcube_write_num(MCUBE_POOL, self->pool));
	check_truth(_metadata);
}

/*
 * The allocator keeps wholly free containers, up to a 64th of a zone, but gives
 * them up for requests of larger blocks.
 */
TEST_F_TIMEOUT(alloc_pressure, spares_become_huge_pages, 300)
{
	long free = mcube_field("/proc/vmstat", "nr_free_pages"), size, most;
	long returned = mcube_stat(STAT_RELEASED), broken_up, before, after, want, got, had;
	int nodes = mcube_max_node() + 1;

	if (self->pool < 0)
		SKIP(return, "no hugetlb");
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "container_order", "9"));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	/* Enough containers to have spares, and more than the allocator keeps. */
	EXPECT_EQ(0, hog(free / 4, NULL));
	calm_down();
	size = 1L << mcube_read_num(MCUBE_ALLOC "container_order");
	most = self->before.managed / 64 / size;
	before = mcube_stat("containers");
	TH_LOG("%ld containers are left, %ld were released; up to %ld spares",
	       before, mcube_stat(STAT_RELEASED) - returned, most);
	EXPECT_LT(returned, mcube_stat(STAT_RELEASED));
	/* All other containers are owned by CPUs or hold page cache. */
	EXPECT_LE(before * size - mcube_stat("free_pages"), free / 8);
	EXPECT_LE(most / 2, before);
	EXPECT_LE(mcube_stat("free_pages"), (most + 16) * size);

	/*
	 * Make huge pages of all free memory but a rest.  The watermarks are low
	 * for that.  The rest is needed: without page cache and swap the next page
	 * would need the OOM killer.
	 */
	ASSERT_EQ(0, mcube_write_num(MCUBE_MIN_FREE, 4096 * nodes));
	broken_up = mcube_stat(STAT_BROKEN_UP);
	got = self->pool;
	do {	/* Again, as the last round made more memory free. */
		had = got;
		want = had + mcube_field("/proc/vmstat", "nr_free_pages") / HUGE_PAGES -
		       LEFT * nodes;
		if (want > had)
			ASSERT_EQ(0, mcube_write_num(MCUBE_POOL, want));
		got = mcube_read_num(MCUBE_POOL);
		after = mcube_stat("containers");
		TH_LOG("%ld of %ld huge pages, %ld containers broken up, %ld are left",
		       got, want, mcube_stat(STAT_BROKEN_UP) - broken_up, after);
	} while (got > had);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	EXPECT_LT(after, before);
	/*
	 * No room for another huge page: CPUs own the other containers, or
	 * pages in them are in use.
	 */
	EXPECT_LE(mcube_stat("free_pages"), 16 * size);
	check_truth(_metadata);
}

/* All memory but the reserves can be used, with a hint and without. */
TEST_F_TIMEOUT(alloc_pressure, memory_filled_by_movable_pages, 600)
{
	static const char * const hints[] = { NULL, "color=3" };
	long free, reserve;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		calm_down();
		free = mcube_field("/proc/vmstat", "nr_free_pages");
		/* Watermarks and per-CPU lists are a share of all memory, not of free memory. */
		reserve = self->before.managed / 20 + 4096;
		EXPECT_EQ(0, hog(free - reserve, hints[i])) {
			TH_LOG("a process of %ld of %ld free pages died, hint %s",
			       free - reserve, free, hints[i] ? hints[i] : "none");
		}
		check_truth(_metadata);
	}
}

TEST_F_TIMEOUT(alloc_pressure, out_of_memory, 600)
{
	long free = self->before.free, before = free + self->before.pcp;
	struct mcube_memory after;

	if (mcube_field("/proc/meminfo", "SwapTotal") > 0)
		SKIP(return, "there is swap");
	EXPECT_EQ(SIGKILL, hog(free + free / 4, NULL));
	EXPECT_EQ(SIGKILL, hog(free + free / 4, "bank=2"));
	calm_down();
	ASSERT_TRUE(mcube_memory_settled(&after));
	EXPECT_LE(before - before / 50, after.free + after.pcp);
	check_truth(_metadata);
}

TEST_F_TIMEOUT(alloc_pressure, memcg_limit, 300)
{
	long round;

	if (mcube_make_cgroup(CGROUP, "+memory"))
		SKIP(return, "no cgroup2 on /sys/fs/cgroup");
	if (mcube_write(CGROUP "/memory.max", "32M")) {
		rmdir(CGROUP);
		SKIP(return, "no memory controller");
	}
	mcube_write(CGROUP "/memory.swap.max", "0");
	for (round = 0; round < 5; round++) {
		EXPECT_EQ(0, hog(24 * MIB / PAGE_SIZE_,
				 round % 2 ? "color=1" : NULL));
		EXPECT_EQ(SIGKILL, hog(48 * MIB / PAGE_SIZE_,
				       round % 2 ? "color=1 bank=1" : NULL));
	}
	check_truth(_metadata);
}

/* Pipe buffers: order 0, unmovable, more than buddy and per-CPU lists have. */
TEST_F_TIMEOUT(alloc_pressure, unmovable_pages, 300)
{
	long broken_up = mcube_stat(STAT_BROKEN_UP), want, got = 0;
	struct rlimit limit = { 16384, 16384 };
	size_t pages, i, nr, size = 64 * PAGE_SIZE_;
	struct mcube_memory m;
	int (*pipes)[2];
	char *p, *data;

	setrlimit(RLIMIT_NOFILE, &limit);
	p = park(_metadata, 85, KEEP_ONE_IN_64, &pages);
	ASSERT_TRUE(mcube_memory_settled(&m));
	want = m.buddy + m.pcp + m.mcube / 2;
	nr = want / 64 + 1;
	if (nr > 8000) {
		nr = 8000;
		size = (want / nr + 1) * PAGE_SIZE_;
	}
	pipes = calloc(nr, sizeof(*pipes));
	data = malloc(2 * size);
	ASSERT_NE(NULL, pipes);
	ASSERT_NE(NULL, data);
	memset(data, 0x5a, 2 * size);
	for (i = 0; i < nr && got < want; i++) {
		ssize_t done;
		int room;

		ASSERT_EQ(0, pipe2(pipes[i], O_NONBLOCK | O_CLOEXEC)) {
			TH_LOG("pipe %zu of %zu: errno %d", i, nr, errno);
		}
		room = fcntl(pipes[i][1], F_SETPIPE_SZ, size);
		ASSERT_LE((int)size, room);
		done = write(pipes[i][1], data, size);
		ASSERT_EQ(size, done) {
			TH_LOG("pipe %zu took %zd bytes, errno %d", i, done, errno);
		}
		got += done / PAGE_SIZE_;
	}
	TH_LOG("%ld unmovable pages taken, %ld containers broken up", got,
	       mcube_stat(STAT_BROKEN_UP) - broken_up);
	EXPECT_LE(want, got);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	check_truth(_metadata);
	check_kept(_metadata, p, pages);
	for (i = 0; i < nr && pipes[i][0]; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

/* Datagrams of 32 KiB: order 3 where such blocks are free, and slab. */
TEST_F_TIMEOUT(alloc_pressure, sockets, 300)
{
	long broken_up = mcube_stat(STAT_BROKEN_UP), want, got = 0;
	struct rlimit limit = { 16384, 16384 };
	static char data[32768], back[32768];
	size_t pages, i, nr = 7000;
	struct mcube_memory m;
	int (*pairs)[2], size = 8 << 20;
	char *p;

	setrlimit(RLIMIT_NOFILE, &limit);
	p = park(_metadata, 85, KEEP_ONE_IN_64, &pages);
	ASSERT_TRUE(mcube_memory_settled(&m));
	want = m.buddy + m.pcp + m.mcube / 3;
	pairs = calloc(nr, sizeof(*pairs));
	ASSERT_NE(NULL, pairs);
	memset(data, 0xa5, sizeof(data));
	for (i = 0; i < nr && got < want; i++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0,
					pairs[i])) {
			TH_LOG("pair %zu: errno %d", i, errno);
		}
		setsockopt(pairs[i][0], SOL_SOCKET, SO_SNDBUFFORCE, &size,
			   sizeof(size));
		while (got < want &&
		       send(pairs[i][0], data, sizeof(data), 0) == sizeof(data))
			got += sizeof(data) / PAGE_SIZE_;
		ASSERT_TRUE(got >= want || errno == EAGAIN) {
			TH_LOG("send: errno %d", errno);
		}
	}
	TH_LOG("%ld pages in %zu sockets, %ld containers broken up", got, i,
	       mcube_stat(STAT_BROKEN_UP) - broken_up);
	EXPECT_LE(want, got);
	EXPECT_LT(broken_up, mcube_stat(STAT_BROKEN_UP));
	check_truth(_metadata);
	check_kept(_metadata, p, pages);
	for (i = 0; i < nr && pairs[i][0]; i++) {
		while (recv(pairs[i][1], back, sizeof(back), 0) > 0)
			EXPECT_EQ(0, memcmp(data, back, sizeof(data)));
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

TEST_HARNESS_MAIN
