/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRM-buffer of the running system under a map of known colors, for KUnit tests.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_TESTS_SRM_FIXTURE_H
#define _MM_MCUBE_TESTS_SRM_FIXTURE_H

#include <kunit/test.h>
#include <linux/gfp.h>

#include "../srm/internal.h"
#include "alloc-fixture.h"

/**
 * struct srm_fixture - what a test changes and puts back
 * @alloc: map and allocator.
 * @enabled: true if the policy was on before the test.
 * @hop: vm_hop before the test.
 * @reserve: reserved sixteenths before the test.
 * @lend: quiet time before the test.
 * @group_order: order of the color groups before the test.
 */
struct srm_fixture {
	struct alloc_fixture alloc;
	bool enabled, hop;
	unsigned int reserve, lend, group_order;
};

/* The policy is off then, memory will hop, and nothing is lent. */
static inline int srm_fixture_init(struct srm_fixture *f)
{
	f->enabled = mcube_srm_enabled();
	f->hop = mcube_srm_config.vm_hop;
	f->reserve = mcube_srm_config.reserve;
	f->lend = mcube_srm_config.lend;
	f->group_order = mcube_srm_config.group_order;
	WRITE_ONCE(mcube_srm_config.lend, 0);
	mcube_srm_set_hop(true);
	return alloc_fixture_init(&f->alloc);
}

static inline void srm_fixture_exit(const struct srm_fixture *f)
{
	mcube_alloc_enable(false);
	mcube_srm_set_reserve(f->reserve);
	WRITE_ONCE(mcube_srm_config.lend, f->lend);
	mcube_srm_set_hop(f->hop);
	mcube_srm_set_group_order(f->group_order);
	alloc_fixture_exit(&f->alloc);
	if (f->enabled)
		mcube_srm_enable(true);
}

/* For suites that need nothing else: the fixture is the test's private data. */
static inline int srm_fixture_test_init(struct kunit *test)
{
	struct srm_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	test->priv = f;
	return srm_fixture_init(f);
}

static inline void srm_fixture_test_exit(struct kunit *test)
{
	if (test->priv)
		srm_fixture_exit(test->priv);
}

#endif /* _MM_MCUBE_TESTS_SRM_FIXTURE_H */
