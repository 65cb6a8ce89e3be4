// SPDX-License-Identifier: GPL-2.0
/*
 * Lists that UBM decides about come and go: memory cgroups are made and removed while
 * files are read in them, file systems are unmounted, lists become generations, and UBM
 * is switched on and off all the time.  A guest fails the test if its kernel complains.
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
#define INNER		UBM_CGROUP "/inner"
#define GROWN_MIB	48L	/* the limit grows, and so does the file */
#define GROWN_FILE_MIB	56L
#define SWITCHES	20

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
	static char text[4096];
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		int fd = open(UBM_DEBUGFS "/lruvecs", O_RDONLY);

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

TEST_F_TIMEOUT(ubm_life, short_lived_cgroups, 600)
{
	long before = ubm_stat("lruvecs");
	int i, n;

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
		ASSERT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
		ASSERT_EQ(0, ubm_rmdir(UBM_CGROUP));
	}
	n = ubm_stat("lruvecs") - before;
	TH_LOG("%d lists of %d cgroups", n, ROUNDS);
	/* A cgroup has lists on each node. */
	EXPECT_LE(ROUNDS, n);
}

TEST_F_TIMEOUT(ubm_life, toggling_and_short_lived_cgroups, 600)
{
	pid_t toggler = start_toggling(40000), reader = start_looking(), beside;
	long before = ubm_stat("lruvecs");
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
	EXPECT_LT(before, ubm_stat("lruvecs"));
}

/* Count the lists that UBM decides about, by debugfs, and the cgroups that have these lists. */
static int count_lists(int *cgroups)
{
	FILE *f = fopen(UBM_DEBUGFS "/lruvecs", "re");
	unsigned long id, before = 0;
	char line[1024];
	int nr = 0;

	if (!f)
		return -errno;
	*cgroups = 0;
	while (fgets(line, sizeof(line), f)) {
		/* The first line names the columns. */
		if (sscanf(line, "%lu", &id) != 1)
			continue;
		*cgroups += id != before;
		before = id;
		nr++;
	}
	fclose(f);
	return nr;
}

static int live_lists(void)
{
	int cgroups;

	return count_lists(&cgroups);
}

static int live_cgroups(void)
{
	int cgroups, nr = count_lists(&cgroups);

	return nr < 0 ? nr : cgroups;
}

/* Many cgroups reclaim at the same time; when they are gone, nothing is left. */
TEST_F_TIMEOUT(ubm_life, many_cgroups_at_once, 300)
{
	struct endless e = { .pages = UBM_PAGES(FILE_MIB) };
	double end = mcube_deadline(120);
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
	while (live_lists() < MANY && mcube_now() < end)
		usleep(10000);
	EXPECT_LE(MANY, live_lists());
	for (i = 0; i < MANY; i++) {
		/* It has met no error. */
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG));
		stop(pid[i]);
		EXPECT_EQ(0, unlink(self->many[i]));
		EXPECT_EQ(0, ubm_rmdir(path[i]));
	}
	/*
	 * Their lists stay until the kernel frees them.  Blocks of ext4's own stay charged, and a
	 * CPU keeps the cgroup that it charged last, even if it has no charge left over.
	 */
	while (live_cgroups() > sysconf(_SC_NPROCESSORS_ONLN) && mcube_now() < end) {
		mcube_write("/proc/sys/vm/drop_caches", "3");
		usleep(10000);
	}
	EXPECT_GE(sysconf(_SC_NPROCESSORS_ONLN), live_cgroups());
}

/* Lists become generations and the other way round while pages are held. */
TEST_F_TIMEOUT(ubm_life, lists_become_generations, 300)
{
	struct endless e = { .file = self->file, .pages = UBM_PAGES(FILE_MIB) };
	long held = ubm_stat("held"), given;
	double end = mcube_deadline(120);
	pid_t pid;
	int i;

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	pid = ubm_start(UBM_CGROUP, read_on, &e);
	for (i = 0; i < SWITCHES; i++) {
		held = ubm_stat("held");
		while (ubm_stat("held") < held + 100 && mcube_now() < end)
			usleep(10000);
		EXPECT_LE(held + 100, ubm_stat("held"));
		/* While it switches, the kernel finds nothing to reclaim, UBM or not. */
		kill(pid, SIGSTOP);
		EXPECT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
		EXPECT_EQ(0, mcube_write(MCUBE_LRU_GEN, (*variant->lru_gen == 'y') ^ (i & 1) ?
					 "n" : "y"));
		kill(pid, SIGCONT);
	}
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	stop(pid);
	/* Nothing is left that reclaim does not see. */
	EXPECT_EQ(0, mcube_write(MCUBE_UBM "enabled", "0"));
	EXPECT_EQ(0, live_lists());
	given = ubm_cached(self->file, 0, UBM_PAGES(FILE_MIB));
	EXPECT_LT(0, given);
	EXPECT_EQ(0, mcube_write_num(UBM_CGROUP "/memory.max", MIB));
	EXPECT_GE(UBM_PAGES(1L), ubm_cached(self->file, 0, UBM_PAGES(FILE_MIB)));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom"));
}

/* UBM goes on when a limit is raised, and when it is lowered far below what is held. */
TEST_F_TIMEOUT(ubm_life, limit_changes, 300)
{
	char file[192];
	struct endless e = { .file = file, .pages = UBM_PAGES(GROWN_FILE_MIB) };
	double end = mcube_deadline(120);
	long cached;
	pid_t pid;

	snprintf(file, sizeof(file), "%s/mcube-hole-grown", self->setup.dir);
	ASSERT_EQ(0, mcube_make_hole(file, e.pages));
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	pid = ubm_start(UBM_CGROUP, read_on, &e);
	while (live_lists() < 1 && mcube_now() < end)
		usleep(10000);
	EXPECT_EQ(0, mcube_write_num(UBM_CGROUP "/memory.max", GROWN_MIB << 20));
	do {
		usleep(10000);
		cached = ubm_cached(file, 0, e.pages);
	} while (cached < (long)UBM_PAGES(GROWN_MIB) * 3 / 4 && mcube_now() < end);
	EXPECT_LE((long)UBM_PAGES(GROWN_MIB) * 3 / 4, cached);
	EXPECT_EQ(0, mcube_write_num(UBM_CGROUP "/memory.max", LIMIT_MIB << 20));
	/* While it reads, pages that leave and pages that come are counted both. */
	kill(pid, SIGSTOP);
	EXPECT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	EXPECT_GE((long)UBM_PAGES(LIMIT_MIB), ubm_cached(file, 0, e.pages));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom_kill"));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	stop(pid);
	EXPECT_EQ(0, unlink(file));
	EXPECT_EQ(0, ubm_rmdir(UBM_CGROUP));
}

/* Where the memory that UBM needs is allocated. */
#define MAKER	"mcube_ubm_begin"

/* There is no memory: the cgroup reads as without UBM, and UBM begins later. */
TEST_F_TIMEOUT(ubm_life, no_memory, 300)
{
	long lists = ubm_stat("lruvecs"), failed = ubm_stat("no_memory");

	if (!mcube_exists("/sys/kernel/debug/failslab/require-start"))
		SKIP(return, "no CONFIG_FAILSLAB with CONFIG_FAULT_INJECTION_STACKTRACE_FILTER");
	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, mcube_faults_in(MAKER));
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
	EXPECT_LT(failed, ubm_stat("no_memory"));
	EXPECT_EQ(lists, ubm_stat("lruvecs"));
	EXPECT_EQ(0, ubm_event(UBM_CGROUP, "memory.events", "oom_kill"));
	mcube_faults("0");
	EXPECT_EQ(0, ubm_run(UBM_CGROUP, read_anew, self->file));
	EXPECT_LT(lists, ubm_stat("lruvecs"));
}

/* Reclaim for a limit above meets a cgroup: UBM does not begin. */
TEST_F_TIMEOUT(ubm_life, nothing_for_others, 300)
{
	long before = ubm_stat("lruvecs");

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, LIMIT_MIB, 0));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, ubm_cgroup(INNER, 0, 0));
	EXPECT_EQ(0, ubm_run(INNER, read_anew, self->file));
	EXPECT_EQ(0, ubm_run(INNER, read_anew, self->file));
	EXPECT_EQ(before, ubm_stat("lruvecs"));
	EXPECT_EQ(0, ubm_rmdir(INNER));
}

/* A file system goes while pages of its files are held. */
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

/* A cgroup goes while pages are held.  Reclaim for its parent gets them, as soon as other pages. */
TEST_F_TIMEOUT(ubm_life, reclaim_gets_what_a_removed_cgroup_held, 300)
{
	char amount[32];
	int i;

	ASSERT_EQ(0, mcube_write(MCUBE_UBM "enabled", "1"));
	ASSERT_EQ(0, ubm_cgroup(UBM_CGROUP, 0, 0));
	ASSERT_EQ(0, mcube_write(UBM_CGROUP "/cgroup.subtree_control", "+memory"));
	ASSERT_EQ(0, ubm_cgroup(INNER, LIMIT_MIB, 0));
	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, ubm_run(INNER, read_twice, self->file));
	ASSERT_LT(UBM_PAGES(LIMIT_MIB) / 2, ubm_event(INNER, "memory.stat", "active_file") / 4096);
	ASSERT_EQ(0, ubm_rmdir(INNER));
	ASSERT_LT(UBM_PAGES(LIMIT_MIB) / 2, ubm_cached(self->file, 0, UBM_PAGES(FILE_MIB)));
	snprintf(amount, sizeof(amount), "%ldM", LIMIT_MIB / 2);
	EXPECT_EQ(0, mcube_write(UBM_CGROUP "/memory.reclaim", amount));
	EXPECT_GE(UBM_PAGES(LIMIT_MIB) * 5 / 8, ubm_cached(self->file, 0, UBM_PAGES(FILE_MIB)));
}

TEST_HARNESS_MAIN
