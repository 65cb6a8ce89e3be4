// SPDX-License-Identifier: GPL-2.0
/*
 * UBM table: a bounded number of files, and what is known of each
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A file is known by device, inode number and generation, so it is known still when
 * its inode has left memory and comes back.  A loop over a source tree needs
 * that: most of its inodes and pages are gone before the next pass.
 *
 *   slot[hash] --> file --> file        file: cursors, list of runs
 *                    |
 *                   run --> run         runs of all files share a pool
 *
 * When all records are in use, a new file takes the record of another file: of some
 * records at a random place, the first that holds no pages.  In LRU order, a loop over
 * more files than there are records would find none of them again.  At random, some
 * records are still there in the next pass; their files become loops, hold pages, and
 * their records are kept from then on.
 *
 * Source: Kim et al., OSDI 2000, section 3.1.
 *
 * Difference from the paper: the paper hangs its records on vnodes, and knows nothing
 * of a file whose vnode was recycled.
 */

#include <linux/compiler.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "table.h"

/* Records in which a new file looks for room. */
#define WINDOW		8

/* Files of a hash slot; with as many slots as files, chance brings 16 to none. */
#define CHAIN		16

/* Files of the smallest and of the largest domain, and pages per file between. */
#define FILES_MIN	256
#define FILES_MAX	65536
#define FILE_PAGES	4

/* Most files have a single run; these are for files of many runs. */
#define RUNS_MORE	128

/* Runs that a note may need. */
#define RUNS_SPARE	(2 * MCUBE_UBM_STEPS)

hsiphash_key_t mcube_ubm_secret;

static u32 runs_for(u32 size)
{
	return size + size / 4 + RUNS_MORE;
}

/**
 * mcube_ubm_table_size() - number of files to remember
 * @capacity: pages of the cache.
 *
 * Return: a power of 2.
 */
u32 mcube_ubm_table_size(u64 capacity)
{
	return rounddown_pow_of_two(clamp_t(u64, capacity / FILE_PAGES, FILES_MIN,
					    FILES_MAX));
}

/**
 * mcube_ubm_table_bytes() - memory of a table
 * @size: number of files, see mcube_ubm_table_size().
 *
 * Return: bytes for mcube_ubm_table_init(), a multiple of 8.
 */
size_t mcube_ubm_table_bytes(u32 size)
{
	return size * sizeof(struct mcube_ubm_file) +
	       runs_for(size) * sizeof(struct mcube_ubm_run) + size * sizeof(u32);
}

/**
 * mcube_ubm_table_init() - begin without files
 * @table: filled in.
 * @memory: mcube_ubm_table_bytes(@size) bytes, zeroed, which belong to the table.
 * @size: number of files.
 * @rules: what the detector takes for a run.
 */
void mcube_ubm_table_init(struct mcube_ubm_table *table, void *memory, u32 size,
			  const struct mcube_ubm_rules *rules)
{
	struct mcube_ubm_run *run;
	u32 i;

	memset(table, 0, sizeof(*table));
	table->file = memory;
	run = (struct mcube_ubm_run *)(table->file + size);
	table->slot = (u32 *)(run + runs_for(size));
	table->size = size;
	table->random = 1;
	for (i = 0; i < size; i++)
		table->slot[i] = MCUBE_UBM_NONE;
	mcube_ubm_runs_init(&table->runs, run, runs_for(size), rules);
}

/**
 * mcube_ubm_table_find() - what is known of a file
 * @table: the table.
 * @key: the file.
 * @hash: its hash.
 *
 * Context: may run while another CPU changes the table.  A file may be missed then.
 * Return: the record, or NULL.
 */
struct mcube_ubm_file *mcube_ubm_table_find(const struct mcube_ubm_table *table,
					    const struct mcube_ubm_key *key,
					    u32 hash)
{
	u32 i = READ_ONCE(table->slot[hash & (table->size - 1)]), steps;
	struct mcube_ubm_file *file;

	for (steps = 0; i < table->size && steps < CHAIN; steps++) {
		file = &table->file[i];
		if (READ_ONCE(file->hash) == hash && READ_ONCE(file->key.ino) == key->ino &&
		    READ_ONCE(file->key.dev) == key->dev &&
		    READ_ONCE(file->key.gen) == key->gen)
			return file;
		i = READ_ONCE(file->next);
	}
	return NULL;
}

/**
 * mcube_ubm_table_forget() - forget a file
 * @table: the table.
 * @file: a record of the table that is in use.
 */
void mcube_ubm_table_forget(struct mcube_ubm_table *table,
			    struct mcube_ubm_file *file)
{
	u32 *link = &table->slot[file->hash & (table->size - 1)];

	while (&table->file[*link] != file)
		link = &table->file[*link].next;
	*link = file->next;
	mcube_ubm_trail_forget(&table->runs, &file->trail);
	file->used = false;
	table->nr--;
}

/* A record of a random place that can be taken. */
static struct mcube_ubm_file *room(struct mcube_ubm_table *table)
{
	struct mcube_ubm_file *file = NULL;
	u32 i, at;

	/* The generator of Numerical Recipes; its upper bits are good. */
	table->random = table->random * 1664525 + 1013904223;
	at = table->random >> 8;
	for (i = 0; i < WINDOW; i++) {
		file = &table->file[(at + i) & (table->size - 1)];
		if (!file->used || !mcube_ubm_trail_held(&table->runs, &file->trail))
			break;
	}
	return file;
}

/*
 * A record that has to go before another file can join a hash slot.  A user may choose
 * inode numbers of one slot, and everybody's look-ups would walk through all of these.
 * NULL if the slot has room.
 */
static struct mcube_ubm_file *crowded(struct mcube_ubm_table *table, u32 i)
{
	struct mcube_ubm_file *file, *unheld = NULL;
	u32 steps;

	for (steps = 0; i != MCUBE_UBM_NONE; i = file->next) {
		file = &table->file[i];
		if (!mcube_ubm_trail_held(&table->runs, &file->trail))
			unheld = file;
		if (++steps == CHAIN)
			return unheld ?: file;
	}
	return NULL;
}

/**
 * mcube_ubm_table_get() - the record of a file, a new record if there is none
 * @table: the table.
 * @key: the file.
 * @hash: its hash.
 *
 * Return: the record.
 */
struct mcube_ubm_file *mcube_ubm_table_get(struct mcube_ubm_table *table,
					   const struct mcube_ubm_key *key,
					   u32 hash)
{
	struct mcube_ubm_file *file = mcube_ubm_table_find(table, key, hash);
	u32 *slot = &table->slot[hash & (table->size - 1)];

	if (!file) {
		file = crowded(table, *slot);
		if (!file && table->nr < table->size && !table->file[table->nr].used)
			file = &table->file[table->nr];
		if (!file)
			file = room(table);
		if (file->used) {
			mcube_ubm_table_forget(table, file);
			table->replaced++;
		}
		file->key = *key;
		file->hash = hash;
		file->used = true;
		mcube_ubm_trail_init(&file->trail);
		file->next = *slot;
		WRITE_ONCE(*slot, file - table->file);
		table->nr++;
	}
	if (table->runs.size - table->runs.nr < RUNS_SPARE) {
		struct mcube_ubm_file *victim = room(table);

		if (victim->used && victim != file) {
			mcube_ubm_table_forget(table, victim);
			table->replaced++;
		}
	}
	return file;
}

/**
 * mcube_ubm_table_age() - let loops of another file die if they are over
 * @table: the table.
 * @now: the clock.
 *
 * All files have been looked at when the function was called as often as there are
 * records.
 *
 * Return: the file, or NULL if its record is not in use.
 */
struct mcube_ubm_file *mcube_ubm_table_age(struct mcube_ubm_table *table,
					   u32 now)
{
	struct mcube_ubm_file *file = &table->file[table->hand];

	table->hand = (table->hand + 1) & (table->size - 1);
	if (!file->used)
		return NULL;
	mcube_ubm_trail_age(&table->runs, &file->trail, now);
	return file;
}
