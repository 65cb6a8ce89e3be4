// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: a process and its counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   struct rocs_target         struct rocs_thread          perf
 *   mm, plan, profile    --->  task                  --->  cycles, instructions,
 *   total counts                events                     refs, misses
 *                                                          sampled, in a profile:
 *                                                          hits, misses
 *
 * Each look finds the threads of the process, makes events for new threads, adds what
 * was counted since the last look to the totals, and lets go of threads that have
 * ended.  Events that perf hands on to new threads by itself (inherit) would save the
 * look for threads; but nobody can tell then whether a thread that was being created
 * while events were made has events or not.
 *
 * A target does not keep the memory of its process alive: it holds the mm_struct by
 * mmgrab(), and each use of the memory begins with mmget_not_zero().  A process that
 * executes another program has another mm, and is a new target.
 *
 * Differences from the paper (Soares, Tam and Stumm, MICRO 2008): the paper has one
 * single-threaded process.
 */

#include <linux/err.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "internal.h"

#include <trace/events/mcube_rocs.h>

/* A profile begins with room for 3072 pages. */
#define FIRST_SLOTS	4096U

static void release_event(struct rocs_thread *th, enum rocs_event e)
{
	if (th->event[e])
		perf_event_release_kernel(th->event[e]);
	th->event[e] = NULL;
}

static void thread_release(struct rocs_target *t, struct rocs_thread *th)
{
	enum rocs_event e;

	for (e = 0; e < ROCS_NR_EVENTS; e++)
		release_event(th, e);
	put_task_struct(th->task);
	list_del(&th->node);
	t->nr_threads--;
	kfree(th);
}

/*
 * A program that goes through memory in equal steps would be sampled at the same places
 * again and again by a period that is a multiple of the step.  So periods are up to an
 * eighth longer, differently in each window, and odd where the PMU takes odd periods.
 */
static u64 period_now(const struct rocs_target *t)
{
	u32 more = hash_32(t->windows, 32) % (t->period / 8 + 1);

	return t->period + (rocs_config.odd_periods ? more | 1 : round_down(more, 16));
}

static int create_event(struct rocs_target *t, struct rocs_thread *th,
			enum rocs_event e)
{
	struct perf_event *event;

	if (!rocs_config.event[e].used || th->event[e])
		return 0;
	event = rocs_event_create(e, th->task, period_now(t), t->nr);
	if (IS_ERR(event))
		return PTR_ERR(event);
	th->event[e] = event;
	return 0;
}

/* Sampled events of a thread, all or none. */
static int thread_sample(struct rocs_target *t, struct rocs_thread *th, bool on)
{
	enum rocs_event e;
	int ret = 0;

	for (e = ROCS_NR_COUNTERS; e < ROCS_NR_EVENTS && on && !ret; e++)
		ret = create_event(t, th, e);
	for (e = ROCS_NR_COUNTERS; e < ROCS_NR_EVENTS && (!on || ret); e++)
		release_event(th, e);
	return ret;
}

/*
 * Add a thread with its counters.  A thread that ends at this moment has no events,
 * and a thread whose events perf refuses is not counted: the next look tries again.
 */
static void thread_add(struct rocs_target *t, struct task_struct *task)
{
	struct rocs_thread *th = kzalloc(sizeof(*th), GFP_KERNEL);
	enum rocs_event e;
	int ret = 0;

	if (!th)
		return;
	th->task = get_task_struct(task);
	list_add_tail(&th->node, &t->threads);
	t->nr_threads++;
	for (e = 0; e < ROCS_NR_COUNTERS && !ret; e++)
		ret = create_event(t, th, e);
	if (!ret && t->plan.state == ROCS_PROFILE)
		ret = thread_sample(t, th, true);
	if (ret)
		thread_release(t, th);
}

/* What perf says of the counters of a thread. */
struct reading {
	struct rocs_thread *th;
	bool done;
	struct {
		u64 count;
		u64 enabled;
		u64 running;
	} of[ROCS_NR_COUNTERS];
};

/* On the CPU where the thread ran a moment ago. */
static void read_here(void *info)
{
	struct reading *r = info;
	enum rocs_event e;

	if (r->th->task != current)
		return;
	for (e = 0; e < ROCS_NR_COUNTERS; e++)
		if (perf_event_read_local(r->th->event[e], &r->of[e].count,
					  &r->of[e].enabled, &r->of[e].running))
			return;
	r->done = true;
}

/*
 * perf interrupts the CPU of a running thread for each event that it reads, so that CPU is
 * asked once for all events.  No CPU is asked if the thread does not run.
 */
static void read_all(struct reading *r)
{
	struct perf_event **event = r->th->event;
	enum rocs_event e;
	int cpu = -1;

	/* An event that waits for a counter is on no CPU. */
	for (e = 0; e < ROCS_NR_COUNTERS && cpu < 0; e++)
		cpu = READ_ONCE(event[e]->oncpu);
	if (cpu >= 0)
		smp_call_function_single(cpu, read_here, r, 1);
	for (e = 0; e < ROCS_NR_COUNTERS && !r->done; e++)
		r->of[e].count = perf_event_read_value(event[e], &r->of[e].enabled,
						       &r->of[e].running);
}

/*
 * The count since the last reading, as if the event had run all the time.  While the event
 * waits for a counter, nothing is known, and the next reading covers that time.
 */
static u64 since(struct rocs_thread *th, const struct reading *r, enum rocs_event e)
{
	u64 enabled = r->of[e].enabled, running = r->of[e].running, count = r->of[e].count;
	u64 wanted = enabled - th->read[e].enabled, had = running - th->read[e].running;
	u64 more;

	/* An event that had a counter for a thousandth of the time says little yet. */
	if (!had || had < wanted / 1024)
		return 0;
	/* A virtual machine that goes back in time takes its counters along. */
	more = count > th->read[e].count ? count - th->read[e].count : 0;
	if (had < wanted)
		more = mul_u64_u64_div_u64(min(more, 1ULL << 50), wanted, had);
	th->read[e].count = count;
	th->read[e].enabled = enabled;
	th->read[e].running = running;
	return more;
}

static void thread_read(struct rocs_target *t, struct rocs_thread *th)
{
	u64 ran = READ_ONCE(th->task->se.sum_exec_runtime);
	struct reading r = { .th = th };

	/* To read events of a running thread interrupts its CPU. */
	if (ran == th->ran && !task_is_running(th->task))
		return;
	th->ran = ran;
	read_all(&r);
	t->total.cycles += since(th, &r, ROCS_CYCLES);
	t->total.instructions += since(th, &r, ROCS_INSTRUCTIONS);
	t->total.refs += since(th, &r, ROCS_REFS);
	t->total.misses += since(th, &r, ROCS_MISSES);
}

static bool is_known(struct rocs_target *t, const struct task_struct *task)
{
	struct rocs_thread *th;

	list_for_each_entry(th, &t->threads, node)
		if (th->task == task)
			return true;
	return false;
}

/*
 * Collect new threads, each with a reference.  A process with more threads than are
 * counted is not walked.
 * Return: number of new threads.
 */
static unsigned int find_threads(struct rocs_target *t, struct task_struct **new,
				 unsigned int room)
{
	struct task_struct *leader, *task;
	unsigned int nr = 0;

	if (!room)
		return 0;
	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, task) {
			if (READ_ONCE(task->flags) & PF_EXITING || is_known(t, task))
				continue;
			new[nr++] = get_task_struct(task);
			if (nr == room)
				break;
		}
	}
	rcu_read_unlock();
	return nr;
}

/**
 * rocs_target_look() - find the threads of a target and read its counters
 * @t: the target.
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_target_look(struct rocs_target *t)
{
	struct task_struct *new[16];
	struct rocs_thread *th, *next;
	unsigned int nr, i, room;
	bool ended;

	/* A process that makes many threads at once is found out within a few looks. */
	room = min_t(unsigned int, ARRAY_SIZE(new), ROCS_THREADS_MAX - t->nr_threads);
	nr = find_threads(t, new, room);
	list_for_each_entry_safe(th, next, &t->threads, node) {
		ended = READ_ONCE(th->task->flags) & PF_EXITING;
		thread_read(t, th);
		if (ended)
			thread_release(t, th);
	}
	for (i = 0; i < nr; i++) {
		thread_add(t, new[i]);
		put_task_struct(new[i]);
	}
}

/**
 * rocs_target_set_period() - set the sampling period of a target
 * @t: the target.
 * @period: events between two samples, or a few more.
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_target_set_period(struct rocs_target *t, u32 period)
{
	struct rocs_thread *th;
	enum rocs_event e;

	t->period = period;
	list_for_each_entry(th, &t->threads, node)
		for (e = ROCS_NR_COUNTERS; e < ROCS_NR_EVENTS; e++)
			if (th->event[e])
				perf_event_period(th->event[e], period_now(t));
}

/**
 * rocs_target_sample() - begin or end to sample the accesses of a target
 * @t: the target.
 * @on: true to begin.
 *
 * A profile begins empty, and goes when sampling ends: its stack stays.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0, or an error; nothing is sampled then.
 */
int rocs_target_sample(struct rocs_target *t, bool on)
{
	struct rocs_thread *th;
	struct rocs_page *slot;
	int ret = 0;

	if (on) {
		slot = kvmalloc_array(FIRST_SLOTS, sizeof(*slot), GFP_KERNEL);
		if (!slot)
			return -ENOMEM;
		rocs_profile_init(&t->profile, slot, FIRST_SLOTS);
		t->samples = 0;
	}
	list_for_each_entry(th, &t->threads, node) {
		ret = thread_sample(t, th, on && !ret) ?: ret;
		if (ret == -ESRCH)	/* the thread has ended */
			ret = 0;
	}
	if (ret) {
		list_for_each_entry(th, &t->threads, node)
			thread_sample(t, th, false);
	}
	if (!on || ret) {
		kvfree(t->profile.slot);
		t->profile = (struct rocs_profile){ };
	}
	return ret;
}

/**
 * rocs_target_find() - the target that a process is
 * @pid: the process.
 *
 * Context: rocs_lock held.
 * Return: the target, or NULL.
 */
struct rocs_target *rocs_target_find(const struct pid *pid)
{
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i] && rocs_targets[i]->pid == pid)
			return rocs_targets[i];
	return NULL;
}

/**
 * rocs_target_gone() - has the process ended, or does it run another program?
 * @t: the target.
 *
 * Return: true if the memory of the target is not that of its process.
 */
bool rocs_target_gone(const struct rocs_target *t)
{
	const struct task_struct *leader;
	bool gone = true;
	const struct task_struct *task;

	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader) {
		/* The leader may end before other threads. */
		for_each_thread(leader, task) {
			if (READ_ONCE(task->mm) == t->mm)
				gone = false;
		}
	}
	rcu_read_unlock();
	return gone;
}

/* The memory of a process, with a reference.  The leader may end before other threads. */
static struct mm_struct *memory_of(const struct task_struct *leader)
{
	struct task_struct *task, *found = NULL;
	struct mm_struct *mm;

	rcu_read_lock();
	for_each_thread(leader, task) {
		if (READ_ONCE(task->mm)) {
			found = get_task_struct(task);
			break;
		}
	}
	rcu_read_unlock();
	if (!found)
		return NULL;
	/* get_task_mm() refuses kernel threads. */
	mm = get_task_mm(found);
	put_task_struct(found);
	return mm;
}

/* A target with a number and with memory that no other target has. */
static struct rocs_target *make_target(struct mm_struct *mm)
{
	unsigned int nr = ROCS_TARGETS_MAX, i;
	struct rocs_target *t;

	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		if (!rocs_targets[i])
			nr = i;
		else if (rocs_targets[i]->mm == mm)
			return ERR_PTR(-EEXIST);
	}
	if (nr == ROCS_TARGETS_MAX)
		return ERR_PTR(-ENOSPC);
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->nr = nr;
	t->mm = mm;
	mmgrab(mm);
	return t;
}

/**
 * rocs_target_add() - make a process a target
 * @leader: leader of the process, referenced by the caller.
 * @why: why it becomes a target.
 * @epoch: epoch of the policy.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0; -ENOSPC if there are too many targets, -EEXIST if another process
 * with the same memory is a target, -ESRCH if the process has no memory, -ENOMEM.
 */
int rocs_target_add(struct task_struct *leader, enum rocs_why why, unsigned int epoch)
{
	struct mm_struct *mm = memory_of(leader);
	struct rocs_target *t;

	if (!mm)
		return -ESRCH;
	t = make_target(mm);
	mmput_async(mm);
	if (IS_ERR(t))
		return PTR_ERR(t);
	t->epoch = epoch;
	t->partition = READ_ONCE(rocs_partitions);
	t->why = why;
	t->pid = get_task_pid(leader, PIDTYPE_TGID);
	get_task_comm(t->comm, leader);
	INIT_LIST_HEAD(&t->threads);
	rocs_plan_init(&t->plan);
	rocs_targets[t->nr] = t;
	rocs_target_look(t);
	rocs_count(ROCS_STAT_TARGETS, 1);
	trace_mcube_rocs_target(pid_nr(t->pid), why, true);
	return 0;
}

/* Nothing is counted, sampled or planned any more. */
static void leave(struct rocs_target *t)
{
	struct rocs_thread *th, *next;

	t->leaving = true;
	trace_mcube_rocs_target(pid_nr(t->pid), t->why, false);
	if (t->plan.state == ROCS_PROFILE)
		rocs_prefetch_profiles(-1);
	list_for_each_entry_safe(th, next, &t->threads, node)
		thread_release(t, th);
	/* No CPU writes samples of this target any more: read the last ones. */
	rocs_sample_drain();
}

/**
 * rocs_target_remove() - let go of a process
 * @t: the target, which may be leaving already; freed if it has left.
 *
 * Pages of the process that are in the partition move out, unless the process has
 * ended: so many in a call.  Each tick calls this function for targets that are leaving.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: true if the target has left, false if it has pages that shall move out.
 */
bool rocs_target_remove(struct rocs_target *t)
{
	if (!t->leaving)
		leave(t);
	if (rocs_move_out(t))
		return false;
	rocs_targets[t->nr] = NULL;
	mmdrop(t->mm);
	put_pid(t->pid);
	kvfree(t->profile.slot);
	kvfree(t->stack);
	kfree(t);
	return true;
}
