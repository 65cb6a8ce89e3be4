// SPDX-License-Identifier: GPL-2.0
/*
 * Whose turn it is: the emulator runs one CPU at a time, in a circle.
 *
 *	CPU 0  |----- runs ----->|leaves          |----- ...
 *	CPU 1                    |---- runs ---->|leaves
 *	                                          ^ all are there: merge,
 *	                                            next epoch
 *
 * A CPU that reaches the end of the epoch, by an estimate of the latencies that
 * it has still to learn, is asked to leave, and the emulator gives the turn to
 * the next. When every CPU that is not halted has got there, what they queued is
 * merged, and a new epoch begins at the clock of the CPU that is most behind.
 *
 * Whether a CPU is halted is seen by its HLT. A CPU that cannot run for another
 * reason is found by that: the turn has come round, and it had none.
 */
#include "model.h"

#include <stddef.h>

/* Asked to leave so often within one turn, a CPU is alone. */
#define ALONE	3

/* A CPU's clock, estimated beyond what is known. */
static uint64_t estimate(const struct vcpu *v)
{
	return v->clock + v->queued_gap + vcpu_trailing(v) +
		(uint64_t)(v->queued_demand + v->blocked) * (v->latency >> 4);
}

/* The clock of the CPU that is most behind; UINT64_MAX if all are halted. */
static uint64_t most_behind(const struct model *m)
{
	uint64_t lowest = UINT64_MAX;

	for (unsigned int i = 0; i < m->ncpus; i++)
		if (!m->vcpu[i].idle && estimate(&m->vcpu[i]) < lowest)
			lowest = estimate(&m->vcpu[i]);
	return lowest;
}

static void new_epoch(struct model *m)
{
	uint64_t lowest = most_behind(m);

	if (lowest == UINT64_MAX)
		return;
	m->epoch_end = lowest + m->machine.quantum;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];
		uint64_t trailing = vcpu_trailing(v);

		v->left = (int64_t)(m->epoch_end - estimate(v));
		v->mark = v->left + (int64_t)trailing;
	}
}

/* A CPU that was halted runs again: it has slept until now. */
static void resume(struct model *m, struct vcpu *v)
{
	uint64_t now;

	model_merge(m, false);
	now = most_behind(m);
	if (now == UINT64_MAX || now < m->served)
		now = m->served;
	v->idle = false;
	if (!v->blocked && queue_empty(v) && v->clock < now)
		v->clock = now;
	if (m->epoch_end < v->clock) {
		new_epoch(m);
	} else {
		uint64_t trailing = vcpu_trailing(v);

		v->left = (int64_t)(m->epoch_end - estimate(v));
		v->mark = v->left + (int64_t)trailing;
	}
}

static void settle(struct model *m, bool all)
{
	model_merge(m, all);
	if (all)
		dram_settle(&m->dram, most_behind(m));
	model_publish(m);
	new_epoch(m);
}

/* A CPU other than the last one runs, or the first after a start. */
void model_turn(struct model *m, struct vcpu *v)
{
	uint64_t before = v->turn;

	m->running = v;
	v->turn = ++m->turn;
	v->exits = 0;
	if (v->idle) {
		resume(m, v);
		return;
	}
	if (v->left > 0)
		return;
	/* It waits for others: those that had no turn meanwhile cannot run. */
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *w = &m->vcpu[i];

		if (w->left > 0 && w->turn < before)
			w->idle = true;
	}
}

/* A CPU has reached the end of the epoch; true if it has to leave. */
bool model_epoch(struct model *m, struct vcpu *v)
{
	bool alone = ++v->exits > ALONE, behind = false;

	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *w = &m->vcpu[i];

		if (w == v || w->idle || w->left <= 0)
			continue;
		if (alone)
			w->idle = true;
		else
			behind = true;
	}
	if (behind)
		return true;
	settle(m, false);
	v->exits = 0;
	return v->left <= 0;
}

/*
 * A CPU spins on PAUSE, which gives its turn to the next: while others get to the
 * end of the epoch, so does it. Alone it just loses the cycles of a PAUSE.
 */
void model_spin(struct model *m, struct vcpu *v)
{
	bool others = false;

	for (unsigned int i = 0; i < m->ncpus; i++)
		others |= &m->vcpu[i] != v && !m->vcpu[i].idle;
	if (!others)
		v->left -= m->machine.pause;
	else if (v->left > 0)
		v->left = 0;
}

/* A CPU halts until something happens. */
void model_idle(struct model *m, struct vcpu *v)
{
	v->idle = true;
	/* Its next block counts as a new turn, even if no other CPU runs before. */
	m->running = NULL;
}

/* Settle everything, whoever might still come: the guest wants to read. */
void model_sync(struct model *m)
{
	settle(m, true);
}

/* Accesses follow. All CPUs start at the same time, as they show up. */
void model_start(struct model *m)
{
	uint64_t latest = 0;

	for (unsigned int i = 0; i < m->ncpus; i++)
		if (m->vcpu[i].clock > latest)
			latest = m->vcpu[i].clock;
	m->served = latest;
	m->epoch_end = latest + m->machine.quantum;
	m->running = NULL;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		v->idle = true;
		v->clock = latest;
		v->left = m->machine.quantum;
		v->mark = v->left;
		vcpu_forget(v);
	}
	model_publish(m);
}

/* No accesses follow. */
void model_stop(struct model *m)
{
	model_merge(m, true);
	model_publish(m);
}
