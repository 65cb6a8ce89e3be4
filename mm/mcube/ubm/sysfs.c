// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/ubm/: UBM's switch and counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * See Documentation/ABI/testing/sysfs-kernel-mm-mcube-ubm.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/printk.h>
#include <linux/sysfs.h>

#include "../sysfs.h"
#include "internal.h"

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", mcube_ubm_enabled());
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("ubm/enabled", buf, count, &on);

	if (!ret)
		ret = mcube_ubm_enable(on);
	if (ret == -EOPNOTSUPP)
		pr_warn_ratelimited("ubm/enabled: needs memory cgroups, boot without cgroup_disable=memory\n");
	return ret ?: count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);

static const struct attribute *ubm_attrs[] = {
	&enabled_attr.attr,
	NULL,
};

MCUBE_NUMBER_ATTR(held, "%lu", mcube_ubm_stat(MCUBE_UBM_HELD));
MCUBE_NUMBER_ATTR(given, "%lu", mcube_ubm_stat(MCUBE_UBM_GIVEN));
MCUBE_NUMBER_ATTR(back, "%lu", mcube_ubm_stat(MCUBE_UBM_BACK));
MCUBE_NUMBER_ATTR(lruvecs, "%lu", mcube_ubm_stat(MCUBE_UBM_LRUVECS));
MCUBE_NUMBER_ATTR(no_memory, "%lu", mcube_ubm_stat(MCUBE_UBM_NO_MEMORY));

static struct attribute *stat_attrs[] = {
	&held_attr.attr,
	&given_attr.attr,
	&back_attr.attr,
	&lruvecs_attr.attr,
	&no_memory_attr.attr,
	NULL,
};

static const struct attribute_group stat_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

static int __init mcube_sysfs_ubm_init(void)
{
	return PTR_ERR_OR_ZERO(mcube_sysfs_add("ubm", ubm_attrs, &stat_group));
}
late_initcall(mcube_sysfs_ubm_init);
