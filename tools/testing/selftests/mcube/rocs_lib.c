// SPDX-License-Identifier: GPL-2.0
/*
 * The module mcube_rocs, its settings, and what it says of its targets: see
 * rocs_lib.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../kselftest.h"
#include "rocs_lib.h"
#include "sim_lib.h"

/*
 * Thousand nanoseconds.  An emulator that runs all CPUs in one thread gives a busy CPU
 * 100 ms at a time, so a shorter window may see a process that does nothing.
 */
#define WINDOW		"250000"

#define FAULT_AROUND	"/sys/kernel/debug/fault_around_bytes"

static const char *module_path(void)
{
	return getenv("MCUBE_ROCS_MODULE") ?: ROCS_MODULE;
}

/* Is the module a file, and not built in? */
bool rocs_is_loadable(void)
{
	return mcube_exists(module_path());
}

int rocs_load(void)
{
	return mcube_load_module(module_path());
}

int rocs_unload(void)
{
	return mcube_unload_module(ROCS_NAME);
}

/* Load the module.  NULL, or the reason why nothing can be tested. */
const char *rocs_unusable(void)
{
	const char *why = mcube_unusable();

	if (why || mcube_exists(MCUBE_ROCS "enabled"))
		return why;
	if (!rocs_is_loadable())
		return "mcube_rocs is not loaded, and MCUBE_ROCS_MODULE does not name its file";
	return rocs_load() ? "mcube_rocs cannot be loaded" : NULL;
}

/* The settings as after loading; the policy is off. */
void rocs_defaults(void)
{
	static const char * const defaults[][2] = {
		{ "pids", "\n" }, { "cgroup", "\n" }, { "auto", "0" },
		{ "reserve", "1" }, { "search", "coarse" }, { "steps", "32" },
		{ "window_kcycles", "1000000" }, { "tick_ms", "100" },
		{ "profile_windows", "8" }, { "settle_windows", "1" },
		{ "min_rate", "25" }, { "phase_percent", "30" },
		{ "phase_confirm", "3" }, { "stack_rate", "0" }, { "budget", "15" },
		{ "sample_cost", "4000" }, { "profile_pages", "98304" },
		{ "pages_per_second", "16384" }, { "split_thp", "0" },
		{ "events/cycles", "type=0 config=0" },
		{ "events/instructions", "type=0 config=1" },
		{ "events/refs", "type=0 config=2" },
		{ "events/misses", "type=0 config=3" },
		{ "events/sample_hit", "type=4 config=0x4d1 precise=2" },
		{ "events/sample_miss", "type=4 config=0x20d1 precise=2" },
	};
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		snprintf(path, sizeof(path), MCUBE_ROCS "%s", defaults[i][0]);
		mcube_write(path, defaults[i][1]);
	}
}

static int write_events(const char * const *text)
{
	static const char * const names[] = {
		"cycles", "instructions", "refs", "misses", "sample_hit", "sample_miss",
	};
	char path[128];
	int ret = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && !ret; i++) {
		snprintf(path, sizeof(path), ROCS_EVENTS "%s", names[i]);
		ret = mcube_write(path, text[i]);
	}
	return ret;
}

/*
 * Describe events that this machine has.
 *
 * The stand-in: nanoseconds are cycles and accesses to the cache, page faults are
 * instructions, and each fault is a miss of the page that faults.  So a puppet decides
 * which pages are profiled, by faulting on them, and how fast it seems to be.  Each
 * instruction misses, so there are no phases.
 */
int rocs_events(enum rocs_pmu pmu)
{
	static const char * const standin[] = {
		"type=1 config=0", "type=1 config=2", "type=1 config=0",
		"type=1 config=2", "none", "type=1 config=2",
	};
	static const int model[] = { CYCLES, INSTRUCTIONS, LLC_REFS, LLC_MISSES, LLC_REFS };
	const char *text[6];
	char buf[5][64];
	long type;
	size_t i;

	if (pmu == ROCS_STANDIN)
		return write_events(standin);
	type = mcube_read_num(SIM_PMU "type");
	if (type < 0)
		return type;
	for (i = 0; i < ARRAY_SIZE(model); i++) {
		snprintf(buf[i], sizeof(buf[i]), "type=%ld config=%d", type, model[i]);
		text[i] = buf[i];
	}
	text[5] = "none";
	return write_events(text);
}

/* Return: NULL, or the reason why nothing can be tested. */
const char *rocs_begin(struct rocs_setup *s, enum rocs_pmu pmu)
{
	const char *why = rocs_unusable();

	mcube_save(&s->saved);
	if (!why && pmu == ROCS_MODEL)
		why = sim_unusable();
	if (why)
		return why;
	s->begun = true;
	/* A fault would map the pages around it, whose faults no sample shows then. */
	mcube_read(FAULT_AROUND, s->around, sizeof(s->around));
	mcube_write_num(FAULT_AROUND, PAGE_SIZE_);
	return NULL;
}

/* A directory on a disk for files.  NULL, or the reason why there is none. */
const char *rocs_disk(struct rocs_setup *s)
{
	const char *dir = mcube_disk(ROCS_DISK, &s->mounted);

	if (!dir)
		return "no ext4 on " MCUBE_DISK "; MCUBE_DISK_DIR may name a directory";
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	return NULL;
}

/* The allocator and the policy, with short windows and @share sixteenths reserved. */
int rocs_switch_on(struct rocs_setup *s, enum rocs_pmu pmu, const char *share)
{
	bool model = pmu == ROCS_MODEL;

	rocs_defaults();
	return mcube_write(MCUBE_ROCS "enabled", "0") ?:
	       rocs_events(pmu) ?:
	       mcube_write(MCUBE_ROCS "reserve", share) ?:
	       mcube_write(MCUBE_ROCS "tick_ms", "1") ?:
	       /* Cycles of the model; nanoseconds of the stand-in. */
	       mcube_write(MCUBE_ROCS "window_kcycles", model ? "20000" : WINDOW) ?:
	       mcube_write(MCUBE_ROCS "profile_windows", model ? "8" : "12") ?:
	       mcube_write(MCUBE_ROCS "settle_windows", model ? "1" : "2") ?:
	       /* The stand-in has a point without pages, and a point with all. */
	       mcube_write(MCUBE_ROCS "steps", model ? "16" : "1") ?:
	       mcube_write(MCUBE_ROCS "min_rate", "0") ?:
	       mcube_write(MCUBE_ROCS "budget", "1000") ?:
	       mcube_write(MCUBE_ROCS "sample_cost", "100") ?:
	       mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS) ?:
	       mcube_dim_from(&s->dim, MCUBE_MAP "color_map") ?:
	       mcube_write(MCUBE_ROCS "enabled", "1");
}

/* All as before rocs_begin().  Called in any case. */
int rocs_end(struct rocs_setup *s)
{
	int ret;

	if (!s->begun || !mcube_exists(MCUBE_ROCS "enabled"))
		return 0;
	ret = mcube_write(MCUBE_ROCS "enabled", "0");
	rocs_defaults();
	mcube_write(FAULT_AROUND, s->around);
	if (s->mounted && umount(ROCS_DISK) && !ret)
		ret = -errno;
	ret = ret ?: mcube_off();
	mcube_restore(&s->saved);
	return ret;
}

long rocs_stat(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), MCUBE_ROCS "stats/%s", name);
	return mcube_read_num(path);
}

/* Choose a process; 0: none. */
int rocs_choose(pid_t pid)
{
	if (!pid)
		return mcube_write(MCUBE_ROCS "pids", "\n");
	return mcube_write_num(MCUBE_ROCS "pids", pid);
}

int rocs_freeze(void)
{
	return mcube_write(MCUBE_ROCS "window_kcycles", ROCS_FOREVER);
}

/* Undo rocs_freeze(), with the stand-in. */
int rocs_thaw(void)
{
	return mcube_write(MCUBE_ROCS "window_kcycles", WINDOW);
}

static bool parse_line(const char *text, struct rocs_line *l)
{
	return sscanf(text, "%d %7s %7s %lu %u %u %u %d %u %u %u %u %u %*u %*u %*u %*u %*u %*u %31s",
		      &l->pid, l->why, l->state, &l->windows, &l->stack, &l->mapped,
		      &l->in, &l->gain, &l->searches, &l->rollbacks, &l->phases,
		      &l->period, &l->threads, l->comm) == 14;
}

/* Read the line of a target; false if the process is no target. */
bool rocs_target(pid_t pid, struct rocs_line *l)
{
	FILE *f = fopen(ROCS_DEBUGFS "/targets", "re");
	char text[512];
	bool found = false;

	while (f && !found && fgets(text, sizeof(text), f))
		found = parse_line(text, l) && l->pid == pid;
	if (f)
		fclose(f);
	return found;
}

/* Number of targets. */
int rocs_targets(void)
{
	FILE *f = fopen(ROCS_DEBUGFS "/targets", "re");
	struct rocs_line l;
	char text[512];
	int n = 0;

	if (!f)
		return -errno;
	while (fgets(text, sizeof(text), f))
		n += parse_line(text, &l);
	fclose(f);
	return n;
}

bool rocs_await_target(pid_t pid, struct rocs_line *l)
{
	double end = mcube_deadline(ROCS_DEADLINE);

	while (!rocs_target(pid, l)) {
		if (mcube_now() > end)
			return false;
		usleep(1000);
	}
	return true;
}

bool rocs_await_gone(pid_t pid)
{
	double end = mcube_deadline(ROCS_DEADLINE);
	struct rocs_line l;

	while (rocs_target(pid, &l)) {
		if (mcube_now() > end)
			return false;
		usleep(1000);
	}
	return true;
}

bool rocs_await_state(pid_t pid, const char *state, struct rocs_line *l)
{
	double end = mcube_deadline(ROCS_DEADLINE);

	while (!rocs_target(pid, l) || strcmp(l->state, state)) {
		if (mcube_now() > end)
			return false;
		usleep(ROCS_LOOK_US);
	}
	return true;
}

/*
 * Which of these pages does ROCS want in the partition?  @mapped may be NULL.
 * Return: their number.
 */
size_t rocs_mapped_pages(pid_t pid, const char *mem, size_t pages, bool *mapped)
{
	FILE *f = fopen(ROCS_DEBUGFS "/profile", "re");
	unsigned long long addr;
	char text[256], *last;
	size_t n = 0, i;
	int who;

	if (mapped)
		memset(mapped, 0, pages * sizeof(*mapped));
	while (f && fgets(text, sizeof(text), f)) {
		/* The last column is "mapped". */
		last = strrchr(text, ' ');
		if (sscanf(text, "%d %llx", &who, &addr) != 2 || who != pid ||
		    !last || atoi(last) != 1 || addr < (uintptr_t)mem)
			continue;
		i = (addr - (uintptr_t)mem) / PAGE_SIZE_;
		if (i >= pages)
			continue;
		n++;
		if (mapped)
			mapped[i] = true;
	}
	if (f)
		fclose(f);
	return n;
}

/*
 * Which of these pages are in the partition?  The map of the tests has the reserved
 * colors first.  @reserved may be NULL.  Return: their number.
 */
int rocs_reserved(const struct rocs_setup *s, pid_t pid, const char *mem, size_t pages,
		  bool *reserved)
{
	long nr = mcube_read_num(MCUBE_STATS "reserved_colors");
	uint64_t entry;
	char path[64];
	int fd, n = 0;
	bool in;
	size_t i;

	if (nr < 0)
		return nr;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (i = 0; i < pages; i++) {
		if (pread(fd, &entry, sizeof(entry), ((uintptr_t)mem / PAGE_SIZE_ + i) *
			  sizeof(entry)) != sizeof(entry))
			entry = 0;
		in = entry >> 63 &&
		     mcube_value(&s->dim, entry & ((1ULL << 55) - 1)) < (unsigned long)nr;
		n += in;
		if (reserved)
			reserved[i] = in;
	}
	close(fd);
	return n;
}

/* How many places are true in both? */
size_t rocs_count_both(const bool *a, const bool *b, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		n += a[i] && b[i];
	return n;
}
