// SPDX-License-Identifier: GPL-2.0
/*
 * UBM under the limit of a memory cgroup, with the classic LRU lists and with
 * MGLRU: loops need fewer reads of the device than with UBM off, a stream does not
 * push a loop out, and pages that are not UBM's stay alone: mapped, dirty, mlocked,
 * protected by memory.min.
 *
 * A loop is a file on the disk, whose reads the disk counts.  Streams are holes:
 * their pages fill memory and cost no read.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "ubm_lib.h"

#define LIMIT_MIB	24L
#define LOOP_MIB	32L	/* does not fit */
#define SMALL_MIB	16L	/* fits, but not beside a stream */
#define INNER_MIB	8L	/* of a child */
#define SMALL_PAGES	15	/* less than a chunk */
#define TINY_MIB	4L
#define TINY_LOOP_MIB	5L
#define LARGE_MIB	320L	/* more than urgent reclaim looks at */
#define LARGE_LOOP_MIB	400L
#define LEARN		4	/* passes in which UBM learns the loop */
#define PASSES		4	/* passes that count */
#define GROW		5	/* times that a program grows beside a loop */
#define STREAM_TIMES	4	/* pages of the stream for a page of the loop */
#define CHUNK		16
#define INNER		UBM_CGROUP "/inner"
#define PROTECTED	UBM_CGROUP "/protected"

FIXTURE(ubm_loop) {
	struct ubm_setup setup;
	char loop[160], stream[160];
};

FIXTURE_VARIANT(ubm_loop) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(ubm_loop, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(ubm_loop, mglru) {
	.lru_gen = "y",
};

FIXTURE_SETUP(ubm_loop)
{
	const char *why = ubm_begin(&self->setup, variant->lru_gen);

	if (why)
		SKIP(return, "%s", why);
	snprintf(self->loop, sizeof(self->loop), "%s/mcube-loop", self->setup.dir);
	snprintf(self->stream, sizeof(self->stream), "%s/mcube-stream", self->setup.dir);
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
}

FIXTURE_TEARDOWN_PARENT(ubm_loop)
{
	ubm_rmdir(INNER);
	ubm_rmdir(PROTECTED);
	unlink(self->loop);
	unlink(self->stream);
	EXPECT_EQ(0, ubm_end(&self->setup));
}

/* What a process in the cgroup does; @reads is shared with the parent. */
struct job {
	const char *loop, *stream;
	size_t pages;
	int passes;
	long *reads;
};

/* Read the loop, and count the reads of the passes after the first ones. */
static int loop_alone(void *arg)
{
	struct job *job = arg;
	long before = 0;
	int i, ret = 0;

	for (i = 0; i < LEARN + PASSES && !ret; i++) {
		if (i == LEARN)
			before = ubm_device_pages();
		ret = ubm_read_once(job->loop, job->pages);
	}
	*job->reads = ubm_device_pages() - before;
	return ret;
}

static int read_chunks(int fd, size_t at, size_t nr)
{
	static char chunk[CHUNK * PAGE_SIZE_];

	for (; nr; nr--, at++)
		if (pread(fd, chunk, sizeof(chunk), at * sizeof(chunk)) != sizeof(chunk))
			return -EIO;
	return 0;
}

/* A chunk of the loop, then some of a stream that never comes back. */
static int loop_beside_stream(void *arg)
{
	int loop, stream, i, ret = 0;
	struct job *job = arg;
	size_t at, n = 0;
	long before = 0;

	stream = open(job->stream, O_RDONLY);
	for (i = 0; i < LEARN + PASSES && !ret; i++) {
		if (i == LEARN)
			before = ubm_device_pages();
		loop = open(job->loop, O_RDONLY);
		for (at = 0; at < job->pages / CHUNK && !ret; at++, n += STREAM_TIMES)
			ret = read_chunks(loop, at, 1) ?:
			      read_chunks(stream, n, STREAM_TIMES);
		close(loop);
	}
	close(stream);
	*job->reads = ubm_device_pages() - before;
	return ret;
}

/* Pages that the device reads while a job runs with UBM off or on. */
static long reads_of(struct __test_metadata *_metadata, const char *on,
		     int (*run)(void *), struct job *job)
{
	long reads;

	job->reads = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT_NE(MAP_FAILED, job->reads);
	/* To free the blocks of files that were removed, the journal would read bitmaps later. */
	sync();
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", on));
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, run, job));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	reads = *job->reads;
	munmap(job->reads, PAGE_SIZE_);
	return reads;
}

TEST_F_TIMEOUT(ubm_loop, needs_fewer_reads, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	long off, on, held = ubm_stat("held");

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	off = reads_of(_metadata, "0", loop_alone, &job);
	EXPECT_EQ(held, ubm_stat("held"));
	on = reads_of(_metadata, "1", loop_alone, &job);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	TH_LOG("%ld pages held, %ld given up, %ld came back", ubm_stat("held") - held,
	       ubm_stat("given"), ubm_stat("back"));
	/* With an LRU list nearly all pages leave before they come again. */
	EXPECT_LT(PASSES * (long)job.pages / 2, off);
	EXPECT_LT(on, off * 3 / 4);
	EXPECT_LT(held, ubm_stat("held"));
}

/* A list of some hundred pages, of which reclaim soon looks at a quarter and more. */
TEST_F_TIMEOUT(ubm_loop, needs_fewer_reads_in_little_memory, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(TINY_LOOP_MIB) };
	long off, on;

	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, TINY_MIB, 0));
	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	off = reads_of(_metadata, "0", loop_alone, &job);
	on = reads_of(_metadata, "1", loop_alone, &job);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	EXPECT_LT(PASSES * (long)job.pages / 2, off);
	EXPECT_LT(on, off * 3 / 4);
}

TEST_F_TIMEOUT(ubm_loop, stays_beside_a_stream, 300)
{
	struct job job = {
		.loop = self->loop, .stream = self->stream,
		.pages = UBM_PAGES(SMALL_MIB),
	};
	long off, on;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	ASSERT_EQ(0, close(open(self->stream, O_RDWR | O_CREAT, 0600)));
	ASSERT_EQ(0, truncate(self->stream, (LEARN + PASSES) * STREAM_TIMES *
			      job.pages * PAGE_SIZE_));
	off = reads_of(_metadata, "0", loop_beside_stream, &job);
	on = reads_of(_metadata, "1", loop_beside_stream, &job);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	/* The loop fits, and its pages are held one by one as they come back. */
	EXPECT_LT(0, off);
	EXPECT_LT(on, PASSES * (long)job.pages / 5);
	EXPECT_LE(on, off);
}

/* Pages of the loop from @at on, mapped. */
static char *map_part(const char *path, size_t at, size_t pages, int prot)
{
	int fd = open(path, prot & PROT_WRITE ? O_RDWR : O_RDONLY);
	char *p = mmap(NULL, pages * PAGE_SIZE_, prot, MAP_SHARED, fd, at * PAGE_SIZE_);

	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* Map a part of the loop after the other, and touch each page. */
static int loop_mapped(void *arg)
{
	/* The kernel maps up to 16 pages that are in the page cache at a time. */
	size_t at, n, part = 16;
	struct job *job = arg;
	volatile char *p;
	long before = 0;
	int i;

	for (i = 0; i < LEARN + PASSES; i++) {
		if (i == LEARN)
			before = ubm_device_pages();
		for (at = 0; at < job->pages; at += part) {
			p = map_part(job->loop, at, part, PROT_READ);
			if (!p)
				return -ENOMEM;
			for (n = 0; n < part; n++)
				p[n * PAGE_SIZE_];
			munmap((void *)p, part * PAGE_SIZE_);
		}
	}
	*job->reads = ubm_device_pages() - before;
	return 0;
}

TEST_F_TIMEOUT(ubm_loop, mapped_in_parts, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	long off, on;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	off = reads_of(_metadata, "0", loop_mapped, &job);
	on = reads_of(_metadata, "1", loop_mapped, &job);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	EXPECT_LT(PASSES * (long)job.pages / 2, off);
	EXPECT_LT(on, off * 3 / 4);
}

/* Map the whole loop once, and touch each page again and again. */
static int loop_mapped_at_once(void *arg)
{
	struct job *job = arg;
	volatile char *p = map_part(job->loop, 0, job->pages, PROT_READ);
	long before = 0;
	size_t n;
	int i;

	if (!p)
		return -ENOMEM;
	for (i = 0; i < LEARN + PASSES; i++) {
		if (i == LEARN)
			before = ubm_device_pages();
		for (n = 0; n < job->pages; n++)
			p[n * PAGE_SIZE_];
	}
	*job->reads = ubm_device_pages() - before;
	return 0;
}

/* Only page tables know which pages were used. */
TEST_F_TIMEOUT(ubm_loop, mapped_at_once, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	long off, on;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	off = reads_of(_metadata, "0", loop_mapped_at_once, &job);
	on = reads_of(_metadata, "1", loop_mapped_at_once, &job);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	EXPECT_LT(PASSES * (long)job.pages / 2, off);
	EXPECT_LT(on, off * 3 / 4);
}

static void name_small(char *path, size_t len, const struct job *job, size_t i)
{
	snprintf(path, len, "%s-%zd", job->loop, i);
}

/* Read small files one after the other, in pieces that are less than a page. */
static int loop_in_pieces(void *arg)
{
	struct job *job = arg;
	char path[192], piece[1000];
	long before = 0;
	int i, fd, ret = 0;
	ssize_t len;
	size_t n;

	for (i = 0; i < LEARN + PASSES && !ret; i++) {
		if (i == LEARN)
			before = ubm_device_pages();
		for (n = 0; n < job->pages / SMALL_PAGES && !ret; n++) {
			name_small(path, sizeof(path), job, n);
			fd = open(path, O_RDONLY);
			do {
				len = read(fd, piece, sizeof(piece));
			} while (len > 0);
			ret = len ? -EIO : 0;
			close(fd);
		}
	}
	*job->reads = ubm_device_pages() - before;
	return ret;
}

TEST_F_TIMEOUT(ubm_loop, small_files_read_in_pieces, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	size_t n, files = job.pages / SMALL_PAGES;
	char path[192];
	long off, on;

	for (n = 0; n < files; n++) {
		name_small(path, sizeof(path), &job, n);
		ASSERT_EQ(0, ubm_write_file(path, SMALL_PAGES));
	}
	off = reads_of(_metadata, "0", loop_in_pieces, &job);
	on = reads_of(_metadata, "1", loop_in_pieces, &job);
	for (n = 0; n < files; n++) {
		name_small(path, sizeof(path), &job, n);
		EXPECT_EQ(0, unlink(path));
	}
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off, on,
	       PASSES * (long)job.pages);
	EXPECT_LT(PASSES * (long)job.pages / 2, off);
	EXPECT_LT(on, off * 9 / 10);
}

/* Pages that fit in memory are no concern of UBM. */
TEST_F_TIMEOUT(ubm_loop, fits_and_does_not_begin, 120)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(4L) };
	long lists, reads;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	lists = ubm_stat("lruvecs");
	reads = reads_of(_metadata, "1", loop_alone, &job);
	EXPECT_EQ(0, reads);
	EXPECT_EQ(lists, ubm_stat("lruvecs"));
}

/* Mlocked pages stay; written pages keep what was written. */
static int loop_over_locked(void *arg)
{
	size_t at, part = UBM_PAGES(1L), half;
	struct job *job = arg;
	char *locked, *dirty;
	long reads;
	int ret;

	half = job->pages / 2;
	locked = map_part(job->loop, half, part, PROT_READ);
	dirty = map_part(job->loop, half + part, part, PROT_READ | PROT_WRITE);
	if (!locked || !dirty || mlock(locked, part * PAGE_SIZE_))
		return -ENOMEM;
	for (at = 0; at < part; at++)
		dirty[at * PAGE_SIZE_] = 'd';
	job->reads = &reads;
	ret = loop_alone(job);
	if (ret)
		return ret;
	if (ubm_cached(job->loop, half, part) != (long)part)
		return -EFAULT;
	for (at = 0; at < part; at++)
		if (dirty[at * PAGE_SIZE_] != 'd')
			return -EIO;
	return 0;
}

TEST_F_TIMEOUT(ubm_loop, leaves_locked_and_dirty_pages, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	char page[PAGE_SIZE_];
	size_t at, first = UBM_PAGES(LOOP_MIB) / 2 + UBM_PAGES(1L);
	int fd;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_run(UBM_CGROUP, loop_over_locked, &job));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	/* The written pages have reached the disk. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	fd = open(self->loop, O_RDONLY);
	for (at = first; at < first + UBM_PAGES(1L); at++) {
		ASSERT_EQ((ssize_t)sizeof(page),
			  pread(fd, page, sizeof(page), at * PAGE_SIZE_));
		ASSERT_EQ('d', page[0]);
	}
	close(fd);
}

static int read_once(void *arg)
{
	struct job *job = arg;

	return ubm_read_once(job->stream, job->pages);
}

/* The parent has the limit; one child loops, the other is protected. */
TEST_F_TIMEOUT(ubm_loop, honours_memory_min, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	struct job once = { .stream = self->stream, .pages = UBM_PAGES(8L) };
	long reads;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	ASSERT_EQ(0, ubm_write_file(self->stream, once.pages));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, ubm_cgroup(INNER, 0, 0));
	ASSERT_EQ(0, ubm_cgroup(PROTECTED, 0, 10));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_run(PROTECTED, read_once, &once));
	ASSERT_EQ((long)once.pages, ubm_cached(self->stream, 0, once.pages));
	job.reads = &reads;
	ASSERT_EQ(0, ubm_run(INNER, loop_alone, &job));
	EXPECT_EQ((long)once.pages, ubm_cached(self->stream, 0, once.pages));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	EXPECT_EQ(0, ubm_rmdir(INNER));
	EXPECT_EQ(0, ubm_rmdir(PROTECTED));
}

/* Memory of a program takes the place of held pages. */
static int loop_and_grow(void *arg)
{
	struct job *job = arg;
	long reads;

	job->reads = &reads;
	return loop_alone(job) ?:
	       mcube_grow(UBM_PAGES(LIMIT_MIB) * 7 / 8) ?: loop_alone(job);
}

TEST_F_TIMEOUT(ubm_loop, gives_way_to_memory_of_programs, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_run(UBM_CGROUP, loop_and_grow, &job));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom_kill"));
}

static int loop_for_ever(void *arg)
{
	struct job *job = arg;
	int ret;

	do {
		ret = ubm_read_once(job->stream, job->pages);
		++*job->reads;
	} while (!ret);
	return ret;
}

static int grow(void *pages)
{
	return mcube_grow(*(size_t *)pages);
}

/*
 * More is held, and used all the time, than reclaim looks at before it gives up.  The loop is a
 * hole, which takes no time to read.  Both programs reclaim: MGLRU gives one of them nothing while
 * the other one walks page tables, which takes a few rounds to happen.
 */
TEST_F_TIMEOUT(ubm_loop, gives_way_where_much_is_held, 300)
{
	struct job job = { .stream = self->stream, .pages = UBM_PAGES(LARGE_LOOP_MIB) };
	size_t pages = UBM_PAGES(LARGE_MIB) * 7 / 8;
	long held = ubm_stat("held");
	int grown;
	pid_t pid;

	job.reads = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_NE(MAP_FAILED, job.reads);
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LARGE_MIB, 0));
	ASSERT_EQ(0, mcube_make_hole(self->stream, job.pages));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	pid = ubm_start(UBM_CGROUP, loop_for_ever, &job);
	ASSERT_LT(0, pid);
	for (grown = 0; grown < GROW; grown++) {
		long reads = *(volatile long *)job.reads;

		while (*(volatile long *)job.reads < reads + LEARN && !waitpid(pid, NULL, WNOHANG))
			usleep(10000);
		EXPECT_LT(held, ubm_stat("held"));
		EXPECT_EQ(0, ubm_run(UBM_CGROUP, grow, &pages));
		EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Memory grows after the loop has ended; @reads gets the pages that reclaim scanned. */
static int grow_after_loop(void *arg)
{
	struct job *job = arg;
	long *scanned = job->reads, reads;
	int ret;

	job->reads = &reads;
	ret = loop_alone(job);
	*scanned = -ubm_event(UBM_CGROUP, "memory.stat", "pgscan");
	ret = ret ?: mcube_grow(UBM_PAGES(LIMIT_MIB) * 3 / 4);
	*scanned += ubm_event(UBM_CGROUP, "memory.stat", "pgscan");
	return ret;
}

/* Nobody reads the loop any more, so reclaim must not walk through it again and again. */
TEST_F_TIMEOUT(ubm_loop, ends_when_nobody_reads, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	long scanned;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	scanned = reads_of(_metadata, "1", grow_after_loop, &job);
	TH_LOG("%ld pages scanned to free %ld", scanned, UBM_PAGES(LIMIT_MIB) * 3 / 4);
	EXPECT_LT(0, scanned);
	EXPECT_GT(4 * (long)UBM_PAGES(LIMIT_MIB), scanned);
}

/* The limit of a cgroup with children is theirs as well: its loop gives them room at once. */
TEST_F_TIMEOUT(ubm_loop, gives_children_room, 300)
{
	struct job job = { .loop = self->loop, .pages = UBM_PAGES(LOOP_MIB) };
	size_t pages = UBM_PAGES(INNER_MIB);
	long held;

	ASSERT_EQ(0, ubm_write_file(self->loop, job.pages));
	reads_of(_metadata, "1", loop_alone, &job);
	EXPECT_LT(0, ubm_stat("held"));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, ubm_cgroup(INNER, 0, 0));
	held = ubm_stat("held");
	EXPECT_EQ(0, ubm_run(INNER, grow, &pages));
	held = ubm_stat("held") - held;
	EXPECT_EQ(0, held);
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	EXPECT_EQ(0, ubm_rmdir(INNER));
}

TEST_HARNESS_MAIN
