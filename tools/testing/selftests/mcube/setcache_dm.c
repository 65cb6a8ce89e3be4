// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets over a device that fails, waits, or stops.  The device mapper makes the device;
 * where a file system is on it, only pages of the file of the test are concerned.
 *
 *   page    0          128                    384        512
 *           +-----------+----------------------+----------+
 *           |  as ever  |  fail, wait or stop  |  as ever |
 *           +-----------+----------------------+----------+
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
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "dm_lib.h"
#include "ring_lib.h"
#include "setcache_lib.h"

#define PAGES		512U	/* more than a pool of 1 MiB has */
#define FIRST		128U	/* the pages that fail, and the page after them */
#define END		384U
#define CHUNK		8U	/* pages of a read and of a write */
#define CHUNK_BYTES	(CHUNK * PAGE_SIZE_)
#define STEP		(PAGES / RING_DEPTH)		/* asynchronous reads */
#define PART		((END - FIRST) / STEP)	/* asynchronous reads of the part */
#define READERS		3U
#define WRONG		1	/* exit status of a reader: wrong data, or another error */

#define READS_FAIL	"0 1 1 error_reads"
#define NOW_AND_THEN	"1 1 1 error_reads"	/* seconds */
#define DELAY		"60"			/* milliseconds */

#define CGROUP		MCUBE_CGROUPS "/mcube-dm"

/* In memory that processes share. */
struct shared {
	struct stamped page[PAGES];
	atomic_long good, failed;	/* reads */
};

FIXTURE(setcache_dm) {
	struct setcache_setup setup;
	struct dm_device dm;
	struct shared *shared;
	char *buf, *disk;
};

FIXTURE_VARIANT(setcache_dm) {
	enum setcache_place place;
	const char *type, *below;
};

FIXTURE_VARIANT_ADD(setcache_dm, ext4) {
	.place = ON_EXT4, .type = "ext4", .below = MCUBE_DISK,
};

FIXTURE_VARIANT_ADD(setcache_dm, xfs) {
	.place = ON_XFS, .type = "xfs", .below = MCUBE_DISK_XFS,
};

FIXTURE_VARIANT_ADD(setcache_dm, block_device) { .place = ON_BLOCK_DEVICE };

/* Requests of a task that asks for it fail, with this probability in percent. */
static void fail_requests(const struct dm_device *dm, const char *probability)
{
	char path[96];

	mcube_faults_of("fail_make_request", probability);
	snprintf(path, sizeof(path), "/sys/block/%s/make-it-fail", dm->name);
	mcube_write(path, strcmp(probability, "0") ? "1" : "0");
}

FIXTURE_SETUP(setcache_dm)
{
	const char *why = setcache_unusable();
	unsigned int i;
	int fd;

	if (!why && (getenv("MCUBE_DISK_DIR") || getenv("MCUBE_XFS_DIR")))
		why = "file systems of the test are mounted, not over the device mapper";
	why = why ?: variant->type ?
	      dm_begin_file(&self->dm, &self->setup, variant->type, variant->below, PAGES) :
	      dm_begin_device(&self->dm, &self->setup, PAGES);
	if (why)
		SKIP(return, "%s", why);
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	self->buf = aligned_alloc(PAGE_SIZE_, CHUNK_BYTES);
	self->disk = aligned_alloc(PAGE_SIZE_, CHUNK_BYTES);
	fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(0, setcache_write(fd, PAGES, 1));
	close(fd);
	for (i = 0; i < PAGES; i++) {
		stamp_begin(&self->shared->page[i], false);
		stamp_end(&self->shared->page[i]);
	}
	ASSERT_EQ(0, variant->type ?
		  dm_add_pages(&self->dm, self->setup.file, FIRST, END - FIRST) :
		  dm_add_part(&self->dm, FIRST * 8, (END - FIRST) * 8));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_dm)
{
	if (*self->dm.path) {
		EXPECT_EQ(0, dm_heal(&self->dm));
		fail_requests(&self->dm, "0");
	}
	/* The file system holds the device, or the device holds the loop device. */
	if (!variant->type)
		EXPECT_EQ(0, dm_close(&self->dm));
	EXPECT_EQ(0, setcache_end(&self->setup));
	EXPECT_EQ(0, dm_close(&self->dm));
}

static int open_random(const struct setcache_setup *s)
{
	int fd = open(s->file, O_RDWR | O_CLOEXEC);

	return fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) ? -1 : fd;
}

/* Read a chunk.  Return: number of pages; -EBADMSG if one is wrong; another error. */
static long right(FIXTURE_DATA(setcache_dm) *self, int fd, unsigned int first)
{
	struct stamped *page = &self->shared->page[first];
	uint32_t done[CHUNK];
	unsigned int i;
	ssize_t got;

	for (i = 0; i < CHUNK; i++)
		done[i] = atomic_load(&page[i].done);
	got = pread(fd, self->buf, CHUNK_BYTES, first * PAGE_SIZE_);
	if (got < 0)
		return -errno;
	for (i = 0; (ssize_t)(i * PAGE_SIZE_) < got; i++)
		if (!stamp_is_current(&page[i], first + i, done[i],
				      self->buf + i * PAGE_SIZE_, 0, PAGE_SIZE_))
			return -EBADMSG;
	return i;
}

/* Number of pages of the file that are right. */
static long all_right(FIXTURE_DATA(setcache_dm) *self, int fd)
{
	unsigned int first;
	long sum = 0;

	for (first = 0; first < PAGES; first += CHUNK)
		sum += right(self, fd, first) == CHUNK ? CHUNK : 0;
	return sum;
}

/* Write a chunk, and then the page cache if @sync.  0 or an error. */
static int write_chunk(FIXTURE_DATA(setcache_dm) *self, int fd, unsigned int first, bool sync)
{
	struct stamped *page = &self->shared->page[first];
	unsigned int i;
	ssize_t got;

	for (i = 0; i < CHUNK; i++)
		stamp_fill(self->disk + i * PAGE_SIZE_, first + i, stamp_begin(&page[i], false));
	got = pwrite(fd, self->disk, CHUNK_BYTES, first * PAGE_SIZE_);
	if (got < 0)
		return -errno;
	if (got != CHUNK_BYTES)
		return -EPIPE;
	if (sync && fsync(fd))
		return -errno;
	for (i = 0; i < CHUNK; i++)
		stamp_end(&page[i]);
	return 0;
}

/*
 * Read at random so often, or until killed, in a cgroup unless @cgroup is NULL.  Exits with
 * %WRONG after wrong data, or if a read failed that may not.
 */
static pid_t start_reader(FIXTURE_DATA(setcache_dm) *self, unsigned int seed, long times,
			  bool may_fail, const char *cgroup)
{
	uint64_t state = seed * 7919 + 1;
	pid_t pid = fork();
	long got;
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cgroup) {
		/* The first to be killed, with a buffer that takes memory when it is used. */
		if (mcube_write(cgroup, "0") || mcube_write("/proc/self/oom_score_adj", "1000") ||
		    madvise(self->buf, CHUNK_BYTES, MADV_DONTNEED))
			_exit(WRONG);
	}
	mcube_write(MCUBE_FAIL, "1");
	fd = open_random(&self->setup);
	while (times--) {
		got = right(self, fd, mcube_random(&state) % (PAGES - CHUNK));
		if (got == CHUNK)
			atomic_fetch_add(&self->shared->good, 1);
		else if (may_fail && (got > 0 || got == -EIO))
			atomic_fetch_add(&self->shared->failed, 1);
		else
			_exit(WRONG);
	}
	_exit(0);
}

static void start_readers(FIXTURE_DATA(setcache_dm) *self, pid_t *pid, long times,
			  bool may_fail)
{
	static unsigned int seed;
	unsigned int i;

	for (i = 0; i < READERS; i++)
		pid[i] = start_reader(self, seed++, times, may_fail, NULL);
}

/* All pages are right, no way is in use, and the pool grows, shrinks and goes. */
static void expect_sound(struct __test_metadata *_metadata, FIXTURE_DATA(setcache_dm) *self)
{
	long errors;
	int fd = open_random(&self->setup);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, dm_heal(&self->dm));
	EXPECT_EQ(0, setcache_ways_that_stay());
	errors = setcache_stat("errors");
	EXPECT_EQ(PAGES, all_right(self, fd));
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "4"));
	EXPECT_EQ(PAGES, all_right(self, fd));
	EXPECT_EQ(PAGES, all_right(self, fd));
	EXPECT_EQ(0, setcache_stat("errors") - errors);
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	EXPECT_EQ(256, setcache_stat("pages"));
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "off"));
	EXPECT_EQ(0, setcache_unload());
	EXPECT_EQ(0, setcache_load());
	close(fd);
}

/* A read fails each time, a page that is in a set or in the page cache does not. */
TEST_F_TIMEOUT(setcache_dm, reads_fail, 240)
{
	long errors = setcache_stat("errors"), pages = 0;
	int direct = open(self->setup.file, O_RDWR | O_DIRECT | O_CLOEXEC);
	int fd = open_random(&self->setup), pass;
	unsigned int first;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, direct);
	EXPECT_EQ(CHUNK, right(self, fd, FIRST + 2 * CHUNK));
	EXPECT_EQ(CHUNK, right(self, fd, FIRST + 4 * CHUNK));
	ASSERT_EQ(0, dm_set(&self->dm, "flakey", READS_FAIL));
	EXPECT_EQ(CHUNK, right(self, fd, FIRST + 2 * CHUNK));
	EXPECT_EQ(CHUNK, right(self, fd, FIRST + 4 * CHUNK));
	EXPECT_EQ(0, setcache_stat("errors") - errors);
	for (first = FIRST + 5 * CHUNK; first < END; first += CHUNK)
		for (pass = 0; pass < 2; pass++, pages += CHUNK)
			EXPECT_EQ(-EIO, right(self, fd, first));
	EXPECT_EQ(pages, setcache_stat("errors") - errors);
	EXPECT_EQ(CHUNK / 2, right(self, fd, FIRST - CHUNK / 2));
	EXPECT_EQ(-EIO, right(self, fd, END - CHUNK / 2));
	EXPECT_EQ(CHUNK, right(self, fd, END));
	/* Writes reach the device; what they replace is not found any more. */
	EXPECT_EQ(0, write_chunk(self, direct, FIRST + 2 * CHUNK, false));
	EXPECT_EQ(-EIO, right(self, fd, FIRST + 2 * CHUNK));
	EXPECT_EQ(0, write_chunk(self, fd, FIRST + 4 * CHUNK, true));
	EXPECT_EQ(CHUNK, right(self, fd, FIRST + 4 * CHUNK));
	EXPECT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	EXPECT_EQ(-EIO, right(self, fd, FIRST + 4 * CHUNK));
	close(direct);
	close(fd);
	expect_sound(_metadata, self);
}

/* A child that unloads the module, and has begun to wait for those who read. */
static pid_t start_unload(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(!!setcache_unload());
	while (mcube_exists(MCUBE_SETCACHE "mode") && child_runs(pid))
		usleep(10000);
	usleep(100000);
	return pid;
}

/* The module, with settings as at the beginning. */
static int load_again(void)
{
	return setcache_load() ?: mcube_write(MCUBE_SETCACHE "size_mib", "1") ?:
	       mcube_write(MCUBE_SETCACHE "mode", "random");
}

/* Submit so many reads of a page each; the first ones are of the part. */
static int submit_reads(struct ring *ring, int fd, char *buf, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ring_add(ring, fd, buf + i * PAGE_SIZE_, PAGE_SIZE_,
			 (FIRST + i * STEP) % PAGES * PAGE_SIZE_);
	return ring_submit(ring, 0);
}

/* Reads that got so many bytes, or an error; waits for all. */
static unsigned int reap(struct ring *r, unsigned int nr, int result)
{
	unsigned int i, got = 0;

	for (i = 0; i < nr && (ring_complete(r) || !ring_submit(r, 1)); i++)
		got += ring_take(r) == result;
	return got;
}

static unsigned int right_pages(FIXTURE_DATA(setcache_dm) *self, const char *buf,
				unsigned int nr)
{
	unsigned int page = FIRST, sum = 0;

	for (; nr--; page = (page + STEP) % PAGES, buf += PAGE_SIZE_)
		sum += stamp_is_current(&self->shared->page[page], page, 1, buf, 0, PAGE_SIZE_);
	return sum;
}

/* An error ends an asynchronous read.  Other reads do not notice. */
TEST_F_TIMEOUT(setcache_dm, asynchronous_reads_fail, 240)
{
	long async = setcache_stat("async"), errors = setcache_stat("errors");
	char *buf = calloc(RING_DEPTH, PAGE_SIZE_);
	int fd = open_random(&self->setup);
	unsigned int pass, first;
	struct ring ring;

	ASSERT_EQ(NULL, ring_open(&ring));
	ASSERT_EQ(0, dm_set(&self->dm, "flakey", READS_FAIL));
	for (pass = 0; pass < 3; pass++) {
		ASSERT_EQ(0, submit_reads(&ring, fd, buf, PART));
		EXPECT_EQ(PART, reap(&ring, PART, -EIO));
	}
	/* Many pages fail at a time. */
	for (first = FIRST; first < END; first += RING_DEPTH) {
		ring_add(&ring, fd, buf, RING_DEPTH * PAGE_SIZE_, first * PAGE_SIZE_);
		ASSERT_EQ(0, ring_submit(&ring, 0));
		EXPECT_EQ(1, reap(&ring, 1, -EIO));
	}
	ASSERT_EQ(0, submit_reads(&ring, fd, buf, RING_DEPTH));
	EXPECT_EQ(RING_DEPTH - PART, reap(&ring, RING_DEPTH, PAGE_SIZE_));
	EXPECT_LT(0, setcache_stat("async") - async);
	EXPECT_LT(0, setcache_stat("errors") - errors);
	ASSERT_EQ(0, dm_heal(&self->dm));
	ASSERT_EQ(0, submit_reads(&ring, fd, buf, RING_DEPTH));
	EXPECT_EQ(RING_DEPTH, reap(&ring, RING_DEPTH, PAGE_SIZE_));
	EXPECT_EQ(RING_DEPTH, right_pages(self, buf, RING_DEPTH));
	close(ring.fd);
	close(fd);
	expect_sound(_metadata, self);
}

/* Wait until a number is larger by 20, while all readers go on. */
static bool grows(const atomic_long *number, const pid_t *pid)
{
	long old = atomic_load(number);
	unsigned int i;

	while (atomic_load(number) < old + 20) {
		for (i = 0; i < READERS; i++)
			if (!child_runs(pid[i]))
				return false;
		usleep(10000);
	}
	return true;
}

TEST_F_TIMEOUT(setcache_dm, reads_fail_now_and_then, 240)
{
	long errors = setcache_stat("errors");
	pid_t pid[READERS];
	unsigned int i;

	ASSERT_EQ(0, dm_set(&self->dm, "flakey", NOW_AND_THEN));
	start_readers(self, pid, -1, true);
	EXPECT_TRUE(grows(&self->shared->failed, pid));
	/* The device is replaced while pages come in. */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, dm_set(&self->dm, "flakey", READS_FAIL));
		EXPECT_TRUE(grows(&self->shared->failed, pid));
		EXPECT_EQ(0, dm_heal(&self->dm));
		EXPECT_TRUE(grows(&self->shared->good, pid));
	}
	EXPECT_EQ(0, dm_set(&self->dm, "flakey", NOW_AND_THEN));
	EXPECT_TRUE(grows(&self->shared->failed, pid));
	EXPECT_TRUE(grows(&self->shared->good, pid));
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_was_killed(pid[i]));
	/* A read fails at a page, and counts the page. */
	EXPECT_LE(atomic_load(&self->shared->failed), setcache_stat("errors") - errors);
	expect_sound(_metadata, self);
}

/* Requests fail where they come to the block layer. */
TEST_F_TIMEOUT(setcache_dm, requests_fail, 240)
{
	long errors = setcache_stat("errors");
	pid_t pid[READERS];
	unsigned int i;

	if (!mcube_exists("/sys/kernel/debug/fail_make_request"))
		SKIP(return, "no CONFIG_FAIL_MAKE_REQUEST");
	fail_requests(&self->dm, "20");
	start_readers(self, pid, 300, true);
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_ended_well(pid[i]));
	fail_requests(&self->dm, "0");
	EXPECT_LT(0, atomic_load(&self->shared->failed));
	EXPECT_LT(0, atomic_load(&self->shared->good));
	EXPECT_LE(atomic_load(&self->shared->failed), setcache_stat("errors") - errors);
	expect_sound(_metadata, self);
}

/* Pages that read otherwise than they are on the disk; -1 if one is no write of the test. */
static int differing_pages(FIXTURE_DATA(setcache_dm) *self, int fd)
{
	int direct = open(self->setup.file, O_RDWR | O_DIRECT | O_CLOEXEC), bad = 0, pass;
	unsigned int first, i;

	for (first = 0; first < PAGES; first += CHUNK) {
		if (pread(direct, self->disk, CHUNK_BYTES, first * PAGE_SIZE_) != CHUNK_BYTES)
			return -1;
		for (pass = 0; pass < 2; pass++) {
			if (right(self, fd, first) != CHUNK)
				return -1;
			for (i = 0; i < CHUNK_BYTES; i += PAGE_SIZE_)
				bad += !!memcmp(self->buf + i, self->disk + i, PAGE_SIZE_);
		}
	}
	close(direct);
	return bad;
}

/* Write while others read; writes to the part that fails do, and all others do not. */
static void write_at_random(struct __test_metadata *_metadata, FIXTURE_DATA(setcache_dm) *self,
			    int flags)
{
	int fd = open(self->setup.file, O_RDWR | O_CLOEXEC | flags), ret;
	unsigned int i, first;
	pid_t pid[READERS];
	uint64_t state = 1;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dm_fail_writes(&self->dm));
	start_readers(self, pid, -1, false);
	for (i = 0; i < 150; i++) {
		first = mcube_random(&state) % (PAGES / CHUNK) * CHUNK;
		ret = write_chunk(self, fd, first, !flags);
		EXPECT_EQ(first >= FIRST && first < END ? -EIO : 0, ret);
		/* The page cache keeps what it could not write. */
		if (!flags)
			EXPECT_EQ(0, posix_fadvise(fd, first * PAGE_SIZE_, CHUNK_BYTES,
						   POSIX_FADV_DONTNEED));
	}
	EXPECT_TRUE(grows(&self->shared->good, pid));
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_was_killed(pid[i]));
	if (!flags)
		EXPECT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	close(fd);
}

TEST_F_TIMEOUT(setcache_dm, buffered_writes_fail, 240)
{
	/* Open to the end, as the last to close a block device drops its pages. */
	int fd = open_random(&self->setup);

	write_at_random(_metadata, self, 0);
	EXPECT_EQ(0, differing_pages(self, fd));
	expect_sound(_metadata, self);
}

/* A write of pages that are in sets.  It fails in its second half. */
static int write_a_half(FIXTURE_DATA(setcache_dm) *self, int fd)
{
	int direct = open(self->setup.file, O_RDWR | O_DIRECT | O_CLOEXEC);
	long got = right(self, fd, FIRST - CHUNK / 2);

	if (got == CHUNK)
		got = write_chunk(self, direct, FIRST - CHUNK / 2, false);
	close(direct);
	return got;
}

TEST_F_TIMEOUT(setcache_dm, direct_writes_fail, 240)
{
	int fd = open_random(&self->setup);

	write_at_random(_metadata, self, O_DIRECT);
	EXPECT_EQ(0, differing_pages(self, fd));
	EXPECT_EQ(-EIO, write_a_half(self, fd));
	EXPECT_EQ(0, differing_pages(self, fd));
	expect_sound(_metadata, self);
}

TEST_F_TIMEOUT(setcache_dm, direct_writes_fail_control, 240)
{
	int fd = open_random(&self->setup);

	if (!mcube_exists(SETCACHE_SKIP))
		SKIP(return, "no CONFIG_MCUBE_SETCACHE_BREAK");
	ASSERT_EQ(0, dm_fail_writes(&self->dm));
	/* Sets so many that no page is evicted. */
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "16"));
	/* Without the hook before the write, both passes differ where the disk has changed. */
	ASSERT_EQ(0, mcube_write(SETCACHE_SKIP, "0x4"));
	EXPECT_EQ(-EIO, write_a_half(self, fd));
	EXPECT_EQ(2 * CHUNK / 2, differing_pages(self, fd));
}

TEST_F_TIMEOUT(setcache_dm, readers_are_killed, 240)
{
	pid_t pid[READERS];
	unsigned int i, round;

	ASSERT_EQ(0, dm_set(&self->dm, "delay", DELAY));
	for (round = 0; round < 10; round++) {
		start_readers(self, pid, -1, false);
		for (i = 0; i < READERS; i++)
			EXPECT_TRUE(setcache_wait_for_fill(pid[i]));
		if (round % 4 == 3) {
			/* Reads go on while the engine goes and comes. */
			EXPECT_EQ(0, setcache_unload());
			ASSERT_EQ(0, load_again());
			/* Pages that came into the page cache meanwhile come into no set. */
			EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
		}
		for (i = 0; i < READERS; i++)
			EXPECT_TRUE(child_was_killed(pid[i]));
		EXPECT_EQ(0, setcache_ways_that_stay());
	}
	expect_sound(_metadata, self);
}

/* The first reader fills, the others fill or wait for it; the device holds all of them. */
static void stop_readers(struct __test_metadata *_metadata, FIXTURE_DATA(setcache_dm) *self,
			 pid_t *pid, const char *cgroup)
{
	unsigned int i;

	ASSERT_EQ(0, dm_hold());
	for (i = 0; i < READERS; i++) {
		pid[i] = start_reader(self, i, -1, false, cgroup);
		ASSERT_TRUE(setcache_wait_for_fill(pid[i]));
	}
}

/*
 * Readers of a file that have been killed end, also while the device holds their reads.  Readers
 * of a block device itself wait, as direct reads do.
 */
static void expect_ended(struct __test_metadata *_metadata, const pid_t *pid, bool ended)
{
	unsigned int i;

	for (i = 0; ended && i < READERS; i++)
		EXPECT_TRUE(child_ends_by_kill(pid[i]));
	if (!ended)
		EXPECT_TRUE(child_runs(pid[0]));
}

/* The pages of sets have no counter of their own. */
static long uncounted_pages(void)
{
	struct mcube_memory m;

	mcube_memory_settled(&m);
	return m.lost;
}

/* Readers are killed, the file system and the module go, while the device does not answer. */
TEST_F_TIMEOUT(setcache_dm, device_stops, 240)
{
	bool mounted = self->setup.mounted && variant->type;
	pid_t pid[READERS], unloader;
	unsigned int i;
	long before;

	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "off"));
	before = uncounted_pages();
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "16"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	stop_readers(_metadata, self, pid, NULL);
	for (i = 0; i < READERS; i++)
		kill(pid[i], SIGKILL);
	expect_ended(_metadata, pid, !!variant->type);
	if (mounted) {
		EXPECT_EQ(-1, umount(SETCACHE_MOUNT));
		EXPECT_EQ(EBUSY, errno);
		EXPECT_EQ(0, umount2(SETCACHE_MOUNT, MNT_DETACH));
	}
	unloader = start_unload();
	/* Memory into which the device may write is nobody else's. */
	EXPECT_TRUE(child_runs(unloader));
	EXPECT_EQ(0, dm_go_on());
	EXPECT_TRUE(child_ended_well(unloader));
	if (!variant->type)
		expect_ended(_metadata, pid, true);
	EXPECT_FALSE(mcube_exists(MCUBE_SETCACHE "mode"));
	/* The pool had 4096 pages. */
	EXPECT_GT(256, uncounted_pages() - before);
	if (mounted)
		ASSERT_EQ(0, mount(self->dm.path, SETCACHE_MOUNT, variant->type, MS_NOATIME,
				   NULL));
	ASSERT_EQ(0, load_again());
	expect_sound(_metadata, self);
}

/* Nobody waits while the device does not answer; the module waits for it. */
TEST_F_TIMEOUT(setcache_dm, device_stops_asynchronous_reads, 240)
{
	char *buf = calloc(RING_DEPTH, PAGE_SIZE_);
	int fd = open_random(&self->setup);
	pid_t pid, unloader;
	struct ring ring;

	ASSERT_EQ(NULL, ring_open(&ring));
	ASSERT_EQ(0, dm_hold());
	/* The reads of a process that has ended go on. */
	pid = fork();
	if (!pid)
		_exit(ring_open(&ring) || submit_reads(&ring, fd, buf, PART));
	EXPECT_TRUE(child_ended_well(pid));
	EXPECT_EQ(2 * PART, setcache_ways_in_use());	/* filled and pinned */
	/* The pages of the process are on their way, and workers wait for them. */
	ASSERT_EQ(0, submit_reads(&ring, fd, buf, RING_DEPTH));
	EXPECT_EQ(0, ring_complete(&ring));
	EXPECT_EQ(2 * RING_DEPTH, setcache_ways_in_use());
	unloader = start_unload();
	EXPECT_TRUE(child_runs(unloader));
	EXPECT_EQ(0, dm_go_on());
	EXPECT_EQ(RING_DEPTH, reap(&ring, RING_DEPTH, PAGE_SIZE_));
	EXPECT_EQ(RING_DEPTH, right_pages(self, buf, RING_DEPTH));
	EXPECT_TRUE(child_ended_well(unloader));
	close(ring.fd);
	close(fd);
	ASSERT_EQ(0, load_again());
	expect_sound(_metadata, self);
}

/* Readers are killed as their cgroup has no memory, while the device does not answer. */
TEST_F_TIMEOUT(setcache_dm, no_memory_in_the_cgroup, 240)
{
	pid_t pid[READERS], hog;
	unsigned int i;

	if (mcube_make_cgroup(CGROUP, "+memory") ||
	    mcube_write(CGROUP "/memory.max", "8388608"))
		SKIP(return, "no memory cgroup");
	stop_readers(_metadata, self, pid, CGROUP "/cgroup.procs");
	hog = fork();
	if (!hog) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mcube_write(CGROUP "/cgroup.procs", "0") ||
		    mcube_write("/proc/self/oom_score_adj", "-1000"))
			_exit(WRONG);
		_exit(mcube_grow(64 << 8) ? WRONG : 0);
	}
	while (mcube_field(CGROUP "/memory.events", "oom_kill") < READERS && child_runs(hog))
		usleep(10000);
	EXPECT_EQ(READERS, mcube_field(CGROUP "/memory.events", "oom_kill"));
	expect_ended(_metadata, pid, !!variant->type);
	EXPECT_EQ(256, setcache_stat("pages"));
	EXPECT_TRUE(child_was_killed(hog));
	EXPECT_EQ(0, dm_go_on());
	if (!variant->type)
		expect_ended(_metadata, pid, true);
	EXPECT_EQ(0, rmdir(CGROUP));
	expect_sound(_metadata, self);
}

TEST_HARNESS_MAIN
