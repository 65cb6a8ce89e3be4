// SPDX-License-Identifier: GPL-2.0
/*
 * Steps of mcube_fuzz.c: random writes to the control files, use of memory, and
 * neighbours.  All choices come from the seed.
 *
 * A process that is alone also checks that an accepted value can be read back,
 * and that a refused one changed nothing.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"
#include "fuzz_steps.h"
#include "input_lib.h"
#include "rocs_lib.h"
#include "setcache_lib.h"
#include "srm_lib.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define TRACING		"/sys/kernel/tracing/"
#define CPUS		"/sys/devices/system/cpu"
#define BLOCKS		8

#define ERROR(e)	((e) < 64 ? 1ULL << (e) : NOT_SUPPORTED)
#define NOT_SUPPORTED	(1ULL << 63)	/* EOPNOTSUPP is 95 */

static const char * const switches[] = { "0", "1", "1", "1", NULL };
static const char * const color_maps[] = {
	"none", "0x1000", "0x8000 0x10000", MCUBE_TEST_COLORS,
	"0x1000 0x2000 0x4000 table:8:0,1,2", "table:0:0,1,2",
	"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000", NULL
};

static const char * const bank_maps[] = {
	"none", "0x2000", MCUBE_TEST_BANKS, "0x12000 table:4:0,1,2 table:0:0,1",
	"0x24000 0x48000 0x90000 0x120000 0x240000 0x480000 0x900000 0x1000",
	NULL
};

static const char * const fill_orders[] = { "shuffle", "paper", "even", "auto", NULL };
static const char * const container_orders[] = { "9", "10", NULL };
static const char * const cluster_orders[] = { "0", "1", "3", "5", NULL };
static const char * const tls[] = { "1", "16", "256", "4096", NULL };
static const char * const modes[] = { SRM_MODE_SEGMENTS, "stateless", NULL };
static const char * const group_orders[] = { "auto", "0", "1", "2", "3", "4", NULL };
static const char * const lends[] = { "0", "1", "10", "3600", NULL };
static const char * const reserves[] = { "0", "1", "2", "8", NULL };
static const char * const reuses[] = { "0", "1", "16", "64", NULL };
static const char * const shares[] = { "1", "2", "4", "8", NULL };
static const char * const windows[] = { "1000", "2000", "10000", "100000000", NULL };
static const char * const ticks[] = { "1", "5", "10", NULL };
static const char * const few[] = { "1", "2", "3", NULL };
static const char * const percents[] = { "0", "25", "100", NULL };
static const char * const budgets[] = { "1", "20", "1000", NULL };
static const char * const costs[] = { "100", "4000", "1000000", NULL };
static const char * const profiles[] = { "3072", "98304", NULL };
static const char * const rates[] = { "64", "16384", "1048576", NULL };
static const char * const searches[] = { "linear", "coarse", NULL };
static const char * const chosen[] = { "1", "\n", NULL };
static const char * const cgroups[] = { "/", "\n", NULL };
/* Events of every machine, and an event that no machine has. */
static const char * const counted[] = {
	"type=1 config=0x0 config1=0x0 config2=0x0 precise=0",
	"type=1 config=0x2 config1=0x0 config2=0x0 precise=0",
	"type=1 config=0x2 config1=0x0 config2=0x0 precise=0", NULL
};

static const char * const sampled[] = {
	"type=1 config=0x2 config1=0x0 config2=0x0 precise=0",
	"type=1 config=0x5 config1=0x0 config2=0x0 precise=0",
	"type=99 config=0x0 config1=0x0 config2=0x0 precise=0", "none", NULL
};

static const char * const read_modes[] = { "off", "random", "all", "all", NULL };
static const char * const policies[] = { "lru", "lfu", "nrlfu", "s3fifo", NULL };
static const char * const numa_modes[] = { "interleave", "hash-home", "message", NULL };
static const char * const sizes[] = { "1", "2", "3", "8", NULL };

static const char * const no_order[] = { "8", "11", "64", "4294967295", NULL };
static const char * const no_tl[] = { "0", "4097", "65536", "4294967295", NULL };
static const char * const no_group_order[] = { "5", "255", "Auto", "auto auto", NULL };
static const char * const no_lend[] = { "3601", "86400", "4294967295", NULL };
static const char * const no_share[] = { "65", "255", "4294967295", NULL };
static const char * const no_number[] = { "100000001", "4294967295", "x", NULL };
static const char * const no_size[] = { "0", "1048576", "4294967295", NULL };
static const char * const no_choice[] = { "0", "none", "[paper]", "shuffle stateless", NULL };
static const char * const no_pids[] = { "0", "2", "-1", "1 x", "4194304", NULL };
static const char * const no_cgroup[] = { "/mcube-none", "mcube-none", "/../..", NULL };

static const char * const no_event[] = {
	"type=", "config=1", "type=1 precise=4", "none none", "type=1,config=2", NULL
};

static const char * const no_hint[] = {
	"color=256", "bank=256", "color", "color=1 color=1", "none none", NULL
};

/*
 * A file, how often it is chosen, the switch that must be in a position before
 * the file accepts a text, valid and invalid texts, and the errors that a valid
 * text may get nevertheless.  A hint has no list of valid texts, as its range
 * follows from the map.
 */
static const struct control {
	const char *path;
	unsigned int weight;
	const char *needs, *position;
	const char * const *valid, * const *invalid;
	uint64_t errors;
} controls[] = {
	{ MCUBE_MAP "color_map", 2, MCUBE_ALLOC "enabled", "0", color_maps,
	  input_bad_maps, ERROR(EBUSY) },
	{ MCUBE_MAP "bank_map", 2, MCUBE_ALLOC "enabled", "0", bank_maps,
	  input_bad_maps, ERROR(EBUSY) },
	{ MCUBE_ALLOC "enabled", 4, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_ALLOC ALLOC_FILL_ORDER, 1, NULL, NULL, fill_orders, no_choice, 0 },
	{ MCUBE_ALLOC "container_order", 1, MCUBE_ALLOC "enabled", "0",
	  container_orders, no_order, ERROR(EBUSY) },
	{ MCUBE_ALLOC "cluster_order", 1, MCUBE_ALLOC "enabled", "0",
	  cluster_orders, no_order, ERROR(EBUSY) },
	{ MCUBE_SRM "enabled", 4, MCUBE_ALLOC "enabled", "1", switches,
	  input_bad_switch,
	  ERROR(ENODEV) | ERROR(EOPNOTSUPP) | ERROR(ERANGE) },
	{ MCUBE_SRM "tl", 1, NULL, NULL, tls, no_tl, 0 },
	{ MCUBE_SRM "mode", 1, NULL, NULL, modes, no_choice, 0 },
	{ MCUBE_SRM SRM_GROUP_ORDER, 1, MCUBE_SRM "enabled", "0",
	  group_orders, no_group_order, ERROR(EBUSY) },
	{ MCUBE_SRM "reserve", 1, MCUBE_SRM "enabled", "0", reserves,
	  no_share, ERROR(EBUSY) },
	{ MCUBE_SRM "lend", 1, NULL, NULL, lends, no_lend, 0 },
	{ MCUBE_SRM SRM_REUSE, 1, NULL, NULL, reuses, no_share, 0 },
	{ MCUBE_SRM "vm_hop", 1, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_SRM SRM_RECLAIM, 1, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_UBM "enabled", 4, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_SETCACHE "mode", 4, NULL, NULL, read_modes, no_choice, ERROR(ENOMEM) },
	{ MCUBE_SETCACHE "policy", 1, NULL, NULL, policies, no_choice, 0 },
	{ MCUBE_SETCACHE "numa", 1, NULL, NULL, numa_modes, no_choice, ERROR(ENOMEM) },
	{ MCUBE_SETCACHE "size_mib", 2, NULL, NULL, sizes, no_size, ERROR(ENOMEM) },
	/* With the events as after loading, on a machine without PMU: ENXIO. */
	{ MCUBE_ROCS "enabled", 4, MCUBE_ALLOC "enabled", "1", switches,
	  input_bad_switch, ERROR(ENXIO) | ERROR(ENODEV) | ERROR(EOPNOTSUPP) | ERROR(ERANGE) },
	{ MCUBE_ROCS "reserve", 1, MCUBE_ROCS "enabled", "0", shares, no_share, ERROR(EBUSY) },
	{ MCUBE_ROCS "pids", 2, NULL, NULL, chosen, no_pids, 0 },
	{ MCUBE_ROCS "cgroup", 1, NULL, NULL, cgroups, no_cgroup, 0 },
	{ MCUBE_ROCS "auto", 2, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_ROCS "search", 1, NULL, NULL, searches, no_choice, 0 },
	{ MCUBE_ROCS "steps", 1, NULL, NULL, shares, no_share, 0 },
	{ MCUBE_ROCS "window_kcycles", 1, NULL, NULL, windows, no_number, 0 },
	{ MCUBE_ROCS "tick_ms", 1, NULL, NULL, ticks, no_number, 0 },
	{ MCUBE_ROCS "profile_windows", 1, NULL, NULL, few, no_number, 0 },
	{ MCUBE_ROCS "settle_windows", 1, NULL, NULL, few, no_number, 0 },
	{ MCUBE_ROCS "min_rate", 1, NULL, NULL, percents, no_number, 0 },
	{ MCUBE_ROCS "phase_percent", 1, NULL, NULL, few, no_number, 0 },
	{ MCUBE_ROCS "phase_confirm", 1, NULL, NULL, few, no_number, 0 },
	{ MCUBE_ROCS "stack_rate", 1, NULL, NULL, percents, no_number, 0 },
	{ MCUBE_ROCS "budget", 1, NULL, NULL, budgets, no_number, 0 },
	{ MCUBE_ROCS "sample_cost", 1, NULL, NULL, costs, no_number, 0 },
	{ MCUBE_ROCS "profile_pages", 1, NULL, NULL, profiles, no_number, 0 },
	{ MCUBE_ROCS "pages_per_second", 1, NULL, NULL, rates, no_number, 0 },
	{ MCUBE_ROCS "split_thp", 1, NULL, NULL, switches, input_bad_switch, 0 },
	{ MCUBE_ROCS "prefetch_off", 1, NULL, NULL, switches, input_bad_switch,
	  ERROR(EOPNOTSUPP) },
	{ ROCS_EVENTS "cycles", 1, MCUBE_ROCS "enabled", "0", counted, no_event, ERROR(EBUSY) },
	{ ROCS_EVENTS "instructions", 1, MCUBE_ROCS "enabled", "0", counted, no_event,
	  ERROR(EBUSY) },
	{ ROCS_EVENTS "refs", 1, MCUBE_ROCS "enabled", "0", counted, no_event, ERROR(EBUSY) },
	{ ROCS_EVENTS "misses", 1, MCUBE_ROCS "enabled", "0", counted, no_event, ERROR(EBUSY) },
	{ ROCS_EVENTS "sample_hit", 1, MCUBE_ROCS "enabled", "0", sampled, no_event,
	  ERROR(EBUSY) },
	{ ROCS_EVENTS "sample_miss", 1, MCUBE_ROCS "enabled", "0", sampled, no_event,
	  ERROR(EBUSY) },
	/* Between the choice of a text and its write the map may change. */
	{ MCUBE_HINT, 3, NULL, NULL, NULL, no_hint, ERROR(ERANGE) },
};

struct writer {
	uint64_t rnd;
	bool alone;		/* no other writer */
	int fail;		/* opened once: to open a file may fail too */
	const char *dir, *file;
	long wrong;
};

/* Read by the writers. */
static char blocks[BLOCKS][96];
static int nr_blocks;
static bool verbose, rocs_loaded, setcache_loaded;

static unsigned int below(uint64_t *rnd, unsigned int n)
{
	return mcube_random(rnd) % n;
}

static unsigned int nr_texts(const char * const *list)
{
	unsigned int n = 0;

	while (list[n])
		n++;
	return n;
}

static const char *any(uint64_t *rnd, const char * const *list)
{
	return list[below(rnd, nr_texts(list))];
}

static bool is_there(const struct control *c)
{
	if (!strncmp(c->path, MCUBE_ROCS, strlen(MCUBE_ROCS)))
		return rocs_loaded;
	return setcache_loaded || strncmp(c->path, MCUBE_SETCACHE, strlen(MCUBE_SETCACHE));
}

static const struct control *any_control(struct writer *w)
{
	const struct control *c;
	unsigned int i, sum = 0;

	for (i = 0; i < ARRAY_SIZE(controls); i++)
		sum += controls[i].weight;
	do {
		i = below(&w->rnd, sum);
		for (c = controls; i >= c->weight; c++)
			i -= c->weight;
	} while (!is_there(c));
	return c;
}

/* The first line of the text is enough to know it again. */
static void tell(const char *path, const char *what, const char *text, int ret)
{
	ksft_print_msg("%d: %s: %s: \"%.*s\" gave %d\n", getpid(), path, what,
		       (int)strcspn(text, "\n"), text, ret);
}

static void complain(struct writer *w, const char *path, const char *text,
		     const char *why, int ret)
{
	w->wrong++;
	tell(path, why, text, ret);
}

/* Writes ----------------------------------------------------------------- */

static void wake_up(int sig)
{
}

/*
 * Again every 100 ms: a write that waits for the hotplug lock is restarted after a signal,
 * and then tries without end to empty a block that has a page which cannot move.
 */
static void signal_in(unsigned int usec)
{
	struct itimerval t = {
		.it_value = { .tv_usec = usec },
		.it_interval = { .tv_usec = usec ? 100000 : 0 },
	};

	setitimer(ITIMER_REAL, &t, NULL);
}

/* Does the file show the value that it accepted? */
static bool shows(const char *path, const char *text)
{
	char back[1024], bracketed[64];
	int len = strcspn(text, "\n");

	if (mcube_read(path, back, sizeof(back)) < 0)
		return false;
	snprintf(bracketed, sizeof(bracketed), "[%.*s]", len, text);
	return strstr(back, bracketed) ||
	       (strlen(back) == (size_t)len && !strncmp(back, text, len));
}

/* Write text that must get no error, or one of @errors. */
static void put(struct writer *w, const struct control *c, const void *text,
		size_t len, bool valid, uint64_t errors)
{
	char before[INPUT_SNAPSHOT], after[INPUT_SNAPSHOT];
	bool fails = !below(&w->rnd, 8);
	bool interrupted = !below(&w->rnd, 8);
	unsigned int usec = 1 + below(&w->rnd, 20000);
	int ret;

	if (w->alone)
		input_snapshot(before, sizeof(before));
	fails = fails && pwrite(w->fail, "1", 1, 0) == 1;
	if (interrupted)
		signal_in(usec);
	ret = mcube_write_bytes(c->path, text, len);
	signal_in(0);
	if (fails)
		pwrite(w->fail, "0", 1, 0);
	if (verbose)
		tell(c->path, "write", text, ret);

	errors |= fails ? ERROR(ENOMEM) : 0;
	errors |= interrupted ? ERROR(EINTR) : 0;
	if (ret > 0 || (!ret && !valid))
		complain(w, c->path, text, "accepted", ret);
	else if (ret && valid && !(errors & ERROR(-ret)))
		complain(w, c->path, text, "an error that it may not give", ret);
	else if (ret == -EIO)
		complain(w, c->path, text, "a part was accepted", ret);
	if (!w->alone)
		return;
	input_snapshot(after, sizeof(after));
	if (ret && strcmp(before, after)) {
		complain(w, c->path, text, "refused, but settings changed", ret);
		ksft_print_msg("before:\n%safter:\n%s", before, after);
	}
	if (!ret && !shows(c->path, text))
		complain(w, c->path, text, "accepted, but reads otherwise", ret);
}

static void valid_text(struct writer *w, const struct control *c, char *text,
		       size_t size)
{
	unsigned int colors, banks, kind;

	if (c->valid) {
		snprintf(text, size, "%s%s", any(&w->rnd, c->valid),
			 below(&w->rnd, 2) ? "\n" : "");
		return;
	}
	colors = mcube_read_num(MCUBE_MAP "nr_colors");
	banks = mcube_read_num(MCUBE_MAP "nr_banks");
	kind = below(&w->rnd, 4);
	colors = below(&w->rnd, colors);
	banks = below(&w->rnd, banks);
	if (!kind)
		snprintf(text, size, "none");
	else if (kind == 1)
		snprintf(text, size, "color=%u", colors);
	else if (kind == 2)
		snprintf(text, size, "bank=%u", banks);
	else
		snprintf(text, size, "color=%u bank=%u", colors, banks);
}

static void write_valid(struct writer *w)
{
	const struct control *c = any_control(w);
	char text[128];

	if (c->needs && below(&w->rnd, 4))
		mcube_write(c->needs, c->position);
	valid_text(w, c, text, sizeof(text));
	put(w, c, text, strlen(text), true, c->errors);
}

static void write_invalid(struct writer *w)
{
	const struct control *c = any_control(w);
	const char * const *list = c->invalid;
	const char *text;

	/* Some of these numbers are PIDs, and blanks are no PID and no cgroup. */
	if (list != input_bad_maps && list != no_pids && list != no_cgroup &&
	    below(&w->rnd, 2))
		list = input_bad_numbers;
	text = any(&w->rnd, list);
	put(w, c, text, strlen(text), false, 0);
}

/* A valid text with something behind it that no file accepts. */
static void write_too_much(struct writer *w)
{
	static const char fill[] = { ' ', '\0', '0', '\xff' };
	const struct control *c = any_control(w);
	char text[5000];
	size_t len;

	memset(text, fill[below(&w->rnd, ARRAY_SIZE(fill))], sizeof(text));
	valid_text(w, c, text, 128);
	len = strlen(text);
	/* After the text and its end come a few bytes, or more than a page. */
	text[len] = '\0';
	put(w, c, text, below(&w->rnd, 2) ? len + 5 : sizeof(text), false, 0);
}

/* Use of memory ---------------------------------------------------------- */

static void use_memory(struct writer *w)
{
	static const unsigned int kinds[] = {
		MCUBE_ANON, MCUBE_FORK, MCUBE_FILE
	};
	unsigned int kind = below(&w->rnd, ARRAY_SIZE(kinds) + 1);
	size_t pages = 8 + below(&w->rnd, FUZZ_PAGES);
	uint64_t tag = mcube_random(&w->rnd) << 8;
	long wrong = 0;

	if (kind < ARRAY_SIZE(kinds))
		wrong = mcube_load_once(kinds[kind], w->dir, tag, pages);
	else if (below(&w->rnd, 2))
		srm_write_file(w->file, FUZZ_PAGES);
	else if (mcube_exists(w->file))
		wrong = srm_read_file(w->file, FUZZ_PAGES) ? 1 : 0;
	if (wrong) {
		w->wrong++;
		ksft_print_msg("%ld wrong pages\n", wrong);
	}
}

/*
 * A child without rights keeps the hint of its parent, opens no file, and uses
 * memory.
 */
static void be_nobody(struct writer *w)
{
	const struct control *c;
	int status, fd, i;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return;
	if (pid) {
		waitpid(pid, &status, 0);
		w->wrong += status != 0;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w->wrong = setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY);
	for (i = 0; i < 4; i++) {
		c = any_control(w);
		fd = open(c->path, O_WRONLY);
		if (fd >= 0 || (errno != EACCES && errno != EPERM))
			complain(w, c->path, "", "opened by a normal user", fd);
	}
	if (mcube_load_once(MCUBE_ANON, NULL, mcube_random(&w->rnd) << 8,
			    8 + below(&w->rnd, FUZZ_PAGES)))
		w->wrong++;
	fflush(NULL);
	_exit(w->wrong != 0);
}

static int read_file(const char *path, const struct stat *st, int type,
		     struct FTW *at)
{
	char text[4096];

	return type == FTW_F && mcube_read(path, text, sizeof(text)) < 0;
}

static void read_all(struct writer *w)
{
	if (nftw(MCUBE_DIR, read_file, 8, FTW_PHYS) ||
	    nftw(DEBUGFS "mcube", read_file, 8, FTW_PHYS)) {
		w->wrong++;
		ksft_print_msg("a file of mcube cannot be read\n");
	}
}

/* Neighbours ------------------------------------------------------------- */

static const char * const traced[] = {
	"mcube_alloc", "mcube_srm", "mcube_ubm", "mcube_rocs", "mcube_setcache", NULL
};

/* Tracepoints of a system; those of a module that is not loaded do not exist. */
static void set_traced(const char *system, const char *on)
{
	char path[128];

	snprintf(path, sizeof(path), TRACING "events/%s/enable", system);
	mcube_write(path, on);
}

static void set_cpu(unsigned int cpu, const char *online)
{
	char path[128];

	snprintf(path, sizeof(path), CPUS "/cpu%u/online", cpu);
	mcube_write(path, online);
}

static void disturb(struct writer *w)
{
	static const char * const huge[] = { "always", "madvise", "never", NULL };
	unsigned int cpus = get_nprocs_conf();
	unsigned int which = below(&w->rnd, 7);
	const char *block;
	char text[4096];

	switch (which) {
	case 0:
		mcube_write_num("/proc/sys/vm/drop_caches",
				1 + below(&w->rnd, 3));
		break;
	case 1:
		mcube_write("/proc/sys/vm/compact_memory", "1");
		break;
	case 2:
		mcube_write_num(MCUBE_POOL, below(&w->rnd, 4));
		break;
	case 3:
		mcube_write(FUZZ_THP, any(&w->rnd, huge));
		break;
	case 4:
		if (!nr_blocks)
			break;
		block = blocks[below(&w->rnd, nr_blocks)];
		/* The kernel retries until the signal comes. */
		signal_in(900000);
		mcube_write(block, "offline");
		signal_in(0);
		if (below(&w->rnd, 4))
			mcube_write(block, "online");
		break;
	case 5:
		if (cpus < 2)
			break;
		which = 1 + below(&w->rnd, cpus - 1);
		set_cpu(which, "0");
		if (below(&w->rnd, 4))
			set_cpu(which, "1");
		break;
	case 6:
		set_traced(any(&w->rnd, traced), any(&w->rnd, switches));
		/* Events become text when they are read. */
		mcube_read(TRACING "trace", text, sizeof(text));
		break;
	}
}

static const struct {
	unsigned int weight;
	void (*run)(struct writer *w);
} steps[] = {
	{ 48, write_valid }, { 10, write_invalid }, { 3, write_too_much },
	{ 24, use_memory }, { 5, be_nobody }, { 3, read_all }, { 7, disturb },
};

void fuzz_write(uint64_t seed, bool alone, const char *dir)
{
	struct writer w = { .rnd = seed, .alone = alone, .dir = dir };
	struct sigaction wake = { .sa_handler = wake_up };
	unsigned int i, n, step;
	char file[128];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGALRM, &wake, NULL);
	snprintf(file, sizeof(file), "%s/mcube-fuzz-%d", dir, getpid());
	w.file = file;
	w.fail = open(MCUBE_FAIL, O_WRONLY | O_CLOEXEC);
	for (step = 0; step < FUZZ_STEPS && !w.wrong; step++) {
		n = below(&w.rnd, 100);
		for (i = 0; n >= steps[i].weight; i++)
			n -= steps[i].weight;
		steps[i].run(&w);
	}
	unlink(file);
	fflush(NULL);
	_exit(w.wrong != 0);
}

bool fuzz_knows(const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(controls); i++)
		if (!strcmp(controls[i].path, path))
			return true;
	return false;
}

/* Online memory blocks with the highest addresses, as their files. */
static void find_blocks(void)
{
	char path[96], state[32];
	int i;

	nr_blocks = 0;
	for (i = 4095; i >= 0 && nr_blocks < BLOCKS; i--) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/memory/memory%d/state", i);
		if (mcube_read(path, state, sizeof(state)) > 0 &&
		    !strcmp(state, "online"))
			strcpy(blocks[nr_blocks++], path);
	}
}

void fuzz_restore(void)
{
	unsigned int cpus = get_nprocs_conf(), cpu, try;
	char state[32];
	int i;

	for (cpu = 1; cpu < cpus; cpu++)
		set_cpu(cpu, "1");
	for (i = 0; i < nr_blocks; i++)
		/* Memory may be short for a moment. */
		for (try = 0; try < 20; try++) {
			if (mcube_read(blocks[i], state, sizeof(state)) > 0 &&
			    !strcmp(state, "online"))
				break;
			mcube_write(blocks[i], "online");
			usleep(100000);
		}
	mcube_write(MCUBE_POOL, "0");
	for (i = 0; traced[i]; i++)
		set_traced(traced[i], "0");
}

void fuzz_begin(void)
{
	verbose = mcube_env("MCUBE_FUZZ_VERBOSE", 0);
	rocs_loaded = !rocs_unusable();
	setcache_loaded = !setcache_unusable();
	/* The default takes a large part of the memory. */
	mcube_write(MCUBE_SETCACHE "size_mib", "8");
	find_blocks();
	mcube_faults("10");
}

void fuzz_end(void)
{
	mcube_faults("0");
	fuzz_restore();
	if (!setcache_unusable())
		setcache_defaults();
	if (rocs_unusable())
		return;
	mcube_write(MCUBE_ROCS "enabled", "0");
	rocs_defaults();
}
