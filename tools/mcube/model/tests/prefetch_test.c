// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetched lines that take time to arrive, with known cycles.
 *
 * Unless a test says otherwise: one CPU waits for each demand request, DRAM answers after
 * 100 cycles, however many requests it has, and a hit of the last level takes no time. The
 * CPU is busy for a number of cycles (the gap) before each access.
 */
#include "busy.h"
#include "mcube_test.h"
#include "rig.h"

#define LATENCY	100
#define LINES	64	/* in a page */

static struct rig *make(unsigned int cpus, const char *kind, const char *degree,
			const char *under_way, const char *misses, const char *burst)
{
	return rig_make(cpus, "llc.size", "4M", "dram.row", "1G", "dram.cas", "100",
			"prefetch.kind", kind, "prefetch.degree", degree,
			"prefetch.under_way", under_way, "cpu.misses", misses, "cpu.window", "512",
			"dram.burst", burst, NULL);
}

static void read_pages(struct rig *r, unsigned int pages, u64 gap)
{
	for (u64 l = 0; l < pages * LINES; l++)
		rig_access(r, 0, l * LINE, false, gap);
}

static u64 shortage(u64 distance, u64 gap)
{
	return distance * gap < LATENCY ? LATENCY - distance * gap : 0;
}

/*
 * A line is prefetched when the line that lies d before it is demanded, d gaps earlier. The
 * CPU waits for the rest of the latency. The prefetches of the next d lines were sent before
 * the wait, so these lines are there in time: the CPU waits once in d + 1 lines.
 */
TEST(a_stream_waits_for_the_rest_of_the_latency)
{
	static const struct {
		const char *key;
		u64 lines;
	} ahead[] = { { "1", 1 }, { "2", 2 }, { "3", 3 }, { "8", 8 }, { "16", 16 } };
	static const u64 gaps[] = { 1, 7, 12, 13, 33, 50, 99, 100, 101, 500 };

	for (unsigned int a = 0; a < ARRAY_SIZE(ahead); a++)
		for (unsigned int g = 0; g < ARRAY_SIZE(gaps); g++) {
			u64 d = ahead[a].lines, gap = gaps[g], wait = shortage(d, gap);
			struct rig *r = make(1, "next", ahead[a].key, "64", "1", "0");

			/* The first line is missed. */
			read_pages(r, 1, gap);
			EXPECT_EQ(rig_count(r, 0, SIM_CYCLES),
				  LINES * gap + LATENCY + (LINES - 1) / (d + 1) * wait);
			EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 1);
			EXPECT_EQ(rig_count(r, 0, SIM_PREFETCHES), LINES - 1);
			EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), LINES);
			rig_free(r);

			/* Three lines are missed, as the stride is trusted from the third on. */
			r = make(1, "stride", ahead[a].key, "64", "1", "0");
			read_pages(r, 1, gap);
			EXPECT_EQ(rig_count(r, 0, SIM_CYCLES),
				  LINES * gap + 3 * LATENCY + (LINES - 3) / (d + 1) * wait);
			EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 3);
			EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), LINES);
			rig_free(r);
		}
}

/* With two lines under way, two lines arrive in a latency, however far ahead it may fetch. */
TEST(lines_under_way_are_bounded)
{
	struct rig *r = make(1, "next", "8", "2", "1", "0");

	read_pages(r, 1, 1);
	/*
	 * Line 0 is missed, and line 1 comes with it. From then on, at each odd line, the next
	 * two lines are sent for, and the CPU waits for the first.
	 */
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), 1 + LATENCY + 1 + 31 * (LATENCY + 1));
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), LINES);
	rig_free(r);
	/* The demanded line takes the only place. */
	r = make(1, "next", "8", "1", "1", "0");
	rig_load_line(r, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_PREFETCHES), 0);
	rig_free(r);
}

/* Demand requests and prefetches share the places, and prefetches use those left over. */
TEST(overlapped_misses_and_prefetches_share_the_places)
{
	static const struct {
		const char *key;
		u64 places;
	} cases[] = { { "8", 8 }, { "16", 16 }, { "24", 24 } };

	for (unsigned int c = 0; c < ARRAY_SIZE(cases); c++) {
		struct rig *r = make(1, "next", "16", cases[c].key, "8", "0");
		u64 took, least = 64 * LINES / cases[c].places * LATENCY;

		for (u64 l = 0; l < 64 * LINES; l++) {
			vcpu_instructions(&r->model, &r->model.vcpu[0], 1);
			rig_access(r, 0, l * LINE, false, 0);
		}
		vcpu_instructions(&r->model, &r->model.vcpu[0], r->model.machine.window);
		took = rig_count(r, 0, SIM_CYCLES);
		EXPECT_GE(took, least);
		/* The prefetcher begins anew in each page. */
		EXPECT_LT(took, least * 13 / 10);
		EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 64 * LINES);
		rig_free(r);
	}
}

/* Lines at random are neither faster nor slower: the prefetcher trusts no stride. */
TEST(no_gain_at_random)
{
	static const char * const misses[] = { "1", "8" };

	for (unsigned int i = 0; i < ARRAY_SIZE(misses); i++) {
		struct rig *off = make(1, "none", "8", "0", misses[i], "20");
		struct rig *on = make(1, "stride", "8", "16", misses[i], "20");

		for (u64 n = 0; n < 2000; n++) {
			u64 line = get_random_u32_below(1 << 20);

			rig_access(off, 0, line * LINE, false, 3);
			rig_access(on, 0, line * LINE, false, 3);
		}
		EXPECT_EQ(rig_count(on, 0, SIM_PREFETCHES), 0);
		EXPECT_EQ(rig_count(on, 0, SIM_CYCLES), rig_count(off, 0, SIM_CYCLES));
		EXPECT_EQ(rig_count(on, 0, SIM_LLC_MISSES), rig_count(off, 0, SIM_LLC_MISSES));
		rig_free(on);
		rig_free(off);
	}
}

/*
 * Useless prefetches occupy the bus: of each page one line is used, and eight more are
 * fetched, of 20 cycles each.
 */
TEST(prefetches_occupy_the_bus)
{
	struct rig *r = make(1, "next", "8", "64", "1", "20");

	for (u64 i = 0; i < 100; i++)
		rig_access(r, 0, i * 4096, false, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 9 * 100);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), LATENCY + 20 + 99 * 9 * 20);
	rig_free(r);
}

/* Prefetches close rows: each of two CPUs would have its row open, if the other had none. */
TEST(prefetches_occupy_the_bank)
{
	static const char * const kinds[] = { "none", "next" };
	u64 cycles[2];

	for (unsigned int k = 0; k < 2; k++) {
		struct rig *r = rig_make(1, "llc.size", "4M", "dram.row", "64", "dram.rp", "60",
					 "dram.rcd", "40", "dram.cas", "20", "prefetch.kind",
					 kinds[k], "prefetch.under_way", "64", NULL);

		/* A line fills a row of the only bank, and every other line is used. */
		for (u64 i = 0; i < 100; i++)
			rig_access(r, 0, i * 2 * LINE, false, 0);
		EXPECT_EQ(rig_count(r, 0, SIM_ROW_CONFLICTS),
			  rig_count(r, 0, SIM_DRAM_ACCESSES) - 1);
		cycles[k] = rig_count(r, 0, SIM_CYCLES);
		rig_free(r);
	}
	EXPECT_EQ(cycles[0], 40 + 20 + 99 * 120);
	/* The bank closes and opens a row for each prefetch before the next demanded line. */
	EXPECT_EQ(cycles[1], 40 + 20 + 99 * (120 + 100 - 20));
}

/* A CPU that finds a line on its way to another CPU waits for the rest as well. */
TEST(other_cpus_wait_for_the_line)
{
	static const char * const misses[] = { "1", "8" };

	for (unsigned int i = 0; i < ARRAY_SIZE(misses); i++) {
		/* Line 0 is demanded, lines 1 to 4 are prefetched: one after the other. */
		struct rig *r = make(2, "next", "4", "16", misses[i], "20");
		struct vcpu *v = r->model.vcpu;

		rig_access(r, 0, 0, false, 0);
		/* DRAM has not answered yet when CPU 1 asks, as the bus is busy. */
		rig_access(r, 1, 4 * LINE, false, 10);
		model_weave(&r->model, true);
		for (unsigned int c = 0; c < 2; c++) {
			vcpu_instructions(&r->model, &v[c], r->model.machine.window);
			v[c].idle = true;
		}
		model_weave(&r->model, true);
		EXPECT_EQ(rig_count(r, 1, SIM_LLC_MISSES), 0);
		if (i) {
			/* The window ends after the line has arrived. */
			EXPECT_EQ(v[1].first, v[1].next);
			EXPECT_EQ(v[1].flight[1].done, LATENCY + 5 * 20);
			EXPECT_EQ(v[0].flight[1].done, LATENCY + 20);
		} else {
			EXPECT_EQ(v[1].count[SIM_CYCLES], LATENCY + 5 * 20 + 512);
			EXPECT_EQ(v[0].count[SIM_CYCLES], LATENCY + 20 + 512);
		}
		rig_free(r);
	}
}

/* So it does for a line that the other CPU demanded, but only where prefetches take time. */
TEST(demanded_lines_take_time_for_others)
{
	static const struct {
		const char *kind, *under_way;
		u64 cycles;
	} cases[] = { { "stride", "0", 30 }, { "none", "1", 30 }, { "stride", "1", LATENCY } };

	for (unsigned int c = 0; c < ARRAY_SIZE(cases); c++) {
		struct rig *r = make(2, cases[c].kind, "1", cases[c].under_way, "1", "0");

		rig_access(r, 0, 0, false, 0);
		rig_access(r, 1, 0, false, 30);
		EXPECT_EQ(rig_count(r, 1, SIM_CYCLES), cases[c].cycles);
		EXPECT_EQ(rig_count(r, 1, SIM_LLC_MISSES), 0);
		EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 1);
		rig_free(r);
	}
}

/* A line that is evicted before it arrives is fetched again. */
TEST(a_line_is_evicted_on_its_way)
{
	struct rig *r = rig_make(1, "llc.size", "64", "llc.ways", "1", "dram.row", "1G",
				 "dram.cas", "100", "prefetch.kind", "next", "prefetch.under_way",
				 "64", "cpu.misses", "8", NULL);

	for (unsigned int i = 0; i < 10; i++)
		for (u64 l = 0; l < LINES; l += 2)
			rig_access(r, 0, l * LINE, false, 1);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 10 * LINES / 2);
	/* The last line is odd: the page ends with it, and 62 is the last that has a next. */
	EXPECT_EQ(rig_count(r, 0, SIM_PREFETCHES), 10 * LINES / 2);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 10 * LINES);
	rig_free(r);
}

/* A sample has the latency with the wait, and the level of a hit. */
TEST(samples_of_late_lines)
{
	static const char * const misses[] = { "1", "8" };

	for (unsigned int i = 0; i < ARRAY_SIZE(misses); i++) {
		struct rig *r = make(1, "next", "1", "64", misses[i], "0");
		struct sim_cpu *c = r->model.vcpu[0].shared;
		const struct sim_sample *s = r->model.vcpu[0].ring;

		c->sampler[0] = (struct sim_sampler){ .event = SIM_LLC_REFS, .left = 1,
						      .period = 1 };
		model_sync(&r->model);
		rig_access(r, 0, 0, false, 0);
		rig_access(r, 0, LINE, false, 0);
		/* Line 2 was sent for 30 cycles ago. */
		rig_access(r, 0, 2 * LINE, false, 30);
		model_sync(&r->model);
		ASSERT_EQ(c->head, 3);
		EXPECT_EQ(s[0].latency, LATENCY);
		EXPECT_EQ(s[0].flags & SIM_SAMPLE_LEVEL, 4);
		/* Line 1 comes with line 0, and a CPU that waits asks for it after that. */
		EXPECT_EQ(s[1].latency, i ? LATENCY : 0);
		EXPECT_EQ(s[2].latency, LATENCY - 30);
		EXPECT_EQ(s[2].flags & SIM_SAMPLE_LEVEL, 3);
		rig_free(r);
	}
}

/* A reader of the counters makes nobody wait: all lines are there then. */
TEST(reading_the_counters_ends_the_wait)
{
	struct rig *r = make(1, "next", "1", "64", "1", "0");
	u64 before;

	rig_access(r, 0, 0, false, 0);
	rig_access(r, 0, LINE, false, 0);	/* line 2 is sent for */
	before = rig_count(r, 0, SIM_CYCLES);
	rig_access(r, 0, 2 * LINE, false, 10);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), before + 10);
	rig_free(r);
}

/* Prefetches that are at once cost what they did before lines could take time. */
TEST(at_once_as_before)
{
	static const u64 known[] = { 968462, 958547, 945368 };
	struct rig *r = busy_prefetching("2000", "4", "0");

	busy_emulate(r, 0);
	for (unsigned int c = 0; c < CPUS; c++)
		EXPECT_EQ(rig_count(r, c, SIM_CYCLES), known[c]);
	rig_free(r);
}

/* No table runs over, and no request is lost, where much happens at the same time. */
TEST(busy_machines)
{
	static const char * const under_way[] = { "1", "3", "16", "64" };
	static const char * const misses[] = { "1", "4", "32" };

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(under_way) * ARRAY_SIZE(misses); i++) {
		struct rig *r = busy_prefetching("2000", misses[i / 2 % 3], under_way[i / 6]);
		u64 dram = 0, asked = 0;

		busy_emulate(r, i % 2 * 200);
		for (unsigned int c = 0; c < CPUS; c++) {
			struct vcpu *v = &r->model.vcpu[c];

			EXPECT_EQ(rig_count(r, c, SIM_ACCESSES), STEPS);
			EXPECT_EQ(rig_count(r, c, SIM_LLC_REFS), rig_count(r, c, SIM_L2_MISSES));
			EXPECT_FALSE(v->blocked);
			for (u32 n = v->first; n != v->next; n++)
				EXPECT_EQ(v->flight[n % FLIGHTS].state, FLIGHT_KNOWN);
			dram += v->count[SIM_DRAM_ACCESSES];
			asked += v->count[SIM_LLC_MISSES] + v->count[SIM_PREFETCHES] +
				v->count[SIM_LLC_WRITEBACKS];
		}
		EXPECT_GE(dram, asked);
		rig_free(r);
	}
}
