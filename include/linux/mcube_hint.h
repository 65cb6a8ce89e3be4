/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The placement hint of a task.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * task_struct has the hint as a plain u32, so that sched.h need not include
 * this header:
 *
 *   31     20  19   18  17          9 8           0
 *   +--------+------+----+-------------+-------------+
 *   | unused |served|file|  bank + 1   |  color + 1  |   a field of 0: any
 *   +--------+------+----+-------------+-------------+
 *
 * The bit "file" is set for allocations for the page cache.  The allocator sets
 * the bit "served" if it followed such a hint.
 */
#ifndef _LINUX_MCUBE_HINT_H
#define _LINUX_MCUBE_HINT_H

#include <linux/sched.h>
#include <linux/types.h>

#define MCUBE_HINT_BITS		9
#define MCUBE_HINT_MASK		((1U << MCUBE_HINT_BITS) - 1)
/* Color and bank, without the flags above them. */
#define MCUBE_HINT_VALUES	(MCUBE_HINT_FILE - 1)
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
 * mcube_hint_color() - the color that a hint asks for
 * @hint: the hint.
 *
 * Return: the color, or -1 for any.
 */
static inline int mcube_hint_color(u32 hint)
{
	return (int)(hint & MCUBE_HINT_MASK) - 1;
}

/**
 * mcube_hint_bank() - the bank that a hint asks for
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
 * mcube_hint_save() - set the hint for the pages that this task allocates
 * @hint: the hint, for the allocations up to mcube_hint_restore().
 *
 * Scopes nest, like scopes of memalloc_nofs_save().
 *
 * Return: the previous hint, for mcube_hint_restore().
 */
static inline u32 mcube_hint_save(u32 hint)
{
	u32 old = current->mcube_hint;

	current->mcube_hint = hint;
	return old;
}

/**
 * mcube_hint_restore() - end the scope that mcube_hint_save() began
 * @old: return value of mcube_hint_save().
 *
 * Return: the hint of the scope; MCUBE_HINT_SERVED is set if MCUBE_HINT_FILE
 * was set and the hint was followed.
 */
static inline u32 mcube_hint_restore(u32 old)
{
	u32 hint = current->mcube_hint;

	current->mcube_hint = old;
	return hint;
}

#endif /* CONFIG_MCUBE_ALLOC */
#endif /* _LINUX_MCUBE_HINT_H */
