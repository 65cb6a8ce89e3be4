/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lending: does anything stream at this time?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See lend.c for the idea.
 */
#ifndef _MM_MCUBE_SRM_LEND_H
#define _MM_MCUBE_SRM_LEND_H

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/types.h>

/* Pages of files in a second, or mapped pages of files, that make a stream: 4 MiB. */
#define MCUBE_LEND_STREAM	1024U

/* So few frames of a sample say nothing. */
#define MCUBE_LEND_SAMPLE_MIN	8U

/* Ticks that look at frames after mapped pages have come, as one sample may miss them. */
#define MCUBE_LEND_LOOKS	8U

/**
 * struct mcube_lend - what is known of the streams of the last seconds
 * @pages: pages of files up to now; the caller's count.
 * @quiet: seconds in a row without a stream.
 * @mapped: mapped pages of files, the least since frames were to be looked at last.
 * @looks: ticks that look at frames yet, while colors are lent.
 * @lent: what the last tick said.
 */
struct mcube_lend {
	unsigned long pages;
	unsigned int quiet;
	unsigned long mapped;
	unsigned int looks;
	bool lent;
};

/**
 * struct mcube_lend_sample - page frames that were looked at
 * @nr: frames: [1] of reserved colors, [0] of others.
 * @mapped: frames of mapped files among them.
 */
struct mcube_lend_sample {
	unsigned long nr[2];
	unsigned long mapped[2];
};

/**
 * mcube_lend_init() - no stream is known of yet
 * @l: filled in.
 * @pages: pages of files up to now.
 */
static inline void mcube_lend_init(struct mcube_lend *l, unsigned long pages)
{
	l->pages = pages;
	l->quiet = UINT_MAX;
	l->mapped = ULONG_MAX;
	l->looks = MCUBE_LEND_LOOKS;
	l->lent = true;
}

/**
 * mcube_lend_mapped() - are streams mapped?
 * @s: the sample.
 * @per: frames of memory for each frame of the sample.
 *
 * Files that came in while no policy was on lie in all colors alike, so only what the
 * reserved colors have beyond the other colors has come in as a stream.  The excess must be
 * more than chance: four standard deviations, if all colors had the same share of the
 * mapped frames.
 *
 * Return: true if the mapped files in the reserved colors, beyond what these colors would
 * have by chance, have MCUBE_LEND_STREAM pages, and MCUBE_LEND_SAMPLE_MIN frames of the
 * sample.
 */
static inline bool mcube_lend_mapped(const struct mcube_lend_sample *s, unsigned long per)
{
	u64 expected, least = MCUBE_LEND_STREAM / per;
	u64 excess;

	if (!s->nr[0])
		return false;
	expected = (u64)s->mapped[0] * s->nr[1] / s->nr[0];
	if (least < MCUBE_LEND_SAMPLE_MIN)
		least = MCUBE_LEND_SAMPLE_MIN;
	if (s->mapped[1] < expected + least)
		return false;
	excess = s->mapped[1] - expected - least;
	return excess * excess * s->nr[0] >=
		16ULL * (s->mapped[0] + s->mapped[1]) * s->nr[1];
}

/**
 * mcube_lend_streams() - has something streamed since the last tick?
 * @l: what is known.
 * @pages: pages of files up to now.
 *
 * Return: true if MCUBE_LEND_STREAM pages or more have come.
 */
static inline bool mcube_lend_streams(const struct mcube_lend *l, unsigned long pages)
{
	/* Pages that were allocated ahead and not used are taken back. */
	return (long)(pages - READ_ONCE(l->pages)) >= (long)MCUBE_LEND_STREAM;
}

/**
 * mcube_lend_looks() - does a tick need a sample of page frames?
 * @l: what is known; updated.
 * @pages: pages of files up to now.
 * @mapped: mapped pages of files now.
 * @after: as for mcube_lend_tick().
 *
 * Not while the counts say all: while something streams by calls, before the colors could
 * be lent, and while they are lent and MCUBE_LEND_STREAM pages have not been mapped anew.
 *
 * Return: true if the tick shall ask mcube_lend_mapped().
 */
static inline bool mcube_lend_looks(struct mcube_lend *l, unsigned long pages,
				    unsigned long mapped, unsigned int after)
{
	if (mapped < l->mapped)
		l->mapped = mapped;
	if (mapped - l->mapped >= MCUBE_LEND_STREAM) {
		l->mapped = mapped;
		l->looks = MCUBE_LEND_LOOKS;
	}
	if (!after || mcube_lend_streams(l, pages))
		return false;
	if (!l->lent)
		return l->quiet >= after - 1;
	if (!l->looks)
		return false;
	l->looks--;
	return true;
}

/**
 * mcube_lend_tick() - a second has passed, or less if something streams
 * @l: what is known; updated.
 * @pages: pages of files up to now.
 * @mapped: whether streams are mapped, see mcube_lend_mapped().
 * @after: seconds without a stream after which reserved colors are lent; 0 for never.
 *
 * Return: true if reserved colors may be lent.
 */
static inline bool mcube_lend_tick(struct mcube_lend *l, unsigned long pages, bool mapped,
				   unsigned int after)
{
	if (mapped || mcube_lend_streams(l, pages))
		l->quiet = 0;
	else if (l->quiet < UINT_MAX)
		l->quiet++;
	WRITE_ONCE(l->pages, pages);
	if (!l->lent)
		l->looks = MCUBE_LEND_LOOKS;
	l->lent = after && l->quiet >= after;
	return l->lent;
}

#endif /* _MM_MCUBE_SRM_LEND_H */
