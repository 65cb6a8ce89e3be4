// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS moves pages into the partition and back, while a process uses the pages.
 *
 * The process is a puppet (rocs_lib.h): its faults decide which pages are profiled, and
 * its speed decides that the search keeps all of them in the partition.  So each case
 * knows what has to be in the partition, whatever the machine.  The puppet writes to
 * its pages all the time and compares them with what it wrote.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../kselftest_harness.h"
#include "rocs_lib.h"

#define KSM		"/sys/kernel/mm/ksm/"
#define THP		"/sys/kernel/mm/transparent_hugepage/"
#define SCAN_SLEEP	THP "khugepaged/scan_sleep_millisecs"
#define HUGE		(4 * HUGE_PAGES)

FIXTURE(rocs_move) {
	struct rocs_setup setup;
	struct rocs_puppet *puppet;
	struct rocs_line line;
	char path[160], thp[64], defrag[64], sleep[32];
	bool mapped[ROCS_MOST_PAGES], reserved[ROCS_MOST_PAGES];
	size_t pages;		/* that shall be in the partition */
};

/* Choose again what was chosen in the text of a file. */
static void put_back(const char *path, char *text)
{
	char *chosen = strchr(text, '[');

	if (chosen)
		mcube_write(path, strtok(chosen + 1, "]"));
}

FIXTURE_SETUP(rocs_move)
{
	const char *why = rocs_begin(&self->setup, ROCS_STANDIN);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_STANDIN, "1"));
}

FIXTURE_TEARDOWN_PARENT(rocs_move)
{
	if (self->path[0])
		unlink(self->path);
	mcube_write(MCUBE_SRM "enabled", "0");
	EXPECT_EQ(0, rocs_end(&self->setup));
	mcube_write(KSM "run", "2");
	mcube_write(KSM "run", "0");
	put_back(THP "enabled", self->thp);
	put_back(THP "defrag", self->defrag);
	if (self->sleep[0])
		mcube_write(SCAN_SLEEP, self->sleep);
}

/* A puppet that is profiled; no page has moved yet. */
static void profile(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self,
		    char *(*map)(struct rocs_puppet *p), size_t pages)
{
	self->puppet = rocs_puppet(map, pages, self->path[0] ? self->path : NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line)) {
		TH_LOG("state %s", self->line.state);
	}
}

/*
 * How many of the pages that ROCS wants in the partition are there?  @self->pages is
 * set to the number of pages that it wants there.
 */
static size_t look(FIXTURE_DATA(rocs_move) *self)
{
	struct rocs_puppet *p = self->puppet;

	self->pages = rocs_mapped_pages(p->pid, p->mem, p->pages, self->mapped);
	rocs_reserved(&self->setup, p->pid, p->mem, p->pages, self->reserved);
	return rocs_count_both(self->mapped, self->reserved, p->pages);
}

static void expect_all_inside(struct __test_metadata *_metadata,
			      FIXTURE_DATA(rocs_move) *self)
{
	size_t in = look(self);

	EXPECT_EQ(self->pages, in);
	EXPECT_LT(0, in);
}

/* All pages of the stack move in. */
static void move_in(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self)
{
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line)) {
		TH_LOG("state %s, %u of %u pages", self->line.state, self->line.in,
		       self->line.stack);
	}
	EXPECT_EQ(1, self->line.searches);
	EXPECT_LT(0, self->line.gain);
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
}

/* The process is no target any more. */
static void let_go(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self)
{
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
}

static int in_partition(FIXTURE_DATA(rocs_move) *self)
{
	struct rocs_puppet *p = self->puppet;

	return rocs_reserved(&self->setup, p->pid, p->mem, p->pages, NULL);
}

/* The pages move in and back, each of them. */
static void there_and_back(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self,
			   char *(*map)(struct rocs_puppet *p))
{
	long moved_in = rocs_stat("moved_in"), moved_out = rocs_stat("moved_out");

	profile(_metadata, self, map, ROCS_PAGES);
	EXPECT_EQ(0, in_partition(self));
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	/* Samples at a fixed period, page after page, find all pages. */
	EXPECT_LE(ROCS_PAGES * 9 / 10, self->pages);
	EXPECT_EQ(self->pages, in_partition(self));
	EXPECT_LE(moved_in + (long)self->pages, rocs_stat("moved_in"));
	let_go(_metadata, self);
	EXPECT_EQ(0, in_partition(self));
	EXPECT_LE(moved_out + (long)self->pages, rocs_stat("moved_out"));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

TEST_F_TIMEOUT(rocs_move, anonymous, 300)
{
	there_and_back(_metadata, self, rocs_map_anon);
}

static void on_disk(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self)
{
	const char *why = rocs_disk(&self->setup);

	if (why)
		SKIP(return, "%s", why);
	snprintf(self->path, sizeof(self->path), "%s/mcube-rocs", self->setup.dir);
}

/* Pages that cannot move stay outside, and are counted. */
static void stays_outside(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self,
			  char *(*map)(struct rocs_puppet *p),
			  int (*op)(struct rocs_puppet *p))
{
	long refused = rocs_stat("refused");

	profile(_metadata, self, map, ROCS_PAGES);
	if (op)
		ASSERT_EQ(0, rocs_puppet_do(self->puppet, op));
	EXPECT_EQ(0, in_partition(self));
	move_in(_metadata, self);
	EXPECT_EQ(0, look(self));
	/* ROCS wants the pages there. */
	EXPECT_LT(0, self->pages);
	EXPECT_LE(refused + (long)self->pages, rocs_stat("refused"));
	let_go(_metadata, self);
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Pages of a file belong to all who use the file, and outlive the process. */
TEST_F_TIMEOUT(rocs_move, file_shared, 300)
{
	on_disk(_metadata, self);
	stays_outside(_metadata, self, rocs_map_file_shared, NULL);
}

TEST_F_TIMEOUT(rocs_move, file_private, 300)
{
	on_disk(_metadata, self);
	stays_outside(_metadata, self, rocs_map_file_private, NULL);
}

TEST_F_TIMEOUT(rocs_move, shared_memory, 300)
{
	snprintf(self->path, sizeof(self->path), "/dev/shm/mcube-rocs");
	stays_outside(_metadata, self, rocs_map_file_shared, NULL);
}

/* Register the pages as buffers of io_uring, which pins them until the process ends. */
static int pin(struct rocs_puppet *p)
{
	struct iovec iov = { .iov_base = p->mem, .iov_len = p->pages * PAGE_SIZE_ };
	struct io_uring_params params = { };
	int fd = syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		return -errno;
	return syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &iov, 1) ?
		-errno : 0;
}

static int lock(struct rocs_puppet *p)
{
	return mlock(p->mem, p->pages * PAGE_SIZE_) ? -errno : 0;
}

/* Pages in the partition that cannot move stay there with their contents. */
static void stays_inside(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self,
			 int (*op)(struct rocs_puppet *p))
{
	long refused;
	int in;

	profile(_metadata, self, rocs_map_anon, ROCS_PAGES);
	move_in(_metadata, self);
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, op));
	in = in_partition(self);
	EXPECT_LT(0, in);
	refused = rocs_stat("refused");
	let_go(_metadata, self);
	EXPECT_EQ(in, in_partition(self));
	EXPECT_LE(refused + in, rocs_stat("refused"));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

TEST_F_TIMEOUT(rocs_move, pinned_outside, 300)
{
	stays_outside(_metadata, self, rocs_map_anon, pin);
}

TEST_F_TIMEOUT(rocs_move, pinned_inside, 300)
{
	stays_inside(_metadata, self, pin);
}

TEST_F_TIMEOUT(rocs_move, mlocked_outside, 300)
{
	stays_outside(_metadata, self, rocs_map_anon, lock);
}

TEST_F_TIMEOUT(rocs_move, mlocked_inside, 300)
{
	stays_inside(_metadata, self, lock);
}

/* Give all pages the same contents, and let KSM merge them. */
static int merge(struct rocs_puppet *p)
{
	double end = mcube_deadline(ROCS_DEADLINE);
	size_t i;

	p->reads = true;
	for (i = 0; i < p->pages; i++) {
		memset(p->mem + i * PAGE_SIZE_, 0, PAGE_SIZE_);
		p->expected[i] = rocs_tag(0);
		memcpy(p->mem + i * PAGE_SIZE_, &p->expected[i], sizeof(uint64_t));
		*(uint64_t *)(p->mem + (i + 1) * PAGE_SIZE_ - sizeof(uint64_t)) =
			~p->expected[i];
	}
	if (madvise(p->mem, p->pages * PAGE_SIZE_, MADV_MERGEABLE))
		return -errno;
	/* The first of the pages becomes the page that all share. */
	while (mcube_read_num(KSM "pages_sharing") < (long)p->pages - 1) {
		if (mcube_now() > end)
			return -ETIME;
		usleep(10000);
	}
	return 0;
}

TEST_F_TIMEOUT(rocs_move, merged_by_ksm, 300)
{
	if (!mcube_exists(KSM "run"))
		SKIP(return, "no CONFIG_KSM");
	ASSERT_EQ(0, mcube_write(KSM "pages_to_scan", "10000"));
	ASSERT_EQ(0, mcube_write(KSM "run", "1"));
	stays_outside(_metadata, self, rocs_map_anon, merge);
}

static long huge_kib(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	return mcube_field(path, "AnonHugePages");
}

/* A puppet with huge pages; their size in KiB. */
static long profile_huge(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_move) *self)
{
	mcube_read(THP "enabled", self->thp, sizeof(self->thp));
	mcube_read(THP "defrag", self->defrag, sizeof(self->defrag));
	if (mcube_write(THP "enabled", "madvise"))
		SKIP(return 0, "no CONFIG_TRANSPARENT_HUGEPAGE");
	mcube_write(THP "defrag", "madvise");
	/* khugepaged joins pages that were split as soon as it finds them. */
	ASSERT_LT(0, mcube_read(SCAN_SLEEP, self->sleep, sizeof(self->sleep))) return 0;
	ASSERT_EQ(0, mcube_write(SCAN_SLEEP, "100000000")) return 0;
	profile(_metadata, self, rocs_map_huge, HUGE);
	EXPECT_EQ(HUGE * PAGE_SIZE_ / 1024, huge_kib(self->puppet->pid));
	return huge_kib(self->puppet->pid);
}

/* Huge pages stay as they are. */
TEST_F_TIMEOUT(rocs_move, huge_pages_whole, 300)
{
	long split = rocs_stat("split"), kib;
	int in;

	kib = profile_huge(_metadata, self);
	if (!kib)
		return;
	in = in_partition(self);
	move_in(_metadata, self);
	EXPECT_EQ(kib, huge_kib(self->puppet->pid));
	EXPECT_EQ(in, in_partition(self));
	EXPECT_EQ(split, rocs_stat("split"));
	let_go(_metadata, self);
	EXPECT_EQ(kib, huge_kib(self->puppet->pid));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* The huge pages that pollute are split, and the pages of the stack move. */
TEST_F_TIMEOUT(rocs_move, huge_pages_split, 300)
{
	long split = rocs_stat("split"), kib;

	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "split_thp", "1"));
	kib = profile_huge(_metadata, self);
	if (!kib)
		return;
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	split = rocs_stat("split") - split;
	EXPECT_LT(0, split);
	EXPECT_EQ(kib - split * 2048, huge_kib(self->puppet->pid));
	let_go(_metadata, self);
	EXPECT_EQ(0, look(self));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Map new pages in the place of the first half of the pages. */
static int renew(struct rocs_puppet *p)
{
	size_t i, half = p->pages / 2;
	char *mem = mmap(p->mem, half * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (mem == MAP_FAILED)
		return -errno;
	madvise(mem, half * PAGE_SIZE_, MADV_NOHUGEPAGE);
	for (i = 0; i < half; i++) {
		p->expected[i] = 0;
		*(uint64_t *)(mem + (i + 1) * PAGE_SIZE_ - sizeof(uint64_t)) = ~0ULL;
	}
	p->next = 0;
	return 0;
}

/* Pages that the process gets meanwhile are outside, and do no harm. */
TEST_F_TIMEOUT(rocs_move, mapped_anew_inside, 300)
{
	profile(_metadata, self, rocs_map_anon, ROCS_PAGES);
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, renew));
	EXPECT_GE(ROCS_PAGES - ROCS_PAGES / 2, in_partition(self));
	let_go(_metadata, self);
	EXPECT_EQ(0, in_partition(self));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Places of the same page, which are mappings of their own: a change of all takes long. */
#define MAPPINGS	4096UL

static char *mappings;
static pthread_t changer;
static int changer_stop;

/* The mmap lock is hardly ever free. */
static void *change_mappings(void *unused)
{
	int prot = PROT_READ;

	while (!__atomic_load_n(&changer_stop, __ATOMIC_RELAXED)) {
		mprotect(mappings, MAPPINGS * PAGE_SIZE_, prot);
		prot ^= PROT_WRITE;
	}
	return NULL;
}

static int be_busy(struct rocs_puppet *p)
{
	int fd = memfd_create("mcube-rocs", MFD_CLOEXEC);
	size_t i;

	mappings = mmap(NULL, MAPPINGS * PAGE_SIZE_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (fd < 0 || mappings == MAP_FAILED || ftruncate(fd, PAGE_SIZE_))
		return -errno;
	for (i = 0; i < MAPPINGS; i++)
		if (mmap(mappings + i * PAGE_SIZE_, PAGE_SIZE_, PROT_READ,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return -errno;
	return -pthread_create(&changer, NULL, change_mappings, NULL);
}

static int be_idle(struct rocs_puppet *p)
{
	__atomic_store_n(&changer_stop, 1, __ATOMIC_RELAXED);
	return -pthread_join(changer, NULL);
}

/* Pages leave when they can, however long that takes. */
TEST_F_TIMEOUT(rocs_move, busy_when_let_go, 300)
{
	pid_t pid;

	profile(_metadata, self, rocs_map_anon, ROCS_PAGES);
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	pid = self->puppet->pid;
	/* ROCS tries once in a tick. */
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "tick_ms", "100"));
	ASSERT_EQ(0, rocs_freeze());
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, be_busy));
	ASSERT_EQ(0, rocs_choose(0));
	while (rocs_target(pid, &self->line) && strcmp(self->line.state, "leave"))
		usleep(1000);
	/* Some tries. */
	sleep(2);
	/* Chosen anew, it is a new target when it has left. */
	ASSERT_EQ(0, rocs_choose(pid));
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, be_idle));
	ASSERT_TRUE(rocs_await_state(pid, "watch", &self->line));
	EXPECT_EQ(0, self->line.stack);
	EXPECT_EQ(0, in_partition(self));
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Switching off ends all the same, and pages that stay inside are counted. */
TEST_F_TIMEOUT(rocs_move, busy_when_off, 300)
{
	long refused;

	/* SRM-buffer keeps the color reserved, so that its pages are known. */
	if (mcube_write(MCUBE_SRM "enabled", "1"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	profile(_metadata, self, rocs_map_anon, ROCS_PAGES);
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	ASSERT_EQ(0, rocs_freeze());
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, be_busy));
	refused = rocs_stat("refused");
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	EXPECT_EQ(0, rocs_targets());
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, be_idle));
	ASSERT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
	EXPECT_LE(in_partition(self), rocs_stat("refused") - refused);
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* A process that gets slower than it was: its pages move back. */
TEST_F_TIMEOUT(rocs_move, gain_does_not_last, 300)
{
	profile(_metadata, self, rocs_map_anon, ROCS_PAGES);
	move_in(_metadata, self);
	expect_all_inside(_metadata, self);
	self->puppet->play = ROCS_SLOWER;
	ASSERT_TRUE(rocs_await_state(self->puppet->pid, "watch", &self->line));
	EXPECT_EQ(1, self->line.rollbacks);
	ASSERT_EQ(0, rocs_freeze());
	while (rocs_target(self->puppet->pid, &self->line) && self->line.in)
		usleep(1000);
	EXPECT_EQ(0, in_partition(self));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

TEST_HARNESS_MAIN
