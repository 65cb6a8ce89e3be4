/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Phases: does the program still do what it did when it was profiled?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See phase.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_ROCS_PHASE_H
#define _DRIVERS_MCUBE_ROCS_PHASE_H

#include <linux/types.h>

/**
 * struct rocs_phase - what is usual for a program
 * @known: there has been a window.
 * @usual: moving average of the value.
 * @unusual: windows in a row whose value was far from @usual.
 */
struct rocs_phase {
	bool known;
	u64 usual;
	u32 unusual;
};

bool rocs_phase_window(struct rocs_phase *p, u64 value, u32 percent, u32 confirm);

#endif /* _DRIVERS_MCUBE_ROCS_PHASE_H */
