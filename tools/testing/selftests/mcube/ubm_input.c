// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of UBM gives an error and changes nothing; good input is
 * read back; a normal user writes nothing.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const char * const files[] = {
	MCUBE_UBM "enabled", MCUBE_UBM UBM_MG_MODEL, MCUBE_UBM UBM_MIN_RUN,
	MCUBE_UBM "guard",
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

static void unprivileged(struct __test_metadata *_metadata)
{
	size_t i;

	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		EXPECT_EQ(-1, open(files[i], O_WRONLY)) {
			TH_LOG("%s opens for writing", files[i]);
		}
		EXPECT_TRUE(errno == EACCES || errno == EPERM);
	}
	/* Which files others read is not for everybody to know. */
	EXPECT_EQ(-1, open(UBM_DEBUGFS "/runs", O_RDONLY));
	EXPECT_EQ(-1, open(UBM_DEBUGFS "/domains", O_RDONLY));
	EXPECT_EQ(-1, open(UBM_DEBUGFS "/curve", O_RDONLY));
}

TEST_F_TIMEOUT(ubm_input, unprivileged_users_write_nothing, 60)
{
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		unprivileged(_metadata);
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F_TIMEOUT(ubm_input, table_has_every_file, 60)
{
	char path[512];
	struct dirent *e;
	struct stat st;
	size_t i;
	DIR *d = opendir(MCUBE_UBM);

	ASSERT_NE(NULL, d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), MCUBE_UBM "%s", e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		EXPECT_EQ(0644, st.st_mode & 0777);
		for (i = 0; i < ARRAY_SIZE(files) && strcmp(files[i], path);)
			i++;
		EXPECT_GT(ARRAY_SIZE(files), i) {
			TH_LOG("%s is not in the table", path);
		}
	}
	closedir(d);
}

TEST_HARNESS_MAIN
