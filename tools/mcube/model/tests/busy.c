// SPDX-License-Identifier: GPL-2.0
/*
 * A machine on which much happens at the same time; busy.h.
 */
#include "busy.h"

static struct rig *make(const char *quantum, const char *key, const char *value,
			const char *key2, const char *value2)
{
	return rig_make(CPUS, "l1.size", "2K", "l1.ways", "4", "l2.size", "8K", "l2.ways", "4",
			"llc.size", "32K", "l1.latency", "3", "l2.latency", "9", "llc.latency",
			"30", "dram.banks", "0x4000 0x8000", "dram.channels", "0x2000",
			"dram.row", "64K", "dram.rp", "25", "dram.rcd", "26", "dram.cas", "27",
			"dram.burst", "8", "dram.base", "41", "prefetch.kind", "stride",
			"quantum", quantum, key, value, key2, value2, NULL);
}

struct rig *busy_machine(const char *quantum, const char *key, const char *value)
{
	return make(quantum, key, value, NULL, NULL);
}

struct rig *busy_prefetching(const char *quantum, const char *misses, const char *under_way)
{
	return make(quantum, "cpu.misses", misses, "prefetch.under_way", under_way);
}

/*
 * Step i of a CPU: instructions and an access, both by a hash of i. Some addresses
 * depend on an earlier request.
 */
static bool step(struct rig *r, unsigned int cpu, unsigned int i)
{
	u64 x = (i * 3ull + cpu + 1) * 0x9e3779b97f4a7c15ull;
	struct vcpu *v = &r->model.vcpu[cpu];
	bool end;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	end = vcpu_instructions(&r->model, v, 1 + x % 19);
	v->after = x & 0x30 ? 0 : v->demands;
	rig_access(r, cpu, (u64)cpu << 24 | (x & 4 ? i % 4096 * LINE : (x >> 8) % (96 << 10)),
		   x & 8, 0);
	return end;
}

/* Like the emulator: dispatch each CPU in turn, until the model asks it to leave. */
void busy_emulate(struct rig *r, unsigned int sync_every)
{
	unsigned int done[CPUS] = { }, cpu = 0, ended = 0, steps = 0;

	while (ended < CPUS) {
		struct vcpu *v = &r->model.vcpu[cpu];

		model_dispatch(&r->model, v);
		while (done[cpu] < STEPS) {
			bool end = step(r, cpu, done[cpu]++);

			if (sync_every && !(++steps % sync_every))
				model_sync(&r->model);
			else if (end && model_quantum_end(&r->model, v))
				break;
		}
		if (done[cpu] == STEPS) {
			done[cpu]++;
			ended++;
			model_idle(&r->model, v);
		}
		do
			cpu = (cpu + 1) % CPUS;
		while (ended < CPUS && done[cpu] > STEPS);
	}
	model_sync(&r->model);
}
