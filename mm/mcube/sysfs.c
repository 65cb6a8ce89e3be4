// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube and what the directories below it share
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Settings, which are numbers or choices, and the parts of which files are made that do more
 * than set a number.  A file reports what it refuses.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "sysfs.h"

/* /sys/kernel/mm/mcube; NULL if the directory could not be made. */
static struct kobject *root;

/* kstrto*() and sysfs_streq() stop at a NUL: refuse text that goes on after it. */
static int check_text(const char *buf, size_t count)
{
	return count < PAGE_SIZE && strnlen(buf, count) == count ? 0 : -EINVAL;
}

/**
 * mcube_parse_uint() - read a number from text that was written to a file
 * @buf: the text.
 * @count: length of the text.
 * @min: least value.
 * @max: greatest value.
 * @value: filled in with the number.
 *
 * Return: 0, -EINVAL if the text is no number, -ERANGE if the number is out of
 * range.
 */
int mcube_parse_uint(const char *buf, size_t count, unsigned int min,
		     unsigned int max, unsigned int *value)
{
	int ret = check_text(buf, count) ?: kstrtouint(buf, 0, value);

	if (!ret && (*value < min || *value > max))
		ret = -ERANGE;
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mcube_parse_uint, MCUBE);

/**
 * mcube_parse_switch() - read 0 or 1 from text that was written to a file
 * @file: name of the file below /sys/kernel/mm/mcube/, for the kernel log.
 * @buf: the text.
 * @count: length of the text.
 * @on: filled in.
 *
 * A text that is refused is reported.
 *
 * Return: 0, -EINVAL if the text is no number, -ERANGE if it is another number.
 */
int mcube_parse_switch(const char *file, const char *buf, size_t count,
		       unsigned int *on)
{
	int ret = mcube_parse_uint(buf, count, 0, 1, on);

	if (ret)
		pr_warn_ratelimited("%s: expected 0 or 1\n", file);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mcube_parse_switch, MCUBE);

/**
 * mcube_parse_choice() - find the name that was written to a file
 * @buf: the text that was written.
 * @count: length of the text.
 * @names: names to choose from.
 * @nr: number of names.
 *
 * Return: index of the name in @names, or -EINVAL.
 */
int mcube_parse_choice(const char *buf, size_t count,
		       const char * const *names, unsigned int nr)
{
	return check_text(buf, count) ?: __sysfs_match_string(names, nr, buf);
}
EXPORT_SYMBOL_NS_GPL(mcube_parse_choice, MCUBE);

/* All names, with the chosen name in brackets. */
static ssize_t show_choice(char *buf, const char * const *names, unsigned int nr,
			   unsigned int chosen)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < nr; i++)
		len += sysfs_emit_at(buf, len, i == chosen ? "[%s] " : "%s ", names[i]);
	buf[len - 1] = '\n';
	return len;
}

/**
 * mcube_setting_show() - read a setting
 * @kobj: the directory.
 * @attr: the file, in a struct mcube_setting.
 * @buf: filled in.
 *
 * Return: the length of the text.
 */
ssize_t mcube_setting_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_setting *s = container_of(attr, struct mcube_setting, attr);
	unsigned int value = READ_ONCE(*s->value);

	if (s->names)
		return show_choice(buf, s->names, s->max + 1, value);
	return sysfs_emit(buf, "%u\n", value);
}
EXPORT_SYMBOL_NS_GPL(mcube_setting_show, MCUBE);

static int parse_setting(const struct mcube_setting *s, const char *buf, size_t count,
			 unsigned int *value)
{
	int ret;

	if (!s->names)
		return mcube_parse_uint(buf, count, s->min, s->max, value);
	ret = mcube_parse_choice(buf, count, s->names, s->max + 1);
	*value = ret;
	return min(ret, 0);
}

/* Say what would have been right. */
static void refuse_setting(const struct mcube_setting *s)
{
	const char *name = s->attr.attr.name;
	char text[128];
	unsigned int i;
	int len = 0;

	if (!s->names) {
		pr_warn_ratelimited("%s/%s: expected %u %s %u%s%s\n", s->room, name, s->min,
				    s->max > 1 ? "to" : "or", s->max, s->unit ? " " : "",
				    s->unit ?: "");
		return;
	}
	for (i = 0; i <= s->max; i++)
		len += scnprintf(text + len, sizeof(text) - len, "%s%s", s->names[i],
				 i == s->max ? "" : i + 1 == s->max ? " or " : ", ");
	pr_warn_ratelimited("%s/%s: expected %s\n", s->room, name, text);
}

/**
 * mcube_setting_store() - write a setting
 * @kobj: the directory.
 * @attr: the file, in a struct mcube_setting.
 * @buf: the text that was written.
 * @count: length of the text.
 *
 * A text that is refused is reported, with what would have been right.
 *
 * Context: process, sleeps.
 * Return: @count, -EINVAL, -ERANGE, -EINTR, or what the setting's own function returned.
 */
ssize_t mcube_setting_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			    size_t count)
{
	struct mcube_setting *s = container_of(attr, struct mcube_setting, attr);
	unsigned int value;
	int ret = parse_setting(s, buf, count, &value);

	if (ret) {
		refuse_setting(s);
		return ret;
	}
	if (s->set) {
		ret = s->set(value);
		if (ret == -EBUSY)
			pr_warn_ratelimited("%s/%s: first write 0 to %s/enabled\n", s->room,
					    attr->attr.name, s->room);
		return ret ?: count;
	}
	if (s->lock && mutex_lock_interruptible(s->lock))
		return -EINTR;
	WRITE_ONCE(*s->value, value);
	if (s->lock)
		mutex_unlock(s->lock);
	return count;
}
EXPORT_SYMBOL_NS_GPL(mcube_setting_store, MCUBE);

/**
 * mcube_sum() - add up a counter
 * @counter: its part of each CPU.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_sum(const unsigned long __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(counter, cpu);
	return sum;
}
EXPORT_SYMBOL_NS_GPL(mcube_sum, MCUBE);

/**
 * mcube_sysfs_add() - make a directory below /sys/kernel/mm/mcube/
 * @name: name of the directory.
 * @files: files in the directory, with NULL at the end.
 * @stats: group of counters in the directory, or NULL.
 *
 * A room that is a module removes its directory by kobject_del(), which waits
 * until no task reads or writes a file in it, and kobject_put().
 *
 * Context: process, sleeps.
 * Return: the directory; an error pointer if it could not be made, and nothing
 * stays then.
 */
struct kobject *mcube_sysfs_add(const char *name,
				const struct attribute * const *files,
				const struct attribute_group *stats)
{
	struct kobject *kobj;
	int ret;

	if (!root)
		return ERR_PTR(-ENOENT);
	kobj = kobject_create_and_add(name, root);
	if (!kobj)
		return ERR_PTR(-ENOMEM);
	ret = sysfs_create_files(kobj, files);
	if (!ret && stats)
		ret = sysfs_create_group(kobj, stats);
	if (!ret)
		return kobj;
	kobject_put(kobj);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_NS_GPL(mcube_sysfs_add, MCUBE);

/* By subsys_initcall(), as the rooms add their directories by late_initcall(). */
static int __init mcube_sysfs_init(void)
{
	root = kobject_create_and_add("mcube", mm_kobj);
	if (root)
		return 0;
	pr_err("no /sys/kernel/mm/mcube, out of memory\n");
	return -ENOMEM;
}
subsys_initcall(mcube_sysfs_init);
