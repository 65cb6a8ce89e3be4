/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The quantum that every CPU runs between two weaves; quantum.c says how the CPUs
 * are kept together.
 */
#ifndef MCUBE_MODEL_QUANTUM_H
#define MCUBE_MODEL_QUANTUM_H

#include "state.h"

void model_start(struct model *m);
void model_stop(struct model *m);
void model_sync(struct model *m);
void model_dispatch(struct model *m, struct vcpu *v);
bool model_quantum_end(struct model *m, struct vcpu *v);
void model_spin(struct model *m, struct vcpu *v);
void model_idle(struct model *m, struct vcpu *v);

/**
 * vcpu_instructions - a CPU executes instructions
 * @m:	the model
 * @v:	the CPU
 * @n:	number of instructions
 *
 * Return: true if the CPU has reached the end of the quantum.
 */
static inline bool vcpu_instructions(struct model *m, struct vcpu *v, unsigned int n)
{
	v->count[SIM_INSTRUCTIONS] += n;
	v->left -= n * m->machine.instruction;
	return v->left <= 0;
}

#endif
