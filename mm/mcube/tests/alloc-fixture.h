/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mcube allocator of the running system under a map of known colors, for
 * KUnit tests.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_TESTS_ALLOC_FIXTURE_H
#define _MM_MCUBE_TESTS_ALLOC_FIXTURE_H

#include <linux/string.h>

#include "../alloc/internal.h"
#include "../map/map.h"

/* The map of the tests: 16 colors, 8 banks. */
#define TEST_COLORS	"0x1000 0x2000 0x4000 0x8000"
#define TEST_BANKS	"0x24000 0x48000 0x90000"
#define COLORS		16

/**
 * struct alloc_fixture - what a test changes and puts back
 * @map: the map before the test.
 * @enabled: true if the allocator was on before the test.
 */
struct alloc_fixture {
	struct mcube_map_info map;
	bool enabled;
};

/* Set the map; the allocator stays off, so that a test can change its settings. */
static inline int alloc_fixture_off(struct alloc_fixture *f)
{
	struct mcube_dim color, bank;
	int ret;

	f->enabled = mcube_alloc_enabled();
	ret = mcube_alloc_enable(false);
	mcube_map_info(&f->map);
	if (!ret)
		ret = mcube_dim_parse(&color, TEST_COLORS, strlen(TEST_COLORS), NULL);
	if (!ret)
		ret = mcube_dim_parse(&bank, TEST_BANKS, strlen(TEST_BANKS), NULL);
	if (!ret)
		ret = mcube_map_set_dims(&color, &bank, MCUBE_SOURCE_SYSFS);
	return ret;
}

static inline int alloc_fixture_init(struct alloc_fixture *f)
{
	return alloc_fixture_off(f) ?: mcube_alloc_enable(true);
}

/* The allocator is off already, so that a test can put back more than this. */
static inline void alloc_fixture_exit(const struct alloc_fixture *f)
{
	mcube_map_set_dims(&f->map.map.color, NULL, f->map.color_source);
	mcube_map_set_dims(NULL, &f->map.map.bank, f->map.bank_source);
	if (f->enabled)
		mcube_alloc_enable(true);
}

#endif /* _MM_MCUBE_TESTS_ALLOC_FIXTURE_H */
