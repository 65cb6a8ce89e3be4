/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines on their way from DRAM to the last level; arriving.c says what they are for.
 */
#ifndef MCUBE_MODEL_ARRIVING_H
#define MCUBE_MODEL_ARRIVING_H

#include "state.h"

bool arriving_init(struct model *m, struct vcpu *v);
unsigned int arriving_add(struct model *m, struct vcpu *v, uint64_t line, uint64_t now);
unsigned int arriving_room(const struct model *m, const struct vcpu *v, uint64_t now);
struct arrival *arriving_find(struct model *m, uint64_t line, uint64_t now);
void arriving_clear(struct model *m);

/**
 * arriving - does prefetching take time?
 * @m:	the model
 *
 * Return: true if it does.
 */
static inline bool arriving(const struct model *m)
{
	return m->machine.prefetch != PREFETCH_NONE && m->machine.under_way;
}

/**
 * arriving_slot - the line in a slot
 * @v:		the CPU that asked for it
 * @slot:	the slot, from arriving_add()
 *
 * Return: the line.
 */
static inline struct arrival *arriving_slot(struct vcpu *v, unsigned int slot)
{
	return &v->arriving[slot - 1];
}

#endif
