/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DRAM: banks with open rows, channels with a data bus, first-ready
 * first-come-first-served.
 *
 *	arrival   bank free       row closed  row opened        data
 *	   |--wait--|---rp (conflict)--|--rcd (or empty)--|--cas--|-bus wait-|burst|
 *
 * A request waits until its bank is free. Of the requests that wait at that time, a
 * request to the open row goes first, else the oldest (FR-FCFS: Rixner et al.,
 * Memory Access Scheduling, ISCA 2000). Rows stay open. The bank takes the next
 * command while the data are still on the bus, so row hits follow each other at the
 * rate of bursts. Refresh, activation windows and the turnaround from reads to
 * writes are not modelled.
 */
#ifndef MCUBE_MODEL_DRAM_H
#define MCUBE_MODEL_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "../../../drivers/mcube/sim/shm.h"

#define DRAM_PENDING	64		/* where CPUs wait for each request */
#define DRAM_MAX_PENDING (DRAM_PENDING + SIM_MAX_CPUS * (MAX_MISSES + MAX_UNDER_WAY))
#define DRAM_NEVER	UINT64_MAX

enum row { ROW_HIT, ROW_EMPTY, ROW_CONFLICT };

/**
 * struct dram_request - a line to be read or written
 * @arrival:	time at which it reaches the controller
 * @row:	its row
 * @bank:	its bank, over all channels
 * @cpu:	CPU that it is charged to
 * @tag:	number that the CPU knows it by, if @awaited
 * @slot:	slot in the CPU's table of arriving lines, 0 for none
 * @awaited:	the CPU waits for the data
 */
struct dram_request {
	uint64_t arrival;
	uint64_t row;
	unsigned int bank;
	unsigned int cpu;
	uint32_t tag;
	unsigned int slot;
	bool awaited;
};

/**
 * struct dram_done - a request that has been served
 * @request:	the request
 * @time:	time at which the data arrive
 * @waited:	cycles that it waited for bank and bus
 * @row:	state in which it found its row
 */
struct dram_done {
	struct dram_request request;
	uint64_t time;
	uint64_t waited;
	enum row row;
};

/**
 * struct dram - the memory behind the last level
 * @map:	channel, bank and row of an address
 * @bank:	of each bank, the open row + 1, or 0 for none, and the time at which it
 *		is ready for a command
 * @bus:	of each channel, the time at which its data bus is free
 * @next:	time at which a bank takes the next request, DRAM_NEVER for none
 * @room:	number of requests that may be pending
 * @nr:		number of requests in @pending
 * @pending:	requests not yet served, oldest first
 */
struct dram {
	const struct address_map *map;
	struct {
		uint64_t open;
		uint64_t ready;
	} bank[SIM_MAX_BANKS];
	uint64_t bus[SIM_MAX_BANKS];
	uint64_t next;
	unsigned int room;
	unsigned int nr;
	struct dram_request pending[DRAM_MAX_PENDING];
};

void dram_init(struct dram *d, const struct address_map *map);
void dram_clear(struct dram *d);
void dram_clamp(struct dram *d, uint64_t now);
void dram_submit(struct dram *d, uint64_t address, uint64_t arrival, unsigned int cpu,
		 bool awaited, uint32_t tag, unsigned int slot);
void dram_serve(struct dram *d, struct dram_done *done);

#endif
