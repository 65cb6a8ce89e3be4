// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/setcache/: settings and counters of page sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The directory is there while the module is loaded.
 * See Documentation/ABI/testing/sysfs-kernel-mm-mcube-setcache.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/printk.h>
#include <linux/sysfs.h>

#include "../../../mm/mcube/sysfs.h"
#include "internal.h"

static struct kobject *dir;

static const char * const mode_names[] = {
	[SETCACHE_OFF]		= "off",
	[SETCACHE_RANDOM]	= "random",
	[SETCACHE_EVERY]	= "all",
};

static const char * const policy_names[] = {
	[SETCACHE_LRU]		= "lru",
	[SETCACHE_LFU]		= "lfu",
	[SETCACHE_NRLFU]	= "nrlfu",
	[SETCACHE_S3FIFO]	= "s3fifo",
};

static const char * const numa_names[] = {
	[SETCACHE_INTERLEAVE]	= "interleave",
	[SETCACHE_HASH_HOME]	= "hash-home",
	[SETCACHE_MESSAGE]	= "message",
};

/* Say what to do if the pool that a write to @file needs could not be made. */
static int pool_made(const char *file, int ret)
{
	if (ret == -ENOMEM)
		pr_warn_ratelimited("setcache/%s: no memory for %u MiB: write less to setcache/size_mib\n",
				    file, READ_ONCE(setcache_config.size));
	return ret;
}

static int set_mode(unsigned int mode)
{
	return pool_made("mode", setcache_set_mode(mode));
}

static int set_numa(unsigned int numa)
{
	return pool_made("numa", setcache_set_numa(numa));
}

MCUBE_CHOICE("setcache", mode, setcache_config.mode, mode_names, ARRAY_SIZE(mode_names),
	     .set = set_mode);
MCUBE_CHOICE("setcache", policy, setcache_config.policy, policy_names, ARRAY_SIZE(policy_names));
MCUBE_CHOICE("setcache", numa, setcache_config.numa, numa_names, ARRAY_SIZE(numa_names),
	     .set = set_numa);

static ssize_t size_mib_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(setcache_config.size));
}

static ssize_t size_mib_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	u32 max = setcache_pool_max() / SETCACHE_SETS_PER_MIB;
	unsigned int mib;
	int ret = mcube_parse_uint(buf, count, 1, max, &mib);

	if (ret) {
		pr_warn_ratelimited("setcache/size_mib: expected 1 to %u MiB, half of the memory\n",
				    max);
		return ret;
	}
	ret = setcache_set_size(mib);
	if (ret == -ENOMEM)
		pr_warn_ratelimited("setcache/size_mib: no memory for %u MiB\n", mib);
	return ret ?: count;
}

static struct kobj_attribute size_mib_attr = __ATTR_RW(size_mib);

static const struct attribute * const files[] = {
	&mode_setting.attr.attr,
	&policy_setting.attr.attr,
	&numa_setting.attr.attr,
	&size_mib_attr.attr,
	NULL
};

#define STAT(_name, _stat)						\
	MCUBE_NUMBER_ATTR(_name, "%lu", setcache_stat(_stat))

STAT(hits, SETCACHE_STAT_HITS);
STAT(fills, SETCACHE_STAT_FILLS);
STAT(bypassed, SETCACHE_STAT_BYPASSED);
STAT(waits, SETCACHE_STAT_WAITS);
STAT(full, SETCACHE_STAT_FULL);
STAT(nowait, SETCACHE_STAT_NOWAIT);
STAT(async, SETCACHE_STAT_ASYNC);
STAT(doomed, SETCACHE_STAT_DOOMED);
STAT(killed, SETCACHE_STAT_KILLED);
STAT(errors, SETCACHE_STAT_ERRORS);
STAT(reclaimed, SETCACHE_STAT_RECLAIMED);
STAT(remote, SETCACHE_STAT_REMOTE);
STAT(messages, SETCACHE_STAT_MESSAGES);
STAT(bundles, SETCACHE_STAT_BUNDLES);
STAT(fallbacks, SETCACHE_STAT_FALLBACKS);
MCUBE_NUMBER_ATTR(pages, "%u", setcache_pool_nr() * SETCACHE_WAYS);

static struct attribute *stat_files[] = {
	&hits_attr.attr,
	&fills_attr.attr,
	&bypassed_attr.attr,
	&waits_attr.attr,
	&full_attr.attr,
	&nowait_attr.attr,
	&async_attr.attr,
	&doomed_attr.attr,
	&killed_attr.attr,
	&errors_attr.attr,
	&reclaimed_attr.attr,
	&remote_attr.attr,
	&messages_attr.attr,
	&bundles_attr.attr,
	&fallbacks_attr.attr,
	&pages_attr.attr,
	NULL
};

/* Counters tell when others read. */
static umode_t for_root(struct kobject *kobj, struct attribute *attr, int number)
{
	return 0400;
}

static const struct attribute_group stats = {
	.name = "stats",
	.is_visible = for_root,
	.attrs = stat_files,
};

/**
 * setcache_sysfs_exit() - remove the directory
 *
 * Waits until nobody reads or writes a file of the directory.
 */
void setcache_sysfs_exit(void)
{
	/* A debug kernel delays what kobject_put() does. */
	kobject_del(dir);
	kobject_put(dir);
}

/**
 * setcache_sysfs_init() - make the directory
 *
 * Return: 0 or an error.
 */
int setcache_sysfs_init(void)
{
	dir = mcube_sysfs_add("setcache", files, &stats);
	return PTR_ERR_OR_ZERO(dir);
}
