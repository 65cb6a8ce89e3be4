// SPDX-License-Identifier: GPL-2.0
/*
 * Asks: readers let the node of a set look its pages up
 *
 * Copyright (C) 2026 The mcube authors
 *
 * In mode message each node has a worker, which runs on the CPUs of the node.  A reader sends
 * it one message for all pages of the read that have their home there.  The worker takes all
 * messages that have come meanwhile at once, pins the pages that it finds, and answers then.
 * The reader copies and drops the pins:
 *
 *   reader, node 0                    queue         worker, node 1
 *     pages 0 2 5 | 1 4 | 3 6
 *     own           |     |
 *                   |     +-------->  to node 2
 *                   +-------------->  [ 1 4 ]       takes all, pins 1, misses 4,
 *     looks up 0 2 5                  [ . . ] <--   and those of other readers
 *     waits for all answers   <---------------      answers each reader once
 *     copies 0 1 2 3, fills 4
 *
 * Why the worker does not copy: it would have to wait for page faults of users, or copy to
 * a page of the kernel from which the reader copies again.  Either way the data crosses from
 * node to node once.
 *
 * Why the worker does not fill: a fill holds the invalidate lock of the file and waits for
 * the device, and all other readers of the node would wait behind it.
 *
 * A reader looks up by itself what it could not send: the queue is full, the node has no
 * CPUs, the read may not wait, or the mode changes.  So a worker waits for nobody, and a reader
 * waits only for workers.
 *
 * Source: Zheng, Burns, Szalay, "A parallel page cache: IOPS and caching for multicore
 * systems", HotStorage 2012.
 *
 * Differences from the paper: there is no thread for I/O, as readers fill.  A reader sends
 * one read at a time, so bundles are pages of a read and messages of several readers.
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "copy.h"
#include "internal.h"

/* Pages for which a worker has been asked, at most. */
#define QUEUE_MAX	64

struct worker {
	struct llist_head queue;
	atomic_t queued;
	wait_queue_head_t wait;
	struct task_struct *task;
};

/* A read that waits for answers: to so many pages, and one for itself. */
struct reader {
	atomic_t left;
	struct completion done;
};

struct ask {
	struct llist_node link;
	struct reader *reader;
	struct setcache_key key;
	struct setcache_set *set;
	int way;
};

static struct worker *workers[MAX_NUMNODES];

/* Messages can be sent: read under RCU. */
static bool open;

static void look_up(struct ask *ask, enum setcache_policy policy)
{
	ask->set = setcache_table_find(&setcache_table, &ask->key);
	ask->way = setcache_get(ask->set, &ask->key, policy);
}

/* Answer each message; its memory may be gone then. */
static void answer(struct llist_node *list)
{
	while (list) {
		struct reader *reader = llist_entry(list, struct ask, link)->reader;
		unsigned int nr = 0;

		while (list && llist_entry(list, struct ask, link)->reader == reader) {
			list = list->next;
			nr++;
		}
		if (atomic_sub_and_test(nr, &reader->left))
			complete(&reader->done);
	}
}

static void serve(struct worker *w)
{
	enum setcache_policy policy = READ_ONCE(setcache_config.policy);
	struct llist_node *list = llist_reverse_order(llist_del_all(&w->queue));
	unsigned int nr = 0;
	struct ask *ask;

	rcu_read_lock();
	llist_for_each_entry(ask, list, link) {
		look_up(ask, policy);
		nr++;
	}
	rcu_read_unlock();
	atomic_sub(nr, &w->queued);
	setcache_count(SETCACHE_STAT_BUNDLES, 1);
	answer(list);
}

static int work(void *data)
{
	struct worker *w = data;

	for (;;) {
		wait_event_idle(w->wait, !llist_empty(&w->queue) || kthread_should_stop());
		/* Nobody sends any more when it shall stop. */
		if (llist_empty(&w->queue))
			return 0;
		serve(w);
		cond_resched();
	}
}

static int start_worker(int nid)
{
	struct worker *w = kzalloc_node(sizeof(*w), GFP_KERNEL, nid);

	if (!w)
		return -ENOMEM;
	init_waitqueue_head(&w->wait);
	w->task = kthread_create_on_node(work, w, nid, "mcube_sets/%d", nid);
	if (IS_ERR(w->task)) {
		int ret = PTR_ERR(w->task);

		kfree(w);
		return ret;
	}
	set_cpus_allowed_ptr(w->task, cpumask_of_node(nid));
	wake_up_process(w->task);
	workers[nid] = w;
	return 0;
}

/**
 * setcache_workers_stop() - no node is asked any more
 *
 * Context: process, sleeps until all messages have been answered.
 */
void setcache_workers_stop(void)
{
	unsigned int nid;

	WRITE_ONCE(open, false);
	/* Readers that have seen it open have sent. */
	synchronize_rcu();
	for (nid = 0; nid < ARRAY_SIZE(workers); nid++) {
		if (!workers[nid])
			continue;
		kthread_stop(workers[nid]->task);
		kfree(workers[nid]);
		workers[nid] = NULL;
	}
}

/**
 * setcache_workers_start() - nodes can be asked
 *
 * Nodes without memory have no sets, and nodes without CPUs have no worker.
 *
 * Context: process, sleeps.
 * Return: 0, -ENOMEM or -EINTR; there are no workers after an error.
 */
int setcache_workers_start(void)
{
	int nid, ret;

	for_each_node_state(nid, N_MEMORY) {
		if (cpumask_empty(cpumask_of_node(nid)))
			continue;
		ret = start_worker(nid);
		if (ret) {
			setcache_workers_stop();
			return ret;
		}
	}
	/* Pairs with send(): the workers are complete. */
	smp_store_release(&open, true);
	return 0;
}

/* Send the asks with the numbers @which to a node, in one message. */
static bool send(struct ask *ask, const u8 *which, unsigned int nr, struct reader *reader,
		 int nid)
{
	struct worker *w;
	unsigned int i;

	/* Pairs with setcache_workers_start(): the workers are complete. */
	w = smp_load_acquire(&open) ? workers[nid] : NULL;
	if (!w)
		return false;
	if (atomic_add_return(nr, &w->queued) > QUEUE_MAX) {
		atomic_sub(nr, &w->queued);
		return false;
	}
	for (i = 0; i < nr; i++) {
		ask[which[i]].reader = reader;
		/* The worker reverses its list. */
		if (i)
			ask[which[i]].link.next = &ask[which[i - 1]].link;
	}
	atomic_add(nr, &reader->left);
	if (llist_add_batch(&ask[which[nr - 1]].link, &ask[which[0]].link, &w->queue))
		wake_up(&w->wait);
	setcache_count(SETCACHE_STAT_MESSAGES, 1);
	return true;
}

/* Look all pages up, or let them be looked up. */
static void look_up_all(struct ask *ask, unsigned int nr, bool may_wait)
{
	enum setcache_policy policy = READ_ONCE(setcache_config.policy);
	struct reader reader = { .left = ATOMIC_INIT(1) };
	unsigned int i, run, fallbacks = 0;
	int nid, own = numa_node_id();
	u16 home[SETCACHE_BATCH];
	u8 order[SETCACHE_BATCH];

	init_completion(&reader.done);
	rcu_read_lock();
	for (i = 0; i < nr; i++) {
		setcache_table_find(&setcache_table, &ask[i].key);
		home[i] = setcache_home(ask[i].key.place, setcache_nodes.nr);
		ask[i].reader = NULL;
	}
	setcache_bundle(home, nr, order);
	for (i = 0; i < nr; i += run) {
		for (run = 1; i + run < nr && home[order[i + run]] == home[order[i]]; run++)
			;
		nid = setcache_nodes.nid[home[order[i]]];
		if (nid != own &&
		    !(may_wait && send(ask, order + i, run, &reader, nid)))
			fallbacks += run;
	}
	for (i = 0; i < nr; i++)
		if (!ask[i].reader)
			look_up(&ask[i], policy);
	rcu_read_unlock();
	if (fallbacks)
		setcache_count(SETCACHE_STAT_FALLBACKS, fallbacks);
	if (!atomic_dec_and_test(&reader.left))
		wait_for_completion(&reader.done);
}

/**
 * setcache_ask() - copy pages that are in sets, and ask the nodes that have them
 * @iocb: as for setcache_read().
 * @to: as for setcache_read().
 * @size: as for setcache_read().
 * @key: set to the first page that is in no set, if there is one.
 * @got: what the last copy returned, or 1 for none.
 *
 * Context: process, sleeps until workers have answered, unless the read may not wait.
 * Return: number of bytes.
 */
ssize_t setcache_ask(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
		     struct setcache_key *key, ssize_t *got)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	u64 cookie = mcube_setcache_cookie_of(READ_ONCE(mapping->mcube_setcache));
	loff_t before = i_size_read(mapping->host), end;
	pgoff_t first = iocb->ki_pos >> PAGE_SHIFT;
	struct ask ask[SETCACHE_BATCH] __uninitialized;
	unsigned int i, nr, hits = 0, remote = 0;
	ssize_t done = 0;

	/* At least one page, so that there is a key for a fill. */
	end = max(min(before, iocb->ki_pos + (loff_t)iov_iter_count(to)), iocb->ki_pos + 1);
	nr = min((pgoff_t)((end - 1) >> PAGE_SHIFT) - first + 1, SETCACHE_BATCH);
	for (i = 0; i < nr; i++)
		ask[i].key = setcache_name(cookie, first + i);
	look_up_all(ask, nr, !(iocb->ki_flags & (IOCB_NOWAIT | IOCB_WAITQ)));

	*got = 1;
	*size = min(before, i_size_read(mapping->host));
	pagefault_disable();
	/* A copy that ended early has not come to the next page. */
	for (i = 0; i < nr && *got > 0 && iocb->ki_pos >> PAGE_SHIFT == first + i; i++) {
		if (ask[i].way < 0) {
			*key = ask[i].key;
			break;
		}
		*got = setcache_copy(ask[i].set, ask[i].way, iocb, to, *size);
		if (*got <= 0)
			break;
		done += *got;
		hits++;
		remote += setcache_is_remote(&ask[i].key, ask[i].set, ask[i].way,
					     ask[i].reader);
	}
	pagefault_enable();
	for (i = 0; i < nr; i++)
		if (ask[i].way >= 0)
			setcache_set_put(ask[i].set, ask[i].way);
	if (hits)
		setcache_count(SETCACHE_STAT_HITS, hits);
	if (remote)
		setcache_count(SETCACHE_STAT_REMOTE, remote);
	return done;
}
