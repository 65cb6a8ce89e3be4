/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The description of a modelled machine, read from machines/NAME.conf.
 */
#ifndef MCUBE_MODEL_MACHINE_H
#define MCUBE_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_MASKS	16
#define MAX_TABLE	64
#define MAP_TEXT	256
#define MAX_DEGREE	16
#define MAX_UNDER_WAY	64
#define MAX_MISSES	32
#define MAX_WINDOW	4096

enum policy {
	POLICY_LRU,
	POLICY_SRRIP,
};

enum prefetch {
	PREFETCH_NONE,
	PREFETCH_NEXT,
	PREFETCH_STRIDE,
};

/**
 * struct level - one level of cache
 * @size:	bytes, 0: there is no such level
 * @ways:	associativity
 * @latency:	cycles from the access to the data for a hit in this level
 * @policy:	enum policy, of replacement
 * @sets:	number of sets; machine_check() works it out
 */
struct level {
	uint64_t size;
	uint64_t ways;
	uint64_t latency;
	unsigned int policy;
	uint64_t sets;
};

/**
 * struct masks - XOR masks; bit i of the value is the parity of address & mask[i]
 * @nr:		number of masks
 * @mask:	physical address bits
 */
struct masks {
	unsigned int nr;
	uint64_t mask[MAX_MASKS];
};

/**
 * struct table - values of successive granules of memory, repeated periodically
 * @len:	period in granules, 0 for no table
 * @entry:	the values
 */
struct table {
	unsigned int len;
	uint8_t entry[MAX_TABLE];
};

/**
 * struct machine - all parameters of a model
 * @name:	name of the machine, for reports
 * @mhz:	cycles per microsecond
 * @line:	bytes of a cache line, on all levels
 * @quantum:	cycles that every CPU runs between two weaves
 * @instruction: cycles of an instruction, without its data accesses
 * @pause:	cycles of a PAUSE
 * @hidden:	cycles of each data access that the pipeline hides
 * @misses:	demand requests that a CPU has under way at most; 1: it waits for each
 * @window:	instructions that a CPU goes on beyond a load that is under way
 * @coherence:	cycles from an access to the data of a line that another CPU's private
 *		levels have to give up; 0: private levels are not coherent
 * @l1:		private first level, data
 * @l2:		private second level; a size of 0 if the machine has none
 * @llc:	shared last level
 * @llc_slices:	slices that the sets of @llc are divided among
 * @llc_hash:	parities that choose the slice, modulo @llc_slices
 * @prefetch:	enum prefetch, of the last level
 * @prefetch_degree: lines that the prefetcher fetches ahead
 * @under_way:	lines of a CPU on their way from DRAM at which its prefetcher pauses; 0: a
 *		prefetched line is there at once
 * @dram_banks:	parities that choose the bank within a channel
 * @dram_channels: parities that choose the channel, if @dram_table is empty
 * @dram_table:	channels of successive granules
 * @dram_bank_table: banks of successive granules, above the parities of @dram_banks
 * @dram_rank_table: ranks of successive granules, above the banks
 * @dram_granule: bytes of a granule of @dram_table
 * @dram_bank_granule: bytes of a granule of @dram_bank_table
 * @dram_rank_granule: bytes of a granule of @dram_rank_table
 * @dram_offset: bytes that the controller adds to an address first
 * @dram_row:	bytes of address space that hold a row of every bank
 * @dram_base:	cycles between the last level and the memory chips, both ways
 * @dram_cas:	cycles from the column command to the data
 * @dram_rcd:	cycles to open a row
 * @dram_rp:	cycles to close a row
 * @dram_burst:	cycles that a line occupies the data bus of a channel
 * @backing:	bytes of the host's pages that back the guest in shuffled order; 0: the host's
 *		addresses are the guest's
 * @backing_seed: seed of that order
 * @color_map:	color map for the guest kernel, in the syntax of map/color_map
 * @bank_map:	bank map for the guest kernel, in the syntax of map/bank_map
 */
struct machine {
	char name[64];
	uint64_t mhz;
	uint64_t line;
	uint64_t quantum;
	uint64_t instruction;
	uint64_t pause;
	uint64_t hidden;
	uint64_t misses;
	uint64_t window;
	uint64_t coherence;
	struct level l1;
	struct level l2;
	struct level llc;
	uint64_t llc_slices;
	struct masks llc_hash;
	unsigned int prefetch;
	uint64_t prefetch_degree;
	uint64_t under_way;
	struct masks dram_banks;
	struct masks dram_channels;
	struct table dram_table;
	struct table dram_bank_table;
	struct table dram_rank_table;
	uint64_t dram_granule;
	uint64_t dram_bank_granule;
	uint64_t dram_rank_granule;
	uint64_t dram_offset;
	uint64_t dram_row;
	uint64_t dram_base;
	uint64_t dram_cas;
	uint64_t dram_rcd;
	uint64_t dram_rp;
	uint64_t dram_burst;
	uint64_t backing;
	uint64_t backing_seed;
	char color_map[MAP_TEXT];
	char bank_map[MAP_TEXT];
};

const char *machine_load(struct machine *m, const char *path);
const char *machine_set(struct machine *m, const char *key, const char *value);
const char *machine_check(struct machine *m);
const char *machine_arguments(struct machine *m, char **argv, int *at, int argc);
void machine_default(struct machine *m);
unsigned int table_values(const struct table *t);
const char *machine_text(const struct machine *m, char *buf, size_t size);

#endif
