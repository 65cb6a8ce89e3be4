// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube and what the directories below it share
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Numbers and choices, read and written, and a directory with a group of
 * counters below.  What a file takes, and what it says when it refuses, is the
 * file's own affair.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "sysfs.h"

/* /sys/kernel/mm/mcube; NULL if it could not be made. */
static struct kobject *root;

/* kstrto*() and friends stop at a NUL; what follows it is an error too. */
static int check_text(const char *buf, size_t count)
{
	return count < PAGE_SIZE && strnlen(buf, count) == count ? 0 : -EINVAL;
}

/**
 * mcube_parse_uint() - a number that was written
 * @buf: what was written.
 * @count: its length.
 * @min: least value.
 * @max: greatest value.
 * @value: where to put it.
 *
 * Return: 0, -EINVAL if it is no number, -ERANGE if it is out of range.
 */
int mcube_parse_uint(const char *buf, size_t count, unsigned int min,
		     unsigned int max, unsigned int *value)
{
	int ret = check_text(buf, count) ?: kstrtouint(buf, 0, value);

	if (!ret && (*value < min || *value > max))
		ret = -ERANGE;
	return ret;
}

/**
 * mcube_parse_choice() - a name that was written
 * @buf: what was written.
 * @count: its length.
 * @names: those that may be.
 * @nr: their number.
 *
 * Return: which it is, or -EINVAL.
 */
int mcube_parse_choice(const char *buf, size_t count,
		       const char * const *names, unsigned int nr)
{
	return check_text(buf, count) ?: __sysfs_match_string(names, nr, buf);
}

/**
 * mcube_show_choice() - all names, the chosen one in brackets
 * @buf: of the file that is read.
 * @names: the names.
 * @nr: their number.
 * @chosen: which.
 *
 * Return: the length of the text.
 */
ssize_t mcube_show_choice(char *buf, const char * const *names,
			  unsigned int nr, unsigned int chosen)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < nr; i++)
		len += sysfs_emit_at(buf, len, i == chosen ? "[%s] " : "%s ",
				     names[i]);
	buf[len - 1] = '\n';
	return len;
}

/**
 * mcube_sysfs_add() - make a directory below /sys/kernel/mm/mcube/
 * @name: its name.
 * @files: what lies in it, up to NULL.
 * @stats: a group of counters in it, or NULL.
 *
 * Return: 0 or an error.
 */
int __init mcube_sysfs_add(const char *name,
			   const struct attribute * const *files,
			   const struct attribute_group *stats)
{
	struct kobject *kobj;
	int ret;

	if (!root)
		return -ENOENT;
	kobj = kobject_create_and_add(name, root);
	if (!kobj)
		return -ENOMEM;
	ret = sysfs_create_files(kobj, files);
	if (!ret && stats)
		ret = sysfs_create_group(kobj, stats);
	if (ret)
		kobject_put(kobj);
	return ret;
}

static int __init mcube_sysfs_init(void)
{
	root = kobject_create_and_add("mcube", mm_kobj);
	if (root)
		return 0;
	pr_err("no /sys/kernel/mm/mcube, out of memory\n");
	return -ENOMEM;
}
/* Before the directories of all rooms, which are late_initcall(). */
subsys_initcall(mcube_sysfs_init);
