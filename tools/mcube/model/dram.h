/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DRAM: banks with open rows, channels with a data bus, first-ready
 * first-come-first-served.
 *
 *	arrival   bank free       row closed  row opened        data
 *	   |--wait--|---rp (conflict)--|--rcd (or empty)--|--cas--|-bus wait-|burst|
 *
 * A request waits until its bank is free. Of those that wait at that time, one
 * whose row is open goes first, else the oldest (FR-FCFS: Rixner et al.,
 * Memory Access Scheduling, ISCA 2000). Rows stay open. The bank takes the next
 * command while the data are still on the bus, so that hits follow each other
 * at the pace of bursts. Refresh, activation windows and the turnaround from
 * reads to writes are not modelled.
 */
#ifndef MCUBE_MODEL_DRAM_H
#define MCUBE_MODEL_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "../../../drivers/mcube/sim/shm.h"

#define DRAM_PENDING	64
#define DRAM_NEVER	UINT64_MAX

enum row { ROW_HIT, ROW_EMPTY, ROW_CONFLICT };

/**
 * struct dram_request - a line to be read or written
 * @arrival:	when it reaches the controller
 * @row:	its row
 * @bank:	its bank
 * @cpu:	on whose behalf
 * @awaited:	the CPU waits for it
 */
struct dram_request {
	uint64_t arrival;
	uint64_t row;
	unsigned int bank;
	unsigned int cpu;
	bool awaited;
};

/**
 * struct dram_done - what became of a request
 * @request:	the request
 * @time:	when the data are there
 * @waited:	cycles that it waited for bank and bus
 * @row:	how it found the row
 */
struct dram_done {
	struct dram_request request;
	uint64_t time;
	uint64_t waited;
	enum row row;
};

/**
 * struct dram - the memory behind the last level
 * @map:	where addresses fall
 * @bank:	open row + 1, or 0, and the time of the next command
 * @bus:	when the data bus of a channel is free
 * @next:	when a bank next takes a request, DRAM_NEVER if there is none
 * @nr:		requests in @pending
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
	unsigned int nr;
	struct dram_request pending[DRAM_PENDING];
};

void dram_init(struct dram *d, const struct address_map *map);
void dram_clear(struct dram *d);
void dram_settle(struct dram *d, uint64_t now);
void dram_submit(struct dram *d, uint64_t address, uint64_t arrival, unsigned int cpu,
		 bool awaited);
void dram_serve(struct dram *d, struct dram_done *done);

#endif
