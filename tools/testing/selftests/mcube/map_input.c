// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of the address map gives an error and changes nothing;
 * the map can not change while the allocator is on.
 */

#include <errno.h>

#include "../kselftest_harness.h"
#include "input_lib.h"

FIXTURE(map_input) {
	struct mcube_saved saved;
	char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
};

FIXTURE_SETUP(map_input)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(map_input)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

TEST_F_TIMEOUT(map_input, color_map, 120)
{
	const char *path = MCUBE_MAP "color_map";

	EXPECT_EQ(0, input_refused(path, input_bad_maps));
	EXPECT_EQ(0, input_refused_forms(path, "0x8000 0x24000"));
}

TEST_F_TIMEOUT(map_input, bank_map, 120)
{
	const char *path = MCUBE_MAP "bank_map";

	EXPECT_EQ(0, input_refused(path, input_bad_maps));
	EXPECT_EQ(0, input_refused_forms(path, "0x8000 table:4:0,1,2 table:0:0,1"));
}

TEST_F_TIMEOUT(map_input, busy_while_on, 120)
{
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	input_snapshot(self->before, sizeof(self->before));
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_MAP "color_map", "0x10000"));
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_MAP "bank_map", "none"));
	input_snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
	EXPECT_EQ(0, input_refused(MCUBE_MAP "color_map", input_bad_maps));
	ASSERT_EQ(0, mcube_off());
	EXPECT_EQ(0, mcube_write(MCUBE_MAP "color_map", "0x10000"));
	EXPECT_EQ(0, mcube_write(MCUBE_MAP "bank_map", "none"));
}

/* Words that are nearly right, put together at random. */
TEST_F_TIMEOUT(map_input, random_maps, 300)
{
	static const char * const word[] = {
		"0x", "1000", "2000", "0x4000", "0x8000", "0x6000", " ", ",", "\n",
		"table:", "0:", "1", "2", "0,1", "0,1,2", ":", "-", "none", "0",
	};
	char text[256], back[2048], again[2048];
	int i, n, accepted = 0;

	srandom(1);
	input_snapshot(self->before, sizeof(self->before));
	for (i = 0; i < 5000; i++) {
		text[0] = '\0';
		for (n = random() % 8; n >= 0; n--)
			strcat(text, word[random() % ARRAY_SIZE(word)]);
		if (mcube_write(MCUBE_MAP "bank_map", text)) {
			input_snapshot(self->after, sizeof(self->after));
			ASSERT_STREQ(self->before, self->after);
			continue;
		}
		/* A map that was taken reads back, and can be written again. */
		accepted++;
		ASSERT_LT(0, mcube_read(MCUBE_MAP "bank_map", back, sizeof(back)));
		ASSERT_EQ(0, mcube_write(MCUBE_MAP "bank_map", back));
		mcube_read(MCUBE_MAP "bank_map", again, sizeof(again));
		ASSERT_STREQ(back, again);
		ASSERT_LE(1, mcube_read_num(MCUBE_MAP "nr_banks"));
		ASSERT_GE(256, mcube_read_num(MCUBE_MAP "nr_banks"));
		input_snapshot(self->before, sizeof(self->before));
	}
	TH_LOG("%d of %d were maps", accepted, i);
	EXPECT_LT(0, accepted);
}

TEST_HARNESS_MAIN
