/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which registers an x86-64 instruction reads and writes; operands.c says how far.
 */
#ifndef MCUBE_MODEL_OPERANDS_H
#define MCUBE_MODEL_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General purpose registers by their number in instructions; the first eight. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, REGISTERS = 16 };

/**
 * struct operands - registers of an instruction, a bit for each
 * @address:	registers that the addresses of its accesses are made of
 * @sources:	other registers that its results are made of
 * @results:	registers that it writes
 * @loads:	its results are made of data from memory, too
 * @memory:	it accesses memory
 */
struct operands {
	uint16_t address;
	uint16_t sources;
	uint16_t results;
	bool loads;
	bool memory;
};

void operands_decode(const uint8_t *code, size_t size, struct operands *o);

#endif
