// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets on the nodes of a machine: where memory lies, who looks pages up, what crosses
 * from node to node, and what happens if a worker does not come.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define TRACING		"/sys/kernel/tracing/"
#define HIT		TRACING "events/mcube_setcache/mcube_setcache_hit/enable"
#define PAGES		256U	/* few enough for a pool of 4 MiB to hold nearly all of them */
#define AT_ONCE		16U
#define LINES		64U	/* cache lines of a page */

static const char * const modes[] = { "interleave", "hash-home", "message" };

FIXTURE(setcache_numa) {
	struct setcache_setup setup;
	char *buf;
	int fd, nodes;
};

FIXTURE_SETUP(setcache_numa)
{
	const char *why = "one node";

	self->nodes = mcube_max_node() + 1;
	if (self->nodes > 1)
		why = setcache_begin(&self->setup, ON_EXT4, PAGES);
	if (why)
		SKIP(return, "%s", why);
	self->fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_RANDOM));
	self->buf = mmap(NULL, AT_ONCE * PAGE_SIZE_, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->buf);
	memset(self->buf, 0, AT_ONCE * PAGE_SIZE_);
	ASSERT_EQ(0, setcache_write(self->fd, PAGES, 1));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "4"));
}

FIXTURE_TEARDOWN_PARENT(setcache_numa)
{
	mcube_faults("0");
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/* The CPUs of a node, if they are consecutive. */
static int cpus_of_node(int node, int *first, int *last)
{
	char path[64], text[64];
	int nr;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	if (mcube_read(path, text, sizeof(text)) < 0)
		return -1;
	nr = sscanf(text, "%d-%d", first, last);
	if (nr == 1)
		*last = *first;
	return nr < 1 ? -1 : 0;
}

static int pin_to_node(int node)
{
	int first, last;

	return cpus_of_node(node, &first, &last) ?: mcube_pin(first);
}

/* Read all pages, @nr at a time; returns those that are wrong. */
static int wrong(int fd, char *buf, unsigned int nr, int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = nr * PAGE_SIZE_ };
	struct stamped s = { .begun = 1, .done = 1 };
	unsigned int i, j;
	int bad = 0;

	for (i = 0; i < PAGES; i += nr) {
		if (preadv2(fd, &iov, 1, i * PAGE_SIZE_, flags) != (ssize_t)iov.iov_len)
			return nr;
		for (j = 0; j < nr; j++)
			bad += !stamp_is_current(&s, i + j, 1, buf + j * PAGE_SIZE_, 0,
						 PAGE_SIZE_);
	}
	return bad;
}

static int start(const char *numa)
{
	return mcube_write(MCUBE_SETCACHE "numa", numa) ?:
	       mcube_write(MCUBE_SETCACHE "mode", "random");
}

struct row {
	int set, node, away;
};

/* Returns the number of sets. */
static int read_sets(struct row *rows, int most)
{
	FILE *f = fopen(SETCACHE_SETS, "re");
	char line[160];
	int nr = 0;

	while (f && nr < most && fgets(line, sizeof(line), f))
		nr += sscanf(line, "%d %*d %*d %*d %*d %*d %d %d", &rows[nr].set,
			     &rows[nr].node, &rows[nr].away) == 3;
	if (f)
		fclose(f);
	return nr;
}

TEST_F_TIMEOUT(setcache_numa, memory_lies_where_the_mode_says, 120)
{
	static struct row row[2048];
	int i, m, nr, away, on[64], nodes = self->nodes;

	for (m = 0; m < 3; m++) {
		ASSERT_EQ(0, start(modes[m]));
		ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
		nr = read_sets(row, ARRAY_SIZE(row));
		ASSERT_EQ(64, nr);
		memset(on, 0, sizeof(on));
		for (i = 0; i < nr; i++) {
			/* So small a pool takes the nodes in turn in all modes. */
			EXPECT_EQ(i / 8 % nodes, row[i].node);
			away = m || i % nodes == row[i].node ? 0 : 16;
			EXPECT_EQ(away, row[i].away);
			on[row[i].node]++;
		}
		for (i = 0; i < nodes; i++)
			EXPECT_EQ(nr / nodes, on[i]);
	}
	/* In a large one, consecutive sets of a position share the nodes in order. */
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "64"));
	nr = read_sets(row, ARRAY_SIZE(row));
	ASSERT_EQ(1024, nr);
	for (i = 512; i < nr; i++) {
		EXPECT_EQ(i % 64 / 8 * nodes / 8, row[i].node);
		EXPECT_EQ(0, row[i].away);
	}
}

TEST_F_TIMEOUT(setcache_numa, pages_stay_where_homes_stay, 120)
{
	long fills;

	ASSERT_EQ(0, start("hash-home"));
	ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
	fills = setcache_stat("fills");
	/* What has been evicted comes in again. */
	ASSERT_EQ(0, start("message"));
	ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
	ASSERT_EQ(0, start("hash-home"));
	ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
	EXPECT_GT(fills + (long)PAGES / 4, setcache_stat("fills"));
	fills = setcache_stat("fills");
	ASSERT_EQ(0, start("interleave"));
	ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
	EXPECT_EQ(fills + (long)PAGES, setcache_stat("fills"));
}

/* Write with failing allocations; the file is open, as to open it may fail too. */
static int write_failing(int fail, int fd, const char *text, const char *probability)
{
	int ret;

	mcube_faults(probability);
	if (pwrite(fail, "1", 1, 0) != 1)
		return 1;
	ret = pwrite(fd, text, strlen(text), 0) < 0 ? -errno : 0;
	return pwrite(fail, "0", 1, 0) == 1 ? ret : 1;
}

TEST_F_TIMEOUT(setcache_numa, refused_change_changes_nothing, 180)
{
	static const char * const probability[] = { "0", "1", "30" };
	int i, m, ret, now = 0, refused = 0, accepted = 0, fail, fd;
	char text[64], chosen[64];

	fail = open(MCUBE_FAIL, O_WRONLY | O_CLOEXEC);
	if (fail < 0)
		SKIP(return, "allocations cannot be made to fail");
	fd = open(MCUBE_SETCACHE "numa", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, start(modes[0]));
	for (i = 0; i < 60; i++) {
		m = (now + 1 + i / 3 % 2) % 3;
		ret = write_failing(fail, fd, modes[m], probability[i % 3]);
		ASSERT_TRUE(!ret || ret == -ENOMEM)
			TH_LOG("%s: %d", modes[m], ret);
		refused += !!ret;
		accepted += !ret;
		if (!ret)
			now = m;
		ASSERT_LT(0, mcube_read(MCUBE_SETCACHE "numa", text, sizeof(text)));
		snprintf(chosen, sizeof(chosen), "[%s]", modes[now]);
		ASSERT_NE(NULL, strstr(text, chosen))
			TH_LOG("%s, not %s", text, chosen);
		ASSERT_LT(0, mcube_read(MCUBE_SETCACHE "mode", text, sizeof(text)));
		ASSERT_NE(NULL, strstr(text, "[random]"))
			TH_LOG("%s to %s gave %d: %s", modes[now], modes[m], ret, text);
		ASSERT_EQ(0, wrong(self->fd, self->buf, 1, 0));
	}
	mcube_faults("0");
	TH_LOG("%d refused, %d accepted", refused, accepted);
	EXPECT_LT(5, refused);
	EXPECT_LT(5, accepted);
}

TEST_F_TIMEOUT(setcache_numa, reads_that_may_not_wait_ask_nobody, 120)
{
	long messages, fallbacks;

	ASSERT_EQ(0, pin_to_node(0));
	ASSERT_EQ(0, start("message"));
	fallbacks = setcache_stat("fallbacks");
	ASSERT_EQ(0, wrong(self->fd, self->buf, AT_ONCE, 0));
	ASSERT_EQ(0, wrong(self->fd, self->buf, AT_ONCE, 0));
	messages = setcache_stat("messages");
	EXPECT_LT(0, messages);
	EXPECT_EQ(fallbacks, setcache_stat("fallbacks"));
	EXPECT_LT(0, setcache_stat("bundles"));
	EXPECT_GE(messages, setcache_stat("bundles"));
	/* All pages are there, so that no read is refused. */
	EXPECT_EQ(0, wrong(self->fd, self->buf, 1, RWF_NOWAIT));
	EXPECT_EQ(messages, setcache_stat("messages"));
	EXPECT_LT(fallbacks + PAGES / 4, setcache_stat("fallbacks"));
}

/* Takes the time of a CPU, but for what the kernel leaves to others. */
static pid_t starve(int cpu)
{
	struct sched_param p = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mcube_pin(cpu) || sched_setscheduler(0, SCHED_FIFO, &p))
		_exit(1);
	for (;;)
		;
}

TEST_F_TIMEOUT(setcache_numa, full_queue_stops_nobody, 180)
{
	enum { READERS = 32, CPUS = 8 };
	pid_t spinner[CPUS], pid[READERS];
	double end = mcube_deadline(60);
	int i, first, last, status, failed = 0;
	long before;

	ASSERT_EQ(0, pin_to_node(0));
	ASSERT_EQ(0, start("message"));
	ASSERT_EQ(0, wrong(self->fd, self->buf, AT_ONCE, 0));
	before = setcache_stat("fallbacks");
	ASSERT_EQ(0, wrong(self->fd, self->buf, AT_ONCE, 0));
	ASSERT_EQ(before, setcache_stat("fallbacks"));
	ASSERT_EQ(0, cpus_of_node(self->nodes - 1, &first, &last));
	ASSERT_GT(CPUS, last - first);
	for (i = 0; i <= last - first; i++) {
		spinner[i] = starve(first + i);
		ASSERT_LT(0, spinner[i]);
	}
	for (i = 0; i < READERS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		while (setcache_stat("fallbacks") == before && mcube_now() < end)
			if (wrong(self->fd, self->buf, AT_ONCE, 0))
				_exit(1);
		_exit(0);
	}
	for (i = 0; i < READERS; i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			failed++;
	EXPECT_EQ(0, failed);
	EXPECT_LT(before, setcache_stat("fallbacks"));
	for (i = 0; i <= last - first; i++) {
		/* It has run all the time. */
		EXPECT_EQ(0, waitpid(spinner[i], &status, WNOHANG));
		kill(spinner[i], SIGKILL);
		waitpid(spinner[i], &status, 0);
	}
}

/* What the trace of hits says. */
struct hits {
	long pages, remote_sets, remote_pages, asked;
};

static void read_hits(struct hits *h)
{
	FILE *f = fopen(TRACING "trace", "re");
	int node, set, page, asked;
	char line[256], *at;

	memset(h, 0, sizeof(*h));
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, "mcube_setcache_hit: ");
		if (!at || sscanf(at, "mcube_setcache_hit: node=%d set_node=%d page_node=%d asked=%d",
				  &node, &set, &page, &asked) != 4)
			continue;
		h->pages++;
		h->remote_sets += set != node;
		h->remote_pages += page != node;
		h->asked += asked;
	}
	if (f)
		fclose(f);
}

/*
 * Counts of the kernel, and what follows for cache lines that cross from node to node: a hit
 * touches two lines of its set and the lines of its page.  A page that was asked for costs
 * the line of its pin, and the line of the ask there and back; a message costs the line of the
 * queue.
 */
TEST_F_TIMEOUT(setcache_numa, remote_accesses, 180)
{
	static const unsigned int sizes[] = { 1, AT_ONCE };
	long remote, messages, bundles, lines;
	struct hits h;
	unsigned int m, s;

	if (!mcube_exists(HIT))
		SKIP(return, "no tracing");
	ASSERT_EQ(0, pin_to_node(0));
	for (m = 0; m < 3; m++) {
		for (s = 0; s < 2; s++) {
			ASSERT_EQ(0, start(modes[m]));
			ASSERT_EQ(0, wrong(self->fd, self->buf, sizes[s], 0));
			ASSERT_EQ(0, close(open(TRACING "trace", O_WRONLY | O_TRUNC)));
			ASSERT_EQ(0, mcube_write(HIT, "1"));
			remote = setcache_stat("remote");
			messages = setcache_stat("messages");
			bundles = setcache_stat("bundles");
			EXPECT_EQ(0, wrong(self->fd, self->buf, sizes[s], 0));
			remote = setcache_stat("remote") - remote;
			messages = setcache_stat("messages") - messages;
			bundles = setcache_stat("bundles") - bundles;
			ASSERT_EQ(0, mcube_write(HIT, "0"));
			read_hits(&h);
			lines = 2 * (h.remote_sets - h.asked) + LINES * h.remote_pages +
				3 * h.asked + messages;
			TH_LOG("%s, reads of %u pages: %ld hits, %ld sets and %ld pages remote, %ld messages in %ld bundles, %.1f lines a page",
			       modes[m], sizes[s], h.pages, h.remote_sets, h.remote_pages,
			       messages, bundles, (double)lines / h.pages);
			EXPECT_LT((long)PAGES * 9 / 10, h.pages);
			EXPECT_EQ(remote, h.remote_sets);
			/* About all nodes but one. */
			EXPECT_LT(h.pages * (self->nodes - 1), h.remote_pages * self->nodes * 2);
			if (m)
				EXPECT_EQ(h.remote_sets, h.remote_pages);
			if (m < 2) {
				EXPECT_EQ(0, messages);
				EXPECT_EQ(0, h.asked);
				continue;
			}
			EXPECT_EQ(h.remote_sets, h.asked);
			EXPECT_LE(bundles, messages);
			/* One for all pages of a read that have the same home. */
			EXPECT_LE(messages, PAGES / sizes[s] *
				  (sizes[s] > 1 ? self->nodes - 1 : 1));
			EXPECT_LE(h.asked, messages * (long)sizes[s]);
		}
	}
}

static long on_node(int node, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), MCUBE_NODES "/node%d/vmstat", node);
	return mcube_field(path, name);
}

static long files_on(int node)
{
	return on_node(node, "nr_active_file") + on_node(node, "nr_inactive_file");
}

/* Read so many pages of a file into the page cache of a node. */
static int fill_node(int fd, int node, long pages)
{
	char buf[AT_ONCE * PAGE_SIZE_];
	long i;

	if (mcube_bind(node))
		return -1;
	for (i = 0; i < pages; i += AT_ONCE)
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			return -1;
	return mcube_bind(-1);
}

/*
 * One node is short of memory, and has more pages of the pool than pages of files.  The files
 * on another node, which are more than the pool, are of no use to it.
 *
 * MGLRU asks the shrinkers once for all that kswapd wants, which may be most of the files here.
 */
TEST_F_TIMEOUT(setcache_numa, short_node_gets_its_own, 240)
{
	int fd, node = self->nodes - 1, status = 0;
	long share, free, files, before;
	char path[192];
	pid_t hog;

	snprintf(path, sizeof(path), "%s-files", self->setup.backing);
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "3"));
	ASSERT_EQ(0, start(modes[0]));
	free = on_node(node, "nr_free_pages");
	share = free / 8 & ~255;
	ASSERT_EQ(0, mcube_make_hole(path, 2 * free));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mcube_write_num(MCUBE_SETCACHE "size_mib", share * self->nodes / 256));
	ASSERT_EQ(0, fill_node(fd, 0, self->nodes * share + share));
	ASSERT_EQ(0, fill_node(fd, node, share * 3 / 4 - files_on(node)));
	files = files_on(node);
	ASSERT_GT(share, files);
	ASSERT_LT(share / 2, files);
	ASSERT_LT(self->nodes * share, files_on(0));
	before = setcache_stat("reclaimed");
	hog = fork();
	if (!hog) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mcube_write("/proc/self/oom_score_adj", "1000") || mcube_bind(node))
			_exit(1);
		while (setcache_stat("reclaimed") == before && files_on(node) > files / 16)
			if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				_exit(1);
		_exit(0);
	}
	EXPECT_EQ(hog, waitpid(hog, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_LT(before, setcache_stat("reclaimed"));
	TH_LOG("%ld of %ld pages of files left", files_on(node), files);
	close(fd);
}

TEST_HARNESS_MAIN
