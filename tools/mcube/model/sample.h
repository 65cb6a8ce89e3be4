/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samplers; sample.c says how they work.
 */
#ifndef MCUBE_MODEL_SAMPLE_H
#define MCUBE_MODEL_SAMPLE_H

#include "state.h"

void samplers_refresh(struct vcpu *v);
unsigned int samplers_count(struct vcpu *v, enum sim_event event);
void sample_write(struct vcpu *v, const struct request *r, unsigned int want,
		  uint64_t time, uint64_t latency, unsigned int flags);

/**
 * sampled - count an event for the samplers
 * @v:		the CPU
 * @event:	the event
 *
 * In the common case no sampler counts the event.
 *
 * Return: the samplers that choose this event, a bit for each.
 */
static inline unsigned int sampled(struct vcpu *v, enum sim_event event)
{
	return __builtin_expect(v->by_event[event], 0) ? samplers_count(v, event) : 0;
}

#endif
