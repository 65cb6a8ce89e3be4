// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of writes to the control files of all rooms.
 *
 * A file can refuse every bad text, and a sequence of good texts still do harm:
 * a task takes a hint while the map has 256 colors, and keeps it under a map
 * with two.  So each sequence mixes, in one to three processes,
 *
 *   valid and invalid text to every file, as root and as a normal user
 *   failing allocations and signals during a write
 *   memory that is used under the hint that the process has by then
 *   neighbours: caches dropped, compaction, huge pages, memory blocks and CPUs
 *               that come and go
 *
 * beside processes that allocate, tag and check pages.  fuzz_steps.c has the
 * steps.
 *
 * After each sequence all is switched off.  Then no page is left in the
 * allocator, nr_free_pages is the sum of the buddy lists, no page is lost (see
 * alloc_toggle.c), no counter has gone back, and the kernel has not complained.
 *
 * Sequence i has the seed MCUBE_FUZZ_SEED + i.  The default seed is random.  A
 * test that fails prints how to run its last sequence alone.  The test ends
 * after MCUBE_FUZZ_SECONDS (20), or after MCUBE_FUZZ_SEQUENCES sequences.
 * MCUBE_FUZZ_VERBOSE=1 prints each write.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "../kselftest_harness.h"
#include "fuzz_steps.h"
#include "setcache_lib.h"
#include "srm_lib.h"
#include "ubm_lib.h"

#define MOUNT		"/tmp/mcube-fuzz"
#define WRITERS		3
#define COUNTERS	96
/* Pages that may differ: vmalloc areas, buffers of drivers and the like. */
#define SLACK		512

/* Makes unrelated seeds of neighbouring numbers. */
#define SPREAD		0x9e3779b97f4a7c15ULL

/* What a kernel says that is in trouble. */
static const char * const complaints[] = {
	"BUG:", "WARNING:", "KASAN:", "UBSAN:", "Oops", "Bad page", "INFO: task",
	"INFO: rcu", "general protection fault", "possible circular locking",
	"suspicious RCU usage", NULL
};

/* Everything off and back; NULL, or what does not go off. */
static const char *all_off(void)
{
	fuzz_restore();
	if (mcube_write(MCUBE_SRM "enabled", "0") &&
	    mcube_exists(MCUBE_SRM "enabled"))
		return "srm/enabled refuses 0";
	if (mcube_write(MCUBE_ROCS "enabled", "0") &&
	    mcube_exists(MCUBE_ROCS "enabled"))
		return "rocs/enabled refuses 0";
	if (mcube_write(MCUBE_UBM "enabled", "0") &&
	    mcube_exists(MCUBE_UBM "enabled"))
		return "ubm/enabled refuses 0";
	if (mcube_write(MCUBE_SETCACHE "mode", "off") &&
	    mcube_exists(MCUBE_SETCACHE "mode"))
		return "setcache/mode refuses off";
	if (mcube_off() || mcube_read_num(MCUBE_ALLOC "enabled"))
		return "alloc/enabled refuses 0";
	if (mcube_exists(MCUBE_SRM "enabled") &&
	    mcube_read_num(MCUBE_SRM "enabled"))
		return "srm/enabled is 1 while the allocator is off";
	return NULL;
}

static bool settled(struct mcube_memory *m)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
	/* Wait until exited tasks and RCU callbacks have freed their pages. */
	usleep(300000);
	return mcube_memory_settled(m);
}

/* NULL, or why memory does not add up with everything off. */
static const char *books(const struct mcube_memory *before)
{
	struct mcube_memory after;
	const char *why = NULL;
	int try;

	/* The kernel frees some pages with delay. */
	for (try = 0; try < 5; try++) {
		if (!settled(&after))
			why = "nr_free_pages is not what the free lists hold";
		else
			why = mcube_memory_check_off(&after);
		if (!why && before->managed != after.managed)
			why = "memory is missing";
		if (!why && labs(after.lost - before->lost) > SLACK)
			why = "pages are lost";
		if (!why)
			return NULL;
	}
	mcube_memory_print("before", before);
	mcube_memory_print("after", &after);
	return why;
}

/* Counters --------------------------------------------------------------- */

struct counter {
	char path[96];
	long value;
};

static struct counter counter[COUNTERS];
static int nr_counters;
static const char *counter_trouble;

/* These are present values; counters only rise. */
static bool is_present_value(const char *name)
{
	return !strcmp(name, "containers") || !strcmp(name, "free_pages") ||
	       !strcmp(name, "reserved_colors") || !strcmp(name, "reserved_free") ||
	       !strcmp(name, "lent");
}

static int check_counter(const char *path, const struct stat *st, int type,
			 struct FTW *at)
{
	const char *name = path + at->base;
	long value;
	int i;

	if (type != FTW_F || !strstr(path, "/stats/") || is_present_value(name))
		return 0;
	value = mcube_read_num(path);
	for (i = 0; i < nr_counters; i++)
		if (!strcmp(counter[i].path, path))
			break;
	if (i == nr_counters) {
		if (nr_counters == COUNTERS) {
			counter_trouble = "more counters than expected";
			return 0;
		}
		nr_counters++;
		snprintf(counter[i].path, sizeof(counter[i].path), "%s", path);
	} else if (value < counter[i].value) {
		ksft_print_msg("%s went from %ld to %ld\n", path,
			       counter[i].value, value);
		counter_trouble = "a counter went back";
	}
	counter[i].value = value;
	return 0;
}

static const char *counters_rise(void)
{
	counter_trouble = NULL;
	nftw(MCUBE_DIR, check_counter, 8, FTW_PHYS);
	return counter_trouble;
}

/* ------------------------------------------------------------------------ */

static int known_files, unknown_files;

static int check_known(const char *path, const struct stat *st, int type,
		       struct FTW *at)
{
	char clean[PATH_MAX];

	if (type != FTW_F || !(st->st_mode & 0222))
		return 0;
	/* nftw() keeps the slash at the end of MCUBE_DIR. */
	if (!realpath(path, clean))
		return 0;
	/* Leaves out hooks, so that reads are wrong: for the controls of a test only. */
	if (!strcmp(clean, "/sys/kernel/debug/mcube/setcache/skip"))
		return 0;
	if (fuzz_knows(clean)) {
		known_files++;
		return 0;
	}
	ksft_print_msg("%s is writable and not in the table\n", clean);
	unknown_files++;
	return 0;
}

/* NULL, or the first new message of the kernel that is a complaint. */
static const char *complaint(int kmsg)
{
	static char text[8192];
	ssize_t got;
	int i;

	while ((got = read(kmsg, text, sizeof(text) - 1)) > 0 ||
	       (got < 0 && errno == EPIPE)) {
		if (got < 0)
			continue;
		text[got] = '\0';
		for (i = 0; complaints[i]; i++)
			if (strstr(text, complaints[i]))
				return strchrnul(text, ';');
	}
	return NULL;
}

FIXTURE(mcube_fuzz) {
	struct mcube_saved saved;
	struct mcube_memory before;
	struct mcube_load load;
	char thp[64];
	const char *dir;
	bool mounted;
	int kmsg;
};

FIXTURE_SETUP(mcube_fuzz)
{
	const char *why = mcube_unusable();
	int i;

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	mcube_read(FUZZ_THP, self->thp, sizeof(self->thp));
	self->dir = mcube_disk(MOUNT, &self->mounted) ?: "/tmp";
	self->kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, self->kmsg);
	lseek(self->kmsg, 0, SEEK_END);
	fuzz_begin();
	/* The first uses allocate memory that the kernel keeps. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS,
				      MCUBE_TEST_BANKS));
		mcube_write(MCUBE_SRM "enabled", "1");
		mcube_write(MCUBE_UBM "enabled", "1");
		mcube_write(MCUBE_SETCACHE "mode", "all");
		ASSERT_EQ(0, mcube_load_once(MCUBE_FORK, NULL, 256, FUZZ_PAGES));
		ASSERT_EQ(0, mcube_load_once(MCUBE_FILE, self->dir, 256, FUZZ_PAGES));
	}
	ASSERT_EQ(NULL, all_off());
	ASSERT_TRUE(settled(&self->before));
}

FIXTURE_TEARDOWN_PARENT(mcube_fuzz)
{
	char *chosen = strchr(self->thp, '[');

	if (mcube_unusable())
		return;
	fuzz_end();
	all_off();
	if (chosen)
		mcube_write(FUZZ_THP, strtok(chosen + 1, "]"));
	srm_defaults();
	ubm_defaults();
	mcube_restore(&self->saved);
	if (self->mounted)
		umount(MOUNT);
}

static bool run_sequence(FIXTURE_DATA(mcube_fuzz) *self, uint64_t seed)
{
	uint64_t rnd = (seed + 1) * SPREAD, writer_seed;
	const char *why, *said;
	int i, n, status, bad = 0;
	pid_t pid[WRITERS];

	for (i = 0; i < 8; i++)
		mcube_random(&rnd);
	/* Half of the sequences have a single writer. */
	n = mcube_random(&rnd) % 2 ? 1 : 2 + mcube_random(&rnd) % (WRITERS - 1);
	mcube_load_start(&self->load, 2, MCUBE_ANON | MCUBE_FORK | MCUBE_FILE,
			 self->dir, FUZZ_PAGES);
	for (i = 0; i < n; i++) {
		writer_seed = mcube_random(&rnd) * SPREAD;
		pid[i] = fork();
		if (!pid[i])
			fuzz_write(writer_seed, n == 1, self->dir);
	}
	for (i = 0; i < n; i++)
		if (pid[i] < 0 || waitpid(pid[i], &status, 0) != pid[i] || status)
			bad++;
	mcube_load_stop(&self->load);
	if (bad)
		ksft_print_msg("%d of %d writers failed\n", bad, n);
	if (self->load.corrupt || self->load.died)
		ksft_print_msg("load: %ld wrong pages, %ld died\n",
			       self->load.corrupt, self->load.died);
	why = all_off() ?: counters_rise() ?: books(&self->before);
	if (why)
		ksft_print_msg("%s\n", why);
	said = complaint(self->kmsg);
	if (said)
		ksft_print_msg("the kernel said%s\n", said);
	return !bad && !self->load.corrupt && !self->load.died && !why && !said;
}

TEST_F_TIMEOUT(mcube_fuzz, table_has_every_file, 60)
{
	nftw(MCUBE_DIR, check_known, 8, FTW_PHYS);
	nftw("/sys/kernel/debug/mcube", check_known, 8, FTW_PHYS);
	EXPECT_EQ(0, unknown_files);
	EXPECT_LT(10, known_files);
}

TEST_F_TIMEOUT(mcube_fuzz, sequences, 86400)
{
	long most = mcube_env("MCUBE_FUZZ_SEQUENCES", LONG_MAX), i;
	long seconds = mcube_env("MCUBE_FUZZ_SECONDS", 20);
	long seed = mcube_env("MCUBE_FUZZ_SEED", -1);
	double start = mcube_now();
	bool good = true;
	char text[64];

	if (seed < 0 && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = time(NULL);
	seed &= 0xffffffff;
	if (most < LONG_MAX)
		seconds = 86400;
	TH_LOG("MCUBE_FUZZ_SEED=%ld", seed);
	ASSERT_EQ(NULL, counters_rise());
	for (i = 0; good && i < most && mcube_now() - start < seconds; i++) {
		/* For the log of a kernel that dies. */
		snprintf(text, sizeof(text), "mcube_fuzz: MCUBE_FUZZ_SEED=%ld\n",
			 seed + i);
		mcube_write("/dev/kmsg", text);
		fflush(NULL);
		good = run_sequence(self, seed + i);
	}
	TH_LOG("%ld sequences of %d steps in %.0f s", i, FUZZ_STEPS,
	       mcube_now() - start);
	EXPECT_LT(0, i);
	EXPECT_TRUE(good) {
		TH_LOG("again: MCUBE_FUZZ_SEED=%ld MCUBE_FUZZ_SEQUENCES=1",
		       seed + i - 1);
	}
}

TEST_HARNESS_MAIN
