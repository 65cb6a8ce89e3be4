// SPDX-License-Identifier: GPL-2.0
/*
 * Which general purpose registers an x86-64 instruction reads and writes, from its bytes.
 *
 * This tells loads whose address was loaded from loads whose address is known early, so
 * it has to be right for the instructions that compute addresses: moves, integer
 * arithmetic, the stack. Vector and x87 instructions count with their address alone;
 * what they put into a general purpose register depends on nothing. So do system
 * instructions. An operation on 8 bits keeps the rest of its register. Flags carry no
 * dependence, as branches are predicted.
 */
#include "operands.h"

#define BIT(n)	((uint16_t)(1u << (n)))

/* What an opcode does with the operands of its ModRM byte. */
#define M	1u		/* it has that byte */
#define RR	2u		/* reads the register operand */
#define RM	4u		/* reads the register or memory operand */
#define WR	8u		/* writes the register operand */
#define WM	16u		/* writes the register or memory operand */
#define B	32u		/* operands of 8 bits */

/**
 * struct instruction - an instruction being decoded
 * @p:		next byte
 * @end:	end of the instruction
 * @rex:	REX bits W, R, X, B: 8, 4, 2, 1
 * @rep:	the prefix F2 or F3, else 0
 * @reg:	register operand
 * @rm:		register, if @direct
 * @direct:	the register or memory operand is a register
 * @vvvv:	further register operand of a VEX instruction
 */
struct instruction {
	const uint8_t *p;
	const uint8_t *end;
	unsigned int rex;
	unsigned int rep;
	unsigned int reg;
	unsigned int rm;
	bool direct;
	unsigned int vvvv;
};

static unsigned int next(struct instruction *i)
{
	return i->p < i->end ? *i->p++ : 0x90;
}

static void modrm(struct instruction *i, struct operands *o)
{
	unsigned int byte = next(i), mod = byte >> 6, sib;

	i->reg = (byte >> 3 & 7) | (i->rex & 4) << 1;
	i->rm = (byte & 7) | (i->rex & 1) << 3;
	i->direct = mod == 3;
	if (i->direct)
		return;
	o->memory = true;
	if ((byte & 7) == 4) {
		unsigned int index;

		sib = next(i);
		index = (sib >> 3 & 7) | (i->rex & 2) << 2;
		if (index != RSP)
			o->address |= BIT(index);
		if ((sib & 7) != RBP || mod)
			o->address |= BIT((sib & 7) | (i->rex & 1) << 3);
	} else if ((byte & 7) != RBP || mod) {
		o->address |= BIT(i->rm);
	}
}

static void apply(struct instruction *i, struct operands *o, unsigned int does)
{
	if (!(does & M))
		return;
	modrm(i, o);
	if (does & RR)
		o->sources |= BIT(i->reg);
	if (does & RM && i->direct)
		o->sources |= BIT(i->rm);
	if (does & WR)
		o->results |= BIT(i->reg);
	if (does & WM && i->direct)
		o->results |= BIT(i->rm);
	o->loads = does & RM && !i->direct;
	if (does & B)
		o->sources |= o->results;
}

static unsigned int arithmetic(unsigned int op)
{
	static const uint8_t forms[] = {
		M | RR | RM | WM | B, M | RR | RM | WM, M | RR | RM | WR | B, M | RR | RM | WR,
	};
	unsigned int does = (op & 7) < 4 ? forms[op & 7] : 0;

	return op >= 0x38 ? does & ~(WR | WM) : does;	/* CMP writes nothing */
}

static void stack(struct operands *o, unsigned int results)
{
	o->memory = true;
	o->address |= BIT(RSP);
	o->results |= results;
	o->loads |= results;
}

/* F6, F7: TEST, NOT, NEG, MUL, DIV; FE, FF: INC, DEC, CALL, JMP, PUSH. */
static void unary(struct instruction *i, struct operands *o, unsigned int op)
{
	unsigned int which = i->p < i->end ? *i->p >> 3 & 7 : 0;
	unsigned int byte = op & 1 ? 0 : B;

	if (op < 0xf8) {
		apply(i, o, M | RM | byte | (which == 2 || which == 3 ? WM : 0));
		if (which >= 4) {
			o->sources |= BIT(RAX) | BIT(RDX);
			o->results |= BIT(RAX) | BIT(RDX);
		}
		return;
	}
	apply(i, o, M | RM | byte | (which < 2 ? WM : 0));
	if (which == 2 || which == 6)
		stack(o, 0);
}

/* String instructions, A4 to AF. */
static void string(struct operands *o, unsigned int op)
{
	if (op == 0xa8 || op == 0xa9)
		return;		/* TEST */
	o->memory = true;
	o->loads = op < 0xaa || op > 0xab;
	o->address = op < 0xa8 ? BIT(RSI) | BIT(RDI) : op >= 0xac && op <= 0xad ? BIT(RSI) :
		     BIT(RDI);
	if (op == 0xac || op == 0xad)
		o->results = BIT(RAX);
}

static void one_byte(struct instruction *i, struct operands *o, unsigned int op)
{
	unsigned int low = (op & 7) | (i->rex & 1) << 3;

	if (op < 0x40) {
		apply(i, o, arithmetic(op));
		/* The idioms that make a register zero. */
		if ((op & ~2u) == 0x31 || (op & ~2u) == 0x29)
			if (i->direct && i->reg == i->rm)
				o->sources = 0;
		return;
	}
	switch (op) {
	case 0x50 ... 0x57:
	case 0x68: case 0x6a: case 0x9c: case 0x9d: case 0xc2: case 0xc3: case 0xe8:
		stack(o, 0);
		break;
	case 0x58 ... 0x5f:
		stack(o, BIT(low));
		break;
	case 0x8f:
		apply(i, o, M | WM);
		stack(o, o->results);
		break;
	case 0xc9:
		o->address = BIT(RBP);
		stack(o, BIT(RBP));
		break;
	case 0x63: case 0x69: case 0x6b: case 0x8b:
		apply(i, o, M | RM | WR);
		break;
	case 0x8a:
		apply(i, o, M | RM | WR | B);
		break;
	case 0x80: case 0x81: case 0x83:
		apply(i, o, M | RM | (op == 0x80 ? B : 0) |
		      (i->p < i->end && (*i->p >> 3 & 7) == 7 ? 0 : WM));
		break;
	case 0x84: case 0x85:
		apply(i, o, M | RR | RM);
		break;
	case 0x86: case 0x87:
		apply(i, o, M | RR | RM | WR | WM);
		break;
	case 0x88: case 0x89:
		apply(i, o, M | RR | WM | (op == 0x88 ? B : 0));
		break;
	case 0x8d:
		apply(i, o, M | WR);
		o->sources = o->address;
		o->address = 0;
		o->memory = false;
		break;
	case 0x91 ... 0x97:
		o->sources = BIT(RAX) | BIT(low);
		o->results = o->sources;
		break;
	case 0x99:
		o->sources = BIT(RAX);
		o->results = BIT(RDX);
		break;
	case 0xa4 ... 0xaf:
		string(o, op);
		break;
	case 0xb8 ... 0xbf:
		o->results = BIT(low);
		break;
	case 0xc0: case 0xc1: case 0xd0 ... 0xd3:
		apply(i, o, M | RM | WM);
		break;
	case 0xc6: case 0xc7:
		apply(i, o, M | WM | (op == 0xc6 ? B : 0));
		break;
	case 0xd8 ... 0xdf:
		apply(i, o, M);
		break;
	case 0xf6: case 0xf7: case 0xfe: case 0xff:
		unary(i, o, op);
		break;
	}
}

/* Opcodes behind 0F, and with a VEX prefix those of the same map. */
static void two_bytes(struct instruction *i, struct operands *o, unsigned int op)
{
	switch (op) {
	case 0x05 ... 0x0b: case 0x30: case 0x77: case 0x80 ... 0x8f: case 0xc8 ... 0xcf:
		break;
	case 0x0d: case 0x18 ... 0x1f: case 0xae:
		/* Hints, NOPs and fences name memory and do not access it. */
		apply(i, o, M);
		o->memory = false;
		break;
	case 0x31: case 0x32:
		o->results = BIT(RAX) | BIT(RDX);
		break;
	case 0xa2:
		o->results = BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX);
		break;
	case 0x2c: case 0x2d: case 0x50: case 0xc5: case 0xd7:
		apply(i, o, M | WR);
		break;
	case 0x20: case 0x21:
		apply(i, o, M | WM);
		break;
	case 0x7e:
		apply(i, o, M | (i->rep == 0xf3 ? 0 : WM));
		break;
	case 0x40 ... 0x4f: case 0xaf:
		apply(i, o, M | RR | RM | WR);
		break;
	case 0x90 ... 0x9f:
		apply(i, o, M | WM | B);
		break;
	case 0xa3:
		apply(i, o, M | RR | RM);
		break;
	case 0xa4: case 0xa5: case 0xab: case 0xac: case 0xad: case 0xb3: case 0xbb:
		apply(i, o, M | RR | RM | WM);
		break;
	case 0xb0: case 0xb1:
		apply(i, o, M | RR | RM | WM);
		o->sources |= BIT(RAX);
		o->results |= BIT(RAX);
		break;
	case 0xb6 ... 0xb8: case 0xbc ... 0xbf:
		apply(i, o, M | RM | WR);
		break;
	case 0xba:
		apply(i, o, M | RM | WM);
		break;
	case 0xc0: case 0xc1:
		apply(i, o, M | RR | RM | WM | WR);
		break;
	case 0xc3:
		apply(i, o, M | RR | WM);
		break;
	case 0xc7:
		apply(i, o, M | RM);
		if (o->memory)
			o->results = BIT(RAX) | BIT(RDX);
		break;
	default:
		apply(i, o, M);
	}
}

static void three_bytes(struct instruction *i, struct operands *o, unsigned int map,
			bool vex)
{
	unsigned int op = next(i), further = BIT(i->vvvv);

	if (map == 2 && !vex && (op == 0xf0 || op == 0xf1)) {
		/* CRC32, MOVBE */
		apply(i, o, M | (i->rep ? RR | RM | WR : op == 0xf0 ? RM | WR : RR | WM));
	} else if (map == 2 && vex && op >= 0xf2 && op <= 0xf7) {
		/* ANDN, BLSR and others, BZHI, PDEP, MULX, SHLX and others */
		apply(i, o, M | RM | (op == 0xf3 ? 0 : WR));
		if (op == 0xf3)
			o->results = further;
		else if (op == 0xf6)
			o->results |= further;
		else
			o->sources |= further;
		if (op == 0xf6)
			o->sources |= BIT(RDX);
	} else if (map == 3 && vex && op == 0xf0) {
		apply(i, o, M | RM | WR);	/* RORX */
	} else if (map == 3 && op >= 0x14 && op <= 0x17) {
		apply(i, o, M | WM);		/* PEXTR */
	} else {
		apply(i, o, M);
	}
}

static void vex(struct instruction *i, struct operands *o, bool three)
{
	unsigned int byte = next(i), map = 1;

	i->rex = byte & 0x80 ? 0 : 4;
	if (three) {
		map = byte & 31;
		i->rex |= (byte & 0x40 ? 0 : 2) | (byte & 0x20 ? 0 : 1);
		byte = next(i);
	}
	i->vvvv = ~byte >> 3 & 15;
	i->rep = (byte & 3) == 2 ? 0xf3 : (byte & 3) == 3 ? 0xf2 : 0;
	if (map == 1)
		two_bytes(i, o, next(i));
	else
		three_bytes(i, o, map, true);
}

/**
 * operands_decode - find the registers of an instruction
 * @code:	its bytes, in 64-bit mode
 * @size:	number of bytes
 * @o:		gets the registers
 */
void operands_decode(const uint8_t *code, size_t size, struct operands *o)
{
	struct instruction i = { .p = code, .end = code + size };
	unsigned int op = next(&i);

	*o = (struct operands){ };
	for (;;) {
		if (op == 0xf2 || op == 0xf3)
			i.rep = op;
		else if (op != 0x66 && op != 0x67 && op != 0xf0 && op != 0x2e && op != 0x36 &&
			 op != 0x3e && op != 0x26 && op != 0x64 && op != 0x65)
			break;
		op = next(&i);
	}
	if ((op & 0xf0) == 0x40) {
		i.rex = op & 15;
		op = next(&i);
	}
	if (op == 0xc4 || op == 0xc5) {
		vex(&i, o, op == 0xc4);
	} else if (op == 0x0f) {
		op = next(&i);
		if (op == 0x38 || op == 0x3a)
			three_bytes(&i, o, op == 0x38 ? 2 : 3, false);
		else
			two_bytes(&i, o, op);
	} else {
		one_byte(&i, o, op);
	}
}
