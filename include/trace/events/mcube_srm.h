/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of SRM-buffer.
 *
 * Copyright (C) 2026 The mcube authors
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_srm

#if !defined(_TRACE_MCUBE_SRM_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_SRM_H

#include <linux/tracepoint.h>

/* A new segment gets color group @group; @color is a color of the group. */
TRACE_EVENT(mcube_srm_segment,

	TP_PROTO(unsigned int group, unsigned int color),

	TP_ARGS(group, color),

	TP_STRUCT__entry(
		__field(unsigned int, group)
		__field(unsigned int, color)
	),

	TP_fast_assign(
		__entry->group = group;
		__entry->color = color;
	),

	TP_printk("group=%u color=%u", __entry->group, __entry->color)
);

/* To free @wanted frames of @group on node @nid, @freed pages were evicted. */
TRACE_EVENT(mcube_srm_reclaim,

	TP_PROTO(int nid, unsigned int group, unsigned long wanted,
		 unsigned long freed),

	TP_ARGS(nid, group, wanted, freed),

	TP_STRUCT__entry(
		__field(int, nid)
		__field(unsigned int, group)
		__field(unsigned long, wanted)
		__field(unsigned long, freed)
	),

	TP_fast_assign(
		__entry->nid = nid;
		__entry->group = group;
		__entry->wanted = wanted;
		__entry->freed = freed;
	),

	TP_printk("nid=%d group=%u wanted=%lu freed=%lu", __entry->nid,
		  __entry->group, __entry->wanted, __entry->freed)
);

/* From now on memory has the @colors reserved colors as well, or no longer. */
TRACE_EVENT(mcube_srm_lend,

	TP_PROTO(bool lent, unsigned int colors),

	TP_ARGS(lent, colors),

	TP_STRUCT__entry(
		__field(bool, lent)
		__field(unsigned int, colors)
	),

	TP_fast_assign(
		__entry->lent = lent;
		__entry->colors = colors;
	),

	TP_printk("lent=%d colors=%u", __entry->lent, __entry->colors)
);

#endif /* _TRACE_MCUBE_SRM_H */

#include <trace/define_trace.h>
