// SPDX-License-Identifier: GPL-2.0
/*
 * vpr: as 175.vpr of SPEC CPU2000, which places the logic blocks of an FPGA by
 * simulated annealing (Betz and Rose, VPR, 1997).
 *
 *	netlist: block -> its net -> blocks of the net	in order, streamed
 *	                             |
 *	                             v
 *	places: x and y of those blocks			at random, reused
 *
 * A step takes a block and an empty site within a window around it, computes how the
 * length of the net that the block drives would change if the block moved to the site,
 * and accepts the move if the net gets shorter, or sometimes otherwise.
 *
 * Kept: netlist and places in separate structures, half-perimeter lengths, nets that
 * join blocks all over the chip, the window that gets smaller, the temperature that falls.
 * Left out: the timing of paths, swaps of two blocks, and the nets that a block
 * listens to. Blocks are tried in the order of the netlist, not at random.
 *
 * The places have 27/32 of the cache, and the netlist four times as much.
 */
#include "load.h"

#include <math.h>
#include <stdbool.h>

#define PINS	5	/* of a net, beside the block that drives it */
#define TRIES	8	/* to find an empty site */
#define STEPS	2000	/* in an iteration */

/* Where a block is, and what the program knows of its site. */
struct place {
	uint32_t x, y, kind, moves, last, spare[3];
};

struct block {
	uint32_t net, size[15];
};

struct net {
	uint32_t pin[PINS], weight, length, spare[8];
};

static struct place *places;
static struct block *blocks;
static struct net *nets;
static uint8_t *taken;		/* a bit for each site */
static uint32_t nr, width, next, window;
static double temperature;

static uint8_t *site(uint32_t x, uint32_t y, uint8_t *bit)
{
	*bit = 1 << (x & 7);
	return &taken[(y * width + x) / 8];
}

static void setup(size_t cache)
{
	uint8_t bit;

	nr = cache * 27 / 32 / sizeof(*places);
	/* Half the sites are empty. The width is a multiple of 8. */
	width = ((uint32_t)sqrt(2 * nr) + 8) & ~7u;
	places = take(nr * sizeof(*places), REUSED);
	taken = take(width * width / 8, REUSED);
	blocks = take(nr * sizeof(*blocks), STREAMED);
	nets = take(nr * sizeof(*nets), STREAMED);
	next = 0;
	window = width / 2;
	temperature = 1;
	for (uint32_t i = 0; i < nr; i++) {
		places[i] = (struct place){ .x = 2 * i % width, .y = 2 * i / width };
		*site(places[i].x, places[i].y, &bit) |= bit;
		blocks[i].net = i;
		nets[i].weight = 1 + random_below(3);
		for (unsigned int k = 0; k < PINS; k++)
			nets[i].pin[k] = random_below(nr);
	}
}

/* The length of a net, if the block that drives it is at x, y. */
static uint32_t half_perimeter(const struct net *net, uint32_t x, uint32_t y)
{
	uint32_t left = x, right = x, top = y, bottom = y;

	for (unsigned int k = 0; k < PINS; k++) {
		const struct place *p = &places[net->pin[k]];

		left = p->x < left ? p->x : left;
		right = p->x > right ? p->x : right;
		top = p->y < top ? p->y : top;
		bottom = p->y > bottom ? p->y : bottom;
	}
	return (right - left + bottom - top) * net->weight;
}

/* A coordinate within the window around another. */
static uint32_t around(uint32_t center, uint32_t random)
{
	uint32_t at = center + width - window / 2 + (random * (uint64_t)window >> 32);

	return at < width ? at : at < 2 * width ? at - width : at - 2 * width;
}

/* Find an empty site within the window around a place. */
static bool find_site(const struct place *p, uint32_t *x, uint32_t *y)
{
	uint8_t bit;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t random = random_number();

		*x = around(p->x, random);
		*y = around(p->y, random >> 32);
		if (!(*site(*x, *y, &bit) & bit))
			return true;
	}
	return false;
}

/* Whether to accept a change; a worse placement less often, the lower the temperature. */
static bool accept(int64_t change)
{
	if (change <= 0)
		return true;
	return change < 16 * temperature && random_real() < exp(-change / temperature);
}

static void step(uint32_t block)
{
	struct net *net = &nets[blocks[block].net];
	struct place *p = &places[block];
	uint32_t x, y, length;
	uint8_t bit, *at;

	if (!find_site(p, &x, &y))
		return;
	length = half_perimeter(net, x, y);
	if (!accept((int64_t)length - net->length))
		return;
	at = site(p->x, p->y, &bit);
	*at &= ~bit;
	at = site(x, y, &bit);
	*at |= bit;
	p->x = x;
	p->y = y;
	p->moves++;
	net->length = length;
}

static void iterate(unsigned long n)
{
	for (unsigned int i = 0; i < STEPS; i++) {
		step(next);
		next = next + 1 < nr ? next + 1 : 0;
	}
	temperature *= 0.999;
	if (n % 64 == 63 && window > 16)
		window--;
}

const struct load vpr = { "vpr", setup, iterate };
