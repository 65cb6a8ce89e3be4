// SPDX-License-Identifier: GPL-2.0
/*
 * Quantum and weave: requests of several CPUs meet in the order of modelled time,
 * whatever the quantum; samplers; owners that are charged.
 */
#include "busy.h"
#include "mcube_test.h"
#include "rig.h"

static void check_quanta(struct __test_metadata *_metadata, const char *misses,
			 const char *under_way)
{
	static const char * const quanta[] = { "100", "777", "20000", "100000" };
	struct rig *first = busy_prefetching("2000", misses, under_way);
	u64 expected[CPUS][SIM_NR_EVENTS];

	busy_emulate(first, 0);
	for (unsigned int c = 0; c < CPUS; c++)
		for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
			expected[c][e] = rig_count(first, c, e);
	for (unsigned int c = 0; c < CPUS; c++) {
		EXPECT_EQ(expected[c][SIM_ACCESSES], STEPS);
		EXPECT_GT(expected[c][SIM_LLC_MISSES], STEPS / 8);
		EXPECT_GT(expected[c][SIM_LLC_STOLEN], 100u);
		EXPECT_GT(expected[c][SIM_ROW_HITS], 100u);
		EXPECT_GT(expected[c][SIM_ROW_CONFLICTS], 100u);
		EXPECT_GT(expected[c][SIM_BANK_WAITS], 100u);
		EXPECT_GT(expected[c][SIM_PREFETCHES], 100u);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(quanta); i++) {
		struct rig *r = busy_prefetching(quanta[i], misses, under_way);

		busy_emulate(r, 0);
		for (unsigned int c = 0; c < CPUS; c++)
			for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
				EXPECT_EQ(rig_count(r, c, e), expected[c][e]);
		EXPECT_FALSE(memcmp(r->model.header->color, first->model.header->color,
				    sizeof(first->model.header->color)));
		EXPECT_FALSE(memcmp(r->model.header->bank, first->model.header->bank,
				    sizeof(first->model.header->bank)));
		rig_free(r);
	}
	rig_free(first);
}

TEST(the_quantum_does_not_matter)
{
	check_quanta(_metadata, "1", "0");
}

TEST(the_quantum_does_not_matter_with_overlap)
{
	check_quanta(_metadata, "4", "0");
}

TEST(the_quantum_does_not_matter_where_prefetches_take_time)
{
	check_quanta(_metadata, "1", "5");
	check_quanta(_metadata, "4", "16");
}

/*
 * A read of the counters serves all requests, even of CPUs that are ahead. CPUs that
 * are behind must not wait for these requests, which are in their future. With many
 * reads per quantum, few requests of different CPUs meet.
 */
TEST(reading_delays_nobody)
{
	struct rig *none = busy_machine("20000", NULL, NULL);

	busy_emulate(none, 0);
	for (unsigned int every = 2000; every >= 20; every /= 10) {
		struct rig *r = busy_machine("20000", NULL, NULL);

		busy_emulate(r, every);
		for (unsigned int c = 0; c < CPUS; c++) {
			u64 cycles = rig_count(none, c, SIM_CYCLES);
			u64 waits = rig_count(none, c, SIM_BANK_WAITS);

			EXPECT_EQ(rig_count(r, c, SIM_ACCESSES), STEPS);
			if (every == 2000)
				EXPECT_GT(rig_count(r, c, SIM_CYCLES), cycles * 97 / 100);
			EXPECT_LT(rig_count(r, c, SIM_CYCLES), cycles * 105 / 100);
			EXPECT_LT(rig_count(r, c, SIM_BANK_WAITS), waits * 105 / 100);
		}
		rig_free(r);
	}
	rig_free(none);
}

TEST(figures_add_up)
{
	struct rig *r = busy_machine("1000", NULL, NULL);
	u64 sum[SIM_NR_EVENTS] = { }, refs = 0, misses = 0, dram = 0, conflicts = 0, hits = 0;
	const struct sim_header *h = r->model.header;
	u64 owners = 0, stolen = 0, owner_stolen = 0;

	for (unsigned int c = 0; c < CPUS; c++)
		r->model.vcpu[c].shared->owner = c + 1;
	busy_emulate(r, 0);
	for (unsigned int c = 0; c < CPUS; c++) {
		for (unsigned int e = 0; e < SIM_NR_EVENTS; e++)
			sum[e] += rig_count(r, c, e);
		EXPECT_EQ(h->owner[c + 1].refs, rig_count(r, c, SIM_LLC_REFS));
		EXPECT_EQ(h->owner[c + 1].misses, rig_count(r, c, SIM_LLC_MISSES));
		EXPECT_EQ(h->owner[c + 1].stolen, rig_count(r, c, SIM_LLC_STOLEN));
		EXPECT_EQ(rig_count(r, c, SIM_L2_MISSES), rig_count(r, c, SIM_LLC_REFS));
	}
	for (unsigned int i = 0; i < SIM_MAX_COLORS; i++) {
		refs += h->color[i].refs;
		misses += h->color[i].misses;
		stolen += h->color[i].stolen;
	}
	for (unsigned int i = 0; i < SIM_MAX_BANKS; i++) {
		dram += h->bank[i].refs;
		conflicts += h->bank[i].misses;
		hits += h->bank[i].stolen;
	}
	for (unsigned int i = 0; i < SIM_MAX_OWNERS; i++) {
		owners += h->owner[i].refs;
		owner_stolen += h->owner[i].stolen;
	}
	EXPECT_EQ(refs, sum[SIM_LLC_REFS]);
	EXPECT_EQ(owners, sum[SIM_LLC_REFS]);
	EXPECT_EQ(misses, sum[SIM_LLC_MISSES]);
	EXPECT_EQ(stolen, sum[SIM_LLC_STOLEN]);
	EXPECT_EQ(owner_stolen, sum[SIM_LLC_STOLEN]);
	EXPECT_EQ(dram, sum[SIM_DRAM_ACCESSES]);
	EXPECT_EQ(conflicts, sum[SIM_ROW_CONFLICTS]);
	EXPECT_EQ(hits, sum[SIM_ROW_HITS]);
	EXPECT_EQ(sum[SIM_ROW_HITS] + sum[SIM_ROW_EMPTY] + sum[SIM_ROW_CONFLICTS], dram);
	EXPECT_GE(dram, misses + sum[SIM_LLC_WRITEBACKS] + sum[SIM_PREFETCHES]);
	rig_free(r);
}

/* A request waits for a CPU that may still make an earlier request, unless halted. */
TEST(idle_cpus_hold_nobody_back)
{
	struct rig *r = rig_make(2, NULL);
	struct vcpu *v = r->model.vcpu;

	rig_access(r, 0, 0, false, 100);
	model_weave(&r->model, false);
	EXPECT_EQ(v[0].count[SIM_LLC_REFS], 0);	/* CPU 1 might ask at time 0 */
	v[1].left -= 99;
	model_weave(&r->model, false);
	EXPECT_EQ(v[0].count[SIM_LLC_REFS], 0);
	v[1].left -= 2;
	model_weave(&r->model, false);
	EXPECT_EQ(v[0].count[SIM_LLC_REFS], 1);

	rig_access(r, 0, 4096, false, 1000);
	model_idle(&r->model, &v[1]);
	model_weave(&r->model, false);
	EXPECT_EQ(v[0].count[SIM_LLC_REFS], 2);
	/* CPU 1 wakes up with the clock of CPU 0, without busy cycles. */
	model_dispatch(&r->model, &v[1]);
	EXPECT_FALSE(v[1].idle);
	EXPECT_EQ(v[1].clock, v[0].clock);
	EXPECT_EQ(v[1].count[SIM_CYCLES], 101);
	rig_free(r);
}

/* A CPU that the emulator does not dispatch, though it executed no HLT. */
TEST(a_cpu_without_dispatch_is_idle)
{
	struct rig *r = rig_make(3, NULL);
	struct vcpu *v = r->model.vcpu;
	unsigned int nr = 0;

	for (; nr < 20 && v[0].count[SIM_LLC_REFS] < 100; nr++) {
		struct vcpu *w = &v[nr % 2];	/* never CPU 2 */

		model_dispatch(&r->model, w);
		while (!vcpu_instructions(&r->model, w, 10))
			rig_access(r, w->index, (u64)w->left % 64 * 4096, false, 0);
		while (!model_quantum_end(&r->model, w) && !vcpu_instructions(&r->model, w, 10))
			rig_access(r, w->index, (u64)w->left % 64 * 4096, false, 0);
	}
	EXPECT_LT(nr, 20u);
	EXPECT_TRUE(v[2].idle);
	rig_free(r);
}

TEST(spinning)
{
	struct rig *r = rig_make(2, "cpu.pause", "7", NULL);
	struct vcpu *v = r->model.vcpu;

	model_spin(&r->model, &v[0]);
	EXPECT_EQ(v[0].left, 0);
	model_idle(&r->model, &v[1]);
	model_sync(&r->model);
	EXPECT_EQ(v[0].left, 1000);
	model_spin(&r->model, &v[0]);
	EXPECT_EQ(v[0].left, 993);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), 1007);
	rig_free(r);
}

static struct sim_sampler *sampler(struct rig *r, unsigned int i, enum sim_event event, u64 period)
{
	struct sim_sampler *s = &r->model.vcpu[0].shared->sampler[i];

	*s = (struct sim_sampler){ .event = event, .left = period, .period = period };
	model_sync(&r->model);
	return s;
}

TEST(samplers)
{
	struct rig *r = rig_make(1, "l1.size", "512", "l1.ways", "8", "l1.latency", "3",
				 "llc.latency", "30", "llc.size", "4K", "dram.cas", "50", NULL);
	struct sim_cpu *c = r->model.vcpu[0].shared;
	u64 got[SIM_SAMPLERS] = { }, last = 0;

	c->owner = 9;
	sampler(r, 0, SIM_ACCESSES, 10);
	sampler(r, 2, SIM_STORES, 7);
	sampler(r, 5, SIM_LLC_MISSES, 3);
	sampler(r, 6, SIM_CYCLES, 1);		/* has no address: ignored */
	sampler(r, 7, SIM_LLC_REFS, 5);
	for (u64 i = 0; i < 1000; i++)
		rig_access(r, 0, i % 100 * LINE + i % 64, i % 2, 1);
	model_sync(&r->model);
	for (; c->tail != c->head; c->tail++) {
		const struct sim_sample *s = &r->model.vcpu[0].ring[c->tail % SIM_RING_SIZE];
		unsigned int level = s->flags & SIM_SAMPLE_LEVEL;

		got[s->sampler]++;
		EXPECT_EQ(s->vaddr, s->paddr | 1ull << 47);
		EXPECT_EQ(s->owner, 9);
		EXPECT_EQ(s->ip, 0x401000);
		EXPECT_GE(s->time, last);
		last = s->time;
		EXPECT_EQ(s->latency, level == 4 ? 80 : level == 3 ? 30 : 3);
		if (s->sampler == 5)
			EXPECT_EQ(level, 4);
		if (s->sampler == 2)
			EXPECT_TRUE(s->flags & SIM_SAMPLE_STORE);
	}
	EXPECT_EQ(got[0], 100);
	EXPECT_EQ(got[2], 500 / 7);
	EXPECT_EQ(got[5], rig_count(r, 0, SIM_LLC_MISSES) / 3);
	EXPECT_EQ(got[6], 0);
	EXPECT_EQ(got[7], rig_count(r, 0, SIM_LLC_REFS) / 5);
	EXPECT_EQ(c->sampler[0].left, 10);
	EXPECT_EQ(c->sampler[2].left, 7 - 500 % 7);
	/* A sampler with period 0 is off, even before the model has read it. */
	for (unsigned int i = 0; i < SIM_SAMPLERS; i++)
		c->sampler[i].period = 0;
	for (u64 i = 0; i < 1000; i++)
		rig_access(r, 0, i % 100 * LINE, false, 1);
	EXPECT_EQ(c->sampler[0].left, 10);
	model_sync(&r->model);
	for (u64 i = 0; i < 1000; i++)
		rig_access(r, 0, i % 100 * LINE, false, 1);
	model_sync(&r->model);
	EXPECT_EQ(c->tail, c->head);
	rig_free(r);
}

TEST(a_full_ring_loses_samples)
{
	struct rig *r = rig_make(1, NULL);
	struct sim_cpu *c = r->model.vcpu[0].shared;

	sampler(r, 0, SIM_LLC_REFS, 1);
	for (u64 i = 0; i < SIM_RING_SIZE + 100; i++)
		rig_load_line(r, i);
	model_sync(&r->model);
	EXPECT_EQ(c->head, SIM_RING_SIZE);
	EXPECT_EQ(c->lost, 100);
	c->tail += 10;
	for (u64 i = 0; i < 11; i++)
		rig_load_line(r, i);
	model_sync(&r->model);
	EXPECT_EQ(c->head, SIM_RING_SIZE + 10);
	EXPECT_EQ(c->lost, 101);
	rig_free(r);
}

/* An access to the line of the access before needs no lookup, but is counted. */
TEST(repeated_lines)
{
	struct rig *r = rig_make(1, "l1.latency", "4", "llc.latency", "4", "cpu.hidden", "1",
				 NULL);
	struct vcpu *v = &r->model.vcpu[0];

	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0, 1, false));
	model_access(&r->model, v, 0x1000, 0x5000, false, 0);
	EXPECT_TRUE(vcpu_repeat(&r->model, v, 0x1038, 8, false));
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0x1039, 8, false));	/* crosses */
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0x1000, 8, true));	/* is clean */
	model_access(&r->model, v, 0x1000, 0x5000, true, 0);
	EXPECT_TRUE(vcpu_repeat(&r->model, v, 0x1000, 8, true));
	EXPECT_TRUE(vcpu_repeat(&r->model, v, 0x1000, 8, false));
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0x1040, 8, false));
	EXPECT_EQ(rig_count(r, 0, SIM_ACCESSES), 5);
	EXPECT_EQ(rig_count(r, 0, SIM_STORES), 2);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_REFS), 1);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), 5 * 3);
	/* A sampler of accesses has to see every access. */
	sampler(r, 0, SIM_ACCESSES, 100);
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0x1000, 8, false));
	model_access(&r->model, v, 0x1000, 0x5000, false, 0);
	EXPECT_FALSE(vcpu_repeat(&r->model, v, 0x1000, 8, false));
	rig_free(r);
}

/* More requests in a quantum than QUEUE_SIZE. */
TEST(a_full_queue)
{
	struct rig *r = rig_make(2, "quantum", "100000000", NULL);

	for (u64 i = 0; i < 3 * QUEUE_SIZE; i++)
		rig_load_line(r, i);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_REFS), 3 * QUEUE_SIZE);
	rig_free(r);
}
