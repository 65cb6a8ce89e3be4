// SPDX-License-Identifier: GPL-2.0
/*
 * Samplers: write every period-th event of a kind, with its address, to the ring.
 *
 * The guest starts and stops samplers by writing to the shared memory. The model is
 * not notified, so it reads the samplers whenever it copies the counters to the
 * guest.
 */
#include "sample.h"

static bool has_address(unsigned int event)
{
	switch (event) {
	case SIM_ACCESSES:
	case SIM_STORES:
	case SIM_L1_MISSES:
	case SIM_L2_MISSES:
	case SIM_LLC_REFS:
	case SIM_LLC_MISSES:
	case SIM_ROW_HITS:
	case SIM_ROW_CONFLICTS:
	case SIM_COHERENCE_MISSES:
		return true;
	}
	return false;
}

/**
 * samplers_refresh - read which events the guest samples
 * @v:	the CPU
 */
void samplers_refresh(struct vcpu *v)
{
	for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
		v->by_event[e] = 0;
	for (unsigned int i = 0; i < SIM_SAMPLERS; i++) {
		const struct sim_sampler *s = &v->shared->sampler[i];
		unsigned int event;

		if (!__atomic_load_n(&s->period, __ATOMIC_ACQUIRE))
			continue;
		event = s->event;
		if (has_address(event))
			v->by_event[event] |= 1u << i;
	}
	v->sampled = v->by_event[SIM_ACCESSES] || v->by_event[SIM_STORES];
	if (v->sampled)
		vcpu_forget(v);
}

/**
 * samplers_count - count an event for the samplers that sample it
 * @v:		the CPU
 * @event:	the event
 *
 * Return: the samplers whose period is complete, a bit for each.
 */
unsigned int samplers_count(struct vcpu *v, enum sim_event event)
{
	unsigned int full = 0;

	for (unsigned int i = 0; i < SIM_SAMPLERS; i++) {
		struct sim_sampler *s = &v->shared->sampler[i];

		/* The guest may have set the period to 0 since samplers_refresh(). */
		if (!(v->by_event[event] & 1u << i) || !s->period)
			continue;
		if (s->left > 1) {
			s->left--;
			continue;
		}
		s->left = s->period;
		full |= 1u << i;
	}
	return full;
}

/**
 * sample_write - write an access to the ring, once for each sampler
 * @v:		the CPU
 * @r:		the request of the access
 * @want:	the samplers that chose the access, a bit for each
 * @time:	modelled time of the access
 * @latency:	cycles that the access took
 * @flags:	level and row, SIM_SAMPLE_*
 *
 * Samples that find the ring full are counted as lost.
 */
void sample_write(struct vcpu *v, const struct request *r, unsigned int want,
		  uint64_t time, uint64_t latency, unsigned int flags)
{
	struct sim_cpu *c = v->shared;

	for (unsigned int i = 0; i < SIM_SAMPLERS; i++) {
		uint32_t head = c->head;

		if (!(want & 1u << i))
			continue;
		if (head - __atomic_load_n(&c->tail, __ATOMIC_ACQUIRE) >= SIM_RING_SIZE) {
			c->lost++;
			continue;
		}
		v->ring[head % SIM_RING_SIZE] = (struct sim_sample){
			.vaddr = r->vaddr, .paddr = backing_guest(v->backing, r->paddr),
			.ip = r->ip, .time = time, .latency = latency,
			.flags = (r->flags & SIM_SAMPLE_STORE) | flags,
			.sampler = i, .owner = r->owner,
		};
		__atomic_store_n(&c->head, head + 1, __ATOMIC_RELEASE);
	}
}
