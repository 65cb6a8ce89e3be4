// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS and the lives of processes: they fork, execute other programs, are traced,
 * start threads and end; and the lives of others: switches, CPUs, SRM-buffer.
 *
 * The processes are puppets, see rocs_move.c.  No page of a process that is no target
 * any more is in the partition.  (Pages that a child has from a target by fork() stay.)
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "rocs_lib.h"

#define CGROUP		MCUBE_CGROUPS "/mcube-rocs"
#define CPU1		"/sys/devices/system/cpu/cpu1/online"
#define TRACING		"/sys/kernel/tracing/"
#define EVENTS		TRACING "events/mcube_rocs/enable"
#define SRM_SHARE	4	/* sixteenths of 16 colors */

FIXTURE(rocs_life) {
	struct rocs_setup setup;
	struct rocs_puppet *puppet;
	struct rocs_line line;
	char path[160];
};

FIXTURE_SETUP(rocs_life)
{
	const char *why = rocs_begin(&self->setup, ROCS_STANDIN);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_STANDIN, "1"));
}

FIXTURE_TEARDOWN_PARENT(rocs_life)
{
	mcube_write(CPU1, "1");
	mcube_write(EVENTS, "0");
	if (self->path[0])
		unlink(self->path);
	if (self->setup.begun) {
		mcube_write(MCUBE_SRM "enabled", "0");
		mcube_write(MCUBE_SRM "reserve", "1");
	}
	EXPECT_EQ(0, rocs_end(&self->setup));
	rmdir(CGROUP);
}

static int in_partition(FIXTURE_DATA(rocs_life) *self)
{
	struct rocs_puppet *p = self->puppet;

	return rocs_reserved(&self->setup, p->pid, p->mem, p->pages, NULL);
}

/* A puppet whose pages are profiled. */
static void profile(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_life) *self)
{
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
}

/* A puppet with its pages in the partition. */
static void hold(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_life) *self)
{
	profile(_metadata, self);
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	ASSERT_LT(0, in_partition(self));
}

/* ROCS goes off; the puppet goes on, without a page in the partition. */
static void ends_well(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_life) *self)
{
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	EXPECT_EQ(0, rocs_targets());
	EXPECT_TRUE(rocs_puppet_worked(self->puppet));
	/* The colors are known while the allocator is on; none is reserved. */
	EXPECT_EQ(0, mcube_read_num(MCUBE_STATS "reserved_colors"));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* Switches --------------------------------------------------------------- */

/* Pages in the color that was reserved. */
static int in_first_color(FIXTURE_DATA(rocs_life) *self)
{
	struct rocs_puppet *p = self->puppet;
	uint64_t entry;
	char path[64];
	int fd, n = 0;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (i = 0; i < p->pages; i++)
		if (pread(fd, &entry, sizeof(entry), ((uintptr_t)p->mem / PAGE_SIZE_ + i) *
			  sizeof(entry)) == sizeof(entry) && entry >> 63)
			n += !mcube_value(&self->setup.dim, entry & ((1ULL << 55) - 1));
	close(fd);
	return n;
}

TEST_F_TIMEOUT(rocs_life, off_moves_all_pages_out, 300)
{
	hold(_metadata, self);
	EXPECT_EQ(in_partition(self), in_first_color(self));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	EXPECT_EQ(0, in_first_color(self));
	/* On again: a target with a new plan. */
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	EXPECT_EQ(0, self->line.searches);
	ends_well(_metadata, self);
}

/* Pages stay where they are; nothing is a target. */
TEST_F_TIMEOUT(rocs_life, allocator_goes_off, 300)
{
	hold(_metadata, self);
	ASSERT_EQ(0, mcube_off());
	EXPECT_EQ(0, mcube_read_num(MCUBE_ROCS "enabled"));
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_TRUE(rocs_puppet_worked(self->puppet));
	EXPECT_EQ(-ENODEV, mcube_write(MCUBE_ROCS "enabled", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	EXPECT_EQ(0, mcube_read_num(MCUBE_ROCS "enabled"));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	ends_well(_metadata, self);
}

/* The settings that may not change are refused, and the others take effect. */
TEST_F_TIMEOUT(rocs_life, busy_while_on, 120)
{
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_ROCS "reserve", "2"));
	EXPECT_EQ(-EBUSY, mcube_write(ROCS_EVENTS "cycles", "none"));
	EXPECT_EQ(-EBUSY, mcube_write(ROCS_EVENTS "sample_miss", "type=1 config=2"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_STATS "reserved_colors"));
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "tick_ms", "10"));
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
}

/* Processes -------------------------------------------------------------- */

/*
 * A child with all pages of the puppet, which shall not change in the child.  A signal
 * that comes before the child waits is kept until then.
 */
static int fork_child(struct rocs_puppet *p)
{
	sigset_t wake;
	pid_t pid;
	size_t i;
	int sig;

	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	pid = fork();
	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigwait(&wake, &sig);
	for (i = 0; i < p->pages; i++)
		if (*(uint64_t *)(p->mem + i * PAGE_SIZE_) !=
		    ~*(uint64_t *)(p->mem + (i + 1) * PAGE_SIZE_ - sizeof(uint64_t)))
			_exit(1);
	_exit(0);
}

/* Wake the child, and wait for what it finds. */
static pid_t child;

static int join_child(struct rocs_puppet *p)
{
	int status;

	kill(child, SIGUSR1);
	return waitpid(child, &status, 0) == child ? status : -ECHILD;
}

static int fork_and_note(struct rocs_puppet *p)
{
	child = fork_child(p);
	return child < 0 ? child : 0;
}

/* The child has the old pages, and the writing parent gets new ones. */
TEST_F_TIMEOUT(rocs_life, fork_inside, 300)
{
	hold(_metadata, self);
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, fork_and_note));
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	EXPECT_EQ(0, rocs_puppet_do(self->puppet, join_child));
	ends_well(_metadata, self);
}

TEST_F_TIMEOUT(rocs_life, fork_while_moving, 300)
{
	profile(_metadata, self);
	/* A page at a time, so that the fork is in the middle. */
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "pages_per_second", "64"));
	ASSERT_EQ(0, rocs_thaw());
	while (rocs_target(self->puppet->pid, &self->line) && !self->line.in)
		usleep(1000);
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, fork_and_note));
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "pages_per_second", "16384"));
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	EXPECT_EQ(0, rocs_puppet_do(self->puppet, join_child));
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	ends_well(_metadata, self);
}

/* The child is no target, and ends; its pages are those of the target. */
TEST_F_TIMEOUT(rocs_life, fork_while_profiled, 300)
{
	profile(_metadata, self);
	ASSERT_EQ(0, rocs_puppet_do(self->puppet, fork_and_note));
	EXPECT_EQ(1, rocs_targets());
	EXPECT_EQ(0, rocs_puppet_do(self->puppet, join_child));
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	ASSERT_LT(0, in_partition(self));
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	ends_well(_metadata, self);
}

static int exec_other(struct rocs_puppet *p)
{
	__atomic_store_n(&p->op, NULL, __ATOMIC_RELEASE);
	execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
	return -errno;
}

/* Another program in the process is another target. */
static void exec_in_puppet(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_life) *self)
{
	double end = mcube_deadline(ROCS_DEADLINE);
	long targets = rocs_stat("targets");

	rocs_puppet_do(self->puppet, exec_other);
	while (rocs_stat("targets") == targets && mcube_now() < end)
		usleep(1000);
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	EXPECT_EQ(0, self->line.in);
	EXPECT_EQ(0, self->line.searches);
	kill(self->puppet->pid, SIGKILL);
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
}

TEST_F_TIMEOUT(rocs_life, exec_inside, 300)
{
	hold(_metadata, self);
	exec_in_puppet(_metadata, self);
}

TEST_F_TIMEOUT(rocs_life, exec_while_profiled, 300)
{
	profile(_metadata, self);
	exec_in_puppet(_metadata, self);
}

TEST_F_TIMEOUT(rocs_life, exit_inside, 300)
{
	char pids[64];
	double end;

	hold(_metadata, self);
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, rocs_targets());
	/* A PID that may become another process is forgotten, a tick after it was reaped. */
	end = mcube_deadline(ROCS_DEADLINE);
	while (mcube_read(MCUBE_ROCS "pids", pids, sizeof(pids)) && mcube_now() < end)
		usleep(1000);
	EXPECT_EQ(0, mcube_read(MCUBE_ROCS "pids", pids, sizeof(pids)));
}

/* Killed in each state. */
TEST_F_TIMEOUT(rocs_life, kill, 300)
{
	static const char * const states[] = { "profile", "search", "hold" };
	struct rocs_puppet *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		p = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
		ASSERT_NE(NULL, p);
		ASSERT_TRUE(rocs_lead_to_profile(p, &self->line));
		if (i == 1) {
			ASSERT_EQ(0, rocs_thaw());
			ASSERT_TRUE(rocs_await_state(p->pid, states[i], &self->line));
		} else if (i == 2) {
			ASSERT_TRUE(rocs_lead_to_hold(p, &self->line));
		}
		EXPECT_STREQ(states[i], self->line.state);
		kill(p->pid, SIGKILL);
		ASSERT_EQ(p->pid, waitpid(p->pid, NULL, 0));
		EXPECT_TRUE(rocs_await_gone(p->pid));
		EXPECT_EQ(0, p->wrong);
	}
	EXPECT_EQ(0, rocs_targets());
}

/* A debugger stops the puppet, and writes to its memory, in each state. */
static void trace(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_life) *self)
{
	struct rocs_puppet *p = self->puppet;
	size_t i = ROCS_PAGES / 2;
	int status, round;
	long word;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, ptrace(PTRACE_ATTACH, p->pid, NULL, NULL));
		ASSERT_EQ(p->pid, waitpid(p->pid, &status, 0));
		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, p->pid, p->mem + i * PAGE_SIZE_ + 64, NULL);
		ASSERT_EQ(0, errno);
		ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, p->pid, p->mem + i * PAGE_SIZE_ + 64,
				    word + 1));
		ASSERT_EQ(0, ptrace(PTRACE_DETACH, p->pid, NULL, NULL));
		usleep(5000);
	}
}

TEST_F_TIMEOUT(rocs_life, ptrace, 300)
{
	profile(_metadata, self);
	trace(_metadata, self);
	ASSERT_EQ(0, rocs_thaw());
	ASSERT_TRUE(rocs_await_state(self->puppet->pid, "search", &self->line));
	trace(_metadata, self);
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	trace(_metadata, self);
	EXPECT_LT(0, in_partition(self));
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	ends_well(_metadata, self);
}

/* Threads ---------------------------------------------------------------- */

#define THREADS	8

static pthread_t thread[THREADS];
static int threads_stop;

static void *be_thread(void *unused)
{
	while (!__atomic_load_n(&threads_stop, __ATOMIC_RELAXED))
		usleep(1000);
	return NULL;
}

static int start_threads(struct rocs_puppet *p)
{
	int i;

	threads_stop = 0;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, be_thread, NULL))
			return -EAGAIN;
	return 0;
}

static int end_threads(struct rocs_puppet *p)
{
	int i;

	threads_stop = 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static bool await_threads(FIXTURE_DATA(rocs_life) *self, unsigned int nr)
{
	double end = mcube_deadline(ROCS_DEADLINE);

	while (rocs_target(self->puppet->pid, &self->line) && self->line.threads != nr) {
		if (mcube_now() > end)
			return false;
		usleep(1000);
	}
	return true;
}

TEST_F_TIMEOUT(rocs_life, threads, 300)
{
	int round;

	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_EQ(0, rocs_choose(self->puppet->pid));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, rocs_puppet_do(self->puppet, start_threads));
		EXPECT_TRUE(await_threads(self, 1 + THREADS));
		ASSERT_EQ(0, rocs_puppet_do(self->puppet, end_threads));
		EXPECT_TRUE(await_threads(self, 1));
		/* Threads that ROCS may never have seen. */
		ASSERT_EQ(0, rocs_puppet_do(self->puppet, start_threads));
		ASSERT_EQ(0, rocs_puppet_do(self->puppet, end_threads));
	}
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	ends_well(_metadata, self);
}

/* Targets ---------------------------------------------------------------- */

TEST_F_TIMEOUT(rocs_life, pids, 300)
{
	struct rocs_puppet *a = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	struct rocs_puppet *b = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	char text[64], back[64];

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	snprintf(text, sizeof(text), "%d %d", a->pid, b->pid);
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "pids", text));
	ASSERT_LT(0, mcube_read(MCUBE_ROCS "pids", back, sizeof(back)));
	EXPECT_STREQ(text, back);
	ASSERT_TRUE(rocs_await_target(a->pid, &self->line));
	EXPECT_STREQ("pid", self->line.why);
	ASSERT_TRUE(rocs_await_target(b->pid, &self->line));
	ASSERT_EQ(0, rocs_choose(b->pid));
	EXPECT_TRUE(rocs_await_gone(a->pid));
	EXPECT_TRUE(rocs_target(b->pid, &self->line));
	/* A list with a PID that is none changes nothing. */
	snprintf(text, sizeof(text), "%d 4194304", a->pid);
	EXPECT_EQ(-ESRCH, mcube_write(MCUBE_ROCS "pids", text));
	EXPECT_TRUE(rocs_target(b->pid, &self->line));
	EXPECT_EQ(0, rocs_puppet_end(a));
	EXPECT_EQ(0, rocs_puppet_end(b));
	EXPECT_TRUE(rocs_await_gone(b->pid));
}

TEST_F_TIMEOUT(rocs_life, cgroup, 300)
{
	char pid[32];

	ASSERT_EQ(0, mcube_make_cgroup(CGROUP, "+memory"));
	EXPECT_EQ(-ENOENT, mcube_write(MCUBE_ROCS "cgroup", "/mcube-none"));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "cgroup", "/mcube-rocs"));
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	snprintf(pid, sizeof(pid), "%d", self->puppet->pid);
	ASSERT_EQ(0, mcube_write(CGROUP "/cgroup.procs", pid));
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	EXPECT_STREQ("cgroup", self->line.why);
	/* The cgroup may go while it is chosen, when its process is elsewhere. */
	ASSERT_EQ(0, mcube_write(MCUBE_CGROUPS "/cgroup.procs", pid));
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, rmdir(CGROUP));
	EXPECT_LE(0, mcube_read(MCUBE_ROCS "cgroup", pid, sizeof(pid)));
	EXPECT_EQ(0, mcube_write(MCUBE_ROCS "cgroup", "\n"));
	EXPECT_EQ(0, mcube_read(MCUBE_ROCS "cgroup", pid, sizeof(pid)));
	ends_well(_metadata, self);
}

TEST_F_TIMEOUT(rocs_life, automatic, 300)
{
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "auto", "1"));
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	EXPECT_STREQ("auto", self->line.why);
	/* Chosen, it is a target for that reason. */
	ASSERT_EQ(0, rocs_choose(self->puppet->pid));
	while (rocs_target(self->puppet->pid, &self->line) && strcmp(self->line.why, "pid"))
		usleep(1000);
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "auto", "0"));
	usleep(1500000);
	EXPECT_TRUE(rocs_target(self->puppet->pid, &self->line));
	ASSERT_EQ(0, rocs_choose(0));
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
	ends_well(_metadata, self);
}

/* Neighbours ------------------------------------------------------------- */

TEST_F_TIMEOUT(rocs_life, cpu_hotplug, 300)
{
	int round;

	if (!mcube_exists(CPU1))
		SKIP(return, "no CPU that can go");
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_EQ(0, rocs_choose(self->puppet->pid));
	ASSERT_TRUE(rocs_await_state(self->puppet->pid, "profile", &self->line));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, mcube_write(CPU1, "0"));
		usleep(20000);
		ASSERT_EQ(0, mcube_write(CPU1, "1"));
		usleep(20000);
	}
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
	ASSERT_EQ(0, mcube_write(CPU1, "0"));
	ASSERT_TRUE(rocs_lead_to_hold(self->puppet, &self->line));
	ASSERT_EQ(0, mcube_write(CPU1, "1"));
	EXPECT_LT(0, in_partition(self));
	/* ROCS goes off and on while a CPU is away. */
	ASSERT_EQ(0, mcube_write(CPU1, "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	ASSERT_EQ(0, mcube_write(CPU1, "1"));
	ends_well(_metadata, self);
}

static long reserved(void)
{
	return mcube_read_num(MCUBE_STATS "reserved_colors");
}

/* The larger request holds; pages of ROCS are in all colors that are reserved. */
TEST_F_TIMEOUT(rocs_life, beside_srm_buffer, 300)
{
	if (!mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	EXPECT_EQ(1, reserved());
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "reserve", SRM_SHARE));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(SRM_SHARE, reserved());
	hold(_metadata, self);
	EXPECT_EQ(rocs_mapped_pages(self->puppet->pid, self->puppet->mem, ROCS_PAGES, NULL),
		  in_partition(self));
	/* In turn: about a quarter of the pages in each of the colors. */
	EXPECT_GT(in_partition(self) / 2, in_first_color(self));
	EXPECT_LT(0, in_first_color(self));
	/* The partition shrinks under the pages, and grows again. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	EXPECT_EQ(1, reserved());
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(SRM_SHARE, reserved());
	/* Pages of ROCS leave all colors of the partition. */
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	EXPECT_EQ(SRM_SHARE, reserved());
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	EXPECT_EQ(0, reserved());
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* SRM-buffer's lending ends with ROCS, and pages of ROCS are not moved out. */
TEST_F_TIMEOUT(rocs_life, srm_buffer_has_lent, 300)
{
	long vacated;

	if (!mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_SRM "stats/lent"));
	vacated = mcube_read_num(MCUBE_SRM "stats/vacated");
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "enabled", "1"));
	EXPECT_EQ(0, mcube_read_num(MCUBE_SRM "stats/lent"));
	hold(_metadata, self);
	/* SRM-buffer looks each second. */
	sleep(3);
	EXPECT_EQ(vacated, mcube_read_num(MCUBE_SRM "stats/vacated"));
	ASSERT_TRUE(rocs_puppet_worked(self->puppet));
	EXPECT_EQ(rocs_mapped_pages(self->puppet->pid, self->puppet->mem, ROCS_PAGES, NULL),
		  in_partition(self));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

/* The process is dropped while its pages move to the colors of another partition. */
TEST_F_TIMEOUT(rocs_life, dropped_after_a_change_of_the_partition, 300)
{
	if (!mcube_exists(MCUBE_SRM "enabled"))
		SKIP(return, "no CONFIG_MCUBE_SRM");
	hold(_metadata, self);
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "pages_per_second", "64"));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "reserve", SRM_SHARE));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	while (rocs_target(self->puppet->pid, &self->line) &&
	       self->line.in == self->line.mapped)
		usleep(1000);
	ASSERT_LT(0, in_partition(self));
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	EXPECT_EQ(0, in_partition(self));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	ends_well(_metadata, self);
}

/* Events ----------------------------------------------------------------- */

/* Is an event with this text, of the puppet, in the buffer of tracing? */
static bool is_traced(const struct rocs_puppet *p, const char *event, const char *text)
{
	FILE *f = fopen(TRACING "trace", "re");
	char line[512], pid[32], name[64];
	bool found = false;

	snprintf(name, sizeof(name), " mcube_rocs_%s: ", event);
	snprintf(pid, sizeof(pid), " pid=%d ", p->pid);
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, name) && strstr(line, pid) && strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

TEST_F_TIMEOUT(rocs_life, tracepoints, 300)
{
	static const char * const expected[][2] = {
		{ "target", "why=pid added" }, { "target", "why=pid removed" },
		{ "state", "watch -> profile" }, { "state", "profile -> search" },
		{ "state", "search -> hold" },
		{ "window", "state=watch" }, { "window", "state=profile" },
		{ "window", "state=search" },
		{ "move", " in moved=" }, { "move", " out moved=" },
	};
	size_t i;

	if (!mcube_exists(EVENTS))
		SKIP(return, "no tracing");
	ASSERT_EQ(0, close(open(TRACING "trace", O_WRONLY | O_TRUNC)));
	ASSERT_EQ(0, mcube_write(EVENTS, "1"));
	hold(_metadata, self);
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(self->puppet->pid));
	ASSERT_EQ(0, mcube_write(EVENTS, "0"));
	for (i = 0; i < ARRAY_SIZE(expected); i++)
		EXPECT_TRUE(is_traced(self->puppet, expected[i][0], expected[i][1])) {
			TH_LOG("no event %s with \"%s\"", expected[i][0], expected[i][1]);
		}
	ends_well(_metadata, self);
}

TEST_HARNESS_MAIN
