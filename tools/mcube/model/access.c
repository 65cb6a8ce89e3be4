// SPDX-License-Identifier: GPL-2.0
/*
 * The bound phase: an access of a CPU in its private levels, L1 and L2.
 *
 * Neither level includes the other; a fetched line enters both. A dirty line that
 * L1 evicts goes to L2. A dirty line that L2 evicts becomes a request to the shared
 * levels, for which no CPU waits. If private levels are kept coherent, hits that other
 * CPUs may have an interest in become requests, too; coherence.c.
 */
#include "access.h"
#include "coherence.h"
#include "sample.h"
#include "weave.h"

#define CONCERNS_OTHERS	0x100u		/* beside the bits of samplers */

static struct request *enqueue(struct model *m, struct vcpu *v, unsigned int kind)
{
	struct request *r;

	if (v->tail - v->head == QUEUE_SIZE)
		model_weave(m, true);
	r = &v->queue[v->tail++ % QUEUE_SIZE];
	r->kind = kind;
	r->gap = v->mark - v->left;
	r->want = 0;
	r->owner = v->shared->owner % SIM_MAX_OWNERS;
	r->position = v->count[SIM_INSTRUCTIONS] - v->ahead;
	v->queued_gap += r->gap;
	v->mark = v->left;
	return r;
}

/* A request that the CPU needs the data of. */
static struct request *demand(struct model *m, struct vcpu *v)
{
	struct request *r = enqueue(m, v, REQUEST_DEMAND);

	r->after = v->after;
	v->demands++;
	v->queued_demand++;
	v->left -= v->latency >> 4;
	v->mark = v->left;
	return r;
}

static void write_back(struct model *m, struct vcpu *v, uint64_t entry)
{
	struct request *r = enqueue(m, v, REQUEST_WRITEBACK);

	r->paddr = line_number(entry) << m->map.line_shift;
}

/* L1 evicts a dirty line. */
static void evict_l1(struct model *m, struct vcpu *v, uint64_t entry)
{
	uint64_t line = line_number(entry), *in_l2;
	unsigned int index;

	if (!v->l2.set) {
		write_back(m, v, entry);
		return;
	}
	index = cache_index(&v->l2, line);
	in_l2 = cache_peek(&v->l2, index, line);
	if (in_l2) {
		*in_l2 |= LINE_DIRTY;
		return;
	}
	entry = cache_fill(&v->l2, index, line << LINE_SHIFT | LINE_DIRTY);
	if (entry & LINE_DIRTY)
		write_back(m, v, entry);
}

static void describe(struct request *r, uint64_t vaddr, uint64_t paddr, uint64_t ip,
		     unsigned int flags, unsigned int want)
{
	r->vaddr = vaddr;
	r->paddr = paddr;
	r->ip = ip;
	r->flags = flags;
	r->want = want;
}

/* CONCERNS_OTHERS if a private hit is other CPUs' business. */
static unsigned int concerns_others(uint64_t entry, bool store)
{
	return entry & LINE_WATCHED || (store && !(entry & LINE_DIRTY)) ? CONCERNS_OTHERS : 0;
}

/**
 * model_access - a load or a store
 * @m:		the model
 * @v:		the CPU
 * @vaddr:	virtual address
 * @paddr:	physical address, in the guest
 * @store:	it is a store
 * @ip:		address of the instruction
 *
 * An access that crosses into another line takes two calls.
 */
void model_access(struct model *m, struct vcpu *v, uint64_t vaddr, uint64_t paddr,
		  bool store, uint64_t ip)
{
	uint64_t host = backing_host(&m->backing, paddr);
	uint64_t line = host >> m->map.line_shift, victim, victim2 = 0, *entry;
	unsigned int flags = store ? SIM_SAMPLE_STORE : 0, want, index, level = 1;
	struct request *r;

	v->count[SIM_ACCESSES]++;
	v->count[SIM_STORES] += store;
	v->left -= m->l1_cost;
	if (__builtin_expect(vaddr - m->uncached < m->uncached_bytes, 0)) {
		flags |= SIM_SAMPLE_UNCACHED;
		describe(demand(m, v), vaddr, host, ip, flags, 0);
		return;
	}
	want = sampled(v, SIM_ACCESSES);
	if (store)
		want |= sampled(v, SIM_STORES);
	/* vcpu_repeat() would hide the access from samplers, and the hit from SRRIP. */
	if (!v->sampled && !v->l1.srrip) {
		v->last[0] = vaddr >> m->map.line_shift;
		v->last[1] = store ? v->last[0] : NO_LINE;
	}
	index = cache_index(&v->l1, line);
	entry = cache_lookup(&v->l1, index, line);
	if (entry) {
		if (__builtin_expect(coherent(m), 0))
			want |= concerns_others(*entry, store);
		if (store)
			*entry |= LINE_DIRTY;
		goto hit;
	}
	v->count[SIM_L1_MISSES]++;
	want |= sampled(v, SIM_L1_MISSES);
	victim = cache_fill(&v->l1, index, line << LINE_SHIFT | (store ? LINE_DIRTY : 0));
	if (__builtin_expect(coherent(m), 0))
		want |= coherence_fill(m, v, line) ? CONCERNS_OTHERS : 0;
	if (v->l2.set) {
		v->left -= m->l2_cost;
		level = 2;
		index = cache_index(&v->l2, line);
		entry = cache_lookup(&v->l2, index, line);
		if (!entry) {
			v->count[SIM_L2_MISSES]++;
			want |= sampled(v, SIM_L2_MISSES);
			victim2 = cache_fill(&v->l2, index, line << LINE_SHIFT);
		} else if (__builtin_expect(coherent(m), 0)) {
			want |= concerns_others(*entry, store);
		}
	}
	if (!entry) {
		describe(demand(m, v), vaddr, host, ip, flags, want);
		want = 0;
	}
	if (victim & LINE_DIRTY)
		evict_l1(m, v, victim);
	if (victim2 & LINE_DIRTY)
		write_back(m, v, victim2);
hit:
	if (__builtin_expect(want, 0)) {
		r = enqueue(m, v, want & CONCERNS_OTHERS ? REQUEST_TOUCH : REQUEST_SAMPLE);
		describe(r, vaddr, host, ip, flags | level, want);
		r->after = v->after;
		if (want & CONCERNS_OTHERS) {
			v->demands++;
			vcpu_forget(v);
		}
	}
}
