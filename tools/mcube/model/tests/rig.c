// SPDX-License-Identifier: GPL-2.0
/*
 * A model without an emulator, for the tests; rig.h says how it is set up.
 */
#include "rig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void __attribute__((noreturn)) broken(const char *bad)
{
	fprintf(stderr, "the machine of a test: %s\n", bad);
	abort();
}

static struct rig *start(unsigned int ncpus, struct machine *machine)
{
	struct rig *r = calloc(1, sizeof(*r));
	const char *bad = machine_check(machine);

	r->shared = calloc(1, SIM_SHM_SIZE);
	if (*bad || !model_init(&r->model, machine, ncpus, r->shared))
		broken(bad);
	model_start(&r->model);
	for (unsigned int i = 0; i < ncpus; i++)
		r->model.vcpu[i].idle = false;
	return r;
}

static struct rig *start_with(unsigned int ncpus, struct machine *machine, va_list keys)
{
	const char *key, *bad = "";

	while ((key = va_arg(keys, const char *)) && !*bad)
		bad = machine_set(machine, key, va_arg(keys, const char *));
	if (*bad)
		broken(bad);
	return start(ncpus, machine);
}

struct rig *rig_make(unsigned int ncpus, ...)
{
	static const char * const plain[] = {
		"l1.size", "64", "l1.ways", "1", "llc.size", "64K", "llc.ways", "16",
		"dram.row", "8K", "quantum", "1000", NULL,
	};
	struct machine machine;
	struct rig *r;
	va_list keys;

	machine_default(&machine);
	for (unsigned int i = 0; plain[i]; i += 2)
		machine_set(&machine, plain[i], plain[i + 1]);
	va_start(keys, ncpus);
	r = start_with(ncpus, &machine, keys);
	va_end(keys);
	return r;
}

const char *rig_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s.conf", MACHINES, name);
	return path;
}

struct rig *rig_load(unsigned int ncpus, const char *name)
{
	struct machine machine;
	const char *bad = machine_load(&machine, rig_path(name));

	if (*bad)
		broken(bad);
	return start(ncpus, &machine);
}

struct rig *rig_load_with(unsigned int ncpus, const char *name, ...)
{
	struct machine machine;
	const char *bad = machine_load(&machine, rig_path(name));
	struct rig *r;
	va_list keys;

	if (*bad)
		broken(bad);
	va_start(keys, name);
	r = start_with(ncpus, &machine, keys);
	va_end(keys);
	return r;
}

void rig_free(struct rig *r)
{
	model_free(&r->model);
	free(r->shared);
	free(r);
}

void rig_access(struct rig *r, unsigned int cpu, u64 address, bool store, u64 busy)
{
	struct vcpu *v = &r->model.vcpu[cpu];

	v->left -= busy;
	/* Virtual addresses differ, so that a test notices a mix-up. */
	model_access(&r->model, v, address | 1ull << 47, address, store, 0x401000);
}

u64 rig_count(struct rig *r, unsigned int cpu, enum sim_event event)
{
	model_sync(&r->model);
	return ((struct sim_cpu *)((char *)r->shared + SIM_CPU_OFFSET +
				   cpu * SIM_CPU_STRIDE))->count[event];
}
