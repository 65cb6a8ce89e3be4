/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads by io_uring, without a library.
 */
#ifndef _SELFTEST_MCUBE_RING_LIB_H
#define _SELFTEST_MCUBE_RING_LIB_H

#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/types.h>

#define RING_DEPTH	32U	/* reads at a time */

/**
 * struct ring - a ring of io_uring
 * @fd: its descriptor.
 * @added: reads that have not been submitted.
 * @sq: the queue of submissions.
 * @cq: the queue of completions.
 * @sqe: the submissions.
 * @p: where things lie in the queues.
 */
struct ring {
	int fd;
	unsigned int added;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
	struct io_uring_params p;
};

const char *ring_open(struct ring *r);
void ring_add(struct ring *r, int fd, void *buf, size_t len, off_t pos);
int ring_submit(struct ring *r, unsigned int wait);
unsigned int ring_complete(const struct ring *r);
int ring_take(struct ring *r);
ssize_t ring_read(struct ring *r, int fd, void *buf, size_t len, off_t pos);
unsigned int ring_workers(void);

#endif /* _SELFTEST_MCUBE_RING_LIB_H */
