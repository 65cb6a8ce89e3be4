// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that tools/include and the headers of the shim declare.
 */
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/prandom.h>

/* linux/list.h with CONFIG_DEBUG_LIST: the checks of the kernel's lib/list_debug.c. */

void __list_add(struct list_head *new, struct list_head *prev, struct list_head *next)
{
	WARN_ON(next->prev != prev);
	WARN_ON(prev->next != next);
	WARN_ON(new == prev || new == next);
	next->prev = new;
	new->next = next;
	new->prev = prev;
	prev->next = new;
}

void __list_del_entry(struct list_head *entry)
{
	WARN_ON(entry->next == LIST_POISON1 || entry->prev == LIST_POISON2);
	WARN_ON(entry->prev->next != entry);
	WARN_ON(entry->next->prev != entry);
	__list_del(entry->prev, entry->next);
}

void list_del(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->next = LIST_POISON1;
	entry->prev = LIST_POISON2;
}

/* linux/prandom.h: the functions of the kernel's lib/random32.c. */

static u32 tausworthe(u32 s, int a, int b, u32 c, int d)
{
	return ((s & c) << d) ^ (((s << a) ^ s) >> b);
}

u32 prandom_u32_state(struct rnd_state *state)
{
	state->s1 = tausworthe(state->s1, 6, 13, 4294967294U, 18);
	state->s2 = tausworthe(state->s2, 2, 27, 4294967288U, 2);
	state->s3 = tausworthe(state->s3, 13, 21, 4294967280U, 7);
	state->s4 = tausworthe(state->s4, 3, 12, 4294967168U, 13);
	return state->s1 ^ state->s2 ^ state->s3 ^ state->s4;
}

static u32 at_least(u32 x, u32 least)
{
	return x < least ? x + least : x;
}

void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	u32 i = ((seed >> 32) ^ (seed << 10) ^ seed) & 0xffffffffUL;

	state->s1 = at_least(i, 2U);
	state->s2 = at_least(i, 8U);
	state->s3 = at_least(i, 16U);
	state->s4 = at_least(i, 128U);
}
