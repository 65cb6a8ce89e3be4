/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private levels; access.c says how they work.
 */
#ifndef MCUBE_MODEL_ACCESS_H
#define MCUBE_MODEL_ACCESS_H

#include "state.h"

void model_access(struct model *m, struct vcpu *v, uint64_t vaddr, uint64_t paddr,
		  bool store, uint64_t ip);

/**
 * vcpu_repeat - try an access without a lookup
 * @m:		the model
 * @v:		the CPU
 * @vaddr:	virtual address of the access
 * @size:	bytes
 * @store:	it is a store
 *
 * An access to the line of the previous access hits the first level.
 *
 * Return: true if the access is done and counted, false if it needs model_access().
 */
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

#endif
