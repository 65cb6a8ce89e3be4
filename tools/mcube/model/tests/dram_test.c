// SPDX-License-Identifier: GPL-2.0
/*
 * DRAM: rows, banks and buses with known counts and known cycles.
 *
 * The machine: banks by address bits 13 and 14, channels by bit 15, rows of 8 KiB;
 * rp 100, rcd 40, cas 20, burst 5, base 7. The last level has one line, so every
 * access reaches DRAM.
 */
#include "mcube_test.h"
#include "rig.h"

#define RP	100
#define RCD	40
#define CAS	20
#define BURST	5
#define BASE	7
#define ROW(n)		((u64)(n) << 16)
#define BANK(n)		((u64)(n) << 13)
#define CHANNEL(n)	((u64)(n) << 15)

static struct rig *make(unsigned int ncpus)
{
	return rig_make(ncpus, "llc.size", "64", "llc.ways", "1", "dram.banks", "0x2000 0x4000",
			"dram.channels", "0x8000", "dram.row", "64K", "dram.rp", "100",
			"dram.rcd", "40", "dram.cas", "20", "dram.burst", "5", "dram.base", "7",
			"cpu.instruction", "1", NULL);
}

static void expect_rows(struct __test_metadata *_metadata, struct rig *r, unsigned int cpu,
			u64 hits, u64 empty, u64 conflicts)
{
	EXPECT_EQ(rig_count(r, cpu, SIM_ROW_HITS), hits);
	EXPECT_EQ(rig_count(r, cpu, SIM_ROW_EMPTY), empty);
	EXPECT_EQ(rig_count(r, cpu, SIM_ROW_CONFLICTS), conflicts);
}

TEST(rows)
{
	struct rig *r = make(1);
	u64 before;

	EXPECT_EQ(r->model.map.banks, 8);
	for (u64 l = 0; l < 128; l++)
		rig_load_line(r, l);
	expect_rows(_metadata, r, 0, 127, 1, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES), (RCD + 128 * (CAS + BURST + BASE)));
	before = rig_count(r, 0, SIM_CYCLES);
	for (u64 i = 1; i <= 100; i++)
		rig_access(r, 0, ROW(i % 2), false, 0);
	expect_rows(_metadata, r, 0, 127, 1, 100);
	EXPECT_EQ(rig_count(r, 0, SIM_CYCLES) - before, 100 * (RP + RCD + CAS + BURST + BASE));
	/* A row in each of three other banks: they stay open. */
	for (u64 i = 1; i <= 100; i++)
		rig_access(r, 0, ROW(7) | BANK(1 + i % 3), false, 0);
	expect_rows(_metadata, r, 0, 127 + 97, 4, 100);
	EXPECT_EQ(rig_count(r, 0, SIM_BANK_WAITS), 0);
	EXPECT_EQ(r->model.header->bank[0].refs, 228);
	EXPECT_EQ(r->model.header->bank[0].misses, 100);
	EXPECT_EQ(r->model.header->bank[0].stolen, 127);
	model_clear(&r->model);
	rig_access(r, 0, ROW(7) | BANK(1), false, 0);
	expect_rows(_metadata, r, 0, 127 + 97, 5, 100);
	rig_free(r);
}

/* Accesses to an uncached range find nothing in the caches and leave nothing there. */
TEST(uncached)
{
	struct rig *r = rig_load_with(1, "small", "dram.rp", "100", NULL);
	struct sim_header *h = r->shared;
	u64 before;

	rig_load_line(r, 1000);
	rig_load_line(r, 2000);
	h->uncached = 1000 * LINE | 1ull << 47;
	h->uncached_bytes = LINE;
	before = rig_count(r, 0, SIM_DRAM_ACCESSES);
	for (unsigned int i = 0; i < 50; i++) {
		rig_load_line(r, 1000);
		rig_load_line(r, 2000);
		rig_load_line(r, 1001);
	}
	/* All loads of line 1000, and the first of line 1001. */
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES) - before, 51);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 3);
	before = rig_count(r, 0, SIM_CYCLES);
	rig_load_line(r, 1000);
	EXPECT_GT(rig_count(r, 0, SIM_CYCLES) - before, r->model.machine.dram_cas);
	h->uncached_bytes = 0;
	rig_count(r, 0, SIM_CYCLES);
	rig_load_line(r, 1000);
	before = rig_count(r, 0, SIM_DRAM_ACCESSES);
	rig_load_line(r, 1000);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), before);
	rig_free(r);
}

/* The same with CPUs that overlap their misses and are kept coherent. */
TEST(uncached_with_overlap)
{
	struct rig *r = rig_load_with(2, "small", "cpu.misses", "8", "coherence.latency", "90",
				      NULL);
	struct sim_header *h = r->shared;
	u64 cycles;

	h->uncached = 1ull << 47;
	h->uncached_bytes = 1 << 20;
	rig_count(r, 0, SIM_CYCLES);
	for (unsigned int i = 0; i < 100; i++)
		rig_access(r, i % 2, i % 4 * LINE, false, 0);
	for (unsigned int i = 0; i < 2; i++) {
		cycles = rig_count(r, i, SIM_CYCLES);
		EXPECT_EQ(rig_count(r, i, SIM_DRAM_ACCESSES), 50);
		EXPECT_EQ(rig_count(r, i, SIM_LLC_REFS), 0);
		EXPECT_EQ(rig_count(r, i, SIM_COHERENCE_MISSES), 0);
		EXPECT_GT(cycles, 0);
	}
	rig_free(r);
}

/*
 * Two CPUs, each with a row of its own. The emulator runs one CPU for a long time, then
 * the other. Only the weave makes their requests meet.
 */
static struct rig *lockstep(u64 a, u64 b)
{
	struct rig *r = make(2);

	for (u64 i = 0; i < 1000; i++)
		rig_access(r, 0, a | i % 2 * LINE, false, 0);
	for (u64 i = 0; i < 1000; i++)
		rig_access(r, 1, b | i % 2 * LINE, false, 0);
	return r;
}

TEST(lockstep_conflicts_in_one_bank)
{
	struct rig *r = lockstep(ROW(1), ROW(2));

	expect_rows(_metadata, r, 0, 0, 1, 999);
	expect_rows(_metadata, r, 1, 0, 0, 1000);
	/* Each CPU always waits for the other. */
	EXPECT_GE(rig_count(r, 1, SIM_BANK_WAITS), 999u * RP);
	rig_free(r);
}

TEST(lockstep_never_conflicts_in_two_banks)
{
	struct rig *r = lockstep(ROW(1), ROW(2) | BANK(1));

	expect_rows(_metadata, r, 0, 999, 1, 0);
	expect_rows(_metadata, r, 1, 999, 1, 0);
	rig_free(r);
}

TEST(banks_of_a_channel_share_its_bus)
{
	struct rig *r = lockstep(0, BANK(1));

	EXPECT_GT(rig_count(r, 1, SIM_BANK_WAITS), 0u);
	rig_free(r);
	r = lockstep(0, CHANNEL(1));
	EXPECT_EQ(rig_count(r, 0, SIM_BANK_WAITS), 0);
	EXPECT_EQ(rig_count(r, 1, SIM_BANK_WAITS), 0);
	EXPECT_EQ(rig_count(r, 1, SIM_CYCLES), RCD + 1000 * (CAS + BURST + BASE));
	rig_free(r);
}

/* Three banks are ready at the same time, and their data share the bus in turn. */
TEST(bursts_queue_up)
{
	struct rig *r = make(3);

	for (unsigned int i = 0; i < 3; i++)
		rig_access(r, i, BANK(i), false, 0);
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(rig_count(r, i, SIM_CYCLES), RCD + CAS + (i + 1) * BURST + BASE);
		EXPECT_EQ(rig_count(r, i, SIM_BANK_WAITS), i * BURST);
	}
	rig_free(r);
}

/*
 * CPU 0 opens row 1. While the bank is busy, CPU 1 asks for row 2, and after it
 * CPU 2 for row 1: CPU 2 goes first.
 */
TEST(row_hits_go_first)
{
	struct rig *r = make(3);

	rig_access(r, 0, ROW(1), false, 0);
	rig_access(r, 1, ROW(2), false, 10);
	rig_access(r, 2, ROW(1) + LINE, false, 20);
	expect_rows(_metadata, r, 0, 0, 1, 0);
	expect_rows(_metadata, r, 1, 0, 0, 1);
	expect_rows(_metadata, r, 2, 1, 0, 0);
	/* The bank is free for the next column command RCD + BURST after the first. */
	EXPECT_EQ(rig_count(r, 2, SIM_BANK_WAITS), RCD + BURST - 20);
	EXPECT_EQ(rig_count(r, 1, SIM_BANK_WAITS), RCD + 2 * BURST - 10);
	rig_free(r);

	/* CPU 2 does not go first if it asks when CPU 1 is already being served. */
	r = make(3);
	rig_access(r, 0, ROW(1), false, 0);
	rig_access(r, 1, ROW(2), false, 10);
	rig_access(r, 2, ROW(1) + LINE, false, RCD + BURST + 1);
	expect_rows(_metadata, r, 2, 0, 0, 1);
	rig_free(r);
}

/* More write-backs than DRAM_PENDING. */
TEST(many_write_backs)
{
	struct rig *r = rig_make(1, "l1.size", "256K", "l1.ways", "1", "llc.size", "64",
				 "llc.ways", "1", "dram.rp", "100", "dram.cas", "20", NULL);
	u64 lines = 4096;

	for (u64 l = 0; l < lines; l++)
		rig_access(r, 0, l * LINE, true, 0);
	for (u64 l = lines; l < 2 * lines; l++)
		rig_access(r, 0, l * LINE, true, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 3 * lines);
	rig_free(r);
}

TEST(three_channels_are_modulo_three)
{
	struct rig *r = rig_load(1, "x5570");
	const struct address_map *a = &r->model.map;
	unsigned int got[48] = { };

	EXPECT_EQ(a->channels, 3);
	EXPECT_EQ(a->banks, 48);
	for (u64 i = 0; i < 100000; i++) {
		u64 address = get_random_u64() & ((1ull << 32) - 1), page = address >> 12;
		unsigned int bit0 = (address >> 14 ^ address >> 18) & 1;
		unsigned int bit1 = (address >> 15 ^ address >> 19) & 1;
		unsigned int bit2 = (address >> 16 ^ address >> 20) & 1;
		unsigned int rank = address >> 17 & 1;

		EXPECT_EQ(address_channel(a, address), page % 3);
		EXPECT_EQ(address_bank(a, address),
			  page % 3 * 16 + rank * 8 + bit2 * 4 + bit1 * 2 + bit0);
		EXPECT_EQ(address_row(a, address), address / (384 << 10));
		got[address_bank(a, address)]++;
	}
	for (unsigned int i = 0; i < 48; i++)
		EXPECT_TRUE(got[i] > 1700 && got[i] < 2500);
	rig_free(r);
}
