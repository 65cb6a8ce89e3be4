// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that goes on while demand requests are under way, as CPUs with out-of-order
 * execution do. One that waits for each request (cpu.misses = 1) does not need this
 * file.
 *
 *	queue --> ENTER --> waits --> SEND --> under way --> data
 *	          the CPU    for its            at most
 *	          reaches it address, a place   cpu.misses
 *
 * The CPU reaches its requests in program order. Each demand request, and each private
 * hit that coherence may turn into one, becomes a flight. A flight goes to the last level
 * when its address is known and fewer than cpu.misses requests are under way. Later
 * flights overtake a flight whose address is not known yet. What stops the CPU:
 *
 *  - The window: it executes at most cpu.window instructions beyond a load whose data
 *    have not arrived. This is the reorder buffer, from which instructions leave in
 *    program order. Between two requests, instructions are taken as evenly spread
 *    over the cycles.
 *  - The table of flights: the oldest of FLIGHTS requests must have its data.
 *
 * Stores are buffered: the CPU executes any number of instructions beyond a store. A
 * store takes a place among cpu.misses, as the line has to be fetched.
 *
 * An address depends on at most one earlier request (struct request.after), the last
 * one of those whose data it was computed from. Other instructions do not wait for
 * data.
 *
 * All times follow from the answers of DRAM so far. A time that depends on an answer
 * to come is no event yet. It cannot be earlier than an event that is known: DRAM
 * would have taken the request before that event, and the answer would be known.
 */
#include "overlap.h"

#include <stdlib.h>

/**
 * overlap_init - let a CPU overlap its misses
 * @m:	the model
 * @v:	the CPU
 *
 * Return: false if memory is short.
 */
bool overlap_init(struct model *m, struct vcpu *v)
{
	v->flight = calloc(FLIGHTS, sizeof(*v->flight));
	v->first = 1;
	v->next = 1;
	m->dram.room += m->machine.misses;
	return v->flight;
}

static const struct flight *flight(const struct vcpu *v, uint32_t number)
{
	return &v->flight[number % FLIGHTS];
}

static bool is_store(const struct flight *f)
{
	return f->request.flags & SIM_SAMPLE_STORE;
}

/*
 * The time at which the CPU has executed @gap more cycles, up to instruction
 * @position; DRAM_NEVER if that depends on an answer to come.
 */
static uint64_t reach(const struct model *m, const struct vcpu *v, uint64_t gap,
		      uint32_t position)
{
	uint64_t time = v->clock;
	uint32_t at = v->position;

	for (uint32_t n = v->first; n != v->next; n++) {
		const struct flight *f = flight(v, n);
		uint32_t end = f->request.position + m->machine.window;
		uint64_t part = 0;

		if (is_store(f))
			continue;
		if ((int32_t)(position - end) < 0)
			break;
		if (f->state != FLIGHT_KNOWN)
			return DRAM_NEVER;
		if ((int32_t)(end - at) > 0)
			part = gap * (end - at) / (position - at);
		if (f->done <= time + part)
			continue;
		/* The CPU waits at the end of the window. */
		time = f->done;
		gap -= part;
		if ((int32_t)(end - at) > 0)
			at = end;
	}
	return time + gap;
}

/* The time at which the CPU reaches the request at the head of its queue. */
static uint64_t enters(const struct model *m, const struct vcpu *v)
{
	const struct request *r = &v->queue[v->head % QUEUE_SIZE];
	uint64_t time = reach(m, v, r->gap, r->position);
	const struct flight *oldest = flight(v, v->first);

	if (r->kind > REQUEST_TOUCH || v->next - v->first < FLIGHTS || time == DRAM_NEVER)
		return time;
	if (oldest->state != FLIGHT_KNOWN)
		return DRAM_NEVER;
	return oldest->done > time ? oldest->done : time;
}

/* The time at which the address of a flight is known. */
static uint64_t addressed(const struct vcpu *v, const struct flight *f)
{
	uint32_t after = f->request.after;
	const struct flight *source = flight(v, after);

	if (after - v->first >= v->next - v->first)
		return f->entered;	/* its data arrived long ago, or it depends on none */
	if (source->state != FLIGHT_KNOWN)
		return DRAM_NEVER;
	return source->done > f->entered ? source->done : f->entered;
}

/*
 * The time from @time on at which one more request may be under way. Requests are sent
 * in the order of time, and at most cpu.misses are under way when one is sent, so the
 * first that ends makes a place.
 */
static uint64_t place(const struct model *m, const struct vcpu *v, uint64_t time)
{
	uint64_t soonest = DRAM_NEVER;
	unsigned int under_way = 0;

	if (time < v->sent)
		time = v->sent;
	for (uint32_t n = v->first; n != v->next; n++) {
		const struct flight *f = flight(v, n);

		if (f->state == FLIGHT_WAITS || (f->state == FLIGHT_KNOWN && f->done <= time))
			continue;
		under_way++;
		if (f->state == FLIGHT_KNOWN && f->done < soonest)
			soonest = f->done;
	}
	return under_way < m->machine.misses ? time : soonest;
}

/* Plan which flight is sent next, and when. */
static void plan_send(const struct model *m, struct vcpu *v)
{
	uint64_t time = DRAM_NEVER;

	for (uint32_t n = v->first; n != v->next; n++) {
		const struct flight *f = flight(v, n);
		uint64_t known;

		if (f->state != FLIGHT_WAITS)
			continue;
		known = addressed(v, f);
		if (known < time) {
			time = known;
			v->plan.number = n;
		}
	}
	v->plan.send = time == DRAM_NEVER ? time : place(m, v, time);
	v->plan.send_known = true;
}

/**
 * overlap_next - what a CPU does next
 * @m:		the model
 * @v:		the CPU
 * @all:	it makes no requests beyond those in its queue
 * @when:	gets the time, DRAM_NEVER for OVERLAP_NONE
 *
 * Return: what it does.
 */
enum overlap_event overlap_next(const struct model *m, struct vcpu *v, bool all,
				uint64_t *when)
{
	enum overlap_event event = OVERLAP_ENTER;
	uint64_t time = DRAM_NEVER;

	if (!queue_empty(v)) {
		if (!v->plan.enter_known)
			v->plan.enter = enters(m, v);
		v->plan.enter_known = true;
		time = v->plan.enter;
	} else if (!all && !v->idle) {
		time = v->clock + vcpu_trailing(v);
		event = OVERLAP_LATER;
	}
	if (!v->plan.send_known)
		plan_send(m, v);
	if (v->plan.send <= time) {
		time = v->plan.send;
		event = OVERLAP_SEND;
	}
	*when = time;
	return time == DRAM_NEVER ? OVERLAP_NONE : event;
}

/* The clock moves on, and flights whose data have arrived end. */
static void move(struct vcpu *v, uint64_t when, uint32_t position)
{
	v->count[SIM_CYCLES] += when - v->clock;
	v->clock = when;
	v->position = position;
	v->plan.enter_known = false;
	while (v->first != v->next && flight(v, v->first)->state == FLIGHT_KNOWN &&
	       flight(v, v->first)->done <= when)
		v->first++;
}

/**
 * overlap_enter - the CPU reaches the request at the head of its queue
 * @v:		the CPU
 * @when:	the time, by overlap_next()
 *
 * Return: the request, if it is left to the caller; NULL if it is a demand request,
 * which has become a flight.
 */
struct request *overlap_enter(struct vcpu *v, uint64_t when)
{
	struct request *r = &v->queue[v->head++ % QUEUE_SIZE];
	int stalled = when - v->clock - r->gap;
	struct flight *f;

	v->queued_gap -= r->gap;
	move(v, when, r->position);
	if (r->kind > REQUEST_TOUCH)
		return r;
	v->queued_demand -= r->kind == REQUEST_DEMAND;
	v->latency += (stalled * 16 - (int)v->latency) / 16;
	v->plan.send_known = false;
	f = overlap_flight(v, v->next++);
	*f = (struct flight){ .request = *r, .state = FLIGHT_WAITS, .entered = when };
	return NULL;
}

/**
 * overlap_send - the flight of overlap_next() goes to the last level
 * @v:		the CPU
 * @when:	the time, by overlap_next()
 *
 * Return: its number.
 */
uint32_t overlap_send(struct vcpu *v, uint64_t when)
{
	uint32_t number = v->plan.number;
	struct flight *f = overlap_flight(v, number);

	v->plan.send_known = false;
	f->state = FLIGHT_SENT;
	f->sent = when;
	v->sent = when;
	return number;
}

/**
 * overlap_trail - account for the cycles since the last request
 * @m:	the model
 * @v:	the CPU, with an empty queue
 *
 * They are left as they are if the CPU has to wait for an answer to come.
 */
void overlap_trail(const struct model *m, struct vcpu *v)
{
	uint32_t position = v->count[SIM_INSTRUCTIONS];
	uint64_t when = reach(m, v, vcpu_trailing(v), position);

	if (when == DRAM_NEVER)
		return;
	move(v, when, position);
	v->mark = v->left;
}
