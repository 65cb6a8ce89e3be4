/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model without an emulator, for the tests: accesses by physical address.
 *
 * The machine of rig_make() has a first level of a single line and no second level,
 * and nothing takes time, unless keys say otherwise. So an access reaches the last
 * level unless it is to the same line as the access before, and a test sets all
 * times itself.
 */
#ifndef MCUBE_MODEL_RIG_H
#define MCUBE_MODEL_RIG_H

#include <linux/types.h>

#include "../model.h"

#define LINE	64ull

/**
 * struct rig - a model under test
 * @model:	the model
 * @shared:	memory shared with the guest
 */
struct rig {
	struct model model;
	void *shared;
};

/* A plain machine, with changed keys: "key", "value", ..., NULL. */
struct rig *rig_make(unsigned int ncpus, ...);
/* A machine of machines/, by name. */
struct rig *rig_load(unsigned int ncpus, const char *name);
/* The same, with changed keys: "key", "value", ..., NULL. */
struct rig *rig_load_with(unsigned int ncpus, const char *name, ...);
void rig_free(struct rig *r);
const char *rig_path(const char *name);

/* An access by a CPU that was busy for @busy cycles before. */
void rig_access(struct rig *r, unsigned int cpu, u64 address, bool store, u64 busy);

static inline void rig_load_line(struct rig *r, u64 line)
{
	rig_access(r, 0, line * LINE, false, 0);
}

/* A counter, after all requests were served. */
u64 rig_count(struct rig *r, unsigned int cpu, enum sim_event event);

#endif
