/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of page sets share: the module, its settings, a file system
 * or a block device, and a file whose pages tell when they were written.
 */
#ifndef _SELFTEST_MCUBE_SETCACHE_LIB_H
#define _SELFTEST_MCUBE_SETCACHE_LIB_H

#include <stdatomic.h>

#include "mcube_lib.h"

#define SETCACHE_SKIP	"/sys/kernel/debug/mcube/setcache/skip"
#define SETCACHE_SETS	"/sys/kernel/debug/mcube/setcache/sets"
#define SETCACHE_MOUNT	"/tmp/mcube-setcache"
#define SETCACHE_MODULE	"/lib/modules/mcube_setcache.ko"

/* Where the file of a test lies. */
enum setcache_place { ON_EXT4, ON_XFS, ON_BLOCK_DEVICE };

/* What a test sets up. */
struct setcache_setup {
	char file[160], backing[160], loop[32];
	bool mounted, usable;
};

int setcache_load(void);
int setcache_unload(void);
const char *setcache_unusable(void);
int setcache_defaults(void);
long setcache_stat(const char *name);
const char *setcache_begin(struct setcache_setup *s, enum setcache_place place,
			   size_t pages);
int setcache_end(struct setcache_setup *s);
int setcache_attach(struct setcache_setup *s, const char *file);
int setcache_detach(struct setcache_setup *s);
int setcache_write(int fd, unsigned int pages, uint32_t number);
bool child_ended_well(pid_t pid);
bool child_was_killed(pid_t pid);
bool child_ends_by_kill(pid_t pid);
bool child_runs(pid_t pid);
bool setcache_wait_for_fill(pid_t pid);
long setcache_ways_in_use(void);
long setcache_ways_that_stay(void);

/**
 * struct stamped - a page of the file, in memory that processes share
 * @busy: held by the process that writes the page.
 * @begun: number of the latest write that has begun.
 * @done: number of the latest write that is complete.
 * @zero: number of the latest write of zeros that has begun.
 */
struct stamped {
	atomic_uint busy, begun, done, zero;
};

uint32_t stamp_begin(struct stamped *s, bool zero);
void stamp_end(struct stamped *s);
void stamp_fill(void *buf, unsigned int page, uint32_t number);
bool stamp_is_current(const struct stamped *s, unsigned int page, uint32_t done,
		      const void *buf, size_t from, size_t len);

#endif /* _SELFTEST_MCUBE_SETCACHE_LIB_H */
