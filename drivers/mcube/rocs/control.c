// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: the policy, and its tick
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   enabled = 1    perf is asked for each event; the policy requests its share of the
 *                  colors, lets other memory hop, and starts the tick
 *   each tick      samples are counted, pages move, targets go
 *   some ticks     counters are read, windows end, targets come: a look
 *   enabled = 0    pages move out of the partition; then the policy stops
 *
 * The tick is a work item.  It holds rocs_lock for all that it does, and so do the
 * files in sysfs.
 *
 * A look takes time on the CPUs of the threads as well, which it interrupts.  So looks are
 * tick_ms apart, or more: each is followed by a rest that keeps their share of a CPU within
 * the budget.  The time is that of the clock, which is more than a look takes where
 * another task runs meanwhile: ROCS looks less often then.  A ring that is half full wakes
 * the tick, and so do pages that can move; neither makes it look.
 *
 * Locks: rocs_lock, then cpus_read_lock() and the policy lock.  perf takes
 * cpus_read_lock() where it creates events, with rocs_lock held.  The allocator calls
 * start(), stop() and partition() with cpus_read_lock() held, so these functions do not
 * take rocs_lock: they leave the rest to the tick.  If the allocator is switched off
 * while the policy is on, pages therefore stay where they are, as the page cache does.
 *
 * Each start begins an epoch.  A target of an earlier epoch knows nothing of the present
 * partition, and the tick removes it.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math.h>
#include <linux/mcube_map.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "../../../mm/mcube/alloc/policy.h"
#include "../../../mm/mcube/map/map.h"
#include "internal.h"
#include "period.h"

static void tick_fn(struct work_struct *work);

static DECLARE_DELAYED_WORK(tick, tick_fn);
static struct workqueue_struct *queue;
static struct mcube_policy policy;

/* Written with the policy lock held. */
static unsigned int epoch;

/* The end of the last look, and the rest after it, in ns; guarded by rocs_lock. */
static u64 looked, rest;

static unsigned int colors_of(const struct mcube_map *map)
{
	return map->color.nr_values * rocs_config.reserve / MCUBE_SHARES;
}

static int prepare(const struct mcube_map *map)
{
	if (map->color.nr_values < 2)
		return -EOPNOTSUPP;
	if (mcube_map_need_last_level(map, "rocs/enabled"))
		return -ENXIO;
	return colors_of(map) ? 0 : -ERANGE;
}

static void start(const struct mcube_map *map)
{
	WRITE_ONCE(epoch, epoch + 1);
	mcube_reserve_request(&policy, colors_of(map));
	mcube_reserve_hop(&policy, true);
}

static void stop(void)
{
	mod_delayed_work(queue, &tick, 0);
}

/* SRM-buffer asks for more colors, or has gone. */
static void partition(unsigned int nr)
{
	WRITE_ONCE(rocs_partitions, rocs_partitions + 1);
}

static struct mcube_policy policy = {
	.name = "rocs",
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.partition = partition,
};

/**
 * rocs_enabled() - is the policy on?
 *
 * Return: true if the policy is on; that can change at once.
 */
bool rocs_enabled(void)
{
	return mcube_policy_enabled(&policy);
}

/*
 * Go on to remove targets that are leaving, and those of an earlier epoch, or all.
 * Return: true if some of them have not left yet.
 */
static bool remove_targets(bool all, unsigned int now)
{
	struct rocs_target *t;
	bool some = false;
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		t = rocs_targets[i];
		if (t && (all || t->leaving || t->epoch != now))
			some |= !rocs_target_remove(t);
	}
	return some;
}

static void look(unsigned int now)
{
	u64 begin = ktime_get_ns(), spent;
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i] && !rocs_targets[i]->leaving)
			rocs_window_look(rocs_targets[i]);
	rocs_pick_add(now);
	looked = ktime_get_ns();
	spent = looked - begin;
	rest = rocs_period_rest(spent, rocs_config.budget);
	rocs_count(ROCS_STAT_LOOKS, 1);
	rocs_count(ROCS_STAT_LOOK_US, DIV_ROUND_UP(spent, NSEC_PER_USEC));
}

/* Time until the next look; 0: now. */
static u64 until_look(void)
{
	u64 next = looked + max(rest, (u64)rocs_config.tick_ms * NSEC_PER_MSEC);
	u64 now = ktime_get_ns();

	return next > now ? next - now : 0;
}

static void tick_fn(struct work_struct *work)
{
	unsigned int now, i;
	unsigned long wait;
	bool more = false;

	guard(mutex)(&rocs_lock);
	now = READ_ONCE(epoch);
	rocs_sample_drain();
	if (!rocs_enabled()) {
		if (remove_targets(true, now))
			queue_delayed_work(queue, &tick, 1);
		return;
	}
	remove_targets(false, now);
	rocs_pick_drop();
	if (!until_look())
		look(now);
	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i])
			more |= rocs_window_move(rocs_targets[i]);
	/* A pause of the prefetchers ends in time, however rare looks are. */
	wait = min_t(u64, DIV_ROUND_UP(until_look(), TICK_NSEC), HZ);
	queue_delayed_work(queue, &tick, more ? 1 : max(wait, 1UL));
}

/* In interrupt context: a ring is half full. */
static void wake(void)
{
	mod_delayed_work(queue, &tick, 0);
}

static int check_events(void)
{
	enum rocs_event failed;
	int ret = rocs_event_check(&failed);

	if (ret == -EDESTADDRREQ)
		pr_warn_ratelimited("rocs/enabled: write the description of an event to rocs/events/%s\n",
				    rocs_event_names[failed]);
	else if (ret)
		pr_warn_ratelimited("rocs/enabled: this machine does not have the event of rocs/events/%s (error %d): write the description of another event there\n",
				    rocs_event_names[failed], ret);
	return ret && ret != -ENOMEM ? -ENXIO : ret;
}

static int enable(void)
{
	int ret = check_events() ?: mcube_policy_enable(&policy);

	if (!ret)
		mod_delayed_work(queue, &tick, 0);
	return ret;
}

/* While the partition is there, its pages can be told: targets go first. */
static int disable(void)
{
	if (signal_pending(current))
		return -EINTR;
	while (remove_targets(true, 0)) {
		/* ROCS stays on: targets go on to leave, and what is wanted comes back. */
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_uninterruptible(1);
	}
	return mcube_policy_disable(&policy);
}

/**
 * rocs_enable() - switch the policy on or off
 * @on: true to switch it on.
 *
 * Context: process, sleeps.
 * Return: 0; -EINTR if a signal came; -ENXIO if perf does not have the events, or the colors
 * of the address map are colors of L2 alone; -ENODEV if the mcube allocator is off;
 * -EOPNOTSUPP if the address map has one color; -ERANGE if the share of the colors is none.
 */
int rocs_enable(bool on)
{
	int ret = mutex_lock_interruptible(&rocs_lock);

	if (ret)
		return ret;
	if (on != rocs_enabled())
		ret = on ? enable() : disable();
	mutex_unlock(&rocs_lock);
	return ret;
}

/**
 * rocs_set_reserve() - set which share of the colors is requested
 * @share: in sixteenths of all colors, 1..MCUBE_RESERVE_MAX.
 *
 * Context: process, sleeps.
 * Return: 0, -EBUSY while the policy is on, or -EINTR.
 */
int rocs_set_reserve(unsigned int share)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
	if (mcube_policy_enabled(&policy))
		ret = -EBUSY;
	else
		rocs_config.reserve = share;
	mcube_policy_unlock();
	return ret;
}

/**
 * rocs_set_event() - describe an event
 * @e: the event.
 * @desc: its description.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0, or -EBUSY while the policy is on.
 */
int rocs_set_event(enum rocs_event e, const struct rocs_event_desc *desc)
{
	if (rocs_enabled())
		return -EBUSY;
	rocs_config.event[e] = *desc;
	return 0;
}

/**
 * rocs_control_init() - make what the tick needs
 *
 * Return: 0 or -ENOMEM.
 */
int rocs_control_init(void)
{
	int ret;

	/* Nothing moves while the system suspends. */
	queue = alloc_workqueue("mcube_rocs", WQ_UNBOUND | WQ_FREEZABLE, 1);
	if (!queue)
		return -ENOMEM;
	ret = rocs_sample_init(wake);
	if (ret)
		destroy_workqueue(queue);
	return ret;
}

/**
 * rocs_control_exit() - switch off, and undo rocs_control_init()
 *
 * Context: process, sleeps; nobody can switch the policy on any more.
 */
void rocs_control_exit(void)
{
	scoped_guard(mutex, &rocs_lock) {
		while (remove_targets(true, 0))
			schedule_timeout_uninterruptible(1);
		mcube_policy_remove(&policy);
	}
	rocs_sample_stop();
	cancel_delayed_work_sync(&tick);
	rocs_sample_exit();
	destroy_workqueue(queue);
}
