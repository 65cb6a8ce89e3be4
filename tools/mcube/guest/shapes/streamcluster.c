// SPDX-License-Identifier: GPL-2.0
/*
 * streamcluster: as PARSEC's program of that name, which groups a stream of points by
 * their distances to a few of them, the centers (Guha et al., Clustering Data Streams,
 * FOCS 2000).
 *
 *	coordinates	point 0 | point 1 | point 2 | ...	streamed, candidate by candidate
 *	points		cost and center of each			written in order
 *	moves		whether the candidate is nearer		written in order
 *
 * A point of the set is a candidate. All threads compute the distance of each point of
 * their blocks to the candidate, and the cost that is saved if the points for which the
 * candidate is nearer move to it. If that exceeds the cost of a center, the candidate
 * becomes one: the threads go through their blocks again and move these points.
 *
 * Kept: points in one array of coordinates, 128 each; the structure with cost and center of
 * a point; a block of points for each thread; one pass over all points for each
 * candidate, whose own coordinates stay in the cache; barriers between the steps.
 *
 * Differences from PARSEC:
 *
 *  - Centers are never closed. That is a small part of the time, and needs no memory that
 *    is streamed.
 *  - Distances are computed four coordinates at a time. The modelled CPU takes a cycle
 *    for an instruction, and real ones execute several in a cycle.
 *  - Sums over points are whole numbers. So they do not depend on the order, and any
 *    number of threads has the same centers.
 */
#include "shape.h"

#include <stdbool.h>

#define DIMENSIONS	128u
#define CANDIDATES	2u	/* in a pass */
#define MOST_CENTERS	64u	/* later candidates stay points */
#define UNIT		65536	/* of costs, in sums */

typedef float quad_t __attribute__((vector_size(16)));
typedef uint32_t lanes_t __attribute__((vector_size(16)));
typedef int32_t signed_t __attribute__((vector_size(16)));

#define QUADS		(DIMENSIONS / 4)

struct point {
	const quad_t *at;
	uint64_t center;
	float cost, weight;
};

static struct point *points;
static bool *moves;
static uint32_t nr;

static size_t centers[MOST_CENTERS];
static unsigned int nr_centers;
static int64_t all_saved;	/* by all candidates, centers or not */
static uint64_t seed;

/* The step that all threads are in, and what each has saved in it, in a line of its own. */
static size_t candidate;
static bool opens;
static struct {
	int64_t sum;
} __attribute__((aligned(LINE))) saved[MOST_THREADS];

static void choose(void)
{
	candidate = random_below(&seed, nr);
}

static void setup(size_t bytes)
{
	lanes_t x = { 0x9e3779b9, 0x7f4a7c15, 0xf39cc060, 0x5cedc834 };
	quad_t *at;

	nr = bytes / (DIMENSIONS * sizeof(float) + sizeof(*points) + sizeof(*moves));
	at = take(nr * QUADS * sizeof(*at));
	points = take(nr * sizeof(*points));
	moves = take(nr * sizeof(*moves));
	for (size_t i = 0; i < nr * QUADS; i += 2) {
		/* xorshift32, four at a time; each gives two coordinates below 1 */
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		at[i] = __builtin_convertvector((signed_t)(x >> 16), quad_t) / 65536;
		at[i + 1] = __builtin_convertvector((signed_t)(x & 65535), quad_t) / 65536;
	}
	/* Without a center, all points have the largest cost that there is. */
	for (size_t i = 0; i < nr; i++)
		points[i] = (struct point){ at + i * QUADS, 0, DIMENSIONS, 1 };
	seed = 0x9e3779b97f4a7c15ull;
	choose();
}

/* The square of the distance, as everywhere in the program. */
static float distance(const struct point *a, const struct point *b)
{
	quad_t sum = { };

#pragma GCC unroll 8
	for (size_t i = 0; i < QUADS; i++) {
		quad_t d = a->at[i] - b->at[i];

		sum += d * d;
	}
	return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Whether the candidate saves more than a center costs. */
static void decide(void)
{
	int64_t sum = 0;

	for (unsigned int i = 0; i < nr_threads; i++)
		sum += saved[i].sum;
	all_saved += sum;
	opens = nr_centers < MOST_CENTERS && sum > (int64_t)nr * UNIT / 2;
	if (opens)
		centers[nr_centers++] = candidate;
}

static void step(unsigned int me)
{
	size_t from = block(nr, me), to = block(nr, me + 1);
	const struct point *new = &points[candidate];
	int64_t sum = 0;

	for (size_t i = from; i < to; i++) {
		float cost = distance(&points[i], new) * points[i].weight;

		moves[i] = cost < points[i].cost;
		if (moves[i])
			sum += (int64_t)((points[i].cost - cost) * UNIT);
	}
	saved[me].sum = sum;
	meet();
	if (!me)
		decide();
	meet();
	for (size_t i = from; opens && i < to; i++) {
		if (!moves[i])
			continue;
		points[i].cost = distance(&points[i], new) * points[i].weight;
		points[i].center = candidate;
	}
	meet();
	if (!me)
		choose();
	meet();
}

static void pass(unsigned int me)
{
	for (unsigned int i = 0; i < CANDIDATES; i++)
		step(me);
}

/* Each point has the center that is nearest to it. */
static const char *wrong(void)
{
	if (!nr_centers)
		return "there is no center";
	for (size_t i = 0; i < nr; i++) {
		float least = DIMENSIONS, mine = distance(&points[i], &points[points[i].center]);

		for (unsigned int c = 0; c < nr_centers; c++) {
			float cost = distance(&points[i], &points[centers[c]]);

			least = cost < least ? cost : least;
		}
		if (points[i].cost != least)
			return "a point has the cost of another center";
		if (points[i].cost != mine)
			return "a point has another center than the nearest";
	}
	return NULL;
}

static uint64_t checksum(void)
{
	uint64_t sum = mix(0, centers, nr_centers * sizeof(*centers));

	sum = mix(sum, &all_saved, sizeof(all_saved));
	for (size_t i = 0; i < nr; i++)
		sum = mix(sum, &points[i].cost, sizeof(points[i].cost));
	return sum;
}

const struct shape streamcluster = { "streamcluster", setup, pass, wrong, checksum };
