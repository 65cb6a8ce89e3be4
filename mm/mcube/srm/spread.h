/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRM-buffer: moving the pages of a file to all colors.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SRM_SPREAD_H
#define _MM_MCUBE_SRM_SPREAD_H

#include <linux/types.h>

struct address_space;

bool mcube_srm_spread(struct address_space *mapping, pgoff_t pages);
void mcube_srm_spread_stop(void);

#endif /* _MM_MCUBE_SRM_SPREAD_H */
