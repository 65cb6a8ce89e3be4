// SPDX-License-Identifier: GPL-2.0
/*
 * The probe: how lines of memory meet in DRAM, seen by time
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Two lines in different rows of one bank take longer to access in turn than lines of two
 * banks: each access opens a row that the other had closed.  So the cost of pairs over the
 * distance of their addresses shows which distances lead back to the same bank:
 *
 *	one file descriptor of /dev/mcube_probe
 *	   write "mib=128 step=64"   memory.c: takes memory of its own, makes it uncached
 *	   read                      a line for each distance: mean and median cost
 *	   close, or its end by a signal: the memory is cached again, then free
 *
 * Source: Algorithm 1 in section 3.1 of "Regularities considered harmful: forcing
 * randomness to memory accesses to reduce row buffer conflicts for multi-core, multi-bank
 * systems", ASPLOS 2013.  As there: memory is uncached, a pair is accessed 500 times, each
 * access depends on the one before, CL_1 stays and CL_2 moves by a line.
 *
 * Differences from the paper: memory is taken from the page allocator in blocks, and is not
 * all of a node, so some distances are missing.  Interrupts are off for 50 pairs at a time.
 * The median of such pieces is told beside the mean.  The first block is also accessed
 * before it becomes uncached, as hypervisors and emulators may not obey the attribute.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/tsc.h>

#include "internal.h"

/**
 * struct probe - an open file
 * @lock: protects the rest.
 * @memory: what is held.
 * @plan: what to measure; @plan.mib is 0 before the first write.
 * @next: the next pair.
 * @line: text that was not read yet.
 * @len: of the text.
 * @pos: of the first byte that was not read.
 * @pieces: scratch memory.
 */
struct probe {
	/* Threads may share a file descriptor. */
	struct mutex lock;
	struct probe_memory memory;
	struct probe_plan plan;
	u64 next;
	char line[256];
	unsigned int len, pos;
	struct probe_pieces pieces;
};

/* One at a time: two would measure each other, and would hold twice the memory. */
static atomic_t in_use = ATOMIC_INIT(0);

static int probe_open(struct inode *inode, struct file *file)
{
	struct probe *p;
	int ret;

	ret = probe_refused();
	if (ret)
		return ret;
	if (atomic_cmpxchg(&in_use, 0, 1))
		return -EBUSY;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p) {
		atomic_set(&in_use, 0);
		return -ENOMEM;
	}
	mutex_init(&p->lock);
	xa_init(&p->memory.blocks);
	file->private_data = p;
	return nonseekable_open(inode, file);
}

static int probe_release(struct inode *inode, struct file *file)
{
	struct probe *p = file->private_data;

	probe_drop(&p->memory);
	kfree(p);
	atomic_set(&in_use, 0);
	return 0;
}

/* Memory stays while plans ask for the same, so that their addresses are the same. */
static int set_plan(struct probe *p, const struct probe_plan *plan)
{
	struct probe_memory *m = &p->memory;
	int ret;

	if (plan->mib != p->plan.mib || plan->node != p->plan.node) {
		probe_drop(m);
		p->plan.mib = 0;
		ret = probe_hold(m, plan->node, plan->mib, &p->pieces);
		if (ret == -ENOMEM)
			pr_warn_ratelimited("probe: node %d has no free block of %u MiB\n",
					    plan->node, PROBE_MIB);
		if (ret)
			return ret;
		p->plan = *plan;
	}
	if (!probe_at(m, plan->base)) {
		pr_warn_ratelimited("probe: base: expected 0 to %lu, where memory is held\n",
				    (m->last + 1 - m->first) * PROBE_BYTES - PROBE_LINE);
		return -ERANGE;
	}
	/* The header is the first line. */
	p->len = scnprintf(p->line, sizeof(p->line),
			   "# first=%#llx node=%d held_mib=%u repeat=%u tsc_khz=%u cached=%llu.%02llu uncached=%llu.%02llu obeyed=%s\noffset mean median\n",
			   (u64)m->first * PROBE_BYTES, plan->node, m->nr * PROBE_MIB, plan->repeat,
			   tsc_khz, m->cached / 100, m->cached % 100, m->uncached / 100,
			   m->uncached % 100, probe_is_uncached(m) ? "yes" : "no");
	p->pos = 0;
	p->next = 0;
	p->plan = *plan;
	return 0;
}

static ssize_t probe_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct probe *p = file->private_data;
	struct probe_plan plan;
	char text[160];
	int ret;

	ret = probe_refused();
	if (ret)
		return ret;
	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, len))
		return -EFAULT;
	text[len] = '\0';
	if (strlen(text) != len)
		return -EINVAL;
	ret = probe_parse(strim(text), &plan);
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&p->lock))
		return -EINTR;
	ret = set_plan(p, &plan);
	mutex_unlock(&p->lock);
	return ret ?: len;
}

/* Measure the next pair that memory has: false behind the last one and after a signal. */
static bool next_line(struct probe *p)
{
	const struct probe_plan *plan = &p->plan;
	u64 end = (p->memory.last + 1 - p->memory.first) * PROBE_BYTES;
	const void *one = probe_at(&p->memory, plan->base), *other;
	u64 offset, mean, median;

	while (p->next < plan->count && !signal_pending(current)) {
		offset = plan->start + p->next * plan->step;
		if (plan->base + offset >= end)
			break;
		p->next++;
		other = probe_at(&p->memory, plan->base + offset);
		cond_resched();
		if (!other)
			continue;
		mean = probe_pair(one, other, plan->repeat, &p->pieces, &median);
		p->len = scnprintf(p->line, sizeof(p->line), "%llu %llu.%02llu %llu.%02llu\n",
				   offset, mean / 100, mean % 100, median / 100, median % 100);
		p->pos = 0;
		return true;
	}
	return false;
}

static ssize_t probe_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct probe *p = file->private_data;
	size_t done = 0, n;
	ssize_t ret;

	ret = probe_refused();
	if (ret)
		return ret;
	if (mutex_lock_interruptible(&p->lock))
		return -EINTR;
	if (!p->plan.mib)
		ret = -ENODATA;
	while (!ret && done < len) {
		if (p->pos == p->len && !next_line(p)) {
			ret = signal_pending(current) ? -EINTR : 0;
			break;
		}
		n = min_t(size_t, len - done, p->len - p->pos);
		if (copy_to_user(buf + done, p->line + p->pos, n)) {
			ret = -EFAULT;
			break;
		}
		done += n;
		p->pos += n;
	}
	mutex_unlock(&p->lock);
	return done ?: ret;
}

static const struct file_operations probe_fops = {
	.owner = THIS_MODULE,
	.open = probe_open,
	.read = probe_read,
	.write = probe_write,
	.release = probe_release,
};

static struct miscdevice probe_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mcube_probe",
	.fops = &probe_fops,
	.mode = 0600,
};

module_misc_device(probe_device);

MODULE_AUTHOR("The mcube authors");
MODULE_DESCRIPTION("Time pairs of uncached accesses, to find DRAM banks (Algorithm 1 of M3)");
MODULE_LICENSE("GPL");
