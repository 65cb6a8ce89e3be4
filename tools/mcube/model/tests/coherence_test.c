// SPDX-License-Identifier: GPL-2.0
/*
 * Coherence of private levels, with known counts and known cycles.
 *
 * The machine: a first level of 32 lines, a last level of 64 KiB with 30 cycles,
 * 80 cycles for a line of another CPU, 100 for DRAM behind the last level.
 */
#include "busy.h"
#include "mcube_test.h"
#include "rig.h"

#define LLC	30
#define OTHER	80
#define DRAM	(LLC + 100)

static struct rig *make(unsigned int ncpus)
{
	return rig_make(ncpus, "l1.size", "2K", "l1.ways", "4", "llc.latency", "30",
			"coherence.latency", "80", "dram.cas", "100", NULL);
}

static void load(struct rig *r, unsigned int cpu, u64 address, u64 busy)
{
	rig_access(r, cpu, address, false, busy);
}

static void store(struct rig *r, unsigned int cpu, u64 address, u64 busy)
{
	rig_access(r, cpu, address, true, busy);
}

/* Bring the counters up to date, and all clocks to the time of the CPU that is ahead. */
static void meet(struct rig *r)
{
	u64 latest = 0;

	model_sync(&r->model);
	for (unsigned int i = 0; i < r->model.ncpus; i++)
		if (r->model.vcpu[i].clock > latest)
			latest = r->model.vcpu[i].clock;
	for (unsigned int i = 0; i < r->model.ncpus; i++)
		r->model.vcpu[i].clock = latest;
}

TEST(ping_pong)
{
	struct rig *r = make(2);

	for (unsigned int i = 0; i < 1000; i++) {
		store(r, i % 2, 0, 0);
		meet(r);
	}
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 499);	/* all but the first */
	EXPECT_EQ(rig_count(r, 1, SIM_COHERENCE_MISSES), 500);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), DRAM + 499 * OTHER);
	EXPECT_EQ(rig_count(r, 1, SIM_CYCLES), 500 * OTHER);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 1);
	EXPECT_EQ(rig_count(r, 1, SIM_LLC_MISSES), 0);
	EXPECT_EQ(rig_count(r, 0, SIM_L1_MISSES), 500);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_REFS), 500);
	rig_free(r);
}

/*
 * Each CPU runs alone for @length stores, one every 10 cycles, to a line that the other
 * CPU stores to as well. In modelled time they alternate all the same. Returns the
 * coherence misses of 2 * @total stores.
 */
static u64 contended(u64 a, u64 b, unsigned int length, unsigned int total, u64 *cycles)
{
	struct rig *r = make(2);
	u64 misses;

	for (unsigned int done = 0; done < total; done += length) {
		for (unsigned int i = 0; i < 2 * length; i++)
			store(r, i / length, i < length ? a : b, 10);
		model_weave(&r->model, false);
	}
	misses = rig_count(r, 0, SIM_COHERENCE_MISSES) + rig_count(r, 1, SIM_COHERENCE_MISSES);
	*cycles = rig_count(r, 0, SIM_CYCLES) + rig_count(r, 1, SIM_CYCLES);
	rig_free(r);
	return misses;
}

TEST(false_sharing)
{
	u64 apart, together, cycles;

	EXPECT_EQ(contended(0, LINE, 100, 2000, &apart), 0);
	EXPECT_EQ(apart, 2 * (2000 * 10 + DRAM));
	/* Different words of a line. */
	EXPECT_EQ(contended(0, 8, 100, 2000, &together), contended(0, 0, 100, 2000, &cycles));
	EXPECT_EQ(together, cycles);
	/* About all but the first 2 * 100 stores, before the line is watched. */
	EXPECT_GE(contended(0, 8, 100, 2000, &together), 3780u);
	/* The line moves once in OTHER cycles, and both CPUs wait for it. */
	EXPECT_GE(together, 2 * 3780u * OTHER);
	EXPECT_LE(together, 2 * (4000u * OTHER + 1000 + DRAM));
}

TEST(the_quantum_hardly_matters)
{
	u64 cycles;

	for (unsigned int length = 10; length <= 1000; length *= 10)
		EXPECT_GE(contended(0, 8, length, 100000, &cycles), 2 * (100000u - length) - 20);
}

TEST(sharing_to_read_costs_nothing)
{
	struct rig *r = make(3), *off = rig_make(3, "l1.size", "2K", "l1.ways", "4",
						 "llc.latency", "30", "dram.cas", "100", NULL);

	for (unsigned int i = 0; i < 3000; i++) {
		load(r, i % 3, get_random_u32_below(128) * LINE, 1);
		meet(r);
	}
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(rig_count(r, i, SIM_COHERENCE_MISSES), 0);
	for (unsigned int i = 0; i < 3000; i++) {
		u64 line = i * 7919 % 128 * LINE;

		load(r, i % 3, line, 1);
		load(off, i % 3, line, 1);
	}
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(rig_count(r, i, SIM_COHERENCE_MISSES), 0);
	rig_free(r);
	rig_free(off);
}

/* Counters and cycles of private data are those without coherence, to the last one. */
TEST(private_data_costs_nothing)
{
	struct rig *on = busy_machine("2000", "coherence.latency", "80");
	struct rig *off = busy_machine("2000", NULL, NULL);

	busy_emulate(on, 0);
	busy_emulate(off, 0);
	for (unsigned int c = 0; c < CPUS; c++)
		for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
			EXPECT_EQ(rig_count(on, c, e), rig_count(off, c, e));
	EXPECT_GT(rig_count(on, 0, SIM_STORES), 1000u);
	rig_free(on);
	rig_free(off);
}

/* A line that one CPU wrote and all read: each reader gets it once. */
TEST(one_writer_many_readers)
{
	struct rig *r = make(4);

	store(r, 0, 0, 0);
	meet(r);
	for (unsigned int i = 0; i < 400; i++) {
		load(r, i % 4, 0, 0);
		meet(r);
	}
	/* The first reader takes it from the writer, the others from the last level. */
	EXPECT_EQ(rig_count(r, 1, SIM_COHERENCE_MISSES), 1);
	EXPECT_EQ(rig_count(r, 1, SIM_CYCLES), OTHER);
	EXPECT_EQ(rig_count(r, 2, SIM_COHERENCE_MISSES), 0);
	EXPECT_EQ(rig_count(r, 2, SIM_CYCLES), LLC);
	EXPECT_EQ(rig_count(r, 3, SIM_CYCLES), LLC);
	/* The writer keeps its copy; another store takes the copies of the readers. */
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), DRAM);
	store(r, 0, 0, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), DRAM + OTHER);
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 1);
	meet(r);
	for (unsigned int i = 1; i < 4; i++) {
		load(r, i, 0, 0);
		meet(r);
	}
	EXPECT_EQ(rig_count(r, 1, SIM_CYCLES), 2 * OTHER);
	EXPECT_EQ(rig_count(r, 2, SIM_CYCLES), 2 * LLC);
	EXPECT_EQ(rig_count(r, 2, SIM_COHERENCE_MISSES), 1);	/* it had lost its copy */
	rig_free(r);
}

/* The data of the writer reach the last level with the first copy. */
TEST(shared_data_are_written_back_once)
{
	struct rig *r = make(2);

	store(r, 0, 0, 0);
	meet(r);
	load(r, 1, 0, 0);
	meet(r);
	/* Both copies leave the private levels; neither is dirty. */
	for (u64 i = 1; i <= 64; i++) {
		load(r, 0, i * 8 * LINE, 0);
		load(r, 1, i * 8 * LINE, 0);
		meet(r);
	}
	EXPECT_EQ(r->model.llc.set[0] & LINE_VALID, LINE_VALID);
	/* One line of the last level is dirty: it goes to DRAM when it is evicted. */
	for (u64 i = 0; i < 4096; i++)
		load(r, 0, (1 << 20) + i * LINE, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_WRITEBACKS) + rig_count(r, 1, SIM_LLC_WRITEBACKS), 1);
	rig_free(r);
}

/* A line that is evicted from private levels is nobody's: no coherence miss. */
TEST(evicted_lines_are_nobodys)
{
	struct rig *r = make(2);

	for (unsigned int dirty = 0; dirty < 2; dirty++) {
		rig_access(r, 0, 0, dirty, 0);
		for (u64 i = 1; i <= 4; i++)
			load(r, 0, i * 8 * LINE, 0);
		meet(r);
		store(r, 1, 0, 0);
		for (u64 i = 1; i <= 4; i++)
			load(r, 1, i * 8 * LINE, 0);
		meet(r);
	}
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 0);
	EXPECT_EQ(rig_count(r, 1, SIM_COHERENCE_MISSES), 0);
	rig_free(r);
}

/* After a while of peace, accesses to a line do not reach the weave phase any more. */
TEST(quiet_lines_are_not_watched)
{
	struct rig *r = make(2);
	struct vcpu *v = &r->model.vcpu[0];

	store(r, 0, 0, 0);
	meet(r);
	store(r, 1, 0, 0);
	meet(r);
	store(r, 0, 0, 0);
	meet(r);
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 1ull << 47, 8, true));
	for (unsigned int i = 0; i < 200; i++)
		store(r, 0, 0, 0);
	meet(r);
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 1);
	store(r, 0, 0, 0);
	EXPECT_TRUE(queue_empty(v));
	EXPECT_TRUE(vcpu_repeat(&r->model, v, 1ull << 47, 8, true));
	meet(r);
	/* The other CPU finds out. */
	load(r, 1, 0, 0);
	meet(r);
	EXPECT_EQ(rig_count(r, 1, SIM_COHERENCE_MISSES), 2);
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 1ull << 47, 8, true));
	store(r, 0, 0, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 2);
	rig_free(r);
}

TEST(samples_name_the_line)
{
	struct rig *r = make(2);
	struct sim_cpu *c = r->model.vcpu[0].shared;

	c->sampler[0] = (struct sim_sampler){
		.event = SIM_COHERENCE_MISSES, .left = 1, .period = 1 };
	meet(r);
	for (unsigned int i = 0; i < 100; i++) {
		store(r, i % 2, 0x40 + i % 2 * 8, 0);
		store(r, i % 2, 0x4000 + i % 2 * LINE, 0);
		meet(r);
	}
	EXPECT_EQ(c->head, 49);
	for (; c->tail != c->head; c->tail++) {
		const struct sim_sample *s = &r->model.vcpu[0].ring[c->tail % SIM_RING_SIZE];

		EXPECT_EQ(s->paddr, 0x40);
		EXPECT_EQ(s->latency, OTHER);
		EXPECT_EQ(s->flags, SIM_SAMPLE_STORE | SIM_SAMPLE_OTHER);
	}
	rig_free(r);
}

/* Random loads and stores of three CPUs to shared lines, against an oracle. */
static u64 shared_run(struct rig *r)
{
	u32 holders[24] = { }, had[24] = { }, writer[24] = { };
	u64 expected = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int cpu = i % 3;
		unsigned int line = get_random_u32_below(24);
		bool write = !get_random_u32_below(4);
		u32 me = 1u << cpu;

		rig_access(r, cpu, line * LINE, write, 5);
		meet(r);
		if (write) {
			expected += !!(holders[line] & ~me);
			holders[line] = me;
			writer[line] = me;
		} else {
			bool lost = had[line] & me && !(holders[line] & me);

			expected += lost || writer[line] & ~me;
			writer[line] &= me;
			holders[line] |= me;
		}
		had[line] |= me;
	}
	return expected;
}

TEST(random_sharing)
{
	struct rig *r = make(3);
	u64 expected = shared_run(r), got = 0;

	for (unsigned int i = 0; i < 3; i++)
		got += rig_count(r, i, SIM_COHERENCE_MISSES);
	EXPECT_GT(got, expected * 99 / 100);
	EXPECT_LT(got, expected * 101 / 100);
	rig_free(r);
}

TEST(no_coherence_by_default)
{
	struct rig *r = rig_make(3, "l1.size", "2K", "l1.ways", "4", NULL);

	shared_run(r);
	EXPECT_EQ(rig_count(r, 0, SIM_COHERENCE_MISSES), 0);
	EXPECT_EQ(rig_count(r, 0, SIM_L1_MISSES), 24);
	rig_free(r);
}

/* With overlap, transfers of independent lines are under way at the same time. */
TEST(transfers_overlap)
{
	struct rig *r = rig_make(2, "l1.size", "2K", "l1.ways", "4", "llc.latency", "30",
				 "coherence.latency", "80", "dram.cas", "100", "cpu.misses",
				 "8", "cpu.window", "64", NULL);
	u64 before;

	for (u64 i = 0; i < 16; i++)
		store(r, 0, i * LINE, 1);
	vcpu_instructions(&r->model, &r->model.vcpu[0], 1000);
	meet(r);
	before = rig_count(r, 1, SIM_CYCLES);
	for (u64 i = 0; i < 16; i++) {
		vcpu_instructions(&r->model, &r->model.vcpu[1], 1);
		load(r, 1, i * LINE, 0);
	}
	vcpu_instructions(&r->model, &r->model.vcpu[1], 64);
	EXPECT_EQ(rig_count(r, 1, SIM_CYCLES) - before, 8 + 2 * OTHER);
	EXPECT_EQ(rig_count(r, 1, SIM_COHERENCE_MISSES), 16);
	rig_free(r);
}

/* Nor does overlap make a line move faster. */
TEST(a_line_moves_once_at_a_time)
{
	struct rig *r = rig_make(2, "l1.size", "2K", "l1.ways", "4", "llc.latency", "30",
				 "coherence.latency", "80", "dram.cas", "100", "cpu.misses",
				 "8", "cpu.window", "64", NULL);
	u64 misses = 0;

	for (unsigned int done = 0; done < 20000; done += 100) {
		for (unsigned int i = 0; i < 200; i++) {
			vcpu_instructions(&r->model, &r->model.vcpu[i / 100], 10);
			store(r, i / 100, i / 100 * 8, 0);
		}
		model_weave(&r->model, false);
	}
	for (unsigned int i = 0; i < 2; i++)
		misses += rig_count(r, i, SIM_COHERENCE_MISSES);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_GE(rig_count(r, i, SIM_CYCLES) + 2 * FLIGHTS * OTHER, misses * OTHER);
	EXPECT_GT(misses, 100u);
	rig_free(r);
}
