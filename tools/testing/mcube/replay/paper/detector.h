/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM detector: streams that read a file, and the runs that they leave.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See detector.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_DETECTOR_H
#define _MM_MCUBE_UBM_DETECTOR_H

#include <linux/types.h>

#include "runs.h"

/**
 * struct mcube_ubm_touched - what a note did
 * @class: how the pages are referenced.
 * @refs: pages that the note stands for.
 * @from: first of these pages.
 * @run: runs of which pages were read, in the order of reading.
 * @nr: number of them.
 * @changed: bit i is set if @run[i] is a new run or has changed its class.
 */
struct mcube_ubm_touched {
	enum mcube_ubm_class class;
	u32 refs;
	u32 from;
	u32 run[MCUBE_UBM_STEPS];
	u32 nr;
	u32 changed;
};

void mcube_ubm_detect(struct mcube_ubm_runs *runs,
		      struct mcube_ubm_trail *trail, u32 first, u32 nr,
		      u32 prev, bool eof, u32 now,
		      struct mcube_ubm_touched *touched);

#endif /* _MM_MCUBE_UBM_DETECTOR_H */
