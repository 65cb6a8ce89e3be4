// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes ROCS makes targets, where there are more processes than places, and
 * processes that cannot be targets; and how often it profiles them.
 *
 * All of them are in a cgroup, or other processes that happen to be busy would take part.
 * Spinners are processes that are busy and do nothing.  A process whose main thread has
 * ended goes on with its other threads.  Processes that share their memory are one target.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "rocs_lib.h"

#define PLACES		16	/* ROCS_TARGETS_MAX */
#define STACK		16384
#define GROUP		"/mcube-rocs-pick"
#define CGROUP		MCUBE_CGROUPS "/mcube-rocs-pick"

FIXTURE(rocs_pick) {
	struct rocs_setup setup;
	struct rocs_puppet *puppet;
	struct rocs_line line;
	pid_t spinner[PLACES + 1];
};

FIXTURE_SETUP(rocs_pick)
{
	const char *why = rocs_begin(&self->setup, ROCS_STANDIN);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_STANDIN, "1"));
	/* Looks at all processes are a second apart; the tick has nothing else to do. */
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "tick_ms", "10"));
	ASSERT_EQ(0, mcube_make_cgroup(CGROUP, "+memory"));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "cgroup", GROUP));
}

static void end_spinner(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

FIXTURE_TEARDOWN_PARENT(rocs_pick)
{
	mcube_write(MCUBE_ROCS "prefetch_off", "0");
	EXPECT_EQ(0, rocs_end(&self->setup));
	rmdir(CGROUP);
}

static int spin(void *unused)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
	return 0;
}

static void *spin_thread(void *unused)
{
	spin(NULL);
	return NULL;
}

/* A process of a kind; its PID, or a negative errno. */
static pid_t spinner(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(spin(NULL));
	return pid < 0 ? -errno : pid;
}

static pid_t spinner_with_our_memory(void)
{
	char *stack = malloc(STACK);
	pid_t pid = stack ? clone(spin, stack + STACK, CLONE_VM | SIGCHLD, NULL) : -ENOMEM;

	return pid < 0 ? -errno : pid;
}

static pid_t spinner_without_leader(void)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, spin_thread, NULL))
		_exit(1);
	pthread_exit(NULL);
}

static int join_cgroup(pid_t pid)
{
	return pid < 0 ? pid : mcube_write_num(CGROUP "/cgroup.procs", pid);
}

static void end_spinners(FIXTURE_DATA(rocs_pick) *self)
{
	unsigned int i;

	for (i = 0; i < PLACES + 1; i++)
		end_spinner(&self->spinner[i]);
}

/* Windows never end, and no target has to make room for ten looks. */
static void take_all_places(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_pick) *self)
{
	unsigned int i;

	ASSERT_EQ(0, rocs_freeze());
	for (i = 0; i < PLACES; i++) {
		self->spinner[i] = spinner();
		ASSERT_EQ(0, join_cgroup(self->spinner[i]));
	}
	for (i = 0; i < PLACES; i++)
		ASSERT_TRUE(rocs_await_target(self->spinner[i], &self->line));
}

/* A puppet becomes a target for the reason that it is busy. */
static void puppet_comes_on(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_pick) *self)
{
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_EQ(0, join_cgroup(self->puppet->pid));
	ASSERT_TRUE(rocs_await_target(self->puppet->pid, &self->line));
	EXPECT_STREQ("cgroup", self->line.why);
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
	EXPECT_TRUE(rocs_await_gone(self->puppet->pid));
}

TEST_F_TIMEOUT(rocs_pick, leader_has_ended, 120)
{
	self->spinner[0] = spinner_without_leader();
	ASSERT_LT(0, self->spinner[0]);
	ASSERT_EQ(0, rocs_choose(self->spinner[0]));
	ASSERT_TRUE(rocs_await_target(self->spinner[0], &self->line));
	EXPECT_EQ(1, rocs_targets());
	end_spinner(&self->spinner[0]);
	EXPECT_TRUE(rocs_await_gone(self->spinner[0]));
}

/* Processes that cannot be targets, since one of them is, do not come first each time. */
TEST_F_TIMEOUT(rocs_pick, one_memory_of_many, 300)
{
	unsigned int i;

	for (i = 0; i < PLACES + 1; i++) {
		self->spinner[i] = spinner_with_our_memory();
		ASSERT_EQ(0, join_cgroup(self->spinner[i]));
	}
	puppet_comes_on(_metadata, self);
	EXPECT_EQ(1, rocs_targets());
	end_spinners(self);
}

/* Targets without windows make room, after a while. */
TEST_F_TIMEOUT(rocs_pick, targets_without_windows, 300)
{
	take_all_places(_metadata, self);
	puppet_comes_on(_metadata, self);
	end_spinners(self);
}

/* A chosen process takes a place; a chosen process that has ended takes none. */
TEST_F_TIMEOUT(rocs_pick, chosen_when_all_places_are_taken, 300)
{
	pid_t zombie;
	long before;

	take_all_places(_metadata, self);
	zombie = fork();
	ASSERT_LE(0, zombie);
	if (!zombie)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, zombie, NULL, WEXITED | WNOWAIT));
	before = rocs_stat("targets");
	ASSERT_EQ(0, rocs_choose(zombie));
	sleep(2);
	EXPECT_EQ(before, rocs_stat("targets"));
	EXPECT_EQ(PLACES, rocs_targets());
	EXPECT_EQ(zombie, waitpid(zombie, NULL, 0));

	self->spinner[PLACES] = spinner();
	ASSERT_EQ(0, rocs_choose(self->spinner[PLACES]));
	ASSERT_TRUE(rocs_await_target(self->spinner[PLACES], &self->line));
	EXPECT_STREQ("pid", self->line.why);
	end_spinners(self);
}

/*
 * Profile a process for some seconds with prefetchers off.  Return: the windows of the process that
 * is chosen next, when its own profile begins.
 */
static unsigned long windows_before_next_profile(struct __test_metadata *_metadata,
						 FIXTURE_DATA(rocs_pick) *self,
						 unsigned int seconds)
{
	struct rocs_puppet *next = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	double begin, end;

	ASSERT_NE(NULL, next);
	/* A busy machine may profile for longer than prefetchers may pause. */
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "prefetch_off", "0"));
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "prefetch_off", "1"));
	/* The write may take long, and the pause begins at any moment of it. */
	begin = mcube_now();
	sleep(seconds);
	end = mcube_now();
	ASSERT_EQ(0, rocs_choose(next->pid));
	ASSERT_EQ(0, rocs_thaw());
	ASSERT_TRUE(rocs_await_target(next->pid, &self->line));
	ASSERT_TRUE(rocs_await_state(next->pid, "profile", &self->line));
	EXPECT_LE(9 * (end - begin), mcube_now() - end);
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
	EXPECT_EQ(0, rocs_puppet_end(next));
	return self->line.windows;
}

/* While a process is profiled, hardware prefetchers are off for all. */
TEST_F_TIMEOUT(rocs_pick, prefetchers_pause_for_a_tenth_of_the_time, 900)
{
	unsigned long windows = 0;
	unsigned int seconds;

	if (mcube_write(MCUBE_ROCS "prefetch_off", "1") == -EOPNOTSUPP)
		SKIP(return, "no processor whose prefetchers are known");
	/*
	 * The plan goes on, but for the profile.  On a busy machine a process may get no CPU for
	 * the nine seconds of the first pause.
	 */
	for (seconds = 1; seconds <= 8 && windows <= 2; seconds *= 2)
		windows = windows_before_next_profile(_metadata, self, seconds);
	EXPECT_LT(2UL, windows);
}

/* Longer than a profile may keep prefetchers off. */
#define SLEEP	12

/* A profile waits for a process that sleeps, unless all processes wait for it. */
TEST_F_TIMEOUT(rocs_pick, profile_of_a_sleeper, 300)
{
	self->puppet = rocs_puppet(rocs_map_anon, ROCS_PAGES, NULL);
	ASSERT_NE(NULL, self->puppet);
	mcube_write(MCUBE_ROCS "prefetch_off", "0");
	ASSERT_TRUE(rocs_lead_to_profile(self->puppet, &self->line));
	ASSERT_EQ(0, kill(self->puppet->pid, SIGSTOP));
	sleep(SLEEP);
	ASSERT_TRUE(rocs_target(self->puppet->pid, &self->line));
	EXPECT_STREQ("profile", self->line.state);
	if (mcube_write(MCUBE_ROCS "prefetch_off", "1") != -EOPNOTSUPP)
		EXPECT_TRUE(rocs_await_state(self->puppet->pid, "watch", &self->line));
	ASSERT_EQ(0, kill(self->puppet->pid, SIGCONT));
	EXPECT_EQ(0, rocs_puppet_end(self->puppet));
}

TEST_HARNESS_MAIN
