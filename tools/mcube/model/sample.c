// SPDX-License-Identifier: GPL-2.0
/*
 * Samplers: every period-th event of a kind, with its address, into the ring.
 *
 * The guest starts and stops samplers by writing to the shared memory, without
 * telling anybody: they are looked at whenever counters are published.
 */
#include "model.h"

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
		return true;
	}
	return false;
}

/* See what the guest wants sampled. */
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

/* One event for those samplers that count it; the ones whose period is full. */
unsigned int samplers_count(struct vcpu *v, enum sim_event event)
{
	unsigned int full = 0;

	for (unsigned int i = 0; i < SIM_SAMPLERS; i++) {
		struct sim_sampler *s = &v->shared->sampler[i];

		/* A period of 0: switched off since samplers were looked at. */
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

/* Write an access into the ring, once for each sampler that chose it. */
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
			.vaddr = r->vaddr, .paddr = r->paddr, .ip = r->ip, .time = time,
			.latency = latency, .flags = (r->flags & SIM_SAMPLE_STORE) | flags,
			.sampler = i, .owner = r->owner,
		};
		__atomic_store_n(&c->head, head + 1, __ATOMIC_RELEASE);
	}
}
