// SPDX-License-Identifier: GPL-2.0
/* What mcube-probe finds of colors in a guest of a modelled machine, without QEMU. */
#include "mcube_test.h"
#include "guest.h"

#include <string.h>

#include "../../probe/chase.h"

/* The guests' random numbers follow from the test's. */
static const char *in_guest(const struct guest *g, const char *machine, const char **keys,
			    const char *command)
{
	random_seed(get_random_u32());
	return guest_probe(g, machine, keys, command);
}

#define HOLDS	"\"verdict\": \"holds\""
#define NOT	"\"verdict\": \"does not hold\""
#define UNKNOWN	"\"verdict\": \"unknown\""

static const char *no_keys[6] = { NULL };
/* Sets that address bits up to 21 choose. */
static const char *wide[6] = { "llc.size", "16M", "llc.ways", "4", NULL };

#define EXPECT_SAYS(line, what) EXPECT_NE(strstr(line, what), NULL) \
	TH_LOG("%s instead of %s", line, what)

/* Masks below 2 MiB hold in 2 MiB pages and in larger ones, and not in 4 KiB pages. */
TEST(low_masks_hold_as_far_as_the_backing_reaches)
{
	static const char * const maps[] = {
		"-d 8 -l 2 -b 131072 -m 0x1000,0x2000",
		"-d 8 -l 3 -b 1048576 -m 0x1000,0x2000,0x4000,0x8000",
	};
	static const struct {
		struct guest guest;
		const char *says;
	} cases[] = {
		{ { "0", 21, false, 0 }, HOLDS }, { { "1G", 12, true, 0 }, HOLDS },
		{ { "2M", 21, false, 15 }, HOLDS }, { { "2M", 12, true, 15 }, HOLDS },
		{ { "4K", 21, false, 15 }, NOT }, { { "4K", 12, true, 15 }, NOT },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned int m = 0; m < ARRAY_SIZE(maps); m++) {
			const char *line = in_guest(&cases[i].guest, "small", no_keys, maps[m]);

			EXPECT_SAYS(line, cases[i].says);
		}
}

/* Fewer pages make a color of L2 full than the first level holds of them. */
TEST(the_first_level_hides_no_color)
{
	static const char map[] = "-d 8 -l 2 -b 262144 -m 0x1000,0x2000,0x4000,0x8000";
	const char *wider[6] = { "l1.size", "48K", "l1.ways", "12", NULL };
	const struct guest large = { "2M", 21, false, 15 }, small = { "4K", 21, false, 15 };

	EXPECT_SAYS(in_guest(&large, "sliced", no_keys, map), HOLDS);
	EXPECT_SAYS(in_guest(&large, "sliced", wider, map), HOLDS);
	EXPECT_SAYS(in_guest(&small, "sliced", no_keys, map), NOT);
}

TEST(high_masks_hold_in_1_gib_pages_alone)
{
	static const char map[] = "-d 8 -l 3 -b 16777216 -m 0x80000,0x100000,0x200000";
	const struct guest huge = { "1G", 21, true, 10 }, hidden = { "1G", 21, false, 0 };
	const struct guest large = { "2M", 21, true, 10 };

	EXPECT_SAYS(in_guest(&huge, "small", wide, map), HOLDS);
	EXPECT_SAYS(in_guest(&hidden, "small", wide, map), UNKNOWN);
	EXPECT_EQ(strstr(in_guest(&large, "small", wide, map), HOLDS), NULL);
}

TEST(a_wrong_map_never_holds)
{
	static const char * const wrong[] = {
		/* too fine, another bit, a sum with a bit that is not in the index */
		"-l 2 -b 131072 -m 0x1000,0x2000,0x4000", "-l 2 -b 131072 -m 0x1000,0x8000",
		"-l 2 -b 131072 -m 0x1000,0x12000", "-l 2 -b 131072 -m 0x10000",
		/* half of the cache and twice the cache that is there */
		"-l 2 -b 65536 -m 0x1000,0x2000,0x4000", "-l 2 -b 524288 -m 0x1000,0x2000,0x4000",
	};
	const struct guest guest = { "2M", 21, false, 10 };

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_EQ(strstr(in_guest(&guest, "small", no_keys, wrong[i]), HOLDS), NULL);
}

TEST(masks_are_found)
{
	const struct guest large = { "2M", 21, false, 10 }, small = { "4K", 21, false, 10 };
	const char *line = in_guest(&large, "small", no_keys, "-f -l 2 -b 131072 -d 8");

	EXPECT_SAYS(line, HOLDS ", \"confidence\": 0.9");
	EXPECT_SAYS(line, "\"masks\": [\"0x1000\", \"0x2000\"]");
	EXPECT_SAYS(in_guest(&large, "small", no_keys, "-f -l 3 -b 1048576 -d 8"),
		    "\"masks\": [\"0x1000\", \"0x2000\", \"0x4000\", \"0x8000\"]");
	EXPECT_SAYS(in_guest(&small, "small", no_keys, "-f -l 2 -b 131072 -d 8"), UNKNOWN);
}

/* As on clients with 4 ways of L2 behind 8 of the first level. */
TEST(masks_are_found_behind_a_first_level_of_more_ways)
{
	const struct guest large = { "2M", 21, false, 15 }, small = { "4K", 21, false, 15 };
	const char *line = in_guest(&large, "sliced", no_keys, "-f -l 2 -b 262144 -d 8");

	EXPECT_SAYS(line, HOLDS ", \"confidence\": 0.9");
	EXPECT_SAYS(line, "\"masks\": [\"0x1000\", \"0x2000\", \"0x4000\", \"0x8000\"]");
	EXPECT_SAYS(in_guest(&small, "sliced", no_keys, "-f -l 2 -b 262144 -d 8"), UNKNOWN);
}
