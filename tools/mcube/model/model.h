/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a machine's caches and DRAM, without QEMU.
 *
 *	   CPU 0          CPU 1
 *	 L1 -> L2       L1 -> L2	at once, as accesses come	access.c
 *	     |              |
 *	  queue 0        queue 1	cycles since the last request
 *	      \            /
 *	       \          /		always the one that is earliest in
 *	     merge by time		modelled time			merge.c
 *	           |
 *	   last level, sliced		address.h, cache.c, prefetch.c
 *	           |
 *	   DRAM: channels, banks	dram.c
 *
 * CPUs run one after the other, each for a quantum of modelled cycles
 * (turns.c). What they want of the shared levels is queued meanwhile, and
 * merged when every CPU has had its turn: requests meet in the order of modelled
 * time, not in the order in which the emulator came across them.
 *
 * The sizes and meanings of all figures are those of drivers/mcube/sim/shm.h.
 */
#ifndef MCUBE_MODEL_H
#define MCUBE_MODEL_H

#include "../../../drivers/mcube/sim/shm.h"
#include "address.h"
#include "cache.h"
#include "dram.h"

#define QUEUE_SIZE	8192u		/* requests per CPU, a power of two */
#define STREAMS		64		/* pages that the prefetcher follows per CPU */
#define NO_LINE		(~0ull)

enum request_kind {
	REQUEST_DEMAND,		/* a miss of the private levels */
	REQUEST_WRITEBACK,	/* a dirty line that left them */
	REQUEST_SAMPLE,		/* a sampled hit in them: only its time is missing */
};

/**
 * struct request - what a CPU wants of the shared levels
 * @paddr:	physical address of the data
 * @vaddr:	virtual address of the data
 * @ip:		address of the instruction
 * @gap:	busy cycles of the CPU since its previous request was served
 * @kind:	enum request_kind
 * @flags:	SIM_SAMPLE_STORE, and for samples the level
 * @want:	samplers that chose this access, one bit each
 * @owner:	whom it is charged to
 */
struct request {
	uint64_t paddr;
	uint64_t vaddr;
	uint64_t ip;
	uint32_t gap;
	uint8_t kind;
	uint8_t flags;
	uint8_t want;
	uint8_t owner;
};

/**
 * struct stream - what the stride prefetcher knows of a page
 * @page:	its number + 1, 0: none
 * @line:	line within it that was asked for last
 * @stride:	lines between the last two requests
 * @confidence:	how often in a row the stride was the same
 */
struct stream {
	uint64_t page;
	int line;
	int stride;
	unsigned int confidence;
};

/**
 * struct vcpu - a CPU with its private levels
 * @left:	cycles to the end of the epoch, by estimate
 * @mark:	@left when the last request was queued: the difference is its gap
 * @last:	virtual line number of the last access; [1]: if it is dirty in L1.
 *		Another access to it hits the first level for sure.
 * @count:	counters, copied to the guest's memory at each merge
 * @l1:		first level
 * @l2:		second level, @l2.set is NULL without
 * @by_event:	samplers that count an event, one bit each
 * @sampled:	some sampler counts every access or every store
 * @index:	number of the CPU
 * @shared:	what the guest sees
 * @ring:	where samples go
 * @queue:	requests not yet served
 * @head:	next to serve
 * @tail:	next to fill
 * @queued_gap:	sum of the gaps in @queue
 * @queued_demand: demand requests in @queue
 * @clock:	modelled time up to which all is known
 * @latency:	moving average of the cycles of a demand request, times 16
 * @waiting:	the request that DRAM has not yet answered
 * @blocked:	there is one
 * @idle:	halted: neither asks for anything nor holds others back
 * @turn:	number of its last turn
 * @exits:	how often it was asked to leave during this turn
 * @stream:	prefetcher
 */
struct vcpu {
	int64_t left;
	int64_t mark;
	uint64_t last[2];
	uint64_t count[SIM_NR_EVENTS];
	struct cache l1;
	struct cache l2;
	uint8_t by_event[SIM_NR_EVENTS];
	bool sampled;
	unsigned int index;
	struct sim_cpu *shared;
	struct sim_sample *ring;

	struct request *queue;
	unsigned int head;
	unsigned int tail;
	uint64_t queued_gap;
	unsigned int queued_demand;
	uint64_t clock;
	unsigned int latency;
	struct request waiting;
	bool blocked;
	bool idle;

	uint64_t turn;
	unsigned int exits;
	struct stream stream[STREAMS];
};

/**
 * struct model - a machine at work
 * @machine:	its description
 * @map:	where addresses fall
 * @ncpus:	CPUs
 * @vcpu:	the CPUs
 * @l1_cost:	cycles that a hit in the first level costs beyond the pipeline
 * @l2_cost:	... in the second, in addition
 * @llc_cost:	... in the last, in addition
 * @llc:	last level, all slices
 * @dram:	what is behind it
 * @served:	time of the last event at the shared levels
 * @epoch_end:	time up to which CPUs run before the next merge
 * @turn:	number of the current turn
 * @running:	whose turn it is
 * @header:	what the guest sees
 */
struct model {
	struct machine machine;
	struct address_map map;
	unsigned int ncpus;
	struct vcpu vcpu[SIM_MAX_CPUS];
	unsigned int l1_cost;
	unsigned int l2_cost;
	unsigned int llc_cost;
	struct cache llc;
	struct dram dram;
	uint64_t served;
	uint64_t epoch_end;
	uint64_t turn;
	struct vcpu *running;
	struct sim_header *header;
};

/* model.c */
bool model_init(struct model *m, const struct machine *machine, unsigned int ncpus,
		void *shared);
void model_free(struct model *m);
void model_clear(struct model *m);
void model_publish(struct model *m);

/* access.c */
void model_access(struct model *m, struct vcpu *v, uint64_t vaddr, uint64_t paddr,
		  bool store, uint64_t ip);
void vcpu_forget(struct vcpu *v);

/* merge.c */
void model_merge(struct model *m, bool all);

/* turns.c */
void model_start(struct model *m);
void model_stop(struct model *m);
void model_sync(struct model *m);
void model_turn(struct model *m, struct vcpu *v);
bool model_epoch(struct model *m, struct vcpu *v);
void model_spin(struct model *m, struct vcpu *v);
void model_idle(struct model *m, struct vcpu *v);

/* sample.c */
void samplers_refresh(struct vcpu *v);
unsigned int samplers_count(struct vcpu *v, enum sim_event event);
void sample_write(struct vcpu *v, const struct request *r, unsigned int want,
		  uint64_t time, uint64_t latency, unsigned int flags);

/* prefetch.c */
unsigned int prefetch_lines(struct model *m, struct vcpu *v, uint64_t paddr,
			    uint64_t *out);

/* The samplers that choose this event; the common case is that nobody samples. */
static inline unsigned int sampled(struct vcpu *v, enum sim_event event)
{
	return __builtin_expect(v->by_event[event], 0) ? samplers_count(v, event) : 0;
}

static inline bool queue_empty(const struct vcpu *v)
{
	return v->head == v->tail;
}

/* Busy cycles that no queued request accounts for yet. */
static inline uint64_t vcpu_trailing(const struct vcpu *v)
{
	return v->mark - v->left;
}

/* An access that needs no lookup: it hits the line that was used just before. */
static inline bool vcpu_repeat(struct model *m, struct vcpu *v, uint64_t vaddr,
			       unsigned int size, bool store)
{
	if (vaddr >> m->map.line_shift != v->last[store] ||
	    (vaddr + size - 1) >> m->map.line_shift != v->last[store])
		return false;
	v->count[SIM_ACCESSES]++;
	v->count[SIM_STORES] += store;
	v->left -= m->l1_cost;
	return true;
}

/* n instructions; true at the end of the epoch. */
static inline bool vcpu_instructions(struct model *m, struct vcpu *v, unsigned int n)
{
	v->count[SIM_INSTRUCTIONS] += n;
	v->left -= n * m->machine.instruction;
	return v->left <= 0;
}

#endif
