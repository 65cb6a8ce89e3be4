// SPDX-License-Identifier: GPL-2.0
/*
 * The quantum: modelled cycles that every CPU runs between two weaves. The emulator
 * dispatches one CPU at a time, round robin.
 *
 *	CPU 0  |----- runs ----->|leaves         |----- ...
 *	CPU 1                    |---- runs ---->|leaves
 *	                                         ^ all CPUs have reached the end:
 *	                                           weave, next quantum
 *
 * A CPU that reaches the end of the quantum is asked to leave, and the emulator
 * dispatches the next CPU. The latencies of queued requests are not known yet, so an
 * estimate of them decides when the CPU reaches the end. When every CPU that is not
 * halted has reached the end, the queued requests are woven, and a new quantum begins
 * at the clock of the CPU that is most behind.
 *
 * A CPU is known to be halted by its HLT. A CPU that cannot run for another reason is
 * detected when another CPU is dispatched twice and this CPU never in between.
 */
#include "quantum.h"

#include <stddef.h>

#include "arriving.h"
#include "sample.h"
#include "weave.h"

/*
 * A CPU that was asked to leave more often than this within one dispatch is alone:
 * the emulator has no other CPU to dispatch.
 */
#define ALONE	3

/* The clock that a CPU will have when its queue is served, by estimate. */
static uint64_t estimate(const struct vcpu *v)
{
	return v->clock + v->queued_gap + vcpu_trailing(v) +
		(uint64_t)(v->queued_demand + v->blocked) * (v->latency >> 4);
}

/* The clock of the CPU that is most behind; UINT64_MAX if all CPUs are halted. */
static uint64_t most_behind(const struct model *m)
{
	uint64_t lowest = UINT64_MAX;

	for (unsigned int i = 0; i < m->ncpus; i++)
		if (!m->vcpu[i].idle && estimate(&m->vcpu[i]) < lowest)
			lowest = estimate(&m->vcpu[i]);
	return lowest;
}

static void new_quantum(struct model *m)
{
	uint64_t lowest = most_behind(m);

	if (lowest == UINT64_MAX)
		return;
	m->quantum_end = lowest + m->machine.quantum;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];
		uint64_t trailing = vcpu_trailing(v);

		v->left = (int64_t)(m->quantum_end - estimate(v));
		v->mark = v->left + (int64_t)trailing;
	}
}

/* A halted CPU runs again: its clock moves to that of the CPU most behind. */
static void resume(struct model *m, struct vcpu *v)
{
	uint64_t now;

	model_weave(m, false);
	now = most_behind(m);
	if (now == UINT64_MAX || now < m->served)
		now = m->served;
	v->idle = false;
	if (!v->blocked && queue_empty(v) && v->clock < now)
		v->clock = now;
	if (m->quantum_end < v->clock) {
		new_quantum(m);
	} else {
		uint64_t trailing = vcpu_trailing(v);

		v->left = (int64_t)(m->quantum_end - estimate(v));
		v->mark = v->left + (int64_t)trailing;
	}
}

/* Copy the counters to the guest's memory, and read what it has set. */
static void publish(struct model *m)
{
	const struct sim_header *h = m->header;
	bool changed = h->uncached != m->uncached || h->uncached_bytes != m->uncached_bytes;

	m->uncached = h->uncached;
	m->uncached_bytes = h->uncached_bytes;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
			__atomic_store_n(&v->shared->count[e], v->count[e], __ATOMIC_RELAXED);
		samplers_refresh(v);
		if (changed)
			vcpu_forget(v);
	}
}

static void weave_and_restart(struct model *m, bool all)
{
	model_weave(m, all);
	if (all) {
		dram_clamp(&m->dram, most_behind(m));
		/* Nor may it wait for lines that were fetched in its future. */
		arriving_clear(m);
	}
	publish(m);
	new_quantum(m);
}

/**
 * model_dispatch - the emulator runs another CPU
 * @m:	the model
 * @v:	the CPU
 *
 * Called for a CPU other than @m->running.
 */
void model_dispatch(struct model *m, struct vcpu *v)
{
	uint64_t before = v->dispatch;

	m->running = v;
	v->dispatch = ++m->dispatch;
	v->exits = 0;
	if (v->idle) {
		resume(m, v);
		return;
	}
	if (v->left > 0)
		return;
	/*
	 * This CPU waits for the end of the quantum. CPUs that were not
	 * dispatched since its last dispatch cannot run.
	 */
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *w = &m->vcpu[i];

		if (w->left > 0 && w->dispatch < before)
			w->idle = true;
	}
}

/**
 * model_quantum_end - a CPU has reached the end of the quantum
 * @m:	the model
 * @v:	the CPU
 *
 * The last CPU to get there starts the weave and the next quantum.
 *
 * Return: true if the emulator has to run another CPU.
 */
bool model_quantum_end(struct model *m, struct vcpu *v)
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
	weave_and_restart(m, false);
	v->exits = 0;
	return v->left <= 0;
}

/**
 * model_spin - a CPU executes PAUSE, as in a spin loop
 * @m:	the model
 * @v:	the CPU
 *
 * The emulator leaves the CPU at a PAUSE. While other CPUs run to the end of the
 * quantum, the clock of this CPU moves there, too. If no other CPU runs, the
 * instruction takes the cycles of a PAUSE.
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

/**
 * model_idle - a CPU executes HLT
 * @m:	the model
 * @v:	the CPU
 */
void model_idle(struct model *m, struct vcpu *v)
{
	v->idle = true;
	/* Its next block is a new dispatch, even if no other CPU runs before. */
	m->running = NULL;
}

/**
 * model_sync - serve all requests and copy the counters to the guest
 * @m:	the model
 *
 * Requests are served even if a CPU may still make an earlier request.
 */
void model_sync(struct model *m)
{
	weave_and_restart(m, true);
}

/**
 * model_start - the model is switched on
 * @m:	the model
 *
 * All clocks start at the same time. Each CPU is idle until its first dispatch.
 */
void model_start(struct model *m)
{
	uint64_t latest = 0;

	for (unsigned int i = 0; i < m->ncpus; i++)
		if (m->vcpu[i].clock > latest)
			latest = m->vcpu[i].clock;
	m->served = latest;
	m->quantum_end = latest + m->machine.quantum;
	m->running = NULL;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		v->idle = true;
		v->clock = latest;
		v->left = m->machine.quantum;
		v->mark = v->left;
		v->position = v->count[SIM_INSTRUCTIONS];
		vcpu_forget(v);
	}
	publish(m);
}

/**
 * model_stop - the model is switched off
 * @m:	the model
 *
 * All requests are served, and the counters copied to the guest.
 */
void model_stop(struct model *m)
{
	model_weave(m, true);
	publish(m);
}
