// SPDX-License-Identifier: GPL-2.0
/*
 * Machine descriptions: bad values are refused; descriptions in machines/ match their
 * comments; and their color_map and bank_map, parsed by the kernel's own code, match
 * the colors and banks of the model.
 */
#include "mcube_test.h"
#include "rig.h"

#include <glob.h>
#include <linux/mcube_map.h>
#include <unistd.h>

static const char *with(const char *key, const char *value)
{
	struct machine m;
	const char *bad;

	machine_default(&m);
	machine_set(&m, "l1.size", "32K");
	machine_set(&m, "llc.size", "1M");
	bad = machine_set(&m, key, value);
	return *bad ? bad : machine_check(&m);
}

TEST(bad_values_are_refused)
{
	static const char * const bad[][2] = {
		{ "l1.size", "" }, { "l1.size", "many" }, { "l1.size", "-1" },
		{ "l1.size", "1KK" }, { "l1.size", "0" }, { "l1.size", "63" },
		{ "llc.size", "0" }, { "llc.ways", "0" }, { "llc.ways", "65" },
		{ "llc.size", "1000" }, { "llc.policy", "fifo" }, { "llc.slices", "0" },
		{ "llc.slices", "2" }, { "llc.hash", "12" }, { "llc.hash", "0x12 13" },
		{ "llc.hash", "0x20" }, { "llc.hash", "0x1000 0x2001" },
		{ "line", "65" }, { "line", "8" }, { "line", "2048" }, { "llc.size", "128M" },
		{ "prefetch.kind", "best" }, { "prefetch.degree", "17" },
		{ "prefetch.under_way", "65" }, { "prefetch.under_way", "-1" },
		{ "dram.table", "0 x" }, { "dram.table", "0 64" }, { "dram.granule", "1" },
		{ "dram.bank_table", "x" }, { "dram.bank_granule", "2K" },
		{ "dram.rank_granule", "0" },
		{ "dram.banks", "0x1 0x2 0x4 0x8 0x10 0x20 0x40 0x80 0x100" },
		{ "dram.row", "1" }, { "quantum", "0" }, { "mhz", "0" }, { "nonsense", "1" },
		{ "cpu.misses", "0" }, { "cpu.misses", "33" }, { "cpu.window", "0" },
		{ "cpu.window", "4097" }, { "coherence.latency", "-1" },
		{ "cpu.instruction", "0" }, { "l1.latency", "99" }, { "name", "" },
	};

	EXPECT_STREQ(with("name", "fine"), "");
	EXPECT_STREQ(with("llc.ways", "64"), "");
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_STRNE(with(bad[i][0], bad[i][1]), "")
			TH_LOG("%s = %s is taken", bad[i][0], bad[i][1]);
	}
}

TEST(files)
{
	char path[] = "/tmp/mcube-machine-XXXXXX";
	int fd = mkstemp(path);
	struct machine m;
	FILE *f;

	ASSERT_GE(fd, 0);
	f = fdopen(fd, "w");
	fputs("# comment\n\n  l1.size =  4K # and more\nllc.size=1M\nnonsense\n", f);
	fclose(f);
	EXPECT_NE(strstr(machine_load(&m, path), "line 5: no '='"), NULL);
	f = fopen(path, "w");
	fputs("l1.size = 4K\nllc.size = 1M\nllc.ways = 16\nllc.policy = srrip\n", f);
	fclose(f);
	EXPECT_STREQ(machine_load(&m, path), "");
	EXPECT_EQ(m.llc.sets, 1024);
	EXPECT_EQ(m.llc.policy, POLICY_SRRIP);
	unlink(path);
	EXPECT_NE(strstr(machine_load(&m, path), path), NULL);
}

TEST(known_machines)
{
	static const struct {
		const char *name;
		u64 bytes, ways, line, colors, banks;
	} known[] = {
		{ "xeon5355", 4 << 20, 16, 64, 64, 16 },
		{ "i7-860", 8 << 20, 16, 64, 128, 32 },
		{ "ppc970fx", 512 << 10, 8, 128, 16, 8 },
		{ "x5570", 8 << 20, 16, 64, 128, 48 },
		{ "x3650m2", 8 << 20, 16, 64, 128, 96 },
		{ "small", 1 << 20, 16, 64, 16, 16 },
		{ "sliced", 8 << 20, 16, 64, 32, 64 },
	};
	glob_t found;

	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++) {
		struct rig *r = rig_load(1, known[i].name);
		const struct sim_header *h = r->model.header;

		EXPECT_STREQ(h->name, known[i].name);
		EXPECT_EQ((u64)h->llc_sets * h->llc_ways * h->line, known[i].bytes);
		EXPECT_EQ(h->llc_ways, known[i].ways);
		EXPECT_EQ(h->line, known[i].line);
		EXPECT_EQ(h->colors, known[i].colors);
		EXPECT_EQ(h->banks, known[i].banks);
		rig_free(r);
	}
	ASSERT_EQ(glob(rig_path("*"), 0, NULL, &found), 0);
	EXPECT_EQ(found.gl_pathc, ARRAY_SIZE(known));
	globfree(&found);
}

static struct mcube_dim kernel_dim(struct __test_metadata *_metadata, const char *text)
{
	struct mcube_dim d;
	const char *why = "";

	ASSERT_EQ(mcube_dim_parse(&d, text, strlen(text), &why), 0)
		TH_LOG("the kernel refuses '%s': %s", text, why);
	return d;
}

static u64 some_page(void)
{
	return (get_random_u64() & ((3ull << 30) - 1)) >> 12;
}

/* Two pages have a line each in the same set. */
static bool share_a_set(const struct address_map *a, u64 p, u64 q)
{
	for (u64 i = 0; i < 4096; i += a->machine->line)
		for (u64 k = 0; k < 4096; k += a->machine->line)
			if (address_set(a, p << 12 | i) == address_set(a, q << 12 | k))
				return true;
	return false;
}

/* Channels that no page decides about, as their masks or granules end within a page. */
static unsigned int channels_of_a_page(const struct machine *m)
{
	unsigned int n = 1;

	for (unsigned int i = 0; i < m->dram_channels.nr; i++)
		if (!(m->dram_channels.mask[i] >> 12))
			n *= 2;
	return m->dram_granule < 4096 ? table_values(&m->dram_table) : n;
}

/* The bank, within a channel if lines of each page lie in all channels. */
static unsigned int in_channel(const struct address_map *a, u64 address)
{
	unsigned int bank = address_bank(a, address);

	return a->machine->dram_granule < 4096 ? bank % a->channel_banks : bank;
}

static void check_maps(struct __test_metadata *_metadata, const char *name)
{
	struct rig *r = rig_load(1, name);
	const struct address_map *a = &r->model.map;
	struct mcube_dim color = kernel_dim(_metadata, a->machine->color_map);
	struct mcube_dim bank = kernel_dim(_metadata, a->machine->bank_map);

	EXPECT_EQ(color.nr_values, a->colors);
	EXPECT_EQ(bank.nr_values * channels_of_a_page(a->machine), a->banks);
	for (unsigned int i = 0; i < 20000; i++) {
		u64 p = some_page(), q = some_page(), off = get_random_u32_below(4096);
		unsigned int pc = mcube_dim_value(&color, p), qc = mcube_dim_value(&color, q);
		unsigned int pb = mcube_dim_value(&bank, p), qb = mcube_dim_value(&bank, q);

		/* Kernel and model agree on the numbers, in all of the page. */
		ASSERT_EQ(address_color(a, p << 12 | off), pc)
			TH_LOG("machine %s", name);
		ASSERT_EQ(in_channel(a, p << 12), pb)
			TH_LOG("machine %s", name);
		ASSERT_EQ(in_channel(a, p << 12 | off) == in_channel(a, q << 12 | off), pb == qb)
			TH_LOG("machine %s", name);
		if (i % 100 == 0) {
			ASSERT_EQ(share_a_set(a, p, q), pc == qc)
				TH_LOG("machine %s", name);
		}
	}
	rig_free(r);
}

TEST(the_kernel_is_told_the_truth)
{
	static const char * const names[] = {
		"xeon5355", "i7-860", "ppc970fx", "x5570", "x3650m2", "small", "sliced",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		check_maps(_metadata, names[i]);
}

/* Figures 4 and 5 of the M3 paper: where the second address meets the bank of address 0. */
TEST(the_machine_of_the_m3_paper)
{
	struct rig *r = rig_load(1, "x3650m2");
	const struct address_map *a = &r->model.map;
	unsigned int seen[96] = { }, banks = 0;

	EXPECT_EQ(a->channels, 3);
	EXPECT_EQ(a->channel_banks, 32);
	for (u64 at = 0; at < 48 << 20; at += 64) {
		bool meets = at / 64 % 3 == 0 && at % (96 << 10) < 12 << 10 &&
			     at % (12 << 20) < 3 << 20;

		ASSERT_EQ(address_bank(a, at) == address_bank(a, 0), meets);
		ASSERT_EQ(bank_channel(a, address_bank(a, at)), at / 64 % 3);
		/* Of the same bank, each row is one of 4 KiB: 12 KiB over three channels. */
		if (meets)
			ASSERT_EQ(address_row(a, at), at / (96 << 10));
		if (at < 12 << 20)
			banks += !seen[address_bank(a, at)]++;
	}
	EXPECT_EQ(banks, 96);
	for (unsigned int i = 0; i < 96; i++)
		EXPECT_EQ(seen[i], (12 << 20) / 64 / 96);
	rig_free(r);
}

TEST(slices_are_used_evenly)
{
	struct rig *r = rig_load(1, "sliced");
	const struct address_map *a = &r->model.map;
	u64 in[4] = { }, line, in_page[4];
	unsigned int sets[8192] = { };

	/* 32 MiB in sequence use each slice equally often, and each set. */
	for (line = 0; line < 1 << 19; line++) {
		in[address_slice(a, line * 64)]++;
		sets[address_index(a, line * 64)]++;
	}
	for (unsigned int i = 0; i < 4; i++)
		EXPECT_EQ(in[i], 1 << 17);
	for (unsigned int i = 0; i < 8192; i++)
		EXPECT_EQ(sets[i], 64);
	/* Each page uses each slice equally often. */
	for (unsigned int n = 0; n < 1000; n++) {
		u64 page = some_page();

		memset(in_page, 0, sizeof(in_page));
		for (line = 0; line < 64; line++)
			in_page[address_slice(a, page << 12 | line * 64)]++;
		for (unsigned int i = 0; i < 4; i++)
			EXPECT_EQ(in_page[i], 16);
	}
	rig_free(r);
}

/* Any number of slices and sets: three slices of 1000 sets. */
TEST(odd_numbers)
{
	struct rig *r = rig_make(1, "llc.size", "3072000", "llc.ways", "16", "llc.slices", "3",
				 "llc.hash", "0x5554555555540 0xaaaaaaaaaa80 0x1240924924900",
				 NULL);
	const struct address_map *a = &r->model.map;
	unsigned int used[3000] = { };

	EXPECT_EQ(a->slice_sets, 1000);
	EXPECT_EQ(a->colors, 1);
	for (u64 line = 0; line < 1 << 20; line++) {
		unsigned int index = address_index(a, line * 64);

		ASSERT_LT(index, 3000u);
		used[index]++;
	}
	for (unsigned int i = 0; i < 3000; i++)
		EXPECT_GT(used[i], 0u);
	rig_free(r);
}

TEST(text_has_every_key)
{
	char text[4096];
	struct rig *r = rig_load(1, "x5570");

	machine_text(&r->model.machine, text, sizeof(text));
	EXPECT_NE(strstr(text, "name=x5570;"), NULL);
	EXPECT_NE(strstr(text, "dram.table=0 1 2;"), NULL);
	EXPECT_NE(strstr(text, "llc.policy=lru;"), NULL);
	EXPECT_NE(strstr(text, "dram.banks=0x44000 0x88000 0x110000 0x20000;"), NULL);
	EXPECT_NE(strstr(text, "bank_map=0x44000 0x88000 0x110000 0x20000 table:0:0,1,2"), NULL);
	rig_free(r);
}
