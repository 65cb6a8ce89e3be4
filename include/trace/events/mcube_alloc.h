/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the mcube allocator.
 *
 * Copyright (C) 2026 The mcube authors
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_alloc

#if !defined(_TRACE_MCUBE_ALLOC_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_ALLOC_H

#include <linux/mcube_hint.h>
#include <linux/mmzone.h>
#include <linux/tracepoint.h>

TRACE_DEFINE_ENUM(MCUBE_REASON_FREE);
TRACE_DEFINE_ENUM(MCUBE_REASON_PRESSURE);
TRACE_DEFINE_ENUM(MCUBE_REASON_PAGE);
TRACE_DEFINE_ENUM(MCUBE_REASON_OFF);

/* A block of the buddy lists became a container. */
TRACE_EVENT(mcube_alloc_take,

	TP_PROTO(struct zone *zone, unsigned long pfn, unsigned int order,
		 int owner),

	TP_ARGS(zone, pfn, order, owner),

	TP_STRUCT__entry(
		__field(int, nid)
		__field(int, zone)
		__field(unsigned long, pfn)
		__field(unsigned int, order)
		__field(int, owner)
	),

	TP_fast_assign(
		__entry->nid = zone_to_nid(zone);
		__entry->zone = zone_idx(zone);
		__entry->pfn = pfn;
		__entry->order = order;
		__entry->owner = owner;
	),

	TP_printk("nid=%d zone=%d pfn=0x%lx order=%u cpu=%d",
		  __entry->nid, __entry->zone, __entry->pfn, __entry->order,
		  __entry->owner)
);

/* A container with @nr_free free pages returned to the buddy lists. */
TRACE_EVENT(mcube_alloc_break_up,

	TP_PROTO(struct zone *zone, unsigned long pfn, unsigned int nr_free,
		 int reason),

	TP_ARGS(zone, pfn, nr_free, reason),

	TP_STRUCT__entry(
		__field(int, nid)
		__field(int, zone)
		__field(unsigned long, pfn)
		__field(unsigned int, nr_free)
		__field(int, reason)
	),

	TP_fast_assign(
		__entry->nid = zone_to_nid(zone);
		__entry->zone = zone_idx(zone);
		__entry->pfn = pfn;
		__entry->nr_free = nr_free;
		__entry->reason = reason;
	),

	TP_printk("nid=%d zone=%d pfn=0x%lx nr_free=%u reason=%s",
		  __entry->nid, __entry->zone, __entry->pfn, __entry->nr_free,
		  __print_symbolic(__entry->reason,
				   { MCUBE_REASON_FREE,		"free" },
				   { MCUBE_REASON_PRESSURE,	"pressure" },
				   { MCUBE_REASON_PAGE,		"page" },
				   { MCUBE_REASON_OFF,		"off" }))
);

/* The mcube allocator had no page for a request, or none for its hint. */
TRACE_EVENT(mcube_alloc_fallback,

	TP_PROTO(struct zone *zone, u32 hint),

	TP_ARGS(zone, hint),

	TP_STRUCT__entry(
		__field(int, nid)
		__field(int, zone)
		__field(int, color)
		__field(int, bank)
	),

	TP_fast_assign(
		__entry->nid = zone_to_nid(zone);
		__entry->zone = zone_idx(zone);
		__entry->color = mcube_hint_color(hint);
		__entry->bank = mcube_hint_bank(hint);
	),

	TP_printk("nid=%d zone=%d color=%d bank=%d",
		  __entry->nid, __entry->zone, __entry->color, __entry->bank)
);

#endif /* _TRACE_MCUBE_ALLOC_H */

#include <trace/define_trace.h>
