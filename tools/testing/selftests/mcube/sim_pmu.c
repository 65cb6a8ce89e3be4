// SPDX-License-Identifier: GPL-2.0
/*
 * The mcube_sim PMU counts the events of each task and of each CPU.
 *
 * The test touches memory in a known number of lines, so arithmetic gives the
 * counts: with empty caches each line misses once, and lines that fit do not miss
 * again. The accesses of the kernel come on top, hence the bounds.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"
#include "sim_lib.h"

#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

FIXTURE(sim_pmu) {
	size_t llc, big, small;	/* in lines */
	char *p;		/* big lines */
};

FIXTURE_SETUP(sim_pmu)
{
	const char *why = sim_unusable();

	if (why)
		SKIP(return, "%s", why);
	self->llc = sim_llc_lines();
	ASSERT_LT(0, self->llc);
	for (self->big = 1; self->big < 2 * self->llc;)
		self->big *= 2;
	self->small = self->big / 16;
	ASSERT_EQ(0, mcube_pin(0));
	self->p = sim_memory(self->big);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(sim_pmu)
{
}

/* At least @low percent of @n, at most @n and some for the kernel. */
#define EXPECT_NEAR(n, low, got) do {					\
	long long near_n = (n), near_got = (got);			\
	TH_LOG("%s: %lld for %lld", #got, near_got, near_n);		\
	EXPECT_GE(near_got, near_n * (low) / 100);			\
	EXPECT_LE(near_got, near_n * 106 / 100 + 4000);			\
} while (0)

TEST_F(sim_pmu, sysfs)
{
	char path[128], text[64], expect[32];
	int i;

	for (i = 0; i < NR_EVENTS; i++) {
		snprintf(path, sizeof(path), SIM_PMU "events/%s",
			 sim_event_name[i]);
		snprintf(expect, sizeof(expect), "event=0x%02x", i);
		ASSERT_LT(0, mcube_read(path, text, sizeof(text)));
		EXPECT_STREQ(expect, text);
	}
	ASSERT_LT(0, mcube_read(SIM_PMU "format/event", text, sizeof(text)));
	EXPECT_STREQ("config:0-7", text);
	EXPECT_LT(0, mcube_read(SIM_MACHINE "name", text, sizeof(text)));
	EXPECT_LT(0, mcube_read_num(SIM_MACHINE "mhz"));
	EXPECT_LE(1, mcube_read_num(SIM_MACHINE "colors"));
	EXPECT_LE(1, mcube_read_num(SIM_MACHINE "banks"));
	EXPECT_LE(1, mcube_read_num(SIM_MACHINE "llc_slices"));
	EXPECT_EQ(0, mcube_read_num(SIM_MACHINE "llc_sets") %
		  mcube_read_num(SIM_MACHINE "llc_slices"));
}

TEST_F(sim_pmu, files_refuse_bad_input)
{
	static const char * const bad[] = { "", "x", "2", "-1" };
	long us = mcube_read_num(SIM_PMU "drain_us");
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_GT(0, mcube_write_bytes(SIM_PMU "hold", bad[i],
					       strlen(bad[i]) + 1));
		EXPECT_GT(0, mcube_write_bytes(SIM_PMU "clear", bad[i],
					       strlen(bad[i]) + 1));
	}
	EXPECT_EQ(-EINVAL, mcube_write(SIM_PMU "clear", "0"));
	EXPECT_EQ(0, mcube_read_num(SIM_PMU "hold"));
	EXPECT_EQ(-ERANGE, mcube_write(SIM_PMU "drain_us", "49"));
	EXPECT_EQ(-ERANGE, mcube_write(SIM_PMU "drain_us", "100001"));
	EXPECT_EQ(-EINVAL, mcube_write(SIM_PMU "drain_us", "often"));
	EXPECT_EQ(us, mcube_read_num(SIM_PMU "drain_us"));
}

/* Each line of a cold buffer misses once in all levels. */
TEST_F(sim_pmu, cold_lines_miss_once)
{
	int acc, l1, refs, miss, stores, round;

	acc = sim_open(ACCESSES, 0, -1);
	l1 = sim_open(L1_MISSES, 0, -1);
	refs = sim_open(LLC_REFS, 0, -1);
	miss = sim_open(LLC_MISSES, 0, -1);
	stores = sim_open(STORES, 0, -1);
	ASSERT_LE(0, acc);
	ASSERT_LE(0, l1);
	ASSERT_LE(0, refs);
	ASSERT_LE(0, miss);
	ASSERT_LE(0, stores);
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	sim_on(acc);
	sim_on(l1);
	sim_on(refs);
	sim_on(miss);
	sim_on(stores);
	sim_load(self->p, self->big);
	sim_off(stores);
	sim_off(miss);
	sim_off(refs);
	sim_off(l1);
	sim_off(acc);
	EXPECT_NEAR(self->big, 98, sim_read(l1));
	EXPECT_NEAR(self->big, 98, sim_read(refs));
	EXPECT_NEAR(self->big, 98, sim_read(miss));
	EXPECT_GE(sim_read(acc), self->big);
	/*
	 * A loop in registers: only the kernel stores.  The number of its stores
	 * grows with time, more on a busy host: the first quiet round counts.
	 */
	for (round = 0; round < 10 && sim_read(stores) >= self->big / 4; round++) {
		ASSERT_EQ(0, ioctl(stores, PERF_EVENT_IOC_RESET, 0));
		sim_on(stores);
		sim_load(self->p, self->big);
		sim_off(stores);
	}
	EXPECT_LT(sim_read(stores), self->big / 4);
}

TEST_F(sim_pmu, stores_are_counted)
{
	int stores = sim_open(STORES, 0, -1), dirty;

	dirty = sim_open(LLC_WRITEBACKS, 0, -1);
	ASSERT_LE(0, stores);
	ASSERT_LE(0, dirty);
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	sim_on(stores);
	sim_on(dirty);
	sim_store(self->p, self->big);
	sim_load(self->p, self->big);
	sim_off(dirty);
	sim_off(stores);
	EXPECT_GE(sim_read(stores), self->big);
	/* Each dirty line left the last level, or is still in it. */
	TH_LOG("%lld of %zu lines written back", sim_read(dirty), self->big);
	EXPECT_GE(sim_read(dirty), (long long)(self->big - self->llc) * 9 / 10);
	EXPECT_LE(sim_read(dirty), self->big * 11 / 10 + 4000);
}

/* Lines that fit in the last level miss no more; a few sets may overflow. */
TEST_F(sim_pmu, warm_lines_hit)
{
	int refs = sim_open(LLC_REFS, 0, -1), miss, i;

	miss = sim_open(LLC_MISSES, 0, -1);
	ASSERT_LE(0, refs);
	ASSERT_LE(0, miss);
	for (i = 0; i < 3; i++)
		sim_load(self->p, self->small);
	sim_on(refs);
	sim_on(miss);
	for (i = 0; i < 10; i++)
		sim_load(self->p, self->small);
	sim_off(miss);
	sim_off(refs);
	TH_LOG("%lld misses of %lld requests, %zu lines ten times",
	       sim_read(miss), sim_read(refs), self->small);
	EXPECT_LE(sim_read(miss), self->small / 5 + 4000);
}

/* An event that is off counts nothing, and a reset starts from 0. */
TEST_F(sim_pmu, off_counts_nothing)
{
	int fd = sim_open(ACCESSES, 0, -1);
	long long before;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, sim_read(fd));
	sim_on(fd);
	sim_load(self->p, self->small);
	sim_off(fd);
	before = sim_read(fd);
	EXPECT_GE(before, self->small);
	sim_load(self->p, self->small);
	EXPECT_EQ(before, sim_read(fd));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	EXPECT_EQ(0, sim_read(fd));
}

/* Two tasks take turns on one CPU: each has its own misses only. */
TEST_F(sim_pmu, tasks_are_told_apart)
{
	unsigned int rounds = 4;
	char *mine = sim_memory(512);
	struct sim_task a, b;
	long long sum, all;
	int ca, cb, ref, cpu;

	ASSERT_NE(NULL, mine);
	ASSERT_EQ(0, sim_task_start(&a, 1, self->p, self->big, rounds, true));
	ASSERT_EQ(0, sim_task_start(&b, 1, mine, 512,
				    rounds * self->big / 512, true));
	ca = sim_open(LLC_MISSES, a.pid, -1);
	cb = sim_open(LLC_MISSES, b.pid, -1);
	ref = sim_open(ACCESSES, b.pid, -1);
	cpu = sim_open(LLC_MISSES, -1, 1);
	ASSERT_LE(0, ca);
	ASSERT_LE(0, cb);
	ASSERT_LE(0, ref);
	ASSERT_LE(0, cpu);
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	sim_on(cpu);
	sim_on(ca);
	sim_on(cb);
	sim_on(ref);
	sim_task_go(&a);
	sim_task_go(&b);
	EXPECT_EQ(0, sim_task_wait(&a));
	EXPECT_EQ(0, sim_task_wait(&b));
	sim_off(cpu);
	EXPECT_NEAR(rounds * self->big, 90, sim_read(ca));
	/* B made as many accesses, but to few lines, so it has few misses. */
	EXPECT_GE(sim_read(ref), rounds * self->big);
	TH_LOG("B: %lld misses", sim_read(cb));
	EXPECT_LT(sim_read(cb), rounds * self->big / 5);
	sum = sim_read(ca) + sim_read(cb);
	all = sim_read(cpu);
	TH_LOG("CPU: %lld misses, tasks: %lld", all, sum);
	EXPECT_GE(all, sum);
	EXPECT_LE(all, sum * 105 / 100 + 20000);
}

/* The counters of a CPU are those of the CPU that the kernel means. */
TEST_F(sim_pmu, cpus_are_told_apart)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN), cpu, other;
	int fd[16];

	ASSERT_LE(n, 16);
	if (n < 2)
		SKIP(return, "needs two CPUs");
	for (cpu = 0; cpu < n; cpu++) {
		fd[cpu] = sim_open(LLC_MISSES, -1, cpu);
		ASSERT_LE(0, fd[cpu]);
	}
	for (cpu = 0; cpu < n; cpu++) {
		ASSERT_EQ(0, mcube_pin(cpu));
		ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
		for (other = 0; other < n; other++) {
			ioctl(fd[other], PERF_EVENT_IOC_RESET, 0);
			sim_on(fd[other]);
		}
		sim_load(self->p, self->big);
		for (other = 0; other < n; other++)
			sim_off(fd[other]);
		for (other = 0; other < n; other++) {
			if (other == cpu) {
				EXPECT_NEAR(self->big, 90, sim_read(fd[cpu]));
			} else {
				EXPECT_LT(sim_read(fd[other]), self->big / 2);
			}
		}
	}
}

TEST_F(sim_pmu, children_are_inherited)
{
	struct perf_event_attr attr = sim_attr(LLC_MISSES);
	int fd, i, status;
	pid_t pid;

	attr.inherit = 1;
	fd = sim_open_attr(&attr, 0, -1, -1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	sim_on(fd);
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			sim_load(self->p, self->big);
			_exit(0);
		}
		ASSERT_LT(0, pid);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
	sim_off(fd);
	EXPECT_NEAR(2 * self->big, 90, sim_read(fd));
}

/* The events of a group count over the same time, software events too. */
TEST_F(sim_pmu, groups)
{
	struct perf_event_attr attr = sim_attr(ACCESSES);
	struct {
		uint64_t nr, enabled, running, value[4];
	} got;
	int leader;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	leader = sim_open_attr(&attr, 0, -1, -1);
	ASSERT_LE(0, leader);
	attr.disabled = 0;
	attr.config = LLC_REFS;
	ASSERT_LE(0, sim_open_attr(&attr, 0, -1, leader));
	attr.config = LLC_MISSES;
	ASSERT_LE(0, sim_open_attr(&attr, 0, -1, leader));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	ASSERT_LE(0, sim_open_attr(&attr, 0, -1, leader));
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	ASSERT_EQ(0, sim_on(leader));
	sim_load(self->p, self->big);
	munmap(sim_memory(64), 64 * sim_line());
	ASSERT_EQ(0, sim_off(leader));
	ASSERT_EQ(sizeof(got), read(leader, &got, sizeof(got)));
	EXPECT_EQ(4, got.nr);
	EXPECT_EQ(got.enabled, got.running);
	EXPECT_GE(got.value[0], self->big);
	EXPECT_LE(got.value[1], got.value[0]);
	EXPECT_LE(got.value[2], got.value[1]);
	EXPECT_GE(got.value[2], self->big * 9 / 10);
	EXPECT_GE(got.value[3], 1);
}

/* While the model is held, caches stay as they are between events. */
TEST_F(sim_pmu, hold_keeps_caches_and_clear_empties_them)
{
	int fd;

	ASSERT_EQ(0, mcube_write(SIM_PMU "hold", "1"));
	EXPECT_EQ(1, mcube_read_num(SIM_PMU "hold"));
	sim_load(self->p, self->small);
	sim_load(self->p, self->small);
	fd = sim_open(LLC_MISSES, 0, -1);
	ASSERT_LE(0, fd);
	sim_on(fd);
	sim_load(self->p, self->small);
	sim_off(fd);
	TH_LOG("warm: %lld misses of %zu", sim_read(fd), self->small);
	EXPECT_LE(sim_read(fd), self->small / 10 + 1000);
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	sim_on(fd);
	sim_load(self->p, self->small);
	sim_off(fd);
	EXPECT_NEAR(self->small, 98, sim_read(fd));
	close(fd);
	ASSERT_EQ(0, mcube_write(SIM_PMU "hold", "0"));
	EXPECT_EQ(0, mcube_read_num(SIM_PMU "hold"));
}

/* An event that the model cannot know is refused, not made up. */
TEST_F(sim_pmu, bad_attributes_are_refused)
{
	struct perf_event_attr attr;
	int fd;

#define EXPECT_REFUSED(err, how) do {					\
	how;								\
	fd = sim_open_attr(&attr, 0, -1, -1);				\
	EXPECT_EQ(-(err), fd) {						\
		TH_LOG("%s", #how);					\
	}								\
	if (fd >= 0)							\
		close(fd);						\
} while (0)
#define COUNTED		(attr = sim_attr(LLC_MISSES))
#define SAMPLED(event)	(attr = sim_sample_attr(event, 1000))

	EXPECT_REFUSED(EINVAL, attr = sim_attr(NR_EVENTS));
	EXPECT_REFUSED(EINVAL, attr = sim_attr(256));
	EXPECT_REFUSED(EINVAL, COUNTED; attr.config1 = 1);
	EXPECT_REFUSED(EINVAL, COUNTED; attr.config2 = 1);
	EXPECT_REFUSED(EINVAL, COUNTED; attr.exclude_user = 1);
	EXPECT_REFUSED(EINVAL, COUNTED; attr.exclude_kernel = 1);
	EXPECT_REFUSED(EINVAL, COUNTED; attr.exclude_hv = 1);
	EXPECT_REFUSED(EINVAL, COUNTED; attr.exclude_idle = 1);
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(CYCLES));
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(INSTRUCTIONS));
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(LLC_WRITEBACKS));
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(BANK_WAITS));
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(LLC_MISSES);
		       attr.sample_type |= PERF_SAMPLE_CALLCHAIN);
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(LLC_MISSES);
		       attr.sample_type |= PERF_SAMPLE_REGS_INTR;
		       attr.sample_regs_intr = 1);
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(LLC_MISSES);
		       attr.sample_type |= PERF_SAMPLE_STACK_USER;
		       attr.sample_stack_user = 4096);
	EXPECT_REFUSED(EOPNOTSUPP, SAMPLED(LLC_MISSES); attr.sigtrap = 1;
		       attr.remove_on_exec = 1);
}

/* Other users may count their own tasks if allowed, but learn no frame. */
static int as_nobody(char *p, size_t lines)
{
	struct perf_event_attr attr = sim_sample_attr(LLC_MISSES, 1000);
	int fd;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	if (sim_open_attr(&attr, 0, -1, -1) != -EACCES)
		return 2;
	attr.sample_type &= ~PERF_SAMPLE_PHYS_ADDR;
	if (sim_open_attr(&attr, 0, -1, -1) < 0)
		return 3;
	if (sim_open(LLC_MISSES, -1, 0) != -EACCES)
		return 4;
	if (mcube_write(SIM_PMU "hold", "1") != -EACCES ||
	    mcube_write(SIM_PMU "clear", "1") != -EACCES)
		return 5;
	fd = sim_open(LLC_MISSES, 0, -1);
	sim_on(fd);
	sim_load(p, lines);
	sim_off(fd);
	return sim_read(fd) < (long long)lines * 9 / 10 ? 6 : 0;
}

TEST_F(sim_pmu, unprivileged)
{
	long paranoid = mcube_read_num(PARANOID);
	char text[16];
	int status;
	pid_t pid;

	ASSERT_EQ(0, mcube_write(PARANOID, "1"));
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	pid = fork();
	if (!pid)
		_exit(as_nobody(self->p, self->big));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("step %d", WEXITSTATUS(status));
	}
	ASSERT_EQ(0, mcube_write(PARANOID, "2"));
	pid = fork();
	if (!pid)
		_exit(setuid(NOBODY) || sim_open(LLC_MISSES, 0, -1) != -EACCES);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	snprintf(text, sizeof(text), "%ld", paranoid);
	EXPECT_EQ(0, mcube_write(PARANOID, text));
}

TEST_HARNESS_MAIN
