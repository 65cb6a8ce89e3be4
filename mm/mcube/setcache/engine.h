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

/*
 * The word of a file: its cookie, and behind which page none has been filled since the file
 * got the cookie, rounded up to 14 bits and a shift.
 */
#define MCUBE_SETCACHE_COOKIE_SHIFT	20
#define MCUBE_SETCACHE_END_SHIFT	6
#define MCUBE_SETCACHE_END_MAX		BIT(14)

static inline u64 mcube_setcache_cookie_of(u64 word)
{
	return word >> MCUBE_SETCACHE_COOKIE_SHIFT;
}

/* The word of a file whose pages must be in no set, and what it has instead of a cookie. */
#define MCUBE_SETCACHE_NEVER	U64_MAX

/* More pages are killed by taking the cookie of the file. */
#define MCUBE_SETCACHE_KILL_MAX	1024

/**
 * struct mcube_setcache_engine - what the hooks ask of the engine
 * @read: as mcube_setcache_read(), but copies without page faults; -EFAULT if nothing
 *        could be copied.
 * @kill: kill pages of the file with a cookie, after a full barrier.  A range of more than
 *        %MCUBE_SETCACHE_KILL_MAX pages says that the cookie was taken.
 * @drop: kill all pages.  May sleep.
 * @forget: take a page out of its set, if it is in one; true if it is free now.  May sleep.
 */
struct mcube_setcache_engine {
	ssize_t (*read)(struct kiocb *iocb, struct iov_iter *to, loff_t *size);
	void (*kill)(u64 cookie, pgoff_t first, pgoff_t last);
	void (*drop)(void);
	bool (*forget)(struct folio *folio);
};

void mcube_setcache_stay(void);
void mcube_setcache_leave(void);
u64 mcube_setcache_cookie(struct address_space *mapping);
void mcube_setcache_fills(struct address_space *mapping, u64 cookie, pgoff_t last);
void mcube_setcache_open(const struct mcube_setcache_engine *engine);
void mcube_setcache_shut(void);
void mcube_setcache_choose(bool all);

extern bool mcube_setcache_poisoned;

#ifdef CONFIG_MCUBE_SETCACHE_BREAK
extern u32 mcube_setcache_skip;
#endif

#endif /* _MM_MCUBE_SETCACHE_ENGINE_H */
