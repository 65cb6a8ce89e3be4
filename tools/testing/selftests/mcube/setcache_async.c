// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous reads from page sets: io_uring and AIO
 *
 * A read that may not wait gets -EAGAIN if its page is in no set.  AIO gives the error to a
 * program that asked for RWF_NOWAIT.  io_uring reads once more and is woken when the page is
 * there; it lets a worker read only where a read has to wait for something else.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "ring_lib.h"
#include "setcache_lib.h"

#define DEPTH	RING_DEPTH	/* reads at a time, and pages of the file */
#define LONG	4U		/* pages of a long read */
#define ROUNDS	20U

FIXTURE(setcache_async) {
	struct setcache_setup setup;
	struct ring ring;
	aio_context_t aio;
	char *buf;
	int fd;
};

FIXTURE_VARIANT(setcache_async) {
	enum setcache_place place;
};

FIXTURE_VARIANT_ADD(setcache_async, ext4) { .place = ON_EXT4 };
FIXTURE_VARIANT_ADD(setcache_async, xfs) { .place = ON_XFS };
FIXTURE_VARIANT_ADD(setcache_async, block_device) { .place = ON_BLOCK_DEVICE };

/* Submit a read of each page, and wait for so many of them.  0 or an error. */
static int submit(struct ring *r, int fd, char *buf, unsigned int wait)
{
	unsigned int i;

	for (i = 0; i < DEPTH; i++)
		ring_add(r, fd, buf + i * PAGE_SIZE_, PAGE_SIZE_, i * PAGE_SIZE_);
	return ring_submit(r, wait);
}

/* Take all that is complete; returns how many reads got another result. */
static unsigned int reap(struct ring *r, int result)
{
	unsigned int bad = 0;

	while (ring_complete(r))
		bad += ring_take(r) != result;
	return bad;
}

/* Pages of the buffer that do not have the stamp; clears the buffer. */
static unsigned int wrong(char *buf, uint32_t number)
{
	struct stamped s = { .begun = number, .done = number };
	unsigned int i, bad = 0;

	for (i = 0; i < DEPTH; i++)
		bad += !stamp_is_current(&s, i, number, buf + i * PAGE_SIZE_, 0, PAGE_SIZE_);
	memset(buf, 0, DEPTH * PAGE_SIZE_);
	return bad;
}

FIXTURE_SETUP(setcache_async)
{
	const char *why = setcache_begin(&self->setup, variant->place, DEPTH) ?:
			  ring_open(&self->ring);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, syscall(SYS_io_setup, DEPTH, &self->aio));
	self->fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_RANDOM));
	self->buf = mmap(NULL, DEPTH * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	ASSERT_EQ(0, setcache_write(self->fd, DEPTH, 1));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_async)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

TEST_F_TIMEOUT(setcache_async, io_uring, 60)
{
	long nowait = setcache_stat("nowait"), fills = setcache_stat("fills");
	long async = setcache_stat("async"), hits = setcache_stat("hits");

	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, DEPTH));
	EXPECT_EQ(DEPTH, ring_complete(&self->ring));
	EXPECT_EQ(0, reap(&self->ring, PAGE_SIZE_));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(DEPTH, setcache_stat("fills") - fills);
	/* No page was filled without an attempt that may not wait, and none by a worker. */
	EXPECT_LE(DEPTH, setcache_stat("nowait") - nowait);
	EXPECT_EQ(DEPTH, setcache_stat("async") - async);
	/* Each reader has come back once: the hit ratio, without these hits, is 0. */
	EXPECT_EQ(DEPTH, setcache_stat("hits") - hits);
	EXPECT_EQ(0, ring_workers());

	/* A read of pages that are in sets is complete when the call returns, without a worker. */
	nowait = setcache_stat("nowait");
	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, 0));
	EXPECT_EQ(DEPTH, ring_complete(&self->ring));
	EXPECT_EQ(0, reap(&self->ring, PAGE_SIZE_));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(0, setcache_stat("nowait") - nowait);

	/* Pages that have changed are read anew. */
	ASSERT_EQ(0, setcache_write(self->fd, DEPTH, 2));
	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, DEPTH));
	EXPECT_EQ(0, reap(&self->ring, PAGE_SIZE_));
	EXPECT_EQ(0, wrong(self->buf, 2));
}

/* Reads of several pages, some of which other reads fill, or have filled. */
TEST_F_TIMEOUT(setcache_async, reads_that_overlap, 60)
{
	long fills = setcache_stat("fills");
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i + LONG <= DEPTH; i++)
			ring_add(&self->ring, self->fd, self->buf + i * PAGE_SIZE_,
				 LONG * PAGE_SIZE_, i * PAGE_SIZE_);
		ASSERT_EQ(0, ring_submit(&self->ring, i));
		EXPECT_EQ(i, ring_complete(&self->ring));
		EXPECT_EQ(0, reap(&self->ring, LONG * PAGE_SIZE_));
		EXPECT_EQ(0, wrong(self->buf, 1));
		/* Each page comes in once. */
		EXPECT_EQ(DEPTH, setcache_stat("fills") - fills);
	}
	/* A read that ends with the file, or begins there. */
	ring_add(&self->ring, self->fd, self->buf, LONG * PAGE_SIZE_, (DEPTH - 1) * PAGE_SIZE_);
	ASSERT_EQ(0, ring_submit(&self->ring, 1));
	EXPECT_EQ(PAGE_SIZE_, ring_take(&self->ring));
	ring_add(&self->ring, self->fd, self->buf, LONG * PAGE_SIZE_, DEPTH * PAGE_SIZE_);
	ASSERT_EQ(0, ring_submit(&self->ring, 1));
	EXPECT_EQ(0, ring_take(&self->ring));
}

/*
 * Pages are dropped all the time; a read has one asynchronous fill all the same, and one by a
 * worker at most.
 */
TEST_F_TIMEOUT(setcache_async, dropped_all_the_time, 60)
{
	long before = setcache_stat("fills") + setcache_stat("doomed"), tried;
	unsigned int round;
	pid_t pid;

	/* The first write to a page that a child shares faults, and the read begins anew. */
	ASSERT_EQ(0, madvise(self->buf, DEPTH * PAGE_SIZE_, MADV_DONTFORK));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, DEPTH));
		EXPECT_EQ(DEPTH, ring_complete(&self->ring));
		EXPECT_EQ(0, reap(&self->ring, PAGE_SIZE_));
		EXPECT_EQ(0, wrong(self->buf, 1));
	}
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	tried = setcache_stat("fills") + setcache_stat("doomed") - before;
	EXPECT_LT(0, tried);
	EXPECT_GE(2 * ROUNDS * DEPTH, tried);
}

/* Read all pages by AIO; returns how many reads had the result, or -1. */
static int read_aio(aio_context_t aio, int fd, char *buf, int flags, long result)
{
	struct iocb io[DEPTH], *list[DEPTH];
	struct io_event event[DEPTH];
	unsigned int i;
	int good = 0;

	for (i = 0; i < DEPTH; i++) {
		io[i] = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = fd,
			.aio_buf = (uintptr_t)(buf + i * PAGE_SIZE_),
			.aio_nbytes = PAGE_SIZE_, .aio_offset = i * PAGE_SIZE_,
			.aio_rw_flags = flags,
		};
		list[i] = &io[i];
	}
	if (syscall(SYS_io_submit, aio, DEPTH, list) != DEPTH ||
	    syscall(SYS_io_getevents, aio, DEPTH, DEPTH, event, NULL) != DEPTH)
		return -1;
	for (i = 0; i < DEPTH; i++)
		good += event[i].res == result;
	return good;
}

TEST_F_TIMEOUT(setcache_async, aio, 60)
{
	long fills = setcache_stat("fills");

	EXPECT_EQ(DEPTH, read_aio(self->aio, self->fd, self->buf, RWF_NOWAIT, -EAGAIN));
	EXPECT_EQ(0, setcache_stat("fills") - fills);
	EXPECT_EQ(DEPTH, read_aio(self->aio, self->fd, self->buf, 0, PAGE_SIZE_));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(DEPTH, setcache_stat("fills") - fills);
	EXPECT_EQ(DEPTH, read_aio(self->aio, self->fd, self->buf, RWF_NOWAIT, PAGE_SIZE_));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(DEPTH, setcache_stat("fills") - fills);
}

TEST_HARNESS_MAIN
