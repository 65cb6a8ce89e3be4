// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of streams become the next victims of reclaim: of two streams that take turns on
 * a CPU, and of large folios; pages that others use do not.
 *
 * Streams are holes: their pages fill memory and cost no read of a device.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "ubm_lib.h"

#define LIMIT_MIB	12L
#define WARM_MIB	24L	/* of a stream that makes the domain */
#define LOOP_MIB	1L	/* of its start, which is read again and again */
#define LOOPS		16
#define STREAM_MIB	12L	/* Longer streams are left alone if nothing else is read. */
#define USED_MIB	4L	/* of a file whose pages others use */
#define CHUNK		16
#define LONG_READ	256	/* pages */
#define READAHEAD	"/sys/block/vdb/queue/read_ahead_kb"
#define TRACING		"/sys/kernel/tracing/"
#define NOTES		TRACING "events/mcube_ubm/mcube_ubm_note/enable"
#define PART		256	/* pages of a note at most */

FIXTURE(ubm_propose) {
	struct ubm_setup setup;
	char warm[160], one[160], two[160];
	long readahead;
	bool mounted;
};

FIXTURE_VARIANT(ubm_propose) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(ubm_propose, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(ubm_propose, mglru) {
	.lru_gen = "y",
};

FIXTURE_SETUP(ubm_propose)
{
	const char *why = ubm_begin(&self->setup, variant->lru_gen);

	if (why)
		SKIP(return, "%s", why);
	self->readahead = mcube_read_num(READAHEAD);
	snprintf(self->warm, sizeof(self->warm), "%s/mcube-warm", self->setup.dir);
	snprintf(self->one, sizeof(self->one), "%s/mcube-one", self->setup.dir);
	snprintf(self->two, sizeof(self->two), "%s/mcube-two", self->setup.dir);
	ASSERT_EQ(0, mcube_make_hole(self->warm, UBM_PAGES(WARM_MIB)));
	ASSERT_EQ(0, mcube_make_hole(self->one, UBM_PAGES(STREAM_MIB)));
	ASSERT_EQ(0, mcube_make_hole(self->two, UBM_PAGES(STREAM_MIB)));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, mcube_pin(0));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
}

FIXTURE_TEARDOWN_PARENT(ubm_propose)
{
	mcube_write(NOTES, "0");
	if (self->readahead > 0)
		mcube_write_num(READAHEAD, self->readahead);
	unlink(self->warm);
	unlink(self->one);
	unlink(self->two);
	if (self->mounted)
		EXPECT_EQ(0, umount(UBM_XFS_MOUNT));
	mcube_unpin();
	EXPECT_EQ(0, ubm_end(&self->setup));
}

/* What a process in the cgroup does, after a stream that makes the domain. */
struct job {
	const char *warm, *one, *two;
	size_t pages;
	long *proposed;	/* shared with the parent */
};

static int read_chunk(int fd)
{
	static char chunk[CHUNK * PAGE_SIZE_];

	return read(fd, chunk, sizeof(chunk)) == sizeof(chunk) ? 0 : -EIO;
}

/* The pages that are proposed from now on count. */
static int warm_up(const struct job *job)
{
	long domains = ubm_stat("domains");
	int ret = ubm_read_once(job->warm, UBM_PAGES(WARM_MIB)), n;

	if (!ret && !ubm_await_domains(domains + 1))
		ret = -ETIME;
	/* With MGLRU, streams that fit are proposed if there are loops. */
	for (n = 0; n < LOOPS && !ret; n++)
		ret = ubm_read_once(job->warm, UBM_PAGES(LOOP_MIB));
	*job->proposed = ubm_stat("proposed");
	return ret;
}

/* Two streams in turns. */
static int read_in_turns(void *arg)
{
	struct job *job = arg;
	int one = open(job->one, O_RDONLY), two = open(job->two, O_RDONLY);
	int ret = warm_up(job);
	size_t n;

	for (n = 0; n < UBM_PAGES(STREAM_MIB) / CHUNK && !ret; n++)
		ret = read_chunk(one) ?: read_chunk(two);
	close(one);
	close(two);
	return ret;
}

/* Pages that are proposed while a job runs, after its warm-up. */
static long proposed_by(struct __test_metadata *_metadata, int (*run)(void *), struct job *job)
{
	long proposed;

	job->proposed = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT_NE(MAP_FAILED, job->proposed);
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, run, job));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	proposed = ubm_stat("proposed") - *job->proposed;
	munmap(job->proposed, PAGE_SIZE_);
	return proposed;
}

TEST_F_TIMEOUT(ubm_propose, streams_in_turns, 300)
{
	struct job job = { .warm = self->warm, .one = self->one, .two = self->two };
	long pages = 2 * UBM_PAGES(STREAM_MIB), proposed;

	proposed = proposed_by(_metadata, read_in_turns, &job);
	TH_LOG("%ld pages proposed of %ld", proposed, pages);
	EXPECT_LT(pages * 3 / 4, proposed);
}

/* A stream, @pages at a time. */
static int read_stream(void *arg)
{
	static char buf[LONG_READ * PAGE_SIZE_];
	struct job *job = arg;
	int fd = open(job->one, O_RDONLY), ret = warm_up(job);
	ssize_t len = job->pages * PAGE_SIZE_;
	size_t n;

	for (n = 0; n < UBM_PAGES(STREAM_MIB) / job->pages && !ret; n++)
		ret = read(fd, buf, len) == len ? 0 : -EIO;
	close(fd);
	return ret;
}

/* Pages that are read at random twice, then by a stream. */
static int stream_over_used(void *arg)
{
	struct job *job = arg;
	size_t chunks = UBM_PAGES(USED_MIB) / CHUNK, n, step;
	static char chunk[CHUNK * PAGE_SIZE_];
	int fd = open(job->two, O_RDONLY), ret = warm_up(job);

	for (n = 0, step = 1; n < 2 * chunks && !ret; n++, step += chunks / 2 - 1)
		if (pread(fd, chunk, sizeof(chunk), step % chunks * sizeof(chunk)) !=
		    (ssize_t)sizeof(chunk))
			ret = -EIO;
	*job->proposed = ubm_stat("proposed");
	for (n = 0; n < chunks && !ret; n++)
		ret = read_chunk(fd);
	close(fd);
	return ret;
}

TEST_F_TIMEOUT(ubm_propose, leaves_pages_that_others_use, 300)
{
	struct job job = { .warm = self->warm, .two = self->two };
	long proposed = proposed_by(_metadata, stream_over_used, &job);

	TH_LOG("%ld pages proposed of %ld", proposed, UBM_PAGES(USED_MIB));
	EXPECT_GT(UBM_PAGES(USED_MIB) / 8, proposed);
}

/* The longest note in the buffer of tracing; *@nr gets the number of sequential ones. */
static long longest_note(long *nr)
{
	FILE *trace = fopen(TRACING "trace", "r");
	long longest = 0, pages;
	char line[512];
	char *at;

	*nr = 0;
	while (trace && fgets(line, sizeof(line), trace)) {
		at = strstr(line, " nr=");
		if (!at || sscanf(at, " nr=%ld", &pages) != 1)
			continue;
		*nr += !!strstr(line, " class=seq");
		if (pages > longest)
			longest = pages;
	}
	if (trace)
		fclose(trace);
	return longest;
}

/* Readahead makes large folios of the file "one"; false if there is no file system for them. */
static bool make_large(struct __test_metadata *_metadata,
		       FIXTURE_DATA(ubm_propose) *self)
{
	const char *dir = mcube_xfs(UBM_XFS_MOUNT, &self->mounted);

	if (!dir)
		return false;
	snprintf(self->one, sizeof(self->one), "%s/mcube-one", dir);
	ASSERT_EQ(0, mcube_make_hole(self->one, UBM_PAGES(STREAM_MIB)));
	ASSERT_EQ(0, mcube_write(READAHEAD, "4096"));
	return true;
}

/* The folios are larger than the range of a note. */
TEST_F_TIMEOUT(ubm_propose, large_folios, 300)
{
	struct job job = { .warm = self->warm, .one = self->one, .pages = CHUNK };
	long pages = UBM_PAGES(STREAM_MIB), proposed, nr, longest;

	if (!make_large(_metadata, self))
		SKIP(return, "no xfs on " MCUBE_DISK_XFS);
	ASSERT_EQ(0, mcube_write(NOTES, "1"));
	proposed = proposed_by(_metadata, read_stream, &job);
	ASSERT_EQ(0, mcube_write(NOTES, "0"));
	longest = longest_note(&nr);
	unlink(self->one);
	TH_LOG("%ld pages proposed of %ld, %ld notes of sequences, %ld pages at most", proposed,
	       pages, nr, longest);
	EXPECT_LT(pages * 3 / 4, proposed);
	EXPECT_LT(0, nr);
	EXPECT_GE(PART, longest);
}

/* The reader has a reference of all folios of a read while these become victims. */
TEST_F_TIMEOUT(ubm_propose, large_folios_of_a_long_read, 300)
{
	struct job job = { .warm = self->warm, .one = self->one, .pages = LONG_READ };
	long pages = UBM_PAGES(STREAM_MIB), proposed;

	if (!make_large(_metadata, self))
		SKIP(return, "no xfs on " MCUBE_DISK_XFS);
	proposed = proposed_by(_metadata, read_stream, &job);
	unlink(self->one);
	TH_LOG("%ld pages proposed of %ld", proposed, pages);
	EXPECT_LT(pages * 3 / 4, proposed);
}

TEST_HARNESS_MAIN
