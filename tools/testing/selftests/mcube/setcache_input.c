// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of page sets gives an error and changes nothing; good input is
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
#include "setcache_lib.h"

static const char * const bad_mode[] = {
	"\n", " ", "0", "1", "on", "off random", "Off", "offs", "[off]", "al", "all off",
	" all", "all ", "all\n\n", "none", "\xff", NULL
};

static const char * const bad_policy[] = {
	"\n", " ", "0", "1", "lru lfu", "LRU", "lrus", "[lru]", "sieve", "s3", "s3fifos",
	" lru", "lru ", "lru\n\n", "none", "\xff", NULL
};

static const char * const bad_size[] = {
	"0", "65536", "1048576", "2147483648", "4294967295", NULL
};

FIXTURE(setcache_input) {
	struct mcube_saved saved;
	bool usable;
};

FIXTURE_SETUP(setcache_input)
{
	const char *why = setcache_unusable() ?: mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->usable = true;
	ASSERT_EQ(0, setcache_defaults());
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(setcache_input)
{
	if (!self->usable)
		return;
	EXPECT_EQ(0, setcache_defaults());
	mcube_restore(&self->saved);
}

static void expect_words(struct __test_metadata *_metadata, const char *path,
			 const char *write, const char *read)
{
	char text[64];

	EXPECT_EQ(0, mcube_write(path, write));
	EXPECT_LT(0, mcube_read(path, text, sizeof(text)));
	EXPECT_STREQ(read, text);
}

TEST_F_TIMEOUT(setcache_input, mode, 120)
{
	const char *path = MCUBE_SETCACHE "mode";

	EXPECT_EQ(0, input_refused(path, bad_mode));
	EXPECT_EQ(0, input_refused_forms(path, "all"));
	expect_words(_metadata, path, "random", "off [random] all");
	expect_words(_metadata, path, "all", "off random [all]");
	expect_words(_metadata, path, "off", "[off] random all");
}

TEST_F_TIMEOUT(setcache_input, policy, 120)
{
	const char *path = MCUBE_SETCACHE "policy";

	EXPECT_EQ(0, input_refused(path, bad_policy));
	EXPECT_EQ(0, input_refused_forms(path, "nrlfu"));
	expect_words(_metadata, path, "lru", "[lru] lfu nrlfu s3fifo");
	expect_words(_metadata, path, "lfu", "lru [lfu] nrlfu s3fifo");
}

TEST_F_TIMEOUT(setcache_input, size, 120)
{
	const char *path = MCUBE_SETCACHE "size_mib";

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, bad_size));
	EXPECT_EQ(0, input_refused_forms(path, "3"));
	EXPECT_EQ(3, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	EXPECT_EQ(0, input_refused(path, bad_size));
	EXPECT_EQ(3, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "5"));
	EXPECT_EQ(5, mcube_read_num(path));
}

static void unprivileged(struct __test_metadata *_metadata)
{
	static const char * const files[] = {
		MCUBE_SETCACHE "mode", MCUBE_SETCACHE "policy", MCUBE_SETCACHE "size_mib",
		SETCACHE_SKIP,
	};
	size_t i;

	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		EXPECT_EQ(-1, open(files[i], O_WRONLY)) {
			TH_LOG("%s opens for writing", files[i]);
		}
		EXPECT_TRUE(errno == EACCES || errno == EPERM || errno == ENOENT);
	}
}

TEST_F_TIMEOUT(setcache_input, unprivileged_users_write_nothing, 60)
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

TEST_F_TIMEOUT(setcache_input, table_has_every_file, 60)
{
	char path[512];
	struct dirent *e;
	struct stat st;
	size_t i;
	DIR *d = opendir(MCUBE_SETCACHE);

	ASSERT_NE(NULL, d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), MCUBE_SETCACHE "%s", e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		EXPECT_EQ(0644, st.st_mode & 0777);
		for (i = 0; input_setcache[i] && strcmp(input_setcache[i], path);)
			i++;
		EXPECT_NE(NULL, input_setcache[i]) {
			TH_LOG("%s is not in the table", path);
		}
	}
	closedir(d);
}

TEST_HARNESS_MAIN
