/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recoloring: migrate pages of the page cache to other colors.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_ALLOC_RECOLOR_H
#define _MM_MCUBE_ALLOC_RECOLOR_H

struct address_space;

unsigned int mcube_recolor(struct address_space *mapping, unsigned long pages);

#endif /* _MM_MCUBE_ALLOC_RECOLOR_H */
