// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous reads from page sets: io_uring and AIO
 *
 * A read that may not wait gets -EAGAIN if its page is in no set, and the page is not
 * filled by the task that submits.  io_uring reads on in a worker; AIO gives the error to
 * a program that asked for RWF_NOWAIT.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define DEPTH	32U	/* reads at a time, and pages of the file */

/* A ring of io_uring, without a library. */
struct ring {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
	struct io_uring_params p;
};

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

static void *map_ring(int fd, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

/* NULL, or the reason why there is no ring. */
static const char *open_ring(struct ring *r)
{
	r->fd = syscall(SYS_io_uring_setup, DEPTH, &r->p);
	if (r->fd < 0)
		return "no io_uring";
	r->sq = map_ring(r->fd, r->p.sq_off.array + DEPTH * sizeof(uint32_t), IORING_OFF_SQ_RING);
	r->cq = map_ring(r->fd, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
			 IORING_OFF_CQ_RING);
	r->sqe = map_ring(r->fd, DEPTH * sizeof(*r->sqe), IORING_OFF_SQES);
	return r->sq == MAP_FAILED || r->cq == MAP_FAILED || (void *)r->sqe == MAP_FAILED ?
	       "the ring cannot be mapped" : NULL;
}

static uint32_t *word(char *ring, uint32_t at)
{
	return (uint32_t *)(ring + at);
}

/* Reads that are complete. */
static unsigned int complete(struct ring *r)
{
	return __atomic_load_n(word(r->cq, r->p.cq_off.tail), __ATOMIC_ACQUIRE) -
	       *word(r->cq, r->p.cq_off.head);
}

/* Submit a read of each page, and wait for so many of them.  0 or an error. */
static int submit(struct ring *r, int fd, char *buf, unsigned int wait)
{
	uint32_t tail = *word(r->sq, r->p.sq_off.tail);
	unsigned int i;

	for (i = 0; i < DEPTH; i++) {
		unsigned int at = (tail + i) & *word(r->sq, r->p.sq_off.ring_mask);

		r->sqe[at] = (struct io_uring_sqe){
			.opcode = IORING_OP_READ, .fd = fd, .off = i * PAGE_SIZE_,
			.addr = (uintptr_t)(buf + i * PAGE_SIZE_), .len = PAGE_SIZE_,
			.user_data = i,
		};
		word(r->sq, r->p.sq_off.array)[at] = at;
	}
	__atomic_store_n(word(r->sq, r->p.sq_off.tail), tail + DEPTH, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, r->fd, DEPTH, wait, IORING_ENTER_GETEVENTS, NULL,
		       0) == DEPTH ? 0 : -errno;
}

/* Take all that is complete; returns how many reads got another result than a page. */
static unsigned int reap(struct ring *r)
{
	uint32_t *head = word(r->cq, r->p.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(r->cq + r->p.cq_off.cqes);
	unsigned int nr = complete(r), i, bad = 0;

	for (i = 0; i < nr; i++)
		bad += cqe[(*head + i) & *word(r->cq, r->p.cq_off.ring_mask)].res != PAGE_SIZE_;
	__atomic_store_n(head, *head + nr, __ATOMIC_RELEASE);
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
			  open_ring(&self->ring);

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

	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, DEPTH));
	EXPECT_EQ(DEPTH, complete(&self->ring));
	EXPECT_EQ(0, reap(&self->ring));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(DEPTH, setcache_stat("fills") - fills);
	/* No page was filled without an attempt that may not wait. */
	EXPECT_LE(DEPTH, setcache_stat("nowait") - nowait);

	/* A read of pages that are in sets is complete when the call returns, without a worker. */
	nowait = setcache_stat("nowait");
	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, 0));
	EXPECT_EQ(DEPTH, complete(&self->ring));
	EXPECT_EQ(0, reap(&self->ring));
	EXPECT_EQ(0, wrong(self->buf, 1));
	EXPECT_EQ(0, setcache_stat("nowait") - nowait);

	/* Pages that have changed are read anew. */
	ASSERT_EQ(0, setcache_write(self->fd, DEPTH, 2));
	ASSERT_EQ(0, submit(&self->ring, self->fd, self->buf, DEPTH));
	EXPECT_EQ(0, reap(&self->ring));
	EXPECT_EQ(0, wrong(self->buf, 2));
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
