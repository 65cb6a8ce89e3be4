/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fields of a physical address: slice, set and color of the last level;
 * channel, bank and row of DRAM.
 *
 *	last level:	slice = parities(address, hash) % slices
 *			set   = line number % sets of a slice
 *			color = set / lines of a page	(pages of different colors
 *							 share no set)
 *	DRAM:		bank  = (channel, rank of a table, bank of a table, parities),
 *				the parities lowest
 *			row   = address / (bytes that hold a row of every bank)
 */
#ifndef MCUBE_MODEL_ADDRESS_H
#define MCUBE_MODEL_ADDRESS_H

#include "machine.h"

/**
 * struct address_map - parameters of the address functions, worked out once
 * @machine:	the description
 * @line_shift:	log2 of the bytes of a line
 * @set_mask:	@slice_sets - 1 if @slice_sets is a power of two, else 0
 * @slice_sets:	sets of a slice
 * @color_lines: sets of a color: lines of a page, or all sets of a slice if any two
 *		pages share sets
 * @colors:	number of colors
 * @banks:	number of banks over all channels
 * @channel_banks: number of banks of a channel
 * @table_banks: values of the table of banks
 * @channels:	number of channels
 */
struct address_map {
	const struct machine *machine;
	unsigned int line_shift;
	unsigned int set_mask;
	unsigned int slice_sets;
	unsigned int color_lines;
	unsigned int colors;
	unsigned int banks;
	unsigned int channel_banks;
	unsigned int table_banks;
	unsigned int channels;
};

void address_init(struct address_map *a, const struct machine *m);

/* Bit i is the parity of the address bits in mask i. */
static inline unsigned int parities(const struct masks *m, uint64_t address)
{
	unsigned int value = 0;

	for (unsigned int i = 0; i < m->nr; i++)
		value |= (unsigned int)__builtin_parityll(address & m->mask[i]) << i;
	return value;
}

static inline unsigned int address_slice(const struct address_map *a, uint64_t address)
{
	unsigned int slices = a->machine->llc_slices;

	if (slices == 1)
		return 0;
	return parities(&a->machine->llc_hash, address) % slices;
}

/* The set, counted within its slice. */
static inline unsigned int address_set(const struct address_map *a, uint64_t address)
{
	uint64_t line = address >> a->line_shift;

	return a->set_mask ? line & a->set_mask : line % a->slice_sets;
}

/* The set, counted over all slices. */
static inline unsigned int address_index(const struct address_map *a, uint64_t address)
{
	return address_slice(a, address) * a->slice_sets + address_set(a, address);
}

static inline unsigned int address_color(const struct address_map *a, uint64_t address)
{
	return address_set(a, address) / a->color_lines;
}

/* The entry for an address; 0 without a table. */
static inline unsigned int turn(const struct table *t, uint64_t granule, uint64_t address)
{
	return t->len ? t->entry[address / granule % t->len] : 0;
}

static inline unsigned int address_channel(const struct address_map *a, uint64_t address)
{
	const struct machine *m = a->machine;

	address += m->dram_offset;
	if (m->dram_table.len)
		return turn(&m->dram_table, m->dram_granule, address);
	return parities(&m->dram_channels, address);
}

/* The bank, counted over all channels. */
static inline unsigned int address_bank(const struct address_map *a, uint64_t address)
{
	const struct machine *m = a->machine;
	uint64_t moved = address + m->dram_offset;
	unsigned int bank = turn(&m->dram_bank_table, m->dram_bank_granule, moved) +
		turn(&m->dram_rank_table, m->dram_rank_granule, moved) * a->table_banks;

	return address_channel(a, address) * a->channel_banks +
	       (bank << m->dram_banks.nr | parities(&m->dram_banks, moved));
}

static inline unsigned int bank_channel(const struct address_map *a, unsigned int bank)
{
	return bank / a->channel_banks;
}

static inline uint64_t address_row(const struct address_map *a, uint64_t address)
{
	return (address + a->machine->dram_offset) / a->machine->dram_row;
}

#endif
