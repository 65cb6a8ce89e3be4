/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mcube-probe in a guest of a modelled machine, without QEMU.
 *
 * The probe's own code chooses pages, links chases and decides.  Its memory and its clock are
 * made up: guest frames in random order, and the model's cycles, with noise on them.
 */
#ifndef MCUBE_MODEL_GUEST_H
#define MCUBE_MODEL_GUEST_H

#include <stdbool.h>

/**
 * struct guest - a guest
 * @backing:	bytes of the host's pages behind it, as the key "backing" has them
 * @shift:	of the pages that its kernel gives the probe, 12 or 21
 * @known:	its kernel tells the probe their frames
 * @noise:	percent of the timings that something disturbs
 */
struct guest {
	const char *backing;
	unsigned int shift;
	bool known;
	unsigned int noise;
};

/* Run the probe with the words of @command; its last line.  @keys: of the model, by pairs. */
const char *guest_probe(const struct guest *g, const char *machine, const char * const keys[6],
			const char *command);

#endif
