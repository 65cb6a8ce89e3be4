// SPDX-License-Identifier: GPL-2.0
/*
 * DRAM banks, buses and their scheduler; dram.h has the picture.
 */
#include "dram.h"

#include <string.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Close all rows; nothing may be pending. */
void dram_clear(struct dram *d)
{
	for (unsigned int i = 0; i < d->map->banks; i++)
		d->bank[i].open = 0;
}

void dram_init(struct dram *d, const struct address_map *map)
{
	memset(d, 0, sizeof(*d));
	d->map = map;
	d->next = DRAM_NEVER;
}

/*
 * Nothing is pending, and all that was asked for up to a time beyond @now has been
 * carried out: whoever asks next, perhaps before that time, finds no bank or bus
 * taken later than @now.
 */
void dram_settle(struct dram *d, uint64_t now)
{
	for (unsigned int i = 0; i < SIM_MAX_BANKS; i++) {
		if (d->bank[i].ready > now)
			d->bank[i].ready = now;
		if (d->bus[i] > now)
			d->bus[i] = now;
	}
}

static uint64_t starts(const struct dram *d, const struct dram_request *r)
{
	return later(r->arrival, d->bank[r->bank].ready);
}

/* The request that the first bank to be ready takes. */
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
	/* A row that is open goes before an older request that would close it. */
	for (unsigned int i = 0; i < d->nr; i++) {
		const struct dram_request *r = &d->pending[i];

		if (r->bank == bank && r->arrival <= d->next && d->bank[bank].open == r->row + 1)
			return i;
	}
	return chosen;
}

/* Carry out the next request; there has to be one. */
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
	data = later(command + m->dram_cas, *bus);
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

/* There has to be room, see DRAM_PENDING. */
void dram_submit(struct dram *d, uint64_t address, uint64_t arrival, unsigned int cpu,
		 bool awaited)
{
	struct dram_request *r = &d->pending[d->nr++];

	*r = (struct dram_request){
		.arrival = arrival, .row = address_row(d->map, address),
		.bank = address_bank(d->map, address), .cpu = cpu, .awaited = awaited,
	};
	if (starts(d, r) < d->next)
		d->next = starts(d, r);
}
