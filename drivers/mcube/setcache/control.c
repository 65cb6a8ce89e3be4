// SPDX-License-Identifier: GPL-2.0
/*
 * Control: mode, size and policy of page sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * In mode off there is no pool, and the hooks do nothing.  Between the other modes, and
 * from size to size, reads go on.  A policy takes over what the old policy left.
 *
 * Memory does not move from node to node.  So where sets get or lose homes, there is a new
 * pool, and reads go through the page cache meanwhile.
 */

#include <linux/mutex.h>

#include "internal.h"

/* Covers the settings. */
static DEFINE_MUTEX(config_lock);

static const struct mcube_setcache_engine engine = {
	.read = setcache_read,
	.kill = setcache_kill,
	.drop = setcache_drop,
	.forget = setcache_forget,
};

static bool has_homes(enum setcache_numa numa)
{
	return numa != SETCACHE_INTERLEAVE;
}

static void switch_off(void)
{
	/* Readers wait for workers. */
	mcube_setcache_shut();
	setcache_workers_stop();
	setcache_pool_destroy();
}

static int switch_on(void)
{
	int ret;

	setcache_users_reset();
	ret = setcache_pool_create(setcache_config.size * SETCACHE_SETS_PER_MIB,
				   has_homes(setcache_config.numa));
	if (!ret && setcache_config.numa == SETCACHE_MESSAGE) {
		ret = setcache_workers_start();
		if (ret)
			setcache_pool_destroy();
	}
	if (!ret)
		mcube_setcache_open(&engine);
	return ret;
}

static int replace(enum setcache_numa numa)
{
	int ret = numa == SETCACHE_MESSAGE ? setcache_workers_start() : 0;

	if (ret)
		return ret;
	mcube_setcache_shut();
	setcache_users_reset();
	ret = setcache_pool_replace(setcache_config.size * SETCACHE_SETS_PER_MIB,
				    has_homes(numa));
	if (ret)
		setcache_reclaim_regrow();
	else
		WRITE_ONCE(setcache_config.numa, numa);
	if (setcache_config.numa != SETCACHE_MESSAGE)
		setcache_workers_stop();
	mcube_setcache_open(&engine);
	return ret;
}

/**
 * setcache_set_mode() - choose the files that take part
 * @mode: the mode.
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM if there is no memory for the pool; -EINTR after a signal.  After an
 * error the mode is as before.
 */
int setcache_set_mode(enum setcache_mode mode)
{
	enum setcache_mode old;
	int ret = mutex_lock_interruptible(&config_lock);

	if (ret)
		return ret;
	old = setcache_config.mode;
	mcube_setcache_choose(mode == SETCACHE_EVERY);
	if (mode && !old)
		ret = switch_on();
	else if (!mode && old)
		switch_off();
	if (!ret)
		setcache_config.mode = mode;
	mutex_unlock(&config_lock);
	return ret;
}

/**
 * setcache_set_size() - choose the size of the pool
 * @mib: its pages, in MiB.
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM or -EINTR.  After an error the size is as before.
 */
int setcache_set_size(u32 mib)
{
	int ret = mutex_lock_interruptible(&config_lock);

	if (ret)
		return ret;
	if (setcache_config.mode) {
		ret = setcache_pool_resize(mib * SETCACHE_SETS_PER_MIB);
		setcache_reclaim_regrow();
	}
	if (!ret)
		WRITE_ONCE(setcache_config.size, mib);
	mutex_unlock(&config_lock);
	return ret;
}

/**
 * setcache_set_numa() - choose how sets use the nodes
 * @numa: the mode.
 *
 * Between the modes with homes, pages stay in their sets.  Otherwise all sets are new.
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM or -EINTR.  After an error it is as before, but new sets are not made:
 * the pool has 8 empty sets then, and gets its size step by step.
 */
int setcache_set_numa(enum setcache_numa numa)
{
	enum setcache_numa old;
	int ret = mutex_lock_interruptible(&config_lock);

	if (ret)
		return ret;
	old = setcache_config.numa;
	if (!setcache_config.mode || numa == old) {
		WRITE_ONCE(setcache_config.numa, numa);
	} else if (has_homes(numa) != has_homes(old)) {
		ret = replace(numa);
	} else if (numa == SETCACHE_MESSAGE) {
		ret = setcache_workers_start();
		if (!ret)
			WRITE_ONCE(setcache_config.numa, numa);
	} else {
		WRITE_ONCE(setcache_config.numa, numa);
		setcache_workers_stop();
	}
	mutex_unlock(&config_lock);
	return ret;
}

/**
 * setcache_control_exit() - switch off for good
 */
void setcache_control_exit(void)
{
	if (setcache_config.mode)
		switch_off();
}
