// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/mm/mcube/rocs/: switches, settings and counters of ROCS
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The directory is there while the module is loaded.
 * See Documentation/ABI/testing/sysfs-kernel-mm-mcube-rocs.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../../../mm/mcube/alloc/policy.h"
#include "../../../mm/mcube/sysfs.h"
#include "internal.h"

static struct kobject *dir;

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", rocs_enabled());
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int on;
	int ret = mcube_parse_switch("rocs/enabled", buf, count, &on);

	if (ret)
		return ret;
	ret = rocs_enable(on);
	if (ret == -ENODEV)
		pr_warn_ratelimited("rocs/enabled: first write 1 to alloc/enabled\n");
	else if (ret == -EOPNOTSUPP)
		pr_warn_ratelimited("rocs/enabled: the address map has one color: write 0 to alloc/enabled, then masks to map/color_map\n");
	else if (ret == -ERANGE)
		pr_warn_ratelimited("rocs/enabled: %u sixteenths of the colors of this address map are none: write more to rocs/reserve\n",
				    rocs_config.reserve);
	return ret ?: count;
}

static const char * const search_names[] = {
	[ROCS_SEARCH_LINEAR]	= "linear",
	[ROCS_SEARCH_COARSE]	= "coarse",
};

/* The text without blanks around it; NULL if the text holds a NUL or is too long. */
static char *copy_of(const char *buf, size_t count, char *copy, size_t size)
{
	if (count >= size || strnlen(buf, count) != count)
		return NULL;
	memcpy(copy, buf, count);
	copy[count] = '\0';
	return strim(copy);
}

static ssize_t pids_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	int len = 0;

	scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
		len = rocs_pick_show_pids(buf);
	return len;
}

static ssize_t pids_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	char copy[256], *text = copy_of(buf, count, copy, sizeof(copy));
	int ret = -EINVAL;

	if (text) {
		scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
			ret = rocs_pick_set_pids(text);
	}
	if (ret == -ESRCH)
		pr_warn_ratelimited("rocs/pids: there is no process with one of these PIDs\n");
	else if (ret && ret != -ENOMEM)
		pr_warn_ratelimited("rocs/pids: expected PIDs of at most %u processes, no kernel threads\n",
				    ROCS_TARGETS_MAX);
	return ret ?: count;
}

static ssize_t cgroup_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	int len = 0;

	scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
		len = rocs_pick_show_cgroup(buf);
	return len;
}

static ssize_t cgroup_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	char copy[256], *text = copy_of(buf, count, copy, sizeof(copy));
	int ret = -EINVAL;

	if (text) {
		scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
			ret = rocs_pick_set_cgroup(text);
	}
	if (ret)
		pr_warn_ratelimited("rocs/cgroup: expected the path of a cgroup below the mount of cgroup2, or an empty line\n");
	return ret ?: count;
}

#define NUMBER(_name, _value, _min, _max)				\
	MCUBE_SETTING("rocs", _name, rocs_config._value, _min, _max, .lock = &rocs_lock)

MCUBE_SETTING("rocs", reserve, rocs_config.reserve, 1, MCUBE_RESERVE_MAX,
	      .set = rocs_set_reserve);
MCUBE_CHOICE("rocs", search, rocs_config.plan.search, search_names, ARRAY_SIZE(search_names),
	     .lock = &rocs_lock);
NUMBER(steps, plan.steps, 1, ROCS_SEARCH_POINTS - 1);
NUMBER(window_kcycles, window_kcycles, 1000, 100000000);
NUMBER(tick_ms, tick_ms, 1, 10000);
NUMBER(profile_windows, plan.profile, 1, 1000);
NUMBER(settle_windows, plan.settle, 0, 100);
NUMBER(min_rate, plan.min_rate, 0, 100);
NUMBER(phase_percent, plan.phase_percent, 1, 1000);
NUMBER(phase_confirm, plan.phase_confirm, 1, 100);
NUMBER(stack_rate, stack_rate, 0, 100);
NUMBER(budget, budget, 1, 1000);
NUMBER(sample_cost, sample_cost, 100, 1000000);
NUMBER(profile_pages, profile_pages, 3072, 393216);
NUMBER(pages_per_second, pages_per_second, 64, 1048576);
NUMBER(split_thp, split_thp, 0, 1);
/* compiler_types.h has a macro auto, which NUMBER() would expand. */
MCUBE_SETTING("rocs", auto, rocs_config.automatic, 0, 1, .lock = &rocs_lock);

static int set_prefetch_off(unsigned int on)
{
	if (on && !rocs_prefetch_known()) {
		pr_warn_ratelimited("rocs/prefetch_off: it is not known how the prefetchers of this processor are switched, or resctrl switches them\n");
		return -EOPNOTSUPP;
	}
	scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock) {
		WRITE_ONCE(rocs_config.prefetch_off, on);
		rocs_prefetch_profiles(0);
	}
	return 0;
}

MCUBE_SETTING("rocs", prefetch_off, rocs_config.prefetch_off, 0, 1, .set = set_prefetch_off);

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute pids_attr = __ATTR_RW(pids);
static struct kobj_attribute cgroup_attr = __ATTR_RW(cgroup);

static const struct attribute * const files[] = {
	&enabled_attr.attr,
	&reserve_setting.attr.attr,
	&pids_attr.attr,
	&cgroup_attr.attr,
	&auto_setting.attr.attr,
	&search_setting.attr.attr,
	&steps_setting.attr.attr,
	&window_kcycles_setting.attr.attr,
	&tick_ms_setting.attr.attr,
	&profile_windows_setting.attr.attr,
	&settle_windows_setting.attr.attr,
	&min_rate_setting.attr.attr,
	&phase_percent_setting.attr.attr,
	&phase_confirm_setting.attr.attr,
	&stack_rate_setting.attr.attr,
	&budget_setting.attr.attr,
	&sample_cost_setting.attr.attr,
	&profile_pages_setting.attr.attr,
	&pages_per_second_setting.attr.attr,
	&split_thp_setting.attr.attr,
	&prefetch_off_setting.attr.attr,
	NULL
};

/* A file in events/. */
struct event_file {
	struct kobj_attribute attr;
	enum rocs_event e;
};

static ssize_t event_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	struct event_file *file = container_of(attr, struct event_file, attr);
	int len = 0;

	scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
		len = rocs_event_show(buf, &rocs_config.event[file->e]);
	return len;
}

static ssize_t event_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	struct event_file *file = container_of(attr, struct event_file, attr);
	char copy[128], *text = copy_of(buf, count, copy, sizeof(copy));
	struct rocs_event_desc desc;
	int ret = text ? rocs_event_parse(text, &desc) : -EINVAL;

	if (ret) {
		pr_warn_ratelimited("rocs/events/%s: expected type=N config=N config1=N config2=N precise=0..3, or none\n",
				    attr->attr.name);
		return ret;
	}
	scoped_cond_guard(mutex_intr, return -EINTR, &rocs_lock)
		ret = rocs_set_event(file->e, &desc);
	if (ret == -EBUSY)
		pr_warn_ratelimited("rocs/events/%s: first write 0 to rocs/enabled\n",
				    attr->attr.name);
	return ret ?: count;
}

#define EVENT_FILE(_name, _e)						\
static struct event_file _name##_event = {				\
	.attr = __ATTR(_name, 0644, event_show, event_store),		\
	.e = _e,							\
}

EVENT_FILE(cycles, ROCS_CYCLES);
EVENT_FILE(instructions, ROCS_INSTRUCTIONS);
EVENT_FILE(refs, ROCS_REFS);
EVENT_FILE(misses, ROCS_MISSES);
EVENT_FILE(sample_hit, ROCS_SAMPLE_HIT);
EVENT_FILE(sample_miss, ROCS_SAMPLE_MISS);

static struct attribute *event_files[] = {
	&cycles_event.attr.attr,
	&instructions_event.attr.attr,
	&refs_event.attr.attr,
	&misses_event.attr.attr,
	&sample_hit_event.attr.attr,
	&sample_miss_event.attr.attr,
	NULL
};

static const struct attribute_group events = {
	.name = "events",
	.attrs = event_files,
};

#define STAT(_name, _stat)						\
	MCUBE_NUMBER_ATTR(_name, "%lu", READ_ONCE(rocs_stat[_stat]))

STAT(samples, ROCS_STAT_SAMPLES);
STAT(dropped, ROCS_STAT_DROPPED);
STAT(moved_in, ROCS_STAT_MOVED_IN);
STAT(moved_out, ROCS_STAT_MOVED_OUT);
STAT(refused, ROCS_STAT_REFUSED);
STAT(split, ROCS_STAT_SPLIT);
STAT(targets, ROCS_STAT_TARGETS);
STAT(windows, ROCS_STAT_WINDOWS);
STAT(searches, ROCS_STAT_SEARCHES);
STAT(phases, ROCS_STAT_PHASES);
STAT(rollbacks, ROCS_STAT_ROLLBACKS);
STAT(looks, ROCS_STAT_LOOKS);
STAT(look_us, ROCS_STAT_LOOK_US);

static struct attribute *stat_files[] = {
	&samples_attr.attr,
	&dropped_attr.attr,
	&moved_in_attr.attr,
	&moved_out_attr.attr,
	&refused_attr.attr,
	&split_attr.attr,
	&targets_attr.attr,
	&windows_attr.attr,
	&searches_attr.attr,
	&phases_attr.attr,
	&rollbacks_attr.attr,
	&looks_attr.attr,
	&look_us_attr.attr,
	NULL
};

static const struct attribute_group stats = {
	.name = "stats",
	.attrs = stat_files,
};

/**
 * rocs_sysfs_exit() - remove the directory
 *
 * Waits until nobody reads or writes a file of the directory.
 */
void rocs_sysfs_exit(void)
{
	/* A debug kernel delays what kobject_put() does. */
	kobject_del(dir);
	kobject_put(dir);
}

/**
 * rocs_sysfs_init() - make the directory
 *
 * Return: 0 or an error.
 */
int rocs_sysfs_init(void)
{
	int ret;

	dir = mcube_sysfs_add("rocs", files, &stats);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	ret = sysfs_create_group(dir, &events);
	if (ret)
		rocs_sysfs_exit();
	return ret;
}
