// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/srm/: SRM-buffer's switches and counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * See Documentation/ABI/testing/sysfs-kernel-mm-mcube.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/printk.h>
#include <linux/sysfs.h>

#include "../alloc/policy.h"
#include "../sysfs.h"
#include "color_group.h"
#include "internal.h"
#include "segment.h"

static const char * const mode_names[MCUBE_SRM_NR_MODES] = {
	[MCUBE_SRM_SEGMENTED]	= "segments",
	[MCUBE_SRM_STATELESS]	= "stateless",
};

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", mcube_srm_enabled());
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("srm/enabled", buf, count, &on);

	if (ret)
		return ret;
	ret = mcube_srm_enable(on);
	if (ret == -ENODEV)
		pr_warn_ratelimited("srm/enabled: first write 1 to alloc/enabled\n");
	else if (ret == -EOPNOTSUPP)
		pr_warn_ratelimited("srm/enabled: the address map has one color: write 0 to alloc/enabled, then masks to map/color_map\n");
	else if (ret == -ERANGE)
		pr_warn_ratelimited("srm/enabled: group_order %u leaves fewer than two color groups of this address map: write a lower one to srm/group_order\n",
				    mcube_srm_config.group_order);
	return ret ?: count;
}

/* Numbers of pages or seconds that may change at any time. */
static ssize_t number_store(const char *name, const char *unit, const char *buf,
			    size_t count, unsigned int min, unsigned int max,
			    unsigned int *number)
{
	unsigned int value;
	int ret = mcube_parse_uint(buf, count, min, max, &value);

	if (ret) {
		pr_warn_ratelimited("srm/%s: expected %u to %u %s\n", name,
				    min, max, unit);
		return ret;
	}
	WRITE_ONCE(*number, value);
	return count;
}

static ssize_t tl_show(struct kobject *kobj, struct kobj_attribute *attr,
		       char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcube_srm_config.tl));
}

static ssize_t tl_store(struct kobject *kobj, struct kobj_attribute *attr,
			const char *buf, size_t count)
{
	return number_store("tl", "pages", buf, count, MCUBE_SEGMENT_MIN,
			    MCUBE_SEGMENT_MAX, &mcube_srm_config.tl);
}

static ssize_t reuse_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcube_srm_config.reuse));
}

static ssize_t reuse_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	return number_store("reuse", "pages", buf, count, 0, MCUBE_REUSE_PAGES_MAX,
			    &mcube_srm_config.reuse);
}

static ssize_t mode_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return mcube_show_choice(buf, mode_names, MCUBE_SRM_NR_MODES,
				 READ_ONCE(mcube_srm_config.mode));
}

static ssize_t mode_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	int mode = mcube_parse_choice(buf, count, mode_names,
				      MCUBE_SRM_NR_MODES);

	if (mode < 0) {
		pr_warn_ratelimited("srm/mode: expected segments or stateless\n");
		return mode;
	}
	WRITE_ONCE(mcube_srm_config.mode, mode);
	return count;
}

static ssize_t group_order_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	unsigned int order = READ_ONCE(mcube_srm_config.group_order);

	if (order == MCUBE_GROUP_ORDER_AUTO)
		return sysfs_emit(buf, "auto\n");
	return sysfs_emit(buf, "%u\n", order);
}

/* Settings that change only while the policy is off. */
static ssize_t set_fixed(const char *name, size_t count, unsigned int value,
			 int (*set)(unsigned int value))
{
	int ret = set(value);

	if (ret == -EBUSY)
		pr_warn_ratelimited("srm/%s: first write 0 to srm/enabled\n",
				    name);
	return ret ?: count;
}

static ssize_t group_order_store(struct kobject *kobj,
				 struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	static const char * const automatic[] = { "auto" };
	unsigned int order = MCUBE_GROUP_ORDER_AUTO;
	int ret = 0;

	if (mcube_parse_choice(buf, count, automatic, ARRAY_SIZE(automatic)) < 0)
		ret = mcube_parse_uint(buf, count, 0, MCUBE_GROUP_ORDER_MAX, &order);
	if (ret) {
		pr_warn_ratelimited("srm/group_order: expected 0 to %u, or auto\n",
				    MCUBE_GROUP_ORDER_MAX);
		return ret;
	}
	return set_fixed("group_order", count, order, mcube_srm_set_group_order);
}

static ssize_t reserve_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcube_srm_config.reserve));
}

static ssize_t reserve_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int share;
	int ret = mcube_parse_uint(buf, count, 0, MCUBE_RESERVE_MAX, &share);

	if (ret) {
		pr_warn_ratelimited("srm/reserve: expected 0 to %u\n",
				    MCUBE_RESERVE_MAX);
		return ret;
	}
	return set_fixed("reserve", count, share, mcube_srm_set_reserve);
}

static ssize_t lend_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcube_srm_config.lend));
}

static ssize_t lend_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	return number_store("lend", "seconds", buf, count, 0, MCUBE_LEND_MAX,
			    &mcube_srm_config.lend);
}

static ssize_t vm_hop_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(mcube_srm_config.vm_hop));
}

static ssize_t vm_hop_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("srm/vm_hop", buf, count, &on);

	if (!ret)
		ret = mcube_srm_set_hop(on);
	return ret ?: count;
}

static ssize_t reclaim_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(mcube_srm_config.reclaim));
}

static ssize_t reclaim_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("srm/reclaim", buf, count, &on);

	if (!ret)
		WRITE_ONCE(mcube_srm_config.reclaim, on);
	return ret ?: count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute tl_attr = __ATTR_RW(tl);
static struct kobj_attribute mode_attr = __ATTR_RW(mode);
static struct kobj_attribute group_order_attr = __ATTR_RW(group_order);
static struct kobj_attribute reserve_attr = __ATTR_RW(reserve);
static struct kobj_attribute lend_attr = __ATTR_RW(lend);
static struct kobj_attribute reuse_attr = __ATTR_RW(reuse);
static struct kobj_attribute vm_hop_attr = __ATTR_RW(vm_hop);
static struct kobj_attribute reclaim_attr = __ATTR_RW(reclaim);

static const struct attribute *srm_attrs[] = {
	&enabled_attr.attr,
	&tl_attr.attr,
	&mode_attr.attr,
	&group_order_attr.attr,
	&reserve_attr.attr,
	&lend_attr.attr,
	&reuse_attr.attr,
	&vm_hop_attr.attr,
	&reclaim_attr.attr,
	NULL,
};

MCUBE_NUMBER_ATTR(file_pages, "%lu", mcube_srm_stat(MCUBE_SRM_FILE));
MCUBE_NUMBER_ATTR(task_pages, "%lu", mcube_srm_stat(MCUBE_SRM_TASK));
MCUBE_NUMBER_ATTR(missed, "%lu", mcube_srm_stat(MCUBE_SRM_MISSED));
MCUBE_NUMBER_ATTR(segments, "%lu", mcube_srm_stat(MCUBE_SRM_SEGMENTS));
MCUBE_NUMBER_ATTR(reclaimed, "%lu", mcube_srm_stat(MCUBE_SRM_RECLAIMED));
MCUBE_NUMBER_ATTR(recolored, "%lu", mcube_srm_stat(MCUBE_SRM_RECOLORED));
MCUBE_NUMBER_ATTR(hopped, "%lu",
		  mcube_srm_stat(MCUBE_SRM_HOPPED) + mcube_reserve_hopped());
MCUBE_NUMBER_ATTR(uncovered, "%lu", mcube_srm_stat(MCUBE_SRM_UNCOVERED));
MCUBE_NUMBER_ATTR(vacated, "%lu", mcube_srm_stat(MCUBE_SRM_VACATED));
MCUBE_NUMBER_ATTR(sampled, "%lu", mcube_srm_stat(MCUBE_SRM_SAMPLED));
MCUBE_NUMBER_ATTR(lent, "%d", mcube_srm_enabled() && mcube_reserve_lent());

static struct attribute *stat_attrs[] = {
	&file_pages_attr.attr,
	&task_pages_attr.attr,
	&missed_attr.attr,
	&segments_attr.attr,
	&reclaimed_attr.attr,
	&recolored_attr.attr,
	&hopped_attr.attr,
	&uncovered_attr.attr,
	&vacated_attr.attr,
	&sampled_attr.attr,
	&lent_attr.attr,
	NULL,
};

static const struct attribute_group stat_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

static int __init mcube_sysfs_srm_init(void)
{
	return PTR_ERR_OR_ZERO(mcube_sysfs_add("srm", srm_attrs, &stat_group));
}
late_initcall(mcube_sysfs_srm_init);
