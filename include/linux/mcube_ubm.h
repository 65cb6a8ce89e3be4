/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of UBM in reclaim, in shadows of pages that left, and in memory cgroups.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The hooks of reclaim and of reads are behind a static key, and all vanish with
 * CONFIG_MCUBE_UBM=n.  A page that is found in memory takes no lock and writes nothing.
 */
#ifndef _LINUX_MCUBE_UBM_H
#define _LINUX_MCUBE_UBM_H

#include <linux/types.h>

struct file;
struct folio;
struct lruvec;
struct mem_cgroup;

/*
 * What a shadow of a page of a file has in place of the kernel's own time, while UBM knows the
 * lruvec:
 *
 *	clock of the lruvec | oldest generation | references
 *
 * The last two are the low bits of the token of MGLRU, which has them in the same place.  UBM's
 * clock starts at random.  If the shadow has the kernel's own time, or the clock of another lruvec,
 * the gap is most probably long.  cachestat(2) takes every such page for not recent.
 */
#define MCUBE_UBM_TOKEN_BITS	6
#define MCUBE_UBM_CLOCK_BITS	30
#define MCUBE_UBM_TOKEN_MASK	((1UL << MCUBE_UBM_TOKEN_BITS) - 1)

#ifdef CONFIG_MCUBE_UBM

#include <linux/fs.h>
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(mcube_ubm_key);

void __mcube_ubm_turn(struct lruvec *lruvec, const struct mem_cgroup *target, int priority,
		      unsigned long nr);
bool __mcube_ubm_protects(struct lruvec *lruvec, struct folio *folio);
bool __mcube_ubm_one_gen(struct lruvec *lruvec, int type);
bool __mcube_ubm_to_scan(struct lruvec *lruvec, int priority, unsigned long *nr);
unsigned long __mcube_ubm_held_pages(struct lruvec *lruvec);
bool __mcube_ubm_decides(struct lruvec *lruvec, const struct mem_cgroup *target, int priority);
unsigned long __mcube_ubm_stamp(struct lruvec *lruvec, struct folio *folio, unsigned long token,
				bool again);
bool mcube_ubm_back(struct lruvec *lruvec, struct folio *folio, unsigned long token,
		    bool workingset, bool *recent);
void __mcube_ubm_forget(struct lruvec *lruvec);
void mcube_ubm_free(struct mem_cgroup *memcg);

/**
 * mcube_ubm_turn() - reclaim is about to take folios of files off the lists
 * @lruvec: the lists, not locked.
 * @target: memory cgroup whose limit is reclaimed for, NULL for all.
 * @priority: how urgent reclaim is, scan_control::priority.
 * @nr: how many pages it takes.
 *
 * MGLRU may take anonymous pages then.
 */
static inline void mcube_ubm_turn(struct lruvec *lruvec, const struct mem_cgroup *target,
				  int priority, unsigned long nr)
{
	if (static_branch_unlikely(&mcube_ubm_key))
		__mcube_ubm_turn(lruvec, target, priority, nr);
}

/**
 * mcube_ubm_protects() - MGLRU is about to protect a folio that was used often
 * @lruvec: the lists, locked.
 * @folio: the folio, in the oldest generation.
 *
 * Return: true if the folio is held now, and in no generation.
 */
static inline bool mcube_ubm_protects(struct lruvec *lruvec, struct folio *folio)
{
	return static_branch_unlikely(&mcube_ubm_key) && __mcube_ubm_protects(lruvec, folio);
}

/**
 * mcube_ubm_one_gen() - may folios leave from one of the two youngest generations?
 * @lruvec: the lists.
 * @type: of the generations.
 *
 * Return: true if reclaim gets on without aging.
 */
static inline bool mcube_ubm_one_gen(struct lruvec *lruvec, int type)
{
	return static_branch_unlikely(&mcube_ubm_key) && __mcube_ubm_one_gen(lruvec, type);
}

/**
 * mcube_ubm_held_pages() - pages of files that reclaim does not see
 * @lruvec: the lists.
 *
 * Reclaim looks at a share of the pages, and becomes urgent if that is too little.  The share is
 * to be that of all pages.
 *
 * Return: their number, 0 if reclaim sees them.
 */
static inline unsigned long mcube_ubm_held_pages(struct lruvec *lruvec)
{
	return static_branch_unlikely(&mcube_ubm_key) ? __mcube_ubm_held_pages(lruvec) : 0;
}

/**
 * mcube_ubm_to_scan() - MGLRU computes its share of the pages
 * @lruvec: the lists.
 * @priority: how urgent reclaim is.
 * @nr: pages that MGLRU counts, 0 if it must age first.  UBM adds held pages, and all others of
 *      files if aging waits.
 *
 * Return: true if aging is to wait.
 */
static inline bool mcube_ubm_to_scan(struct lruvec *lruvec, int priority, unsigned long *nr)
{
	return static_branch_unlikely(&mcube_ubm_key) && __mcube_ubm_to_scan(lruvec, priority, nr);
}

/**
 * mcube_ubm_decides() - is the active list of files UBM's alone?
 * @lruvec: the lists.
 * @target: memory cgroup whose limit is reclaimed for, NULL for all.
 * @priority: how urgent reclaim is.
 *
 * Return: true if the classic lists are not to be balanced.
 */
static inline bool mcube_ubm_decides(struct lruvec *lruvec, const struct mem_cgroup *target,
				     int priority)
{
	return static_branch_unlikely(&mcube_ubm_key) &&
	       __mcube_ubm_decides(lruvec, target, priority);
}

/**
 * mcube_ubm_stamp() - a folio leaves
 * @lruvec: the lists that it was on.
 * @folio: the folio, of a file or not.
 * @token: what the kernel would put into the shadow.
 * @again: the folio was used again since it came in, as far as MGLRU knows.
 *
 * Return: what goes into the shadow.
 */
static inline unsigned long mcube_ubm_stamp(struct lruvec *lruvec, struct folio *folio,
					    unsigned long token, bool again)
{
	return static_branch_unlikely(&mcube_ubm_key) ?
	       __mcube_ubm_stamp(lruvec, folio, token, again) : token;
}

/**
 * mcube_ubm_on() - may shadows have a clock of UBM?
 *
 * Return: true if the policy is on.
 */
static inline bool mcube_ubm_on(void)
{
	return static_branch_unlikely(&mcube_ubm_key);
}

/**
 * mcube_ubm_forget() - the lists are about to become generations, or the other way round
 * @lruvec: the lists, not locked.
 *
 * Context: sleeps.
 */
static inline void mcube_ubm_forget(struct lruvec *lruvec)
{
	if (static_branch_unlikely(&mcube_ubm_key))
		__mcube_ubm_forget(lruvec);
}

/**
 * mcube_ubm_reuse() - does a read count as a reference?
 * @file: the descriptor.
 *
 * The kernel heeds POSIX_FADV_NOREUSE in mappings alone.
 *
 * Return: false if the user said that the pages are not used again.
 */
static inline bool mcube_ubm_reuse(const struct file *file)
{
	return !static_branch_unlikely(&mcube_ubm_key) || !(file->f_mode & FMODE_NOREUSE);
}

#else /* CONFIG_MCUBE_UBM */

static inline void mcube_ubm_turn(struct lruvec *lruvec, const struct mem_cgroup *target,
				  int priority, unsigned long nr)
{
}

static inline bool mcube_ubm_protects(struct lruvec *lruvec, struct folio *folio)
{
	return false;
}

static inline bool mcube_ubm_one_gen(struct lruvec *lruvec, int type)
{
	return false;
}

static inline unsigned long mcube_ubm_held_pages(struct lruvec *lruvec)
{
	return 0;
}

static inline bool mcube_ubm_to_scan(struct lruvec *lruvec, int priority, unsigned long *nr)
{
	return false;
}

static inline bool mcube_ubm_decides(struct lruvec *lruvec, const struct mem_cgroup *target,
				     int priority)
{
	return false;
}

static inline unsigned long mcube_ubm_stamp(struct lruvec *lruvec, struct folio *folio,
					    unsigned long token, bool again)
{
	return token;
}

static inline bool mcube_ubm_on(void)
{
	return false;
}

static inline bool mcube_ubm_back(struct lruvec *lruvec, struct folio *folio,
				  unsigned long token, bool workingset, bool *recent)
{
	return false;
}

static inline void mcube_ubm_forget(struct lruvec *lruvec)
{
}

static inline bool mcube_ubm_reuse(const struct file *file)
{
	return true;
}

static inline void mcube_ubm_free(struct mem_cgroup *memcg)
{
}

#endif /* CONFIG_MCUBE_UBM */

#endif /* _LINUX_MCUBE_UBM_H */
