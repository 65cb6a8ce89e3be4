// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous fills: nobody waits for the device
 *
 * Copyright (C) 2026 The mcube authors
 *
 * io_uring reads a page that is in no set in two steps.  The first one may not wait, and
 * gets -EAGAIN.  The second one comes with somebody to be woken (IOCB_WAITQ):
 *
 *   task                             device                     work item
 *    |
 *   reserve, begin to read -------------+
 *   -EIOCBQUEUED                        |
 *    |                                  |
 *   other reads                 last page is read ------------> publish
 *    |                                                          drop the pins
 *    +<---------------------------------------------------------wake the reader
 *   read again: a hit
 *
 * The task itself begins to read, under its own plug and in its own cgroup.  If another task
 * fills the page, or the file is being truncated, it gets -EAGAIN, and io_uring lets a worker
 * read, which may wait.
 *
 * Where all pages are there when the task has begun to read, as with holes of a file and with
 * a RAM disk, the task does what the work item does, and looks again.
 *
 * A page that has been published may leave its set before its reader comes back, as may any
 * page.  It would be read twice then, so it stays once (setcache_set_await()).
 *
 * The reservations and the invalidate lock of the file pass from the task to the work item.
 * The work item waits for nothing, so neither is held for longer than by a fill that waits.
 *
 * A page may be missing again when its reader comes back: it could not be read, it has
 * changed, or it was evicted.  A reader would come for ever, so it has a mark of the page
 * at which its fill began.  With the mark it gets -EAGAIN there, and a worker reads, which
 * copies from the page that it has filled, or gets the error.
 */

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/kmsan-checks.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "fill.h"

/* A fill that nobody waits for. */
struct later {
	struct llist_node link;
	atomic_t left;		/* folios or bios that are being read; the task has a share */
	bool failed;
	struct wait_page_queue *reader;
	struct setcache_fill fill;
	struct wait_page_queue wait[];	/* for folios of a file */
};

/* Fills whose pages have been read. */
struct ended {
	struct llist_head list;
	struct work_struct work;
};

static DEFINE_PER_CPU(struct ended, ended);
static struct workqueue_struct *queue;

/*
 * The mark of a reader whose fill begins at a page: no folio has such an address.  It is not
 * made from the cookie, which changes as often as somebody drops the pages of the file.  A
 * mark that an earlier read has left costs no more than a worker.
 */
static struct folio *mark_of(const struct setcache_fill *fill)
{
	return (struct folio *)(((unsigned long)fill->mapping + hash_64(fill->first, 64)) | 1);
}

/* The reader reads again; its file may be gone then. */
static void wake(struct wait_page_queue *reader, struct folio *mark)
{
	struct wait_page_key key = { .folio = mark, .bit_nr = PG_locked };

	reader->folio = mark;
	reader->bit_nr = key.bit_nr;
	reader->wait.func(&reader->wait, TASK_NORMAL, 0, &key);
}

/* The pages have been read: others may find them. */
static void publish(struct later *l)
{
	struct setcache_fill *fill = &l->fill;
	struct setcache_part *part;

	if (!S_ISBLK(fill->mapping->host->i_mode))
		setcache_fill_finish(fill);
	for (part = fill->part; part < fill->part + fill->nr; part++)
		part->failed |= part->reserved && READ_ONCE(l->failed);
	setcache_fill_publish(fill);
}

static void end(struct later *l)
{
	struct folio *mark = mark_of(&l->fill);
	struct wait_page_queue *reader = l->reader;

	publish(l);
	up_read_non_owner(&l->fill.mapping->invalidate_lock);
	setcache_fill_put(&l->fill);
	kfree(l);
	wake(reader, mark);
	mcube_setcache_leave();
}

static void work(struct work_struct *work)
{
	struct ended *e = container_of(work, struct ended, work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&e->list));
	struct later *l, *next;

	llist_for_each_entry_safe(l, next, list, link) {
		end(l);
		cond_resched();
	}
}

/* A share of a fill has been read.  The fill may be gone then. */
static void read_done(struct later *l)
{
	struct ended *e = raw_cpu_ptr(&ended);

	if (atomic_dec_and_test(&l->left) && llist_add(&l->link, &e->list))
		queue_work(queue, &e->work);
}

static int folio_done(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	struct wait_page_queue *wait = container_of(entry, struct wait_page_queue, wait);

	/* A waker of an earlier fill may be late.  Then the folio is still being read. */
	if (!wake_page_match(wait, key) || folio_test_locked(wait->folio))
		return 0;
	list_del_init(&entry->entry);
	read_done(entry->private);
	return 1;
}

static void bio_done(struct bio *bio)
{
	struct later *l = bio->bi_private;

	if (bio->bi_status)
		WRITE_ONCE(l->failed, true);
	bio_put(bio);
	read_done(l);
}

static void direct_done(void *private)
{
	read_done(private);
}

static void begin_file(struct later *l)
{
	struct blk_plug plug;
	unsigned int i;

	blk_start_plug(&plug);
	if (l->fill.direct)
		setcache_submit_direct(&l->fill, &l->left, direct_done, l);
	for (i = 0; i < l->fill.nr; i++) {
		struct wait_page_queue *wait = &l->wait[i];

		if (!l->fill.part[i].reserved || l->fill.part[i].direct)
			continue;
		wait->folio = setcache_folio(&l->fill.part[i]);
		wait->bit_nr = PG_locked;
		init_waitqueue_func_entry(&wait->wait, folio_done);
		wait->wait.private = l;
		atomic_inc(&l->left);
		setcache_fill_submit(&l->fill, i, &wait->wait);
	}
	blk_finish_plug(&plug);
}

static ssize_t refuse(void)
{
	setcache_count(SETCACHE_STAT_NOWAIT, 1);
	return -EAGAIN;
}

/* No page was reserved. */
static ssize_t give_up(struct later *l, enum setcache_obstacle obstacle)
{
	unsigned int nr = l->fill.nr;

	filemap_invalidate_unlock_shared(l->fill.mapping);
	setcache_fill_put(&l->fill);
	kfree(l);
	if (nr)
		return SETCACHE_LOOK_AGAIN;
	if (obstacle == SETCACHE_IS_BUSY)
		return refuse();
	if (obstacle == SETCACHE_IS_FULL)
		setcache_count(SETCACHE_STAT_FULL, 1);
	return 0;
}

/**
 * setcache_fill_later() - read pages that are not in sets, and wake the reader then
 * @iocb: as for mcube_setcache_read(); its waiter is woken.
 * @what: the file, its cookie, and the first page.
 * @key: the first page, which the caller has not found.
 * @last: index of the last page.
 *
 * Context: process; does not wait until the pages have been read, but may wait for memory,
 * for a request of the device, and for what ->read_folio() reads to find the blocks.
 * Return: -EIOCBQUEUED if the waiter is woken; %SETCACHE_LOOK_AGAIN if the pages are there;
 * -EAGAIN if a read has to wait; 0 to read through the page cache.
 */
ssize_t setcache_fill_later(struct kiocb *iocb, const struct setcache_fill *what,
			    struct setcache_key *key, pgoff_t last)
{
	unsigned int nr = min(last - what->first + 1, SETCACHE_BATCH);
	struct folio *mark = mark_of(what);
	enum setcache_obstacle obstacle;
	struct later *l;

	/* io_uring sets the field only where it waits for a folio. */
	kmsan_unpoison_memory(&iocb->ki_waitq->folio, sizeof(mark));
	if (iocb->ki_waitq->folio == mark) {
		/* For the next read with the same waiter. */
		iocb->ki_waitq->folio = NULL;
		return refuse();
	}
	l = kmalloc(struct_size(l, wait, nr), GFP_NOWAIT | __GFP_ACCOUNT);
	if (!l)
		return refuse();
	if (!filemap_invalidate_trylock_shared(what->mapping)) {
		kfree(l);
		return refuse();
	}
	l->fill.file = what->file;
	l->fill.mapping = what->mapping;
	l->fill.cookie = what->cookie;
	l->fill.first = what->first;
	l->fill.direct = what->direct;
	l->fill.later = true;
	obstacle = setcache_fill_reserve(&l->fill, key, what->first + nr - 1);
	/* Look again once only. */
	iocb->ki_waitq->folio = mark;
	if (!l->fill.reserved)
		return give_up(l, obstacle);
	l->reader = iocb->ki_waitq;
	l->failed = false;
	atomic_set(&l->left, 1);
	mcube_setcache_stay();
	if (S_ISBLK(what->mapping->host->i_mode))
		setcache_submit_block(&l->fill, &l->left, bio_done, l);
	else
		begin_file(l);
	if (!atomic_dec_and_test(&l->left)) {
		/*
		 * The work item gives the lock back, or has done so.  The file stays: the
		 * request cannot end before its task comes back to io_uring.
		 */
		rwsem_release(&what->mapping->invalidate_lock.dep_map, _THIS_IP_);
		return -EIOCBQUEUED;
	}
	publish(l);
	filemap_invalidate_unlock_shared(what->mapping);
	setcache_fill_put(&l->fill);
	kfree(l);
	mcube_setcache_leave();
	return SETCACHE_LOOK_AGAIN;
}

/**
 * setcache_async_init() - prepare for asynchronous fills
 *
 * Return: 0 or -ENOMEM.
 */
int setcache_async_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct ended *e = per_cpu_ptr(&ended, cpu);

		init_llist_head(&e->list);
		INIT_WORK(&e->work, work);
	}
	queue = alloc_workqueue("mcube_setcache", WQ_MEM_RECLAIM, 0);
	return queue ? 0 : -ENOMEM;
}

/**
 * setcache_async_exit() - free what setcache_async_init() allocated
 *
 * No read can get into the engine any more, and the last one has left.
 *
 * Context: process, sleeps.
 */
void setcache_async_exit(void)
{
	destroy_workqueue(queue);
	/* A task in which the last read ended may be on its way out of this module. */
	synchronize_rcu_tasks();
}
