/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The placement hint of a task.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * task_struct carries it as a plain u32, so that sched.h needs no header of
 * ours:
 *
 *   31     20  19   18  17          9 8           0
 *   +--------+------+----+-------------+-------------+
 *   | unused |served|file|  bank + 1   |  color + 1  |   a field of 0: no wish
 *   +--------+------+----+-------------+-------------+
 *
 * A hint of a file is SRM-buffer's, while it allocates for the page cache.  It
 * is told whether the hint was followed.
 */
#ifndef _LINUX_MCUBE_HINT_H
#define _LINUX_MCUBE_HINT_H

#include <linux/sched.h>
#include <linux/types.h>

#define MCUBE_HINT_BITS		9
#define MCUBE_HINT_MASK		((1U << MCUBE_HINT_BITS) - 1)
#define MCUBE_HINT_FILE		(1U << (2 * MCUBE_HINT_BITS))
#define MCUBE_HINT_SERVED	(MCUBE_HINT_FILE << 1)

/**
 * mcube_hint_make() - pack a hint
 * @color: cache color, 0..255, or -1 for any.
 * @bank: DRAM bank, 0..255, or -1 for any.
 *
 * Return: the hint; 0 when both are -1.
 */
static inline u32 mcube_hint_make(int color, int bank)
{
	return (u32)(color + 1) | (u32)(bank + 1) << MCUBE_HINT_BITS;
}

/**
 * mcube_hint_color() - color that a hint asks for
 * @hint: the hint.
 *
 * Return: the color, or -1 for any.
 */
static inline int mcube_hint_color(u32 hint)
{
	return (int)(hint & MCUBE_HINT_MASK) - 1;
}

/**
 * mcube_hint_bank() - bank that a hint asks for
 * @hint: the hint.
 *
 * Return: the bank, or -1 for any.
 */
static inline int mcube_hint_bank(u32 hint)
{
	return (int)(hint >> MCUBE_HINT_BITS & MCUBE_HINT_MASK) - 1;
}

#ifdef CONFIG_MCUBE_ALLOC

/**
 * mcube_hint_save() - have the pages that this task allocates follow a hint
 * @hint: the hint, for the allocations up to mcube_hint_restore().
 *
 * Scopes nest, as those of memalloc_nofs_save() do.
 *
 * Return: the hint so far, for mcube_hint_restore().
 */
static inline u32 mcube_hint_save(u32 hint)
{
	u32 old = current->mcube_hint;

	current->mcube_hint = hint;
	return old;
}

/**
 * mcube_hint_restore() - end of the scope that mcube_hint_save() began
 * @old: what mcube_hint_save() returned.
 *
 * Return: the hint of the scope; MCUBE_HINT_SERVED is set if the hint was a
 * file's and was followed.
 */
static inline u32 mcube_hint_restore(u32 old)
{
	u32 hint = current->mcube_hint;

	current->mcube_hint = old;
	return hint;
}

#endif /* CONFIG_MCUBE_ALLOC */
#endif /* _LINUX_MCUBE_HINT_H */
