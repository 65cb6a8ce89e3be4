/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which demand request the address of an access depends on; dataflow.c says how that is
 * known.
 */
#ifndef MCUBE_MODEL_DATAFLOW_H
#define MCUBE_MODEL_DATAFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operands.h"

#define RECENT		64u	/* lines, a power of two */
#define FLOW_MOST	512u	/* instructions of a block */

/**
 * struct flow_move - registers that become the result of others
 * @results:	registers, a bit for each
 * @sources:	what they are made of
 */
struct flow_move {
	uint16_t results;
	uint16_t sources;
};

/**
 * struct flow - an instruction that accesses memory, and what goes before it
 * @ip:		its address
 * @moves:	moves between registers since the instruction before that accesses memory
 * @nr:		number of @moves
 * @operands:	its registers
 */
struct flow {
	uint64_t ip;
	const struct flow_move *moves;
	unsigned int nr;
	struct operands operands;
};

/**
 * struct flow_block - a block of instructions
 * @next:	next block in memory of the same age
 * @instructions: number of instructions
 * @flow:	of each instruction; those that access no memory go unused
 * @tail:	moves after the last access
 * @nr_tail:	number of them
 */
struct flow_block {
	struct flow_block *next;
	unsigned int instructions;
	struct flow *flow;
	const struct flow_move *tail;
	unsigned int nr_tail;
};

/**
 * struct dataflow - where the values in the registers of a CPU come from
 * @source:	of each register, the last demand request that it depends on, 0 for none
 * @recent:	lines that were missed lately, by virtual address, and their requests
 * @block:	the block that the CPU executes
 */
struct dataflow {
	uint32_t source[REGISTERS];
	struct {
		uint64_t line;
		uint32_t number;
	} recent[RECENT];
	const struct flow_block *block;
};

/**
 * struct flow_code - an instruction
 * @code:	its bytes
 * @size:	number of bytes
 * @ip:		its address
 */
struct flow_code {
	const uint8_t *code;
	size_t size;
	uint64_t ip;
};

struct flow_block *flow_block(const struct flow_code *code, unsigned int nr);
void flow_enter(struct dataflow *d, const struct flow_block *b);
uint32_t flow_address(struct dataflow *d, const struct flow *f, bool store);
void flow_done(struct dataflow *d, const struct flow *f, bool store, uint64_t line,
	       uint32_t after, uint32_t request);

#endif
