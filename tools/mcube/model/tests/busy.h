/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine on which much happens at the same time, and CPUs that keep it busy with
 * accesses that depend on nothing but their number.
 */
#ifndef MCUBE_MODEL_BUSY_H
#define MCUBE_MODEL_BUSY_H

#include "rig.h"

#define CPUS	3
#define STEPS	20000u

/* With the key, if not NULL. */
struct rig *busy_machine(const char *quantum, const char *key, const char *value);
/* With overlapping misses, and prefetches that take time. */
struct rig *busy_prefetching(const char *quantum, const char *misses, const char *under_way);
/* Run all steps of all CPUs; read the counters after every @sync_every steps, 0: never. */
void busy_emulate(struct rig *r, unsigned int sync_every);

#endif
