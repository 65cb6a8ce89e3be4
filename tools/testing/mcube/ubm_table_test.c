// SPDX-License-Identifier: GPL-2.0
/*
 * The table of files: found again, bounded, and a loop over more files than records.
 */
#include "mcube_test.h"

#include "replay/paper/table.h"

static const struct mcube_ubm_rules rules = { .gap = 4, .min = 8, .age = 6 };
static struct mcube_ubm_table table;
static struct mcube_ubm_touched touched;
static u32 now;

static void *begin(u32 size)
{
	void *memory = calloc(1, mcube_ubm_table_bytes(size));

	now = 0;
	mcube_ubm_table_init(&table, memory, size, &rules);
	return memory;
}

static struct mcube_ubm_key key_of(u32 i)
{
	return (struct mcube_ubm_key){ .ino = i / 4, .dev = i % 2, .gen = i / 2 % 2 };
}

static struct mcube_ubm_file *find(u32 i)
{
	struct mcube_ubm_key key = key_of(i);

	return mcube_ubm_table_find(&table, &key, mcube_ubm_hash(&key));
}

static struct mcube_ubm_file *get(u32 i)
{
	struct mcube_ubm_key key = key_of(i);

	return mcube_ubm_table_get(&table, &key, mcube_ubm_hash(&key));
}

/* Read a small file whole.  Return: class. */
static enum mcube_ubm_class read_file(u32 i, u32 pages)
{
	struct mcube_ubm_file *file = get(i);

	mcube_ubm_detect(&table.runs, &file->trail, 0, pages, MCUBE_UBM_NO_PREV, true, now,
			 &touched);
	now += touched.refs;
	return touched.class;
}

TEST(files_are_found_again)
{
	void *memory = begin(64);
	u32 i;

	for (i = 0; i < 64; i++) {
		EXPECT_EQ(find(i), NULL);
		EXPECT_EQ(get(i), &table.file[i]);
	}
	for (i = 0; i < 64; i++)
		EXPECT_EQ(find(i), &table.file[i]);
	EXPECT_EQ(table.nr, 64);
	EXPECT_EQ(table.replaced, 0);
	mcube_ubm_table_forget(&table, find(17));
	EXPECT_EQ(find(17), NULL);
	EXPECT_EQ(table.nr, 63);
	ASSERT_NE(get(64), NULL);
	EXPECT_NE(find(64), NULL);
	EXPECT_LE(table.nr, 64);
	free(memory);
}

TEST(files_and_runs_are_bounded)
{
	void *memory = begin(256);
	unsigned long i;
	u32 k, nr, used, id;

	for (i = 0; i < 100000 * test_scale(); i++) {
		read_file(get_random_u32_below(2000), 1 + get_random_u32_below(20));
		if (!get_random_u32_below(50)) {
			struct mcube_ubm_file *file = get(get_random_u32_below(2000));
			u32 first = get_random_u32_below(1 << 20);

			for (k = 0; k < 10; k++)
				mcube_ubm_detect(&table.runs, &file->trail, first + k, 1,
						 MCUBE_UBM_NO_PREV, false, now++, &touched);
		}
		mcube_ubm_table_age(&table, now);
		if (i % 1000)
			continue;
		for (k = 0, nr = 0, used = 0; k < table.size; k++) {
			used += table.file[k].used;
			if (!table.file[k].used)
				continue;
			ASSERT_EQ(mcube_ubm_table_find(&table, &table.file[k].key,
						       table.file[k].hash), &table.file[k]);
			for (id = table.file[k].trail.runs; id != MCUBE_UBM_NONE;
			     id = table.runs.run[id].next)
				nr++;
		}
		ASSERT_EQ(used, table.nr);
		ASSERT_EQ(nr, table.runs.nr);
		ASSERT_LE(nr, table.runs.size);
	}
	EXPECT_GT(table.replaced, 0);
	free(memory);
}

/* In LRU order the records of all files would be gone before the next pass. */
TEST(some_files_of_a_large_loop_are_known_in_the_next_pass)
{
	void *memory = begin(256);
	u32 i, pass, loops = 0;

	for (pass = 0; pass < 30; pass++) {
		for (i = 0, loops = 0; i < 1024; i++) {
			struct mcube_ubm_run *run;

			if (read_file(i, 4) != MCUBE_UBM_LOOP)
				continue;
			loops++;
			/* Half the records may hold pages. */
			run = &table.runs.run[touched.run[0]];
			if (table.runs.loops.all < 128 * 4)
				mcube_ubm_run_hold(&table.runs, run, 4);
		}
	}
	TH_LOG("%u of 256 records are those of loops", loops);
	EXPECT_GE(loops, 128);
	EXPECT_EQ(table.runs.loops.all, 128 * 4);
	free(memory);
}

TEST(dead_loops_are_found_in_a_round)
{
	void *memory = begin(64);
	u32 i;

	for (i = 0; i < 40; i++)
		read_file(i % 20, 4);
	EXPECT_EQ(table.runs.loops.wanted[mcube_ubm_bucket(80)], 80);
	now += 80 * 4;
	for (i = 0; i < 64; i++)
		mcube_ubm_table_age(&table, now);
	EXPECT_EQ(table.runs.loops.wanted[mcube_ubm_bucket(80)], 0);
	free(memory);
}

TEST(memory_is_bounded)
{
	u64 pages;

	for (pages = 1; pages <= S32_MAX; pages = pages * 3 / 2 + 1) {
		size_t bytes = mcube_ubm_table_bytes(mcube_ubm_table_size(pages));

		EXPECT_LE(bytes, 12 << 20);
		/* 1.1 % of the cache. */
		if (pages >= 1024)
			EXPECT_LE(bytes, pages * 4096 * 11 / 1000);
	}
}

/* Inode numbers that a user chooses for one hash slot do not make look-ups long. */
TEST(a_slot_has_few_files)
{
	void *memory = begin(64);
	u32 i, slot, n = 0;

	for (i = 0; i < 1000; i++) {
		struct mcube_ubm_key key = { .ino = i };
		struct mcube_ubm_file *file = mcube_ubm_table_get(&table, &key, 5);

		ASSERT_EQ(mcube_ubm_table_find(&table, &key, 5), file);
		mcube_ubm_detect(&table.runs, &file->trail, 0, 8, MCUBE_UBM_NO_PREV, true,
				 now += 8, &touched);
	}
	for (slot = table.slot[5]; slot != MCUBE_UBM_NONE; slot = table.file[slot].next)
		n++;
	EXPECT_EQ(n, 16);
	EXPECT_EQ(table.nr, 16);
	/* A file of another slot finds room. */
	EXPECT_NE(get(0), NULL);
	EXPECT_NE(find(0), NULL);
	free(memory);
}
