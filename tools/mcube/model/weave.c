// SPDX-License-Identifier: GPL-2.0
/*
 * The weave phase: the shared levels serve the requests of all CPUs in the order of
 * modelled time.
 *
 * The idea is the bound-weave algorithm of ZSim (Sanchez and Kozyrakis, ZSim: Fast
 * and Accurate Microarchitectural Simulation of Thousand-Core Systems, ISCA 2013):
 * the CPUs run apart from each other for a short interval and record their requests
 * (bound phase), then the requests of all CPUs are simulated together to get their
 * real latencies (weave phase). Differences:
 *
 *  - ZSim looks up all caches in the bound phase, in the order in which accesses
 *    arrive. Here the last level is looked up in the weave phase, so hits and misses
 *    of all CPUs follow modelled time as well.
 *  - ZSim weaves every interval completely. Here a weave stops where a CPU could
 *    still make an earlier request, and the rest stays queued. So for given accesses
 *    of each CPU the length of the interval does not change the counters.
 *  - In the bound phase of ZSim an access takes the latency without contention, a
 *    lower bound. Here it takes a moving average of the latencies so far. Only the
 *    end of the quantum depends on that estimate (quantum.c).
 *  - ZSim runs both phases in parallel. Here both run in the emulator's thread.
 *  - ZSim models the execution units of out-of-order CPUs. Here a CPU has a window of
 *    instructions and a number of misses (overlap.c), or waits for each demand request.
 *  - ZSim keeps private levels coherent in the bound phase, in the order in which
 *    accesses arrive. Here a directory does so in the weave phase (coherence.c).
 *
 * Each CPU has a clock. There are two kinds of events: a CPU makes the request at the
 * head of its queue, at its clock plus the gap of the request; and a DRAM bank takes
 * a waiting request. The next event is always the earliest. When the data of a demand
 * request arrive, the clock of its CPU moves there, and only then can the next
 * request of that CPU be the earliest.
 *
 * A CPU with an empty queue may still make a request, at its clock plus its trailing
 * cycles or later. Nothing beyond that time is served, or the order would depend on
 * the quantum. The bound is ignored (@all) where all requests have to be served
 * because the guest reads its counters. A CPU that is behind then finds the lines and
 * rows that later requests left, but it does not wait for these requests
 * (dram_clamp()).
 */
#include "weave.h"

#include "arriving.h"
#include "coherence.h"
#include "overlap.h"
#include "prefetch.h"
#include "sample.h"

/* CPUs that wait and private levels that are not coherent should pay for no call. */
#define ALWAYS_INLINE	inline __attribute__((always_inline))

static void advance(struct vcpu *v, uint64_t cycles)
{
	v->clock += cycles;
	v->count[SIM_CYCLES] += cycles;
}

static void sample_dram(struct model *m, struct vcpu *v, const struct request *r,
			unsigned int want, uint64_t time, uint64_t latency,
			unsigned int flags)
{
	want |= r->want;
	if (want)
		sample_write(v, r, want, time,
			     latency + m->l1_cost + m->l2_cost + m->machine.hidden, flags);
}

/**
 * struct answer - how a request was served
 * @cycles:	cycles until the data arrive
 * @latency:	cycles of the whole access
 * @level:	SIM_SAMPLE_LEVEL
 */
struct answer {
	uint64_t cycles;
	uint64_t latency;
	unsigned int level;
};

/* A CPU that waits for its requests has the answer. */
static ALWAYS_INLINE void answered(struct vcpu *v, struct request *r,
				   const struct answer *a)
{
	if (r->kind == REQUEST_DEMAND)
		v->latency += ((int)a->cycles * 16 - (int)v->latency) / 16;
	if (r->want)
		sample_write(v, r, r->want, v->clock, a->latency, a->level);
	advance(v, a->cycles);
}

/* The answer to a request, made at @sent, that found a line which arrives at @time. */
static struct answer when_there(const struct model *m, uint64_t sent, uint64_t time)
{
	uint64_t late = time > sent + m->llc_cost ? time - (sent + m->llc_cost) : 0;

	return (struct answer){ .cycles = m->llc_cost + late, .level = 3,
				.latency = m->machine.llc.latency + late };
}

/* It is known when a line arrives: the requests of a CPU that wait for it know, too. */
static void wake(struct model *m, struct vcpu *v, const struct arrival *line)
{
	struct answer a;

	if (!v->flight) {
		a = when_there(m, v->clock, line->time);
		answered(v, &v->waiting, &a);
		v->blocked = false;
		return;
	}
	for (uint32_t n = v->first; n != v->next; n++) {
		struct flight *f = overlap_flight(v, n);

		if (f->state != FLIGHT_SENT || f->late != line)
			continue;
		a = when_there(m, f->sent, line->time);
		overlap_answer(v, f, f->sent + a.cycles);
		if (f->request.want)
			sample_write(v, &f->request, f->request.want, f->sent, a.latency,
				     a.level);
	}
}

static __attribute__((noinline)) void arrives(struct model *m, struct arrival *line,
					      uint64_t time)
{
	uint32_t waiters = line->waiters;

	line->time = time;
	line->waiters = 0;
	for (unsigned int i = 0; i < m->ncpus; i++)
		if (waiters & 1u << i)
			wake(m, &m->vcpu[i], line);
}

/* DRAM has completed a request. */
static ALWAYS_INLINE void complete(struct model *m, const struct dram_done *done)
{
	const struct dram_request *d = &done->request;
	struct sim_figures *bank = &m->header->bank[d->bank];
	struct vcpu *v = &m->vcpu[d->cpu];
	unsigned int flags = 4, want = 0;
	uint64_t latency;

	v->count[SIM_DRAM_ACCESSES]++;
	bank->refs++;
	switch (done->row) {
	case ROW_HIT:
		v->count[SIM_ROW_HITS]++;
		bank->stolen++;
		flags |= SIM_SAMPLE_ROW_HIT;
		break;
	case ROW_EMPTY:
		v->count[SIM_ROW_EMPTY]++;
		break;
	case ROW_CONFLICT:
		v->count[SIM_ROW_CONFLICTS]++;
		bank->misses++;
		flags |= SIM_SAMPLE_ROW_CONFLICT;
		break;
	}
	if (d->slot)
		arrives(m, arriving_slot(v, d->slot), done->time);
	if (!d->awaited)
		return;
	v->count[SIM_BANK_WAITS] += done->waited;
	/* Write-backs and prefetches have no instruction: only demand is sampled. */
	if (done->row == ROW_HIT)
		want = sampled(v, SIM_ROW_HITS);
	else if (done->row == ROW_CONFLICT)
		want = sampled(v, SIM_ROW_CONFLICTS);
	if (v->flight) {
		struct flight *f = overlap_flight(v, d->tag);

		overlap_answer(v, f, done->time);
		sample_dram(m, v, &f->request, want, f->sent, done->time - f->sent, flags);
		return;
	}
	latency = done->time - v->clock;
	v->latency += ((int)latency * 16 - (int)v->latency) / 16;
	sample_dram(m, v, &v->waiting, want, v->clock, latency, flags);
	advance(v, latency);
	v->blocked = false;
}

static ALWAYS_INLINE void serve_dram(struct model *m)
{
	struct dram_done done;

	m->served = m->dram.next;
	dram_serve(&m->dram, &done);
	complete(m, &done);
}

static void read_or_write(struct model *m, struct vcpu *v, uint64_t paddr, uint64_t time,
			  bool awaited, uint32_t tag, unsigned int slot)
{
	while (m->dram.nr == m->dram.room)
		serve_dram(m);
	dram_submit(&m->dram, paddr, time, v->index, awaited, tag, slot);
}

/* A line that the last level lacks is read. */
static ALWAYS_INLINE void fetch(struct model *m, struct vcpu *v, uint64_t paddr,
				uint64_t time, bool awaited, uint32_t tag)
{
	unsigned int slot = 0;

	if (__builtin_expect(!!v->arriving, 0))
		slot = arriving_add(m, v, paddr >> m->map.line_shift, time);
	read_or_write(m, v, paddr, time, awaited, tag, slot);
}

/* Put a line into the last level. If the victim is dirty, write it to DRAM. */
static void fill(struct model *m, struct vcpu *v, unsigned int index, uint64_t paddr,
		 unsigned int owner, uint64_t time)
{
	uint64_t line = paddr >> m->map.line_shift, victim, address;
	struct vcpu *loser;

	victim = cache_fill(&m->llc, index, line << LINE_SHIFT |
			    (uint64_t)owner << OWNER_SHIFT | v->index << CPU_SHIFT);
	if (!(victim & LINE_VALID))
		return;
	address = line_number(victim) << m->map.line_shift;
	loser = &m->vcpu[line_cpu(victim)];
	if (loser != v)
		loser->count[SIM_LLC_STOLEN]++;
	if (loser != v || line_owner(victim) != owner) {
		m->header->color[address_color(&m->map, address)].stolen++;
		m->header->owner[line_owner(victim)].stolen++;
	}
	if (victim & LINE_DIRTY) {
		v->count[SIM_LLC_WRITEBACKS]++;
		read_or_write(m, v, address, time, false, 0, 0);
	}
}

static void prefetch(struct model *m, struct vcpu *v, const struct request *r,
		     uint64_t time)
{
	uint64_t ahead[MAX_DEGREE];
	unsigned int n = prefetch_lines(m, v, r->paddr, ahead), room = MAX_DEGREE;

	if (n && v->arriving)
		room = arriving_room(m, v, time);
	for (unsigned int i = 0; i < n && room; i++) {
		unsigned int index = address_index(&m->map, ahead[i]);

		if (cache_peek(&m->llc, index, ahead[i] >> m->map.line_shift))
			continue;
		v->count[SIM_PREFETCHES]++;
		room--;
		fetch(m, v, ahead[i], time, false, 0);
		fill(m, v, index, ahead[i], r->owner, time);
	}
}

/* Count a reference to the last level. Returns whether it has the line, or @elsewhere. */
static ALWAYS_INLINE bool refer(struct model *m, struct vcpu *v, struct request *r,
				unsigned int index, bool elsewhere)
{
	bool hit;

	v->count[SIM_LLC_REFS]++;
	m->header->color[address_color(&m->map, r->paddr)].refs++;
	m->header->owner[r->owner].refs++;
	r->want |= sampled(v, SIM_LLC_REFS);
	hit = cache_lookup(&m->llc, index, r->paddr >> m->map.line_shift) || elsewhere;
	if (m->pages.count)
		pages_count(&m->pages, backing_guest(&m->backing, r->paddr), hit);
	return hit;
}

/*
 * A request, with @tag, has found its line. If the data are still on their way, add the
 * wait to the answer. Returns false if it is not known yet when they arrive.
 */
static __attribute__((noinline)) bool await(struct model *m, struct vcpu *v,
					    const struct request *r, uint64_t looked_up,
					    uint32_t tag, struct answer *a)
{
	struct arrival *line = arriving_find(m, r->paddr >> m->map.line_shift, looked_up);

	if (!line)
		return true;
	if (line->time != DRAM_NEVER) {
		a->cycles += line->time - looked_up;
		a->latency += line->time - looked_up;
		return true;
	}
	line->waiters |= 1u << v->index;
	if (v->flight) {
		overlap_flight(v, tag)->late = line;
	} else {
		v->waiting = *r;
		v->blocked = true;
	}
	return false;
}

/* A CPU that waits for each demand request stops until DRAM answers. */
static ALWAYS_INLINE void wait_for_dram(struct vcpu *v, const struct request *r)
{
	if (v->flight)
		return;
	v->waiting = *r;
	v->blocked = true;
}

/*
 * A request looks its line up in the last level, at the time @looked_up, and goes on to
 * DRAM on a miss, with @tag. Returns whether it is known when the data arrive.
 */
static ALWAYS_INLINE bool look_up(struct model *m, struct vcpu *v, struct request *r,
				  uint64_t looked_up, uint32_t tag, struct answer *a)
{
	unsigned int index;
	bool hit, known;

	if (__builtin_expect(r->flags & SIM_SAMPLE_UNCACHED, 0)) {
		wait_for_dram(v, r);
		read_or_write(m, v, r->paddr, looked_up, true, tag, 0);
		return false;
	}
	index = address_index(&m->map, r->paddr);
	hit = refer(m, v, r, index, false);
	known = hit;

	if (!hit) {
		v->count[SIM_LLC_MISSES]++;
		m->header->color[address_color(&m->map, r->paddr)].misses++;
		m->header->owner[r->owner].misses++;
		r->want |= sampled(v, SIM_LLC_MISSES);
		wait_for_dram(v, r);
		fetch(m, v, r->paddr, looked_up, true, tag);
		fill(m, v, index, r->paddr, r->owner, looked_up);
	} else if (__builtin_expect(!!v->arriving, 0)) {
		known = await(m, v, r, looked_up, tag, a);
	}
	if (m->machine.prefetch != PREFETCH_NONE)
		prefetch(m, v, r, looked_up);
	return known;
}

/* A dirty line of the private levels goes to the last level, or to DRAM on a miss. */
static void write_back(struct model *m, struct vcpu *v, uint64_t paddr, uint64_t time)
{
	unsigned int index = address_index(&m->map, paddr);
	uint64_t *entry = cache_peek(&m->llc, index, paddr >> m->map.line_shift);

	if (entry)
		*entry |= LINE_DIRTY;
	else
		read_or_write(m, v, paddr, time, false, 0, 0);
}

static void sample_private(struct model *m, struct vcpu *v, const struct request *r,
			   uint64_t time)
{
	unsigned int level = r->flags & SIM_SAMPLE_LEVEL;

	sample_write(v, r, r->want, time,
		     level == 1 ? m->machine.l1.latency : m->machine.l2.latency, level);
}

/* An access that the private levels would have served, but for other CPUs. */
static void count_lost(struct vcpu *v, struct request *r)
{
	v->count[SIM_COHERENCE_MISSES]++;
	r->want |= sampled(v, SIM_COHERENCE_MISSES);
	if (r->kind != REQUEST_TOUCH)
		return;
	if ((r->flags & SIM_SAMPLE_LEVEL) == 1)
		v->count[SIM_L1_MISSES]++;
	v->count[SIM_L2_MISSES] += !!v->l2.set;
}

/*
 * A request is served by other private levels, by the last level, or by DRAM, which
 * answers later. Returns false for DRAM.
 */
static __attribute__((noinline)) bool serve(struct model *m, struct vcpu *v,
					    struct request *r, uint64_t time,
					    uint32_t tag, struct answer *a)
{
	unsigned int index;

	*a = (struct answer){ .cycles = m->llc_cost, .latency = m->machine.llc.latency,
			      .level = 3 };
	if (!coherent(m) || r->flags & SIM_SAMPLE_UNCACHED)
		return look_up(m, v, r, time + m->llc_cost, tag, a);
	index = address_index(&m->map, r->paddr);
	switch (coherence_serve(m, v, r)) {
	case COHERENCE_HIT:
		if (r->want)
			sample_private(m, v, r, time);
		r->want = 0;
		a->cycles = coherence_arrival(m, r->paddr, time) - time;
		return true;
	case COHERENCE_FETCH:
		return look_up(m, v, r, time + m->llc_cost, tag, a);
	case COHERENCE_REFETCH:
		count_lost(v, r);
		return look_up(m, v, r, time + m->llc_cost, tag, a);
	case COHERENCE_EVICT:
		count_lost(v, r);
		/* DRAM takes longer than the other CPUs. */
		if (!cache_peek(&m->llc, index, r->paddr >> m->map.line_shift))
			return look_up(m, v, r, time + m->llc_cost, tag, a);
		break;
	case COHERENCE_SHARE:
		count_lost(v, r);
		write_back(m, v, r->paddr, time + m->llc_cost);
		break;
	case COHERENCE_TAKE:
		count_lost(v, r);
		break;
	}
	refer(m, v, r, index, true);
	a->cycles = coherence_move(m, r->paddr, time) - time;
	a->latency = m->machine.coherence + a->cycles - m->coherence_cost;
	a->level = SIM_SAMPLE_OTHER;
	return true;
}

/* A request that makes no CPU wait. */
static void serve_other(struct model *m, struct vcpu *v, const struct request *r)
{
	if (r->kind == REQUEST_SAMPLE) {
		sample_private(m, v, r, v->clock);
		return;
	}
	write_back(m, v, r->paddr, v->clock);
	if (coherent(m))
		coherence_written_back(m, v, r->paddr);
}

static __attribute__((noinline)) void serve_coherent(struct model *m, struct vcpu *v,
						     struct request *r)
{
	struct answer a;

	if (serve(m, v, r, v->clock, 0, &a))
		answered(v, r, &a);
}

/* A CPU that waits for each demand request makes its next request. */
static void serve_cpu(struct model *m, struct vcpu *v)
{
	struct request *r = &v->queue[v->head++ % QUEUE_SIZE];
	struct answer a = { m->llc_cost, m->machine.llc.latency, 3 };

	v->queued_gap -= r->gap;
	advance(v, r->gap);
	m->served = v->clock;
	if (r->kind > REQUEST_TOUCH) {
		serve_other(m, v, r);
		return;
	}
	v->queued_demand -= r->kind == REQUEST_DEMAND;
	if (__builtin_expect(coherent(m), 0))
		serve_coherent(m, v, r);
	else if (look_up(m, v, r, v->clock + m->llc_cost, 0, &a))
		answered(v, r, &a);
}

/* A flight goes to the last level. */
static void send(struct model *m, struct vcpu *v, uint64_t when)
{
	uint32_t number = overlap_send(v, when);
	struct flight *f = overlap_flight(v, number);
	struct request *r = &f->request;
	struct answer a;

	m->served = when;
	if (!serve(m, v, r, when, number, &a))
		return;
	overlap_answer(v, f, when + a.cycles);
	if (r->want)
		sample_write(v, r, r->want, when, a.latency, a.level);
}

/*
 * The CPU whose next request is earliest, be it queued or still to come; NULL if no
 * CPU can make a request. A CPU that waits for DRAM makes no request until the
 * data arrive.
 */
static struct vcpu *earliest(struct model *m, bool all, uint64_t *when)
{
	struct vcpu *first = NULL;

	*when = DRAM_NEVER;
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];
		uint64_t t = v->clock;

		if (v->blocked)
			continue;
		if (!queue_empty(v))
			t += v->queue[v->head % QUEUE_SIZE].gap;
		else if (all || v->idle)
			continue;
		else
			t += vcpu_trailing(v);
		if (t < *when) {
			*when = t;
			first = v;
		}
	}
	return first;
}

/*
 * Serve requests of CPUs that overlap their misses, up to the time at which a CPU may
 * still queue an earlier request.
 */
static __attribute__((noinline)) void weave_overlapped(struct model *m, bool all)
{
	for (;;) {
		enum overlap_event event = OVERLAP_NONE, e;
		uint64_t when = DRAM_NEVER, t;
		struct vcpu *first = NULL;
		struct request *r;

		for (unsigned int i = 0; i < m->ncpus; i++) {
			e = overlap_next(m, &m->vcpu[i], all, &t);
			if (t < when) {
				when = t;
				event = e;
				first = &m->vcpu[i];
			}
		}
		if (m->dram.nr && m->dram.next <= when) {
			serve_dram(m);
			continue;
		}
		switch (event) {
		case OVERLAP_NONE:
		case OVERLAP_LATER:
			return;
		case OVERLAP_ENTER:
			m->served = when;
			r = overlap_enter(first, when);
			if (r)
				serve_other(m, first, r);
			break;
		case OVERLAP_SEND:
			send(m, first, when);
			break;
		}
	}
}

/**
 * model_weave - serve queued requests in the order of modelled time
 * @m:		the model
 * @all:	serve all requests, even if a CPU may still make an earlier request
 */
void model_weave(struct model *m, bool all)
{
	if (m->machine.misses > 1) {
		weave_overlapped(m, all);
		for (unsigned int i = 0; i < m->ncpus; i++)
			if (queue_empty(&m->vcpu[i]) && (all || m->vcpu[i].idle))
				overlap_trail(m, &m->vcpu[i]);
		return;
	}
	for (;;) {
		uint64_t when;
		struct vcpu *v = earliest(m, all, &when);

		if (m->dram.nr && m->dram.next <= when) {
			serve_dram(m);
			continue;
		}
		if (!v || queue_empty(v))
			break;
		serve_cpu(m, v);
	}
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		if (v->blocked || !queue_empty(v))
			continue;
		advance(v, vcpu_trailing(v));
		v->mark = v->left;
	}
}
