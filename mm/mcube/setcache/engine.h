/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the hooks of page sets, which are built in, and the engine, a module
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SETCACHE_ENGINE_H
#define _MM_MCUBE_SETCACHE_ENGINE_H

#include <linux/fs.h>
#include <linux/types.h>

struct iov_iter;

/* The cookie of a file whose pages must be in no set. */
#define MCUBE_SETCACHE_NEVER	U64_MAX

/**
 * struct mcube_setcache_engine - what the hooks ask of the engine
 * @read: as mcube_setcache_read(), but copies without page faults; -EFAULT if nothing
 *        could be copied.
 * @kill: kill pages of the file with a cookie, after a full barrier.
 * @drop: kill all pages.  May sleep.
 */
struct mcube_setcache_engine {
	ssize_t (*read)(struct kiocb *iocb, struct iov_iter *to, loff_t *size);
	void (*kill)(u64 cookie, pgoff_t first, pgoff_t last);
	void (*drop)(void);
};

void mcube_setcache_stay(void);
void mcube_setcache_leave(void);
u64 mcube_setcache_cookie(struct address_space *mapping);
void mcube_setcache_open(const struct mcube_setcache_engine *engine);
void mcube_setcache_shut(void);
void mcube_setcache_choose(bool all);

#ifdef CONFIG_MCUBE_SETCACHE_BREAK
extern u32 mcube_setcache_skip;
#endif

#endif /* _MM_MCUBE_SETCACHE_ENGINE_H */
