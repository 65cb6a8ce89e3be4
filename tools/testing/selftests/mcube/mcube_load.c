// SPDX-License-Identifier: GPL-2.0
/*
 * Load of the mcube selftests: processes that allocate pages, tag them, and check
 * the tags.  See mcube_lib.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mcube_lib.h"

/* Shared with the workers. */
struct mcube_shared {
	int stop;
	long rounds[MCUBE_WORKERS], corrupt[MCUBE_WORKERS];
};

/* xorshift64; @state is not 0. */
uint64_t mcube_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * Leave the CPU for a moment at every 64th page.  An emulator that runs all CPUs
 * in one thread gives a busy CPU 100 ms at a time.  An IPI to all CPUs, as
 * switching the allocator sends it, would wait for such a slice of each CPU.
 */
static void breathe(size_t i)
{
	if (i % 64 == 63)
		usleep(100);
}

/* A page has a tag at both ends that no other page has. */
static void tag_pages(char *p, size_t pages, uint64_t tag)
{
	size_t i;

	for (i = 0; i < pages; i++) {
		breathe(i);
		*(uint64_t *)(p + i * PAGE_SIZE_) = tag + i;
		*(uint64_t *)(p + (i + 1) * PAGE_SIZE_ - 8) = ~(tag + i);
	}
}

static long wrong_tags(const char *p, size_t pages, uint64_t tag)
{
	long wrong = 0;
	size_t i;

	for (i = 0; i < pages; i++) {
		breathe(i);
		wrong += *(uint64_t *)(p + i * PAGE_SIZE_) != tag + i ||
			 *(uint64_t *)(p + (i + 1) * PAGE_SIZE_ - 8) != ~(tag + i);
	}
	return wrong;
}

static long work_anon(size_t pages, uint64_t tag, bool forked)
{
	char *p = mcube_map_anon(pages);
	long wrong;
	pid_t pid;

	if (!p)
		return 0;
	tag_pages(p, pages, tag);
	if (forked) {
		/*
		 * The child writes to half of the shared pages, which copies
		 * these pages.
		 */
		pid = fork();
		if (!pid) {
			tag_pages(p, pages / 2, ~tag);
			_exit(wrong_tags(p, pages / 2, ~tag) != 0);
		}
		wrong = wrong_tags(p, pages, tag);
		if (pid > 0) {
			int status;

			waitpid(pid, &status, 0);
			wrong += WIFEXITED(status) && WEXITSTATUS(status);
		}
	} else {
		/* Free the pages in the middle, and touch them again. */
		madvise(p + pages / 4 * PAGE_SIZE_, pages / 2 * PAGE_SIZE_,
			MADV_DONTNEED);
		tag_pages(p + pages / 4 * PAGE_SIZE_, pages / 2, ~tag);
		wrong = wrong_tags(p, pages / 4, tag) +
			wrong_tags(p + pages / 4 * PAGE_SIZE_, pages / 2, ~tag);
	}
	munmap(p, pages * PAGE_SIZE_);
	return wrong;
}

/* Write a file by write(), then through a shared mapping. */
static long work_file(const char *dir, size_t pages, uint64_t tag)
{
	char path[256], *p, page[PAGE_SIZE_];
	long wrong = 0;
	size_t i;
	int fd;

	snprintf(path, sizeof(path), "%s/mcube-load-%d", dir, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	unlink(path);
	memset(page, 0, sizeof(page));
	for (i = 0; i < pages; i++) {
		breathe(i);
		tag_pages(page, 1, tag + i);
		if (write(fd, page, sizeof(page)) != sizeof(page))
			break;
	}
	pages = i;
	p = pages ? mmap(NULL, pages * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0) : MAP_FAILED;
	if (p != MAP_FAILED) {
		wrong = wrong_tags(p, pages, tag);
		munmap(p, pages * PAGE_SIZE_);
	}
	close(fd);
	return wrong;
}

/* One round of one kind of work.  Return: the number of wrong pages. */
long mcube_load_once(enum mcube_work kind, const char *dir, uint64_t tag,
		     size_t pages)
{
	if (kind == MCUBE_FILE)
		return work_file(dir, pages, tag);
	return work_anon(pages, tag, kind == MCUBE_FORK);
}

static void worker(struct mcube_shared *s, int id, unsigned int work,
		   const char *dir, size_t max)
{
	uint64_t rnd = 0x9e3779b97f4a7c15ULL * (id + 1);

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED) && getppid() != 1) {
		size_t pages = 8 + mcube_random(&rnd) % max;
		uint64_t tag = mcube_random(&rnd) << 8 | id;
		unsigned int kind = 1U << mcube_random(&rnd) % 3;

		if (!(work & kind))
			continue;
		s->corrupt[id] += mcube_load_once(kind, dir, tag, pages);
		s->rounds[id]++;
	}
	_exit(0);
}

int mcube_load_start(struct mcube_load *l, int n, unsigned int work,
		     const char *dir, size_t pages)
{
	struct mcube_shared *shared;
	pid_t pid;
	int i;

	memset(l, 0, sizeof(*l));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -ENOMEM;
	fflush(NULL);
	/* *l may itself be shared memory: the child must not write to it. */
	for (i = 0; i < n && i < MCUBE_WORKERS; i++) {
		pid = fork();
		if (!pid)
			worker(shared, i, work, dir, pages);
		if (pid < 0)
			break;
		l->pid[i] = pid;
	}
	l->n = i;
	l->shared = shared;
	return l->n == n ? 0 : -EAGAIN;
}

void mcube_load_stop(struct mcube_load *l)
{
	int i, status;

	__atomic_store_n(&l->shared->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < l->n; i++) {
		if (waitpid(l->pid[i], &status, 0) != l->pid[i] || status)
			l->died++;
		l->rounds += l->shared->rounds[i];
		l->corrupt += l->shared->corrupt[i];
	}
	munmap(l->shared, sizeof(*l->shared));
}
