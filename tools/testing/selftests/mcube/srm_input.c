// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of SRM-buffer gives an error and changes nothing.
 */

#include <errno.h>

#include "../kselftest_harness.h"
#include "input_lib.h"

static const char * const bad_tl[] = {
	"0", "4097", "8192", "65536", "2147483648", "4294967295", NULL
};

static const char * const bad_group_order[] = {
	"5", "6", "10", "255", "2147483648", "4294967295", NULL
};

static const char * const bad_words[] = {
	"Auto", "AUTO", "aut", "autos", "auto auto", " auto", "auto ", "auto\n\n",
	"auto 1", "[auto]", NULL
};

static const char * const bad_reserve[] = {
	"9", "10", "16", "255", "2147483648", "4294967295", NULL
};

static const char * const bad_lend[] = {
	"3601", "4096", "86400", "2147483648", "4294967295", NULL
};

static const char * const bad_reuse[] = {
	"65", "100", "4096", "2147483648", "4294967295", NULL
};

static const char * const bad_mode[] = {
	"\n", " ", "0", "1", "run", "Runs", "segment", "Segments", "state",
	SRM_MODE_SEGMENTS "s", "[" SRM_MODE_SEGMENTS "]", SRM_MODE_SEGMENTS " stateless",
	" " SRM_MODE_SEGMENTS, SRM_MODE_SEGMENTS " ", "stateless\n\n", "none", "\xff", NULL
};

FIXTURE(srm_input) {
	struct mcube_saved saved;
};

FIXTURE_SETUP(srm_input)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	if (!mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(srm_input)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

TEST_F_TIMEOUT(srm_input, switches, 120)
{
	static const char * const path[] = {
		MCUBE_SRM "enabled", MCUBE_SRM "vm_hop", MCUBE_SRM SRM_RECLAIM,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		EXPECT_EQ(0, input_refused(path[i], input_bad_numbers));
		EXPECT_EQ(0, input_refused(path[i], input_bad_switch));
		EXPECT_EQ(0, input_refused_forms(path[i], "0"));
	}
	EXPECT_EQ(-ENODEV, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_RECLAIM, "1"));
}

TEST_F_TIMEOUT(srm_input, tl, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_SRM "tl", input_bad_numbers));
	EXPECT_EQ(0, input_refused(MCUBE_SRM "tl", bad_tl));
	EXPECT_EQ(0, input_refused_forms(MCUBE_SRM "tl", "4096"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "tl", "1"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "tl", "256"));
}

TEST_F_TIMEOUT(srm_input, mode, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_SRM "mode", bad_mode));
	EXPECT_EQ(0, input_refused_forms(MCUBE_SRM "mode", "stateless"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "mode", SRM_MODE_SEGMENTS));
}

TEST_F_TIMEOUT(srm_input, group_order, 120)
{
	const char *path = MCUBE_SRM SRM_GROUP_ORDER;

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, bad_group_order));
	EXPECT_EQ(0, input_refused(path, bad_words));
	EXPECT_EQ(0, input_refused_forms(path, "4"));
	EXPECT_EQ(0, input_refused_forms(path, "auto"));
	EXPECT_EQ(0, mcube_write(path, "auto"));
}

TEST_F_TIMEOUT(srm_input, reserve, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_SRM "reserve", input_bad_numbers));
	EXPECT_EQ(0, input_refused(MCUBE_SRM "reserve", bad_reserve));
	EXPECT_EQ(0, input_refused_forms(MCUBE_SRM "reserve", "8"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "reserve", "1"));
}

TEST_F_TIMEOUT(srm_input, lend, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_SRM "lend", input_bad_numbers));
	EXPECT_EQ(0, input_refused(MCUBE_SRM "lend", bad_lend));
	EXPECT_EQ(0, input_refused_forms(MCUBE_SRM "lend", "3600"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "lend", "10"));
}

TEST_F_TIMEOUT(srm_input, reuse, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_SRM SRM_REUSE, input_bad_numbers));
	EXPECT_EQ(0, input_refused(MCUBE_SRM SRM_REUSE, bad_reuse));
	EXPECT_EQ(0, input_refused_forms(MCUBE_SRM SRM_REUSE, "64"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM SRM_REUSE, "16"));
}

TEST_HARNESS_MAIN
