// SPDX-License-Identifier: GPL-2.0
/*
 * Reads by io_uring, without a library.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring_lib.h"

static void *map_ring(int fd, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

/* NULL, or the reason why there is no ring. */
const char *ring_open(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = syscall(SYS_io_uring_setup, RING_DEPTH, &r->p);
	if (r->fd < 0)
		return "no io_uring";
	r->sq = map_ring(r->fd, r->p.sq_off.array + RING_DEPTH * sizeof(uint32_t),
			 IORING_OFF_SQ_RING);
	r->cq = map_ring(r->fd, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
			 IORING_OFF_CQ_RING);
	r->sqe = map_ring(r->fd, RING_DEPTH * sizeof(*r->sqe), IORING_OFF_SQES);
	return r->sq == MAP_FAILED || r->cq == MAP_FAILED || (void *)r->sqe == MAP_FAILED ?
	       "the ring cannot be mapped" : NULL;
}

static uint32_t *word(const char *ring, uint32_t at)
{
	return (uint32_t *)(ring + at);
}

/* A read that the next ring_submit() submits. */
void ring_add(struct ring *r, int fd, void *buf, size_t len, off_t pos)
{
	uint32_t at = *word(r->sq, r->p.sq_off.tail) + r->added++;

	at &= *word(r->sq, r->p.sq_off.ring_mask);
	r->sqe[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd, .off = pos, .addr = (uintptr_t)buf,
		.len = len,
	};
	word(r->sq, r->p.sq_off.array)[at] = at;
}

/* Submit all reads, and wait until so many are complete.  0 or an error. */
int ring_submit(struct ring *r, unsigned int wait)
{
	uint32_t *tail = word(r->sq, r->p.sq_off.tail);
	unsigned int nr = r->added;

	r->added = 0;
	__atomic_store_n(tail, *tail + nr, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, r->fd, nr, wait, IORING_ENTER_GETEVENTS, NULL, 0) ==
	       nr ? 0 : -errno;
}

/* Reads that are complete, and not taken. */
unsigned int ring_complete(const struct ring *r)
{
	return __atomic_load_n(word(r->cq, r->p.cq_off.tail), __ATOMIC_ACQUIRE) -
	       *word(r->cq, r->p.cq_off.head);
}

/* Take a complete read.  Return: its result. */
int ring_take(struct ring *r)
{
	uint32_t *head = word(r->cq, r->p.cq_off.head);
	struct io_uring_cqe *cqe = (void *)(r->cq + r->p.cq_off.cqes);
	int res = cqe[*head & *word(r->cq, r->p.cq_off.ring_mask)].res;

	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

/* As pread(). */
ssize_t ring_read(struct ring *r, int fd, void *buf, size_t len, off_t pos)
{
	ssize_t got;

	ring_add(r, fd, buf, len, pos);
	got = ring_submit(r, 1);
	/* A signal may have ended the wait. */
	while (!got && !ring_complete(r))
		got = ring_submit(r, 1);
	got = got ?: ring_take(r);
	if (got >= 0)
		return got;
	errno = -got;
	return -1;
}

/* Workers that io_uring has started for this process. */
unsigned int ring_workers(void)
{
	DIR *dir = opendir("/proc/self/task");
	char path[64], name[32] = "";
	struct dirent *task;
	unsigned int nr = 0;
	FILE *f;

	while (dir && (task = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f))
			nr += !strncmp(name, "iou-wrk", strlen("iou-wrk"));
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return nr;
}
