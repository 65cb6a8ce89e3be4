// SPDX-License-Identifier: GPL-2.0
/*
 * Set, color, channel, bank and row of a physical address; address.h has the rules.
 */
#include "address.h"

#define PAGE	4096u

/**
 * address_init - work out what depends on the machine alone
 * @a:	the map
 * @m:	description that passed machine_check()
 */
void address_init(struct address_map *a, const struct machine *m)
{
	unsigned int lines = PAGE / m->line;

	a->machine = m;
	a->line_shift = __builtin_ctzll(m->line);
	a->slice_sets = m->llc.sets / m->llc_slices;
	a->set_mask = a->slice_sets & (a->slice_sets - 1) ? 0 : a->slice_sets - 1;
	/* If the lines of a page wrap around the sets, any two pages share sets: one color. */
	a->color_lines = a->slice_sets % lines ? a->slice_sets : lines;
	a->colors = a->slice_sets / a->color_lines;
	a->channels = m->dram_channels.nr ? 1u << m->dram_channels.nr :
		      table_values(&m->dram_table);
	a->table_banks = table_values(&m->dram_bank_table);
	a->channel_banks = a->table_banks * table_values(&m->dram_rank_table) <<
			   m->dram_banks.nr;
	a->banks = a->channels * a->channel_banks;
}
