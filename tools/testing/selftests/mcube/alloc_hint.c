// SPDX-License-Identifier: GPL-2.0
/*
 * A hint that outlives the address map that it was made for.
 *
 * A task keeps its hint while the allocator is switched off and comes back with
 * a map of fewer colors or banks.  Tables that are indexed by color or bank have
 * no entry for such a hint: the page must come from elsewhere, and the request
 * must count as a fallback.
 */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

/* 256 colors and 256 banks, the most that a map may have. */
#define MOST_COLORS	"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000"
#define MOST_BANKS	"0x24000 0x48000 0x90000 0x120000 0x240000 0x480000 0x900000 0x1000"
#define FEW		"0x1000"
#define PAGES		64UL

FIXTURE(stale_hint) {
	struct mcube_saved saved;
};

FIXTURE_VARIANT(stale_hint) {
	const char *hint;
	bool srm;
};

FIXTURE_VARIANT_ADD(stale_hint, color) { .hint = "color=255" };
FIXTURE_VARIANT_ADD(stale_hint, bank) { .hint = "bank=255" };
FIXTURE_VARIANT_ADD(stale_hint, both) { .hint = "color=2 bank=255" };
FIXTURE_VARIANT_ADD(stale_hint, color_with_srm) { .hint = "color=255", .srm = true };
FIXTURE_VARIANT_ADD(stale_hint, bank_with_srm) { .hint = "bank=255", .srm = true };

FIXTURE_SETUP(stale_hint)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	if (variant->srm && !mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "the kernel has no SRM-buffer");
}

FIXTURE_TEARDOWN_PARENT(stale_hint)
{
	if (mcube_unusable())
		return;
	EXPECT_EQ(0, mcube_off());
	mcube_restore(&self->saved);
}

/* Frames of a task whose hint is of an earlier, larger map. */
TEST_F_TIMEOUT(stale_hint, is_a_fallback, 60)
{
	long fallback, colored, missed = 0;
	char text[64];
	size_t i;
	char *p;

	ASSERT_EQ(0, mcube_on("shuffle", MOST_COLORS, MOST_BANKS));
	ASSERT_EQ(256, mcube_read_num(MCUBE_MAP "nr_colors"));
	ASSERT_EQ(256, mcube_read_num(MCUBE_MAP "nr_banks"));
	ASSERT_EQ(0, mcube_hint(variant->hint));
	ASSERT_EQ(0, mcube_on("shuffle", FEW, FEW));
	if (variant->srm)
		ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_LE(0, mcube_read(MCUBE_HINT, text, sizeof(text)));
	ASSERT_STREQ(variant->hint, text);

	fallback = mcube_stat("fallback");
	colored = mcube_stat("colored");
	p = mcube_map_anon(PAGES);
	ASSERT_NE(NULL, p);
	for (i = 0; i < PAGES; i++)
		p[i * PAGE_SIZE_] = (char)i;
	ASSERT_EQ(0, mcube_hint("none"));
	for (i = 0; i < PAGES; i++)
		missed += p[i * PAGE_SIZE_] != (char)i;
	munmap(p, PAGES * PAGE_SIZE_);

	EXPECT_EQ(0, missed);
	EXPECT_LE((long)PAGES, mcube_stat("fallback") - fallback);
	EXPECT_EQ(colored, mcube_stat("colored"));
}

TEST_HARNESS_MAIN
