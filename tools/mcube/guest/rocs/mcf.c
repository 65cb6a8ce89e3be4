// SPDX-License-Identifier: GPL-2.0
/*
 * mcf: as 181.mcf of SPEC CPU2000, which schedules vehicles by a minimum-cost flow
 * (Loebel, network simplex).
 *
 *	arcs	price a group: cost + potential of both ends	streamed
 *	nodes	walk from both ends of cheap arcs up to where
 *		they meet, changing potentials			pointer chasing
 *
 * Kept: pricing by groups of arcs, each with two random nodes; the basket of cheap arcs;
 * the tree of the basis, linked by numbers of the parents, walked from the ends of an
 * arc. Left out: the change of the tree; the walks change potentials only.
 *
 * Nodes have three times the cache and arcs six times. Nodes near the root are used
 * often and stay in any cache. All other nodes and the arcs have too long a time between
 * uses for placement to help much, so there is next to nothing to gain.
 */
#include "load.h"

#include <string.h>

#define GROUP	500	/* arcs priced before a walk */
#define WALKS	40	/* walks after a group */

struct node {
	uint64_t parent, depth;
	int64_t potential, flow;
	uint64_t other[4];
};

struct arc {
	uint32_t tail, head;
	int64_t cost;
};

static struct node *nodes;
static struct arc *arcs;
static struct {
	uint32_t tail, head;
} basket[WALKS];
static size_t nr_nodes, nr_arcs, next_arc;

static void setup(size_t cache)
{
	nr_nodes = cache * 3 / sizeof(*nodes);
	nr_arcs = cache * 6 / sizeof(*arcs);
	next_arc = 0;
	memset(basket, 0, sizeof(basket));
	nodes = take(nr_nodes * sizeof(*nodes), REUSED);
	arcs = take(nr_arcs * sizeof(*arcs), STREAMED);
	for (size_t i = 1; i < nr_nodes; i++) {
		nodes[i].parent = random_below(i);
		nodes[i].depth = nodes[nodes[i].parent].depth + 1;
		nodes[i].potential = random_below(1000);
	}
	for (size_t i = 0; i < nr_arcs; i++)
		arcs[i] = (struct arc){
			random_below(nr_nodes), random_below(nr_nodes), random_below(1000)
		};
}

/* Prices a group; the last arcs that would make the flow cheaper are in the basket. */
static void price(void)
{
	unsigned int cheap = 0;

	for (unsigned int i = 0; i < GROUP; i++) {
		const struct arc *a = &arcs[next_arc];
		int64_t reduced = a->cost - nodes[a->tail].potential + nodes[a->head].potential;

		if (reduced < 0) {
			basket[cheap % WALKS].tail = a->tail;
			basket[cheap++ % WALKS].head = a->head;
		}
		next_arc = next_arc + 1 < nr_arcs ? next_arc + 1 : 0;
	}
}

static void walk(uint64_t a, uint64_t b, int64_t flow)
{
	while (a != b) {
		uint64_t *deeper = nodes[a].depth > nodes[b].depth ? &a : &b;
		struct node *node = &nodes[*deeper];

		node->flow += flow;
		node->potential = (node->potential + flow) % 1000;
		*deeper = node->parent;
	}
}

static void iterate(unsigned long n)
{
	price();
	for (unsigned int i = 0; i < WALKS; i++)
		walk(basket[i].tail, basket[i].head, 1 + n % 7);
}

const struct load mcf = { "mcf", setup, iterate };
