// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that overlap their misses, with known cycles.
 *
 * Unless a test says otherwise: every access misses, and DRAM answers after 100 cycles,
 * however many requests it has. At most 8 requests are under way, and the window has 64
 * instructions. An instruction takes a cycle.
 */
#include "busy.h"
#include "mcube_test.h"
#include "rig.h"

#define LATENCY	100
#define MISSES	8
#define WINDOW	64

static struct rig *make(const char *misses, const char *window)
{
	return rig_make(1, "llc.size", "64", "llc.ways", "1", "dram.cas", "100", "cpu.misses",
			misses, "cpu.window", window, NULL);
}

/* @busy instructions, and an access whose address depends on request @after. */
static u32 touch(struct rig *r, unsigned int busy, u64 line, bool store, u32 after)
{
	struct vcpu *v = &r->model.vcpu[0];

	vcpu_instructions(&r->model, v, busy);
	v->after = after;
	rig_access(r, 0, line * LINE, store, 0);
	return v->demands;
}

static u32 load(struct rig *r, unsigned int busy, u64 line, u32 after)
{
	return touch(r, busy, line, false, after);
}

/* Instructions until the CPU has to wait for its last load. */
static u64 cycles(struct rig *r)
{
	vcpu_instructions(&r->model, &r->model.vcpu[0], r->model.machine.window);
	return rig_count(r, 0, SIM_CYCLES);
}

TEST(a_pointer_chase_gains_nothing)
{
	struct rig *r = make("8", "64");
	u32 last = 0;

	for (u64 i = 0; i < 1000; i++)
		last = load(r, 10, i, last);
	EXPECT_EQ(cycles(r), 10 + 1000 * LATENCY);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 1000);
	rig_free(r);
}

TEST(an_independent_stream_gains_the_number_of_misses)
{
	static const struct {
		const char *key;
		unsigned int misses;
	} cases[] = { { "2", 2 }, { "8", 8 }, { "16", 16 }, { "32", 32 } };

	for (unsigned int c = 0; c < ARRAY_SIZE(cases); c++) {
		struct rig *r = make(cases[c].key, "64");
		unsigned int rounds = 800 / cases[c].misses;

		for (u64 i = 0; i < 800; i++)
			load(r, 1, i, 0);
		/* The first request goes after an instruction, and the last of a round. */
		EXPECT_EQ(cycles(r), rounds * LATENCY + cases[c].misses);
		rig_free(r);
	}
}

TEST(a_cpu_that_waits)
{
	struct rig *r = make("1", "64");

	for (u64 i = 0; i < 800; i++)
		load(r, 1, i, 0);
	EXPECT_EQ(cycles(r), 800 * (LATENCY + 1) + WINDOW);
	rig_free(r);
}

TEST(two_chains_gain_two)
{
	struct rig *r = make("8", "64");
	u32 last[2] = { };

	for (u64 i = 0; i < 1000; i++)
		last[i % 2] = load(r, 1, i, last[i % 2]);
	EXPECT_EQ(cycles(r), 2 + 500 * LATENCY);
	rig_free(r);
}

/* A load that waits for its address lets later loads pass. */
TEST(pairs_of_dependent_loads)
{
	struct rig *r = make("8", "64");

	for (u64 i = 0; i < 800; i += 2)
		load(r, 1, i + 1, load(r, 1, i, 0));
	EXPECT_LT(cycles(r), 800 / MISSES * LATENCY * 11 / 10);
	EXPECT_GT(cycles(r), 800u / MISSES * LATENCY);
	rig_free(r);
}

/* A load every 16 instructions, a window of 32: two are under way. */
TEST(the_window_bounds_the_overlap)
{
	struct rig *r = make("8", "32");

	for (u64 i = 0; i < 200; i++)
		load(r, 16, i, 0);
	EXPECT_EQ(cycles(r), 2 * 16 + 100 * LATENCY);
	rig_free(r);
	/* With more instructions between them than the window has, each load is alone. */
	r = make("8", "32");
	for (u64 i = 0; i < 200; i++)
		load(r, 50, i, 0);
	EXPECT_EQ(cycles(r), 50 + 199 * (LATENCY + 50 - 32) + LATENCY);
	rig_free(r);
}

/* Stores are buffered: the CPU goes on. Their lines are fetched, MISSES at a time. */
TEST(stores_do_not_hold_the_window)
{
	struct rig *r = make("8", "32");

	for (u64 i = 0; i < 200; i++)
		touch(r, 50, i, true, 0);
	EXPECT_EQ(cycles(r), 200 * 50 + 32);
	rig_free(r);
	r = make("8", "32");
	for (u64 i = 0; i < 1000; i++)
		touch(r, 1, i, true, 0);
	/* The last FLIGHTS stores are still in the buffer. */
	EXPECT_GE(cycles(r), (1000u - FLIGHTS) / MISSES * LATENCY);
	EXPECT_LT(cycles(r), 1000u / MISSES * LATENCY);
	rig_free(r);
}

/* A bank serves one request after the other, however many CPUs have under way. */
TEST(banks_bound_the_overlap)
{
	struct rig *r;

	for (unsigned int banks = 1; banks <= 4; banks *= 2) {
		u64 took;

		r = rig_make(1, "llc.size", "64", "llc.ways", "1", "dram.banks", "0x2000 0x4000",
			     "dram.row", "32K", "dram.rp", "60", "dram.rcd", "40", "dram.cas",
			     "20", "cpu.misses", "16", NULL);
		for (u64 i = 0; i < 800; i++)
			load(r, 1, ((i << 15) | (i % banks) << 13) / LINE, 0);
		took = cycles(r);
		EXPECT_EQ(rig_count(r, 0, SIM_ROW_CONFLICTS), 800 - banks);
		EXPECT_GE(took, (800u / banks - 1) * 100);
		EXPECT_LT(took, (800u / banks + 2) * 100);
		rig_free(r);
	}
}

/* A bus carries one line after the other. */
TEST(the_bus_bounds_the_overlap)
{
	struct rig *r = rig_make(1, "llc.size", "64", "llc.ways", "1", "dram.row", "1G",
				 "dram.cas", "100", "dram.burst", "20", "cpu.misses", "16", NULL);

	for (u64 i = 0; i < 1000; i++)
		load(r, 1, i, 0);
	EXPECT_EQ(cycles(r), 1 + LATENCY + 1000 * 20);
	rig_free(r);
}

/* Hits of the last level overlap, too. */
TEST(hits_overlap)
{
	struct rig *r = rig_make(1, "llc.latency", "40", "cpu.misses", "8", NULL);
	u64 before;

	for (u64 i = 0; i < 512; i++)
		load(r, 1, i, 0);
	before = cycles(r);
	for (u64 i = 0; i < 512; i++)
		load(r, 1, i, 0);
	EXPECT_EQ(cycles(r) - before, 512 / 8 * 40 + 8);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 512);
	rig_free(r);
}

/* Samples have the latency of their own request. */
TEST(samples_of_overlapped_requests)
{
	struct rig *r = make("8", "64");
	struct sim_cpu *c = r->model.vcpu[0].shared;

	c->sampler[0] = (struct sim_sampler){ .event = SIM_LLC_MISSES, .left = 1, .period = 1 };
	model_sync(&r->model);
	for (u64 i = 0; i < 800; i++)
		load(r, 1, i, 0);
	cycles(r);
	EXPECT_EQ(c->head, 800);
	for (; c->tail != c->head; c->tail++) {
		const struct sim_sample *s = &r->model.vcpu[0].ring[c->tail % SIM_RING_SIZE];

		EXPECT_EQ(s->paddr, c->tail * LINE);
		EXPECT_EQ(s->latency, LATENCY);
		EXPECT_EQ(s->time, 1 + c->tail % 8 + c->tail / 8 * LATENCY);
	}
	rig_free(r);
}

/* With one miss the window means nothing, and cycles are those of the first model. */
TEST(one_miss_is_a_cpu_that_waits)
{
	static const u64 known[CPUS] = { 2852572, 2966396, 2966264 };
	struct rig *r = busy_machine("2000", "cpu.window", "7");

	busy_emulate(r, 0);
	for (unsigned int c = 0; c < CPUS; c++)
		EXPECT_EQ(rig_count(r, c, SIM_CYCLES), known[c]);
	rig_free(r);
}

/* More misses never make a CPU slower, and overlap never changes what is missed. */
TEST(more_is_not_slower)
{
	static const char * const misses[] = { "1", "2", "4", "8", "16", "32" };
	u64 before = ~0ull;

	for (unsigned int i = 0; i < ARRAY_SIZE(misses); i++) {
		struct rig *r = busy_machine("2000", "cpu.misses", misses[i]);
		u64 sum = 0;

		busy_emulate(r, 0);
		for (unsigned int c = 0; c < CPUS; c++) {
			EXPECT_EQ(rig_count(r, c, SIM_LLC_REFS), rig_count(r, c, SIM_L2_MISSES));
			sum += rig_count(r, c, SIM_CYCLES);
		}
		EXPECT_LT(sum, before);
		before = sum;
		rig_free(r);
	}
}

/* GB/s of @cpus streams on the X5570, or of @cpus times loads from random lines. */
static double bandwidth(unsigned int cpus, const char *misses, bool random)
{
	struct rig *r = rig_load_with(cpus, "x5570", "cpu.misses", misses, NULL);
	u64 cycles = 0, lines = 0;

	for (u64 i = 0; i < 20000; i++)
		for (unsigned int c = 0; c < cpus; c++) {
			u64 line = random ? get_random_u32_below(32 << 14) : i;

			vcpu_instructions(&r->model, &r->model.vcpu[c], 4);
			/* Streams begin at arbitrary pages, as those of programs do. */
			rig_access(r, c, ((u64)c << 28) + c * 37 * 4096 + line * LINE, false, 0);
		}
	for (unsigned int c = 0; c < cpus; c++) {
		if (rig_count(r, c, SIM_CYCLES) > cycles)
			cycles = rig_count(r, c, SIM_CYCLES);
		lines += rig_count(r, c, SIM_LLC_MISSES);
	}
	rig_free(r);
	return lines * LINE * 2.93 / cycles;
}

/*
 * Nehalem has 10 line fill buffers, and its memory takes 65 ns: a core gets at most
 * 10 * 64 / 65 = 9.8 bytes in a nanosecond (Little's law), and a core that waits for each
 * line 1 byte. Three channels of DDR3-1333 have 32 GB/s.
 */
TEST(bandwidth_of_the_x5570)
{
	double one = bandwidth(1, "10", false), waits = bandwidth(1, "1", false), before = 0;

	EXPECT_GT(one, 9.8 * .9);
	EXPECT_LT(one, 9.8 * 1.1);
	EXPECT_GT(waits, 1 * .9);
	EXPECT_LT(waits, 1 * 1.6);	/* rows are open */
	EXPECT_GT(bandwidth(1, "10", true), 9.8 * .6);	/* rows have to be closed */
	EXPECT_LT(bandwidth(1, "10", true), 9.8);
	for (unsigned int cpus = 1; cpus <= 4; cpus++) {
		double all = bandwidth(cpus, "10", false);

		TH_LOG("%u cores: %.1f GB/s in sequence, %.1f GB/s at random", cpus, all,
		       bandwidth(cpus, "10", true));
		EXPECT_GT(all, before * .95);
		EXPECT_LT(all, 32.0);
		before = all;
	}
	/* The channels bound four cores, not their line fill buffers. */
	EXPECT_GT(before, 18.0);
	EXPECT_LT(before, 4 * one * .9);
}
