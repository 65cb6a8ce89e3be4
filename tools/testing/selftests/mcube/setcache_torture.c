// SPDX-License-Identifier: GPL-2.0
/*
 * No read returns data older than a write that was complete when the read began.
 *
 * Processes write pages with stamps: buffered, direct, asynchronous direct, through a mapping.
 * A process truncates, punches, zeroes and collapses, and shares blocks with other files.
 * Others read through page sets, also by io_uring and without waiting, with advice that
 * changes, through the page cache, and through a mapping.  One drops caches and changes the
 * advice, the mode, the policy, the use of nodes and the size, and unloads the module.
 *
 * The same load has to find old data where a hook is left out (CONFIG_MCUBE_SETCACHE_BREAK).
 *
 * MCUBE_SETCACHE_READS (400000) is the number of reads of each kind of file.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "ring_lib.h"
#include "setcache_lib.h"

#define PAGES		256U
#define MAX_PAGES	16U	/* of a read or a write */

/* What the processes share. */
struct torture {
	struct stamped page[PAGES];
	atomic_uint inside;	/* writers in an operation of theirs */
	atomic_uint gate;	/* 1 while a single process may change the file */
	atomic_uint shifts;	/* odd while pages are in wrong places */
	atomic_uint half;	/* 0 or 1: half of the file that is written directly */
	atomic_ulong reads, stale, broken;
	atomic_ulong hits, fills, later, messages;	/* of modules that are gone */
	atomic_uint stop;
	char path[160];
	bool file;		/* no block device */
	bool shares;		/* files can share blocks */
	bool async;		/* with asynchronous direct writes */
	bool slow;		/* direct writes alone, which begin long before they write */
};

/* The descriptors and buffers of a process. */
struct worker {
	struct torture *t;
	int fd, random_fd, direct_fd, source_fd, clone_fd, hole_fd;
	char *buf, *map, *source;
	aio_context_t aio;
	struct ring ring;
	uint64_t seed;
};

static unsigned int draw(struct worker *w, unsigned int below)
{
	return mcube_random(&w->seed) % below;
}

/* A file without a name. */
static int open_file(const char *name, unsigned int number)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), SETCACHE_MOUNT "/%s%u", name, number);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink(path);
	return fd;
}

static bool open_worker(struct worker *w, struct torture *t, unsigned int number)
{

	*w = (struct worker){ .t = t, .seed = number * 7919 + 1 };
	w->fd = open(t->path, O_RDWR | O_CLOEXEC);
	w->random_fd = open(t->path, O_RDWR | O_CLOEXEC);
	w->direct_fd = open(t->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	w->buf = mmap(NULL, (MAX_PAGES + 1) * PAGE_SIZE_, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->map = mmap(NULL, PAGES * PAGE_SIZE_, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	w->source_fd = open_file("source", number);
	w->clone_fd = open_file("clone", number);
	w->hole_fd = open_file("hole", number);
	w->source = mmap(NULL, MAX_PAGES * PAGE_SIZE_, PROT_READ, MAP_SHARED, w->source_fd, 0);
	return w->source != MAP_FAILED && w->fd >= 0 && w->random_fd >= 0 && w->direct_fd >= 0 &&
	       w->buf != MAP_FAILED && w->map != MAP_FAILED && w->clone_fd >= 0 &&
	       !ftruncate(w->hole_fd, PAGES * PAGE_SIZE_) &&
	       !posix_fadvise(w->random_fd, 0, 0, POSIX_FADV_RANDOM) &&
	       !syscall(SYS_io_setup, 4, &w->aio) && !ring_open(&w->ring);
}

/* Hold pages from @first on; returns how many, at most @nr. */
static unsigned int hold(struct torture *t, unsigned int first, unsigned int nr)
{
	unsigned int i;

	atomic_fetch_add(&t->inside, 1);
	if (atomic_load(&t->gate)) {
		atomic_fetch_sub(&t->inside, 1);
		usleep(100);
		return 0;
	}
	for (i = 0; i < nr && first + i < PAGES; i++)
		if (atomic_exchange(&t->page[first + i].busy, 1))
			break;
	if (!i)
		atomic_fetch_sub(&t->inside, 1);
	return i;
}

static void let_go(struct torture *t, unsigned int first, unsigned int nr)
{
	while (nr--)
		atomic_store(&t->page[first + nr].busy, 0);
	atomic_fetch_sub(&t->inside, 1);
}

static ssize_t write_async(struct worker *w, off_t pos, size_t len)
{
	struct iocb io = {
		.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = w->direct_fd,
		.aio_buf = (uintptr_t)w->buf, .aio_nbytes = len, .aio_offset = pos,
	}, *list = &io;
	struct io_event event;

	if (syscall(SYS_io_submit, w->aio, 1, &list) != 1 ||
	    syscall(SYS_io_getevents, w->aio, 1, 1, &event, NULL) != 1)
		return -1;
	return event.res;
}

/* The memory that is written comes from the disk when the write has begun. */
static ssize_t write_slowly(struct worker *w, off_t pos, size_t len)
{
	if (pwrite(w->source_fd, w->buf, len, 0) != (ssize_t)len || fsync(w->source_fd) ||
	    madvise(w->source, len, MADV_DONTNEED) ||
	    posix_fadvise(w->source_fd, 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return pwrite(w->direct_fd, w->source, len, pos);
}

/*
 * Direct writes have a half of the file: where a page of a large folio is dirty, the page
 * cache does not drop the other pages after a direct write, and says so.
 */
static void write_pages(struct worker *w)
{
	struct torture *t = w->t;
	unsigned int how = t->slow ? 1 : draw(w, t->async ? 4 : 3);
	unsigned int half = atomic_load(&t->half);
	unsigned int first = draw(w, PAGES / 2 - MAX_PAGES), nr, i;
	ssize_t got;
	size_t len;
	off_t pos;

	first += how % 2 == half ? 0 : PAGES / 2;
	nr = hold(t, first, draw(w, 4) ? 1 : 1 + draw(w, MAX_PAGES));
	if (!nr)
		return;
	/* No change while pages are held. */
	if (atomic_load(&t->half) != half) {
		let_go(t, first, nr);
		return;
	}
	pos = first * PAGE_SIZE_;
	len = nr * PAGE_SIZE_;
	got = len;
	for (i = 0; i < nr; i++)
		stamp_fill(w->buf + i * PAGE_SIZE_, first + i,
			   stamp_begin(&t->page[first + i], false));
	if (how == 0)
		got = pwrite(w->fd, w->buf, len, pos);
	else if (how == 1)
		got = t->slow ? write_slowly(w, pos, len) :
				pwrite(w->direct_fd, w->buf, len, pos);
	else if (how == 2)
		memcpy(w->map + pos, w->buf, len);
	else
		got = write_async(w, pos, len);
	if (got == (ssize_t)len)
		for (i = 0; i < nr; i++)
			stamp_end(&t->page[first + i]);
	else
		atomic_fetch_add(&t->broken, 1);
	let_go(t, first, nr);
}

/* Only this process changes the file, until open_gate(). */
static void close_gate(struct torture *t)
{
	atomic_store(&t->gate, 1);
	while (atomic_load(&t->inside) && !atomic_load(&t->stop))
		usleep(20);
}

static void open_gate(struct torture *t)
{
	atomic_store(&t->gate, 0);
}

static void begin_zeros(struct torture *t, unsigned int first, unsigned int nr)
{
	while (nr--)
		stamp_begin(&t->page[first + nr], true);
}

static void end_zeros(struct torture *t, unsigned int first, unsigned int nr)
{
	while (nr--)
		stamp_end(&t->page[first + nr]);
}

/*
 * Zeros from another file, which has a hole there.  All blocks of the file are shared with a
 * third file before, so that later writes go to other blocks.
 */
static int share_blocks(struct worker *w, off_t pos, off_t len)
{
	struct file_clone_range range = {
		.src_fd = w->hole_fd, .src_offset = pos, .src_length = len, .dest_offset = pos,
	};

	return ioctl(w->clone_fd, FICLONE, w->fd) || ioctl(w->fd, FICLONERANGE, &range);
}

/* Zeros by one of many ways. */
static void zero_pages(struct worker *w)
{
	struct torture *t = w->t;
	unsigned int how = draw(w, t->file ? 5 + t->shares : 1), first = draw(w, PAGES);
	unsigned int nr = 1 + draw(w, draw(w, 2) ? 4 : PAGES);
	uint64_t range[2];
	off_t pos, len;
	int bad = 0;

	nr = nr < PAGES - first ? nr : PAGES - first;
	if (t->file && how == 0)
		nr = PAGES - first;
	pos = first * PAGE_SIZE_;
	len = nr * PAGE_SIZE_;
	range[0] = pos;
	range[1] = len;
	close_gate(t);
	if (atomic_load(&t->stop))
		goto out;
	begin_zeros(t, first, nr);
	if (!t->file) {
		bad = ioctl(w->fd, BLKZEROOUT, range);
	} else if (how == 0) {
		bad = ftruncate(w->fd, pos) || ftruncate(w->fd, PAGES * PAGE_SIZE_);
	} else if (how == 1) {
		bad = fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
	} else if (how == 2) {
		bad = fallocate(w->fd, FALLOC_FL_ZERO_RANGE, pos, len);
	} else if (how == 5) {
		bad = share_blocks(w, pos, len);
	} else if (first + nr < PAGES) {
		atomic_fetch_add(&t->shifts, 1);
		if (how == 3)
			bad = fallocate(w->fd, FALLOC_FL_COLLAPSE_RANGE, pos, len) ||
			      fallocate(w->fd, FALLOC_FL_INSERT_RANGE, pos, len);
		else
			bad = fallocate(w->fd, FALLOC_FL_INSERT_RANGE, pos, len) ||
			      fallocate(w->fd, FALLOC_FL_COLLAPSE_RANGE, pos + len, len);
		atomic_fetch_add(&t->shifts, 1);
	} else {
		bad = fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
	}
	if (bad)
		atomic_fetch_add(&t->broken, 1);
	end_zeros(t, first, nr);
	if (!draw(w, 4)) {
		bad = fsync(w->fd) || posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
		atomic_fetch_add(&t->broken, bad);
		atomic_store(&t->half, !atomic_load(&t->half));
	}
out:
	open_gate(t);
	usleep(draw(w, 20000));
}

static void check(struct worker *w, const uint32_t *done, off_t pos, ssize_t len)
{
	struct torture *t = w->t;
	off_t at = pos;

	while (at < pos + len) {
		unsigned int page = at / PAGE_SIZE_;
		size_t from = at % PAGE_SIZE_, n = PAGE_SIZE_ - from;

		if ((off_t)n > pos + len - at)
			n = pos + len - at;
		if (!stamp_is_current(&t->page[page], page, done[page - pos / PAGE_SIZE_],
				      w->buf + (at - pos), from, n))
			atomic_fetch_add(&t->stale, 1);
		at += n;
	}
}

static void read_pages(struct worker *w)
{
	struct torture *t = w->t;
	unsigned int first = draw(w, PAGES), how = draw(w, 16), i, shifts;
	unsigned int nr = draw(w, 3) ? 1 : 1 + draw(w, MAX_PAGES);
	size_t from = draw(w, 4) ? 0 : draw(w, PAGE_SIZE_), len;
	uint32_t done[MAX_PAGES];
	struct iovec iov;
	ssize_t got;
	off_t pos;

	if (nr > PAGES - first)
		nr = PAGES - first;
	pos = first * PAGE_SIZE_ + from;
	len = nr * PAGE_SIZE_ - from;
	iov = (struct iovec){ .iov_base = w->buf, .iov_len = len };
	if (!t->slow && !draw(w, 64))
		posix_fadvise(w->random_fd, 0, 0,
			      draw(w, 16) ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
	for (i = 0; i < nr; i++)
		done[i] = atomic_load(&t->page[first + i].done);
	shifts = atomic_load(&t->shifts);
	if (how == 0 && !t->slow)
		got = pread(w->fd, w->buf, len, pos);
	else if (how == 1)
		got = preadv2(w->random_fd, &iov, 1, pos, RWF_NOWAIT);
	else if (how < 8)
		got = ring_read(&w->ring, w->random_fd, w->buf, len, pos);
	else
		got = pread(w->random_fd, w->buf, len, pos);
	if (got < 0) {
		if (errno != EAGAIN)
			atomic_fetch_add(&t->broken, 1);
		return;
	}
	if (shifts % 2 || shifts != atomic_load(&t->shifts))
		return;
	check(w, done, pos, got);
	atomic_fetch_add(&t->reads, 1);
}

static void count(struct torture *t)
{
	long hits = setcache_stat("hits"), fills = setcache_stat("fills");
	long later = setcache_stat("async"), messages = setcache_stat("messages");

	atomic_fetch_add(&t->hits, hits < 0 ? 0 : hits);
	atomic_fetch_add(&t->fills, fills < 0 ? 0 : fills);
	atomic_fetch_add(&t->later, later < 0 ? 0 : later);
	atomic_fetch_add(&t->messages, messages < 0 ? 0 : messages);
}

static void reload(struct torture *t)
{
	mcube_write(MCUBE_SETCACHE "mode", "off");
	count(t);
	if (setcache_unload() || setcache_load())
		atomic_fetch_add(&t->broken, 1);
}

static void disturb(struct worker *w)
{
	static const char * const modes[] = { "random", "all", "random", "off" };
	static const char * const policies[] = { "lru", "lfu", "nrlfu", "s3fifo" };
	static const char * const uses[] = { "interleave", "hash-home", "message", "message" };
	static const char * const sizes[] = { "1", "2", "3", "64" };
	static const char * const caches[] = { "1", "2" };

	usleep(draw(w, 30000));
	switch (draw(w, 9)) {
	case 0:
		/* The pages of all files, or memory of the sets. */
		mcube_write("/proc/sys/vm/drop_caches", caches[draw(w, 2)]);
		break;
	case 1:
		posix_fadvise(w->fd, draw(w, PAGES) * PAGE_SIZE_, 64 * PAGE_SIZE_,
			      POSIX_FADV_DONTNEED);
		break;
	case 2:
		/* The pages go to the disk and leave the page cache. */
		fsync(w->fd);
		posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
		break;
	case 3:
		mcube_write(MCUBE_SETCACHE "mode", modes[draw(w, 4)]);
		break;
	case 4:
		mcube_write(MCUBE_SETCACHE "policy", policies[draw(w, 4)]);
		break;
	case 5:
		mcube_write(MCUBE_SETCACHE "size_mib", sizes[draw(w, 4)]);
		break;
	case 6:
		if (!draw(w, 8))
			reload(w->t);
		mcube_write(MCUBE_SETCACHE "mode", "random");
		break;
	case 7:
		mcube_write(MCUBE_SETCACHE "numa", uses[draw(w, 4)]);
		break;
	default:
		fsync(w->fd);
		mcube_write(MCUBE_SETCACHE "mode", "random");
		break;
	}
}

/* As disturb(), for controls: the page cache loses pages, and no setting changes. */
static void evict(struct worker *w)
{
	usleep(draw(w, 3000));
	fsync(w->fd);
	posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static pid_t start(struct torture *t, unsigned int number, void (*work)(struct worker *w))
{
	pid_t pid = fork();
	struct worker w;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!open_worker(&w, t, number))
		_exit(1);
	while (!atomic_load(&t->stop))
		work(&w);
	_exit(0);
}

/* Run until so many reads are checked, or one is stale if @control. */
static int run(struct torture *t, unsigned long reads, double end, bool control)
{
	void (*const works[])(struct worker *w) = {
		write_pages, write_pages, zero_pages, control ? evict : disturb,
		read_pages, read_pages, read_pages,
	};
	pid_t pid[ARRAY_SIZE(works)];
	unsigned int i, failed = 0;
	int status;

	for (i = 0; i < ARRAY_SIZE(works); i++)
		pid[i] = start(t, i, works[i]);
	while (atomic_load(&t->reads) < reads && mcube_now() < end &&
	       !atomic_load(&t->stale))
		usleep(10000);
	atomic_store(&t->stop, 1);
	for (i = 0; i < ARRAY_SIZE(works); i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			failed++;
	return failed;
}

/* Memory for the processes; page sets are on.  NULL if a setting is refused. */
static struct torture *share(const struct setcache_setup *s, enum setcache_place place,
			     bool async)
{
	struct torture *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	snprintf(t->path, sizeof(t->path), "%s", s->file);
	t->file = place != ON_BLOCK_DEVICE;
	t->shares = place == ON_XFS;
	t->async = async;
	if (mcube_write(MCUBE_SETCACHE "size_mib", "1") ||
	    mcube_write(MCUBE_SETCACHE "mode", "random"))
		return NULL;
	return t;
}

FIXTURE(setcache_torture) {
	struct setcache_setup setup;
	struct torture *t;
};

FIXTURE_VARIANT(setcache_torture) {
	enum setcache_place place;
};

FIXTURE_VARIANT_ADD(setcache_torture, ext4) { .place = ON_EXT4 };
FIXTURE_VARIANT_ADD(setcache_torture, xfs) { .place = ON_XFS };
FIXTURE_VARIANT_ADD(setcache_torture, block_device) { .place = ON_BLOCK_DEVICE };

FIXTURE_SETUP(setcache_torture)
{
	const char *why = setcache_begin(&self->setup, variant->place, PAGES);

	if (why)
		SKIP(return, "%s", why);
	/* On block devices such a write would keep all other writes from page sets. */
	self->t = share(&self->setup, variant->place, variant->place != ON_BLOCK_DEVICE);
	ASSERT_NE(NULL, self->t);
}

FIXTURE_TEARDOWN_PARENT(setcache_torture)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

TEST_F_TIMEOUT(setcache_torture, no_stale_data, 600)
{
	unsigned long reads = mcube_env("MCUBE_SETCACHE_READS", 400000);
	bool nodes = mcube_max_node() > 0;

	/* A short run may not come to it by chance. */
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "numa", nodes ? "message" : "interleave"));
	EXPECT_EQ(0, run(self->t, reads, mcube_deadline(500), false));
	EXPECT_EQ(0, atomic_load(&self->t->stale));
	EXPECT_EQ(0, atomic_load(&self->t->broken));
	EXPECT_LE(reads, atomic_load(&self->t->reads));
	count(self->t);
	TH_LOG("%lu reads; pages: %lu hits, %lu fills; %lu asynchronous fills",
	       (unsigned long)atomic_load(&self->t->reads),
	       (unsigned long)atomic_load(&self->t->hits),
	       (unsigned long)atomic_load(&self->t->fills),
	       (unsigned long)atomic_load(&self->t->later));
	/* The test is one of page sets, not of the page cache. */
	EXPECT_LT(reads / 20, atomic_load(&self->t->hits));
	EXPECT_LT(reads / 100, atomic_load(&self->t->fills));
	EXPECT_LT(reads / 1000, atomic_load(&self->t->later));
	EXPECT_EQ(nodes, !!atomic_load(&self->t->messages));
}

/*
 * The load finds that a hook is missing.  A direct write has hooks before it and after it.
 * Without the first one alone no old page stays, unless the write fails, see
 * setcache_efault; without the last one alone old pages stay if the page cache of the
 * file is empty.
 */
FIXTURE(setcache_control) {
	struct setcache_setup setup;
	struct torture *t;
};

#define BIT(why)	(1U << (why))

/* In the order of enum mcube_setcache_why. */
enum { INSERT, TRUNCATE, INVALIDATE, WRITTEN, DROP, ASYNC, CLOSE };

FIXTURE_VARIANT(setcache_control) {
	enum setcache_place place;
	unsigned int skip;
	bool async;
	bool slow;
};

/* With all hooks this load finds nothing. */
FIXTURE_VARIANT_ADD(setcache_control, nothing) { .place = ON_EXT4 };

FIXTURE_VARIANT_ADD(setcache_control, insert) {
	.place = ON_EXT4, .skip = BIT(INSERT),
};

FIXTURE_VARIANT_ADD(setcache_control, truncate) {
	.place = ON_XFS, .skip = BIT(TRUNCATE),
};

FIXTURE_VARIANT_ADD(setcache_control, truncate_block_device) {
	.place = ON_BLOCK_DEVICE, .skip = BIT(TRUNCATE),
};

FIXTURE_VARIANT_ADD(setcache_control, written) {
	.place = ON_EXT4, .skip = BIT(WRITTEN), .slow = true,
};

FIXTURE_VARIANT_ADD(setcache_control, invalidate_and_written) {
	.place = ON_XFS, .skip = BIT(INVALIDATE) | BIT(WRITTEN),
};

FIXTURE_VARIANT_ADD(setcache_control, async) {
	.place = ON_BLOCK_DEVICE, .skip = BIT(ASYNC), .async = true,
};

FIXTURE_SETUP(setcache_control)
{
	const char *why = setcache_begin(&self->setup, variant->place, PAGES);

	if (why)
		SKIP(return, "%s", why);
	if (!mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	self->t = share(&self->setup, variant->place, variant->async);
	ASSERT_NE(NULL, self->t);
	self->t->slow = variant->slow;
}

FIXTURE_TEARDOWN_PARENT(setcache_control)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

TEST_F_TIMEOUT(setcache_control, old_data, 180)
{
	unsigned long reads = mcube_env("MCUBE_SETCACHE_READS", 400000);

	ASSERT_EQ(0, mcube_write_num(SETCACHE_SKIP, variant->skip));
	/* With all hooks 150 s are how long it runs, not a limit for what has to be found. */
	EXPECT_EQ(0, run(self->t, variant->skip ? ~0UL : reads,
			 variant->skip ? mcube_deadline(150) : mcube_now() + 150, true));
	EXPECT_EQ(!!variant->skip, !!atomic_load(&self->t->stale));
	EXPECT_EQ(0, atomic_load(&self->t->broken));
	TH_LOG("%lu reads", (unsigned long)atomic_load(&self->t->reads));
}

TEST_HARNESS_MAIN
