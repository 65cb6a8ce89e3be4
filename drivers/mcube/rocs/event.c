// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: perf events by their descriptions
 *
 * Copyright (C) 2026 The mcube authors
 *
 * No event of a last-level cache has the same number on all processors, and new
 * processors have new numbers.  So the user describes each event in the words of
 * perf:
 *
 *   type=4 config=0x20d1 config1=0x0 config2=0x0 precise=2
 *
 * and the mcube command has descriptions for common processors.  The counted events
 * give the speed and the miss rate of a process; the sampled events give addresses of
 * data that hit or missed the last-level cache:
 *
 *   two events      sample_hit counts hits, sample_miss counts misses, as Intel's
 *                   MEM_LOAD_RETIRED.L3_HIT and .L3_MISS
 *   a single event  the data source of each sample tells the level, as AMD's IBS
 *                   and the modelled PMU have it; the other event is "none"
 *
 * A sample whose data source is known is believed, whatever its event.  ROCS does not
 * count samples that the levels before the last one served, or samples of code of the
 * kernel or of a guest.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 3.1.  The paper samples the
 * data address register of the PowerPC 970; this file takes what perf offers.
 */

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "period.h"

const char * const rocs_event_names[ROCS_NR_EVENTS] = {
	[ROCS_CYCLES]		= "cycles",
	[ROCS_INSTRUCTIONS]	= "instructions",
	[ROCS_REFS]		= "refs",
	[ROCS_MISSES]		= "misses",
	[ROCS_SAMPLE_HIT]	= "sample_hit",
	[ROCS_SAMPLE_MISS]	= "sample_miss",
};

/* A word NAME=N of a description. */
static int parse_word(const char *word, struct rocs_event_desc *desc)
{
	const char *value = strchr(word, '=');
	size_t len = value ? value - word : 0;
	u64 n;
	int ret;

	if (!value)
		return -EINVAL;
	ret = kstrtou64(value + 1, 0, &n);
	if (ret)
		return ret;
	if (str_has_prefix(word, "config=")) {
		desc->config[0] = n;
	} else if (str_has_prefix(word, "config1=")) {
		desc->config[1] = n;
	} else if (str_has_prefix(word, "config2=")) {
		desc->config[2] = n;
	} else if (len == 4 && !strncmp(word, "type", len)) {
		if (n > U32_MAX)
			return -ERANGE;
		desc->type = n;
		desc->used = true;
	} else if (len == 7 && !strncmp(word, "precise", len)) {
		if (n > 3)
			return -ERANGE;
		desc->precise = n;
	} else {
		return -EINVAL;
	}
	return 0;
}

/**
 * rocs_event_parse() - read a description
 * @text: "none", or words NAME=N, with "type" among the names.
 * @desc: filled in.
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int rocs_event_parse(const char *text, struct rocs_event_desc *desc)
{
	char buf[128], *str = buf, *word;
	int ret;

	*desc = (struct rocs_event_desc){ };
	if (strscpy(buf, text, sizeof(buf)) < 0)
		return -EINVAL;
	str = strim(buf);
	if (!strcmp(str, "none"))
		return 0;
	while ((word = strsep(&str, " "))) {
		if (!*word)
			continue;
		ret = parse_word(word, desc);
		if (ret)
			return ret;
	}
	return desc->used ? 0 : -EINVAL;
}

/**
 * rocs_event_show() - write a description
 * @buf: buffer of a file in sysfs.
 * @desc: the description.
 *
 * Return: length of the text.
 */
int rocs_event_show(char *buf, const struct rocs_event_desc *desc)
{
	if (!desc->used)
		return sysfs_emit(buf, "none\n");
	return sysfs_emit(buf, "type=%u config=0x%llx config1=0x%llx config2=0x%llx precise=%u\n",
			  desc->type, desc->config[0], desc->config[1],
			  desc->config[2], desc->precise);
}

/**
 * rocs_event_hit() - did an access hit the last-level cache?
 * @source: data source of the sample, as perf has it.
 * @fallback: returned if the source is not known.
 *
 * Return: 1 for a hit, 0 for a miss, -1 if another level served the access.
 */
int rocs_event_hit(u64 source, int fallback)
{
	const u64 memory = PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 |
			   PERF_MEM_LVL_REM_RAM2 | PERF_MEM_LVL_REM_CCE1 |
			   PERF_MEM_LVL_REM_CCE2;
	union perf_mem_data_src src = { .val = source };

	if (src.mem_remote)
		return 0;
	if (src.mem_lvl & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_L2 | PERF_MEM_LVL_LFB))
		return -1;
	/* AMD marks its own last level as a remote cache as well. */
	if (src.mem_lvl & PERF_MEM_LVL_L3 || src.mem_lvl_num == PERF_MEM_LVLNUM_L3)
		return !(src.mem_lvl & PERF_MEM_LVL_MISS);
	if (src.mem_lvl & memory || src.mem_lvl_num == PERF_MEM_LVLNUM_RAM ||
	    src.mem_lvl_num == PERF_MEM_LVLNUM_PMEM ||
	    src.mem_lvl_num == PERF_MEM_LVLNUM_CXL)
		return 0;
	/* AMD does not say which level a store reached. */
	return src.mem_op & PERF_MEM_OP_STORE ? -1 : fallback;
}

/* The context of a sampled event: number of the target, and the kind of the event. */
static void *context_of(unsigned int target, bool hit)
{
	return (void *)(unsigned long)(target << 1 | hit);
}

/* Does a single event sample hits and misses?  Constant while there are events. */
static bool is_single(void)
{
	return rocs_config.event[ROCS_SAMPLE_HIT].used !=
	       rocs_config.event[ROCS_SAMPLE_MISS].used;
}

/**
 * rocs_event_most() - accesses of a window that sampled events count, at most
 * @w: the window.
 *
 * Two events count hits and misses of the last level.  A single event may count accesses
 * of all levels, or instructions.
 *
 * Return: number of accesses or instructions.
 */
u64 rocs_event_most(const struct rocs_window *w)
{
	return is_single() ? w->instructions : w->refs;
}

/**
 * rocs_event_of_process() - is a sample of the process itself?
 * @regs: registers of the sample.
 * @addr: address of the data.
 *
 * A PMU that cannot tell modes apart, as IBS, samples the kernel too, and the guest of a
 * process that is a virtual machine.  A guest has addresses that look like addresses of a
 * process; its sample arrives on the way out of the guest, where no other code of
 * the process runs.
 *
 * Context: any, in the thread that was sampled.
 * Return: true if a page of the process was accessed by code of the process.
 */
bool rocs_event_of_process(struct pt_regs *regs, u64 addr)
{
	return user_mode(regs) && !(current->flags & PF_VCPU) && addr &&
	       addr < TASK_SIZE_MAX;
}

/* In NMI, or with interrupts off.  No lifetime to care for: the context is a number. */
static void overflow(struct perf_event *event, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	unsigned long context = (unsigned long)event->overflow_handler_context;
	int hit = context & 1;

	rocs_sample_taken(context >> 1);
	if (!(data->sample_flags & PERF_SAMPLE_ADDR) ||
	    !rocs_event_of_process(regs, data->addr))
		return;
	if (data->sample_flags & PERF_SAMPLE_DATA_SRC)
		hit = rocs_event_hit(data->data_src.val, is_single() ? -1 : hit);
	if (hit >= 0)
		rocs_sample_push(context >> 1, data->addr, !hit);
}

/**
 * rocs_event_create() - create an event of a thread
 * @e: the event, which is described.
 * @task: the thread.
 * @period: sampling period of a sampled event.
 * @target: number of the target that samples belong to.
 *
 * The event counts user mode of the host, unless its PMU cannot tell modes apart.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: the event, or an error.
 */
struct perf_event *rocs_event_create(enum rocs_event e, struct task_struct *task,
				     u64 period, unsigned int target)
{
	const struct rocs_event_desc *desc = &rocs_config.event[e];
	struct perf_event_attr attr = {
		.type = desc->type,
		.size = sizeof(attr),
		.config = desc->config[0],
		.config1 = desc->config[1],
		.config2 = desc->config[2],
		.precise_ip = desc->precise,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_guest = 1,
	};
	perf_overflow_handler_t handler = NULL;
	struct perf_event *event;

	if (e >= ROCS_NR_COUNTERS) {
		attr.sample_period = period;
		attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
		/* Otherwise PEBS collects samples until another task may run. */
		attr.wakeup_events = 1;
		handler = overflow;
	}
	event = perf_event_create_kernel_counter(&attr, -1, task, handler,
						 context_of(target, e == ROCS_SAMPLE_HIT));
	if (PTR_ERR(event) != -EINVAL)
		return event;
	attr.exclude_kernel = 0;
	attr.exclude_hv = 0;
	attr.exclude_guest = 0;
	return perf_event_create_kernel_counter(&attr, -1, task, handler,
						context_of(target, e == ROCS_SAMPLE_HIT));
}

static int try_event(enum rocs_event e, u64 period)
{
	struct perf_event *event = rocs_event_create(e, current, period, 0);

	if (IS_ERR(event))
		return PTR_ERR(event);
	perf_event_release_kernel(event);
	return 0;
}

/**
 * rocs_event_check() - does this machine have all events?
 * @failed: set to the event that it does not have.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0, or the error by which perf refused an event; -EDESTADDRREQ if an event
 * that is needed has no description.
 */
int rocs_event_check(enum rocs_event *failed)
{
	bool sampled = rocs_config.event[ROCS_SAMPLE_HIT].used ||
		       rocs_config.event[ROCS_SAMPLE_MISS].used;
	enum rocs_event e;
	int ret;

	rocs_config.odd_periods = true;
	for (e = 0; e < ROCS_NR_EVENTS; e++) {
		*failed = e;
		if (!rocs_config.event[e].used) {
			if (e < ROCS_NR_COUNTERS || !sampled)
				return -EDESTADDRREQ;
			continue;
		}
		ret = try_event(e, ROCS_PERIOD_MAX);
		if (ret)
			return ret;
		if (e >= ROCS_NR_COUNTERS && try_event(e, ROCS_PERIOD_MAX + 1))
			rocs_config.odd_periods = false;
	}
	return 0;
}
