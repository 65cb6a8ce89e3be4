// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets when things fail: allocations, memory, processes that are killed, and a file
 * system that is unmounted; and when memory is short.  Readers get an error or the right
 * data, nothing stays pinned, and the pool can shrink and go.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define PAGES		512U	/* more than a pool of 1 MiB has */
#define READERS		3U
#define WRONG		1	/* exit status of a reader: wrong data, or another error */

#define STREAM_MIB	128L	/* of 512 MiB; the page cache of the stream is larger */

#define CGROUP		MCUBE_CGROUPS "/mcube-setcache"

#define TRACING		"/sys/kernel/tracing"
#define ALLOCATED	TRACING "/events/kmem/mm_page_alloc/enable"
#define CORRUPT		"/sys/kernel/debug/hwpoison/corrupt-pfn"
#define SOFT_OFFLINE	"/sys/devices/system/memory/soft_offline_page"
#define POOL		256	/* pages of the pool of 1 MiB */

FIXTURE(setcache_faults) {
	struct setcache_setup setup;
	char lru_gen[32];
};

FIXTURE_VARIANT(setcache_faults) {
	enum setcache_place place;
};

FIXTURE_VARIANT_ADD(setcache_faults, ext4) { .place = ON_EXT4 };
FIXTURE_VARIANT_ADD(setcache_faults, xfs) { .place = ON_XFS };

/* Write all pages; no page is in the page cache. */
static int fill_file(const char *path, uint32_t number)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : setcache_write(fd, PAGES, number);

	close(fd);
	return ret;
}

FIXTURE_SETUP(setcache_faults)
{
	const char *why = setcache_begin(&self->setup, variant->place, PAGES);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, fill_file(self->setup.file, 1));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_faults)
{
	mcube_faults("0");
	if (self->lru_gen[0])
		EXPECT_EQ(0, mcube_write(MCUBE_LRU_GEN, self->lru_gen));
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/*
 * Read at random, 8 pages at a time, so often or until killed; exits with %WRONG after
 * wrong data or an error that is not @allowed.
 */
static pid_t start_reader(const char *path, unsigned int seed, long times, uint32_t number,
			  int allowed)
{
	struct stamped s = { .begun = number, .done = number };
	uint64_t state = seed * 7919 + 1;
	unsigned int first, i;
	pid_t pid = fork();
	ssize_t got;
	char *buf;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Present, so that no read is counted again after a page fault. */
	buf = mcube_map_anon(8);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!buf || fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		_exit(WRONG);
	memset(buf, 0, 8 * PAGE_SIZE_);
	if (allowed && mcube_write(MCUBE_FAIL, "1"))
		_exit(WRONG);
	while (times--) {
		first = mcube_random(&state) % (PAGES - 8);
		got = pread(fd, buf, 8 * PAGE_SIZE_, first * PAGE_SIZE_);
		if (got < 0 && errno != allowed && errno != EIO)
			_exit(WRONG);
		if (got < 0 && !allowed)
			_exit(WRONG);
		for (i = 0; (ssize_t)(i * PAGE_SIZE_) < got; i++)
			if (!stamp_is_current(&s, first + i, number, buf + i * PAGE_SIZE_, 0,
					      PAGE_SIZE_))
				_exit(WRONG);
	}
	_exit(0);
}

/* Pages are right, no way is in use, and the pool shrinks and goes. */
static void expect_sound(struct __test_metadata *_metadata, const char *path,
			 uint32_t number)
{
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "4"));
	EXPECT_TRUE(child_ended_well(start_reader(path, 99, 300, number, 0)));
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "off"));
	EXPECT_EQ(0, setcache_unload());
	EXPECT_EQ(0, setcache_load());
}

TEST_F_TIMEOUT(setcache_faults, readers_are_killed, 120)
{
	long before = setcache_stat("fills");
	pid_t pid[READERS];
	unsigned int i, j;

	for (i = 0; i < 40; i++) {
		for (j = 0; j < READERS; j++)
			pid[j] = start_reader(self->setup.file, i * READERS + j, -1, 1, 0);
		/* However late they begin, some pages have come in. */
		while (setcache_stat("fills") - before <= (i + 1) * READERS)
			usleep(1000);
		usleep(2000 + i * 500);
		for (j = 0; j < READERS; j++)
			EXPECT_TRUE(child_was_killed(pid[j]));
	}
	/* They were killed while pages came in. */
	EXPECT_LT(40 * READERS, setcache_stat("fills") - before);
	expect_sound(_metadata, self->setup.file, 1);
}

TEST_F_TIMEOUT(setcache_faults, allocations_fail, 120)
{
	long before = setcache_stat("errors");
	pid_t pid[READERS];
	unsigned int i;

	if (!mcube_exists("/sys/kernel/debug/failslab") || !mcube_exists(MCUBE_FAIL))
		SKIP(return, "no CONFIG_FAILSLAB");
	mcube_faults("10");
	for (i = 0; i < READERS; i++)
		pid[i] = start_reader(self->setup.file, i, 500, 1, ENOMEM);
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_ended_well(pid[i]));
	mcube_faults("0");
	TH_LOG("%ld pages failed", setcache_stat("errors") - before);
	expect_sound(_metadata, self->setup.file, 1);
}

/* The frames of pages that the pool gets as the mode leaves off.  Returns how many. */
static int pool_frames(unsigned long *pfn)
{
	char line[512], *at;
	/* "w" empties the trace. */
	FILE *f = fopen(TRACING "/trace", "we");
	int nr = 0;

	if (!f)
		return -1;
	fclose(f);
	f = NULL;
	if (mcube_write(MCUBE_SETCACHE "mode", "off") || mcube_write(ALLOCATED, "1"))
		return -1;
	if (!mcube_write(MCUBE_SETCACHE "mode", "random") && !mcube_write(ALLOCATED, "0"))
		f = fopen(TRACING "/trace", "re");
	while (f && nr < POOL && fgets(line, sizeof(line), f)) {
		at = strstr(line, " pfn=");
		if (at && strstr(line, "GFP_USER") && strstr(line, "__GFP_NORETRY"))
			pfn[nr++] = strtoul(at + 5, NULL, 16);
	}
	if (f)
		fclose(f);
	return nr;
}

/* No read comes from a page that is broken, and none goes into one. */
TEST_F_TIMEOUT(setcache_faults, broken_pages, 240)
{
	long hits, fills, soft = 0;
	unsigned long pfn[POOL];
	char text[32];
	int i;

	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (!mcube_exists(ALLOCATED) || !mcube_exists(CORRUPT) || !mcube_exists(SOFT_OFFLINE))
		SKIP(return, "no tracing, or no CONFIG_HWPOISON_INJECT");
	ASSERT_EQ(POOL, pool_frames(pfn));
	ASSERT_TRUE(child_ended_well(start_reader(self->setup.file, 1, 100, 1, 0)));
	fills = setcache_stat("fills");
	/* The kernel takes each page of the pool: one half ages, the other half is broken. */
	for (i = 0; i < POOL; i++) {
		if (i % 2) {
			snprintf(text, sizeof(text), "%#lx", pfn[i] * PAGE_SIZE_);
			soft += !mcube_write(SOFT_OFFLINE, text);
		} else {
			/* The write fails with -EBUSY, as only the pool had the page. */
			mcube_write_num(CORRUPT, pfn[i]);
		}
	}
	EXPECT_LE(POOL / 2 - 8, soft);
	hits = setcache_stat("hits");
	ASSERT_TRUE(child_ended_well(start_reader(self->setup.file, 1, 1, 1, 0)));
	EXPECT_EQ(hits, setcache_stat("hits"));
	EXPECT_EQ(fills + 8, setcache_stat("fills"));
	ASSERT_TRUE(child_ended_well(start_reader(self->setup.file, 1, 1, 1, 0)));
	EXPECT_EQ(hits + 8, setcache_stat("hits"));
	EXPECT_EQ(POOL, setcache_stat("pages"));
	expect_sound(_metadata, self->setup.file, 1);
}

TEST_F_TIMEOUT(setcache_faults, memory_is_exhausted, 240)
{
	pid_t pid[READERS], hog;
	unsigned int i;
	char *memory;

	for (i = 0; i < READERS; i++)
		pid[i] = start_reader(self->setup.file, i, -1, 1, 0);
	hog = fork();
	if (!hog) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mcube_write("/proc/self/oom_score_adj", "1000"))
			_exit(WRONG);
		for (;;) {
			memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			if (memory == MAP_FAILED)
				_exit(0);
		}
	}
	/* Killed by the kernel. */
	EXPECT_FALSE(child_ended_well(hog));
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_was_killed(pid[i]));
	expect_sound(_metadata, self->setup.file, 1);
}

/* A process that takes memory until the pool has @pages or fewer. */
static bool take_memory(long pages)
{
	int status;
	pid_t hog = fork();

	if (hog)
		return waitpid(hog, &status, 0) == hog && !status;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mcube_write("/proc/self/oom_score_adj", "1000"))
		_exit(WRONG);
	while (setcache_stat("pages") > pages)
		if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
			_exit(WRONG);
	_exit(0);
}

static long scanned(void)
{
	return mcube_field("/proc/vmstat", "pgscan_kswapd") +
	       mcube_field("/proc/vmstat", "pgscan_direct");
}

TEST_F_TIMEOUT(setcache_faults, memory_is_short, 240)
{
	long mib = mcube_field("/proc/meminfo", "MemTotal") / 1024 / 4, pages = mib * 256;
	long before = setcache_stat("reclaimed");
	pid_t pid[READERS];
	double end;
	unsigned int i;

	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", mib));
	ASSERT_EQ(pages, setcache_stat("pages"));
	for (i = 0; i < READERS; i++)
		pid[i] = start_reader(self->setup.file, i, -1, 1, 0);
	/* The process gets the memory, and is not killed for it. */
	EXPECT_TRUE(take_memory(pages / 2));
	EXPECT_LE(pages / 2 - pages / 20, setcache_stat("reclaimed") - before);
	/* Its memory is free now, and goes back to the pool. */
	end = mcube_deadline(120);
	while (setcache_stat("pages") < pages && mcube_now() < end)
		usleep(100000);
	EXPECT_EQ(pages, setcache_stat("pages"));
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_was_killed(pid[i]));
	expect_sound(_metadata, self->setup.file, 1);
}

/* A process that keeps a file of so many MiB in the page cache, where nobody may take it. */
static pid_t start_protected_file(const char *path, long mib)
{
	char *buf = malloc(MIB);
	pid_t pid = fork();
	long i;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mcube_write(CGROUP "/cgroup.procs", "0"))
		_exit(WRONG);
	for (i = 0; i < mib; i++)
		if (pread(fd, buf, MIB, i * MIB) != (ssize_t)MIB)
			_exit(WRONG);
	for (;;)
		pause();
}

/*
 * The page cache is larger than the pool, and protected: a process gets the memory of the
 * pool before it is killed.
 */
TEST_F_TIMEOUT(setcache_faults, memory_is_short_beside_files, 240)
{
	long mib = mcube_field("/proc/meminfo", "MemTotal") / 1024 / 8;
	double end = mcube_deadline(60);
	char path[192];
	pid_t pid;

	if (mcube_make_cgroup(CGROUP, "+memory") ||
	    mcube_write_num(CGROUP "/memory.min", (2 * mib + 16) * MIB))
		SKIP(return, "no memory cgroup");
	snprintf(path, sizeof(path), "%s-protected", self->setup.backing);
	ASSERT_EQ(0, mcube_make_hole(path, 2 * mib * 256));
	pid = start_protected_file(path, 2 * mib);
	while (mcube_field(CGROUP "/memory.stat", "file") < 2 * mib * (long)MIB &&
	       child_runs(pid) && mcube_now() < end)
		usleep(10000);
	unlink(path);
	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", mib));
	EXPECT_TRUE(take_memory(mib * 256 / 2));
	/* The pool is the smaller of the two all the time. */
	EXPECT_LE(mib * (long)MIB, mcube_field(CGROUP "/memory.stat", "file"));
	EXPECT_TRUE(child_was_killed(pid));
	EXPECT_EQ(0, rmdir(CGROUP));
	expect_sound(_metadata, self->setup.file, 1);
}

/* The kernel tells how much memory can be had, and the pool is part of it. */
TEST_F(setcache_faults, pool_is_reclaimable)
{
	long before, kib = STREAM_MIB * 1024;

	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", 1));
	before = mcube_field("/proc/meminfo", "KReclaimable");
	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", STREAM_MIB));
	EXPECT_LT(before + kib / 2, mcube_field("/proc/meminfo", "KReclaimable"));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", 1));
	EXPECT_GT(before + kib / 2, mcube_field("/proc/meminfo", "KReclaimable"));
}

/*
 * Who writes to drop_caches is not short of memory.  So the pool is there again before it would
 * be if memory were short: then it grows after 10 seconds.  One of the tries has a CPU in time.
 */
TEST_F_TIMEOUT(setcache_faults, drop_caches_takes_nothing_for_long, 240)
{
	bool soon = false;
	double begin = 0;
	int try;

	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", STREAM_MIB));
	for (try = 0; try < 5 && !soon; try++) {
		long reclaimed = setcache_stat("reclaimed");

		EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
		begin = mcube_now();
		EXPECT_LT(reclaimed, setcache_stat("reclaimed"));
		while (setcache_stat("pages") != STREAM_MIB * 256 && mcube_now() - begin < 40)
			usleep(10000);
		EXPECT_EQ(STREAM_MIB * 256, setcache_stat("pages"));
		soon = mcube_now() - begin < 9;
	}
	EXPECT_TRUE(soon);
	expect_sound(_metadata, self->setup.file, 1);
}

/* A stream of files takes memory from the page cache, which is larger than the pool. */
static void read_stream(struct __test_metadata *_metadata,
			FIXTURE_DATA(setcache_faults) *self)
{
	long pages = mcube_field("/proc/meminfo", "MemTotal") / 4 * 5 / 4;
	long reclaimed = setcache_stat("reclaimed"), before = scanned(), i;
	char path[192], *buf = malloc(64 * PAGE_SIZE_);
	int fd;

	snprintf(path, sizeof(path), "%s-stream", self->setup.backing);
	ASSERT_EQ(0, mcube_make_hole(path, pages));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	for (i = 0; i < pages; i += 64)
		ASSERT_LT(0, pread(fd, buf, 64 * PAGE_SIZE_, i * PAGE_SIZE_));
	/* The page cache has lost pages, and the pool none. */
	EXPECT_LT(pages / 10, scanned() - before);
	/*
	 * Nor does the last priority of reclaim take any.  A task comes to that priority in rare
	 * runs only, and this asks all shrinkers at that priority.
	 */
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "2"));
	EXPECT_EQ(0, setcache_stat("reclaimed") - reclaimed);
	EXPECT_EQ(STREAM_MIB * 256, setcache_stat("pages"));
	close(fd);
	free(buf);
}

/* The two kinds of lists come to different priorities. */
TEST_F_TIMEOUT(setcache_faults, a_stream_takes_nothing, 240)
{
	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", STREAM_MIB));
	if (mcube_read(MCUBE_LRU_GEN, self->lru_gen, sizeof(self->lru_gen)) < 0) {
		read_stream(_metadata, self);
		return;
	}
	EXPECT_EQ(0, mcube_write(MCUBE_LRU_GEN, "y"));
	read_stream(_metadata, self);
	EXPECT_EQ(0, mcube_write(MCUBE_LRU_GEN, "n"));
	read_stream(_metadata, self);
}

TEST_F_TIMEOUT(setcache_faults, unmounted_under_load, 120)
{
	unsigned int i, round;
	pid_t pid[READERS];
	long before;

	if (!self->setup.mounted)
		SKIP(return, "the test did not mount the file system");
	for (round = 1; round <= 5; round++) {
		before = setcache_stat("fills");
		for (i = 0; i < READERS; i++)
			pid[i] = start_reader(self->setup.file, i, -1, round, 0);
		while (setcache_stat("fills") == before)
			usleep(1000);
		EXPECT_EQ(-1, umount(SETCACHE_MOUNT));
		EXPECT_EQ(EBUSY, errno);
		for (i = 0; i < READERS; i++)
			EXPECT_TRUE(child_was_killed(pid[i]));
		ASSERT_EQ(0, umount(SETCACHE_MOUNT));
		ASSERT_NE(NULL, variant->place == ON_XFS ?
			  mcube_xfs(SETCACHE_MOUNT, &self->setup.mounted) :
			  mcube_disk(SETCACHE_MOUNT, &self->setup.mounted));
		/* The same inode, with other data. */
		ASSERT_EQ(0, fill_file(self->setup.file, round + 1));
	}
	expect_sound(_metadata, self->setup.file, round);
}

TEST_HARNESS_MAIN
