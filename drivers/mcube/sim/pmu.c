// SPDX-License-Identifier: GPL-2.0
/*
 * A perf PMU with the counters of a modelled memory hierarchy.
 *
 *	guest task   mov (%rdx), %rax
 *	    |
 *	    |  TCG: a callback for each load and store
 *	    v
 *	QEMU plugin  L1, L2, shared LLC, DRAM rows
 *	    |
 *	    |  memory shared through an ivshmem BAR, shm.h:
 *	    |  struct sim_cpu [] counters, samplers | sim_sample [][] rings
 *	    v
 *	this PMU     add/start: note the counter, arm a sampler
 *	    |        stop/del:  difference; samples out of the ring
 *	    |        switch of tasks, timer: samples out of the ring
 *	    v
 *	perf core    perf stat, perf record, kernel users
 *
 * Counting: the counters of a CPU always run and are 64 bits wide. An event
 * takes differences of these counters, so any number of events counts without
 * multiplexing.
 *
 * Sampling: each CPU has SIM_SAMPLERS samplers, which all write to the ring of
 * that CPU without an interrupt; a full ring drops samples. perf attributes a
 * sample to the task that runs when the sample is delivered. So the ring is
 * drained before another task runs, by perf's hook in the context switch, when
 * an event stops, and by a timer in between. The rest of a period stays with
 * the event, so samples times period is the count even where tasks share a CPU.
 *
 * A sample holds data address, level, latency and instruction of the access.
 * Registers, stacks and call chains are not recorded at the access. Events that
 * ask for them are refused: the values at the time of delivery would belong to
 * other code. The model does not know user from kernel mode either, so events
 * that exclude a mode are refused, too.
 *
 * The context is perf_hw_context. In perf_sw_context, the context of software
 * events, adding an event must never fail, but samplers can be exhausted. In
 * perf_hw_context, perf multiplexes the events when samplers are exhausted, and
 * software events can join their groups.
 *
 * The driver cannot be a module: perf_event_overflow() is not exported.
 */

#include <linux/capability.h>
#include <linux/hrtimer.h>
#include <linux/kstrtox.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sysfs.h>

#include <asm/segment.h>

#include "internal.h"

/* The first period of an event with attr.freq; the tick adapts it. */
#define SIM_FIRST_PERIOD	1000

/* Limits of drain_us. */
#define SIM_DRAIN_MIN		50
#define SIM_DRAIN_MAX		100000

#define SIM_SAMPLE_TYPES						\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |		\
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | PERF_SAMPLE_ID |		\
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID |	\
	 PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |		\
	 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PHYS_ADDR |		\
	 PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |		\
	 PERF_SAMPLE_CODE_PAGE_SIZE)

/* Each of these events happens at one access; other events have no address. */
static const unsigned long sim_can_sample =
	BIT(SIM_ACCESSES) | BIT(SIM_STORES) | BIT(SIM_L1_MISSES) |
	BIT(SIM_L2_MISSES) | BIT(SIM_LLC_REFS) | BIT(SIM_LLC_MISSES) |
	BIT(SIM_ROW_HITS) | BIT(SIM_ROW_CONFLICTS) |
	BIT(SIM_COHERENCE_MISSES);

/**
 * struct sim_sampling - sampling on one CPU
 * @event: the event of each sampler, NULL for a free sampler
 * @nr: number of samplers in use
 * @draining: samples are being delivered, which can stop an event
 * @lost: the part of sim_cpu.lost that was reported to perf
 * @timer: drains the ring while @nr is not 0
 *
 * Changed only on that CPU, with interrupts off.
 */
struct sim_sampling {
	struct perf_event *event[SIM_SAMPLERS];
	unsigned int nr;
	bool draining;
	u64 lost;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct sim_sampling, sim_sampling);

static unsigned int sim_drain_us = 500;

static ktime_t sim_drain_period(void)
{
	return ns_to_ktime((u64)READ_ONCE(sim_drain_us) * NSEC_PER_USEC);
}

/*
 * Samples
 */

static u64 sim_data_src(u32 flags)
{
	u64 op = flags & SIM_SAMPLE_STORE ? PERF_MEM_S(OP, STORE) :
					    PERF_MEM_S(OP, LOAD);
	u64 rest = PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA);

	/* As on real machines: the last level found the line in another CPU. */
	if ((flags & SIM_SAMPLE_LEVEL) == SIM_SAMPLE_OTHER)
		return op | rest | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L3) |
		       PERF_MEM_S(LVLNUM, L3) | PERF_MEM_S(SNOOP, HITM);

	rest |= PERF_MEM_S(SNOOP, NA);
	switch (flags & SIM_SAMPLE_LEVEL) {
	case 1:
		return op | rest | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L1) |
		       PERF_MEM_S(LVLNUM, L1);
	case 2:
		return op | rest | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L2) |
		       PERF_MEM_S(LVLNUM, L2);
	case 3:
		return op | rest | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, L3) |
		       PERF_MEM_S(LVLNUM, L3);
	case 4:
		return op | rest | PERF_MEM_S(LVL, HIT) |
		       PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVLNUM, RAM);
	default:
		return op | rest | PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA);
	}
}

static void sim_halt(struct perf_event *event);

static void sim_deliver(struct perf_event *event, const struct sim_sample *s)
{
	struct perf_sample_data data;
	struct pt_regs regs = { };

	perf_sample_data_init(&data, 0, event->hw.last_period);
	data.addr = s->vaddr;
	data.phys_addr = s->paddr;
	data.weight.full = s->latency;
	data.data_src.val = sim_data_src(s->flags);
	data.sample_flags |= PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR |
			     PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC;

	/* The core takes only the address and the mode from the registers. */
	regs.ip = s->ip;
	regs.cs = (long)s->ip < 0 ? __KERNEL_CS : __USER_CS;

	/*
	 * The core also derives the rate from the time between overflows. That
	 * time is meaningless here, since samples are delivered in batches.
	 * Without it the core takes the rate from the count at each tick.
	 */
	event->hw.freq_time_stamp = 0;

	if (perf_event_overflow(event, &data, &regs)) {
		sim_halt(event);
		event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	}
}

/*
 * Deliver the samples in the ring of this CPU to the current task. Interrupts
 * are off.
 */
static void sim_drain(struct sim_sampling *sampling)
{
	unsigned int cpu = smp_processor_id(), i;
	const struct sim_sample *ring = sim_ring(cpu), *s;
	struct sim_cpu *c = sim_cpu(cpu);
	u64 dropped[SIM_SAMPLERS] = { }, lost;
	struct perf_event *event;
	u32 head, tail;

	/* Delivering a sample may stop an event, which drains the ring again. */
	if (sampling->draining)
		return;
	sampling->draining = true;

	/* Pairs with the release of head in the plugin: the samples are written. */
	head = smp_load_acquire(&c->head);
	for (tail = READ_ONCE(c->tail); tail != head; tail++) {
		s = &ring[tail % SIM_RING_SIZE];
		i = s->sampler % SIM_SAMPLERS;
		event = sampling->event[i];
		if (event && !(event->hw.state & PERF_HES_STOPPED))
			sim_deliver(event, s);
		else
			dropped[i]++;
	}
	/* The samples are read; the plugin may overwrite them. */
	smp_store_release(&c->tail, head);

	/* The plugin counts the samples of all samplers that found a full ring. */
	lost = READ_ONCE(c->lost);
	if (lost != sampling->lost)
		for (i = 0; i < SIM_SAMPLERS; i++)
			if (sampling->event[i]) {
				dropped[i] += lost - sampling->lost;
				break;
			}
	sampling->lost = lost;

	for (i = 0; i < SIM_SAMPLERS; i++)
		if (dropped[i] && sampling->event[i])
			perf_log_lost_samples(sampling->event[i], dropped[i]);

	sampling->draining = false;
}

static enum hrtimer_restart sim_timer(struct hrtimer *timer)
{
	struct sim_sampling *sampling =
		container_of(timer, struct sim_sampling, timer);

	/* The timer of a CPU that went offline moves here; it has no samplers. */
	if (!sampling->nr)
		return HRTIMER_NORESTART;

	sim_drain(sampling);
	hrtimer_forward_now(timer, sim_drain_period());
	return HRTIMER_RESTART;
}

/* Deliver the samples of this task before another task runs. */
static void sim_sched_task(struct perf_event_pmu_context *pmu_ctx,
			   struct task_struct *task, bool sched_in)
{
	if (sched_in)
		return;
	sim_sync();
	sim_drain(this_cpu_ptr(&sim_sampling));
}

/*
 * Counters
 */

static u64 sim_count(const struct perf_event *event)
{
	return READ_ONCE(sim_cpu(smp_processor_id())->count[event->hw.config]);
}

/* The counter must be up to date. */
static void sim_update(struct perf_event *event)
{
	u64 now = sim_count(event);
	u64 prev = local64_xchg(&event->hw.prev_count, now);

	local64_add(now - prev, &event->count);
}

static struct sim_sampler *sim_sampler(const struct perf_event *event)
{
	return &sim_cpu(smp_processor_id())->sampler[event->hw.idx];
}

/*
 * The plugin reads the samplers in each weave. A change of a sampler therefore
 * needs two syncs. The first applies the old state to the accesses up to now,
 * the second makes the new state take effect.
 */

/*
 * Bring count and period up to date and stop sampling. The ring may still hold
 * samples of the event.
 */
static void sim_halt(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	struct sim_sampler *sampler;

	sim_sync();
	sim_update(event);
	if (is_sampling_event(event)) {
		sampler = sim_sampler(event);
		WRITE_ONCE(sampler->period, 0);
		sim_sync();
		local64_set(&hwc->period_left, READ_ONCE(sampler->left));
	}
}

static void sim_event_start(struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;
	struct sim_sampler *sampler;
	u64 left;

	if (WARN_ON_ONCE(!(hwc->state & PERF_HES_STOPPED)))
		return;

	hwc->state = 0;
	sim_sync();
	if (is_sampling_event(event)) {
		left = local64_read(&hwc->period_left);
		if (!left || left > hwc->sample_period)
			left = hwc->sample_period;
		hwc->last_period = hwc->sample_period;

		sampler = sim_sampler(event);
		WRITE_ONCE(sampler->event, hwc->config);
		WRITE_ONCE(sampler->left, left);
		/* This arms the sampler. */
		smp_store_release(&sampler->period, hwc->sample_period);
		sim_sync();
	}
	local64_set(&hwc->prev_count, sim_count(event));
}

static void sim_event_stop(struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;

	if (hwc->state & PERF_HES_STOPPED)
		return;

	/* Drain before the state changes: a stopped event gets no samples. */
	sim_halt(event);
	if (is_sampling_event(event))
		sim_drain(this_cpu_ptr(&sim_sampling));
	hwc->state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int sim_event_add(struct perf_event *event, int flags)
{
	struct sim_sampling *sampling = this_cpu_ptr(&sim_sampling);
	struct hw_perf_event *hwc = &event->hw;
	int i;

	if (is_sampling_event(event)) {
		for (i = 0; i < SIM_SAMPLERS; i++)
			if (!sampling->event[i])
				break;
		if (i == SIM_SAMPLERS)
			return -EAGAIN;

		sampling->event[i] = event;
		hwc->idx = i;
		perf_sched_cb_inc(event->pmu);
		if (!sampling->nr++ && !hrtimer_is_queued(&sampling->timer))
			hrtimer_start(&sampling->timer, sim_drain_period(),
				      HRTIMER_MODE_REL_PINNED_HARD);
	}

	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		sim_event_start(event, flags);
	perf_event_update_userpage(event);
	return 0;
}

static void sim_event_del(struct perf_event *event, int flags)
{
	struct sim_sampling *sampling = this_cpu_ptr(&sim_sampling);

	sim_event_stop(event, PERF_EF_UPDATE);
	if (is_sampling_event(event)) {
		/*
		 * A throttled event may have samples left in the ring. The
		 * next event of this sampler must not get them.
		 */
		sim_drain(sampling);
		perf_sched_cb_dec(event->pmu);
		sampling->event[event->hw.idx] = NULL;
		sampling->nr--;
	}
	perf_event_update_userpage(event);
}

static void sim_event_read(struct perf_event *event)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	sim_sync();
	sim_update(event);
}

/*
 * Creation of events
 */

/* A group that needs more than SIM_SAMPLERS samplers would never run. */
static bool sim_group_fits(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *other;
	unsigned int n = 1;

	if (leader == event)
		return true;
	if (leader->pmu == event->pmu && is_sampling_event(leader))
		n++;
	for_each_sibling_event(other, leader)
		n += other->pmu == event->pmu && is_sampling_event(other);
	return n <= SIM_SAMPLERS;
}

static int sim_check_sampling(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	struct hw_perf_event *hwc = &event->hw;

	if (!(sim_can_sample & BIT(attr->config)))
		return -EOPNOTSUPP;
	if (attr->sample_type & ~SIM_SAMPLE_TYPES)
		return -EOPNOTSUPP;
	/* With perf_event_paranoid 1 the core gives anybody physical addresses. */
	if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR && !event->parent &&
	    !perfmon_capable())
		return -EACCES;
	/* Signals would arrive long after the access. */
	if (attr->sigtrap)
		return -EOPNOTSUPP;
	if (!sim_group_fits(event))
		return -EINVAL;

	if (attr->freq) {
		/* The tick adapts the periods of group leaders only. */
		if (event->group_leader != event)
			return -EINVAL;
		hwc->sample_period = SIM_FIRST_PERIOD;
		hwc->last_period = SIM_FIRST_PERIOD;
		local64_set(&hwc->period_left, SIM_FIRST_PERIOD);
	}
	event->attach_state |= PERF_ATTACH_SCHED_CB;
	return 0;
}

static void sim_event_destroy(struct perf_event *event)
{
	mcube_sim_put();
}

static int sim_event_init(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	int err;

	if (attr->type != event->pmu->type)
		return -ENOENT;
	if (attr->config >= SIM_NR_EVENTS || attr->config1 || attr->config2 ||
	    attr->config3)
		return -EINVAL;
	if (is_sampling_event(event)) {
		err = sim_check_sampling(event);
		if (err)
			return err;
	}

	err = mcube_sim_get();
	if (err)
		return err;
	event->hw.config = attr->config;
	event->destroy = sim_event_destroy;
	return 0;
}

/*
 * sysfs
 */

static ssize_t sim_event_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct perf_pmu_events_attr *event =
		container_of(attr, struct perf_pmu_events_attr, attr);

	return sysfs_emit(buf, "event=0x%02llx\n", event->id);
}

#define SIM_EVENT(name, id)	PMU_EVENT_ATTR_ID(name, sim_event_show, id)

static struct attribute *sim_events[] = {
	SIM_EVENT(cycles, SIM_CYCLES),
	SIM_EVENT(instructions, SIM_INSTRUCTIONS),
	SIM_EVENT(accesses, SIM_ACCESSES),
	SIM_EVENT(stores, SIM_STORES),
	SIM_EVENT(l1_misses, SIM_L1_MISSES),
	SIM_EVENT(l2_misses, SIM_L2_MISSES),
	SIM_EVENT(llc_refs, SIM_LLC_REFS),
	SIM_EVENT(llc_misses, SIM_LLC_MISSES),
	SIM_EVENT(llc_writebacks, SIM_LLC_WRITEBACKS),
	SIM_EVENT(llc_stolen, SIM_LLC_STOLEN),
	SIM_EVENT(prefetches, SIM_PREFETCHES),
	SIM_EVENT(dram_accesses, SIM_DRAM_ACCESSES),
	SIM_EVENT(row_hits, SIM_ROW_HITS),
	SIM_EVENT(row_empty, SIM_ROW_EMPTY),
	SIM_EVENT(row_conflicts, SIM_ROW_CONFLICTS),
	SIM_EVENT(bank_waits, SIM_BANK_WAITS),
	SIM_EVENT(coherence_misses, SIM_COHERENCE_MISSES),
	NULL
};

static_assert(ARRAY_SIZE(sim_events) == SIM_NR_EVENTS + 1);

static const struct attribute_group sim_events_group = {
	.name = "events",
	.attrs = sim_events,
};

PMU_FORMAT_ATTR(event, "config:0-7");

static struct attribute *sim_format[] = {
	&format_attr_event.attr,
	NULL
};

static const struct attribute_group sim_format_group = {
	.name = "format",
	.attrs = sim_format,
};

static ssize_t drain_us_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(sim_drain_us));
}

static ssize_t drain_us_store(struct device *dev, struct device_attribute *attr,
			      const char *buf, size_t len)
{
	unsigned int us;
	int err;

	err = kstrtouint(buf, 0, &us);
	if (err)
		return err;
	if (us < SIM_DRAIN_MIN || us > SIM_DRAIN_MAX)
		return -ERANGE;
	WRITE_ONCE(sim_drain_us, us);
	return len;
}
static DEVICE_ATTR_RW(drain_us);

static struct attribute *sim_sampling_attrs[] = {
	&dev_attr_drain_us.attr,
	NULL
};

static const struct attribute_group sim_sampling_group = {
	.attrs = sim_sampling_attrs,
};

static const struct attribute_group *sim_groups[] = {
	&sim_format_group,
	&sim_events_group,
	&mcube_sim_control_group,
	&mcube_sim_machine_group,
	&sim_sampling_group,
	NULL
};

static struct pmu sim_pmu = {
	.task_ctx_nr = perf_hw_context,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
	.attr_groups = sim_groups,
	.event_init = sim_event_init,
	.add = sim_event_add,
	.del = sim_event_del,
	.start = sim_event_start,
	.stop = sim_event_stop,
	.read = sim_event_read,
	.sched_task = sim_sched_task,
};

/**
 * mcube_sim_pmu_register - register the PMU with perf
 *
 * mcube_sim_shm, the memory with the counters, has to be set.
 *
 * Return: 0 or a negative errno.
 */
int mcube_sim_pmu_register(void)
{
	struct sim_sampling *sampling;
	unsigned int cpu, i;
	struct sim_cpu *c;

	for_each_possible_cpu(cpu) {
		/* After kexec, samplers and samples of the old kernel are left. */
		c = sim_cpu(cpu);
		for (i = 0; i < SIM_SAMPLERS; i++)
			WRITE_ONCE(c->sampler[i].period, 0);
		WRITE_ONCE(c->tail, READ_ONCE(c->head));

		sampling = per_cpu_ptr(&sim_sampling, cpu);
		hrtimer_init(&sampling->timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
		sampling->timer.function = sim_timer;
		sampling->lost = READ_ONCE(c->lost);
	}
	return perf_pmu_register(&sim_pmu, "mcube_sim", -1);
}
