/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The weave phase: the shared levels; weave.c says how it works.
 */
#ifndef MCUBE_MODEL_WEAVE_H
#define MCUBE_MODEL_WEAVE_H

#include "state.h"

void model_weave(struct model *m, bool all);

#endif
