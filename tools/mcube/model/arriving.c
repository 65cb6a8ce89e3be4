// SPDX-License-Identifier: GPL-2.0
/*
 * Lines on their way from DRAM to the last level, if prefetching takes time.
 *
 *	|---------------|-------------------|--------------------|
 *	prefetch is     demand request      DRAM answers: the    the data are there
 *	sent            finds the line,     last time is known   for both
 *	                and waits
 *
 * Without a prefetcher, or with prefetch.under_way = 0, nothing here is used: a prefetched
 * line is in the last level at once. Otherwise the line takes its place in the last level
 * when the prefetch is sent, and its data arrive when DRAM delivers them. A request that
 * finds the line earlier is a hit, makes no second access to DRAM, and waits for the rest
 * of the time.
 *
 * Demanded lines are in the table, too, for two reasons. Prefetches and demand requests
 * of a CPU share the queue of its misses, so the prefetcher sends nothing while
 * prefetch.under_way lines of its CPU are on their way. And another CPU that finds a
 * demanded line has to wait for it as well. Demand requests themselves are bounded by
 * cpu.misses alone.
 *
 * Each CPU has a table of the lines that it asked for. The table has room for the lines
 * that can be on their way at the time of a request of that CPU. A line that has arrived
 * by that time gives up its place when another line needs it.
 */
#include "arriving.h"

#include <stdlib.h>

static unsigned int slots(const struct model *m)
{
	return arriving(m) ? m->machine.misses + m->machine.under_way : 0;
}

/**
 * arriving_init - follow the lines that a CPU asks for
 * @m:	the model
 * @v:	the CPU
 *
 * Return: false if memory is short.
 */
bool arriving_init(struct model *m, struct vcpu *v)
{
	v->arriving = calloc(slots(m), sizeof(*v->arriving));
	m->dram.room += m->machine.under_way;
	return v->arriving;
}

/**
 * arriving_add - a line is read from DRAM
 * @m:		the model
 * @v:		the CPU that asks for it
 * @line:	line number
 * @now:	time at which the request reaches the memory controller
 *
 * Return: the slot of the line, from 1.
 */
unsigned int arriving_add(struct model *m, struct vcpu *v, uint64_t line, uint64_t now)
{
	for (unsigned int i = 0; i < slots(m); i++) {
		struct arrival *a = &v->arriving[i];

		if (a->time > now)
			continue;
		*a = (struct arrival){ .line = line, .time = DRAM_NEVER };
		return i + 1;
	}
	abort();
}

/**
 * arriving_room - how many lines the prefetcher may ask for
 * @m:		the model
 * @v:		the CPU
 * @now:	the time
 *
 * Return: the number.
 */
unsigned int arriving_room(const struct model *m, const struct vcpu *v, uint64_t now)
{
	unsigned int under_way = 0;

	for (unsigned int i = 0; i < slots(m); i++)
		under_way += v->arriving[i].time > now;
	return under_way < m->machine.under_way ? m->machine.under_way - under_way : 0;
}

/**
 * arriving_find - find a line that is still on its way
 * @m:		the model
 * @line:	line number
 * @now:	the time
 *
 * Return: the line, NULL if its data are there.
 */
struct arrival *arriving_find(struct model *m, uint64_t line, uint64_t now)
{
	for (unsigned int c = 0; c < m->ncpus; c++)
		for (unsigned int i = 0; i < slots(m); i++) {
			struct arrival *a = &m->vcpu[c].arriving[i];

			if (a->line == line && a->time > now)
				return a;
		}
	return NULL;
}

/**
 * arriving_clear - all lines are there
 * @m:	the model
 *
 * No request may wait for DRAM.
 */
void arriving_clear(struct model *m)
{
	for (unsigned int c = 0; c < m->ncpus; c++)
		for (unsigned int i = 0; i < slots(m); i++)
			m->vcpu[c].arriving[i].time = 0;
}
