/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of ROCS share: the module, its settings and what it says
 * of its targets; puppets, processes whose samples and whose speed a test controls;
 * polluters, programs for a modelled machine.
 *
 * Functions that can fail return a negative errno unless said otherwise.
 */
#ifndef _SELFTEST_MCUBE_ROCS_LIB_H
#define _SELFTEST_MCUBE_ROCS_LIB_H

#include "mcube_lib.h"

#define ROCS_DEBUGFS	"/sys/kernel/debug/mcube/rocs"
#define ROCS_NAME	"mcube_rocs"
#define ROCS_MODULE	"/lib/modules/mcube_rocs.ko"
#define ROCS_DISK	"/tmp/mcube-rocs"

/* Every wait ends after so many seconds; a wait that succeeds is shorter by far. */
#define ROCS_DEADLINE	120.0

/*
 * Microseconds between two looks at a state.  On the modelled machine a look evicts lines of
 * the program that is measured, and the slower the host, the more looks fall into a window.  A
 * state lasts for several windows of 40 ms and more: longer than four looks.
 */
#define ROCS_LOOK_US	10000

/* A prime: samples at any period find each page. */
#define ROCS_PAGES	191UL
#define ROCS_MOST_PAGES	(8 * HUGE_PAGES)

/* Long windows: the plan stays where it is. */
#define ROCS_FOREVER	"100000000"

/* The module. */
int rocs_load(void);
int rocs_unload(void);
bool rocs_is_loadable(void);
const char *rocs_unusable(void);

/* Which events ROCS is given. */
enum rocs_pmu {
	ROCS_STANDIN,		/* the clock and page faults: on every machine */
	ROCS_MODEL,		/* the PMU of a modelled machine */
};

struct rocs_setup {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char dir[128], around[32];
	bool begun, mounted;
};

void rocs_defaults(void);
int rocs_events(enum rocs_pmu pmu);
const char *rocs_begin(struct rocs_setup *s, enum rocs_pmu pmu);
const char *rocs_disk(struct rocs_setup *s);
int rocs_switch_on(struct rocs_setup *s, enum rocs_pmu pmu, const char *share);
int rocs_end(struct rocs_setup *s);
long rocs_stat(const char *name);
int rocs_choose(pid_t pid);
int rocs_freeze(void);
int rocs_thaw(void);

/* A line of the file "targets". */
struct rocs_line {
	int pid;
	char why[8], state[8];
	unsigned long windows;
	unsigned int stack, mapped, in;
	int gain;
	unsigned int searches, rollbacks, phases, period, threads;
	char comm[32];
};

bool rocs_target(pid_t pid, struct rocs_line *l);
int rocs_targets(void);
bool rocs_await_target(pid_t pid, struct rocs_line *l);
bool rocs_await_gone(pid_t pid);
bool rocs_await_state(pid_t pid, const char *state, struct rocs_line *l);

/* Pages of any process. */
size_t rocs_mapped_pages(pid_t pid, const char *mem, size_t pages, bool *mapped);
int rocs_reserved(const struct rocs_setup *s, pid_t pid, const char *mem, size_t pages,
		  bool *reserved);
size_t rocs_count_both(const bool *a, const bool *b, size_t nr);

/* Puppets ---------------------------------------------------------------- */

/* What a puppet does all the time, beside using all its pages. */
enum rocs_play {
	ROCS_FAULT,	/* each page is unmapped, and mapped by a fault */
	ROCS_SLOWER,	/* instructions, as the stand-in counts them, are rare */
	ROCS_SLOW,
	ROCS_GAIN,	/* slow while no page shall be in the partition, else fast */
};

/* In memory that test and puppet share. */
struct rocs_puppet {
	pid_t pid;
	/* Makes the pages, in the puppet; NULL if that fails. */
	char *(*map)(struct rocs_puppet *p);
	const char *path;	/* of a file, for @map */
	size_t pages;
	bool reads;		/* contents are compared, and never written */
	char *mem;
	enum rocs_play play;
	int ready, stop;
	/* A function that the puppet shall run, and what that returned. */
	int (*op)(struct rocs_puppet *p);
	int ret;
	long rounds;		/* of the use of all pages */
	long wrong;		/* pages that had other contents than were written */
	size_t next;		/* the page that is used next, and that faults next */
	size_t next_fault;
	bool inside;		/* pages shall be in the partition, when it looked last */
	double pulsed;		/* when instructions were few: the time of the last */
	char *pulse;
	uint64_t expected[ROCS_MOST_PAGES];
};

char *rocs_map_anon(struct rocs_puppet *p);
char *rocs_map_huge(struct rocs_puppet *p);
char *rocs_map_file_shared(struct rocs_puppet *p);
char *rocs_map_file_private(struct rocs_puppet *p);

struct rocs_puppet *rocs_puppet(char *(*map)(struct rocs_puppet *p), size_t pages,
				const char *path);
int rocs_puppet_do(struct rocs_puppet *p, int (*op)(struct rocs_puppet *p));
bool rocs_puppet_worked(struct rocs_puppet *p);
int rocs_puppet_end(struct rocs_puppet *p);
bool rocs_lead_to_profile(struct rocs_puppet *p, struct rocs_line *l);
bool rocs_lead_to_hold(struct rocs_puppet *p, struct rocs_line *l);
uint64_t rocs_tag(size_t page);

/* Polluters -------------------------------------------------------------- */

struct rocs_polluter {
	pid_t pid;
	size_t reused_pages, streamed_pages;
	/* Two arrays of each kind: of each phase. */
	char *reused[2], *streamed[2];
	int phase, stop, ready;
	long rounds;
};

struct rocs_polluter *rocs_polluter(void);
int rocs_polluter_end(struct rocs_polluter *p);

#endif /* _SELFTEST_MCUBE_ROCS_LIB_H */
