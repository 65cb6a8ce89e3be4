/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPUs that have several demand requests under way; overlap.c says how they work.
 */
#ifndef MCUBE_MODEL_OVERLAP_H
#define MCUBE_MODEL_OVERLAP_H

#include "state.h"

enum overlap_event {
	OVERLAP_NONE,		/* nothing happens before DRAM has answered */
	OVERLAP_ENTER,		/* the CPU reaches the request at the head of its queue */
	OVERLAP_SEND,		/* a request goes to the last level */
	OVERLAP_LATER,		/* the CPU may queue another request from this time on */
};

bool overlap_init(struct model *m, struct vcpu *v);
enum overlap_event overlap_next(const struct model *m, struct vcpu *v, bool all,
				uint64_t *when);
struct request *overlap_enter(struct vcpu *v, uint64_t when);
uint32_t overlap_send(struct vcpu *v, uint64_t when);
void overlap_trail(const struct model *m, struct vcpu *v);

/**
 * overlap_flight - the demand request with a number
 * @v:		the CPU
 * @number:	the number, of a request that has entered and whose data are awaited
 *
 * Return: the request.
 */
static inline struct flight *overlap_flight(struct vcpu *v, uint32_t number)
{
	return &v->flight[number % FLIGHTS];
}

/**
 * overlap_answer - the time at which the data of a request arrive is known
 * @v:		the CPU
 * @f:		the request
 * @done:	the time
 */
static inline void overlap_answer(struct vcpu *v, struct flight *f, uint64_t done)
{
	v->plan.enter_known = false;
	v->plan.send_known = false;
	f->state = FLIGHT_KNOWN;
	f->done = done;
}

#endif
