/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_rocs

#if !defined(_TRACE_MCUBE_ROCS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_ROCS_H

#include <linux/tracepoint.h>

struct rocs_window;

/* A process became a target, or is no target any more. */
TRACE_EVENT(mcube_rocs_target,
	TP_PROTO(int pid, unsigned int why, bool added),
	TP_ARGS(pid, why, added),
	TP_STRUCT__entry(
		__field(int, pid)
		__field(unsigned int, why)
		__field(bool, added)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->why = why;
		__entry->added = added;
	),
	TP_printk("pid=%d why=%s %s", __entry->pid,
		  __print_symbolic(__entry->why, { 0, "pid" }, { 1, "cgroup" }, { 2, "auto" }),
		  __entry->added ? "added" : "removed")
);

/* A window ended. */
TRACE_EVENT(mcube_rocs_window,
	TP_PROTO(int pid, unsigned int state, u32 mapped, const struct rocs_window *w),
	TP_ARGS(pid, state, mapped, w),
	TP_STRUCT__entry(
		__field(int, pid)
		__field(unsigned int, state)
		__field(u32, mapped)
		__field(u64, cycles)
		__field(u64, instructions)
		__field(u64, refs)
		__field(u64, misses)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->state = state;
		__entry->mapped = mapped;
		__entry->cycles = w->cycles;
		__entry->instructions = w->instructions;
		__entry->refs = w->refs;
		__entry->misses = w->misses;
	),
	TP_printk("pid=%d state=%s mapped=%u cycles=%llu instructions=%llu refs=%llu misses=%llu",
		  __entry->pid,
		  __print_symbolic(__entry->state, { 0, "watch" }, { 1, "profile" },
				   { 2, "search" }, { 3, "hold" }),
		  __entry->mapped, __entry->cycles, __entry->instructions,
		  __entry->refs, __entry->misses)
);

/* The plan of a process changed its state. */
TRACE_EVENT(mcube_rocs_state,
	TP_PROTO(int pid, unsigned int from, unsigned int to, u32 mapped, s32 gain),
	TP_ARGS(pid, from, to, mapped, gain),
	TP_STRUCT__entry(
		__field(int, pid)
		__field(unsigned int, from)
		__field(unsigned int, to)
		__field(u32, mapped)
		__field(s32, gain)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->from = from;
		__entry->to = to;
		__entry->mapped = mapped;
		__entry->gain = gain;
	),
	TP_printk("pid=%d %s -> %s mapped=%u gain=%d/1024", __entry->pid,
		  __print_symbolic(__entry->from, { 0, "watch" }, { 1, "profile" },
				   { 2, "search" }, { 3, "hold" }),
		  __print_symbolic(__entry->to, { 0, "watch" }, { 1, "profile" },
				   { 2, "search" }, { 3, "hold" }),
		  __entry->mapped, __entry->gain)
);

/* Pages moved into the partition, or out of it. */
TRACE_EVENT(mcube_rocs_move,
	TP_PROTO(int pid, bool in, unsigned int moved, unsigned int there,
		 unsigned int refused),
	TP_ARGS(pid, in, moved, there, refused),
	TP_STRUCT__entry(
		__field(int, pid)
		__field(bool, in)
		__field(unsigned int, moved)
		__field(unsigned int, there)
		__field(unsigned int, refused)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->in = in;
		__entry->moved = moved;
		__entry->there = there;
		__entry->refused = refused;
	),
	TP_printk("pid=%d %s moved=%u there=%u refused=%u", __entry->pid,
		  __entry->in ? "in" : "out", __entry->moved, __entry->there,
		  __entry->refused)
);

#endif /* _TRACE_MCUBE_ROCS_H */

#include <trace/define_trace.h>
