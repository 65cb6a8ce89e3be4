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

static ssize_t group_order_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	unsigned int order = READ_ONCE(mcube_srm_config.group_order);

	if (order == MCUBE_GROUP_ORDER_AUTO)
		return sysfs_emit(buf, "auto\n");
	return sysfs_emit(buf, "%u\n", order);
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
	ret = mcube_srm_set_group_order(order);
	if (ret == -EBUSY)
		pr_warn_ratelimited("srm/group_order: first write 0 to srm/enabled\n");
	return ret ?: count;
}

MCUBE_SETTING("srm", tl, mcube_srm_config.tl, MCUBE_SEGMENT_MIN, MCUBE_SEGMENT_MAX,
	      .unit = "pages");
MCUBE_CHOICE("srm", mode, mcube_srm_config.mode, mode_names, MCUBE_SRM_NR_MODES);
MCUBE_SETTING("srm", reserve, mcube_srm_config.reserve, 0, MCUBE_RESERVE_MAX,
	      .set = mcube_srm_set_reserve);
MCUBE_SETTING("srm", lend, mcube_srm_config.lend, 0, MCUBE_LEND_MAX, .unit = "seconds");
MCUBE_SETTING("srm", reuse, mcube_srm_config.reuse, 0, MCUBE_REUSE_PAGES_MAX, .unit = "pages");
MCUBE_SETTING("srm", vm_hop, mcube_srm_config.vm_hop, 0, 1, .set = mcube_srm_set_hop);
MCUBE_SETTING("srm", reclaim, mcube_srm_config.reclaim, 0, 1);

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute group_order_attr = __ATTR_RW(group_order);

static const struct attribute *srm_attrs[] = {
	&enabled_attr.attr,
	&tl_setting.attr.attr,
	&mode_setting.attr.attr,
	&group_order_attr.attr,
	&reserve_setting.attr.attr,
	&lend_setting.attr.attr,
	&reuse_setting.attr.attr,
	&vm_hop_setting.attr.attr,
	&reclaim_setting.attr.attr,
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
