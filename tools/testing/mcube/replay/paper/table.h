/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM table: a bounded number of files, and what is known of each.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See table.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_TABLE_H
#define _MM_MCUBE_UBM_TABLE_H

#include <linux/types.h>

#include "detector.h"
#include "hash.h"

/**
 * struct mcube_ubm_key - a file, also after its inode has left memory
 * @ino: inode number.
 * @dev: device number.
 * @gen: generation of the inode number.
 */
struct mcube_ubm_key {
	u64 ino;
	u32 dev;
	u32 gen;
};

/**
 * mcube_ubm_hash() - hash of a file
 * @key: the file.
 *
 * Return: the hash, which all calls want beside the key.
 */
static inline u32 mcube_ubm_hash(const struct mcube_ubm_key *key)
{
	return hsiphash_4u32(key->ino, key->ino >> 32, key->dev, key->gen, &mcube_ubm_secret);
}

/**
 * struct mcube_ubm_file - a file
 * @key: its identity.
 * @hash: hash of @key.
 * @next: next file of the same hash slot.
 * @used: whether the record is in use.
 * @trail: what is known of its references.
 */
struct mcube_ubm_file {
	struct mcube_ubm_key key;
	u32 hash;
	u32 next;
	bool used;
	struct mcube_ubm_trail trail;
};

/**
 * struct mcube_ubm_table - the files of a domain
 * @runs: their runs.
 * @file: room for @size files.
 * @slot: hash slots, each the first of a list of files.
 * @size: number of files, a power of 2; there are as many slots.
 * @nr: number of files in use.
 * @hand: record where the search for room begins, and where aging goes on.
 * @random: state of a small generator of random numbers.
 * @replaced: number of files that were forgotten to make room.
 */
struct mcube_ubm_table {
	struct mcube_ubm_runs runs;
	struct mcube_ubm_file *file;
	u32 *slot;
	u32 size;
	u32 nr;
	u32 hand;
	u32 random;
	u64 replaced;
};

u32 mcube_ubm_table_size(u64 capacity);
size_t mcube_ubm_table_bytes(u32 size);
void mcube_ubm_table_init(struct mcube_ubm_table *table, void *memory, u32 size,
			  const struct mcube_ubm_rules *rules);
struct mcube_ubm_file *mcube_ubm_table_find(const struct mcube_ubm_table *table,
					    const struct mcube_ubm_key *key,
					    u32 hash);
struct mcube_ubm_file *mcube_ubm_table_get(struct mcube_ubm_table *table,
					   const struct mcube_ubm_key *key,
					   u32 hash);
void mcube_ubm_table_forget(struct mcube_ubm_table *table,
			    struct mcube_ubm_file *file);
struct mcube_ubm_file *mcube_ubm_table_age(struct mcube_ubm_table *table,
					   u32 now);

#endif /* _MM_MCUBE_UBM_TABLE_H */
