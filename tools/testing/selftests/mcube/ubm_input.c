// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of UBM gives an error and changes nothing; good input is
 * read back; a normal user writes nothing.
 */

#include "../kselftest_harness.h"
#include "input_lib.h"
#include "ubm_lib.h"

static const char * const bad_min_run[] = {
	"0", "4097", "8192", "65536", "2147483648", "4294967295", NULL
};

static const char * const bad_model[] = {
	"\n", " ", "0", "1", "histogram belady", "Histogram", "histograms",
	"[histogram]", "beladys", " belady", "belady ", "belady\n\n", "none", "\xff",
	NULL
};

FIXTURE(ubm_input) {
	struct mcube_saved saved;
	bool usable;
};

FIXTURE_SETUP(ubm_input)
{
	const char *why = ubm_unusable() ?: mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->usable = true;
	ASSERT_EQ(0, ubm_defaults());
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(ubm_input)
{
	if (!self->usable)
		return;
	EXPECT_EQ(0, ubm_defaults());
	mcube_restore(&self->saved);
}

TEST_F_TIMEOUT(ubm_input, switches, 120)
{
	static const char * const path[] = { MCUBE_UBM "enabled", MCUBE_UBM "guard" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		EXPECT_EQ(0, input_refused(path[i], input_bad_numbers));
		EXPECT_EQ(0, input_refused(path[i], input_bad_switch));
		EXPECT_EQ(0, input_refused_forms(path[i], "0"));
		EXPECT_EQ(0, mcube_write(path[i], "1"));
		EXPECT_EQ(1, mcube_read_num(path[i]));
		EXPECT_EQ(0, mcube_write(path[i], "1"));
		EXPECT_EQ(0, mcube_write(path[i], "0"));
		EXPECT_EQ(0, mcube_read_num(path[i]));
	}
}

TEST_F_TIMEOUT(ubm_input, mg_model, 120)
{
	const char *path = MCUBE_UBM UBM_MG_MODEL;
	char text[64];

	EXPECT_EQ(0, input_refused(path, bad_model));
	EXPECT_EQ(0, input_refused_forms(path, "belady"));
	EXPECT_LT(0, mcube_read(path, text, sizeof(text)));
	EXPECT_STREQ("histogram [belady]", text);
	EXPECT_EQ(0, mcube_write(path, "histogram"));
	EXPECT_LT(0, mcube_read(path, text, sizeof(text)));
	EXPECT_STREQ("[histogram] belady", text);
}

TEST_F_TIMEOUT(ubm_input, min_run, 120)
{
	const char *path = MCUBE_UBM UBM_MIN_RUN;

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, bad_min_run));
	EXPECT_EQ(0, input_refused_forms(path, "4096"));
	EXPECT_EQ(4096, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "1"));
	EXPECT_EQ(1, mcube_read_num(path));
}

/* Which files others read is not for everybody to know. */
static int unprivileged(void)
{
	static const char * const secret[] = {
		UBM_DEBUGFS "/runs", UBM_DEBUGFS "/domains", UBM_DEBUGFS "/curve", NULL
	};

	return input_writable_files(input_writable) + input_readable_files(secret);
}

TEST_F_TIMEOUT(ubm_input, unprivileged_users_write_nothing, 60)
{
	EXPECT_EQ(0, input_without_rights(unprivileged));
}

TEST_F_TIMEOUT(ubm_input, table_has_every_file, 60)
{
	EXPECT_EQ(0, input_unlisted(MCUBE_UBM, input_writable));
}

TEST_HARNESS_MAIN
