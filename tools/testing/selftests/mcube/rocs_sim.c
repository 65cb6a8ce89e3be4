// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS on a modelled machine: from misses to gain.
 *
 * A program uses half of the cache again and again, and streams through an array of
 * three times the cache.  The stream evicts the other half of the cache and, without
 * ROCS, what is used again.  So ROCS must find the pages of the stream, hold nothing
 * else in the partition, and the program must be faster.
 */

#include <errno.h>

#include "../kselftest_harness.h"
#include "rocs_lib.h"
#include "sim_lib.h"

FIXTURE(rocs_sim) {
	struct rocs_setup setup;
	struct rocs_polluter *polluter;
	struct rocs_line line;
};

FIXTURE_SETUP(rocs_sim)
{
	const char *why = rocs_begin(&self->setup, ROCS_MODEL);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, rocs_switch_on(&self->setup, ROCS_MODEL, "1"));
	self->polluter = rocs_polluter();
	ASSERT_NE(NULL, self->polluter);
}

FIXTURE_TEARDOWN_PARENT(rocs_sim)
{
	EXPECT_EQ(0, rocs_end(&self->setup));
}

static int reserved(FIXTURE_DATA(rocs_sim) *self, const char *mem, size_t pages)
{
	return rocs_reserved(&self->setup, self->polluter->pid, mem, pages, NULL);
}

/* Wait for a search that finds a gain, and for the pages to be in the partition. */
static void hold(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_sim) *self)
{
	double end = mcube_deadline(ROCS_DEADLINE);
	struct rocs_line *l = &self->line;

	ASSERT_TRUE(rocs_await_state(self->polluter->pid, "hold", l)) {
		TH_LOG("state %s after %lu windows, %u searches, period %u, stack %u",
		       l->state, l->windows, l->searches, l->period, l->stack);
	}
	while (rocs_target(self->polluter->pid, l) && l->in != l->mapped &&
	       mcube_now() < end)
		usleep(ROCS_LOOK_US);
	TH_LOG("%lu windows, %u searches, %u phases: %u of %u pages, gain %d/1024",
	       l->windows, l->searches, l->phases, l->mapped, l->stack, l->gain);
}

/* The pages of this stream are in the partition, and hardly any other. */
static void expect_stream(struct __test_metadata *_metadata, FIXTURE_DATA(rocs_sim) *self,
			  int phase)
{
	struct rocs_polluter *p = self->polluter;
	int in = reserved(self, p->streamed[phase], p->streamed_pages);
	int wrong = reserved(self, p->reused[phase], p->reused_pages);
	size_t wanted = rocs_mapped_pages(p->pid, p->streamed[phase], p->streamed_pages,
					  NULL);

	TH_LOG("phase %d: %d of %zu streamed pages, %d of %zu reused pages", phase, in,
	       p->streamed_pages, wrong, p->reused_pages);
	/*
	 * Outside the partition the rest of the stream competes for the cache with what
	 * is used again.  Samples are few, so some reused pages look like the stream.
	 */
	EXPECT_LE(p->streamed_pages / 2, wanted);
	EXPECT_LE(wanted * 95 / 100, in);
	EXPECT_GE(p->reused_pages / 4, wrong);
}

TEST_F_TIMEOUT(rocs_sim, finds_the_stream, 300)
{
	struct rocs_polluter *p = self->polluter;
	long samples = rocs_stat("samples");

	ASSERT_EQ(0, rocs_choose(p->pid));
	hold(_metadata, self);
	/* A sample for each page at least. */
	EXPECT_LE((long)(p->reused_pages + p->streamed_pages), rocs_stat("samples") - samples);
	expect_stream(_metadata, self, 0);
	/* A third of the misses go, which cost most of the time: a tenth is too little. */
	EXPECT_LE(1024 / 10, self->line.gain);
	ASSERT_EQ(0, rocs_choose(0));
	ASSERT_TRUE(rocs_await_gone(p->pid));
	EXPECT_EQ(0, reserved(self, p->streamed[0], p->streamed_pages));
	EXPECT_EQ(0, reserved(self, p->reused[0], p->reused_pages));
	EXPECT_EQ(0, rocs_polluter_end(p));
}

TEST_F_TIMEOUT(rocs_sim, linear_search_finds_it_too, 300)
{
	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "search", "linear"));
	ASSERT_EQ(0, rocs_choose(self->polluter->pid));
	hold(_metadata, self);
	expect_stream(_metadata, self, 0);
	EXPECT_EQ(0, rocs_polluter_end(self->polluter));
}

/* The program goes on with other arrays. */
TEST_F_TIMEOUT(rocs_sim, second_phase, 300)
{
	struct rocs_polluter *p = self->polluter;
	long phases = rocs_stat("phases");
	unsigned int searches;
	unsigned long windows;

	ASSERT_EQ(0, rocs_choose(p->pid));
	hold(_metadata, self);
	expect_stream(_metadata, self, 0);
	searches = self->line.searches;
	/* ROCS has to know what is usual before it can find the unusual. */
	windows = self->line.windows;
	while (rocs_target(p->pid, &self->line) && self->line.windows < windows + 8)
		usleep(ROCS_LOOK_US);
	p->phase = 1;
	/* The pages of the first phase leave before anything else is tried. */
	ASSERT_TRUE(rocs_await_state(p->pid, "profile", &self->line));
	EXPECT_LE(1, self->line.phases);
	EXPECT_EQ(0, reserved(self, p->streamed[0], p->streamed_pages));
	hold(_metadata, self);
	EXPECT_LT(searches, self->line.searches);
	EXPECT_LT(phases, rocs_stat("phases"));
	expect_stream(_metadata, self, 1);
	EXPECT_EQ(0, reserved(self, p->streamed[0], p->streamed_pages));
	EXPECT_EQ(0, rocs_polluter_end(p));
}

/* What fits in the cache is left alone: nothing is profiled below min_rate. */
TEST_F_TIMEOUT(rocs_sim, rare_misses, 300)
{
	struct rocs_polluter *p = self->polluter;

	ASSERT_EQ(0, mcube_write(MCUBE_ROCS "min_rate", "100"));
	ASSERT_EQ(0, rocs_choose(p->pid));
	ASSERT_TRUE(rocs_await_target(p->pid, &self->line));
	while (rocs_target(p->pid, &self->line) && self->line.windows < 20)
		usleep(ROCS_LOOK_US);
	EXPECT_STREQ("watch", self->line.state);
	EXPECT_EQ(0, self->line.stack);
	EXPECT_EQ(0, rocs_polluter_end(p));
}

TEST_HARNESS_MAIN
