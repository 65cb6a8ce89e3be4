// SPDX-License-Identifier: GPL-2.0
/*
 * Setup and teardown of a model; model.h has the picture.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "arriving.h"
#include "coherence.h"
#include "overlap.h"

static unsigned int beyond(uint64_t latency, uint64_t hidden)
{
	return latency > hidden ? latency - hidden : 0;
}

/**
 * model_init - set up a model
 * @m:		the model
 * @machine:	description that passed machine_check()
 * @ncpus:	number of CPUs, at most SIM_MAX_CPUS
 * @shared:	memory shared with the guest, SIM_SHM_SIZE bytes
 *
 * After a failure model_free() frees what was allocated.
 *
 * Return: false if memory is short.
 */
bool model_init(struct model *m, const struct machine *machine, unsigned int ncpus,
		void *shared)
{
	struct sim_header *h = shared;

	memset(m, 0, sizeof(*m));
	memset(shared, 0, SIM_SHM_SIZE);
	m->machine = *machine;
	m->ncpus = ncpus;
	m->header = h;
	address_init(&m->map, &m->machine);
	dram_init(&m->dram, &m->map);
	m->l1_cost = beyond(machine->l1.latency, machine->hidden);
	m->l2_cost = machine->l2.size ?
		beyond(machine->l2.latency, machine->hidden) - m->l1_cost : 0;
	m->coherence_cost = machine->coherence ?
		beyond(machine->coherence, machine->hidden) - m->l1_cost - m->l2_cost : 0;
	m->llc_cost = beyond(machine->llc.latency, machine->hidden) - m->l1_cost - m->l2_cost;
	if (!backing_init(&m->backing, machine->backing, machine->backing_seed))
		return false;
	if (!cache_init(&m->llc, &m->machine.llc))
		return false;
	if (machine->coherence && !coherence_init(m))
		return false;
	for (unsigned int i = 0; i < ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		v->index = i;
		v->idle = true;
		v->backing = &m->backing;
		v->latency = machine->llc.latency << 4;
		v->shared = (void *)((char *)shared + SIM_CPU_OFFSET + i * SIM_CPU_STRIDE);
		v->ring = (void *)((char *)shared + SIM_RING_OFFSET);
		v->ring += (size_t)i * SIM_RING_SIZE;
		v->queue = calloc(QUEUE_SIZE, sizeof(*v->queue));
		if (!v->queue || !cache_init(&v->l1, &m->machine.l1) ||
		    (machine->l2.size && !cache_init(&v->l2, &m->machine.l2)))
			return false;
		if (machine->misses > 1 && !overlap_init(m, v))
			return false;
		if (arriving(m) && !arriving_init(m, v))
			return false;
		vcpu_forget(v);
	}
	h->version = SIM_VERSION;
	h->ncpus = ncpus;
	h->line = machine->line;
	h->llc_sets = machine->llc.sets;
	h->llc_ways = machine->llc.ways;
	h->llc_slices = machine->llc_slices;
	h->colors = m->map.colors;
	h->banks = m->map.banks;
	h->mhz = machine->mhz;
	strcpy(h->name, machine->name);
	__atomic_store_n(&h->magic, SIM_MAGIC, __ATOMIC_RELEASE);
	return true;
}

/**
 * model_count_pages - count requests to the last level by page frame
 * @m:		the model, set up by model_init()
 * @ram_bytes:	RAM of the guest
 * @path:	file that gets the counts at each model_mark_pages()
 *
 * Return: false if memory is short or the file cannot be written.
 */
bool model_count_pages(struct model *m, uint64_t ram_bytes, const char *path)
{
	if (!pages_init(&m->pages, ram_bytes, path))
		return false;
	m->header->frames = m->pages.frames;
	return true;
}

/**
 * model_mark_pages - end an interval of the counts by page frame
 * @m:	the model
 *
 * Requests that are still queued belong to the next interval; model_sync() serves them.
 *
 * Return: false if the file cannot be written.
 */
bool model_mark_pages(struct model *m)
{
	bool written = pages_mark(&m->pages);

	__atomic_store_n(&m->header->marks, m->pages.marks, __ATOMIC_RELEASE);
	return written;
}

/**
 * model_free - free the memory of a model
 * @m:	the model
 */
void model_free(struct model *m)
{
	pages_free(&m->pages);
	backing_free(&m->backing);
	for (unsigned int i = 0; i < m->ncpus; i++) {
		free(m->vcpu[i].queue);
		free(m->vcpu[i].flight);
		free(m->vcpu[i].arriving);
		cache_free(&m->vcpu[i].l1);
		cache_free(&m->vcpu[i].l2);
	}
	cache_free(&m->llc);
	coherence_free(m);
}

/**
 * model_clear - empty the caches, close the rows, reset the prefetchers
 * @m:	the model
 *
 * Queued requests are served first.
 */
void model_clear(struct model *m)
{
	model_weave(m, true);
	cache_clear(&m->llc);
	dram_clear(&m->dram);
	arriving_clear(m);
	coherence_clear(m);
	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *v = &m->vcpu[i];

		cache_clear(&v->l1);
		cache_clear(&v->l2);
		memset(v->stream, 0, sizeof(v->stream));
		vcpu_forget(v);
	}
}
