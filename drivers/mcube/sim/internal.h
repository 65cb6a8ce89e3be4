/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the two halves of the driver of a modelled machine: dev.c finds
 * the machine and switches it, pmu.c shows its counters to perf.
 */
#ifndef _MCUBE_SIM_H
#define _MCUBE_SIM_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "shm.h"

struct attribute_group;

/* The memory shared with the plugin. Set once, before the PMU registers. */
extern void *sim_shm;

extern const struct attribute_group sim_control_group, sim_machine_group;

int sim_get(void);
void sim_put(void);

int sim_pmu_register(void);

static inline struct sim_header *sim_header(void)
{
	return sim_shm;
}

static inline struct sim_cpu *sim_cpu(unsigned int cpu)
{
	return sim_shm + SIM_CPU_OFFSET + cpu * SIM_CPU_STRIDE;
}

static inline struct sim_sample *sim_ring(unsigned int cpu)
{
	return (struct sim_sample *)(sim_shm + SIM_RING_OFFSET) +
	       cpu * SIM_RING_SIZE;
}

/* Bring all counters and rings up to date. */
static inline void sim_sync(void)
{
	asm volatile(SIM_SYNC ::: "memory");
}

#endif /* _MCUBE_SIM_H */
