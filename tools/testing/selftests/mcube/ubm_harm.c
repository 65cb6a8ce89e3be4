// SPDX-License-Identifier: GPL-2.0
/*
 * UBM where it could do harm: readers that follow each other, a neighbour under the same
 * limit, a table read at random beside a stream, slab memory, what vmpressure() is told.  Each
 * case runs with UBM off and on.  With UBM on, readers read 2 % more pages at most, and nothing
 * is held beside a neighbour.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "ubm_lib.h"

#define LIMIT_MIB	24L
#define FILES		24	/* of two MiB each, for followers */
#define FILE_MIB	2L
#define READERS		3
#define BEHIND		2048	/* pages from a reader to the next: a third of memory */
#define CHUNK		16
#define INNER		UBM_CGROUP "/inner"
#define NEIGHBOUR	UBM_CGROUP "/neighbour"
#define LOOP_MIB	32L
#define TABLE_MIB	8L
#define DENTRIES	2000

FIXTURE(ubm_harm) {
	struct ubm_setup setup;
	char file[FILES][160];
};

FIXTURE_VARIANT(ubm_harm) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(ubm_harm, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(ubm_harm, mglru) {
	.lru_gen = "y",
};

FIXTURE_SETUP(ubm_harm)
{
	const char *why = ubm_begin(&self->setup, variant->lru_gen);
	int i;

	if (why)
		SKIP(return, "%s", why);
	for (i = 0; i < FILES; i++)
		snprintf(self->file[i], sizeof(self->file[i]), "%s/mcube-%d", self->setup.dir, i);
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
}

FIXTURE_TEARDOWN_PARENT(ubm_harm)
{
	int i;

	ubm_rmdir(INNER);
	ubm_rmdir(NEIGHBOUR);
	for (i = 0; i < FILES; i++)
		unlink(self->file[i]);
	EXPECT_EQ(0, ubm_end(&self->setup));
}

/**
 * struct job - what a process does
 * @file: names of its files, each as long as in the fixture.
 * @pages: of the file that it reads at random or in a loop.
 * @advice: for posix_fadvise() on the stream.
 * @pages_read: by the device, while it ran.
 * @requests: to the device, while it ran.
 * @rounds: of the loop, so far; @stop ends it.
 */
struct job {
	char (*file)[160];
	size_t pages;
	int advice;
	long pages_read, requests, rounds;
	int stop;
};

static struct job *shared_job(const struct job *from)
{
	struct job *job = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (job != MAP_FAILED)
		*job = *from;
	return job;
}

static void count(struct job *job, long sign)
{
	job->pages_read += sign * ubm_device_pages();
	job->requests += sign * ubm_device_reads();
}

/* Run a job in a cgroup with UBM off or on. */
static void measure(struct __test_metadata *_metadata, const char *on, const char *cgroup,
		    int (*run)(void *), struct job *job)
{
	struct job *shared = shared_job(job);

	ASSERT_NE(MAP_FAILED, shared);
	sync();
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", on));
	EXPECT_EQ(0, ubm_run(cgroup, run, shared));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	job->pages_read = shared->pages_read;
	job->requests = shared->requests;
	munmap(shared, PAGE_SIZE_);
}

static int read_chunk(const struct job *job, size_t at)
{
	static char chunk[CHUNK * PAGE_SIZE_];
	size_t of_file = UBM_PAGES(FILE_MIB) / CHUNK;
	static int fd[READERS], open_file[READERS];
	static int next;
	int i, which = at / of_file, ret;

	for (i = 0; i < READERS; i++)
		if (open_file[i] == which + 1)
			break;
	if (i == READERS) {
		i = next++ % READERS;
		if (open_file[i])
			close(fd[i]);
		fd[i] = open(job->file[which], O_RDONLY);
		open_file[i] = which + 1;
	}
	ret = pread(fd[i], chunk, sizeof(chunk), at % of_file * sizeof(chunk));
	return ret == sizeof(chunk) ? 0 : -EIO;
}

/* Readers of all files in order, each behind the one before. */
static int follow(void *arg)
{
	const size_t chunks = FILES * UBM_PAGES(FILE_MIB) / CHUNK;
	struct job *job = arg;
	size_t at, i, behind;
	int ret = 0;

	count(job, -1);
	for (at = 0; at < chunks + (READERS - 1) * BEHIND / CHUNK && !ret; at++)
		for (i = 0; i < READERS && !ret; i++) {
			behind = i * BEHIND / CHUNK;
			if (at >= behind && at - behind < chunks)
				ret = read_chunk(job, at - behind);
		}
	count(job, 1);
	return ret;
}

TEST_F_TIMEOUT(ubm_harm, readers_that_follow_each_other, 600)
{
	struct job off = { .file = self->file }, on = off;
	int i;

	for (i = 0; i < FILES; i++)
		ASSERT_EQ(0, ubm_write_file(self->file[i], UBM_PAGES(FILE_MIB)));
	measure(_metadata, "0", UBM_CGROUP, follow, &off);
	measure(_metadata, "1", UBM_CGROUP, follow, &on);
	TH_LOG("%ld pages read with UBM off, %ld with UBM on, of %ld", off.pages_read,
	       on.pages_read, FILES * UBM_PAGES(FILE_MIB));
	EXPECT_LE(on.pages_read, off.pages_read * 102 / 100);
}

/* Read the first file again and again, until the parent says stop. */
static int loop_on(void *arg)
{
	struct job *job = arg;
	int ret = 0;

	while (!ret && !__atomic_load_n(&job->stop, __ATOMIC_RELAXED)) {
		ret = ubm_read_once(job->file[0], job->pages);
		__atomic_add_fetch(&job->rounds, 1, __ATOMIC_RELAXED);
	}
	return ret;
}

/* Chunks at random, nine of ten in seven of ten parts of the second file. */
static int read_at_random(void *arg)
{
	const size_t chunks = UBM_PAGES(TABLE_MIB) / CHUNK;
	static char chunk[CHUNK * PAGE_SIZE_];
	struct job *job = arg;
	int fd = open(job->file[1], O_RDONLY), i, ret = fd < 0 ? -errno : 0;
	size_t at;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	srandom(1);
	for (i = 0; i < 6000 && !ret; i++) {
		at = random() % 10 ? random() % (chunks * 7 / 10) : random() % chunks;
		if (pread(fd, chunk, sizeof(chunk), at * sizeof(chunk)) != (ssize_t)sizeof(chunk))
			ret = -EIO;
	}
	close(fd);
	return ret;
}

/* Refaults of a neighbour under the same limit while another cgroup loops. */
static long refaults_beside_loop(struct __test_metadata *_metadata, struct job *job,
				 const char *on)
{
	struct job *shared = shared_job(job);
	long rounds, refaults;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, shared);
	sync();
	EXPECT_EQ(0, ubm_cgroup(INNER, 0, 0));
	EXPECT_EQ(0, ubm_cgroup(NEIGHBOUR, 0, 0));
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", on));
	pid = ubm_start(INNER, loop_on, shared);
	for (rounds = 0; rounds < 2 && pid > 0; usleep(10000))
		rounds = __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED);
	EXPECT_EQ(0, ubm_run(NEIGHBOUR, read_at_random, shared));
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(0, ubm_finish(pid));
	refaults = ubm_event(NEIGHBOUR, "memory.stat", "workingset_refault_file");
	EXPECT_EQ(0, ubm_rmdir(INNER));
	EXPECT_EQ(0, ubm_rmdir(NEIGHBOUR));
	munmap(shared, PAGE_SIZE_);
	return refaults;
}

/* The limit is that of both: nothing is held for the loop. */
TEST_F_TIMEOUT(ubm_harm, neighbour_under_the_same_limit, 600)
{
	struct job job = { .file = self->file, .pages = UBM_PAGES(LOOP_MIB) };
	long off, on, held = ubm_stat("held");

	ASSERT_EQ(0, ubm_write_file(self->file[0], job.pages));
	ASSERT_EQ(0, ubm_write_file(self->file[1], UBM_PAGES(TABLE_MIB)));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	off = refaults_beside_loop(_metadata, &job, "0");
	on = refaults_beside_loop(_metadata, &job, "1");
	TH_LOG("%ld refaults with UBM off, %ld with UBM on", off, on);
	/* What the two tasks get of the CPUs decides how often they meet: no bound on refaults. */
	EXPECT_EQ(held, ubm_stat("held"));
}

/* Pages of a table at random, nine of ten reads in seven of ten parts, beside a stream. */
static int table_beside_stream(void *arg)
{
	const size_t pages = UBM_PAGES(TABLE_MIB);
	static char chunk[CHUNK * PAGE_SIZE_];
	struct job *job = arg;
	int table = open(job->file[1], O_RDONLY), stream = open(job->file[0], O_RDONLY);
	size_t at, i, n = 0;
	int ret = 0;

	posix_fadvise(table, 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(stream, 0, 0, job->advice);
	srandom(1);
	count(job, -1);
	for (i = 0; i < job->pages / CHUNK && !ret; i++) {
		if (read(stream, chunk, sizeof(chunk)) != sizeof(chunk))
			ret = -EIO;
		for (n = 0; n < 8 && !ret; n++) {
			at = random() % 10 ? random() % (pages * 7 / 10) : random() % pages;
			if (pread(table, chunk, PAGE_SIZE_, at * PAGE_SIZE_) != PAGE_SIZE_)
				ret = -EIO;
		}
	}
	count(job, 1);
	close(table);
	close(stream);
	return ret;
}

static void compare_table(struct __test_metadata *_metadata, char (*file)[160], int advice)
{
	struct job off = { .file = file, .pages = UBM_PAGES(6 * LIMIT_MIB), .advice = advice };
	struct job on = off;

	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB / 2, 0));
	ASSERT_EQ(0, mcube_make_hole(file[0], off.pages));
	ASSERT_EQ(0, ubm_write_file(file[1], UBM_PAGES(TABLE_MIB)));
	measure(_metadata, "0", UBM_CGROUP, table_beside_stream, &off);
	measure(_metadata, "1", UBM_CGROUP, table_beside_stream, &on);
	TH_LOG("%ld pages and %ld requests with UBM off, %ld and %ld with UBM on",
	       off.pages_read, off.requests, on.pages_read, on.requests);
	EXPECT_LE(on.requests, off.requests * 102 / 100);
	EXPECT_LE(on.pages_read, off.pages_read * 102 / 100);
}

/* A page of the table costs a request, one of the stream a share of a request. */
TEST_F_TIMEOUT(ubm_harm, table_beside_a_stream, 600)
{
	compare_table(_metadata, self->file, POSIX_FADV_NORMAL);
}

TEST_F_TIMEOUT(ubm_harm, table_beside_a_stream_without_reuse, 600)
{
	compare_table(_metadata, self->file, POSIX_FADV_NOREUSE);
}

/* Read the first file eight times. */
static int loop(const struct job *job)
{
	int i, ret = 0;

	for (i = 0; i < 8 && !ret; i++)
		ret = ubm_read_once(job->file[0], job->pages);
	return ret;
}

/*
 * Run the loop beside dentries of many files.  @requests gets the number of slab objects that
 * reclaim scanned.
 */
static int loop_beside_dentries(void *arg)
{
	struct job *job = arg;
	char path[192];
	int i, ret;

	for (i = 0; i < DENTRIES; i++) {
		snprintf(path, sizeof(path), "%s-absent-%d", job->file[0], i);
		access(path, F_OK);
	}
	job->requests = -mcube_field("/proc/vmstat", "slabs_scanned");
	ret = loop(job);
	job->requests += mcube_field("/proc/vmstat", "slabs_scanned");
	return ret;
}

/* Held pages do not look like failed reclaim, which would turn to caches of other objects. */
TEST_F_TIMEOUT(ubm_harm, slab_is_not_scanned_more, 600)
{
	struct job off = { .file = self->file, .pages = UBM_PAGES(LOOP_MIB) }, on = off;

	ASSERT_EQ(0, ubm_write_file(self->file[0], off.pages));
	measure(_metadata, "0", UBM_CGROUP, loop_beside_dentries, &off);
	measure(_metadata, "1", UBM_CGROUP, loop_beside_dentries, &on);
	TH_LOG("%ld objects scanned with UBM off, %ld with UBM on", off.requests, on.requests);
	EXPECT_LE(on.requests, off.requests * 102 / 100 + 128);
}

/*
 * Run the loop.  @pages_read gets the number of pages that reclaim scanned, @requests the number of
 * pages that reclaim freed.
 */
static int loop_and_count(void *arg)
{
	struct job *job = arg;
	int ret = loop(job);

	job->pages_read = ubm_event(UBM_CGROUP, "memory.stat", "pgscan");
	job->requests = ubm_event(UBM_CGROUP, "memory.stat", "pgsteal");
	return ret;
}

/*
 * vmpressure() tells sockets and listeners the share of scanned pages that reclaim freed.  Reclaim
 * does not scan held pages.
 */
TEST_F_TIMEOUT(ubm_harm, reclaim_succeeds_as_often, 600)
{
	struct job off = { .file = self->file, .pages = UBM_PAGES(LOOP_MIB) }, on = off;

	ASSERT_EQ(0, ubm_write_file(self->file[0], off.pages));
	measure(_metadata, "0", UBM_CGROUP, loop_and_count, &off);
	ASSERT_EQ(0, ubm_rmdir(UBM_CGROUP));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	measure(_metadata, "1", UBM_CGROUP, loop_and_count, &on);
	TH_LOG("%ld of %ld scanned pages reclaimed with UBM off, %ld of %ld with UBM on",
	       off.requests, off.pages_read, on.requests, on.pages_read);
	ASSERT_LT(0, on.pages_read);
	EXPECT_GE(on.requests * 100 / on.pages_read, off.requests * 100 / off.pages_read - 2);
}

TEST_HARNESS_MAIN
