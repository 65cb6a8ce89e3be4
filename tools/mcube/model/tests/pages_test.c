// SPDX-License-Identifier: GPL-2.0
/*
 * Counts by page frame: known patterns, and sums that agree with the counters of the
 * CPUs.
 */
#include "mcube_test.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES	64u

static char path[64];

static struct rig *counted(unsigned int ncpus)
{
	struct rig *r = rig_make(ncpus, NULL);
	int fd;

	strcpy(path, "/tmp/mcube-pages-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || !model_count_pages(&r->model, FRAMES << FRAME_SHIFT, path))
		abort();
	close(fd);
	return r;
}

static void done(struct rig *r)
{
	unlink(path);
	rig_free(r);
}

/* Ends an interval and reads its block, the last in the file, into an array by frame. */
static u64 mark(struct rig *r, struct page_count *count)
{
	struct pages_block head = { };
	struct pages_record record;
	FILE *f;

	model_sync(&r->model);
	if (!model_mark_pages(&r->model))
		abort();
	memset(count, 0, FRAMES * sizeof(*count));
	f = fopen(path, "rb");
	while (fread(&head, sizeof(head), 1, f) == 1 && head.mark < r->model.pages.marks)
		fseek(f, head.records * sizeof(record), SEEK_CUR);
	for (u64 i = 0, last = 0; i < head.records; i++) {
		if (fread(&record, sizeof(record), 1, f) != 1 || record.frame >= FRAMES ||
		    (i && record.frame <= last))
			abort();
		last = record.frame;
		count[record.frame] = (struct page_count){ record.refs, record.misses };
	}
	if (fread(&record, 1, 1, f))
		abort();
	fclose(f);
	return head.magic == PAGES_MAGIC ? head.mark : 0;
}

/* 64 KiB and 16 ways: frame 0 fits, and 17 frames in turn evict each other. */
TEST(hits_and_misses_by_frame)
{
	struct rig *r = counted(1);
	struct page_count c[FRAMES];

	EXPECT_EQ(r->model.header->frames, FRAMES);
	for (u64 i = 0; i < 3 * 64; i++)
		rig_load_line(r, i % 64);
	for (u64 i = 0; i < 2 * 17; i++)
		rig_load_line(r, (20 + i % 17) * 64);
	EXPECT_EQ(mark(r, c), 1u);
	EXPECT_EQ(c[0].refs, 192);
	EXPECT_EQ(c[0].misses, 64);
	for (unsigned int i = 20; i < 37; i++) {
		EXPECT_EQ(c[i].refs, 2);
		EXPECT_EQ(c[i].misses, 2);
	}
	EXPECT_EQ(c[37].refs, 0);
	EXPECT_EQ(r->model.header->marks, 1u);
	done(r);
}

TEST(an_interval_begins_at_the_mark)
{
	struct rig *r = counted(1);
	struct page_count c[FRAMES];

	rig_load_line(r, 64);
	EXPECT_EQ(mark(r, c), 1u);
	EXPECT_EQ(c[1].misses, 1);
	EXPECT_EQ(mark(r, c), 2u);
	EXPECT_EQ(c[1].refs, 0);
	rig_load_line(r, 0);
	rig_load_line(r, 64);
	EXPECT_EQ(mark(r, c), 3u);
	EXPECT_EQ(c[1].refs, 1);
	EXPECT_EQ(c[1].misses, 0);
	EXPECT_EQ(c[0].misses, 1);
	done(r);
}

TEST(sums_are_those_of_the_counters)
{
	struct rig *r = counted(2);
	struct page_count c[FRAMES];
	u64 refs = 0, misses = 0;

	for (u64 i = 0; i < 40000; i++) {
		u64 x = i * 0x9e3779b97f4a7c15ull;

		rig_access(r, i % 2, (x >> 20) % (FRAMES << FRAME_SHIFT), x & 1, 1);
	}
	mark(r, c);
	for (unsigned int i = 0; i < FRAMES; i++) {
		refs += c[i].refs;
		misses += c[i].misses;
	}
	EXPECT_EQ(refs, rig_count(r, 0, SIM_LLC_REFS) + rig_count(r, 1, SIM_LLC_REFS));
	EXPECT_EQ(misses, rig_count(r, 0, SIM_LLC_MISSES) + rig_count(r, 1, SIM_LLC_MISSES));
	EXPECT_GT(misses, 20000u);
	done(r);
}

/* Requests beyond the RAM that the caller named are not counted, and harm nothing. */
TEST(frames_beyond_the_table)
{
	struct rig *r = counted(1);
	struct page_count c[FRAMES];
	u64 refs = 0;

	rig_access(r, 0, (FRAMES << FRAME_SHIFT) - LINE, false, 0);
	rig_access(r, 0, FRAMES << FRAME_SHIFT, false, 0);
	rig_access(r, 0, 1ull << 40, false, 0);
	mark(r, c);
	for (unsigned int i = 0; i < FRAMES; i++)
		refs += c[i].refs;
	EXPECT_EQ(refs, 1);
	EXPECT_EQ(c[FRAMES - 1].refs, 1);
	done(r);
}

TEST(a_file_that_cannot_be_written)
{
	struct rig *r = rig_make(1, NULL);

	EXPECT_FALSE(model_count_pages(&r->model, FRAMES << FRAME_SHIFT, "/no/such/folder/x"));
	EXPECT_EQ(r->model.header->frames, 0);
	rig_free(r);
	r = rig_make(1, NULL);
	EXPECT_TRUE(model_count_pages(&r->model, FRAMES << FRAME_SHIFT, "/dev/full"));
	rig_load_line(r, 0);
	model_sync(&r->model);
	EXPECT_FALSE(model_mark_pages(&r->model));
	rig_free(r);
}
