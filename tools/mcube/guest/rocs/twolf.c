// SPDX-License-Identifier: GPL-2.0
/*
 * twolf: as 300.twolf of SPEC CPU2000 (TimberWolf), which places the standard cells of
 * a circuit by simulated annealing.
 *
 *	cell: place, its nets		in order		streamed
 *	  |-> net: center, pins		unevenly		reused
 *	  `-> bin of a row: area used	at random		reused
 *
 * A step moves a cell to another place, computes how the wires of its nets and the
 * overlap in the two bins would change, and accepts the move if both get better, or
 * sometimes otherwise.
 *
 * Kept: the displacement of single cells, the penalty for overlap by bins of rows, the
 * temperature that falls, and nets of uneven use, as buses and clocks lead to many cells
 * and most nets to few. Left out: exchanges of two cells, orientations, the penalty
 * for the length of rows. Wires are measured to the center of a net, and cells are
 * tried in order, not at random.
 *
 * Nets have 9/16 of the cache, bins 5/16, and cells twice the cache.
 */
#include "load.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NETS	4	/* of a cell */
#define STEPS	2000	/* in an iteration */

struct pin {
	uint32_t net;
	int32_t dx, dy;		/* from the corner of the cell */
	uint32_t layer;
};

struct cell {
	int32_t x, y, size, bin;
	uint32_t shape[12];
	struct pin pin[NETS];
};

struct net {
	int64_t x, y, pins;	/* sums over the cells of the net, and their number */
	int64_t weight, spare[4];
};

struct bin {
	int64_t used, moves, spare[6];
};

static struct cell *cells;
static struct net *nets;
static struct bin *bins;
static uint32_t nr_cells, nr_nets, nr_bins, next;
static double temperature;

/* A net; low numbers have up to three times the use of high numbers. */
static uint32_t some_net(void)
{
	double y = random_real();

	return y * (1 + y) / 2 * nr_nets;
}

static void setup(size_t cache)
{
	nr_cells = cache * 2 / sizeof(*cells);
	nr_nets = cache * 9 / 16 / sizeof(*nets);
	nr_bins = cache * 5 / 16 / sizeof(*bins);
	nets = take(nr_nets * sizeof(*nets), REUSED);
	bins = take(nr_bins * sizeof(*bins), REUSED);
	cells = take(nr_cells * sizeof(*cells), STREAMED);
	next = 0;
	temperature = 1;
	for (uint32_t i = 0; i < nr_nets; i++)
		nets[i].weight = 1 + random_below(3);
	for (uint32_t i = 0; i < nr_cells; i++) {
		struct cell *c = &cells[i];

		c->bin = random_below(nr_bins);
		c->x = c->bin % 256;
		c->y = c->bin / 256;
		c->size = 1 + random_below(8);
		bins[c->bin].used += c->size;
		for (unsigned int k = 0; k < NETS; k++) {
			struct net *net = &nets[c->pin[k].net = some_net()];

			c->pin[k].dx = random_below(4);
			c->pin[k].dy = random_below(4);
			net->x += c->x;
			net->y += c->y;
			net->pins++;
		}
	}
}

/* How much longer the wire to the center of a net is from a than from b. */
static int64_t longer(const struct net *net, int32_t ax, int32_t ay, int32_t bx, int32_t by)
{
	int32_t x = net->x / net->pins, y = net->y / net->pins;

	return net->weight * (abs(ax - x) + abs(ay - y) - abs(bx - x) - abs(by - y));
}

/* Whether to accept a change; a worse placement less often, the lower the temperature. */
static bool accept(int64_t change)
{
	if (change <= 0)
		return true;
	return change < 16 * temperature && random_real() < exp(-change / temperature);
}

static void step(struct cell *c)
{
	int32_t bin = random_below(nr_bins), x = bin % 256, y = bin / 256;
	struct bin *from = &bins[c->bin], *to = &bins[bin];
	int64_t change = to->used + c->size - from->used;

	for (unsigned int k = 0; k < NETS; k++) {
		const struct pin *pin = &c->pin[k];
		const struct net *net = &nets[pin->net];

		change += longer(net, x + pin->dx, y + pin->dy, c->x + pin->dx, c->y + pin->dy);
	}
	if (!accept(change))
		return;
	from->used -= c->size;
	to->used += c->size;
	to->moves++;
	for (unsigned int k = 0; k < NETS; k++) {
		struct net *net = &nets[c->pin[k].net];

		net->x += x - c->x;
		net->y += y - c->y;
	}
	c->x = x;
	c->y = y;
	c->bin = bin;
}

static void iterate(unsigned long n)
{
	(void)n;
	for (unsigned int i = 0; i < STEPS; i++) {
		step(&cells[next]);
		next = next + 1 < nr_cells ? next + 1 : 0;
	}
	temperature *= 0.999;
}

const struct load twolf = { "twolf", setup, iterate };
