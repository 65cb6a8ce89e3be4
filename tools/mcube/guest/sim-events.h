/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting a part of a program with the events of perf's mcube_sim
 *
 * sim_find() looks the events up.  sim_open() opens them for the calling thread, or
 * sim_open_on() for a CPU, without starting them, which switches the model on.  Accesses before
 * sim_start() warm up the caches and are not counted.
 */

#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU		"/sys/bus/event_source/devices/mcube_sim/"

static const char * const sim_events[] = {
	"cycles", "instructions", "accesses", "llc_refs", "llc_misses",
	"dram_accesses", "row_hits", "row_empty", "row_conflicts", "bank_waits",
};

#define NR_EVENTS	(sizeof(sim_events) / sizeof(sim_events[0]))

static uint32_t sim_type, sim_config[NR_EVENTS];

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

static long sim_number(const char *file, const char *format)
{
	char path[256];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), PMU "%s", file);
	f = fopen(path, "r");
	if (!f || fscanf(f, format, &value) != 1) {
		fprintf(stderr, "%s: no %s: needs a kernel with CONFIG_MCUBE_SIM on the modelled machine\n",
			program_invocation_short_name, path);
		exit(1);
	}
	fclose(f);
	return value;
}

static void sim_find(void)
{
	char name[64];

	sim_type = sim_number("type", "%li");
	for (size_t i = 0; i < NR_EVENTS; i++) {
		snprintf(name, sizeof(name), "events/%s", sim_events[i]);
		sim_config[i] = sim_number(name, "event=%li");
	}
}

/* Count on a CPU whatever runs there, or with cpu -1 the calling thread alone. */
static void sim_open_on(int *fd, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = sim_type, .disabled = 1,
	};

	for (size_t i = 0; i < NR_EVENTS; i++) {
		attr.config = sim_config[i];
		fd[i] = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1,
				PERF_FLAG_FD_CLOEXEC);
		if (fd[i] < 0)
			die("perf_event_open");
	}
}

static inline void sim_open(int *fd)
{
	sim_open_on(fd, -1);
}

static void sim_start(const int *fd)
{
	for (size_t i = 0; i < NR_EVENTS; i++)
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
}

static inline void sim_stop(const int *fd, uint64_t *value)
{
	for (size_t i = 0; i < NR_EVENTS; i++)
		ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < NR_EVENTS; i++)
		if (read(fd[i], &value[i], sizeof(value[i])) !=
		    sizeof(value[i]))
			die("read of an event");
}

#endif /* SIM_EVENTS_H */
