// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: writers that wait hold no pages beyond those they have written.
 *
 * Each writer writes several pages to a file of its own.  Its first page can be
 * copied.  Its second page is missing, and userfaultfd reports the fault but
 * does not end it.  A writer knows how many pages will follow, so the policy
 * allocates several pages at once: while the writer waits for the fault, these
 * pages belong to no file and to no cgroup.  Needs the disk that srm_segments.c
 * needs.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define WRITERS		256
#define ROW		16UL	/* pages of a write */

FIXTURE(srm_batch) {
	struct srm_setup setup;
	int fd[WRITERS];
	int faults;
	char *source;
};

static void name_of(FIXTURE_DATA(srm_batch) *self, int i, char *path, size_t size)
{
	snprintf(path, size, "%s/mcube-batch%d", self->setup.dir, i);
}

FIXTURE_SETUP(srm_batch)
{
	const char *why = srm_begin(&self->setup, "mcube-batch");
	char path[192];
	int i;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, srm_switch_on(&self->setup, 256, "0"));
	for (i = 0; i < WRITERS; i++) {
		name_of(self, i, path, sizeof(path));
		self->fd[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		ASSERT_LE(0, self->fd[i]);
	}
	sync();
}

FIXTURE_TEARDOWN_PARENT(srm_batch)
{
	char path[192];
	int i;

	for (i = 0; i < WRITERS; i++) {
		if (self->fd[i] > 0)
			close(self->fd[i]);
		name_of(self, i, path, sizeof(path));
		unlink(path);
	}
	EXPECT_EQ(0, srm_end(&self->setup));
}

/* Memory of ROW pages, the first of them present.  0, or a negative errno. */
static int make_source(FIXTURE_DATA(srm_batch) *self)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	self->source = mcube_map_anon(ROW);
	self->faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (!self->source || self->faults < 0)
		return -EOPNOTSUPP;
	memset(self->source, 1, PAGE_SIZE_);
	reg.range.start = (uintptr_t)self->source;
	reg.range.len = ROW * PAGE_SIZE_;
	if (ioctl(self->faults, UFFDIO_API, &api) ||
	    ioctl(self->faults, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

struct writer {
	pthread_t thread;
	pthread_barrier_t *start;
	const char *source;
	int fd;
	ssize_t written;
};

static void *write_row(void *arg)
{
	struct writer *w = arg;

	pthread_barrier_wait(w->start);
	pthread_barrier_wait(w->start);
	w->written = pwrite(w->fd, w->source, ROW * PAGE_SIZE_, 0);
	return NULL;
}

/* Wait until so many faults have been reported. */
static int await_faults(int fd, int n)
{
	struct uffd_msg msg;

	while (n--)
		if (read(fd, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			return -EIO;
	return 0;
}

static long pages_placed(void)
{
	return srm_stat("file_pages") + srm_stat("task_pages");
}

TEST_F_TIMEOUT(srm_batch, writers_that_wait_hold_no_pages, 120)
{
	struct uffdio_zeropage zero = { };
	static struct writer w[WRITERS];
	pthread_barrier_t start;
	long free, placed;
	int i;

	ASSERT_EQ(0, make_source(self));
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, WRITERS + 1));
	for (i = 0; i < WRITERS; i++) {
		w[i].start = &start;
		w[i].source = self->source;
		w[i].fd = self->fd[i];
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_row, &w[i]));
	}
	placed = pages_placed();
	/* All threads have run once and have their stacks. */
	pthread_barrier_wait(&start);
	mcube_write("/proc/sys/vm/stat_refresh", "1");
	free = mcube_field("/proc/vmstat", "nr_free_pages");
	pthread_barrier_wait(&start);
	ASSERT_EQ(0, await_faults(self->faults, WRITERS));
	/* A fault is reported a moment before its task goes to sleep. */
	for (i = 0; i < 100 && pages_placed() - placed != WRITERS; i++)
		usleep(100000);
	mcube_write("/proc/sys/vm/stat_refresh", "1");
	free -= mcube_field("/proc/vmstat", "nr_free_pages");
	placed = pages_placed() - placed;
	TH_LOG("%d writers wait: %ld pages placed, %ld pages less free", WRITERS, placed,
	       free);
	/* One page of the file for each writer; metadata makes less than another. */
	EXPECT_EQ(WRITERS, placed);
	EXPECT_GE(WRITERS * (long)ROW / 4, free);

	/* The missing pages come in, and the writers go on. */
	zero.range.start = (uintptr_t)self->source + PAGE_SIZE_;
	zero.range.len = (ROW - 1) * PAGE_SIZE_;
	ASSERT_EQ(0, ioctl(self->faults, UFFDIO_ZEROPAGE, &zero));
	for (i = 0; i < WRITERS; i++) {
		ASSERT_EQ(0, pthread_join(w[i].thread, NULL));
		EXPECT_EQ((ssize_t)(ROW * PAGE_SIZE_), w[i].written);
	}
	close(self->faults);
	munmap(self->source, ROW * PAGE_SIZE_);
}

TEST_HARNESS_MAIN
