/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address map: what the files of map/ share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_MAP_INTERNAL_H
#define _MM_MCUBE_MAP_INTERNAL_H

#include "map.h"

/* detect.c */
enum mcube_map_source mcube_detect(struct mcube_guess *guess);

#endif /* _MM_MCUBE_MAP_INTERNAL_H */
