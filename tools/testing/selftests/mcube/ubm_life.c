// SPDX-License-Identifier: GPL-2.0
/*
 * UBM's domains come and go: memory cgroups are made and removed while files are
 * read in them, file systems are unmounted, and UBM is switched on and off all the
 * time.  A guest fails the test if its kernel complains.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "ubm_lib.h"

#define LIMIT_MIB	4L
#define FILE_MIB	6L
#define ROUNDS		25
#define MANY		8
#define SLOTS		64	/* Cgroups whose ids differ by so many ask in turns. */
#define INNER		UBM_CGROUP "/inner"
#define GROWN_MIB	48L	/* the limit grows, and so does the file */
#define GROWN_FILE_MIB	56L

FIXTURE(ubm_life) {
	struct ubm_setup setup;
	char file[160], other[160], many[MANY][160];
};

FIXTURE_VARIANT(ubm_life) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(ubm_life, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(ubm_life, mglru) {
	.lru_gen = "y",
};

FIXTURE_SETUP(ubm_life)
{
	const char *why = ubm_begin(&self->setup, variant->lru_gen);

	if (why)
		SKIP(return, "%s", why);
	snprintf(self->file, sizeof(self->file), "%s/mcube-hole", self->setup.dir);
	snprintf(self->other, sizeof(self->other), "%s/mcube-hole2", self->setup.dir);
	ASSERT_EQ(0, mcube_make_hole(self->file, UBM_PAGES(FILE_MIB)));
	ASSERT_EQ(0, mcube_make_hole(self->other, UBM_PAGES(FILE_MIB)));
}

FIXTURE_TEARDOWN_PARENT(ubm_life)
{
	mcube_faults("0");
	unlink(self->file);
	unlink(self->other);
	EXPECT_EQ(0, ubm_end(&self->setup));
}

static int read_twice(void *file)
{
	return ubm_read_once(file, UBM_PAGES(FILE_MIB)) ?:
	       ubm_read_once(file, UBM_PAGES(FILE_MIB));
}

/* Pages of an earlier reader are charged to him, so they would fill no cgroup again. */
static int read_anew(void *file)
{
	int fd = open(file, O_RDONLY), ret;

	if (fd < 0)
		return -errno;
	ret = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return ret ? -ret : read_twice(file);
}

/* A file that a process reads again and again, until it is killed. */
struct endless {
	const char *file;
	size_t pages;
};

static int read_on(void *arg)
{
	const struct endless *e = arg;
	int ret;

	do {
		ret = ubm_read_once(e->file, e->pages);
	} while (!ret);
	return ret;
}

static pid_t start_toggling(long delay)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		mcube_write(MCUBE_UBM "enabled", "1");
		usleep(delay);
		mcube_write(MCUBE_UBM "enabled", "0");
		usleep(delay / 4);
	}
}

/* Look at what UBM knows, all the time. */
static pid_t start_looking(void)
{
	static const char * const path[] = {
		UBM_DEBUGFS "/runs", UBM_DEBUGFS "/domains", UBM_DEBUGFS "/curve",
	};
	static char text[4096];
	pid_t pid = fork();
	unsigned int i;

	if (pid)
		return pid;
	for (i = 0;; i++) {
		int fd = open(path[i % ARRAY_SIZE(path)], O_RDONLY);

		while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			;
		close(fd);
	}
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_F_TIMEOUT(ubm_life, domains_of_short_lived_cgroups, 600)
{
	long before = ubm_stat("domains");
	int i, n;

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
		ASSERT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
		ASSERT_EQ(0, ubm_rmdir(UBM_CGROUP));
	}
	n = ubm_stat("domains") - before;
	TH_LOG("%d domains of %d cgroups", n, ROUNDS);
	EXPECT_LE(ROUNDS / 2, n);
}

TEST_F_TIMEOUT(ubm_life, toggling_and_short_lived_cgroups, 600)
{
	pid_t toggler = start_toggling(40000), reader = start_looking(), beside;
	long before = ubm_stat("domains");
	int i;

	ASSERT_LT(0, toggler);
	for (i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
		EXPECT_EQ(0, ubm_cgroup(UBM_BESIDE, LIMIT_MIB, 0));
		beside = ubm_start(UBM_BESIDE, read_anew, self->other);
		EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
		EXPECT_EQ(0, ubm_finish(beside));
		EXPECT_EQ(0, ubm_rmdir(UBM_CGROUP));
		EXPECT_EQ(0, ubm_rmdir(UBM_BESIDE));
	}
	stop(toggler);
	stop(reader);
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", "0"));
	EXPECT_LT(before, ubm_stat("domains"));
}

/* Each cgroup of many that reclaim at the same time gets its domain. */
TEST_F_TIMEOUT(ubm_life, many_cgroups_at_once, 300)
{
	long before = ubm_stat("domains");
	struct endless e = { .pages = UBM_PAGES(FILE_MIB) };
	char path[MANY][64];
	pid_t pid[MANY];
	int i;

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	for (i = 0; i < MANY; i++) {
		snprintf(self->many[i], sizeof(self->many[i]), "%s/mcube-hole-%d",
			 self->setup.dir, i);
		snprintf(path[i], sizeof(path[i]), UBM_CGROUP "-%d", i);
		ASSERT_EQ(0, mcube_make_hole(self->many[i], UBM_PAGES(FILE_MIB)));
		ASSERT_EQ(0, ubm_cgroup(path[i], LIMIT_MIB, 0));
	}
	for (i = 0; i < MANY; i++) {
		e.file = self->many[i];
		pid[i] = ubm_start(path[i], read_on, &e);
	}
	EXPECT_TRUE(ubm_await_domains(before + MANY));
	for (i = 0; i < MANY; i++) {
		/* It has met no error. */
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG));
		stop(pid[i]);
		EXPECT_EQ(0, unlink(self->many[i]));
		EXPECT_EQ(0, ubm_rmdir(path[i]));
	}
	EXPECT_EQ(MANY, ubm_stat("domains") - before);
}

/* A domain of a page cache that was small gives way to a larger one. */
TEST_F_TIMEOUT(ubm_life, limit_grows, 300)
{
	char file[192];
	struct endless e = { .file = file, .pages = UBM_PAGES(GROWN_FILE_MIB) };
	long before = ubm_stat("domains");
	pid_t pid;

	snprintf(file, sizeof(file), "%s/mcube-hole-grown", self->setup.dir);
	ASSERT_EQ(0, mcube_make_hole(file, e.pages));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	pid = ubm_start(UBM_CGROUP, read_on, &e);
	EXPECT_TRUE(ubm_await_domains(before + 1));
	EXPECT_EQ(0, mcube_write_num(UBM_CGROUP "/memory.max", GROWN_MIB << 20));
	EXPECT_TRUE(ubm_await_domains(before + 2));
	/* And stays: its page cache is as large as it can be. */
	sleep(2);
	EXPECT_GE(before + 3, ubm_stat("domains"));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	stop(pid);
	EXPECT_EQ(0, unlink(file));
	EXPECT_EQ(0, ubm_rmdir(UBM_CGROUP));
}

/* A work item makes the domains, in this function. */
#define MAKER	"make_wanted"

/* There is no memory for a domain: its cgroup reads as without UBM, and asks again later. */
TEST_F_TIMEOUT(ubm_life, no_memory_for_a_domain, 300)
{
	long domains = ubm_stat("domains"), failed = ubm_stat("no_memory");
	double end = mcube_deadline(120);

	if (!mcube_exists("/sys/kernel/debug/failslab/require-start"))
		SKIP(return, "no CONFIG_FAILSLAB with CONFIG_FAULT_INJECTION_STACKTRACE_FILTER");
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, mcube_faults_in(MAKER));
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
	while (ubm_stat("no_memory") == failed && mcube_now() < end)
		usleep(10000);
	EXPECT_LT(failed, ubm_stat("no_memory"));
	/* Not once for each page: the cgroup waits a second. */
	EXPECT_GE(failed + 20, ubm_stat("no_memory"));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom_kill"));
	mcube_faults("0");
	sleep(2);
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
	EXPECT_TRUE(ubm_await_domains(domains + 1));
}

/* Of two cgroups that ask in turns, neither makes the other forget that it waits. */
TEST_F_TIMEOUT(ubm_life, no_memory_for_two_in_turns, 300)
{
	struct endless one = { .file = self->file, .pages = UBM_PAGES(FILE_MIB) };
	struct endless two = { .file = self->other, .pages = UBM_PAGES(FILE_MIB) };
	long failed = ubm_stat("no_memory"), nr;
	char path[64], last[64];
	double begun;
	pid_t pid[2];
	int i;

	if (!mcube_exists("/sys/kernel/debug/failslab/require-start"))
		SKIP(return, "no CONFIG_FAILSLAB with CONFIG_FAULT_INJECTION_STACKTRACE_FILTER");
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	/* Ids are given in order. */
	for (i = 0; i <= SLOTS; i++) {
		snprintf(path, sizeof(path), UBM_CGROUP "-%d", i);
		ASSERT_EQ(0, ubm_cgroup(path, LIMIT_MIB, 0));
	}
	snprintf(last, sizeof(last), "%s", path);
	ASSERT_EQ(0, mcube_faults_in(MAKER));
	begun = mcube_now();
	pid[0] = ubm_start(UBM_CGROUP "-0", read_on, &one);
	pid[1] = ubm_start(last, read_on, &two);
	sleep(10);
	stop(pid[0]);
	stop(pid[1]);
	nr = ubm_stat("no_memory") - failed;
	/* Each waits a second. */
	EXPECT_LE(nr, 2 * (mcube_now() - begun + 1));
	TH_LOG("%ld failures", nr);
	EXPECT_LT(1, nr);
	mcube_faults("0");
	for (i = 0; i <= SLOTS; i++) {
		snprintf(path, sizeof(path), UBM_CGROUP "-%d", i);
		EXPECT_EQ(0, ubm_rmdir(path));
	}
}

/*
 * Reclaim for a limit above meets a cgroup.  On the classic lists no page would stay there, so
 * it gets no domain; neither does a cgroup whose page cache is of the size of a domain.
 */
TEST_F_TIMEOUT(ubm_life, no_domain_where_nothing_is_held, 300)
{
	long before = ubm_stat("domains");

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, ubm_cgroup(INNER, 0, 0));
	EXPECT_EQ(0, ubm_run(INNER, read_anew, self->file));
	EXPECT_EQ(0, ubm_run(INNER, read_anew, self->file));
	if (*variant->lru_gen == 'y') {
		EXPECT_TRUE(ubm_await_domains(before + 1));
	} else {
		sleep(2);
		EXPECT_EQ(before, ubm_stat("domains"));
	}
	EXPECT_EQ(0, ubm_rmdir(INNER));
	before = ubm_stat("domains");
	ASSERT_EQ(0, ubm_cgroup(UBM_BESIDE, 0, 0));
	ASSERT_EQ(0, mcube_write_num(UBM_BESIDE "/memory.max", 768 << 10));
	EXPECT_EQ(0, ubm_run(UBM_BESIDE, read_anew, self->other));
	sleep(2);
	EXPECT_EQ(before, ubm_stat("domains"));
}

/* Domains that UBM has now: lines but the first. */
static int live_domains(void)
{
	FILE *f = fopen(UBM_DEBUGFS "/domains", "re");
	char line[1024];
	int nr = -1;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		nr++;
	fclose(f);
	return nr;
}

/* When nothing was noted for a while, a shrinker takes the domain, and later it goes by itself. */
TEST_F_TIMEOUT(ubm_life, idle_domains_go, 600)
{
	struct endless e = { .file = self->other, .pages = UBM_PAGES(FILE_MIB) };
	long before = ubm_stat("domains");
	int left;
	pid_t pid;

	/* It takes minutes. */
	if (*variant->lru_gen == 'n')
		SKIP(return, "tested with generations; domains know nothing of the lists");
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, ubm_cgroup(UBM_BESIDE, LIMIT_MIB, 0));
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
	pid = ubm_start(UBM_BESIDE, read_on, &e);
	EXPECT_TRUE(ubm_await_domains(before + 2));
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "2"));
	EXPECT_LE(2, live_domains());
	sleep(32);
	/* That of the cgroup that reads stays. */
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "2"));
	EXPECT_EQ(1, live_domains());
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	stop(pid);
	/* Two minutes, and half a minute between two looks. */
	for (left = 300; left && live_domains(); left--)
		sleep(1);
	EXPECT_EQ(0, live_domains());
}

/* A file system goes while UBM knows its files. */
TEST_F_TIMEOUT(ubm_life, unmount_after_reading, 600)
{
	bool mounted = false;
	const char *dir = mcube_xfs(UBM_XFS_MOUNT, &mounted);
	char file[192];
	pid_t beside;
	int i;

	if (!dir || !mounted)
		SKIP(return, "no xfs on " MCUBE_DISK_XFS);
	snprintf(file, sizeof(file), "%s/mcube-hole", dir);
	ASSERT_EQ(0, mcube_make_hole(file, UBM_PAGES(FILE_MIB)));
	ASSERT_EQ(0, umount(UBM_XFS_MOUNT));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, ubm_cgroup(UBM_BESIDE, LIMIT_MIB, 0));
	for (i = 0; i < ROUNDS; i++) {
		mounted = false;
		dir = mcube_xfs(UBM_XFS_MOUNT, &mounted);
		ASSERT_NE(NULL, dir);
		beside = ubm_start(UBM_BESIDE, read_twice, self->file);
		EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_twice, file));
		/* UBM holds no reference of an inode. */
		EXPECT_EQ(0, umount(UBM_XFS_MOUNT));
		EXPECT_EQ(0, ubm_finish(beside));
	}
}

/* A cgroup goes while its pages stay, and others read them. */
TEST_F_TIMEOUT(ubm_life, pages_outlive_their_cgroup, 300)
{
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, ubm_cgroup(UBM_BESIDE, LIMIT_MIB, 0));
	ASSERT_EQ(0, ubm_run(UBM_CGROUP, read_twice, self->file));
	ASSERT_LT(0, ubm_cached(self->file, 0, UBM_PAGES(FILE_MIB)));
	ASSERT_EQ(0, ubm_rmdir(UBM_CGROUP));
	EXPECT_EQ(0, ubm_run(UBM_BESIDE, read_twice, self->file));
	EXPECT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
}

TEST_HARNESS_MAIN
