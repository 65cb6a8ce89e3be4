// SPDX-License-Identifier: GPL-2.0
/*
 * tally: what happens on a CPU of the modelled machine, from time to time
 *
 *	tally CPU < PIPE
 *
 * Whenever a line comes in, tally prints the counters of the CPU since the line before:
 *
 *	NUMBER cycles instructions llc_refs llc_misses
 *
 * The first line starts the counting and prints nothing.  So a script can measure
 * programs that know nothing of the modelled machine.
 */

#define _GNU_SOURCE
#include "sim-events.h"

/* In the order of sim_events[]. */
static const unsigned int printed[] = { 0, 1, 3, 4 };

int main(int argc, char **argv)
{
	uint64_t last[NR_EVENTS] = { }, now[NR_EVENTS];
	unsigned long number = 0;
	int fd[NR_EVENTS], c;
	char *end = "x";
	long cpu = -1;

	if (argc == 2)
		cpu = strtol(argv[1], &end, 10);
	if (*end || cpu < 0 || cpu > 1023) {
		fprintf(stderr, "usage: tally CPU < PIPE\n");
		return 2;
	}
	sim_find();
	sim_open_on(fd, cpu);
	sim_start(fd);
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		for (size_t i = 0; i < NR_EVENTS; i++)
			if (read(fd[i], &now[i], sizeof(now[i])) != sizeof(now[i]))
				die("read of an event");
		if (number) {
			printf("%lu", number);
			for (size_t i = 0; i < sizeof(printed) / sizeof(*printed); i++)
				printf(" %llu", (unsigned long long)(now[printed[i]] -
								     last[printed[i]]));
			printf("\n");
			fflush(stdout);
		}
		number++;
		memcpy(last, now, sizeof(last));
	}
	return 0;
}
