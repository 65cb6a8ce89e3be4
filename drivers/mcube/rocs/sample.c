// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: samples, from the interrupt to the profile
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   NMI, or interrupts off             tick
 *   rocs_sample_push()                 rocs_sample_drain()
 *         |                                  |
 *         v                                  v
 *   ring of the CPU   [s][s][s][ ][ ]  --->  profile of the target
 *                      ^tail     ^head
 *
 * Each CPU has a ring of its own.  A writer takes a slot by advancing head, fills in
 * the slot, and marks it as ready last.  An NMI may interrupt another writer of the
 * same CPU: the reader then stops at the slot that is not ready yet, and goes on at
 * the next tick.  A ring that is half full wakes the tick by irq_work; a full ring
 * drops samples, which are counted.
 *
 * A sample names its target by number.  Before a number is used again, the events of
 * the old target are released, and the rings are drained: see rocs_target_remove().
 */

#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include <asm/local.h>

#include "internal.h"

#define RING_SIZE	1024U

/**
 * struct sample - a slot of a ring
 * @ready: one more than the position of the slot in the stream of samples.
 * @page: virtual address of the data, in pages.
 * @target: number of the target.
 * @miss: whether the access missed the last-level cache.
 */
struct sample {
	unsigned long ready;
	u64 page;
	u16 target;
	bool miss;
};

/**
 * struct ring - samples of a CPU
 * @head: slots that were taken.
 * @dropped: samples that found the ring full.
 * @taken: by target, samples that were taken, whether they are of use or not.
 * @tail: slots that the reader has freed; guarded by rocs_lock.
 * @reported: part of @dropped that was counted; guarded by rocs_lock.
 * @known: part of @taken that was counted; guarded by rocs_lock.
 * @work: wakes the reader.
 * @slot: the slots.
 */
struct ring {
	local_t head;
	local_t dropped;
	local_t taken[ROCS_TARGETS_MAX];
	unsigned long tail ____cacheline_aligned_in_smp;
	unsigned long reported;
	unsigned long known[ROCS_TARGETS_MAX];
	struct irq_work work;
	struct sample slot[RING_SIZE];
};

/* By CPU; constant from rocs_sample_init() to rocs_sample_exit(). */
static struct ring **rings;

static void (*wake_reader)(void);

static void half_full(struct irq_work *work)
{
	wake_reader();
}

/**
 * rocs_sample_taken() - count a sample, which costs time whatever it says
 * @target: number of the target.
 *
 * Context: NMI, or interrupts off.
 */
void rocs_sample_taken(unsigned int target)
{
	local_inc(&rings[smp_processor_id()]->taken[target]);
}

/**
 * rocs_sample_push() - put a sample into the ring of this CPU
 * @target: number of the target.
 * @addr: virtual address of the data.
 * @miss: whether the access missed the last-level cache.
 *
 * Context: NMI, or interrupts off.
 */
void rocs_sample_push(unsigned int target, u64 addr, bool miss)
{
	struct ring *r = rings[smp_processor_id()];
	unsigned long used;
	struct sample *s;
	long head;

	do {
		head = local_read(&r->head);
		/* Pairs with the release in drain(): the slot has been read. */
		used = head - smp_load_acquire(&r->tail);
		if (used >= RING_SIZE) {
			local_inc(&r->dropped);
			return;
		}
	} while (local_cmpxchg(&r->head, head, head + 1) != head);

	s = &r->slot[head % RING_SIZE];
	s->page = addr >> PAGE_SHIFT;
	s->target = target;
	s->miss = miss;
	/* Pairs with the acquire in drain(): the slot is filled in. */
	smp_store_release(&s->ready, head + 1);
	if (used == RING_SIZE / 2)
		irq_work_queue(&r->work);
}

/* Twice the slots for the pages of a target, up to the limit. */
static void grow(struct rocs_target *t)
{
	u32 size = 2 * t->profile.size;
	struct rocs_profile old = t->profile;
	struct rocs_page *slot;

	if (size / 4 * 3 > rocs_config.profile_pages)
		return;
	slot = kvmalloc_array(size, sizeof(*slot), GFP_KERNEL | __GFP_NOWARN);
	if (!slot)
		return;
	rocs_profile_init(&t->profile, slot, size);
	rocs_profile_move(&t->profile, &old);
	kvfree(old.slot);
}

static void count_sample(const struct sample *s)
{
	struct rocs_target *t = rocs_targets[s->target];
	u64 dropped;

	/* Samples may arrive after the profile has ended. */
	if (!t || t->plan.state != ROCS_PROFILE || !t->profile.slot)
		return;
	if (rocs_profile_full(&t->profile))
		grow(t);
	dropped = t->profile.dropped;
	rocs_profile_add(&t->profile, s->page, s->miss);
	rocs_count(ROCS_STAT_SAMPLES, 1);
	rocs_count(ROCS_STAT_DROPPED, t->profile.dropped - dropped);
}

/* The number of a target that is gone may have counts that nobody wants. */
static void count_taken(struct ring *r)
{
	unsigned long taken;
	unsigned int i;

	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		taken = local_read(&r->taken[i]);
		if (rocs_targets[i])
			rocs_targets[i]->samples += taken - r->known[i];
		r->known[i] = taken;
	}
}

static void drain(struct ring *r)
{
	unsigned long tail = r->tail, dropped;
	struct sample *s = &r->slot[tail % RING_SIZE];

	/* Pairs with the release in rocs_sample_push(): the slot is filled in. */
	while (smp_load_acquire(&s->ready) == tail + 1) {
		count_sample(s);
		/* The slot has been read, and may be taken again. */
		smp_store_release(&r->tail, ++tail);
		s = &r->slot[tail % RING_SIZE];
	}
	dropped = local_read(&r->dropped);
	rocs_count(ROCS_STAT_DROPPED, dropped - r->reported);
	r->reported = dropped;
	count_taken(r);
}

/**
 * rocs_sample_drain() - count the samples of all CPUs
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_sample_drain(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		drain(rings[cpu]);
}

/**
 * rocs_sample_init() - make the rings
 * @wake: called in interrupt context when a ring is half full.
 *
 * Return: 0 or -ENOMEM.
 */
int rocs_sample_init(void (*wake)(void))
{
	int cpu;

	wake_reader = wake;
	rings = kcalloc(nr_cpu_ids, sizeof(*rings), GFP_KERNEL);
	if (!rings)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		rings[cpu] = kvzalloc_node(sizeof(*rings[cpu]), GFP_KERNEL,
					   cpu_to_node(cpu));
		if (!rings[cpu]) {
			rocs_sample_exit();
			return -ENOMEM;
		}
		init_irq_work(&rings[cpu]->work, half_full);
	}
	return 0;
}

/**
 * rocs_sample_stop() - wait until no CPU wakes the reader
 *
 * No event is left, so no CPU pushes a sample.
 *
 * Context: process, sleeps.
 */
void rocs_sample_stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&rings[cpu]->work);
}

/**
 * rocs_sample_exit() - free the rings
 *
 * Nobody pushes or drains samples any more.
 */
void rocs_sample_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(rings[cpu]);
	kfree(rings);
}
