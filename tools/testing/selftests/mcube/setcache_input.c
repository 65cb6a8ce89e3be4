// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of page sets gives an error and changes nothing; good input is
 * read back; a normal user writes nothing.
 */

#include <errno.h>
#include <fcntl.h>

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

static const char * const bad_numa[] = {
	"\n", " ", "0", "1", "interleave hash-home", "Interleave", "interleaved", "[message]",
	"hash", "home", "hash_home", "hash-homes", "messages", " message", "message ",
	"message\n\n", "off", "none", "\xff", NULL
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

TEST_F_TIMEOUT(setcache_input, numa, 120)
{
	const char *path = MCUBE_SETCACHE "numa";

	EXPECT_EQ(0, input_refused(path, bad_numa));
	EXPECT_EQ(0, input_refused_forms(path, "hash-home"));
	expect_words(_metadata, path, "message", "interleave hash-home [message]");
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	EXPECT_EQ(0, input_refused(path, bad_numa));
	expect_words(_metadata, path, "hash-home", "interleave [hash-home] message");
	expect_words(_metadata, path, "interleave", "[interleave] hash-home message");
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

static int unprivileged(void)
{
	/* A kernel without the option has no such file. */
	int wrong = open(SETCACHE_SKIP, O_WRONLY) != -1 ||
		    (errno != EACCES && errno != EPERM && errno != ENOENT);

	return wrong + input_writable_files(input_setcache);
}

TEST_F_TIMEOUT(setcache_input, unprivileged_users_write_nothing, 60)
{
	EXPECT_EQ(0, input_without_rights(unprivileged));
}

TEST_F_TIMEOUT(setcache_input, table_has_every_file, 60)
{
	EXPECT_EQ(0, input_unlisted(MCUBE_SETCACHE, input_setcache));
}

TEST_HARNESS_MAIN
