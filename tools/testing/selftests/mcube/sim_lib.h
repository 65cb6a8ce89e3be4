/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of the mcube_sim PMU share: events, groups and samples
 * by the bare system call, and memory that is touched in a known number of lines.
 */
#ifndef _SELFTEST_MCUBE_SIM_LIB_H
#define _SELFTEST_MCUBE_SIM_LIB_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_PMU		"/sys/bus/event_source/devices/mcube_sim/"
#define SIM_MACHINE	SIM_PMU "machine/"

/* Numbers of the events, as in drivers/mcube/sim/shm.h. */
enum {
	CYCLES, INSTRUCTIONS, ACCESSES, STORES, L1_MISSES, L2_MISSES, LLC_REFS,
	LLC_MISSES, LLC_WRITEBACKS, LLC_STOLEN, PREFETCHES, DRAM_ACCESSES,
	ROW_HITS, ROW_EMPTY, ROW_CONFLICTS, BANK_WAITS, COHERENCE_MISSES, NR_EVENTS
};

extern const char *const sim_event_name[NR_EVENTS];

/* NULL, or the reason why nothing can be tested. */
const char *sim_unusable(void);

/* The last level of the modelled machine. */
long sim_line(void);
long sim_llc_lines(void);

/* Events. Descriptors, or a negative errno. */
struct perf_event_attr sim_attr(unsigned int event);
int sim_open_attr(struct perf_event_attr *attr, pid_t pid, int cpu, int group);
int sim_open(unsigned int event, pid_t pid, int cpu);
int sim_on(int fd);
int sim_off(int fd);
long long sim_read(int fd);

/* Samples. */
#define SIM_SAMPLE_TYPE	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | \
			 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |		      \
			 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |	      \
			 PERF_SAMPLE_PHYS_ADDR)

struct sim_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t addr;
	uint32_t cpu, reserved;
	uint64_t period;
	uint64_t weight;
	uint64_t data_src;
	uint64_t phys;
};

struct sim_samples {
	struct sim_sample *s;
	size_t n;
	uint64_t lost;		/* samples that perf reports as lost */
	uint64_t throttled;
	uint64_t sum;		/* of their periods */
};

struct sim_sampler {
	int fd;
	void *map;
};

struct perf_event_attr sim_sample_attr(unsigned int event, uint64_t period);
int sim_sample(struct sim_sampler *p, struct perf_event_attr *attr, pid_t pid,
	       int cpu, int group);
void sim_collect(struct sim_sampler *p, struct sim_samples *out);
void sim_samples_free(struct sim_samples *out);
void sim_close(struct sim_sampler *p);

/* Memory. */
char *sim_memory(size_t lines);
void sim_load(const char *p, size_t lines);
void sim_store(char *p, size_t lines);
bool sim_is_load(uint64_t ip);
bool sim_is_store(uint64_t ip);

/* Made by the linker: the addresses of the instructions that touch memory. */
extern const char __start_simload[], __stop_simload[];
extern const char __start_simstore[], __stop_simstore[];

/* A task on one CPU that waits for its start, then works in rounds. */
struct sim_task {
	pid_t pid;
	int go;
};

int sim_task_start(struct sim_task *t, int cpu, char *p, size_t lines,
		   unsigned int rounds, bool polite);
void sim_task_go(struct sim_task *t);
int sim_task_wait(struct sim_task *t);

#endif /* _SELFTEST_MCUBE_SIM_LIB_H */
