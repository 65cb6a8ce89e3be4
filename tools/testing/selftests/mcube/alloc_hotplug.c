// SPDX-License-Identifier: GPL-2.0
/*
 * Memory blocks and CPUs come and go while the allocator is on and busy.
 *
 * An offline memory block must have no container, and no counter may count its
 * pages; an offline CPU must own no container.  Afterwards both serve again.
 * Unmovable pages keep memory blocks online: a case is skipped only if no block
 * at all can go offline with the allocator off.  Each case expects a machine that
 * has just been booted.
 */

#include <dirent.h>
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

#define MEMORY		"/sys/devices/system/memory/"
#define MAX_BLOCKS	256
#define PATIENCE	20	/* s */

FIXTURE(alloc_hotplug) {
	struct mcube_saved saved;
	struct mcube_memory before;
	struct mcube_load load;
	int block[MAX_BLOCKS], nr_blocks;
};

static void wake_up(int sig)
{
}

/*
 * Offlining retries for ever while a page can not migrate.  The signal of an
 * alarm ends it, and the attempt counts as failed.
 */
static int set_block(int block, const char *state)
{
	struct sigaction wake = { .sa_handler = wake_up }, before;
	char path[128];
	int ret;

	snprintf(path, sizeof(path), MEMORY "memory%d/state", block);
	sigaction(SIGALRM, &wake, &before);
	alarm(PATIENCE);
	ret = mcube_write(path, state);
	alarm(0);
	sigaction(SIGALRM, &before, NULL);
	if (ret == -EINTR)
		ksft_print_msg("block %d: not %s within %d s\n", block, state,
			       PATIENCE);
	return ret;
}

/* Online blocks, the highest addresses first. */
static int find_blocks(int *block)
{
	char path[128], state[32];
	int n = 0, i;

	for (i = 4095; i >= 0 && n < MAX_BLOCKS; i--) {
		snprintf(path, sizeof(path), MEMORY "memory%d/state", i);
		if (mcube_read(path, state, sizeof(state)) > 0 &&
		    !strcmp(state, "online"))
			block[n++] = i;
	}
	return n;
}

FIXTURE_SETUP(alloc_hotplug)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->nr_blocks = find_blocks(self->block);
	mcube_write("/proc/sys/vm/drop_caches", "3");
	ASSERT_EQ(0, mcube_off());
	ASSERT_TRUE(mcube_memory_settled(&self->before));
}

FIXTURE_TEARDOWN_PARENT(alloc_hotplug)
{
	struct mcube_memory after;
	const char *why;
	char path[128];
	int i;

	if (mcube_unusable())
		return;
	for (i = 0; i < self->nr_blocks; i++)
		set_block(self->block[i], "online");
	for (i = 1; i < get_nprocs_conf(); i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/online", i);
		mcube_write(path, "1");
	}
	EXPECT_EQ(0, mcube_off());
	mcube_write("/proc/sys/vm/drop_caches", "3");
	usleep(500000);
	EXPECT_TRUE(mcube_memory_settled(&after));
	why = mcube_memory_check_off(&after);
	EXPECT_EQ(NULL, why) {
		TH_LOG("%s", why ? why : "");
	}
	EXPECT_EQ(self->before.managed, after.managed);
	EXPECT_GE(512, labs(after.lost - self->before.lost)) {
		mcube_memory_print("before", &self->before);
		mcube_memory_print("after", &after);
	}
	mcube_restore(&self->saved);
}

static void start_load(struct __test_metadata *_metadata,
		       FIXTURE_DATA(alloc_hotplug) *self)
{
	size_t pages = self->before.free / 64;

	ASSERT_EQ(0, mcube_load_start(&self->load, 3,
				      MCUBE_ANON | MCUBE_FORK | MCUBE_FILE,
				      "/dev/shm", pages < 1024 ? pages : 1024));
}

static void stop_load(struct __test_metadata *_metadata,
		      FIXTURE_DATA(alloc_hotplug) *self)
{
	mcube_load_stop(&self->load);
	TH_LOG("%ld rounds, %ld wrong pages", self->load.rounds,
	       self->load.corrupt);
	EXPECT_EQ(0, self->load.corrupt);
	EXPECT_EQ(0, self->load.died);
	EXPECT_LT(0, self->load.rounds);
}

/* At most @max blocks that can go offline with the allocator off. */
static int find_movable(FIXTURE_DATA(alloc_hotplug) *self, int *block, int max)
{
	int i, n = 0;

	for (i = 0; i < self->nr_blocks && n < max; i++)
		if (!set_block(self->block[i], "offline")) {
			if (!set_block(self->block[i], "online"))
				block[n++] = self->block[i];
		}
	return n;
}

/* Index of the first of these frames that lies in the block, or @n. */
static size_t find_in_block(const uint64_t *pfn, size_t n, int block)
{
	uint64_t pages;
	char text[64];
	size_t i;

	mcube_read(MEMORY "block_size_bytes", text, sizeof(text));
	pages = strtoull(text, NULL, 16) / PAGE_SIZE_;
	for (i = 0; i < n; i++)
		if (pfn[i] / pages == (uint64_t)block)
			break;
	return i;
}

static bool in_block(const uint64_t *pfn, size_t n, int block)
{
	return find_in_block(pfn, n, block) < n;
}

TEST_F_TIMEOUT(alloc_hotplug, memory_block_with_containers, 300)
{
	int block[2], n, i, round, gone = 0, used = 0;
	struct mcube_memory m;
	size_t pages, k;
	uint64_t *pfn;
	char *p;

	n = find_movable(self, block, 2);
	if (!n)
		SKIP(return, "no memory block can go offline");
	ASSERT_TRUE(mcube_memory_settled(&m));
	/* So many pages that every node and nearly every block has some. */
	pages = m.free / 100 * 80;
	pfn = malloc(pages * sizeof(*pfn));
	ASSERT_NE(NULL, pfn);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS,
				      MCUBE_TEST_BANKS));
		p = mcube_map_anon(pages);
		ASSERT_NE(NULL, p);
		for (k = 0; k < pages; k++)
			*(size_t *)(p + k * PAGE_SIZE_) = k;
		ASSERT_EQ(0, mcube_pfns(p, pages, pfn));
		used += in_block(pfn, pages, block[i]);
		/* After this two thirds of the pages are free in containers. */
		for (k = 0; k < pages; k++)
			if (k % 3)
				madvise(p + k * PAGE_SIZE_, PAGE_SIZE_,
					MADV_DONTNEED);
		for (round = 0; round < 3; round++) {
			if (set_block(block[i], "offline"))
				continue;
			gone++;
			ASSERT_TRUE(mcube_memory_settled(&m));
			EXPECT_GT(self->before.managed, m.managed);
			ASSERT_EQ(0, mcube_pfns(p, pages, pfn));
			EXPECT_FALSE(in_block(pfn, pages, block[i]));
			ASSERT_EQ(0, set_block(block[i], "online"));
		}
		for (k = 0; k < pages; k += 3)
			ASSERT_EQ(k, *(size_t *)(p + k * PAGE_SIZE_));
		munmap(p, pages * PAGE_SIZE_);
		ASSERT_EQ(0, mcube_off());
	}
	TH_LOG("%d blocks, %d of them in use; went offline %d times", n, used,
	       gone);
	EXPECT_LT(0, used);
	/*
	 * A block that can go offline with the allocator off can go offline
	 * with it on.
	 */
	EXPECT_LE(2 * n, gone);
}

static pid_t write_by_child(const char *path, const char *text)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(mcube_write(path, text) != 0);
	return pid;
}

static bool ended(pid_t pid, int seconds, int *status)
{
	double end = mcube_deadline(seconds);

	do {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(100000);
	} while (mcube_now() < end);
	return false;
}

/*
 * A child that tries in vain to take a block offline.  One page of the block is
 * in a pipe, from where it cannot migrate, and the kernel retries until a
 * signal comes.  A block with unmovable pages fails at once: try the next.
 * Return: the child, or 0.
 */
static pid_t try_in_vain(FIXTURE_DATA(alloc_hotplug) *self, int *pipe_fd,
			 char *path, size_t size)
{
	size_t pages = self->before.free / 100 * 70, k;
	struct iovec page = { .iov_len = PAGE_SIZE_ };
	uint64_t *pfn = malloc(pages * sizeof(*pfn));
	char *p = mcube_map_anon(pages);
	int i, status;
	pid_t pid = 0;

	if (!pfn || !p || pipe(pipe_fd))
		return 0;
	for (k = 0; k < pages; k++)
		p[k * PAGE_SIZE_] = 1;
	for (i = 0; i < self->nr_blocks && !pid; i++) {
		if (mcube_pfns(p, pages, pfn))
			break;
		k = find_in_block(pfn, pages, self->block[i]);
		page.iov_base = p + k * PAGE_SIZE_;
		if (k == pages || vmsplice(pipe_fd[1], &page, 1, 0) < 0)
			continue;
		snprintf(path, size, MEMORY "memory%d/state", self->block[i]);
		pid = write_by_child(path, "offline");
		if (ended(pid, 3, &status))
			pid = 0;
	}
	munmap(p, pages * PAGE_SIZE_);
	free(pfn);
	return pid;
}

/* A block that cannot go offline keeps nobody from switching the allocator. */
TEST_F_TIMEOUT(alloc_hotplug, switch_while_a_block_tries_to_go, 300)
{
	static const char * const text[] = { "1", "0" };
	char path[128], state[32];
	pid_t offliner, writer;
	bool done = true;
	int fd[2], status;
	size_t i;

	offliner = try_in_vain(self, fd, path, sizeof(path));
	if (!offliner)
		SKIP(return, "no memory block tries to go offline");
	for (i = 0; i < ARRAY_SIZE(text) && done; i++) {
		writer = write_by_child(MCUBE_ALLOC "enabled", text[i]);
		done = ended(writer, PATIENCE, &status);
		EXPECT_TRUE(done) {
			TH_LOG("writing %s waits for the block", text[i]);
		}
		if (done)
			EXPECT_EQ(0, status);
		mcube_read(path, state, sizeof(state));
		EXPECT_STREQ("going-offline", state);
	}
	kill(offliner, SIGINT);
	waitpid(offliner, &status, 0);
	if (!done)
		waitpid(writer, &status, 0);
	close(fd[0]);
	close(fd[1]);
	mcube_read(path, state, sizeof(state));
	EXPECT_STREQ("online", state);
}

TEST_F_TIMEOUT(alloc_hotplug, memory_under_load, 300)
{
	int block[8], n, i, gone = 0, tries = 0;
	long seconds = mcube_env("MCUBE_HOTPLUG_SECONDS", 6);
	double end;

	n = find_movable(self, block, 8);
	if (!n)
		SKIP(return, "no memory block can go offline");
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	start_load(_metadata, self);
	end = mcube_now() + seconds;
	for (i = 0; mcube_now() < end || !tries; i = (i + 1) % n) {
		tries++;
		if (!set_block(block[i], "offline")) {
			gone++;
			usleep(100000);
			ASSERT_EQ(0, set_block(block[i], "online"));
		}
		/*
		 * Switch the allocator now and then, also while the block is
		 * offline.
		 */
		if (tries % 5 == 0) {
			ASSERT_EQ(0, mcube_off());
			ASSERT_EQ(0, mcube_on(NULL, NULL, NULL));
		} else if (tries % 7 == 0 && !set_block(block[i], "offline")) {
			ASSERT_EQ(0, mcube_off());
			ASSERT_EQ(0, mcube_on(NULL, NULL, NULL));
			ASSERT_EQ(0, set_block(block[i], "online"));
		}
	}
	stop_load(_metadata, self);
	TH_LOG("%d of %d attempts to take a block offline succeeded", gone,
	       tries);
	EXPECT_LT(0, gone);
}

TEST_F_TIMEOUT(alloc_hotplug, cpus_under_load, 300)
{
	long seconds = mcube_env("MCUBE_HOTPLUG_SECONDS", 6);
	int cpu, cpus = get_nprocs_conf(), gone = 0, i;
	char path[128], *p;
	double end;
	long served;

	if (cpus < 2 || !mcube_exists("/sys/devices/system/cpu/cpu1/online"))
		SKIP(return, "no CPU can go offline");
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	start_load(_metadata, self);
	end = mcube_now() + seconds;
	for (cpu = 1; mcube_now() < end || gone < cpus; cpu = cpu % (cpus - 1) + 1) {
		/* Let the CPU own a container first. */
		if (!mcube_pin(cpu)) {
			p = mcube_map_anon(64);
			ASSERT_NE(NULL, p);
			for (i = 0; i < 64; i++)
				p[i * PAGE_SIZE_] = 1;
			munmap(p, 64 * PAGE_SIZE_);
		}
		mcube_unpin();
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/online", cpu);
		ASSERT_EQ(0, mcube_write(path, "0"));
		gone++;
		if (gone % 4 == 0) {
			ASSERT_EQ(0, mcube_off());
			ASSERT_EQ(0, mcube_on(NULL, NULL, NULL));
		}
		ASSERT_EQ(0, mcube_write(path, "1"));
	}
	stop_load(_metadata, self);
	TH_LOG("CPUs went offline %d times", gone);

	/* All CPUs are back and serve. */
	for (cpu = 0; cpu < cpus; cpu++) {
		ASSERT_EQ(0, mcube_pin(cpu));
		served = mcube_stat("served");
		p = mcube_map_anon(256);
		ASSERT_NE(NULL, p);
		for (i = 0; i < 256; i++)
			p[i * PAGE_SIZE_] = 1;
		EXPECT_LE(served + 240, mcube_stat("served"));
		munmap(p, 256 * PAGE_SIZE_);
	}
	mcube_unpin();
}

TEST_HARNESS_MAIN
