// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: which processes are targets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A process becomes a target for one of three reasons:
 *
 *   its PID was written to "pids"         until it ends, or the PID is taken out
 *   it is in the cgroup of "cgroup"       while it is there and busy
 *   "auto" is 1, and it is busy           while it is busy
 *
 * Busy means that its threads that can run now use an eighth of a CPU, by the average
 * that the scheduler keeps of each thread.  (The average of a sleeping thread stays as
 * it is until the thread wakes up.)  So no state is kept for processes that are no
 * targets.  The plan of a target then looks at its misses (plan.c): a process that
 * misses rarely is watched, and neither profiled nor moved.
 *
 * There are %ROCS_TARGETS_MAX targets at most.  Busy processes come in the order of
 * their PIDs, from the last process that was tried on.  A target makes room for the
 * next process if it has shown that it misses rarely, if it was searched in vain, or if
 * it has no windows: a process that spends its time in the kernel has none.  A process
 * that was chosen by its PID takes the place of any target that was not.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 5.1.  The paper has one process,
 * and profiles it if it misses the cache often.
 */

#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kernfs.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

/* Utilization of a CPU is 1024. */
#define BUSY		128UL
#define IDLE		32UL

/* Looks at all processes are a second apart; an idle target stays for so many. */
#define IDLE_LOOKS	30U

/* Windows after which a target that is only watched may make room. */
#define DULL_WINDOWS	4UL

/* Looks without a window after which any target may make room. */
#define DULL_LOOKS	10U

static struct pid *chosen[ROCS_TARGETS_MAX];
static unsigned int nr_chosen;
static struct cgroup *chosen_cgroup;
static unsigned int last_pid;		/* of the last candidate that was tried */
static unsigned long last_look;

/* Candidates in the order of their PIDs from last_pid on. */
struct candidates {
	unsigned int nr;
	unsigned int room;
	struct task_struct *task[ROCS_TARGETS_MAX];
};

static bool is_chosen(const struct pid *pid)
{
	unsigned int i;

	for (i = 0; i < nr_chosen; i++)
		if (chosen[i] == pid)
			return true;
	return false;
}

/* Context: RCU read side. */
static unsigned long utilization(const struct task_struct *leader)
{
	const struct task_struct *task;
	unsigned long sum = 0;

	for_each_thread(leader, task) {
		if (task_is_running(task))
			sum += READ_ONCE(task->se.avg.util_avg);
	}
	return sum;
}

/*
 * Is the process wanted for another reason than its PID?
 * Context: RCU read side.
 */
static bool is_wanted(struct task_struct *leader, enum rocs_why *why)
{
	if (chosen_cgroup && task_under_cgroup_hierarchy(leader, chosen_cgroup))
		*why = ROCS_CGROUP;
	else if (rocs_config.automatic)
		*why = ROCS_AUTO;
	else
		return false;
	return true;
}

/* Shall a target that was not chosen by its PID stay? */
static bool stays(struct rocs_target *t)
{
	struct task_struct *leader;
	bool stay = false;

	rcu_read_lock();
	leader = pid_task(t->pid, PIDTYPE_TGID);
	if (leader && is_wanted(leader, &t->why)) {
		t->idle = utilization(leader) < IDLE ? t->idle + 1 : 0;
		t->waiting++;
		stay = t->idle < IDLE_LOOKS;
	}
	rcu_read_unlock();
	return stay;
}

/* Order of a PID: the PIDs after last_pid come first. */
static unsigned int turn_of(const struct task_struct *task)
{
	return (unsigned int)task->tgid - last_pid - 1;
}

/* Keep the candidates whose turn comes first; at most as many as there is room. */
static void add_candidate(struct candidates *c, struct task_struct *task)
{
	unsigned int i = c->nr;

	if (c->nr == c->room) {
		if (turn_of(c->task[--i]) <= turn_of(task))
			return;
		put_task_struct(c->task[i]);
	} else {
		c->nr++;
	}
	for (; i && turn_of(c->task[i - 1]) > turn_of(task); i--)
		c->task[i] = c->task[i - 1];
	c->task[i] = get_task_struct(task);
}

static void find_candidates(struct candidates *c)
{
	struct task_struct *leader;
	enum rocs_why why;

	rcu_read_lock();
	for_each_process(leader) {
		if (leader->flags & PF_KTHREAD || !is_wanted(leader, &why) ||
		    rocs_target_find(task_tgid(leader)))
			continue;
		if (utilization(leader) >= BUSY)
			add_candidate(c, leader);
	}
	rcu_read_unlock();
}

/*
 * A target that can go: a target that is leaving already, a target without windows, or a
 * target that is only watched, above all if it has nothing to wait for; with @any also a
 * target whose pages have moved.
 */
static struct rocs_target *dull_target(bool any)
{
	struct rocs_target *t, *found = NULL;
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		t = rocs_targets[i];
		if (t && t->leaving)
			return t;
	}
	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		t = rocs_targets[i];
		if (!t || t->why == ROCS_CHOSEN)
			continue;
		if (t->waiting >= DULL_LOOKS)
			return t;
		if (t->plan.state == ROCS_WATCH && t->windows >= DULL_WINDOWS) {
			if (!t->plan.left)
				return t;
			found = t;
		} else if (any && !found) {
			found = t;
		}
	}
	return found;
}

/*
 * Add a target; where there are too many, a target that can go makes room, at once or
 * for a later look.
 */
static int add_target(struct task_struct *leader, enum rocs_why why, unsigned int epoch)
{
	struct rocs_target *dull;
	int ret;

	/* Only a process that can be a target takes the place of another target. */
	ret = rocs_target_add(leader, why, epoch);
	if (ret != -ENOSPC)
		return ret;
	dull = dull_target(why == ROCS_CHOSEN);
	if (!dull || !rocs_target_remove(dull))
		return ret;
	return rocs_target_add(leader, why, epoch);
}

static void pick_busy(unsigned int epoch)
{
	struct candidates c = { .room = ROCS_TARGETS_MAX };
	enum rocs_why why;
	unsigned int i;
	bool wanted, full = false;

	find_candidates(&c);
	for (i = 0; i < c.nr; i++) {
		rcu_read_lock();
		wanted = is_wanted(c.task[i], &why);
		rcu_read_unlock();
		if (wanted && !full)
			full = add_target(c.task[i], why, epoch) == -ENOSPC;
		/* A process that cannot be a target must not come first each time. */
		if (!full)
			last_pid = c.task[i]->tgid;
		put_task_struct(c.task[i]);
	}
}

/* A PID whose process has ended is forgotten. */
static void pick_chosen(unsigned int epoch)
{
	struct task_struct *leader;
	struct rocs_target *t;
	unsigned int i = 0;

	while (i < nr_chosen) {
		leader = get_pid_task(chosen[i], PIDTYPE_TGID);
		if (!leader) {
			put_pid(chosen[i]);
			chosen[i] = chosen[--nr_chosen];
			continue;
		}
		t = rocs_target_find(chosen[i]);
		if (t)
			t->why = ROCS_CHOSEN;
		else
			add_target(leader, ROCS_CHOSEN, epoch);
		put_task_struct(leader);
		i++;
	}
}

/* Looks at all processes are a second apart. */
static bool is_time(void)
{
	return !last_look || time_after_eq(jiffies, last_look + HZ);
}

/**
 * rocs_pick_drop() - drop targets that are not wanted any more
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_pick_drop(void)
{
	bool look = is_time();
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		struct rocs_target *t = rocs_targets[i];

		if (!t || t->leaving || is_chosen(t->pid))
			continue;
		if (t->why == ROCS_CHOSEN || (look && !stays(t)))
			rocs_target_remove(t);
	}
}

/**
 * rocs_pick_add() - add targets
 * @epoch: epoch of the policy.
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_pick_add(unsigned int epoch)
{
	pick_chosen(epoch);
	if (!is_time())
		return;
	last_look = jiffies;
	if (chosen_cgroup || rocs_config.automatic)
		pick_busy(epoch);
}

static void put_chosen(struct pid **pid, unsigned int nr)
{
	while (nr)
		put_pid(pid[--nr]);
}

static int find_pid(const char *word, struct pid **pid)
{
	struct task_struct *task;
	int ret, n;

	ret = kstrtoint(word, 0, &n);
	if (ret)
		return ret;
	if (n < 1)
		return -ERANGE;
	*pid = find_get_pid(n);
	task = get_pid_task(*pid, PIDTYPE_TGID);
	if (task && task->flags & PF_KTHREAD)
		ret = -EINVAL;
	else if (!task)
		ret = -ESRCH;
	if (task)
		put_task_struct(task);
	if (ret)
		put_pid(*pid);
	return ret;
}

/**
 * rocs_pick_set_pids() - choose processes
 * @text: PIDs of processes, as the writer sees them, separated by blanks.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0; -EINVAL if a word is no PID, or names a kernel thread, -ESRCH if there is
 * no such process, -E2BIG if there are too many words, -ENOMEM.
 */
int rocs_pick_set_pids(const char *text)
{
	struct pid *pid[ROCS_TARGETS_MAX];
	char *copy = kstrdup(text, GFP_KERNEL), *str = copy, *word;
	unsigned int nr = 0;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (!ret && (word = strsep(&str, " "))) {
		if (!*word)
			continue;
		if (nr == ROCS_TARGETS_MAX)
			ret = -E2BIG;
		else
			ret = find_pid(word, &pid[nr]);
		nr += !ret;
	}
	kfree(copy);
	if (ret) {
		put_chosen(pid, nr);
		return ret;
	}
	put_chosen(chosen, nr_chosen);
	memcpy(chosen, pid, nr * sizeof(*pid));
	nr_chosen = nr;
	return 0;
}

/**
 * rocs_pick_show_pids() - write the chosen PIDs
 * @buf: buffer of a file in sysfs.
 *
 * Context: rocs_lock held.
 * Return: length of the text.
 */
int rocs_pick_show_pids(char *buf)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < nr_chosen; i++)
		len += sysfs_emit_at(buf, len, i ? " %d" : "%d", pid_vnr(chosen[i]));
	return len + sysfs_emit_at(buf, len, "\n");
}

/**
 * rocs_pick_set_cgroup() - choose a cgroup
 * @path: path in the cgroup2 file system, or an empty string for no cgroup.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: 0, or an error if there is no such cgroup.
 */
int rocs_pick_set_cgroup(const char *path)
{
	struct cgroup *cgroup = NULL;

	if (*path) {
		cgroup = cgroup_get_from_path(path);
		if (IS_ERR(cgroup))
			return PTR_ERR(cgroup);
	}
	if (chosen_cgroup)
		cgroup_put(chosen_cgroup);
	chosen_cgroup = cgroup;
	last_look = 0;
	return 0;
}

/**
 * rocs_pick_show_cgroup() - write the path of the chosen cgroup
 * @buf: buffer of a file in sysfs.
 *
 * Context: rocs_lock held.
 * Return: length of the text, or an error if the path is too long.
 */
int rocs_pick_show_cgroup(char *buf)
{
	int len = 0;

	if (chosen_cgroup)
		len = kernfs_path(chosen_cgroup->kn, buf, PAGE_SIZE - 1);
	return len < 0 ? len : len + sysfs_emit_at(buf, len, "\n");
}

/**
 * rocs_pick_exit() - forget the choices
 *
 * Context: process, rocs_lock held.
 */
void rocs_pick_exit(void)
{
	put_chosen(chosen, nr_chosen);
	nr_chosen = 0;
	if (chosen_cgroup)
		cgroup_put(chosen_cgroup);
	chosen_cgroup = NULL;
}
