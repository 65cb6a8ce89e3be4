// SPDX-License-Identifier: GPL-2.0
/*
 * Users: pages of one user do not push out pages of another user
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A set is small, and a reader can find out without waiting whether a page of his is in it
 * (RWF_NOWAIT).  If pages of a user could push out pages of another user, the other user would
 * see in which set the first one reads.  A secret hash is no help: a reader who fills all sets
 * needs no number of a set.  So each user has a share of the ways of each set:
 *
 *   one user     0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 *   two users    0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1
 *   four users   0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3        others use the page cache
 *
 * When a user comes, all sets are trimmed before his first page comes in, so what others see
 * is that somebody has come, and nothing of what he reads.  When a user has not read for long,
 * his pages go, and the others get his share.
 *
 * The user is the one who opened the file.  In a user namespace it is the owner of the
 * namespace, unless that is root: otherwise a user could be many.
 */

#include <linux/bitops.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "internal.h"

/* A user who has not read for so long is gone. */
#define GONE	(600 * HZ)

/* From a look for such users to the next one. */
#define PAUSE	(10 * HZ)

static struct {
	kuid_t uid;
	unsigned long seen;	/* when he read last, to the second */
} users[SETCACHE_USERS];

/* Covers who comes and goes. */
static DEFINE_MUTEX(lock);

/* A bit for each user, and the ways of each. */
static u8 present, share_of_each;
static unsigned long looked;

static kuid_t uid_of(const struct file *file)
{
	const struct user_namespace *ns = file->f_cred->user_ns;
	kuid_t uid = file->f_cred->fsuid;

	for (; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

/* The number of a user who is there, or -1. */
static int find(kuid_t uid)
{
	/* Pairs with come_and_go(): the user is complete. */
	unsigned long left = smp_load_acquire(&present);
	unsigned int i;

	for_each_set_bit(i, &left, SETCACHE_USERS) {
		if (!uid_eq(users[i].uid, uid))
			continue;
		if (time_after(jiffies, READ_ONCE(users[i].seen) + HZ))
			WRITE_ONCE(users[i].seen, jiffies);
		return i;
	}
	return -1;
}

static void trim_all(u8 who, u8 share)
{
	struct setcache_set *set;
	unsigned int killed;
	u32 i;

	for (i = 0; i < setcache_table.nr; i++) {
		set = setcache_table_set_at(&setcache_table, i);
		spin_lock(&setcache_slot(set)->lock);
		killed = setcache_set_trim(set, who, share, READ_ONCE(setcache_config.policy));
		spin_unlock(&setcache_slot(set)->lock);
		setcache_count(SETCACHE_STAT_KILLED, killed);
		cond_resched();
	}
}

/* Drop users that have not read for long, and add a user.  Returns its number, or -1. */
static int come_and_go(kuid_t uid)
{
	u8 old = present, who = old, share;
	int nr = find(uid);
	unsigned int i;

	WRITE_ONCE(looked, jiffies);
	for (i = 0; i < SETCACHE_USERS; i++) {
		/* Nobody has looked when a user read who was alone. */
		if (!share_of_each)
			WRITE_ONCE(users[i].seen, jiffies);
		else if (i != nr && time_after(jiffies, READ_ONCE(users[i].seen) + GONE))
			who &= ~BIT(i);
	}
	if (nr < 0 && who != BIT(SETCACHE_USERS) - 1)
		nr = ffz(who);
	if (nr < 0)
		return nr;
	who |= BIT(nr);
	if (who == old)
		return nr;
	share = hweight8(who) > 1 ? SETCACHE_WAYS / hweight8(who) : 0;
	if (old && !mutex_trylock(&setcache_table_lock))
		return find(uid);
	/* Old users go, and other users get their share, before the new user fills a page. */
	WRITE_ONCE(present, old & who);
	WRITE_ONCE(share_of_each, share);
	if (old) {
		trim_all(old & who, share);
		mutex_unlock(&setcache_table_lock);
	}
	if (!(old & who & BIT(nr))) {
		users[nr].uid = uid;
		WRITE_ONCE(users[nr].seen, jiffies);
	}
	/* Pairs with find(): the user is complete. */
	smp_store_release(&present, who);
	return nr;
}

/**
 * setcache_user() - the user for whom pages come in
 * @file: the file that is read.
 * @share: set to the ways of a set that his pages may have; 0 for all.
 *
 * Context: process, sleeps.
 * Return: his number; -1 if there are too many others, or the pool changes its size just
 * now.  Then he reads through the page cache.
 */
int setcache_user(const struct file *file, u8 *share)
{
	kuid_t uid = uid_of(file);
	int nr = find(uid);

	if (nr < 0 || (READ_ONCE(share_of_each) &&
		       time_after(jiffies, READ_ONCE(looked) + PAUSE))) {
		if (nr < 0 ? mutex_lock_killable(&lock) : !mutex_trylock(&lock))
			return nr;
		nr = come_and_go(uid);
		mutex_unlock(&lock);
	}
	*share = READ_ONCE(share_of_each);
	return nr;
}

/**
 * setcache_user_reads() - a user has read pages that are in sets
 * @file: the file.
 */
void setcache_user_reads(const struct file *file)
{
	if (READ_ONCE(share_of_each))
		find(uid_of(file));
}

/**
 * setcache_users_reset() - there are no users
 *
 * Context: no task is in the engine.
 */
void setcache_users_reset(void)
{
	present = 0;
	share_of_each = 0;
}
