/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the files of the driver of the modelled machine. The
 * arrows say which file uses which:
 *
 *	dev.c      finds the PCI device
 *	  |
 *	  v
 *	pmu.c      shows the counters to perf
 *	  |
 *	  v
 *	control.c  switches the model, describes the machine in sysfs
 */
#ifndef _MCUBE_SIM_INTERNAL_H
#define _MCUBE_SIM_INTERNAL_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "shm.h"

struct attribute_group;

/* The memory shared with the plugin. Set once, before the PMU registers. */
extern void *mcube_sim_shm;

/* Parts of the PMU's directory in sysfs. */
extern const struct attribute_group mcube_sim_control_group;
extern const struct attribute_group mcube_sim_machine_group;

int mcube_sim_get(void);
void mcube_sim_put(void);

int mcube_sim_pmu_register(void);

static inline struct sim_header *sim_header(void)
{
	return mcube_sim_shm;
}

static inline struct sim_cpu *sim_cpu(unsigned int cpu)
{
	return mcube_sim_shm + SIM_CPU_OFFSET + cpu * SIM_CPU_STRIDE;
}

static inline struct sim_sample *sim_ring(unsigned int cpu)
{
	return (struct sim_sample *)(mcube_sim_shm + SIM_RING_OFFSET) +
	       cpu * SIM_RING_SIZE;
}

/* Bring all counters and rings up to date. */
static inline void sim_sync(void)
{
	asm volatile(SIM_SYNC ::: "memory");
}

#endif /* _MCUBE_SIM_INTERNAL_H */
