/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The threads of a load, which count its passes with the events of perf's mcube_sim
 *
 *	team_run()	open the events, prepare memory | warm up | count passes | end
 *	team_print()	the "EVENT VALUE" lines
 *
 * Thread i runs on CPU i.  All threads wait for each other at each "|", and begin to count
 * at one time (team_meet()).  The threads open the events before they prepare memory, so
 * that the model runs all along and CPUs take turns in modelled time during the faults.
 */

#ifndef TEAM_H
#define TEAM_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sim-events.h"

#define TEAM_MOST	16

/**
 * struct team - what the threads do
 * @nr:		number of threads
 * @warm:	passes that warm up
 * @passes:	passes that are counted
 * @blind:	count nothing and run on any CPU, as it suits a machine without a model
 * @prepare:	takes and faults in memory; gets the number of the thread
 * @pass:	a pass of a thread
 */
struct team {
	unsigned int nr, warm, passes;
	bool blind;
	void (*prepare)(unsigned int me);
	void (*pass)(unsigned int me);
};

static const struct team *team;
static pthread_barrier_t team_barrier;

static struct {
	pthread_t id;
	int fd[NR_EVENTS];
	uint64_t value[NR_EVENTS];
} team_thread[TEAM_MOST];

/*
 * Wait for all threads without sleeping.  After pthread_barrier_wait() the last thread goes
 * on at once, and the others, whose CPUs are halted, up to millions of cycles later on the
 * emulator.  Threads that spin go on together, and count the time that they wait.
 */
static inline void team_meet(void)
{
	static atomic_uint arrived, rounds;
	unsigned int round = atomic_load(&rounds);

	if (atomic_fetch_add(&arrived, 1) + 1 == team->nr) {
		atomic_store(&arrived, 0);
		atomic_fetch_add(&rounds, 1);
		return;
	}
	for (unsigned int i = 1; atomic_load(&rounds) == round; i++) {
		__builtin_ia32_pause();
		/* Without a model, threads may share a CPU. */
		if (i % 1024 == 0)
			sched_yield();
	}
}

static void *team_member(void *arg)
{
	unsigned int me = (uintptr_t)arg, i;
	int *fd = team_thread[me].fd;
	cpu_set_t set;

	if (!team->blind) {
		CPU_ZERO(&set);
		CPU_SET(me, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			die("sched_setaffinity");
		sim_open(fd);
	}
	team->prepare(me);
	pthread_barrier_wait(&team_barrier);
	for (i = 0; i < team->warm; i++)
		team->pass(me);
	pthread_barrier_wait(&team_barrier);
	team_meet();
	if (!team->blind)
		sim_start(fd);
	for (i = 0; i < team->passes; i++)
		team->pass(me);
	if (!team->blind)
		sim_stop(fd, team_thread[me].value);
	/* A thread must not free its pages while other threads are in a pass. */
	pthread_barrier_wait(&team_barrier);
	/* Without open events the model is off, and what comes now is fast. */
	for (i = 0; i < NR_EVENTS && !team->blind; i++)
		close(fd[i]);
	return NULL;
}

static void team_run(const struct team *work)
{
	team = work;
	if (!team->blind) {
		if (team->nr > (unsigned int)sysconf(_SC_NPROCESSORS_ONLN)) {
			fprintf(stderr, "%s: more threads than CPUs\n",
				program_invocation_short_name);
			exit(2);
		}
		sim_find();
	}
	if (pthread_barrier_init(&team_barrier, NULL, team->nr))
		die("barrier");
	for (uintptr_t i = 0; i < team->nr; i++)
		if (pthread_create(&team_thread[i].id, NULL, team_member, (void *)i))
			die("pthread_create");
	for (unsigned int i = 0; i < team->nr; i++)
		pthread_join(team_thread[i].id, NULL);
}

/* Cycles of the slowest thread, and for every other event the sum over the threads. */
static void team_print(void)
{
	for (size_t e = 0; e < NR_EVENTS; e++) {
		uint64_t sum = 0, most = 0;

		for (unsigned int i = 0; i < team->nr; i++) {
			uint64_t value = team_thread[i].value[e];

			sum += value;
			most = value > most ? value : most;
		}
		printf("%s %llu\n", sim_events[e], (unsigned long long)(e ? sum : most));
	}
}

/* A number on the command line. */
static long team_number(const char *text, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > most) {
		fprintf(stderr, "%s: '%s' is not within 1..%ld\n",
			program_invocation_short_name, text, most);
		exit(2);
	}
	return n;
}

#endif /* TEAM_H */
