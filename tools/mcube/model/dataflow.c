// SPDX-License-Identifier: GPL-2.0
/*
 * Which demand request the address of an access depends on.
 *
 * A plugin sees no values, but the bytes of each instruction when it is translated. So
 * the registers that an instruction reads and writes are known (operands.c). Each CPU
 * has for each register the last demand request that its value was computed from:
 *
 *	mov  (%rdi),%rax	rax: the request of this load, if it misses
 *	add  $8,%rax		rax: unchanged
 *	mov  (%rax),%rcx	its address depends on that request
 *
 * Moves between registers take effect at the next access. Those after the last access of
 * a block take effect when the next block begins.
 *
 * A load from a line that was missed lately depends on that miss, even though the model's
 * private levels have the line at once. The last request is taken where a value depends
 * on several. Values that were stored and loaded again depend on the line alone, so a
 * pointer that was spilled to the stack appears to be known early.
 */
#include "dataflow.h"

#include <stdlib.h>

/**
 * flow_block - work out the data flow of a block
 * @code:	its instructions
 * @nr:		number of instructions, at most FLOW_MOST
 *
 * Return: the block, to be freed by free(); NULL if memory is short.
 */
struct flow_block *flow_block(const struct flow_code *code, unsigned int nr)
{
	struct flow_block *b = calloc(1, sizeof(*b) + nr * (sizeof(struct flow) +
							     sizeof(struct flow_move)));
	struct flow_move *moves;
	unsigned int first = 0, last = 0;

	if (!b)
		return NULL;
	b->flow = (struct flow *)(b + 1);
	moves = (struct flow_move *)(b->flow + nr);
	b->instructions = nr;
	for (unsigned int i = 0; i < nr; i++) {
		struct flow *f = &b->flow[i];

		f->ip = code[i].ip;
		operands_decode(code[i].code, code[i].size, &f->operands);
		if (f->operands.memory) {
			f->moves = moves + first;
			f->nr = last - first;
			first = last;
		} else if (f->operands.results &&
			   f->operands.results != f->operands.sources) {
			moves[last++] = (struct flow_move){
				f->operands.results, f->operands.sources };
		}
	}
	b->tail = moves + first;
	b->nr_tail = last - first;
	return b;
}

/* The last request that any of the registers depends on. */
static uint32_t latest(const struct dataflow *d, unsigned int registers)
{
	uint32_t number = 0;

	for (; registers; registers &= registers - 1) {
		uint32_t source = d->source[__builtin_ctz(registers)];

		if (source > number)
			number = source;
	}
	return number;
}

static void set(struct dataflow *d, unsigned int registers, uint32_t number)
{
	for (; registers; registers &= registers - 1)
		d->source[__builtin_ctz(registers)] = number;
}

static void move(struct dataflow *d, const struct flow_move *moves, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		set(d, moves[i].results, latest(d, moves[i].sources));
}

/**
 * flow_enter - the CPU begins a block
 * @d:	the CPU
 * @b:	the block
 */
void flow_enter(struct dataflow *d, const struct flow_block *b)
{
	if (d->block)
		move(d, d->block->tail, d->block->nr_tail);
	d->block = b;
}

/**
 * flow_address - the request that the address of an access depends on
 * @d:		the CPU
 * @f:		the instruction
 * @store:	the access is a store
 *
 * Return: its number, 0 for none.
 */
uint32_t flow_address(struct dataflow *d, const struct flow *f, bool store)
{
	/* An instruction that loads and stores has made the moves at its load. */
	if (!store || !f->operands.loads)
		move(d, f->moves, f->nr);
	return latest(d, f->operands.address);
}

/**
 * flow_done - an access is done
 * @d:		the CPU
 * @f:		the instruction
 * @store:	the access is a store
 * @line:	its line, by virtual address
 * @after:	what flow_address() returned
 * @request:	number of the demand request that it made, 0 for none
 */
void flow_done(struct dataflow *d, const struct flow *f, bool store, uint64_t line,
	       uint32_t after, uint32_t request)
{
	uint32_t number = request ? request : after;

	if (request) {
		d->recent[line % RECENT].line = line;
		d->recent[line % RECENT].number = request;
	}
	if (store || !f->operands.results)
		return;
	if (d->recent[line % RECENT].line == line && d->recent[line % RECENT].number > number)
		number = d->recent[line % RECENT].number;
	if (f->operands.sources && latest(d, f->operands.sources) > number)
		number = latest(d, f->operands.sources);
	set(d, f->operands.results, number);
}
