/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a machine's caches and DRAM, without QEMU.
 *
 *	   CPU 0          CPU 1
 *	 L1 -> L2       L1 -> L2	bound phase: access by access, in the
 *	     |              |		order of the emulator		access.c
 *	  queue 0        queue 1	each with the cycles since the last request
 *	      \            /
 *	       \          /		weave phase: always the request that is
 *	        \        /		earliest in modelled time	weave.c
 *	   last level, sliced		address.h, cache.c, prefetch.c; overlap.c for
 *	           |			CPUs that do not wait for each request, arriving.c
 *	           |			for prefetched lines that take time
 *	   DRAM: channels, banks	dram.c
 *
 * The emulator runs the CPUs one after the other, each for a quantum of modelled
 * cycles (quantum.c). Requests to the shared levels are queued meanwhile. When
 * every CPU has completed its quantum, the queues are woven: the shared levels see
 * requests in the order of modelled time, not in the order of the emulator.
 *
 * Files use each other in one direction only, from left to right:
 *
 *	plugin, replay -> model -> quantum, access -> weave -> overlap, prefetch, sample
 *	model, quantum, weave -> arriving
 *	plugin -> dataflow -> operands		access, weave -> coherence
 *
 * All these files use state.h, and with it machine, address, cache, dram and pages.
 * drivers/mcube/sim/shm.h has the unit and the meaning of every counter.
 */
#ifndef MCUBE_MODEL_H
#define MCUBE_MODEL_H

#include "access.h"
#include "quantum.h"
#include "state.h"
#include "weave.h"

bool model_init(struct model *m, const struct machine *machine, unsigned int ncpus,
		void *shared);
void model_free(struct model *m);
void model_clear(struct model *m);
bool model_count_pages(struct model *m, uint64_t ram_bytes, const char *path);
bool model_mark_pages(struct model *m);

#endif
