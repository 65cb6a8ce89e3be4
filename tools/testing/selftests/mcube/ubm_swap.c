// SPDX-License-Identifier: GPL-2.0
/*
 * UBM beside memory of programs that can be swapped out, with the classic LRU lists and with
 * MGLRU: held pages must not turn reclaim to anonymous memory in use.  A program uses its
 * memory while it reads a loop that does not fit; the same with UBM off says how much of the
 * memory the kernel itself swaps.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "ubm_lib.h"

#define LIMIT_MIB	24L
#define LOOP_MIB	24L
#define MEMORY_MIB	12L
#define SWAP_MIB	32L
#define CHUNK		16
#define LEARN		4	/* passes in which UBM learns the loop */
#define PASSES		6	/* passes that count */
#define SPARE		(UBM_PAGES(MEMORY_MIB) / 32)	/* by chance, in all passes together */

FIXTURE(ubm_swap) {
	struct ubm_setup setup;
	char loop[160], swap[160];
	bool on;
};

FIXTURE_VARIANT(ubm_swap) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(ubm_swap, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(ubm_swap, mglru) {
	.lru_gen = "y",
};

/* A file to swap to. */
static int make_swap(const char *path, size_t pages)
{
	int fd, ret = ubm_write_file(path, pages);

	if (ret)
		return ret;
	fd = open(path, O_WRONLY);
	ret = mcube_swap_head(fd, pages);
	close(fd);
	return ret ?: swapon(path, 0);
}

FIXTURE_SETUP(ubm_swap)
{
	const char *why = ubm_begin(&self->setup, variant->lru_gen);

	if (why)
		SKIP(return, "%s", why);
	snprintf(self->loop, sizeof(self->loop), "%s/mcube-loop", self->setup.dir);
	snprintf(self->swap, sizeof(self->swap), "%s/mcube-swap", self->setup.dir);
	ASSERT_EQ(0, make_swap(self->swap, UBM_PAGES(SWAP_MIB)));
	self->on = true;
	ASSERT_EQ(0, ubm_write_file(self->loop, UBM_PAGES(LOOP_MIB)));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
}

FIXTURE_TEARDOWN_PARENT(ubm_swap)
{
	if (self->on)
		EXPECT_EQ(0, swapoff(self->swap));
	unlink(self->loop);
	unlink(self->swap);
	EXPECT_EQ(0, ubm_end(&self->setup));
}

/**
 * struct job - what a process in the cgroup does
 * @loop: file that it reads in a loop.
 * @touches: how often it uses each page of its memory while it reads the file once.
 * @reads: pages that the device has read, those that were swapped in too.
 * @swapped: pages of memory that came back from the swap file.
 */
struct job {
	const char *loop;
	int touches;
	long reads, swapped;
};

/* Pages of memory and chunks of the loop in turns. */
static int pass(const struct job *job, char *memory)
{
	const size_t chunks = UBM_PAGES(LOOP_MIB) / CHUNK;
	const size_t touches = job->touches * UBM_PAGES(MEMORY_MIB);
	static char chunk[CHUNK * PAGE_SIZE_];
	size_t at, n = 0;
	int fd = open(job->loop, O_RDONLY);

	for (at = 0; at < chunks; at++) {
		if (read(fd, chunk, sizeof(chunk)) != sizeof(chunk))
			break;
		for (; n < (at + 1) * touches / chunks; n++)
			memory[n % UBM_PAGES(MEMORY_MIB) * PAGE_SIZE_]++;
	}
	close(fd);
	return at == chunks ? 0 : -1;
}

static int loop_beside_memory(void *arg)
{
	struct job *job = arg;
	char *memory = mcube_map_anon(UBM_PAGES(MEMORY_MIB));
	int i, ret = !memory;

	if (ret)
		return ret;
	memset(memory, 1, MEMORY_MIB * MIB);
	for (i = 0; i < LEARN + PASSES && !ret; i++) {
		if (i == LEARN) {
			job->reads = -ubm_device_pages();
			job->swapped = -ubm_event(UBM_CGROUP, "memory.stat",
						  "workingset_refault_anon");
		}
		ret = pass(job, memory);
	}
	job->reads += ubm_device_pages();
	job->swapped += ubm_event(UBM_CGROUP, "memory.stat", "workingset_refault_anon");
	munmap(memory, MEMORY_MIB * MIB);
	return ret;
}

/* Run a job with UBM off or on. */
static void run_job(struct __test_metadata *_metadata, const char *on, struct job *job)
{
	struct job *shared = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, shared);
	*shared = *job;
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", on));
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, loop_beside_memory, shared));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
	*job = *shared;
	munmap(shared, PAGE_SIZE_);
}

/*
 * With UBM on the device reads less, in the file and in the swap file together.  Memory that
 * is used as rarely as the loop may lose some pages, as it does beside other file pages that
 * are active.  All other memory stays as it does with UBM off.
 */
static void compare(struct __test_metadata *_metadata, const char *loop, int touches)
{
	struct job off = { .loop = loop, .touches = touches }, on = off;

	run_job(_metadata, "0", &off);
	run_job(_metadata, "1", &on);
	TH_LOG("off %ld swapped in, %ld read; on %ld swapped in, %ld read",
	       off.swapped, off.reads, on.swapped, on.reads);
	if (touches != 1)
		EXPECT_LE(on.swapped, off.swapped + SPARE);
	EXPECT_LT(on.reads, off.reads);
}

TEST_F_TIMEOUT(ubm_swap, memory_in_use, 300)
{
	compare(_metadata, self->loop, 4);
}

TEST_F_TIMEOUT(ubm_swap, memory_as_old_as_the_loop, 300)
{
	compare(_metadata, self->loop, 1);
}

TEST_F_TIMEOUT(ubm_swap, memory_that_nobody_uses, 300)
{
	compare(_metadata, self->loop, 0);
}

TEST_HARNESS_MAIN
