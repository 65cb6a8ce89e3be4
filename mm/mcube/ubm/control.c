// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: switching it on and off
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Switching on enables the hooks; domains follow when memory cgroups reclaim.
 * Switching off removes all domains, disables the hooks, and waits until no task
 * is in a hook and the memory of all domains is free.  Nothing stays held: what is
 * held is known to the domain alone, and no page carries a mark.
 */

#include <linux/jump_label.h>
#include <linux/mcube_ubm.h>
#include <linux/mutex.h>
#include <linux/once.h>
#include <linux/random.h>

#include "internal.h"

static DEFINE_MUTEX(switch_lock);

/**
 * mcube_ubm_enable() - switch the policy on or off
 * @on: true to switch it on.
 *
 * Context: process, sleeps.
 * Return: 0; -EINTR if a signal came before anything changed.
 */
int mcube_ubm_enable(bool on)
{
	int ret = mutex_lock_interruptible(&switch_lock);

	if (ret)
		return ret;
	if (on && !mcube_ubm_enabled()) {
		/* No domain knows a hash yet. */
		get_random_once(&mcube_ubm_secret, sizeof(mcube_ubm_secret));
		/* A cgroup that goes offline has to find the hook before it has a domain. */
		static_branch_enable(&mcube_ubm_key);
		mcube_ubm_domains_open();
	} else if (!on && mcube_ubm_enabled()) {
		mcube_ubm_domains_close();
		static_branch_disable(&mcube_ubm_key);
		mcube_ubm_domains_wait();
	}
	mutex_unlock(&switch_lock);
	return 0;
}

/**
 * mcube_ubm_enabled() - is the policy on?
 *
 * Return: true if the policy is on; that can change at once.
 */
bool mcube_ubm_enabled(void)
{
	return static_key_enabled(&mcube_ubm_key);
}

static int change(void (*edit)(struct mcube_ubm_tuning *tuning,
			       unsigned int value), unsigned int value)
{
	struct mcube_ubm_tuning tuning;
	int ret = mutex_lock_interruptible(&mcube_ubm_domains_lock);

	if (ret)
		return ret;
	tuning = mcube_ubm_tuning;
	edit(&tuning, value);
	mcube_ubm_domains_tune(&tuning);
	mutex_unlock(&mcube_ubm_domains_lock);
	return 0;
}

static void edit_model(struct mcube_ubm_tuning *tuning, unsigned int value)
{
	tuning->model = value;
}

static void edit_min_run(struct mcube_ubm_tuning *tuning, unsigned int value)
{
	tuning->rules.min = value;
}

static void edit_guard(struct mcube_ubm_tuning *tuning, unsigned int value)
{
	tuning->guard = value;
}

/**
 * mcube_ubm_set_model() - choose how the gain of other pages is estimated
 * @model: the model.
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR.
 */
int mcube_ubm_set_model(enum mcube_ubm_model model)
{
	return change(edit_model, model);
}

/**
 * mcube_ubm_set_min_run() - set how many pages make a run
 * @pages: the number of pages.
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR.
 */
int mcube_ubm_set_min_run(unsigned int pages)
{
	return change(edit_min_run, pages);
}

/**
 * mcube_ubm_set_guard() - let domains that lag behind plain LRU stand back
 * @on: true if they do.
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR.
 */
int mcube_ubm_set_guard(bool on)
{
	return change(edit_guard, on);
}
