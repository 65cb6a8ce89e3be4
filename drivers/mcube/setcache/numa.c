// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes: which memory is near
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The nodes that have memory when the pool is made share it, as home.h says.  A page or a
 * set comes from another node if its own has no memory.
 */

#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/topology.h>

#include <trace/events/mcube_setcache.h>

#include "internal.h"

struct setcache_nodes setcache_nodes;

/**
 * setcache_nodes_choose() - the pool uses the nodes that have memory now
 * @homes: sets have homes.
 *
 * Context: no task is in the engine.
 */
void setcache_nodes_choose(bool homes)
{
	int nid;

	setcache_nodes.nr = 0;
	setcache_nodes.homes = homes;
	for_each_node_state(nid, N_MEMORY)
		setcache_nodes.nid[setcache_nodes.nr++] = nid;
}

/**
 * setcache_nid() - a node from which memory can come
 * @node: its number among the nodes of the pool.
 *
 * Return: its number in the machine; another node's if it went offline.
 */
int setcache_nid(u32 node)
{
	int nid = setcache_nodes.nid[node];

	return node_online(nid) ? nid : numa_mem_id();
}

/**
 * setcache_nid_of() - the node that has a set
 * @set: the set.
 *
 * Return: its number in the machine.
 */
int setcache_nid_of(const struct setcache_set *set)
{
	return page_to_nid(virt_to_page(set));
}

/**
 * setcache_is_remote() - does a set belong to another node than the reader?
 * @key: a page that the reader has found.
 * @set: the set.
 * @way: the way of the page, pinned.
 * @asked: a worker looked the page up.
 *
 * Return: true if so.
 */
bool setcache_is_remote(const struct setcache_key *key, const struct setcache_set *set,
			unsigned int way, bool asked)
{
	u32 node = setcache_set_node(key->place, setcache_nodes.nr, setcache_nodes.homes);

	if (trace_mcube_setcache_hit_enabled())
		trace_mcube_setcache_hit(numa_node_id(), setcache_nid_of(set),
					 folio_nid(set->entry[way].page), asked);
	return setcache_nodes.nid[node] != numa_node_id();
}
