// SPDX-License-Identifier: GPL-2.0
/*
 * fluidanimate: as PARSEC's program of that name, which moves the particles of a fluid by
 * smoothed particle hydrodynamics (Mueller, Charypar, Gross, Particle-Based Fluid
 * Simulation for Interactive Applications, SCA 2003).
 *
 *	z  | cells of thread 1 |	a cell: up to 12 particles, with position, two
 *	   |-------------------|	velocities, acceleration and density of each
 *	   | cells of thread 0 |
 *	   +------------------- x, y
 *
 * A cell is as wide as particles reach, so a particle feels those of the 27 cells around
 * it. A time step:
 *
 *	rebuild		move the particles from the old cells to new cells
 *	density		for each particle, sum over the particles around
 *	force		the same; pressure and viscosity give the acceleration
 *	advance		walls, velocity, position
 *
 * Kept: the structure of a cell, of which most is empty; two arrays of cells that take
 * turns; the cells of a thread side by side, walked in order; barriers between the
 * steps; the formulas.
 *
 * Differences from PARSEC:
 *
 *  - A thread writes to its own cells only. Where PARSEC computes what two particles do
 *    to each other once, and locks cells at the border, here each thread computes it for its
 *    own particle. And in the rebuild each thread looks at the cells next to its own, too,
 *    and takes the particles that come. So sums and the order in cells are the same
 *    with any number of threads.
 *  - Each thread has a run of cells in order of z, y, x. PARSEC divides x and z, by powers
 *    of two.
 *  - A cell has one particle on average and 12 at most, not five and 16. The time that a
 *    cell takes grows by the square, and the lines in use have to exceed the cache. More
 *    particles than that are an error; PARSEC appends a cell.
 *  - The unit of length is the width of a cell, and the other units follow. The fluid is
 *    a gas: particles only push each other away, so they do not gather in a few cells.
 */
#include "shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST		12u	/* particles in a cell */
#define TIME		0.05f	/* of a step */
#define SPEED		10.0f	/* at most; half a cell in a step */
#define REST		2.0f	/* twice the density at rest, of a particle alone */
#define PRESSURE	20.0f
#define VISCOSITY	1.0f
#define GRAVITY		0.1f
#define WALL		0.1f	/* particles feel a wall from here on */
#define STIFFNESS	100.0f
#define DAMPING		1.0f
#define CLOSE		0.000001f	/* square of the least distance that counts */
#define SAMPLES		32u	/* particles whose density is checked */

struct cell {
	float at[MOST][3], half[MOST][3], speed[MOST][3], force[MOST][3], density[MOST];
} __attribute__((aligned(LINE)));

static struct cell *grid[2];
static uint32_t *count[2];	/* particles in each cell */
static unsigned int side, frames;
static size_t cells;	/* and as many particles */

/* Coordinate of the cell; the outermost cells also have what is beyond them. */
static unsigned int inside(float x)
{
	return x < 0 ? 0 : x >= side ? side - 1 : x;
}

static size_t number(unsigned int x, unsigned int y, unsigned int z)
{
	return ((size_t)z * side + y) * side + x;
}

static size_t cell_at(const float *at)
{
	return number(inside(at[0]), inside(at[1]), inside(at[2]));
}

/* A place in a cell for one particle more. */
static uint32_t add(unsigned int now, size_t cell)
{
	if (count[now][cell] == MOST) {
		fprintf(stderr, "shapes: fluidanimate: more than %u particles in a cell\n", MOST);
		exit(1);
	}
	return count[now][cell]++;
}

static void setup(size_t bytes)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull;

	side = cbrt(bytes / (2.0 * (sizeof(struct cell) + sizeof(uint32_t))));
	cells = number(0, 0, side);
	for (unsigned int i = 0; i < 2; i++) {
		grid[i] = take(cells * sizeof(*grid[i]));
		count[i] = take(cells * sizeof(*count[i]));
	}
	for (size_t i = 0; i < cells; i++) {
		float at[3] = { i % side, i / side % side, i / side / side };
		struct cell *c;
		uint32_t n;

		for (unsigned int d = 0; d < 3; d++)
			at[d] += random_real(&seed);
		n = add(1, cell_at(at));
		c = &grid[1][cell_at(at)];
		for (unsigned int d = 0; d < 3; d++) {
			c->at[n][d] = at[d];
			c->speed[n][d] = 2 * random_real(&seed) - 1;
			c->half[n][d] = c->speed[n][d];
		}
	}
}

static void copy(float *to, const float *from)
{
	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
}

/*
 * Move particles to the cells of a thread.  They move less than a cell in a step, so they
 * come from a layer of cells around these at most.
 */
static void rebuild(unsigned int now, size_t first, size_t end)
{
	size_t layer = number(1, 1, 1), near = first > layer ? first - layer : 0;
	size_t far = end + layer < cells ? end + layer : cells;

	for (size_t i = first; i < end; i++)
		count[now][i] = 0;
	for (size_t i = near; i < far; i++) {
		const struct cell *old = &grid[!now][i];

		for (uint32_t k = 0; k < count[!now][i]; k++) {
			size_t cell = cell_at(old->at[k]);
			struct cell *new = &grid[now][cell];
			uint32_t n;

			if (cell < first || cell >= end)
				continue;
			n = add(now, cell);
			copy(new->at[n], old->at[k]);
			copy(new->half[n], old->half[k]);
			copy(new->speed[n], old->speed[k]);
		}
	}
}

/* The cells around one: the first cells of rows in x that are as long as each other. */
struct around {
	size_t row[9];
	unsigned int rows, width;
};

static void look_around(size_t cell, struct around *around)
{
	unsigned int x = cell % side, y = cell / side % side, z = cell / side / side;
	unsigned int left = x ? x - 1 : x;

	around->rows = 0;
	around->width = (x + 1 < side ? x + 1 : x) - left + 1;
	for (unsigned int c = z ? z - 1 : z; c <= z + 1 && c < side; c++)
		for (unsigned int b = y ? y - 1 : y; b <= y + 1 && b < side; b++)
			around->row[around->rows++] = number(left, b, c);
}

static float square_apart(const float *a, const float *b)
{
	float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return x * x + y * y + z * z;
}

static float density_of(unsigned int now, const struct around *around, const float *place)
{
	const struct cell *all = grid[now];
	const uint32_t *counts = count[now];
	const float at[3] = { place[0], place[1], place[2] };
	float sum = 0;

	for (unsigned int row = 0; row < around->rows; row++)
		for (size_t c = around->row[row]; c < around->row[row] + around->width; c++)
			for (uint32_t k = 0; k < counts[c]; k++) {
				float square = square_apart(at, all[c].at[k]);
				float t = 1 - square;

				if (square < 1)
					sum += t * t * t;
			}
	return sum;
}

static void density(unsigned int now, size_t cell)
{
	struct cell *c = &grid[now][cell];
	struct around around;

	if (!count[now][cell])
		return;
	look_around(cell, &around);
	for (uint32_t i = 0; i < count[now][cell]; i++)
		c->density[i] = density_of(now, &around, c->at[i]);
}

/* What particle @k of cell @other, which is so far away, does to particle @i of cell @c. */
static void push(struct cell *c, uint32_t i, const struct cell *other, uint32_t k, float square)
{
	float apart = sqrtf(fmaxf(square, CLOSE)), t = 1 - apart;
	float both = c->density[i] * other->density[k], v = VISCOSITY * t / both;
	float p = PRESSURE * t * t / apart * (c->density[i] + other->density[k] - REST) / both;

	for (unsigned int d = 0; d < 3; d++)
		c->force[i][d] += p * (c->at[i][d] - other->at[k][d]) +
				  v * (other->speed[k][d] - c->speed[i][d]);
}

static void force(unsigned int now, size_t cell)
{
	static const float gravity[3] = { 0, -GRAVITY, 0 };
	struct cell *all = grid[now], *c = &all[cell];
	const uint32_t *counts = count[now];
	struct around around;

	if (!counts[cell])
		return;
	look_around(cell, &around);
	for (uint32_t i = 0; i < counts[cell]; i++) {
		const float at[3] = { c->at[i][0], c->at[i][1], c->at[i][2] };

		copy(c->force[i], gravity);
		for (unsigned int row = 0; row < around.rows; row++)
			for (size_t o = around.row[row]; o < around.row[row] + around.width; o++)
				for (uint32_t k = 0; k < counts[o]; k++) {
					float square = square_apart(at, all[o].at[k]);

					if (square < 1 && (o != cell || k != i))
						push(c, i, &all[o], k, square);
				}
	}
}

static void advance(unsigned int now, size_t cell)
{
	struct cell *c = &grid[now][cell];

	for (uint32_t i = 0; i < count[now][cell]; i++)
		for (unsigned int d = 0; d < 3; d++) {
			float f = c->force[i][d], low = WALL - c->at[i][d];
			float high = c->at[i][d] - (side - WALL), old = c->half[i][d], new;

			if (low > 0)
				f += STIFFNESS * low - DAMPING * c->speed[i][d];
			if (high > 0)
				f -= STIFFNESS * high + DAMPING * c->speed[i][d];
			new = fmaxf(-SPEED, fminf(SPEED, old + f * TIME));
			c->at[i][d] += new * TIME;
			c->speed[i][d] = (old + new) / 2;
			c->half[i][d] = new;
		}
}

static void pass(unsigned int me)
{
	size_t first = block(cells, me), end = block(cells, me + 1);
	unsigned int now = frames % 2;

	rebuild(now, first, end);
	meet();
	for (size_t i = first; i < end; i++)
		density(now, i);
	meet();
	for (size_t i = first; i < end; i++)
		force(now, i);
	meet();
	for (size_t i = first; i < end; i++)
		advance(now, i);
	meet();
	if (!me)
		frames++;
	meet();
}

/* Where the particle was when its density was computed. */
static void before(const struct cell *c, uint32_t i, float *at)
{
	for (unsigned int d = 0; d < 3; d++)
		at[d] = c->at[i][d] - c->half[i][d] * TIME;
}

/* Whether a place is in a cell, or beyond an outermost cell, but for rounding. */
static int lies_in(const float *at, size_t cell)
{
	size_t c[3] = { cell % side, cell / side % side, cell / side / side };

	for (unsigned int d = 0; d < 3; d++) {
		float x = fmaxf(0, fminf(side, at[d]));

		if (x < c[d] - 0.001f || x > c[d] + 1.001f)
			return 0;
	}
	return 1;
}

/* The density at a place by a sum over all particles. */
static float density_at(unsigned int now, const float *at)
{
	float sum = 0, there[3];

	for (size_t cell = 0; cell < cells; cell++)
		for (uint32_t i = 0; i < count[now][cell]; i++) {
			float square;

			before(&grid[now][cell], i, there);
			square = square_apart(at, there);
			if (square < 1)
				sum += powf(1 - square, 3);
		}
	return sum;
}

static const char *wrong(void)
{
	size_t found = 0, sample = cells / SAMPLES + 1;
	unsigned int now = !(frames % 2);
	float at[3];

	for (size_t cell = 0; cell < cells; cell++)
		for (uint32_t i = 0; i < count[now][cell]; i++) {
			const struct cell *c = &grid[now][cell];

			before(c, i, at);
			if (!lies_in(at, cell))
				return "a particle is not in its cell";
			if (found++ % sample == 0 &&
			    fabsf(density_at(now, at) - c->density[i]) > 0.01f)
				return "a density is not that of the particles around";
		}
	return found == cells ? NULL : "particles got lost";
}

static uint64_t checksum(void)
{
	unsigned int now = !(frames % 2);
	uint64_t sum = 0;

	for (size_t cell = 0; cell < cells; cell++)
		sum = mix(sum, grid[now][cell].at,
			  count[now][cell] * sizeof(grid[now][cell].at[0]));
	return sum;
}

const struct shape fluidanimate = { "fluidanimate", setup, pass, wrong, checksum };
