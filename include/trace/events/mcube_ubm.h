/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of UBM.
 *
 * Copyright (C) 2026 The mcube authors
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_ubm

#if !defined(_TRACE_MCUBE_UBM_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_UBM_H

#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <linux/tracepoint.h>

/* The rest of a memory cgroup on a node is to have @wanted pages; now there are @held and @rest. */
TRACE_EVENT(mcube_ubm_rest,

	TP_PROTO(const struct mem_cgroup *memcg, int nid, u32 held, u32 rest, u32 wanted),

	TP_ARGS(memcg, nid, held, rest, wanted),

	TP_STRUCT__entry(
		__field(u64, memcg)
		__field(int, nid)
		__field(u32, held)
		__field(u32, rest)
		__field(u32, wanted)
	),

	TP_fast_assign(
		__entry->memcg = cgroup_id(memcg->css.cgroup);
		__entry->nid = nid;
		__entry->held = held;
		__entry->rest = rest;
		__entry->wanted = wanted;
	),

	TP_printk("memcg=%llu nid=%d held=%u rest=%u wanted=%u", __entry->memcg, __entry->nid,
		  __entry->held, __entry->rest, __entry->wanted)
);

#endif /* _TRACE_MCUBE_UBM_H */

#include <trace/define_trace.h>
