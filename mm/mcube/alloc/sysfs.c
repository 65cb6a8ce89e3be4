// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/alloc/: switches and counters of the mcube allocator
 *
 * Copyright (C) 2026 The mcube authors
 *
 * control.c does the work of the switches, config.c sums up the counters.  See
 * Documentation/ABI/testing/sysfs-kernel-mm-mcube.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/printk.h>
#include <linux/sysfs.h>

#include "../map/map.h"
#include "../sysfs.h"
#include "internal.h"
#include "policy.h"

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", mcube_alloc_enabled());
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("alloc/enabled", buf, count, &on);

	if (ret)
		return ret;
	ret = mcube_alloc_enable(on);
	if (ret == -EOPNOTSUPP)
		pr_warn_ratelimited("alloc/enabled: no containers of order %u on this machine\n",
				    mcube_config.order);
	else if (ret == -ENOMEM)
		pr_warn_ratelimited("alloc/enabled: no memory for descriptors; stays off\n");
	return ret ?: count;
}

MCUBE_CHOICE("alloc", fill_order, mcube_config.fill_order, mcube_fill_order_names,
	     MCUBE_NR_FILL_ORDERS);
MCUBE_SETTING("alloc", container_order, mcube_config.order, 0, MCUBE_MAX_ORDER,
	      .set = mcube_alloc_set_order);
MCUBE_SETTING("alloc", cluster_order, mcube_config.cluster_order, 0, MCUBE_CLUSTER_MAX,
	      .set = mcube_alloc_set_cluster_order);

static ssize_t fill_auto_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	struct mcube_map_info info;
	struct mcube_fill_choice p;

	mcube_map_info(&info);
	mcube_fill_choose(&p, &info.map, READ_ONCE(mcube_config.order));
	return sysfs_emit(buf, "%s cluster_order=%u: a container has %u color%s; %s\n",
			  mcube_fill_order_names[p.fill_order], p.cluster, p.colors,
			  p.colors == 1 ? "" : "s", p.why);
}

static int show_if_known(char *buf, int number)
{
	return number < 0 ? sysfs_emit(buf, "unknown\n") : sysfs_emit(buf, "%d\n", number);
}

static ssize_t container_banks_show(struct kobject *kobj, struct kobj_attribute *attr,
				    char *buf)
{
	struct mcube_map_info info;
	unsigned int banks;

	mcube_map_info(&info);
	banks = mcube_dim_cover(&info.map.bank, READ_ONCE(mcube_config.order));
	return show_if_known(buf, banks ?: -ERANGE);
}

static ssize_t cover_order_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mcube_map_info info;

	mcube_map_info(&info);
	return show_if_known(buf, mcube_dim_cover_order(&info.map.bank));
}

static struct kobj_attribute container_banks_attr = __ATTR_RO(container_banks);
static struct kobj_attribute cover_order_attr = __ATTR_RO(cover_order);
static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute fill_auto_attr = __ATTR_RO(fill_auto);

static const struct attribute *alloc_attrs[] = {
	&enabled_attr.attr,
	&fill_order_setting.attr.attr,
	&fill_auto_attr.attr,
	&container_order_setting.attr.attr,
	&container_banks_attr.attr,
	&cover_order_attr.attr,
	&cluster_order_setting.attr.attr,
	NULL,
};

MCUBE_NUMBER_ATTR(containers, "%u", mcube_alloc_containers());
MCUBE_NUMBER_ATTR(free_pages, "%lu", mcube_alloc_free_pages());
MCUBE_NUMBER_ATTR(reserved_colors, "%u", mcube_reserve_nr());
MCUBE_NUMBER_ATTR(reserved_free, "%lu", mcube_color_stat_reserved());
MCUBE_NUMBER_ATTR(served, "%lu", mcube_alloc_stat(MCUBE_SERVED));
MCUBE_NUMBER_ATTR(hopped, "%lu", mcube_alloc_stat(MCUBE_HOPPED));
MCUBE_NUMBER_ATTR(colored, "%lu", mcube_alloc_stat(MCUBE_COLORED));
MCUBE_NUMBER_ATTR(fallback, "%lu", mcube_alloc_stat(MCUBE_FALLBACK));
MCUBE_NUMBER_ATTR(uncovered, "%lu", mcube_alloc_stat(MCUBE_UNCOVERED));
MCUBE_NUMBER_ATTR(taken, "%lu", mcube_alloc_stat(MCUBE_TAKEN));
MCUBE_NUMBER_ATTR(released, "%lu", mcube_alloc_stat(MCUBE_RELEASED));
MCUBE_NUMBER_ATTR(broken_up, "%lu", mcube_alloc_stat(MCUBE_BROKEN_UP));

static struct attribute *stat_attrs[] = {
	&containers_attr.attr,
	&free_pages_attr.attr,
	&reserved_colors_attr.attr,
	&reserved_free_attr.attr,
	&served_attr.attr,
	&hopped_attr.attr,
	&colored_attr.attr,
	&fallback_attr.attr,
	&uncovered_attr.attr,
	&taken_attr.attr,
	&released_attr.attr,
	&broken_up_attr.attr,
	NULL,
};

static const struct attribute_group stat_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

static int __init mcube_sysfs_alloc_init(void)
{
	/* The order of a pageblock is no constant on all machines. */
	container_order_setting.min = MCUBE_ORDER_MIN;
	container_order_setting.max = MCUBE_ORDER_MAX;
	return PTR_ERR_OR_ZERO(mcube_sysfs_add("alloc", alloc_attrs, &stat_group));
}
late_initcall(mcube_sysfs_alloc_init);
