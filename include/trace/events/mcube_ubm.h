/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of UBM.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * @memcg is the number of the memory cgroup of a domain, as in debugfs.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_ubm

#if !defined(_TRACE_MCUBE_UBM_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_UBM_H

#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

struct mcube_ubm_core;
struct mcube_ubm_key;
struct mcube_ubm_range;
struct mcube_ubm_run;

#define mcube_ubm_class_name(class)					\
	__print_symbolic(class, { 0, "other" }, { 1, "seq" }, { 2, "loop" })

/* References to pages [@first, @end) of a file were noted; @class is that of the last ones. */
TRACE_EVENT(mcube_ubm_note,

	TP_PROTO(u64 memcg, const struct mcube_ubm_key *key, u32 first, u32 end, u8 class),

	TP_ARGS(memcg, key, first, end, class),

	TP_STRUCT__entry(
		__field(u64, memcg)
		__field(u64, ino)
		__field(u32, dev)
		__field(u32, first)
		__field(u32, nr)
		__field(u8, class)
	),

	TP_fast_assign(
		__entry->memcg = memcg;
		__entry->ino = key->ino;
		__entry->dev = key->dev;
		__entry->first = first;
		__entry->nr = end - first;
		__entry->class = class;
	),

	TP_printk("memcg=%llu major=%u minor=%u ino=%llu first=%u nr=%u class=%s",
		  __entry->memcg, MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->ino, __entry->first, __entry->nr,
		  mcube_ubm_class_name(__entry->class))
);

/* A run of a file is new or changed its class. */
TRACE_EVENT(mcube_ubm_run,

	TP_PROTO(u64 memcg, const struct mcube_ubm_key *key,
		 const struct mcube_ubm_run *run),

	TP_ARGS(memcg, key, run),

	TP_STRUCT__entry(
		__field(u64, memcg)
		__field(u64, ino)
		__field(u32, dev)
		__field(u32, start)
		__field(u32, end)
		__field(u32, cursor)
		__field(u32, period)
		__field(u32, held)
		__field(u8, class)
	),

	TP_fast_assign(
		__entry->memcg = memcg;
		__entry->ino = key->ino;
		__entry->dev = key->dev;
		__entry->start = run->start;
		__entry->end = run->end;
		__entry->cursor = run->cursor;
		__entry->period = run->period;
		__entry->held = run->held;
		__entry->class = run->class;
	),

	TP_printk("memcg=%llu major=%u minor=%u ino=%llu start=%u end=%u cursor=%u period=%u class=%s held=%u",
		  __entry->memcg, MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->ino, __entry->start, __entry->end, __entry->cursor,
		  __entry->period,
		  mcube_ubm_class_name(__entry->class), __entry->held)
);

/*
 * The sizes of the partitions of a domain were computed: @loop pages for loops,
 * @held of them in use, @other pages for other pages.  Loops of buckets below
 * @cutoff are held whole.  Gains are hits per 2^20 references and page.
 */
TRACE_EVENT(mcube_ubm_balance,

	TP_PROTO(u64 memcg, const struct mcube_ubm_core *core),

	TP_ARGS(memcg, core),

	TP_STRUCT__entry(
		__field(u64, memcg)
		__field(u64, now)
		__field(u64, held)
		__field(u64, mg_loop)
		__field(u64, mg_other)
		__field(u32, capacity)
		__field(u32, loop)
		__field(u32, other)
		__field(u32, cutoff)
	),

	TP_fast_assign(
		__entry->memcg = memcg;
		__entry->now = core->now;
		__entry->held = core->table.runs.loops.all;
		__entry->mg_loop = core->shares.mg_loop >> (MCUBE_UBM_GAIN_SHIFT - 20);
		__entry->mg_other = core->shares.mg_other >> (MCUBE_UBM_GAIN_SHIFT - 20);
		__entry->capacity = core->capacity;
		__entry->loop = core->shares.loop;
		__entry->other = core->shares.other;
		__entry->cutoff = core->shares.cutoff;
	),

	TP_printk("memcg=%llu now=%llu capacity=%u loop=%u held=%llu other=%u cutoff=%u mg_loop=%llu mg_other=%llu",
		  __entry->memcg, __entry->now, __entry->capacity,
		  __entry->loop, __entry->held, __entry->other,
		  __entry->cutoff, __entry->mg_loop, __entry->mg_other)
);

/* A domain lags behind plain LRU and holds still, or goes on. */
TRACE_EVENT(mcube_ubm_guard,

	TP_PROTO(u64 memcg, bool still),

	TP_ARGS(memcg, still),

	TP_STRUCT__entry(
		__field(u64, memcg)
		__field(bool, still)
	),

	TP_fast_assign(
		__entry->memcg = memcg;
		__entry->still = still;
	),

	TP_printk("memcg=%llu still=%d", __entry->memcg, __entry->still)
);

/* Of the pages @range of a file, @moved became the next victims. */
TRACE_EVENT(mcube_ubm_propose,

	TP_PROTO(u32 dev, u64 ino, const struct mcube_ubm_range *range,
		 unsigned long moved),

	TP_ARGS(dev, ino, range, moved),

	TP_STRUCT__entry(
		__field(u64, ino)
		__field(u32, dev)
		__field(u32, from)
		__field(u32, to)
		__field(unsigned long, moved)
	),

	TP_fast_assign(
		__entry->ino = ino;
		__entry->dev = dev;
		__entry->from = range->from;
		__entry->to = range->to;
		__entry->moved = moved;
	),

	TP_printk("major=%u minor=%u ino=%llu from=%u to=%u moved=%lu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ino,
		  __entry->from, __entry->to, __entry->moved)
);

#endif /* _TRACE_MCUBE_UBM_H */

#include <trace/define_trace.h>
