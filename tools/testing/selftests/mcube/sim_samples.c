// SPDX-License-Identifier: GPL-2.0
/*
 * The samples of the mcube_sim PMU are those of the accesses that happened.
 *
 * A task touches memory of its own at known addresses. Its samples must have
 * these addresses, the frames that pagemap has, and the instructions that
 * touched, and add up to the count of an event that only counts.
 *
 * perf works at the ticks of the guest's clock. A guest whose host has much else to
 * do makes few accesses between two ticks, so the clock has to count instructions.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"
#include "sim_lib.h"

#define SAMPLERS	8

/*
 * perf limits samples by the guest's time. On an emulated machine any time may
 * pass between two accesses. Only one test needs the limit.
 */
#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define NO_LIMIT	"10000000"
#define LIMIT		"100000"

FIXTURE(sim_samples) {
	size_t llc, big, half;	/* in lines: of the LLC, more, and fewer */
	size_t bytes;		/* of big */
	char *p;
	char rate[32];
};

FIXTURE_SETUP(sim_samples)
{
	const char *why = sim_unusable();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_LT(0, mcube_read(MAX_RATE, self->rate, sizeof(self->rate)));
	ASSERT_EQ(0, mcube_write(MAX_RATE, NO_LIMIT));
	self->llc = sim_llc_lines();
	ASSERT_LT(0, self->llc);
	for (self->big = 1; self->big < 2 * self->llc;)
		self->big *= 2;
	self->half = self->big / 4;
	self->bytes = self->big * sim_line();
	ASSERT_EQ(0, mcube_pin(0));
	self->p = sim_memory(self->big);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(sim_samples)
{
	if (*self->rate)
		mcube_write(MAX_RATE, self->rate);
}

static bool within(const FIXTURE_DATA(sim_samples) *self, uint64_t addr)
{
	return addr >= (uintptr_t)self->p &&
	       addr < (uintptr_t)self->p + self->bytes;
}

/* Periods of samples against a count: within @percent. */
#define EXPECT_AGREE(samples, counted, percent) do {			\
	long long sum_ = (samples)->sum, count_ = (counted);		\
	TH_LOG("%zu samples for %lld of %lld (%.2f %% off)",		\
	       (samples)->n, sum_, count_,				\
	       count_ ? 100.0 * (sum_ - count_) / count_ : 0.0);	\
	EXPECT_EQ(0, (samples)->lost);					\
	EXPECT_EQ(0, (samples)->throttled);				\
	EXPECT_GE(sum_ * 100, count_ * (100 - (percent)));		\
	EXPECT_LE(sum_ * 100, count_ * (100 + (percent)));		\
} while (0)

/* A count and samples of the same events, switched together. */
#define PAIR(event, every, pid, cpu, fd, sampler) do {			\
	struct perf_event_attr attr_ = sim_sample_attr(event, every);	\
									\
	*(fd) = sim_open(event, pid, cpu);				\
	ASSERT_LE(0, *(fd));						\
	attr_.disabled = 0;						\
	ASSERT_EQ(0, sim_sample(sampler, &attr_, pid, cpu, *(fd)));	\
} while (0)

#define SAMPLE_WHILE(event, every, out, counted, work) do {		\
	struct sim_sampler sampler_;					\
	int fd_;							\
									\
	PAIR(event, every, 0, -1, &fd_, &sampler_);			\
	sim_on(fd_);							\
	work;								\
	sim_off(fd_);							\
	sim_collect(&sampler_, out);					\
	counted = sim_read(fd_);					\
	sim_close(&sampler_);						\
	close(fd_);							\
} while (0)

TEST_F(sim_samples, where_the_misses_are)
{
	size_t pages = self->bytes / PAGE_SIZE_, i, in = 0, loads = 0;
	uint64_t *pfn = calloc(pages, sizeof(*pfn));
	size_t half[2] = { }, wrong_page = 0, wrong_src = 0;
	union perf_mem_data_src src;
	struct sim_samples got;
	long long counted;
	uint64_t at;

	ASSERT_EQ(0, mcube_pfns(self->p, pages, pfn));
	SAMPLE_WHILE(LLC_MISSES, 101, &got, counted, {
		sim_load(self->p, self->big);
		sim_store(self->p, self->big);
	});
	EXPECT_AGREE(&got, counted, 2);
	ASSERT_LT(100, got.n);
	for (i = 0; i < got.n; i++) {
		const struct sim_sample *s = &got.s[i];

		EXPECT_EQ(getpid(), s->pid);
		EXPECT_EQ(0, s->cpu);
		EXPECT_EQ(101, s->period);
		if (!within(self, s->addr))
			continue;
		in++;
		at = s->addr - (uintptr_t)self->p;
		half[at >= self->bytes / 2]++;
		wrong_page += s->phys != pfn[at / PAGE_SIZE_] * PAGE_SIZE_ +
					 at % PAGE_SIZE_;
		src.val = s->data_src;
		loads += src.mem_op == PERF_MEM_OP_LOAD;
		if (src.mem_lvl != (PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM) ||
		    src.mem_lvl_num != PERF_MEM_LVLNUM_RAM || !s->weight ||
		    !(src.mem_op == PERF_MEM_OP_LOAD ? sim_is_load(s->ip) :
		      src.mem_op == PERF_MEM_OP_STORE && sim_is_store(s->ip)))
			wrong_src++;
	}
	TH_LOG("%zu of %zu in the buffer, %zu and %zu in its halves, %zu loads",
	       in, got.n, half[0], half[1], loads);
	EXPECT_GE(in, got.n * 9 / 10);
	EXPECT_EQ(0, wrong_page);
	EXPECT_EQ(0, wrong_src);
	EXPECT_GE(half[0], in * 4 / 10);
	EXPECT_GE(half[1], in * 4 / 10);
	EXPECT_GE(loads, in * 4 / 10);
	EXPECT_LE(loads, in * 6 / 10);
	sim_samples_free(&got);
	free(pfn);
}

/* The number of samples of the buffer that have that level. */
static size_t at_level(const FIXTURE_DATA(sim_samples) *self,
		       const struct sim_samples *got, unsigned int level,
		       size_t *in)
{
	union perf_mem_data_src src;
	size_t i, n = 0;

	for (*in = 0, i = 0; i < got->n; i++) {
		if (!within(self, got->s[i].addr))
			continue;
		src.val = got->s[i].data_src;
		++*in;
		n += src.mem_lvl_num == level;
	}
	return n;
}

/* Lines that fit a level are served by it, and the next level is slower. */
TEST_F(sim_samples, levels)
{
	size_t in, at, i, tiny = 64;
	uint64_t weight[2] = { };
	struct sim_samples got;
	long long counted;

	SAMPLE_WHILE(LLC_REFS, 101, &got, counted, {
		for (i = 0; i < 10; i++)
			sim_load(self->p, self->half);
	});
	EXPECT_AGREE(&got, counted, 2);
	at = at_level(self, &got, PERF_MEM_LVLNUM_L3, &in);
	TH_LOG("%zu of %zu requests for %zu lines served by L3", at, in,
	       self->half);
	EXPECT_LE(100, in);
	EXPECT_GE(at, in * 7 / 10);
	for (i = 0; i < got.n; i++)
		weight[1] += got.s[i].weight;
	weight[1] /= got.n;
	sim_samples_free(&got);

	SAMPLE_WHILE(ACCESSES, 5003, &got, counted, {
		for (i = 0; i < 20000; i++)
			sim_load(self->p, tiny);
	});
	EXPECT_AGREE(&got, counted, 2);
	at = at_level(self, &got, PERF_MEM_LVLNUM_L1, &in);
	TH_LOG("%zu of %zu accesses to %zu lines served by L1", at, in, tiny);
	EXPECT_LE(100, in);
	EXPECT_GE(at, in * 9 / 10);
	for (i = 0; i < got.n; i++)
		weight[0] += got.s[i].weight;
	weight[0] /= got.n;
	TH_LOG("mean latency: %lu and %lu cycles", weight[0], weight[1]);
	EXPECT_LT(weight[0], weight[1]);
	sim_samples_free(&got);
}

/*
 * Two tasks take turns on one CPU, thousands of times. Each has samples of its
 * own accesses, as many as its misses.
 */
TEST_F(sim_samples, tasks_that_share_a_cpu)
{
	char *p[2] = { self->p, sim_memory(self->big) };
	unsigned int rounds = 6, i, k;
	size_t foreign;
	struct sim_samples got;
	struct sim_task t[2];
	struct sim_sampler s[2];
	int fd[2];

	ASSERT_NE(NULL, p[1]);
	for (k = 0; k < 2; k++) {
		ASSERT_EQ(0, sim_task_start(&t[k], 1, p[k], self->big,
					    rounds * (k + 1), true));
		PAIR(LLC_MISSES, 499, t[k].pid, -1, &fd[k], &s[k]);
		sim_on(fd[k]);
	}
	for (k = 0; k < 2; k++)
		sim_task_go(&t[k]);
	for (k = 0; k < 2; k++)
		EXPECT_EQ(0, sim_task_wait(&t[k]));
	for (k = 0; k < 2; k++) {
		sim_collect(&s[k], &got);
		EXPECT_AGREE(&got, sim_read(fd[k]), 2);
		EXPECT_GE(got.n, rounds * (k + 1) * self->big / 499 / 2);
		for (foreign = 0, i = 0; i < got.n; i++)
			foreign += got.s[i].pid != (uint32_t)t[k].pid;
		EXPECT_EQ(0, foreign);
		sim_samples_free(&got);
		sim_close(&s[k]);
		close(fd[k]);
	}
}

/* Events of a CPU instead of tasks name the right tasks, too. */
TEST_F(sim_samples, tasks_seen_from_the_cpu)
{
	char *mine = sim_memory(self->big);
	size_t i, of[2] = { }, wrong = 0;
	struct sim_samples got;
	struct sim_task t[2];
	struct sim_sampler s;
	int fd;

	/* Same size, other addresses. */
	ASSERT_NE(NULL, mine);
	ASSERT_EQ(0, sim_task_start(&t[0], 1, self->p, self->big, 4, true));
	ASSERT_EQ(0, sim_task_start(&t[1], 1, mine, self->big, 4, true));
	PAIR(LLC_MISSES, 499, -1, 1, &fd, &s);
	sim_on(fd);
	sim_task_go(&t[0]);
	sim_task_go(&t[1]);
	EXPECT_EQ(0, sim_task_wait(&t[0]));
	EXPECT_EQ(0, sim_task_wait(&t[1]));
	sim_off(fd);
	sim_collect(&s, &got);
	EXPECT_AGREE(&got, sim_read(fd), 2);
	for (i = 0; i < got.n; i++) {
		const struct sim_sample *x = &got.s[i];
		bool second = x->addr >= (uintptr_t)mine &&
			      x->addr < (uintptr_t)mine + self->bytes;

		EXPECT_EQ(1, x->cpu);
		if (!second && !within(self, x->addr))
			continue;
		of[second]++;
		wrong += x->pid != (uint32_t)t[second].pid;
	}
	TH_LOG("%zu and %zu samples in the tasks' buffers, %zu misnamed",
	       of[0], of[1], wrong);
	EXPECT_LE(100, of[0]);
	EXPECT_LE(100, of[1]);
	EXPECT_EQ(0, wrong);
	sim_samples_free(&got);
	sim_close(&s);
}

/* All samplers of a CPU at once, each at its own pace. */
TEST_F(sim_samples, all_samplers_at_once)
{
	static const unsigned int event[SAMPLERS] = {
		ACCESSES, L1_MISSES, L2_MISSES, LLC_REFS, LLC_MISSES,
		LLC_MISSES, ROW_HITS, ROW_CONFLICTS,
	};
	static const unsigned int every[SAMPLERS] = {
		20011, 3079, 3109, 3119, 3163, 10007, 3313, 3371,
	};
	struct sim_sampler s[SAMPLERS];
	struct sim_samples got;
	int fd[SAMPLERS], i;

	for (i = 0; i < SAMPLERS; i++)
		PAIR(event[i], every[i], 0, -1, &fd[i], &s[i]);
	for (i = 0; i < SAMPLERS; i++)
		sim_on(fd[i]);
	for (i = 0; i < 40; i++)
		sim_load(self->p, self->big);
	for (i = 0; i < SAMPLERS; i++)
		sim_off(fd[i]);
	for (i = 0; i < SAMPLERS; i++) {
		sim_collect(&s[i], &got);
		TH_LOG("%s:", sim_event_name[event[i]]);
		/* A write-back uses a row, too, but has no address. */
		if (event[i] == ROW_HITS || event[i] == ROW_CONFLICTS) {
			EXPECT_EQ(0, got.lost);
			EXPECT_LE(got.sum, sim_read(fd[i]) * 102 / 100 + 1000);
		} else {
			EXPECT_AGREE(&got, sim_read(fd[i]), 2);
		}
		EXPECT_LT(0, got.n);
		sim_samples_free(&got);
		sim_close(&s[i]);
		close(fd[i]);
	}
}

/* One event more than samplers: perf rotates events, but not in a group. */
TEST_F(sim_samples, more_than_there_are)
{
	struct perf_event_attr attr = sim_sample_attr(LLC_REFS, 1009);
	int fd[SAMPLERS + 1], group[SAMPLERS + 1], i, ran = 0;
	uint64_t got[3];

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (i = 0; i <= SAMPLERS; i++) {
		fd[i] = sim_open_attr(&attr, 0, -1, -1);
		ASSERT_LE(0, fd[i]);
	}
	for (i = 0; i <= SAMPLERS; i++)
		sim_on(fd[i]);
	for (i = 0; i < 20; i++)
		sim_load(self->p, self->big);
	for (i = 0; i <= SAMPLERS; i++) {
		ASSERT_EQ(sizeof(got), read(fd[i], got, sizeof(got)));
		EXPECT_LT(0, got[2]);
		EXPECT_LT(0, got[0]);
		ran += got[2] < got[1];
		close(fd[i]);
	}
	EXPECT_LT(0, ran);

	for (i = 0; i < SAMPLERS; i++) {
		group[i] = sim_open_attr(&attr, 0, -1, i ? group[0] : -1);
		ASSERT_LE(0, group[i]);
	}
	EXPECT_EQ(-EINVAL, sim_open_attr(&attr, 0, -1, group[0]));
	/* Events that only count need no sampler. */
	attr.sample_period = 0;
	attr.sample_type = 0;
	EXPECT_LE(0, sim_open_attr(&attr, 0, -1, group[0]));
}

/*
 * perf adapts the period at each tick, by an eighth of what is missing. Samples
 * alone do not say how far it is: on a busy host hundreds of samples with the
 * first, short period can come before a tick does.
 */
#define CHUNK		64	/* lines that are loaded at a time */
#define SETTLED		50	/* changes of the period */
#define ENOUGH		150	/* samples after that */
#define AT_A_TIME	16	/* samples that are collected before that */

static void spin(unsigned long rounds)
{
	while (rounds--)
		asm volatile("" ::: "memory");
}

/* Seconds that loads of a chunk and @rounds take; the CPU may be taken away. */
static double least_time(const char *p, size_t lines, unsigned long rounds)
{
	double least = 1e9, start;
	int i;

	for (i = 0; i < 20; i++) {
		start = mcube_now();
		sim_load(p, lines);
		spin(rounds);
		least = MIN(least, mcube_now() - start);
	}
	return least;
}

static int by_period(const void *a, const void *b)
{
	const struct sim_sample *x = a, *y = b;

	return (x->period > y->period) - (x->period < y->period);
}

static void add_samples(struct sim_samples *sum, const struct sim_samples *more)
{
	sum->n += more->n;
	sum->sum += more->sum;
	sum->lost += more->lost;
	sum->throttled += more->throttled;
}

/* Load chunks, each followed by @rounds, until there are @n samples. */
static void sample_load(struct sim_sampler *s, const char *p,
			unsigned long rounds, size_t n, double end,
			struct sim_samples *out)
{
	const size_t bytes = n * (sizeof(struct perf_event_header) +
				  sizeof(*out->s));
	const struct perf_event_mmap_page *page = s->map;

	while (page->data_head - page->data_tail < bytes && mcube_now() < end) {
		sim_load(p, CHUNK);
		spin(rounds);
	}
	sim_collect(s, out);
}

/* The period that perf settles on; adds all samples to @sum. */
static uint64_t settled_period(struct sim_sampler *s, const char *p,
			       unsigned long rounds, struct sim_samples *sum)
{
	double end = mcube_deadline(120);
	size_t i, changes = 0;
	struct sim_samples got;
	uint64_t period = 0;

	sim_on(s->fd);
	while (changes < SETTLED && mcube_now() < end) {
		sample_load(s, p, rounds, AT_A_TIME, end, &got);
		for (i = 0; i < got.n; i++) {
			changes += got.s[i].period != period;
			period = got.s[i].period;
		}
		add_samples(sum, &got);
		sim_samples_free(&got);
	}
	sample_load(s, p, rounds, ENOUGH, end, &got);
	sim_off(s->fd);
	add_samples(sum, &got);
	qsort(got.s, got.n, sizeof(*got.s), by_period);
	period = got.n < ENOUGH ? 0 : got.s[got.n / 2].period;
	sim_samples_free(&got);

	/* Samples that came before the event was off. */
	sim_collect(s, &got);
	add_samples(sum, &got);
	sim_samples_free(&got);
	return period;
}

/*
 * With a frequency the period follows the rate of the events; the sum is still
 * the count.  The count is that of the event itself, which perf stops at each
 * tick to change the period: another event counts accesses during that time, too.
 */
TEST_F_TIMEOUT(sim_samples, frequency, 300)
{
	struct perf_event_attr attr = sim_sample_attr(ACCESSES, 0);
	unsigned long rounds = 100000;
	struct sim_samples sum = { };
	uint64_t period[2];
	struct sim_sampler s;
	int i;

	attr.freq = 1;
	attr.sample_freq = 500;
	ASSERT_EQ(0, sim_sample(&s, &attr, 0, -1, -1));
	/* perf adapts the period of leaders only. */
	EXPECT_EQ(-EINVAL, sim_open_attr(&attr, 0, -1, s.fd));

	rounds *= 15 * least_time(self->p, CHUNK, 0) /
		  least_time(self->p, 0, rounds);
	for (i = 0; i < 2; i++) {
		period[i] = settled_period(&s, self->p, i * rounds, &sum);
		TH_LOG("period %llu", (unsigned long long)period[i]);
		EXPECT_LT(0, period[i]);
	}
	/* The second loop has a sixteenth of the rate. */
	EXPECT_GT(period[0], 2 * period[1]);
	EXPECT_AGREE(&sum, sim_read(s.fd), 2);
	sim_close(&s);
}

/* A period can change while the event runs. */
TEST_F(sim_samples, change_of_period)
{
	struct perf_event_attr attr = sim_sample_attr(LLC_MISSES, 1000);
	struct sim_samples got[2];
	uint64_t period = 100;
	struct sim_sampler s;

	ASSERT_EQ(0, sim_sample(&s, &attr, 0, -1, -1));
	sim_on(s.fd);
	sim_load(self->p, self->big);
	ASSERT_EQ(0, ioctl(s.fd, PERF_EVENT_IOC_PERIOD, &period));
	sim_collect(&s, &got[0]);
	sim_load(self->p, self->big);
	sim_off(s.fd);
	sim_collect(&s, &got[1]);
	TH_LOG("%zu samples, then %zu", got[0].n, got[1].n);
	ASSERT_LT(0, got[0].n);
	EXPECT_GE(got[1].n, 8 * got[0].n);
	EXPECT_LE(got[1].n, 12 * got[0].n + 10);
	EXPECT_EQ(100, got[1].s[got[1].n - 1].period);
	sim_samples_free(&got[0]);
	sim_samples_free(&got[1]);
	sim_close(&s);
}

/* Samples faster than perf takes them: it throttles, and reports the loss. */
TEST_F(sim_samples, too_many)
{
	struct perf_event_attr attr = sim_sample_attr(ACCESSES, 1);
	struct sim_samples got;
	struct sim_sampler s;
	long long counted;

	ASSERT_EQ(0, mcube_write(MAX_RATE, LIMIT));
	ASSERT_EQ(0, sim_sample(&s, &attr, 0, -1, -1));
	sim_on(s.fd);
	sim_load(self->p, self->big);
	sim_off(s.fd);
	sim_collect(&s, &got);
	TH_LOG("%zu samples, %lu lost, %lu times throttled", got.n, got.lost,
	       got.throttled);
	EXPECT_LT(0, got.n);
	EXPECT_LT(0, got.lost);
	EXPECT_LT(0, got.throttled);
	sim_samples_free(&got);
	sim_close(&s);

	/* The next event on that sampler gets none of these samples. */
	SAMPLE_WHILE(LLC_MISSES, 1000000, &got, counted, sched_yield());
	TH_LOG("%zu samples after that, %lld misses", got.n, counted);
	EXPECT_EQ(0, got.n);
	sim_samples_free(&got);
}

/* A CPU goes offline with its samplers; both work when it is back. */
TEST_F(sim_samples, cpu_offline)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct perf_event_attr attr = sim_sample_attr(LLC_MISSES, 499);
	struct sim_samples got;
	struct sim_sampler s;
	int fd;

	if (!mcube_exists(online))
		SKIP(return, "CPU 1 cannot go offline");
	ASSERT_EQ(0, sim_sample(&s, &attr, -1, 1, -1));
	sim_on(s.fd);
	ASSERT_EQ(0, mcube_write(online, "0"));
	EXPECT_EQ(-ENODEV, sim_open(LLC_MISSES, -1, 1));
	sim_load(self->p, self->half);
	ASSERT_EQ(0, mcube_write(online, "1"));
	sim_close(&s);

	PAIR(LLC_MISSES, 499, -1, 1, &fd, &s);
	ASSERT_EQ(0, mcube_pin(1));
	ASSERT_EQ(0, mcube_write(SIM_PMU "clear", "1"));
	sim_on(fd);
	sim_load(self->p, self->big);
	sim_off(fd);
	sim_collect(&s, &got);
	EXPECT_GE(sim_read(fd), self->big * 9 / 10);
	EXPECT_AGREE(&got, sim_read(fd), 3);
	sim_samples_free(&got);
	sim_close(&s);
}

TEST_HARNESS_MAIN
