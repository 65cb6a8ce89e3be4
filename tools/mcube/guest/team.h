/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The threads of a load, which count its passes with the events of perf's mcube_sim
 *
 *	team_run()	set up | open the events, prepare memory | warm up | count passes | end
 *	team_print()	the "EVENT VALUE" lines
 *
 * Thread i runs on CPU i.  All threads wait for each other at each "|", and begin to count
 * at one time (team_meet()).  The threads open the events before they prepare memory, so
 * that the model runs all along and CPUs take turns in modelled time during the faults.
 * Processes may take the place of the threads: they have the memory of the set-up as it is
 * after fork(), and what the members share is in struct team_state.
 */

#ifndef TEAM_H
#define TEAM_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>

#include "sim-events.h"

#define TEAM_MOST	16

/**
 * struct team - what the members do, which are threads or processes
 * @nr:		number of members
 * @warm:	passes that warm up
 * @passes:	passes that are counted
 * @blind:	count nothing and run on any CPU, as it suits a machine without a model
 * @processes:	the members are processes
 * @setup:	what is done before there are members, or NULL
 * @prepare:	takes and faults in memory; gets the number of the member
 * @pass:	a pass of a member
 */
struct team {
	unsigned int nr, warm, passes;
	bool blind, processes;
	void (*setup)(void);
	void (*prepare)(unsigned int me);
	void (*pass)(unsigned int me);
};

/**
 * struct team_state - what the members share
 * @barrier:	for waits during which no time counts
 * @arrived:	members that wait in team_meet()
 * @rounds:	times that all members have met
 * @member:	events and counts of each member
 */
struct team_state {
	pthread_barrier_t barrier;
	atomic_uint arrived, rounds;
	struct {
		int fd[NR_EVENTS];
		uint64_t value[NR_EVENTS];
	} member[TEAM_MOST];
};

static const struct team *team;
static struct team_state *team_state;

static inline void team_wait(void)
{
	pthread_barrier_wait(&team_state->barrier);
}

/*
 * Wait for all threads without sleeping.  After pthread_barrier_wait() the last thread goes
 * on at once, and the others, whose CPUs are halted, up to millions of cycles later on the
 * emulator.  Threads that spin go on together, and count the time that they wait.
 */
static inline void team_meet(void)
{
	unsigned int round = atomic_load(&team_state->rounds);

	if (atomic_fetch_add(&team_state->arrived, 1) + 1 == team->nr) {
		atomic_store(&team_state->arrived, 0);
		atomic_fetch_add(&team_state->rounds, 1);
		return;
	}
	for (unsigned int i = 1; atomic_load(&team_state->rounds) == round; i++) {
		__builtin_ia32_pause();
		/* Without a model, threads may share a CPU. */
		if (i % 1024 == 0)
			sched_yield();
	}
}

static void *team_member(void *arg)
{
	unsigned int me = (uintptr_t)arg, i;
	int *fd = team_state->member[me].fd;
	cpu_set_t set;

	if (!team->blind) {
		CPU_ZERO(&set);
		CPU_SET(me, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			die("sched_setaffinity");
		sim_open(fd);
	}
	team->prepare(me);
	team_wait();
	for (i = 0; i < team->warm; i++)
		team->pass(me);
	team_wait();
	team_meet();
	if (!team->blind)
		sim_start(fd);
	for (i = 0; i < team->passes; i++)
		team->pass(me);
	if (!team->blind)
		sim_stop(fd, team_state->member[me].value);
	/* A thread must not free its pages while other threads are in a pass. */
	team_wait();
	/* Without open events the model is off, and what comes now is fast. */
	for (i = 0; i < NR_EVENTS && !team->blind; i++)
		close(fd[i]);
	return NULL;
}

static void team_share(void)
{
	pthread_barrierattr_t attr;

	team_state = mmap(NULL, sizeof(*team_state), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (team_state == MAP_FAILED)
		die("mmap");
	if (pthread_barrierattr_init(&attr) ||
	    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	    pthread_barrier_init(&team_state->barrier, &attr, team->nr))
		die("barrier");
}

static void team_threads(void)
{
	pthread_t id[TEAM_MOST];

	for (uintptr_t i = 0; i < team->nr; i++)
		if (pthread_create(&id[i], NULL, team_member, (void *)i))
			die("pthread_create");
	for (unsigned int i = 0; i < team->nr; i++)
		pthread_join(id[i], NULL);
}

static void team_processes(void)
{
	int status;

	for (uintptr_t i = 0; i < team->nr; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		/* If a member fails, the others would wait for it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		team_member((void *)i);
		_exit(0);
	}
	while (wait(&status) > 0)
		if (status)
			exit(1);
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
	team_share();
	if (team->setup)
		team->setup();
	if (team->processes)
		team_processes();
	else
		team_threads();
}

/* Cycles of the slowest thread, and for every other event the sum over the threads. */
static void team_print(void)
{
	for (size_t e = 0; e < NR_EVENTS; e++) {
		uint64_t sum = 0, most = 0;

		for (unsigned int i = 0; i < team->nr; i++) {
			uint64_t value = team_state->member[i].value[e];

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
