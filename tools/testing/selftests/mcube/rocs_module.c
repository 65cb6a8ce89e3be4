// SPDX-License-Identifier: GPL-2.0
/*
 * The module mcube_rocs comes and goes under load, and leaves nothing behind:
 * no file in sysfs, debugfs or tracefs, no state of CPU hotplug, no reserved color,
 * no memory, and no page of a process in the partition.
 *
 * MCUBE_ROCS_LOADS (100) is how often the module is loaded.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "rocs_lib.h"

#define WORKERS		2
#define PAGES		256
/* Pages that may differ, as in mcube_fuzz.c; a load that is lost has more in sum. */
#define SLACK		512

FIXTURE(rocs_module) {
	struct rocs_setup setup;
	struct rocs_puppet *puppet;
	struct rocs_line line;
	struct mcube_load load;
	struct mcube_memory before, after;
};

FIXTURE_SETUP(rocs_module)
{
	const char *why = mcube_unusable();

	if (why)
		SKIP(return, "%s", why);
	if (!rocs_is_loadable())
		SKIP(return, "mcube_rocs is no file: MCUBE_ROCS_MODULE may name one");
	why = rocs_begin(&self->setup, ROCS_STANDIN);
	ASSERT_EQ(NULL, why);
	ASSERT_EQ(0, rocs_unload());
}

FIXTURE_TEARDOWN_PARENT(rocs_module)
{
	if (self->setup.begun && !mcube_exists(MCUBE_ROCS "enabled"))
		EXPECT_EQ(0, rocs_load());
	EXPECT_EQ(0, rocs_end(&self->setup));
}

static bool says(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

/* NULL, or what the module has left behind. */
static const char *left_behind(void)
{
	static const char * const paths[] = {
		MCUBE_DIR "rocs", ROCS_DEBUGFS, "/sys/module/" ROCS_NAME,
		"/sys/kernel/tracing/events/" ROCS_NAME,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++)
		if (mcube_exists(paths[i]))
			return paths[i];
	if (says("/proc/modules", ROCS_NAME " "))
		return "a line in /proc/modules";
	if (says("/proc/kallsyms", "[" ROCS_NAME "]"))
		return "a symbol in /proc/kallsyms";
	if (says("/sys/devices/system/cpu/hotplug/states", "mcube/rocs"))
		return "a state of CPU hotplug";
	if (mcube_read_num(MCUBE_STATS "reserved_colors"))
		return "a reserved color";
	return NULL;
}

static int touch_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char text[4096];

	if (type == FTW_F)
		mcube_read(path, text, sizeof(text));
	return 0;
}

/* Read all files and write to some, whether they are there or not. */
static pid_t start_users(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		nftw(MCUBE_DIR "rocs", touch_file, 8, FTW_PHYS);
		nftw(ROCS_DEBUGFS, touch_file, 8, FTW_PHYS);
		mcube_write(MCUBE_ROCS "auto", "1");
		mcube_write(MCUBE_ROCS "tick_ms", "1");
		usleep(2000);
	}
}

static void settle(struct __test_metadata *_metadata, struct mcube_memory *m)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
	usleep(500000);
	ASSERT_TRUE(mcube_memory_settled(m));
}

/* Loaded, on with a target, off or still on, unloaded. */
static void come_and_go(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_module) *self,
			long i)
{
	ASSERT_EQ(0, rocs_load());
	ASSERT_EQ(0, mcube_read_num(MCUBE_ROCS "enabled"));
	if (i % 4) {
		ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_STANDIN, "1"));
		ASSERT_EQ(0, rocs_choose(self->puppet->pid));
		/* From no tick at all to a profile with samples on their way. */
		usleep(i % 8 * 5000);
	}
	if (i % 4 == 1)
		ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	ASSERT_EQ(0, rocs_unload());
	ASSERT_EQ(NULL, left_behind());
}

TEST_F_TIMEOUT(rocs_module, comes_and_goes_under_load, 900)
{
	long loads = mcube_env("MCUBE_ROCS_LOADS", 100), i;
	pid_t users;

	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_EQ(NULL, left_behind());
	/* The first time allocates what the kernel keeps. */
	come_and_go(_metadata, self, 2);
	ASSERT_EQ(0, mcube_off());
	settle(_metadata, &self->before);
	users = start_users();
	ASSERT_LT(0, users);
	ASSERT_EQ(0, mcube_load_start(&self->load, WORKERS, MCUBE_ANON | MCUBE_FORK, "/tmp",
				      PAGES));
	for (i = 0; i < loads; i++)
		come_and_go(_metadata, self, i);
	mcube_load_stop(&self->load);
	kill(users, SIGKILL);
	waitpid(users, NULL, 0);
	EXPECT_EQ(0, self->load.corrupt);
	EXPECT_EQ(0, self->load.died);
	EXPECT_TRUE(rocs_puppet_worked(self->puppet));
	ASSERT_EQ(0, mcube_off());
	settle(_metadata, &self->after);
	TH_LOG("%ld times, %ld pages lost", loads, self->after.lost - self->before.lost);
	EXPECT_GE(SLACK, self->after.lost - self->before.lost);
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Pages move out when the module goes, and come back with the next module. */
TEST_F_TIMEOUT(rocs_module, unloaded_while_on, 300)
{
	struct rocs_puppet *p;
	int round;

	p = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, p);
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, rocs_load());
		ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_STANDIN, "1"));
		ASSERT_TRUE(rocs_lead_to_profile(p, &self->line));
		ASSERT_TRUE(rocs_lead_to_hold(p, &self->line));
		EXPECT_LT(0, rocs_reserved(&self->setup, p->pid, p->mem, p->pages, NULL));
		/* SRM-buffer keeps the color reserved, so that its pages are known. */
		ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
		ASSERT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
		ASSERT_EQ(0, rocs_unload());
		ASSERT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
		EXPECT_EQ(0, rocs_reserved(&self->setup, p->pid, p->mem, p->pages, NULL));
		ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
		EXPECT_EQ(NULL, left_behind());
		ASSERT_TRUE(rocs_puppet_worked(p));
	}
	EXPECT_EQ(0, rocs_puppet_end(p));
}

/* Files that are open keep nobody from unloading, and say so. */
TEST_F_TIMEOUT(rocs_module, open_file, 60)
{
	static const struct {
		const char *path;
		int error;
	} file[] = {
		{ MCUBE_ROCS "stats/samples", ENODEV },
		{ ROCS_DEBUGFS "/targets", EIO },
	};
	int fd[ARRAY_SIZE(file)];
	size_t i;
	char c;

	ASSERT_EQ(0, rocs_load());
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		fd[i] = open(file[i].path, O_RDONLY);
		ASSERT_LE(0, fd[i]);
	}
	/* debugfs has given the file its lines already. */
	ASSERT_EQ(1, read(fd[1], &c, 1));
	ASSERT_EQ(0, rocs_unload());
	for (i = 0; i < ARRAY_SIZE(file); i++) {
		EXPECT_EQ(-1, read(fd[i], &c, 1));
		EXPECT_EQ(file[i].error, errno);
		close(fd[i]);
	}
	EXPECT_EQ(NULL, left_behind());
}

TEST_HARNESS_MAIN
