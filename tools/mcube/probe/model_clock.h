/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of a modelled machine, from inside its guest.
 */
#ifndef MCUBE_PROBE_MODEL_CLOCK_H
#define MCUBE_PROBE_MODEL_CLOCK_H

#include <stddef.h>

#include "../../../drivers/mcube/sim/shm.h"

volatile struct sim_header *model_map(void);
void model_control(unsigned int what);
const char *model_clock_init(int cpu);
void model_clock_uncached(const void *base, size_t bytes);

#endif
