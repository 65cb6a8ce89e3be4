/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The prefetcher of the last level; prefetch.c says how it works.
 */
#ifndef MCUBE_MODEL_PREFETCH_H
#define MCUBE_MODEL_PREFETCH_H

#include "state.h"

unsigned int prefetch_lines(struct model *m, struct vcpu *v, uint64_t paddr,
			    uint64_t *out);

#endif
