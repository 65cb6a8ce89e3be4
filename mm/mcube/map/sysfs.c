// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/map/: the address map, to read and to change
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The masks tell which bits of an address matter, and not where any page lies,
 * so every user may read them.  Only root may change the masks, and only while
 * the map has no users.  A write is accepted as a whole or not at all; if it is
 * refused, the log tells what would have been right.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sysfs.h>

#include "../sysfs.h"
#include "map.h"

static ssize_t show_dim(const struct mcube_dim *d, char *buf)
{
	int len = mcube_dim_format(d, buf, PAGE_SIZE - 1);

	buf[len++] = '\n';
	buf[len] = '\0';
	return len;
}

static ssize_t store_dim(bool is_color, const char *buf, size_t count)
{
	const char *name = is_color ? "color_map" : "bank_map", *why;
	struct mcube_dim dim;
	int err;

	/* Of longer text, kernfs passes only the first page. */
	why = "too long";
	err = count < PAGE_SIZE ? mcube_dim_parse(&dim, buf, count, &why) :
				  -EINVAL;
	if (err) {
		pr_warn_ratelimited("%s[%d]: %s: %s; write \"0x1000 0x2000\", \"table:SHIFT:v,v,v\", both, several tables or \"none\"\n",
				    current->comm, current->pid, name, why);
		return err;
	}
	err = mcube_map_set_dims(is_color ? &dim : NULL, is_color ? NULL : &dim,
				 MCUBE_SOURCE_SYSFS);
	if (err == -EBUSY)
		pr_warn_ratelimited("%s[%d]: %s: the map is in use, turn off what uses it first\n",
				    current->comm, current->pid, name);
	return err ?: count;
}

static ssize_t color_map_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return show_dim(&info.map.color, buf);
}

static ssize_t color_map_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return store_dim(true, buf, count);
}

static struct kobj_attribute color_map_attr = __ATTR_RW(color_map);

static ssize_t bank_map_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return show_dim(&info.map.bank, buf);
}

static ssize_t bank_map_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	return store_dim(false, buf, count);
}

static struct kobj_attribute bank_map_attr = __ATTR_RW(bank_map);

static ssize_t nr_colors_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return sysfs_emit(buf, "%u\n", info.map.color.nr_values);
}

static struct kobj_attribute nr_colors_attr = __ATTR_RO(nr_colors);

static ssize_t nr_banks_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return sysfs_emit(buf, "%u\n", info.map.bank.nr_values);
}

static struct kobj_attribute nr_banks_attr = __ATTR_RO(nr_banks);

static ssize_t color_bytes_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return sysfs_emit(buf, "%llu\n", div_u64(info.cache_size, info.map.color.nr_values));
}

static struct kobj_attribute color_bytes_attr = __ATTR_RO(color_bytes);

static const char * const source_name[MCUBE_NR_SOURCES] = {
	[MCUBE_SOURCE_NONE] = "none",
	[MCUBE_SOURCE_CPUID] = "cpuid",
	[MCUBE_SOURCE_CACHEINFO] = "cacheinfo",
	[MCUBE_SOURCE_CMDLINE] = "cmdline",
	[MCUBE_SOURCE_SYSFS] = "sysfs",
};

static ssize_t source_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return sysfs_emit(buf, "color=%s bank=%s\n", source_name[info.color_source],
			  source_name[info.bank_source]);
}

static struct kobj_attribute source_attr = __ATTR_RO(source);

static const char * const level_name[MCUBE_NR_LEVELS] = {
	[MCUBE_LEVEL_NONE] = "none",
	[MCUBE_LEVEL_L2] = "L2",
	[MCUBE_LEVEL_LAST] = "last",
	[MCUBE_LEVEL_GIVEN] = "given",
};

static ssize_t level_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return sysfs_emit(buf, "%s\n", level_name[info.map.level]);
}

static struct kobj_attribute level_attr = __ATTR_RO(level);

static const struct attribute *map_attrs[] = {
	&nr_colors_attr.attr,
	&color_bytes_attr.attr,
	&nr_banks_attr.attr,
	&color_map_attr.attr,
	&bank_map_attr.attr,
	&source_attr.attr,
	&level_attr.attr,
	NULL,
};

static int __init mcube_map_sysfs_init(void)
{
	return PTR_ERR_OR_ZERO(mcube_sysfs_add("map", map_attrs, NULL));
}
late_initcall(mcube_map_sysfs_init);
