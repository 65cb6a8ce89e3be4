// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/ubm/: UBM's switches and counters
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

static const char * const model_names[] = {
	[MCUBE_UBM_HISTOGRAM]	= "histogram",
	[MCUBE_UBM_BELADY]	= "belady",
};

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
	return ret ?: count;
}

static ssize_t mg_model_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return mcube_show_choice(buf, model_names, ARRAY_SIZE(model_names),
				 READ_ONCE(mcube_ubm_tuning.model));
}

static ssize_t mg_model_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	int model = mcube_parse_choice(buf, count, model_names,
				       ARRAY_SIZE(model_names)), ret;

	if (model < 0) {
		pr_warn_ratelimited("ubm/mg_model: expected histogram or belady\n");
		return model;
	}
	ret = mcube_ubm_set_model(model);
	return ret ?: count;
}

static ssize_t min_run_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcube_ubm_tuning.rules.min));
}

static ssize_t min_run_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int pages;
	int ret = mcube_parse_uint(buf, count, 1, MCUBE_UBM_MIN_RUN_MAX, &pages);

	if (ret) {
		pr_warn_ratelimited("ubm/min_run: expected 1 to %u pages\n",
				    MCUBE_UBM_MIN_RUN_MAX);
		return ret;
	}
	ret = mcube_ubm_set_min_run(pages);
	return ret ?: count;
}

static ssize_t guard_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(mcube_ubm_tuning.guard));
}

static ssize_t guard_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("ubm/guard", buf, count, &on);

	if (!ret)
		ret = mcube_ubm_set_guard(on);
	return ret ?: count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute mg_model_attr = __ATTR_RW(mg_model);
static struct kobj_attribute min_run_attr = __ATTR_RW(min_run);
static struct kobj_attribute guard_attr = __ATTR_RW(guard);

static const struct attribute *ubm_attrs[] = {
	&enabled_attr.attr,
	&mg_model_attr.attr,
	&min_run_attr.attr,
	&guard_attr.attr,
	NULL,
};

MCUBE_NUMBER_ATTR(noted, "%lu", mcube_ubm_stat(MCUBE_UBM_NOTED));
MCUBE_NUMBER_ATTR(added, "%lu", mcube_ubm_stat(MCUBE_UBM_ADDED));
MCUBE_NUMBER_ATTR(held, "%lu", mcube_ubm_stat(MCUBE_UBM_HELD));
MCUBE_NUMBER_ATTR(proposed, "%lu", mcube_ubm_stat(MCUBE_UBM_PROPOSED));
MCUBE_NUMBER_ATTR(guarded, "%lu", mcube_ubm_stat(MCUBE_UBM_GUARDED));
MCUBE_NUMBER_ATTR(domains, "%lu", mcube_ubm_stat(MCUBE_UBM_DOMAINS));
MCUBE_NUMBER_ATTR(no_memory, "%lu", mcube_ubm_stat(MCUBE_UBM_NO_MEMORY));

static struct attribute *stat_attrs[] = {
	&noted_attr.attr,
	&added_attr.attr,
	&held_attr.attr,
	&proposed_attr.attr,
	&guarded_attr.attr,
	&domains_attr.attr,
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
