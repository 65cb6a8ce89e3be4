/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a model: its CPUs with their private levels and queues, and the
 * levels that they share. model.h has the picture.
 */
#ifndef MCUBE_MODEL_STATE_H
#define MCUBE_MODEL_STATE_H

#include "../../../drivers/mcube/sim/shm.h"
#include "address.h"
#include "backing.h"
#include "cache.h"
#include "dram.h"
#include "pages.h"

#define QUEUE_SIZE	8192u		/* requests per CPU, a power of two */
#define STREAMS		64		/* pages that the prefetcher follows per CPU */
#define NO_LINE		(~0ull)
#define MOVING		1024u		/* lines in struct directory.moving, a power of two */
#define FLIGHTS		64u		/* demand requests in struct vcpu.flight, a power of two */

enum request_kind {
	REQUEST_DEMAND,		/* a miss of the private levels */
	REQUEST_TOUCH,		/* a private hit that may be none; coherence.c */
	REQUEST_WRITEBACK,	/* a dirty line evicted from the private levels */
	REQUEST_SAMPLE,		/* a sampled private hit, which lacks only its time */
};

/**
 * struct request - a request of a CPU to the shared levels
 * @paddr:	physical address of the data, in the host
 * @vaddr:	virtual address of the data
 * @ip:		address of the instruction
 * @gap:	busy cycles of the CPU since its previous request was served
 * @kind:	enum request_kind
 * @flags:	SIM_SAMPLE_STORE and _UNCACHED, and for REQUEST_SAMPLE and REQUEST_TOUCH the level
 * @want:	samplers that chose this access, a bit for each
 * @owner:	owner that the request is charged to
 * @position:	instructions that the CPU had executed
 * @after:	number of the demand request that the address depends on, 0 for none
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
	uint32_t position;
	uint32_t after;
};

enum flight_state {
	FLIGHT_WAITS,		/* for its address, or for a place among cpu.misses */
	FLIGHT_SENT,		/* to DRAM, which has not answered */
	FLIGHT_KNOWN,		/* the time of its data is known */
};

/**
 * struct arrival - a line on its way from DRAM to the last level; arriving.c
 * @line:	line number
 * @time:	time at which the data arrive, DRAM_NEVER before DRAM has answered
 * @waiters:	CPUs with requests that wait for that answer, a bit for each
 */
struct arrival {
	uint64_t line;
	uint64_t time;
	uint32_t waiters;
};

/**
 * struct flight - a demand request that the CPU does not wait for; overlap.c
 * @request:	the request
 * @state:	enum flight_state
 * @entered:	time at which the CPU reached the request
 * @sent:	time at which it went to the last level
 * @done:	time at which the data arrive, if FLIGHT_KNOWN
 * @late:	line that was on its way already and whose answer it waits for, NULL for none
 */
struct flight {
	struct request request;
	unsigned int state;
	uint64_t entered;
	uint64_t sent;
	uint64_t done;
	const struct arrival *late;
};

/**
 * struct plan - what a CPU does next, as long as no flight of it changes
 * @enter:	time at which it reaches the request at the head of its queue
 * @send:	time at which a flight goes to the last level
 * @number:	number of that flight
 * @enter_known: @enter was worked out
 * @send_known:	@send and @number were worked out
 */
struct plan {
	uint64_t enter;
	uint64_t send;
	uint32_t number;
	bool enter_known;
	bool send_known;
};

/**
 * struct stream - what the stride prefetcher knows of a page
 * @page:	number of the page + 1, 0 for none
 * @line:	line of the last request, within the page
 * @stride:	distance in lines between the last two requests
 * @confidence:	number of requests in a row with this stride
 */
struct stream {
	uint64_t page;
	int line;
	int stride;
	unsigned int confidence;
};

/**
 * struct vcpu - a CPU with its private levels
 * @left:	cycles to the end of the quantum, by estimate
 * @mark:	@left when the last request was queued; @mark - @left is the gap of
 *		the next request
 * @last:	virtual line number of the last access, which the next access to this
 *		line hits in the first level without a lookup; [0] for loads, [1] for
 *		stores, which need the line to be dirty in L1
 * @count:	counters, copied to the guest's memory after each weave
 * @l1:		first level
 * @l2:		second level; @l2.set is NULL if the machine has none
 * @by_event:	samplers that count an event, a bit for each
 * @sampled:	a sampler counts every access or every store
 * @index:	number of the CPU
 * @backing:	of the model
 * @shared:	counters and samplers in the guest's memory
 * @ring:	samples in the guest's memory
 * @queue:	requests not yet served
 * @head:	next request to serve
 * @tail:	next slot to fill
 * @queued_gap:	sum of the gaps in @queue
 * @queued_demand: number of demand requests in @queue
 * @clock:	modelled time up to which all requests have been served
 * @latency:	moving average of the cycles of a demand request, times 16
 * @waiting:	the request that DRAM has not answered yet, if @blocked
 * @blocked:	the CPU waits for DRAM
 * @idle:	halted: makes no requests, and other CPUs do not wait for it
 * @dispatch:	number of its last dispatch
 * @exits:	how often it was asked to leave since that dispatch
 * @stream:	state of the stride prefetcher
 * @arriving:	lines that it asked for; NULL: prefetched lines are there at once
 * @after:	number of the demand request that the address of the next access
 *		depends on, 0 for none
 * @ahead:	instructions that were counted and come after the next access
 * @demands:	number of the last REQUEST_DEMAND or REQUEST_TOUCH that was queued, from 1
 * @flight:	demand requests by number modulo FLIGHTS; NULL: the CPU waits for each
 * @first:	number of the oldest request in @flight
 * @next:	number of the next request that enters @flight
 * @sent:	time at which a request of @flight last went to the last level
 * @position:	instructions executed at @clock
 * @plan:	what it does next with @flight and the head of @queue
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
	const struct backing *backing;
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

	uint64_t dispatch;
	unsigned int exits;
	struct stream stream[STREAMS];
	struct arrival *arriving;

	uint32_t after;
	uint32_t ahead;
	uint32_t demands;
	struct flight *flight;
	uint32_t first;
	uint32_t next;
	uint64_t sent;
	uint32_t position;
	struct plan plan;
};

/**
 * struct directory - which private levels hold which lines; coherence.c
 * @chunk:	entries of successive lines; NULL: private levels are not coherent
 * @moving:	lines that moved lately, and the time at which they arrive, by line number
 */
struct directory {
	uint32_t **chunk;
	struct {
		uint64_t line;
		uint64_t arrives;
	} moving[MOVING];
};

/**
 * struct model - a machine at work
 * @machine:	its description
 * @map:	set, color, channel, bank and row of an address
 * @ncpus:	number of CPUs
 * @vcpu:	the CPUs
 * @l1_cost:	cycles of a hit in the first level that the pipeline does not hide
 * @l2_cost:	further cycles of a hit in the second level
 * @llc_cost:	further cycles of a hit in the last level
 * @coherence_cost: further cycles of a line that another CPU gives up
 * @backing:	host addresses of the guest's memory
 * @llc:	last level, all slices
 * @dram:	memory behind the last level
 * @directory:	which private levels hold which lines
 * @served:	time of the last event at the shared levels
 * @quantum_end: modelled time at which the current quantum ends
 * @dispatch:	number of the current dispatch
 * @running:	the CPU that was dispatched last, NULL if it has halted since
 * @header:	parameters, control and global counters in the guest's memory
 * @uncached:	virtual address from which accesses go past the caches
 * @uncached_bytes: bytes from there on
 * @pages:	counts by page frame, if they were asked for
 */
struct model {
	struct machine machine;
	struct address_map map;
	unsigned int ncpus;
	struct vcpu vcpu[SIM_MAX_CPUS];
	unsigned int l1_cost;
	unsigned int l2_cost;
	unsigned int llc_cost;
	unsigned int coherence_cost;
	struct backing backing;
	struct cache llc;
	struct dram dram;
	struct directory directory;
	uint64_t served;
	uint64_t quantum_end;
	uint64_t dispatch;
	struct vcpu *running;
	struct sim_header *header;
	uint64_t uncached;
	uint64_t uncached_bytes;
	struct pages pages;
};

static inline bool queue_empty(const struct vcpu *v)
{
	return v->head == v->tail;
}

/**
 * vcpu_trailing - busy cycles that no queued request accounts for yet
 * @v:	the CPU
 *
 * Return: the cycles since the last request was queued.
 */
static inline uint64_t vcpu_trailing(const struct vcpu *v)
{
	return v->mark - v->left;
}

/**
 * vcpu_forget - make the next access look its line up
 * @v:	the CPU
 */
static inline void vcpu_forget(struct vcpu *v)
{
	v->last[0] = NO_LINE;
	v->last[1] = NO_LINE;
}

#endif
