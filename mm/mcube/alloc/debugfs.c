// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mcube/hint: the placement hint of the writing task
 *
 * Copyright (C) 2026 The mcube authors
 *
 * For tests, benchmarks and experiments by hand: the task that writes to this
 * file and its children allocate order-0 movable pages of one color, of one
 * bank, or both:
 *
 *   (echo "color=3 bank=5" > /sys/kernel/debug/mcube/hint; exec program)
 *
 * Policies set the hint around single allocations instead (linux/mcube_hint.h).
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/mcube_hint.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../debugfs.h"
#include "../map/map.h"
#include "internal.h"

static int hint_show(struct seq_file *m, void *v)
{
	u32 hint = current->mcube_hint;
	int color = mcube_hint_color(hint), bank = mcube_hint_bank(hint);

	if (!hint)
		seq_puts(m, "none");
	if (color >= 0)
		seq_printf(m, "color=%d", color);
	if (bank >= 0)
		seq_printf(m, "%sbank=%d", color >= 0 ? " " : "", bank);
	seq_putc(m, '\n');
	return 0;
}

/* Parse a word NAME=N with N below @max; each NAME may occur once. */
static int parse_word(const char *word, const char *name, unsigned int max,
		      int *value)
{
	size_t len = strlen(name);
	unsigned int n;
	int ret;

	if (strncmp(word, name, len) || *value >= 0)
		return -EINVAL;
	ret = kstrtouint(word + len, 0, &n);
	if (ret)
		return ret;
	if (n >= max)
		return -ERANGE;
	*value = n;
	return 0;
}

static int parse_hint(char *str, const struct mcube_map *map, u32 *hint)
{
	int color = -1, bank = -1, ret;
	char *word;

	str = strim(str);
	if (!strcmp(str, "none")) {
		*hint = 0;
		return 0;
	}
	if (!*str)
		return -EINVAL;
	while ((word = strsep(&str, " "))) {
		if (*word == 'c')
			ret = parse_word(word, "color=", map->color.nr_values,
					 &color);
		else
			ret = parse_word(word, "bank=", map->bank.nr_values,
					 &bank);
		if (ret)
			return ret;
	}
	*hint = mcube_hint_make(color, bank);
	return 0;
}

static ssize_t hint_write(struct file *file, const char __user *ubuf,
			  size_t count, loff_t *ppos)
{
	const struct mcube_map *map;
	char buf[64];
	u32 hint;
	int ret;

	if (*ppos || count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';
	if (strlen(buf) != count)
		return -EINVAL;

	map = mcube_map_get();
	ret = parse_hint(buf, map, &hint);
	if (ret)
		pr_warn_ratelimited("hint: expected none, or color=0..%u and/or bank=0..%u\n",
				    map->color.nr_values - 1,
				    map->bank.nr_values - 1);
	mcube_map_put();
	if (ret)
		return ret;
	current->mcube_hint = hint;
	*ppos += count;
	return count;
}

static int hint_open(struct inode *inode, struct file *file)
{
	return single_open(file, hint_show, NULL);
}

static const struct file_operations hint_fops = {
	.owner = THIS_MODULE,
	.open = hint_open,
	.read = seq_read,
	.write = hint_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init mcube_debugfs_alloc_init(void)
{
	debugfs_create_file("hint", 0600, mcube_debugfs_dir(NULL), NULL, &hint_fops);
	return 0;
}
late_initcall(mcube_debugfs_alloc_init);
