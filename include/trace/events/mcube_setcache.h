/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of page sets.
 *
 * Copyright (C) 2026 The mcube authors
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcube_setcache

#if !defined(_TRACE_MCUBE_SETCACHE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCUBE_SETCACHE_H

#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

/* A read that missed pinned @nr pages from @index on, and read @filled of them. */
TRACE_EVENT(mcube_setcache_fill,

	TP_PROTO(const struct inode *inode, pgoff_t index, unsigned int nr,
		 unsigned int filled),

	TP_ARGS(inode, index, nr, filled),

	TP_STRUCT__entry(
		__field(u64, ino)
		__field(u64, index)
		__field(u32, dev)
		__field(u32, nr)
		__field(u32, filled)
	),

	TP_fast_assign(
		__entry->ino = inode->i_ino;
		__entry->index = index;
		__entry->dev = S_ISBLK(inode->i_mode) ? inode->i_rdev :
							inode->i_sb->s_dev;
		__entry->nr = nr;
		__entry->filled = filled;
	),

	TP_printk("major=%u minor=%u ino=%llu index=%llu nr=%u filled=%u",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ino,
		  __entry->index, __entry->nr, __entry->filled)
);

/*
 * On a machine with several nodes: a CPU of @node has copied a page of @page_node, which is
 * in a set of @set_node.  @asked: a worker of that node looked it up.
 */
TRACE_EVENT(mcube_setcache_hit,

	TP_PROTO(int node, int set_node, int page_node, bool asked),

	TP_ARGS(node, set_node, page_node, asked),

	TP_STRUCT__entry(
		__field(int, node)
		__field(int, set_node)
		__field(int, page_node)
		__field(bool, asked)
	),

	TP_fast_assign(
		__entry->node = node;
		__entry->set_node = set_node;
		__entry->page_node = page_node;
		__entry->asked = asked;
	),

	TP_printk("node=%d set_node=%d page_node=%d asked=%d", __entry->node,
		  __entry->set_node, __entry->page_node, __entry->asked)
);

/* The pool has @nr sets now. */
TRACE_EVENT(mcube_setcache_size,

	TP_PROTO(u32 nr, u64 moved, u64 dropped),

	TP_ARGS(nr, moved, dropped),

	TP_STRUCT__entry(
		__field(u32, nr)
		__field(u64, moved)
		__field(u64, dropped)
	),

	TP_fast_assign(
		__entry->nr = nr;
		__entry->moved = moved;
		__entry->dropped = dropped;
	),

	TP_printk("sets=%u moved=%llu dropped=%llu", __entry->nr, __entry->moved,
		  __entry->dropped)
);

#endif /* _TRACE_MCUBE_SETCACHE_H */

#include <trace/define_trace.h>
