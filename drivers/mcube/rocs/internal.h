/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ROCS: what the files of the module share.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A target is a process whose pages ROCS profiles and moves.  Each file does one
 * thing with targets:
 *
 *   pick.c     which processes are targets
 *   target.c   a process and its counters
 *   event.c    perf events by their descriptions
 *   sample.c   samples, from the interrupt to the profile
 *   window.c   what happens after each window of measurements
 *   move.c     pages go to the pollute partition and back
 *   prefetch.c hardware prefetchers pause while accesses are sampled
 *   control.c  the policy, and the tick that calls the files above
 *   sysfs.c, debugfs.c, main.c
 *
 * The pure files profile.c, search.c, phase.c, plan.c and period.c decide.
 */
#ifndef _DRIVERS_MCUBE_ROCS_INTERNAL_H
#define _DRIVERS_MCUBE_ROCS_INTERNAL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "plan.h"
#include "profile.h"

struct cgroup;
struct mm_struct;
struct perf_event;
struct pid;
struct pt_regs;
struct task_struct;

/* Processes that can be targets at a time. */
#define ROCS_TARGETS_MAX	16U

/* Threads of a target that are counted; further threads are not measured. */
#define ROCS_THREADS_MAX	256U

/**
 * enum rocs_event - events that describe a process
 * @ROCS_CYCLES: cycles.
 * @ROCS_INSTRUCTIONS: instructions.
 * @ROCS_REFS: accesses to the last-level cache.
 * @ROCS_MISSES: misses of the last-level cache.
 * @ROCS_NR_COUNTERS: number of events that are counted.
 * @ROCS_SAMPLE_HIT: sampled: accesses that hit the last-level cache.
 * @ROCS_SAMPLE_MISS: sampled: accesses that miss the last-level cache.
 * @ROCS_NR_EVENTS: number of events.
 */
enum rocs_event {
	ROCS_CYCLES,
	ROCS_INSTRUCTIONS,
	ROCS_REFS,
	ROCS_MISSES,
	ROCS_NR_COUNTERS,
	ROCS_SAMPLE_HIT = ROCS_NR_COUNTERS,
	ROCS_SAMPLE_MISS,
	ROCS_NR_EVENTS,
};

#define ROCS_NR_SAMPLERS	(ROCS_NR_EVENTS - ROCS_NR_COUNTERS)

/**
 * struct rocs_event_desc - how perf is asked for an event
 * @used: false: there is no such event.
 * @type: perf_event_attr.type.
 * @precise: perf_event_attr.precise_ip, 0..3.
 * @config: perf_event_attr.config, config1 and config2.
 */
struct rocs_event_desc {
	bool used;
	u32 type;
	u32 precise;
	u64 config[3];
};

/**
 * struct rocs_config - settings
 * @event: descriptions of the events.
 * @plan: settings of the plans.
 * @reserve: share of the colors that is requested, in sixteenths; constant while the
 *           policy is on.
 * @window_kcycles: thousand cycles of a process in a window.
 * @tick_ms: milliseconds between two looks at the counters.
 * @stack_rate: pages with a lower miss rate never move, in percent.
 * @budget: share of the cycles of a process that sampling may cost, and of the time of a
 *          CPU that looks may take, in permille.
 * @sample_cost: cycles that a sample costs.
 * @profile_pages: pages that a profile has room for at most.
 * @pages_per_second: pages that may be moved in a second, over all targets.
 * @split_thp: split huge pages that have polluting pages.
 * @odd_periods: the PMU takes sampling periods that are no multiples of 16; found out
 *               when the policy goes on.
 * @prefetch_off: hardware prefetchers pause while accesses are sampled.
 * @automatic: busy processes become targets without being chosen.
 *
 * Guarded by rocs_lock, but @reserve by the policy lock.
 */
struct rocs_config {
	struct rocs_event_desc event[ROCS_NR_EVENTS];
	struct rocs_plan_config plan;
	unsigned int reserve;
	unsigned int window_kcycles;
	unsigned int tick_ms;
	unsigned int stack_rate;
	unsigned int budget;
	unsigned int sample_cost;
	unsigned int profile_pages;
	unsigned int pages_per_second;
	unsigned int split_thp;
	unsigned int prefetch_off;
	unsigned int automatic;
	bool odd_periods;
};

extern struct rocs_config rocs_config;

/* Guards settings, targets and all that belongs to targets; taken by the tick. */
extern struct mutex rocs_lock;

/**
 * enum rocs_stat - events since the module was loaded
 * @ROCS_STAT_SAMPLES: samples that were counted in a profile.
 * @ROCS_STAT_DROPPED: samples that found no room, in a ring or a profile.
 * @ROCS_STAT_MOVED_IN: pages that moved into the pollute partition.
 * @ROCS_STAT_MOVED_OUT: pages that moved out of the pollute partition.
 * @ROCS_STAT_REFUSED: pages that could not be moved.
 * @ROCS_STAT_SPLIT: huge pages that were split.
 * @ROCS_STAT_TARGETS: processes that became targets.
 * @ROCS_STAT_WINDOWS: windows that ended.
 * @ROCS_STAT_SEARCHES: searches that ended.
 * @ROCS_STAT_PHASES: new phases.
 * @ROCS_STAT_ROLLBACKS: searches whose gain did not last.
 * @ROCS_STAT_LOOKS: looks at the counters of all targets.
 * @ROCS_STAT_LOOK_US: microseconds that these looks took.
 * @ROCS_NR_STATS: number of counters.
 */
enum rocs_stat {
	ROCS_STAT_SAMPLES,
	ROCS_STAT_DROPPED,
	ROCS_STAT_MOVED_IN,
	ROCS_STAT_MOVED_OUT,
	ROCS_STAT_REFUSED,
	ROCS_STAT_SPLIT,
	ROCS_STAT_TARGETS,
	ROCS_STAT_WINDOWS,
	ROCS_STAT_SEARCHES,
	ROCS_STAT_PHASES,
	ROCS_STAT_ROLLBACKS,
	ROCS_STAT_LOOKS,
	ROCS_STAT_LOOK_US,
	ROCS_NR_STATS,
};

/* Guarded by rocs_lock; read without the lock for sysfs. */
extern unsigned long rocs_stat[ROCS_NR_STATS];

static inline void rocs_count(enum rocs_stat stat, unsigned long nr)
{
	WRITE_ONCE(rocs_stat[stat], rocs_stat[stat] + nr);
}

/**
 * struct rocs_thread - a thread of a target
 * @node: link in rocs_target.threads.
 * @task: the thread, referenced.
 * @event: its events, NULL where there is none.
 * @read: by counter: what perf said last: count, and the times that the event was
 *        enabled and that the event was running.
 * @ran: run time of the thread at the last look, in ns.
 */
struct rocs_thread {
	struct list_head node;
	struct task_struct *task;
	struct perf_event *event[ROCS_NR_EVENTS];
	struct {
		u64 count;
		u64 enabled;
		u64 running;
	} read[ROCS_NR_COUNTERS];
	u64 ran;
};

/**
 * enum rocs_why - why a process is a target
 * @ROCS_CHOSEN: its PID was written to "pids".
 * @ROCS_CGROUP: it is in the chosen cgroup.
 * @ROCS_AUTO: it is busy.
 */
enum rocs_why {
	ROCS_CHOSEN,
	ROCS_CGROUP,
	ROCS_AUTO,
};

/**
 * struct rocs_target - a process whose pages are profiled and moved
 * @nr: place in rocs_targets[].
 * @epoch: epoch of the policy in which it became a target.
 * @why: why it is a target.
 * @pid: the process, referenced.
 * @mm: its memory, referenced by mmgrab().
 * @comm: its name when it became a target.
 * @threads: its threads that are counted.
 * @nr_threads: number of @threads.
 * @total: counts since it became a target.
 * @begin: @total when the present window began.
 * @last: counts of the last window that ended.
 * @samples: samples that were taken in the present window.
 * @period: sampling period of the present profile or of the last one; 0: none yet.
 * @plan: its plan.
 * @profile: samples by page; without slots while nothing is sampled.
 * @stack: miss-rate stack of the last profile, or NULL.
 * @nr_stack: pages in @stack.
 * @partition: %rocs_partitions when its pages were last moved.
 * @in: pages from the top of @stack that were moved into the partition.
 * @most_in: pages from the top of @stack that may be in the partition, where the
 *           partition has changed since.
 * @moved: pages have moved since the last look: the window begins at the next one; while
 *         @leaving: pages moved when they were tried last.
 * @next: numbers the colors that pages moved out are given.
 * @idle: looks in a row that found the process idle.
 * @waiting: looks since the last window ended.
 * @windows: windows that ended.
 * @leaving: it is being removed: nothing is counted or sampled, and its pages move out.
 * @busy: while @leaving: how often the memory of the process was busy; less when pages move.
 */
struct rocs_target {
	unsigned int nr;
	unsigned int epoch;
	enum rocs_why why;
	struct pid *pid;
	struct mm_struct *mm;
	char comm[16];
	struct list_head threads;
	unsigned int nr_threads;
	struct rocs_window total;
	struct rocs_window begin;
	struct rocs_window last;
	u64 samples;
	u32 period;
	struct rocs_plan plan;
	struct rocs_profile profile;
	struct rocs_entry *stack;
	u32 nr_stack;
	unsigned int partition;
	u32 in;
	u32 most_in;
	bool moved;
	unsigned int next;
	unsigned int idle;
	unsigned int waiting;
	unsigned long windows;
	bool leaving;
	unsigned int busy;
};

/* By number; NULL where there is none.  Guarded by rocs_lock. */
extern struct rocs_target *rocs_targets[ROCS_TARGETS_MAX];

/* How often the colors of the partition have changed; written with the policy lock held. */
extern unsigned int rocs_partitions;

/* event.c */
int rocs_event_parse(const char *text, struct rocs_event_desc *desc);
int rocs_event_show(char *buf, const struct rocs_event_desc *desc);
struct perf_event *rocs_event_create(enum rocs_event e, struct task_struct *task,
				     u64 period, unsigned int target);
int rocs_event_check(enum rocs_event *failed);
int rocs_event_hit(u64 source, int fallback);
bool rocs_event_of_process(struct pt_regs *regs, u64 addr);
u64 rocs_event_most(const struct rocs_window *w);
extern const char * const rocs_event_names[ROCS_NR_EVENTS];

/* sample.c */
int rocs_sample_init(void (*wake)(void));
void rocs_sample_stop(void);
void rocs_sample_exit(void);
void rocs_sample_drain(void);
void rocs_sample_taken(unsigned int target);
void rocs_sample_push(unsigned int target, u64 addr, bool miss);

/* target.c */
int rocs_target_add(struct task_struct *leader, enum rocs_why why, unsigned int epoch);
bool rocs_target_remove(struct rocs_target *t);
void rocs_target_look(struct rocs_target *t);
int rocs_target_sample(struct rocs_target *t, bool on);
void rocs_target_set_period(struct rocs_target *t, u32 period);
struct rocs_target *rocs_target_find(const struct pid *pid);
bool rocs_target_gone(const struct rocs_target *t);

/* window.c */
void rocs_window_look(struct rocs_target *t);
bool rocs_window_move(struct rocs_target *t);

/* move.c */
bool rocs_move_some(struct rocs_target *t, struct mm_struct *mm);
bool rocs_move_out(struct rocs_target *t);

/* pick.c */
int rocs_pick_set_pids(const char *text);
int rocs_pick_show_pids(char *buf);
int rocs_pick_set_cgroup(const char *path);
int rocs_pick_show_cgroup(char *buf);
void rocs_pick_drop(void);
void rocs_pick_add(unsigned int epoch);
void rocs_pick_exit(void);

/* prefetch.c */
bool rocs_prefetch_contended(u32 vfm);
bool rocs_prefetch_known(void);
bool rocs_prefetch_too_long(void);
bool rocs_prefetch_may_pause(void);
int rocs_prefetch_init(void);
void rocs_prefetch_exit(void);
void rocs_prefetch_profiles(int more);

/* control.c */
int rocs_control_init(void);
void rocs_control_exit(void);
int rocs_enable(bool on);
bool rocs_enabled(void);
int rocs_set_reserve(unsigned int share);
int rocs_set_event(enum rocs_event e, const struct rocs_event_desc *desc);

/* sysfs.c */
int rocs_sysfs_init(void);
void rocs_sysfs_exit(void);

/* debugfs.c */
void rocs_debugfs_init(void);
void rocs_debugfs_exit(void);

#endif /* _DRIVERS_MCUBE_ROCS_INTERNAL_H */
