// SPDX-License-Identifier: GPL-2.0
/*
 * canneal: as PARSEC's program of that name, which places the elements of a netlist on a
 * chip by simulated annealing (Banerjee, Parallel Algorithms for VLSI Computer-Aided
 * Design, 1994).
 *
 *	element --> fan-in, fan-out --> element --> place (x, y)
 *	 random                          random
 *
 * Each thread takes two random elements, computes how the lengths of all their nets would
 * change if the two swapped places, and swaps them if the nets get shorter, or sometimes
 * otherwise, the more seldom the lower the temperature.
 *
 * Kept: elements with pointers to the elements that they are connected to, in arrays of their
 * own; pointers to places, which are checked out and in again by atomic exchange in the
 * order of the elements' addresses; other threads that read a place at any time, so a
 * change may be computed from places that are out of date; the second element of a
 * try is the first of the next; 15000 tries at a temperature, divided by 1.5 after that.
 *
 * Differences from PARSEC:
 *
 *  - Each element listens to five others, drawn at random. PARSEC's netlists are random
 *    as well, but are read from files.
 *  - The fan-out of all elements lies in one array, as does the fan-in. In PARSEC each
 *    element has two small vectors.
 *  - xorshift takes the place of the Mersenne Twister, whose tables use the cache.
 */
#include "shape.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define FAN_IN		5u
#define TRIES		15000u	/* at a temperature, of all threads */

struct place {
	int32_t x, y;
};

/* A line; PARSEC's has the name in it, too. */
struct element {
	struct place *_Atomic place;
	struct element **fan_in, **fan_out;
	uint32_t nr_out;
	char name[36];
};

static struct element *elements;
static struct place *places;
static uint32_t nr;

static struct {
	uint64_t seed;
	double temperature;
	int64_t change;
} __attribute__((aligned(LINE))) thread[MOST_THREADS];

/* A random element, but another than the given one. */
static struct element *draw(uint64_t *seed, const struct element *other)
{
	struct element *e;

	do
		e = &elements[random_below(seed, nr)];
	while (e == other);
	return e;
}

static void setup(size_t bytes)
{
	struct element **in, **out;
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	uint32_t width;

	nr = bytes / (sizeof(*elements) + 2 * FAN_IN * sizeof(*in) + sizeof(*places));
	elements = take(nr * sizeof(*elements));
	places = take(nr * sizeof(*places));
	in = take(nr * FAN_IN * sizeof(*in));
	out = take(nr * FAN_IN * sizeof(*out));
	width = sqrt(nr);
	for (uint32_t i = 0; i < nr; i++) {
		places[i] = (struct place){ i % width, i / width };
		elements[i].place = &places[i];
		elements[i].fan_in = in + i * FAN_IN;
		for (unsigned int k = 0; k < FAN_IN; k++) {
			struct element *other = draw(&seed, &elements[i]);

			elements[i].fan_in[k] = other;
			other->nr_out++;
		}
	}
	for (uint32_t i = 0; i < nr; i++) {
		elements[i].fan_out = out;
		out += elements[i].nr_out;
		elements[i].nr_out = 0;
	}
	for (uint32_t i = 0; i < nr; i++)
		for (unsigned int k = 0; k < FAN_IN; k++) {
			struct element *other = elements[i].fan_in[k];

			other->fan_out[other->nr_out++] = &elements[i];
		}
	for (unsigned int i = 0; i < nr_threads; i++) {
		thread[i].seed = 0x9e3779b97f4a7c15ull * (i + 1);
		thread[i].temperature = 2000;
	}
}

/* The place of an element, as soon as it is not checked out. */
static const struct place *place(const struct element *e)
{
	const struct place *p;

	while (!(p = atomic_load_explicit(&e->place, memory_order_acquire)))
		__builtin_ia32_pause();
	return p;
}

static struct place *check_out(struct element *e)
{
	struct place *p;

	while (!(p = atomic_exchange(&e->place, NULL)))
		__builtin_ia32_pause();
	return p;
}

static void swap(struct element *a, struct element *b)
{
	struct element *low = a < b ? a : b, *high = a < b ? b : a;
	struct place *of_low = check_out(low), *of_high = check_out(high);

	atomic_store_explicit(&high->place, of_low, memory_order_release);
	atomic_store_explicit(&low->place, of_high, memory_order_release);
}

static int64_t apart(const struct place *a, const struct place *b)
{
	return abs(a->x - b->x) + abs(a->y - b->y);
}

/* How the length of the nets between @fan and an element changes if it moves. */
static int64_t change_to(struct element *const *fan, unsigned int n,
			 const struct element *partner, const struct place *old,
			 const struct place *new)
{
	int64_t change = 0;

	for (; n--; fan++) {
		const struct place *other;

		/* The two swap places, so they are as far apart as before. */
		if (*fan == partner)
			continue;
		other = place(*fan);
		change += apart(other, new) - apart(other, old);
	}
	return change;
}

static int64_t change_of(const struct element *e, const struct element *partner,
			 const struct place *old, const struct place *new)
{
	return change_to(e->fan_in, FAN_IN, partner, old, new) +
	       change_to(e->fan_out, e->nr_out, partner, old, new);
}

static void cool(unsigned int me, size_t tries)
{
	uint64_t *seed = &thread[me].seed;
	struct element *a, *b = draw(seed, NULL);

	thread[me].temperature /= 1.5;
	while (tries--) {
		const struct place *at_a, *at_b;
		int64_t change;

		a = b;
		b = draw(seed, a);
		at_a = place(a);
		at_b = place(b);
		change = change_of(a, b, at_a, at_b) + change_of(b, a, at_b, at_a);
		if (change >= 0 &&
		    random_real(seed) >= exp(-change / thread[me].temperature))
			continue;
		swap(a, b);
		thread[me].change += change;
	}
}

static void pass(unsigned int me)
{
	cool(me, block(TRIES, me + 1) - block(TRIES, me));
	meet();
}

/* The length of all nets, at first or now. */
static int64_t length(bool first)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		for (unsigned int k = 0; k < FAN_IN; k++) {
			const struct element *e = &elements[i], *other = e->fan_in[k];

			sum += first ? apart(&places[i], &places[other - elements])
				     : apart(place(e), place(other));
		}
	return sum;
}

static const char *wrong(void)
{
	int64_t change = length(false) - length(true);
	bool *used = take(nr * sizeof(*used));

	for (uint32_t i = 0; i < nr; i++) {
		size_t p = place(&elements[i]) - places;

		if (p >= nr || used[p])
			return "two elements have one place";
		used[p] = true;
	}
	if (change >= 0)
		return "the nets are no shorter";
	/* Threads may compute with places that others have just left. */
	if (nr_threads == 1 && change != thread->change)
		return "the changes do not add up to the length of the nets";
	return NULL;
}

const struct shape canneal = { "canneal", setup, pass, wrong, NULL };
