// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets from loading to unloading: what comes in, what goes, and what is left.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define PAGES		200U	/* fewer than a pool of 1 MiB has, so that they fit */
#define MANY		1024U	/* more than a pool of 1 MiB has */

FIXTURE(setcache_life) {
	struct setcache_setup setup;
	char *buf;
	int fd, random_fd;
	long hits, fills;
};

FIXTURE_VARIANT(setcache_life) {
	enum setcache_place place;
};

FIXTURE_VARIANT_ADD(setcache_life, ext4) { .place = ON_EXT4 };
FIXTURE_VARIANT_ADD(setcache_life, xfs) { .place = ON_XFS };
FIXTURE_VARIANT_ADD(setcache_life, block_device) { .place = ON_BLOCK_DEVICE };

FIXTURE_SETUP(setcache_life)
{
	const char *why = setcache_begin(&self->setup, variant->place, MANY);

	if (why)
		SKIP(return, "%s", why);
	self->fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	self->random_fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->random_fd);
	ASSERT_EQ(0, posix_fadvise(self->random_fd, 0, 0, POSIX_FADV_RANDOM));
	self->buf = mmap(NULL, 64 * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	/* A page fault in a copy would count a page twice. */
	memset(self->buf, 0, 64 * PAGE_SIZE_);
	ASSERT_EQ(0, setcache_write(self->fd, MANY, 1));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_life)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/* Read so many pages from @first on, @nr at a time; returns those that are wrong. */
static int wrong(int fd, char *buf, unsigned int first, unsigned int pages,
		 unsigned int nr, uint32_t number)
{
	struct stamped s = { .begun = number, .done = number };
	unsigned int i, j;
	int bad = 0;

	for (i = 0; i < pages; i += nr) {
		ssize_t len = nr * PAGE_SIZE_;

		if (pread(fd, buf, len, (first + i) * PAGE_SIZE_) != len)
			return nr;
		for (j = 0; j < nr; j++)
			bad += !stamp_is_current(&s, first + i + j, number,
						 buf + j * PAGE_SIZE_, 0, PAGE_SIZE_);
	}
	return bad;
}

static void counts(long *hits, long *fills)
{
	static long last_hits, last_fills;
	long h = setcache_stat("hits"), f = setcache_stat("fills");

	*hits = h - last_hits;
	*fills = f - last_fills;
	last_hits = h;
	last_fills = f;
}

#define EXPECT_COUNTS(_hits, _fills) do {				\
	counts(&self->hits, &self->fills);				\
	EXPECT_EQ(_hits, self->hits);					\
	EXPECT_EQ(_fills, self->fills);					\
} while (0)

TEST_F_TIMEOUT(setcache_life, pages_come_in_once, 120)
{
	counts(&self->hits, &self->fills);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 16, 1, 1));
	EXPECT_COUNTS(0, 16);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 16, 1, 1));
	EXPECT_COUNTS(16, 0);
	/* Part of a read is there, part is not. */
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 8, 16, 16, 1));
	EXPECT_COUNTS(8, 8);
	/* A read of more than a fill takes at a time. */
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 64, 64, 64, 1));
	EXPECT_COUNTS(0, 64);
	/* A descriptor without the advice goes through the page cache. */
	EXPECT_EQ(0, wrong(self->fd, self->buf, 0, 16, 1, 1));
	EXPECT_COUNTS(0, 0);
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "all"));
	EXPECT_EQ(0, wrong(self->fd, self->buf, 512, 16, 1, 1));
	counts(&self->hits, &self->fills);
	/* The file below a loop device takes part too. */
	EXPECT_LE(16, self->fills);
}

TEST_F_TIMEOUT(setcache_life, written_pages_leave, 120)
{
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 1));
	EXPECT_EQ(0, setcache_write(self->fd, 32, 2));
	counts(&self->hits, &self->fills);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 2));
	EXPECT_COUNTS(0, 32);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 2));
	EXPECT_COUNTS(32, 0);
}

TEST_F_TIMEOUT(setcache_life, dropped_pages_leave, 120)
{
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 1));
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	counts(&self->hits, &self->fills);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 1));
	EXPECT_COUNTS(0, 32);
	EXPECT_EQ(0, posix_fadvise(self->fd, 8 * PAGE_SIZE_, 8 * PAGE_SIZE_,
				   POSIX_FADV_DONTNEED));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 32, 1, 1));
	EXPECT_COUNTS(24, 8);
}

/* A file that grows, and advice beyond the pages that are in sets, leave these there. */
TEST_F_TIMEOUT(setcache_life, changes_beyond_the_pages, 120)
{
	counts(&self->hits, &self->fills);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 64, 1, 1));
	EXPECT_COUNTS(0, 64);
	if (variant->place != ON_BLOCK_DEVICE)
		EXPECT_EQ(0, ftruncate(self->fd, 4 * MANY * PAGE_SIZE_));
	EXPECT_EQ(0, posix_fadvise(self->fd, MANY * PAGE_SIZE_, 0, POSIX_FADV_DONTNEED));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 64, 1, 1));
	EXPECT_COUNTS(64, 0);
	/* So do those from among them, but for the pages that they name. */
	EXPECT_EQ(0, posix_fadvise(self->fd, 48 * PAGE_SIZE_, 0, POSIX_FADV_DONTNEED));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 64, 1, 1));
	EXPECT_COUNTS(48, 16);
}

TEST_F_TIMEOUT(setcache_life, reads_that_may_not_wait, 120)
{
	struct iovec iov = { .iov_base = self->buf, .iov_len = PAGE_SIZE_ };
	long before = setcache_stat("nowait");

	EXPECT_EQ(-1, preadv2(self->random_fd, &iov, 1, 0, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(before + 1, setcache_stat("nowait"));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, 1, 1, 1));
	EXPECT_EQ(PAGE_SIZE_, preadv2(self->random_fd, &iov, 1, 0, RWF_NOWAIT));
	/* The part that is there. */
	iov.iov_len = 4 * PAGE_SIZE_;
	EXPECT_EQ(PAGE_SIZE_, preadv2(self->random_fd, &iov, 1, 0, RWF_NOWAIT));
}

TEST_F_TIMEOUT(setcache_life, buffers_of_the_reader, 120)
{
	char *fresh = mmap(NULL, 3 * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, fresh);
	/* Memory that comes with the copy. */
	EXPECT_EQ(0, wrong(self->random_fd, fresh, 0, 2, 2, 1));
	EXPECT_EQ(0, munmap(fresh + 2 * PAGE_SIZE_, PAGE_SIZE_));
	EXPECT_EQ(2 * PAGE_SIZE_ - 100,
		  pread(self->random_fd, fresh + 100, 3 * PAGE_SIZE_, 0));
	EXPECT_EQ(-1, pread(self->random_fd, fresh + 2 * PAGE_SIZE_, PAGE_SIZE_, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pread(self->random_fd, fresh + 2 * PAGE_SIZE_, PAGE_SIZE_,
			    100 * PAGE_SIZE_));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F_TIMEOUT(setcache_life, end_of_the_file, 120)
{
	static const char zeros[PAGE_SIZE_];

	if (variant->place == ON_BLOCK_DEVICE)
		SKIP(return, "a block device has one size");
	ASSERT_EQ(0, ftruncate(self->fd, PAGE_SIZE_ + 1000));
	EXPECT_EQ(1000, pread(self->random_fd, self->buf, PAGE_SIZE_, PAGE_SIZE_));
	EXPECT_EQ(1000, pread(self->random_fd, self->buf, 4 * PAGE_SIZE_, PAGE_SIZE_));
	EXPECT_EQ(0, pread(self->random_fd, self->buf, PAGE_SIZE_, 2 * PAGE_SIZE_));
	EXPECT_EQ(0, pread(self->random_fd, self->buf, PAGE_SIZE_, PAGE_SIZE_ + 1000));
	/* The rest of the page is zero when the file grows. */
	ASSERT_EQ(0, ftruncate(self->fd, 3 * PAGE_SIZE_));
	EXPECT_EQ(PAGE_SIZE_, pread(self->random_fd, self->buf, PAGE_SIZE_, PAGE_SIZE_));
	EXPECT_EQ(0, memcmp(self->buf + 1000, zeros, PAGE_SIZE_ - 1000));
	EXPECT_EQ(PAGE_SIZE_, pread(self->random_fd, self->buf, PAGE_SIZE_, 2 * PAGE_SIZE_));
	EXPECT_EQ(0, memcmp(self->buf, zeros, PAGE_SIZE_));
}

TEST_F_TIMEOUT(setcache_life, sizes_and_policies, 240)
{
	static const char * const policies[] = { "lru", "lfu", "nrlfu", "s3fifo" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "policy", policies[i]));
		/* More than fit. */
		EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, MANY, 16, 1));
		EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, MANY, 1, 1));
	}
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "16"));
	EXPECT_EQ(16, mcube_read_num(MCUBE_SETCACHE "size_mib"));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, MANY, 16, 1));
	counts(&self->hits, &self->fills);
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, MANY, 16, 1));
	counts(&self->hits, &self->fills);
	/* 1024 pages among 256 sets: few sets are too small. */
	EXPECT_LT(MANY * 9 / 10, self->hits);
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	EXPECT_EQ(0, wrong(self->random_fd, self->buf, 0, MANY, 16, 1));
	EXPECT_EQ(0, setcache_stat("errors"));
}

/* Read pages from the second one on.  Returns how many come into sets, or -1. */
static int comes_in(const char *file, char *buf, unsigned int pages, uint32_t number)
{
	long fills = setcache_stat("fills");
	int fd = open(file, O_RDONLY | O_CLOEXEC), bad;

	bad = fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) ||
	      wrong(fd, buf, 1, pages - 1, 1, number);
	close(fd);
	return bad ? -1 : setcache_stat("fills") - fills;
}

TEST_F_TIMEOUT(setcache_life, files_that_stay_out, 120)
{
	char path[] = "/dev/shm/mcube-setcache";
	int fd;

	if (variant->place != ON_EXT4)
		SKIP(return, "the same on all file systems");
	/* A file system that keeps its files in memory. */
	mkdir("/dev/shm", 0700);
	ASSERT_EQ(0, mount("none", "/dev/shm", "tmpfs", 0, NULL));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	EXPECT_EQ(0, setcache_write(fd, PAGES, 3));
	close(fd);
	EXPECT_EQ(0, comes_in(path, self->buf, PAGES, 3));
	EXPECT_EQ(0, umount("/dev/shm"));
	/* A file into which pages are swapped, and before and after. */
	EXPECT_EQ(PAGES - 1, comes_in(self->setup.file, self->buf, PAGES, 1));
	EXPECT_EQ(0, mcube_swap_head(self->fd, PAGES));
	ASSERT_EQ(0, swapon(self->setup.file, 0));
	EXPECT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED));
	EXPECT_EQ(0, comes_in(self->setup.file, self->buf, PAGES, 1));
	ASSERT_EQ(0, swapoff(self->setup.file));
	EXPECT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED));
	EXPECT_EQ(PAGES - 1, comes_in(self->setup.file, self->buf, PAGES, 1));
}

/*
 * A user without rights reads a file that does not fit, also by advice and without waiting:
 * the right bytes, no more pages than the administrator gave, and no setting changes.
 */
TEST_F_TIMEOUT(setcache_life, a_user_without_rights, 120)
{
	static const char * const files[] = { "mode", "policy", "numa", "size_mib", "stats/hits" };
	long evicted = setcache_stat("fills");
	char path[128];
	unsigned int i;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, fchmod(self->random_fd, 0644));
	ASSERT_EQ(0, chmod(SETCACHE_MOUNT, 0755));
	pid = fork();
	if (!pid) {
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(2);
		fd = open(self->setup.file, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
			_exit(3);
		for (i = 0; i < 3; i++)
			if (wrong(fd, self->buf, 0, MANY, 16, 1) ||
			    wrong(fd, self->buf, 0, MANY, 1, 1))
				_exit(4);
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), MCUBE_SETCACHE "%s", files[i]);
			if (mcube_write(path, "1") != -EACCES)
				_exit(5 + i);
		}
		/* Counters tell when others read. */
		if (mcube_read_num(MCUBE_SETCACHE "stats/hits") != -EACCES)
			_exit(11);
		if (open(self->setup.file, O_RDWR) >= 0 || setcache_ways_in_use() >= 0)
			_exit(10);
		_exit(0);
	}
	EXPECT_TRUE(child_ended_well(pid));
	/* Pages have replaced each other in the memory that the sets had. */
	EXPECT_LT(2 * (long)MANY, setcache_stat("fills") - evicted);
	EXPECT_EQ(256, setcache_stat("pages"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_SETCACHE "size_mib"));
	EXPECT_EQ(0, setcache_ways_in_use());
}

/* Look which pages of a file are in sets, and bring in none. */
static unsigned int present(int fd, char *buf, unsigned int pages, bool *in)
{
	struct iovec iov = { .iov_base = buf, .iov_len = PAGE_SIZE_ };
	unsigned int i, sum = 0;

	for (i = 0; i < pages; i++)
		sum += in[i] = preadv2(fd, &iov, 1, i * PAGE_SIZE_, RWF_NOWAIT) > 0;
	return sum;
}

/*
 * Fill the sets, let the other process read, and look which pages have gone.  Returns how
 * many, in the last round; the first one tells that somebody came.
 */
static int watch(const char *path, char *buf, int ask, int answer)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), round, i, gone = -1;
	bool before[MANY], after[MANY];
	char c = 0;

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 101;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 4; i++)
			if (wrong(fd, buf, 0, MANY, 1, 1))
				return 102;
		if (present(fd, buf, MANY, before) < 64)
			return 103;
		if (write(ask, &c, 1) != 1 || read(answer, &c, 1) != 1)
			return 104;
		present(fd, buf, MANY, after);
		for (i = 0, gone = 0; i < (int)MANY; i++)
			gone += before[i] != after[i];
	}
	return gone < 100 ? gone : 100;
}

/* A user who fills the sets with a file of his own learns nothing of what root reads. */
TEST_F_TIMEOUT(setcache_life, others_see_nothing, 240)
{
	int ask[2], answer[2], round, fd, status;
	char path[192], c;
	pid_t pid;

	if (variant->place != ON_EXT4)
		SKIP(return, "the same on all file systems");
	snprintf(path, sizeof(path), "%s-mine", self->setup.backing);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setcache_write(fd, MANY, 1));
	ASSERT_EQ(0, fchown(fd, NOBODY, NOBODY));
	close(fd);
	ASSERT_EQ(0, chmod(SETCACHE_MOUNT, 0755));
	ASSERT_EQ(0, pipe(ask));
	ASSERT_EQ(0, pipe(answer));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(105);
		_exit(watch(path, self->buf, ask[1], answer[0]));
	}
	close(ask[1]);
	for (round = 0; round < 3 && read(ask[0], &c, 1) == 1; round++) {
		/* Each time other pages, so that they have to come in. */
		EXPECT_EQ(0, wrong(self->random_fd, self->buf, 256 * round, 64, 1, 1));
		EXPECT_EQ(1, write(answer[1], &c, 1));
	}
	EXPECT_EQ(3, round);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	unlink(path);
}

/* Read until killed. */
static pid_t reader(const char *path, unsigned int seed)
{
	uint64_t state = seed + 1;
	pid_t pid = fork();
	char *buf;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	buf = malloc(16 * PAGE_SIZE_);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (;;)
		if (wrong(fd, buf, mcube_random(&state) % (MANY - 16), 16, 16, 1))
			_exit(1);
}

TEST_F_TIMEOUT(setcache_life, loads_and_unloads_under_load, 300)
{
	pid_t pid[3];
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = reader(self->setup.file, i);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", i % 2 ? "all" : "random"));
		usleep(5000);
		ASSERT_EQ(0, setcache_unload());
		EXPECT_FALSE(mcube_exists(MCUBE_SETCACHE "mode"));
		ASSERT_EQ(0, setcache_load());
	}
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		EXPECT_EQ(0, kill(pid[i], SIGKILL));
		EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/*
 * A loop device has another file, and an asynchronous direct write keeps its pages out of
 * sets no longer than until it is closed.
 */
FIXTURE(setcache_device) {
	struct setcache_setup setup;
	char other[192];
	char *buf;
};

FIXTURE_SETUP(setcache_device)
{
	const char *why = setcache_begin(&self->setup, ON_BLOCK_DEVICE, MANY);
	int fd;

	if (why)
		SKIP(return, "%s", why);
	self->buf = aligned_alloc(PAGE_SIZE_, 64 * PAGE_SIZE_);
	snprintf(self->other, sizeof(self->other), "%s-other", self->setup.backing);
	fd = open(self->other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setcache_write(fd, MANY, 7));
	close(fd);
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_device)
{
	unlink(self->other);
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/* Write, read twice, close; then the same device has another file. */
static int read_old_and_new(struct setcache_setup *s, const char *other, char *buf)
{
	int fd = open(s->loop, O_RDWR | O_CLOEXEC), bad;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	bad = setcache_write(fd, 16, 1) || wrong(fd, buf, 0, 16, 1, 1) ||
	      wrong(fd, buf, 0, 16, 1, 1);
	close(fd);
	if (bad || setcache_detach(s) || setcache_attach(s, other))
		return -1;
	fd = open(s->loop, O_RDWR | O_CLOEXEC);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	bad = wrong(fd, buf, 0, 16, 1, 7);
	close(fd);
	return bad;
}

TEST_F_TIMEOUT(setcache_device, closed_by_all, 60)
{
	EXPECT_EQ(0, read_old_and_new(&self->setup, self->other, self->buf));
}

TEST_F_TIMEOUT(setcache_device, closed_by_all_control, 60)
{
	if (!mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	/* Without the hooks of closing and of dropping, all 16 pages are old. */
	ASSERT_EQ(0, mcube_write(SETCACHE_SKIP, "0x50"));
	EXPECT_EQ(16, read_old_and_new(&self->setup, self->other, self->buf));
}

/* What makes a block device forget what it has in memory. */
enum forget { BY_CLOSING, BY_ADVICE, BY_BLOCK_SIZE };

/* Read twice, change the file below the loop device, forget.  Returns pages that are old. */
static int read_changed(struct setcache_setup *s, char *buf, enum forget how)
{
	int fd = open(s->loop, O_RDWR | O_CLOEXEC), below, size, bad;

	below = open(s->backing, O_RDWR | O_CLOEXEC);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	bad = setcache_write(fd, 16, 1) || wrong(fd, buf, 0, 16, 1, 1) ||
	      wrong(fd, buf, 0, 16, 1, 1) || setcache_write(below, 16, 2) ||
	      ioctl(fd, BLKBSZGET, &size);
	close(below);
	if (bad)
		return -1;
	size = size == 512 ? 1024 : 512;
	if (how == BY_ADVICE) {
		bad = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	} else if (how == BY_BLOCK_SIZE) {
		bad = ioctl(fd, BLKBSZSET, &size);
	} else {
		close(fd);
		fd = open(s->loop, O_RDWR | O_CLOEXEC);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	}
	if (bad)
		return -1;
	bad = wrong(fd, buf, 0, 16, 1, 2);
	close(fd);
	return bad;
}

TEST_F_TIMEOUT(setcache_device, forgets, 60)
{
	EXPECT_EQ(0, read_changed(&self->setup, self->buf, BY_CLOSING));
	EXPECT_EQ(0, read_changed(&self->setup, self->buf, BY_ADVICE));
	EXPECT_EQ(0, read_changed(&self->setup, self->buf, BY_BLOCK_SIZE));
}

TEST_F_TIMEOUT(setcache_device, forgets_control, 60)
{
	if (!mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	/* Without the hook of dropping alone, and without that of closing alone. */
	ASSERT_EQ(0, mcube_write(SETCACHE_SKIP, "0x10"));
	EXPECT_EQ(16, read_changed(&self->setup, self->buf, BY_ADVICE));
	EXPECT_EQ(0, read_changed(&self->setup, self->buf, BY_CLOSING));
	ASSERT_EQ(0, mcube_write(SETCACHE_SKIP, "0x40"));
	EXPECT_EQ(0, read_changed(&self->setup, self->buf, BY_ADVICE));
	EXPECT_EQ(16, read_changed(&self->setup, self->buf, BY_CLOSING));
	EXPECT_EQ(16, read_changed(&self->setup, self->buf, BY_BLOCK_SIZE));
}

/* The last page, which is not whole, comes through the page cache, and to those who poll. */
TEST_F_TIMEOUT(setcache_device, part_of_a_page, 60)
{
	struct iovec iov = { .iov_base = self->buf, .iov_len = PAGE_SIZE_ };
	struct stamped s = { .begun = 7, .done = 7 };
	double end = mcube_deadline(30);
	ssize_t got;
	int fd;

	ASSERT_EQ(0, truncate(self->other, 16 * PAGE_SIZE_ + 1024));
	ASSERT_EQ(0, setcache_detach(&self->setup));
	ASSERT_EQ(0, setcache_attach(&self->setup, self->other));
	fd = open(self->setup.loop, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	do {
		got = preadv2(fd, &iov, 1, 16 * PAGE_SIZE_, RWF_NOWAIT);
	} while (got < 0 && errno == EAGAIN && mcube_now() < end && !usleep(1000));
	EXPECT_EQ(1024, got);
	EXPECT_TRUE(stamp_is_current(&s, 16, 7, self->buf, 0, 1024));
	close(fd);
}

/*
 * A direct write that fails in the middle has changed the file, and no hook comes after
 * it: the pages have left their sets before.
 */
FIXTURE(setcache_efault) {
	struct setcache_setup setup;
	char *buf, *disk;
};

FIXTURE_VARIANT(setcache_efault) {
	enum setcache_place place;
};

FIXTURE_VARIANT_ADD(setcache_efault, ext4) { .place = ON_EXT4 };
FIXTURE_VARIANT_ADD(setcache_efault, xfs) { .place = ON_XFS };

FIXTURE_SETUP(setcache_efault)
{
	const char *why = setcache_begin(&self->setup, variant->place, MANY);

	if (why)
		SKIP(return, "%s", why);
	self->buf = mmap(NULL, 16 * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	self->disk = aligned_alloc(PAGE_SIZE_, 16 * PAGE_SIZE_);
	ASSERT_NE(NULL, self->disk);
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_efault)
{
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/* Pages that read otherwise than they are on the disk, of 8 that have changed; or -1. */
static int differing_pages(const char *path, char *buf, char *disk)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), direct, i, changed = 0, bad = 0;
	struct stamped s = { .begun = 2, .done = 2 };

	direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || direct < 0 || setcache_write(fd, 16, 1) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) || wrong(fd, buf, 0, 16, 16, 1))
		return -1;
	for (i = 0; i < 8; i++)
		stamp_fill(buf + i * PAGE_SIZE_, i, 2);
	if (mprotect(buf + 8 * PAGE_SIZE_, 8 * PAGE_SIZE_, PROT_NONE) ||
	    pwrite(direct, buf, 16 * PAGE_SIZE_, 0) != -1 || errno != EFAULT ||
	    mprotect(buf + 8 * PAGE_SIZE_, 8 * PAGE_SIZE_, PROT_READ | PROT_WRITE) ||
	    pread(fd, buf, 16 * PAGE_SIZE_, 0) != 16 * PAGE_SIZE_ ||
	    pread(direct, disk, 16 * PAGE_SIZE_, 0) != 16 * PAGE_SIZE_)
		return -1;
	for (i = 0; i < 8; i++)
		changed += stamp_is_current(&s, i, 2, disk + i * PAGE_SIZE_, 0, PAGE_SIZE_);
	for (i = 0; i < 16; i++)
		bad += !!memcmp(buf + i * PAGE_SIZE_, disk + i * PAGE_SIZE_, PAGE_SIZE_);
	close(direct);
	close(fd);
	return changed == 8 ? bad : -1;
}

TEST_F_TIMEOUT(setcache_efault, reads_as_on_the_disk, 60)
{
	EXPECT_EQ(0, differing_pages(self->setup.file, self->buf, self->disk));
}

TEST_F_TIMEOUT(setcache_efault, control, 60)
{
	if (!mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	/* Without the hook before the write alone. */
	ASSERT_EQ(0, mcube_write(SETCACHE_SKIP, "0x4"));
	EXPECT_EQ(8, differing_pages(self->setup.file, self->buf, self->disk));
}

TEST_HARNESS_MAIN
