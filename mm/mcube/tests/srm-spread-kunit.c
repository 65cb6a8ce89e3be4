// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of SRM-buffer: files whose pages move to all colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Requests of several users take turns.  A page of a file may be locked for as long as a
 * server of a file system likes; the files of other users do not wait for it.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>
#include <linux/uidgid.h>

#include "../srm/spread.h"
#include "srm-fixture.h"

/* More than a request gets while another is given up. */
#define PAGES	1024U

/* A file whose pages are cached, in segments. */
static struct file *make_file(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("mcube-kunit", PAGES * PAGE_SIZE, 0);
	struct folio *folio;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	{
		DEFINE_READAHEAD(ractl, file, &file->f_ra, file->f_mapping, 0);

		readahead_expand(&ractl, 0, PAGES * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, readahead_count(&ractl), PAGES);
		while ((folio = readahead_folio(&ractl)))
			folio_unlock(folio);
	}
	lru_add_drain_all();
	return file;
}

struct spread_user {
	struct address_space *mapping;
	struct completion done;
	kuid_t uid;
	bool accepted;
};

/* A task of a user that has read a file again and again. */
static int reader(void *arg)
{
	struct spread_user *user = arg;
	struct cred *cred = prepare_creds();

	if (cred) {
		cred->uid = user->uid;
		commit_creds(cred);
		user->accepted = mcube_srm_spread(user->mapping, PAGES);
	}
	complete(&user->done);
	kthread_exit(0);
}

static bool spread_as(unsigned int uid, struct file *file)
{
	struct spread_user user = { .mapping = file->f_mapping, .uid = KUIDT_INIT(uid) };

	init_completion(&user.done);
	if (kernel_thread(reader, &user, "mcube-reader", SIGCHLD) < 0)
		return false;
	wait_for_completion(&user.done);
	return user.accepted;
}

static void a_locked_page_delays_no_other_file(struct kunit *test)
{
	struct file *held, *other;
	unsigned long recolored;
	struct folio *folio;
	int i, refs;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	held = make_file(test);
	other = make_file(test);
	folio = filemap_lock_folio(held->f_mapping, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	refs = folio_ref_count(folio);
	recolored = mcube_srm_stat(MCUBE_SRM_RECOLORED);
	KUNIT_EXPECT_TRUE(test, spread_as(1001, held));
	KUNIT_EXPECT_TRUE(test, spread_as(1002, other));
	for (i = 0; i < 1500 && mcube_srm_stat(MCUBE_SRM_RECOLORED) - recolored < PAGES / 2; i++)
		msleep(20);
	KUNIT_EXPECT_LE(test, PAGES / 2, mcube_srm_stat(MCUBE_SRM_RECOLORED) - recolored);
	/* The request for the locked page is there still. */
	KUNIT_EXPECT_LT(test, refs, folio_ref_count(folio));
	folio_unlock(folio);
	folio_put(folio);
	/* It goes on, and no request holds a page when the policy goes off. */
	mcube_srm_enable(false);
	fput(held);
	fput(other);
}

static struct kunit_case spread_cases[] = {
	KUNIT_CASE(a_locked_page_delays_no_other_file),
	{}
};

static struct kunit_suite spread_suite = {
	.name = "mcube-srm-spread",
	.init = srm_fixture_test_init,
	.exit = srm_fixture_test_exit,
	.test_cases = spread_cases,
};

kunit_test_suite(spread_suite);
