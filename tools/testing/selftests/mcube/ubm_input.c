// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of UBM gives an error and changes nothing; good input is
 * read back; a normal user writes nothing.
 */

#include "../kselftest_harness.h"
#include "input_lib.h"
#include "ubm_lib.h"

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
	const char *path = MCUBE_UBM "enabled";

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, input_bad_switch));
	EXPECT_EQ(0, input_refused_forms(path, "0"));
	EXPECT_EQ(0, mcube_write(path, "1"));
	EXPECT_EQ(1, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "1"));
	EXPECT_EQ(0, mcube_write(path, "0"));
	EXPECT_EQ(0, mcube_read_num(path));
}

/* What other cgroups have in memory is not for everybody to know. */
static int unprivileged(void)
{
	static const char * const secret[] = {
		UBM_DEBUGFS "/lruvecs", NULL
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
