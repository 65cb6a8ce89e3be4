/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coherence of the private levels; coherence.c says how it works.
 */
#ifndef MCUBE_MODEL_COHERENCE_H
#define MCUBE_MODEL_COHERENCE_H

#include "state.h"

enum coherence {
	COHERENCE_HIT,		/* the private levels may serve the access */
	COHERENCE_FETCH,	/* they lack the line; nobody else is concerned */
	COHERENCE_REFETCH,	/* a store of another CPU took the line away */
	COHERENCE_SHARE,	/* a CPU that wrote the line gives a copy to this load */
	COHERENCE_TAKE,		/* other CPUs lose the line to this store */
	COHERENCE_EVICT,	/* so they do, but the data come from the shared levels */
};

bool coherence_init(struct model *m);
void coherence_free(struct model *m);
void coherence_clear(struct model *m);
enum coherence coherence_serve(struct model *m, struct vcpu *v, const struct request *r);
void coherence_written_back(struct model *m, struct vcpu *v, uint64_t paddr);
uint64_t coherence_move(struct model *m, uint64_t paddr, uint64_t time);
uint64_t coherence_arrival(const struct model *m, uint64_t paddr, uint64_t time);
bool coherence_fill(const struct model *m, struct vcpu *v, uint64_t line);

/**
 * coherent - the private levels are kept coherent
 * @m:	the model
 */
static inline bool coherent(const struct model *m)
{
	return m->directory.chunk;
}

#endif
