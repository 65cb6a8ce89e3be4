// SPDX-License-Identifier: GPL-2.0
/*
 * art: as 179.art of SPEC CPU2000, which finds objects in a thermal image by a neural
 * network of adaptive resonance theory (Carpenter and Grossberg, ART 2, 1987).
 *
 *	layer F1   i w x v u p q r  a line for each neuron	reused
 *	             |         ^
 *	   bottom-up v         | top-down
 *	weights    half a line for each neuron, both ways	streamed
 *
 * The program presents an image to layer F1 and lets the layer settle: several loops
 * over all neurons, since a step of the equations needs a norm of the step before.
 * Then the layer is multiplied by all bottom-up weights, the neuron of layer F2 with
 * the largest sum wins, and its top-down weights learn.
 *
 * Kept: the structure of a neuron (eight doubles), the order of the loops, the layout of
 * the weights by neuron of F1 with the neurons of F2 side by side, and that weights
 * are used once for several passes over F1. Left out: the windows over the image, and
 * the test for resonance with its retries; each image takes the same steps.
 *
 * The layer has 13/16 of the cache, and each of the two arrays of weights half as much.
 */
#include "load.h"

#include <math.h>

#define F2	8	/* neurons of layer F2: half a line of weights */

struct neuron {
	double i, w, x, v, u, p, q, r;
};

static struct neuron *f1;
static float (*bottom_up)[F2], (*top_down)[F2];
static size_t neurons;

static void setup(size_t cache)
{
	neurons = cache * 13 / 16 / sizeof(*f1);
	f1 = take(neurons * sizeof(*f1), REUSED);
	bottom_up = take(neurons * sizeof(*bottom_up), STREAMED);
	top_down = take(neurons * sizeof(*top_down), STREAMED);
	for (size_t n = 0; n < neurons; n++) {
		f1[n].i = random_real();
		for (unsigned int j = 0; j < F2; j++) {
			bottom_up[n][j] = random_real() / F2;
			top_down[n][j] = random_real() / F2;
		}
	}
}

/*
 * The steps within layer F1, in as many loops as there are norms to wait for. Returns
 * one over the last norm.
 */
static double settle(void)
{
	const double a = 10, b = 10, d = 0.9, threshold = 0.001;
	double w = 0, v = 0, p = 0;

	for (size_t n = 0; n < neurons; n++) {
		f1[n].w = f1[n].i + a * f1[n].u;
		w += f1[n].w * f1[n].w;
	}
	w = 1 / sqrt(w);
	for (size_t n = 0; n < neurons; n++) {
		f1[n].x = f1[n].w * w;
		f1[n].v = (f1[n].x > threshold ? f1[n].x : 0) + b * f1[n].q;
		v += f1[n].v * f1[n].v;
	}
	v = 1 / sqrt(v);
	for (size_t n = 0; n < neurons; n++) {
		f1[n].u = f1[n].v * v;
		f1[n].p = f1[n].u + d * f1[n].r;
		p += f1[n].p * f1[n].p;
	}
	return 1 / sqrt(p);
}

/* The neuron of layer F2 that the bottom-up weights excite most. */
static unsigned int winner(double norm)
{
	float f2[F2] = { };
	unsigned int best = 0;

	for (size_t n = 0; n < neurons; n++) {
		float p = f1[n].p;

		f1[n].q = p * norm;
		for (unsigned int j = 0; j < F2; j++)
			f2[j] += p * bottom_up[n][j];
	}
	for (unsigned int j = 1; j < F2; j++)
		if (f2[j] > f2[best])
			best = j;
	return best;
}

static void iterate(unsigned long image)
{
	const double rate = 0.01;
	unsigned int best;

	f1[image % neurons].i += 0.1;
	best = winner(settle());
	for (size_t n = 0; n < neurons; n++) {
		top_down[n][best] += rate * (f1[n].p - top_down[n][best]);
		f1[n].r = top_down[n][best];
	}
}

const struct load art = { "art", setup, iterate };
