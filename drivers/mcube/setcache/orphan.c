// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: fills whose task is to die while it waits for the device
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A device may never answer, and the task holds the invalidate lock of the file.  So a work item
 * takes over the fill, with its reservations and that lock, and looks every second whether the
 * device has answered.  If the work items waited, the work items of one dead device could keep
 * the work items of other devices from running.  The file stays open until the device answers.
 * Most devices answer soon, so the task waits for a second first: then the file system of a
 * reader that has been killed can be unmounted.
 *
 * Reads of a block device itself wait as direct reads of it do, which no signal ends.
 */

#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fill.h"

/* What a task that is to die waits for the device: so often, and ms each time. */
#define LOOKS	50U
#define BETWEEN	20U

struct orphan {
	struct delayed_work work;
	struct setcache_fill fill;
};

static struct workqueue_struct *queue;

static bool is_read(const struct setcache_fill *fill)
{
	unsigned int i;

	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved && folio_test_locked(setcache_folio(&fill->part[i])))
			return false;
	return true;
}

static void work(struct work_struct *work)
{
	struct orphan *o = container_of(to_delayed_work(work), struct orphan, work);

	if (!is_read(&o->fill)) {
		queue_delayed_work(queue, &o->work, HZ);
		return;
	}
	setcache_fill_finish(&o->fill);
	setcache_fill_publish(&o->fill);
	up_read_non_owner(&o->fill.mapping->invalidate_lock);
	setcache_fill_put(&o->fill);
	fput(o->fill.file);
	kfree(o);
	mcube_setcache_leave();
}

/**
 * setcache_fill_leave() - leave a fill to a work item, unless the device answers soon
 * @fill: the fill of pages of a file, which are being read.
 *
 * The invalidate lock of the file passes to the work item.
 *
 * Context: process, sleeps, holds that lock; the task is to die.
 * Return: false if the pages have been read, or there is no memory: the caller has to wait.
 */
bool setcache_fill_leave(const struct setcache_fill *fill)
{
	struct orphan *o;
	unsigned int i;

	for (i = 0; i < LOOKS; i++) {
		if (is_read(fill))
			return false;
		msleep(BETWEEN);
	}
	o = kmalloc(sizeof(*o), GFP_NOWAIT);
	if (!o)
		return false;
	INIT_DELAYED_WORK(&o->work, work);
	o->fill = *fill;
	get_file(fill->file);
	mcube_setcache_stay();
	rwsem_release(&fill->mapping->invalidate_lock.dep_map, _THIS_IP_);
	queue_delayed_work(queue, &o->work, HZ);
	return true;
}

/**
 * setcache_orphan_init() - prepare for fills whose tasks die
 *
 * Return: 0 or -ENOMEM.
 */
int setcache_orphan_init(void)
{
	queue = alloc_workqueue("mcube_setcache_orphan", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

/**
 * setcache_orphan_exit() - free what setcache_orphan_init() allocated
 *
 * Context: process, sleeps; no read is in the engine any more.
 */
void setcache_orphan_exit(void)
{
	destroy_workqueue(queue);
}
