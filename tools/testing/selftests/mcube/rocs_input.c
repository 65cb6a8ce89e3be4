// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to the files of ROCS gives an error and changes nothing; a machine
 * without the events gets a clear message, and nothing is half on.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../kselftest_harness.h"
#include "input_lib.h"
#include "rocs_lib.h"

static const struct {
	const char *name, *least, *most, *below, *above;
} numbers[] = {
	{ "reserve", "1", "8", "0", "9" },
	{ "steps", "1", "64", "0", "65" },
	{ "window_kcycles", "1000", "100000000", "999", "100000001" },
	{ "tick_ms", "1", "10000", "0", "10001" },
	{ "profile_windows", "1", "1000", "0", "1001" },
	{ "settle_windows", "0", "100", NULL, "101" },
	{ "min_rate", "0", "100", NULL, "101" },
	{ "phase_percent", "1", "1000", "0", "1001" },
	{ "phase_confirm", "1", "100", "0", "101" },
	{ "stack_rate", "0", "100", NULL, "101" },
	{ "budget", "1", "1000", "0", "1001" },
	{ "sample_cost", "100", "1000000", "99", "1000001" },
	{ "profile_pages", "3072", "393216", "3071", "393217" },
	{ "pages_per_second", "64", "1048576", "63", "1048577" },
	{ "split_thp", "0", "1", NULL, "2" },
	{ "auto", "0", "1", NULL, "2" },
};

static const char * const bad_search[] = {
	"\n", " ", "0", "1", "line", "Linear", "linears", "[linear]", "linear coarse",
	" coarse", "coarse ", "coarse\n\n", "none", "\xff", NULL
};

static const char * const bad_pids[] = {
	"0", "-1", "-0x1", "0x", "x1", "1x", "1.0", "1,1", "one", "4294967296",
	"4294967297", "18446744073709551617", "1 x", "x 1", "1 0", "1\t1", "1;1", "%d",
	"\xff\xfe", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", NULL
};

static const char * const bad_cgroup[] = {
	"mcube-none", "/mcube-none", "/mcube-none/", "/../..", "/cgroup.procs", "0",
	"\xff", NULL
};

static const char * const bad_event[] = {
	"\n", " ", "0", "1", "cycles", "type", "type=", "type= 1", "type=x", "type=-1",
	"type=0x", "type=4294967296", "type=18446744073709551616", "Type=1", "typ=1",
	"types=1", "config=1", "precise=1", "none none", "none type=1", "type=1 none",
	"None", "NONE", "type=1,config=2", "type=1;config=2", "type=1\tconfig=2",
	"type=1\nconfig=2", "type=1 config", "type=1 config=", "type=1 config=x",
	"type=1 config=-1", "type=1 config=18446744073709551616", "type=1 config3=1",
	"type=1 precise=4", "type=1 precise=-1", "type=1 period=1", "=1", "type==1",
	"type=1 =", "\xff", NULL
};

/* The same description, as somebody may write it and as it is read. */
#define MIXED		" precise=3 config2=3  config1=2 config=0xfff0000000000000 type=0xffffffff\n"
#define IN_ORDER	"type=4294967295 config=0xfff0000000000000 config1=0x2 config2=0x3 precise=3"

static const char * const event_names[] = {
	"cycles", "instructions", "refs", "misses", "sample_hit", "sample_miss",
};

FIXTURE(rocs_input) {
	struct mcube_saved saved;
	char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
	bool usable;
};

FIXTURE_SETUP(rocs_input)
{
	const char *why = rocs_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->usable = true;
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	rocs_defaults();
	ASSERT_EQ(0, input_begin());
}

FIXTURE_TEARDOWN_PARENT(rocs_input)
{
	if (!self->usable)
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	rocs_defaults();
	mcube_restore(&self->saved);
}

static int refused(const char *path, const char *text)
{
	const char * const texts[] = { text, NULL };

	return input_refused(path, texts);
}

TEST_F_TIMEOUT(rocs_input, numbers, 300)
{
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		snprintf(path, sizeof(path), MCUBE_ROCS "%s", numbers[i].name);
		EXPECT_EQ(0, input_refused(path, input_bad_numbers));
		EXPECT_EQ(0, refused(path, numbers[i].above));
		if (numbers[i].below)
			EXPECT_EQ(0, refused(path, numbers[i].below));
		EXPECT_EQ(0, mcube_write(path, numbers[i].most));
		EXPECT_EQ(strtol(numbers[i].most, NULL, 0), mcube_read_num(path));
		EXPECT_EQ(0, input_refused_forms(path, numbers[i].least));
		EXPECT_EQ(strtol(numbers[i].least, NULL, 0), mcube_read_num(path));
	}
}

TEST_F_TIMEOUT(rocs_input, switches, 120)
{
	const char *path = MCUBE_ROCS "enabled";
	int ret;

	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, input_bad_switch));
	EXPECT_EQ(0, input_refused_forms(path, "0"));

	path = MCUBE_ROCS "prefetch_off";
	EXPECT_EQ(0, input_refused(path, input_bad_numbers));
	EXPECT_EQ(0, input_refused(path, input_bad_switch));
	EXPECT_EQ(0, input_refused_forms(path, "0"));
	ret = mcube_write(path, "1");
	EXPECT_TRUE(!ret || ret == -EOPNOTSUPP);
	EXPECT_EQ(!ret, mcube_read_num(path));
	EXPECT_EQ(0, mcube_write(path, "0"));
}

TEST_F_TIMEOUT(rocs_input, search, 120)
{
	EXPECT_EQ(0, input_refused(MCUBE_ROCS "search", bad_search));
	EXPECT_EQ(0, input_refused_forms(MCUBE_ROCS "search", "linear"));
}

TEST_F_TIMEOUT(rocs_input, pids, 120)
{
	const char *path = MCUBE_ROCS "pids";
	char text[64];

	EXPECT_EQ(0, input_refused(path, bad_pids));
	EXPECT_EQ(0, input_refused_forms(path, "1"));
	/* kthreadd, and no process at all. */
	EXPECT_EQ(-EINVAL, mcube_write(path, "2"));
	EXPECT_EQ(-ESRCH, mcube_write(path, "4194304"));
	EXPECT_EQ(-ESRCH, mcube_write(path, "1 2147483647"));
	ASSERT_EQ(1, mcube_read(path, text, sizeof(text)));
	EXPECT_STREQ("1", text);
	EXPECT_EQ(0, mcube_write(path, "1  1 1\n"));
	EXPECT_EQ(0, mcube_write(path, "\n"));
	EXPECT_EQ(0, mcube_read(path, text, sizeof(text)));
}

TEST_F_TIMEOUT(rocs_input, cgroup, 120)
{
	const char *path = MCUBE_ROCS "cgroup";
	char text[64];

	if (!mcube_exists(MCUBE_CGROUPS "/cgroup.procs"))
		SKIP(return, "no cgroup2 on " MCUBE_CGROUPS);
	EXPECT_EQ(0, input_refused(path, bad_cgroup));
	EXPECT_EQ(0, input_refused_forms(path, "/"));
	ASSERT_EQ(1, mcube_read(path, text, sizeof(text)));
	EXPECT_STREQ("/", text);
	EXPECT_EQ(0, mcube_write(path, "\n"));
	EXPECT_EQ(0, mcube_read(path, text, sizeof(text)));
}

TEST_F_TIMEOUT(rocs_input, events, 300)
{
	char path[128], text[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(event_names); i++) {
		snprintf(path, sizeof(path), ROCS_EVENTS "%s", event_names[i]);
		EXPECT_EQ(0, input_refused(path, bad_event));
		EXPECT_EQ(0, input_refused_forms(path, "type=1 config=2"));
		EXPECT_EQ(0, mcube_write(path, "none"));
		EXPECT_EQ(4, mcube_read(path, text, sizeof(text)));
		/* A text that was read can be written. */
		EXPECT_EQ(0, mcube_write(path, MIXED));
		EXPECT_LT(0, mcube_read(path, text, sizeof(text)));
		EXPECT_STREQ(IN_ORDER, text);
		EXPECT_EQ(0, mcube_write(path, text));
	}
}

/* The new messages of the kernel that have a word. */
static int messages_with(int kmsg, const char *word)
{
	static char text[8192];
	ssize_t got;
	int n = 0;

	while ((got = read(kmsg, text, sizeof(text) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		if (got < 0)
			continue;
		text[got] = '\0';
		n += !!strstr(text, word);
	}
	return n;
}

/* Nothing is on: no color is reserved, and a chosen process is no target. */
static void expect_off(struct __test_metadata *_metadata)
{
	EXPECT_EQ(0, mcube_read_num(MCUBE_ROCS "enabled"));
	EXPECT_EQ(0, mcube_read_num(MCUBE_STATS "reserved_colors"));
	EXPECT_EQ(0, rocs_targets());
}

/* Events that no machine has, in turn: the message names the event. */
TEST_F_TIMEOUT(rocs_input, missing_event, 120)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char path[128], word[64];
	size_t i;

	ASSERT_LE(0, kmsg);
	lseek(kmsg, 0, SEEK_END);
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	ASSERT_EQ(0, rocs_choose(getpid()));
	for (i = 0; i < ARRAY_SIZE(event_names); i++) {
		ASSERT_EQ(0, rocs_events(ROCS_STANDIN));
		snprintf(path, sizeof(path), ROCS_EVENTS "%s", event_names[i]);
		ASSERT_EQ(0, mcube_write(path, "type=4294967295"));
		messages_with(kmsg, "mcube");
		EXPECT_EQ(-ENXIO, mcube_write(MCUBE_ROCS "enabled", "1"));
		snprintf(word, sizeof(word), "events/%s", event_names[i]);
		EXPECT_EQ(1, messages_with(kmsg, word));
		usleep(200000);
		expect_off(_metadata);
	}
	/* A counter that is not described; no sampled event at all. */
	ASSERT_EQ(0, rocs_events(ROCS_STANDIN));
	ASSERT_EQ(0, mcube_write(ROCS_EVENTS "refs", "none"));
	EXPECT_EQ(-ENXIO, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(1, messages_with(kmsg, "events/refs"));
	ASSERT_EQ(0, rocs_events(ROCS_STANDIN));
	ASSERT_EQ(0, mcube_write(ROCS_EVENTS "sample_miss", "none"));
	EXPECT_EQ(-ENXIO, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(1, messages_with(kmsg, "events/sample_"));
	expect_off(_metadata);
	/* The reason was the event. */
	ASSERT_EQ(0, rocs_events(ROCS_STANDIN));
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
	close(kmsg);
}

/* The events as after loading, which a guest does not have. */
TEST_F_TIMEOUT(rocs_input, machine_without_pmu, 120)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	ASSERT_LE(0, kmsg);
	lseek(kmsg, 0, SEEK_END);
	if (mcube_exists("/sys/bus/event_source/devices/cpu"))
		SKIP(return, "this machine has a PMU");
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	ASSERT_EQ(0, rocs_choose(getpid()));
	EXPECT_EQ(-ENXIO, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(1, messages_with(kmsg, "rocs/events/cycles"));
	usleep(200000);
	expect_off(_metadata);
	close(kmsg);
}

TEST_F_TIMEOUT(rocs_input, conditions, 120)
{
	ASSERT_EQ(0, rocs_events(ROCS_STANDIN));
	/* The allocator is off. */
	EXPECT_EQ(-ENODEV, mcube_write(MCUBE_ROCS "enabled", "1"));
	expect_off(_metadata);
	/* One color; and no color in a sixteenth of four. */
	ASSERT_EQ(0, mcube_on(NULL, "none", NULL));
	EXPECT_EQ(-EOPNOTSUPP, mcube_write(MCUBE_ROCS "enabled", "1"));
	expect_off(_metadata);
	ASSERT_EQ(0, mcube_on(NULL, "0x1000 0x2000", NULL));
	EXPECT_EQ(-ERANGE, mcube_write(MCUBE_ROCS "enabled", "1"));
	expect_off(_metadata);
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "reserve", "4"));
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
}

static int unprivileged(void)
{
	static const char * const secret[] = {
		ROCS_DEBUGFS "/targets", ROCS_DEBUGFS "/profile", ROCS_DEBUGFS "/search",
		NULL
	};

	return input_writable_files(input_rocs) + input_readable_files(secret);
}

TEST_F_TIMEOUT(rocs_input, unprivileged_users_write_nothing, 60)
{
	input_snapshot(self->before, sizeof(self->before));
	EXPECT_EQ(0, input_without_rights(unprivileged));
	input_snapshot(self->after, sizeof(self->after));
	EXPECT_STREQ(self->before, self->after);
}

/* Files that root alone reads tell addresses; all files are known. */
TEST_F_TIMEOUT(rocs_input, table_has_every_file, 60)
{
	struct stat st;

	EXPECT_EQ(0, input_unlisted(MCUBE_ROCS, input_rocs));
	EXPECT_EQ(0, input_unlisted(ROCS_EVENTS, input_rocs));
	ASSERT_EQ(0, stat(ROCS_DEBUGFS "/profile", &st));
	EXPECT_EQ(0, st.st_mode & 0077);
}

TEST_HARNESS_MAIN
