// SPDX-License-Identifier: GPL-2.0
/*
 * DRAM banks, buses and their scheduler; dram.h has the picture.
 */
#include "dram.h"

#include <string.h>

static uint64_t max_time(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/**
 * dram_clear - close all rows
 * @d:	the memory
 *
 * No request may be pending.
 */
void dram_clear(struct dram *d)
{
	for (unsigned int i = 0; i < d->map->banks; i++)
		d->bank[i].open = 0;
}

/**
 * dram_init - set up the memory behind the last level
 * @d:		the memory
 * @map:	channel, bank and row of an address
 */
void dram_init(struct dram *d, const struct address_map *map)
{
	memset(d, 0, sizeof(*d));
	d->map = map;
	d->next = DRAM_NEVER;
	d->room = DRAM_PENDING;
}

/**
 * dram_clamp - free all banks and buses at a time
 * @d:		the memory
 * @now:	the time
 *
 * After all requests were served, banks and buses may be busy beyond @now, the clock
 * of the CPU most behind. Its next request must not wait for requests from its
 * future. No request may be pending.
 */
void dram_clamp(struct dram *d, uint64_t now)
{
	for (unsigned int i = 0; i < SIM_MAX_BANKS; i++) {
		if (d->bank[i].ready > now)
			d->bank[i].ready = now;
		if (d->bus[i] > now)
			d->bus[i] = now;
	}
}

/* The time at which its bank can take a request. */
static uint64_t starts(const struct dram *d, const struct dram_request *r)
{
	return max_time(r->arrival, d->bank[r->bank].ready);
}

/* The pending request that is served next: in the bank that is ready first, FR-FCFS. */
static unsigned int choose(const struct dram *d)
{
	unsigned int bank = SIM_MAX_BANKS, chosen = d->nr;

	for (unsigned int i = 0; i < d->nr; i++) {
		const struct dram_request *r = &d->pending[i];

		if (starts(d, r) > d->next || (bank != SIM_MAX_BANKS && r->bank != bank))
			continue;
		if (chosen == d->nr || r->arrival < d->pending[chosen].arrival)
			chosen = i;
		bank = r->bank;
	}
	if (d->bank[bank].open == d->pending[chosen].row + 1)
		return chosen;
	/* A request to the open row goes before an older request that would close it. */
	for (unsigned int i = 0; i < d->nr; i++) {
		const struct dram_request *r = &d->pending[i];

		if (r->bank == bank && r->arrival <= d->next && d->bank[bank].open == r->row + 1)
			return i;
	}
	return chosen;
}

/**
 * dram_serve - serve the next request
 * @d:		the memory
 * @done:	the request and its timing
 *
 * A request has to be pending.
 */
void dram_serve(struct dram *d, struct dram_done *done)
{
	const struct machine *m = d->map->machine;
	uint64_t now = d->next, command, data;
	unsigned int i = choose(d);
	struct dram_request r = d->pending[i];
	uint64_t *bus = &d->bus[bank_channel(d->map, r.bank)];

	memmove(d->pending + i, d->pending + i + 1, (--d->nr - i) * sizeof(r));
	command = now;
	if (d->bank[r.bank].open == r.row + 1) {
		done->row = ROW_HIT;
	} else if (!d->bank[r.bank].open) {
		done->row = ROW_EMPTY;
		command += m->dram_rcd;
	} else {
		done->row = ROW_CONFLICT;
		command += m->dram_rp + m->dram_rcd;
	}
	data = max_time(command + m->dram_cas, *bus);
	*bus = data + m->dram_burst;
	d->bank[r.bank].open = r.row + 1;
	d->bank[r.bank].ready = *bus - m->dram_cas;
	d->next = DRAM_NEVER;
	for (i = 0; i < d->nr; i++)
		if (starts(d, &d->pending[i]) < d->next)
			d->next = starts(d, &d->pending[i]);
	done->request = r;
	done->waited = now - r.arrival + data - (command + m->dram_cas);
	done->time = *bus + m->dram_base;
}

/**
 * dram_submit - make a request pending
 * @d:		the memory
 * @address:	physical address
 * @arrival:	time at which it reaches the controller
 * @cpu:	CPU that it is charged to
 * @awaited:	the CPU waits for the data
 * @tag:	number that the CPU knows it by, if @awaited
 * @slot:	slot in the CPU's table of arriving lines, 0 for none
 *
 * At most @d->room requests may be pending.
 */
void dram_submit(struct dram *d, uint64_t address, uint64_t arrival, unsigned int cpu,
		 bool awaited, uint32_t tag, unsigned int slot)
{
	struct dram_request *r = &d->pending[d->nr++];

	*r = (struct dram_request){
		.arrival = arrival, .row = address_row(d->map, address),
		.bank = address_bank(d->map, address), .cpu = cpu, .tag = tag,
		.slot = slot, .awaited = awaited,
	};
	if (starts(d, r) < d->next)
		d->next = starts(d, r);
}
