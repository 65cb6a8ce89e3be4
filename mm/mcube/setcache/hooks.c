// SPDX-License-Identifier: GPL-2.0
/*
 * The hooks of page sets, and the door to their engine
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The engine is a module.  Tasks and asynchronous reads are in the engine only while
 * they hold a reference on @users.  To shut the door means to kill that counter and to
 * wait until it is 0; then the engine may free all sets, and the module may go.
 *
 * A file has a cookie, a word in its page cache.  Pages in sets have the name
 * (cookie, index), and no cookie is used twice, so a file without a cookie has no page
 * in any set.  All pages of a file are killed at once by taking its cookie.  The file also
 * has the end of the pages that were filled since it got the cookie: a kill of pages beyond
 * it, as when the file grows, has nothing to do.
 *
 * Why a kill may be left out while the door is shut or is being shut: a task that is in
 * the engine by then began its read before the kill, and so may return the old page.
 * Nothing is left in sets when the door opens again.
 *
 * Why nothing old comes into a set while the door opens: it opens after all CPUs have
 * seen the static key.  An inserter that has not seen the key stored its page before,
 * so every filler finds it.  Truncation holds the invalidate lock from before its hook
 * until the blocks are freed, and a filler needs that lock.  A direct write has a hook
 * at its end.
 */

#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/mcube_setcache.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "engine.h"

/*
 * How often to bring in a page of the program in which the engine cannot copy then.  Reclaim may
 * have taken it again; or it has tags (arm64 MTE) which forbid the copy, but not the access that
 * brings it in.
 */
#define FAULT_TRIES	4

DEFINE_STATIC_KEY_FALSE(mcube_setcache_key);
bool mcube_setcache_all;

/* A page that may have been in a set is broken. */
bool mcube_setcache_poisoned;
EXPORT_SYMBOL_NS_GPL(mcube_setcache_poisoned, MCUBE);

static const struct mcube_setcache_engine *engine;
static struct percpu_ref users;
static DECLARE_WAIT_QUEUE_HEAD(shut);

#ifdef CONFIG_MCUBE_SETCACHE_BREAK
static bool skips(enum mcube_setcache_why why)
{
	return READ_ONCE(mcube_setcache_skip) >> why & 1;
}
#else
static bool skips(enum mcube_setcache_why why)
{
	return false;
}
#endif

static pgoff_t end_of(u64 word)
{
	return (pgoff_t)(word >> MCUBE_SETCACHE_END_SHIFT & (MCUBE_SETCACHE_END_MAX - 1)) <<
		(word & ((1U << MCUBE_SETCACHE_END_SHIFT) - 1));
}

static u64 word_of(u64 cookie, pgoff_t end)
{
	unsigned int shift = 0;

	for (; end >= MCUBE_SETCACHE_END_MAX; shift++)
		end = (end + 1) / 2;
	return cookie << MCUBE_SETCACHE_COOKIE_SHIFT | end << MCUBE_SETCACHE_END_SHIFT | shift;
}

/**
 * mcube_setcache_cookie() - the cookie of a file
 * @mapping: page cache of the file.
 *
 * A file without a cookie gets one.
 *
 * Return: the cookie, or %MCUBE_SETCACHE_NEVER.
 */
u64 mcube_setcache_cookie(struct address_space *mapping)
{
	static atomic64_t last;
	u64 old = READ_ONCE(mapping->mcube_setcache), new;

	if (!old) {
		new = atomic64_inc_return(&last);
		/* No cookie is used twice, so no file gets one after the last. */
		if (new >= mcube_setcache_cookie_of(MCUBE_SETCACHE_NEVER)) {
			atomic64_dec(&last);
			return MCUBE_SETCACHE_NEVER;
		}
		old = cmpxchg(&mapping->mcube_setcache, 0, word_of(new, 0)) ?: word_of(new, 0);
	}
	return old == MCUBE_SETCACHE_NEVER ? old : mcube_setcache_cookie_of(old);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_cookie, MCUBE);

/**
 * mcube_setcache_fills() - pages are about to come into sets
 * @mapping: page cache of the file.
 * @cookie: its cookie; nothing is done if it was taken meanwhile.
 * @last: index of the last page.
 *
 * A full barrier follows before the filler looks whether the file has changed.  So a kill
 * that does not see the new end comes before that look.
 */
void mcube_setcache_fills(struct address_space *mapping, u64 cookie, pgoff_t last)
{
	u64 word = READ_ONCE(mapping->mcube_setcache);

	while (mcube_setcache_cookie_of(word) == cookie && end_of(word) <= last &&
	       !try_cmpxchg(&mapping->mcube_setcache, &word, word_of(cookie, last + 1)))
		;
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_fills, MCUBE);

/*
 * The engine copies without page faults, so that no user program can stop it.  If it
 * could not copy, the page of the program is brought in here, outside of the engine.
 */
ssize_t __mcube_setcache_read(struct kiocb *iocb, struct iov_iter *to, loff_t *size)
{
	unsigned int tries = FAULT_TRIES;
	size_t len;
	ssize_t ret;

	do {
		/* Nothing was copied: the page cache copies with faults, and gives the error. */
		if (!tries--)
			return 0;
		if (!percpu_ref_tryget_live(&users))
			return 0;
		ret = engine->read(iocb, to, size);
		percpu_ref_put(&users);
		if (ret != -EFAULT)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		len = min(iov_iter_count(to), PAGE_SIZE);
	} while (fault_in_iov_iter_writeable(to, len) < len);
	return -EFAULT;
}

/**
 * mcube_setcache_stay() - a read stays in the engine after it has returned
 *
 * The read works on its own then, and mcube_setcache_shut() waits for it.
 *
 * Context: within @read of the engine.
 */
void mcube_setcache_stay(void)
{
	percpu_ref_get(&users);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_stay, MCUBE);

/**
 * mcube_setcache_leave() - a read that stayed has left
 *
 * The sets may be gone then; the module waits for its work items.
 */
void mcube_setcache_leave(void)
{
	percpu_ref_put(&users);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_leave, MCUBE);

static void tell(u64 cookie, pgoff_t first, pgoff_t last)
{
	if (percpu_ref_tryget_live(&users)) {
		engine->kill(cookie, first, last);
		percpu_ref_put(&users);
	}
}

/*
 * If the cookie changes meanwhile, the kill is complete: fills that use the new cookie
 * began after the full barrier.
 */
void __mcube_setcache_kill(struct address_space *mapping, pgoff_t first, pgoff_t last,
			   enum mcube_setcache_why why)
{
	u64 word, cookie;

	/* What the caller has stored comes before the look at the cookie, and at sets. */
	smp_mb();
	word = READ_ONCE(mapping->mcube_setcache);
	if (!word || word == MCUBE_SETCACHE_NEVER || skips(why))
		return;
	if (last - first >= MCUBE_SETCACHE_KILL_MAX) {
		if (end_of(word) <= first)
			return;
		last = min(last, end_of(word) - 1);
	}
	cookie = mcube_setcache_cookie_of(word);
	if (last - first < MCUBE_SETCACHE_KILL_MAX) {
		tell(cookie, first, last);
		return;
	}
	while (!try_cmpxchg(&mapping->mcube_setcache, &word, 0))
		if (mcube_setcache_cookie_of(word) != cookie)
			return;
	tell(cookie, 0, ULONG_MAX);
}

void __mcube_setcache_drop(void)
{
	if (percpu_ref_tryget_live(&users)) {
		engine->drop();
		percpu_ref_put(&users);
	}
}

void __mcube_setcache_async(struct address_space *mapping)
{
	/*
	 * One of many such writes: the first has stored the value, in a line that CPUs share.  No
	 * barrier: whoever learns that this write is complete sees what this task has seen.
	 */
	if (READ_ONCE(mapping->mcube_setcache) == MCUBE_SETCACHE_NEVER)
		return;
	if (skips(MCUBE_SETCACHE_ASYNC))
		return;
	WRITE_ONCE(mapping->mcube_setcache, MCUBE_SETCACHE_NEVER);
	/* Pairs with the barrier of a filler: the cookie comes before the write. */
	smp_mb();
}

void __mcube_setcache_kill_all(struct address_space *mapping, bool closed)
{
	u64 word;

	if (!closed) {
		__mcube_setcache_kill(mapping, 0, ULONG_MAX, MCUBE_SETCACHE_CLOSE);
	} else if (!skips(MCUBE_SETCACHE_CLOSE)) {
		word = xchg(&mapping->mcube_setcache, 0);
		if (word && word != MCUBE_SETCACHE_NEVER)
			tell(mcube_setcache_cookie_of(word), 0, ULONG_MAX);
	}
}

/*
 * Of a page that is broken nobody may read any more: reads look from here on.  A page that
 * only ages is whole, and goes back to the kernel, which takes it.
 */
void __mcube_setcache_shake(struct folio *folio)
{
	bool freed = false;

	if (folio_test_lru(folio) || folio_test_large(folio))
		return;
	if (folio_test_hwpoison(folio))
		WRITE_ONCE(mcube_setcache_poisoned, true);
	if (percpu_ref_tryget_live(&users)) {
		freed = engine->forget(folio);
		percpu_ref_put(&users);
	}
	if (freed)
		drain_all_pages(folio_zone(folio));
}

/**
 * mcube_setcache_open() - let reads into an engine
 * @new: the engine; its sets are empty.
 *
 * Context: process, sleeps; the caller does not open or shut at the same time.
 */
void mcube_setcache_open(const struct mcube_setcache_engine *new)
{
	engine = new;
	static_branch_enable(&mcube_setcache_key);
	/* Without jump labels the key is a word that CPUs see later. */
	synchronize_rcu();
	percpu_ref_reinit(&users);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_open, MCUBE);

/**
 * mcube_setcache_shut() - no read gets into the engine any more
 *
 * Waits until nobody is in the engine: at most for the time of a read of the device.
 *
 * Context: as mcube_setcache_open().
 */
void mcube_setcache_shut(void)
{
	percpu_ref_kill(&users);
	wait_event(shut, percpu_ref_is_zero(&users));
	static_branch_disable(&mcube_setcache_key);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_shut, MCUBE);

/**
 * mcube_setcache_choose() - choose the files that take part
 * @all: all files; otherwise those with POSIX_FADV_RANDOM.
 */
void mcube_setcache_choose(bool all)
{
	WRITE_ONCE(mcube_setcache_all, all);
}
EXPORT_SYMBOL_NS_GPL(mcube_setcache_choose, MCUBE);

static void users_gone(struct percpu_ref *ref)
{
	wake_up(&shut);
}

static int __init mcube_setcache_init(void)
{
	return percpu_ref_init(&users, users_gone, PERCPU_REF_INIT_DEAD |
			       PERCPU_REF_ALLOW_REINIT, GFP_KERNEL);
}
core_initcall(mcube_setcache_init);
