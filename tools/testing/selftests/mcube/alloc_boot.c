// SPDX-License-Identifier: GPL-2.0
/*
 * Boot parameters of the allocator and of the address map take effect.
 *
 * The test compares /proc/cmdline with sysfs.  Run it under several command
 * lines to cover more parameters.  A valid parameter must show in sysfs; after
 * a bad parameter the default must stand.  No setting may have changed since
 * boot.
 */

#include <ctype.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

FIXTURE(alloc_boot) {
	char cmdline[4096];
};

FIXTURE_SETUP(alloc_boot)
{
	const char *why = mcube_unusable();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_LT(0, mcube_read("/proc/cmdline", self->cmdline,
				sizeof(self->cmdline)));
}

FIXTURE_TEARDOWN(alloc_boot)
{
}

/* The last value of a parameter without its quotes, or NULL. */
static char *parameter(const char *cmdline, const char *name)
{
	size_t len = strlen(name);
	char *found = NULL;
	const char *p, *end;
	bool quoted;

	for (p = cmdline; *p; p = end) {
		while (*p == ' ')
			p++;
		quoted = false;
		for (end = p; *end && (quoted || *end != ' '); end++)
			if (*end == '"')
				quoted = !quoted;
		if (*p == '"')
			p++;
		if (strncmp(p, name, len) || p[len] != '=')
			continue;
		free(found);
		p += len + 1;
		if (*p == '"')
			p++;
		found = strndup(p, end - p);
		if (*found && found[strlen(found) - 1] == '"')
			found[strlen(found) - 1] = '\0';
	}
	return found;
}

/* 1, 0, or -1 for text that the kernel reads as neither 0 nor 1. */
static int boolean(const char *text)
{
	if (!text || !*text)
		return -1;
	if (strchr("yYtT1", *text))
		return 1;
	if (strchr("nNfF0", *text))
		return 0;
	if (tolower(*text) == 'o' && tolower(text[1]) == 'n')
		return 1;
	if (tolower(*text) == 'o' && tolower(text[1]) == 'f')
		return 0;
	return -1;
}

TEST_F(alloc_boot, alloc)
{
	char *text = parameter(self->cmdline, "mcube.alloc");

	TH_LOG("mcube.alloc=%s", text ? text : "(not given)");
	EXPECT_EQ(boolean(text) == 1, mcube_read_num(MCUBE_ALLOC "enabled"));
	if (boolean(text) == 1) {
		EXPECT_LT(0, mcube_stat("served"));
	} else {
		EXPECT_EQ(0, mcube_stat("taken"));
	}
	free(text);
}

TEST_F(alloc_boot, fill_order)
{
	static const char * const others[] = { "paper", "even", "auto" };
	char *text = parameter(self->cmdline, PARAMETER_FILL_ORDER), order[32];
	const char *expected = "shuffle";
	unsigned int i;

	TH_LOG(PARAMETER_FILL_ORDER "=%s", text ? text : "(not given)");
	ASSERT_EQ(0, mcube_fill_order(order, sizeof(order)));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (text && !strcmp(text, others[i]))
			expected = others[i];
	EXPECT_STREQ(expected, order);
	free(text);
}

TEST_F(alloc_boot, cluster_order)
{
	char *text = parameter(self->cmdline, "mcube.cluster_order"), *end = NULL;
	long order = text ? strtol(text, &end, 0) : 0;
	bool good = text && end != text && !*end && order >= 0 && order <= 5;

	TH_LOG("mcube.cluster_order=%s", text ? text : "(not given)");
	EXPECT_EQ(good ? order : 0, mcube_read_num(MCUBE_ALLOC "cluster_order"));
	free(text);
}

/*
 * The kernel itself says whether a map is valid: a map that it takes from sysfs
 * it must have taken at boot, and in the same form.
 */
static void check_map(struct __test_metadata *_metadata, const char *cmdline,
		      const char *dim)
{
	bool on = mcube_read_num(MCUBE_ALLOC "enabled") == 1;
	char name[64], file[128], expect[64];
	char now[1024], again[1024], source[256];
	char *text;

	snprintf(name, sizeof(name), "mcube.%s_map", dim);
	snprintf(file, sizeof(file), MCUBE_MAP "%s_map", dim);
	text = parameter(cmdline, name);
	TH_LOG("%s=%s", name, text ? text : "(not given)");
	ASSERT_LT(0, mcube_read(file, now, sizeof(now)));
	ASSERT_LT(0, mcube_read(MCUBE_MAP "source", source, sizeof(source)));
	snprintf(expect, sizeof(expect), "%s=%s", dim,
		 text && !strcmp(text, "none") ? "none" : "cmdline");
	if (!text) {
		EXPECT_EQ(NULL, strstr(source, expect));
		return;
	}
	ASSERT_EQ(0, mcube_off());
	if (!mcube_write(file, text)) {
		ASSERT_LT(0, mcube_read(file, again, sizeof(again)));
		EXPECT_STREQ(again, now);
		EXPECT_NE(NULL, strstr(source, expect)) {
			TH_LOG("source is %s", source);
		}
	} else {
		/*
		 * A map that was refused is not in force: text and source
		 * differ.
		 */
		EXPECT_STRNE(text, now);
		EXPECT_EQ(NULL, strstr(source, expect)) {
			TH_LOG("source is %s", source);
		}
	}
	if (on)
		ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	free(text);
}

TEST_F(alloc_boot, color_map)
{
	check_map(_metadata, self->cmdline, "color");
}

TEST_F(alloc_boot, bank_map)
{
	check_map(_metadata, self->cmdline, "bank");
}

/* A map that was given is for the cache whose size was given. */
TEST_F(alloc_boot, cache_size)
{
	char *text = parameter(self->cmdline, "mcube.cache_size"), *end;
	long colors = mcube_read_num(MCUBE_MAP "nr_colors");
	unsigned long long size;

	TH_LOG("mcube.cache_size=%s", text ? text : "(not given)");
	if (!text)
		return;
	size = strtoull(text, &end, 0);
	size <<= *end == 'G' ? 30 : *end == 'M' ? 20 : *end == 'K' ? 10 : 0;
	EXPECT_EQ(size / colors, mcube_read_num(MCUBE_MAP "color_bytes"));
	free(text);
}

TEST_HARNESS_MAIN
