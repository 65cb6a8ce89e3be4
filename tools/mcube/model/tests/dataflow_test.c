// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of instructions, and the requests that addresses depend on. The bytes of the
 * instructions are those of the GNU assembler.
 */
#include "mcube_test.h"

#include <stdlib.h>
#include <string.h>

#include "../dataflow.h"

#define R(n)	(1u << (n))
#define A	R(RAX)
#define C	R(RCX)
#define D	R(RDX)
#define BX	R(RBX)
#define SP	R(RSP)
#define BP	R(RBP)
#define SI	R(RSI)
#define DI	R(RDI)

static const struct {
	const char *text;
	const char *code;
	size_t size;
	unsigned int address, sources, results;
	bool loads, memory;
} known[] = {
#define I(text, code, ...)	{ text, code, sizeof(code) - 1, __VA_ARGS__ }
	I("mov (%rdi),%rax", "\x48\x8b\x07", DI, 0, A, true, true),
	I("mov 8(%rax,%rcx,8),%rdx", "\x48\x8b\x54\xc8\x08", A | C, 0, D, true, true),
	I("mov %r9,0x10(%rsp)", "\x4c\x89\x4c\x24\x10", SP, R(9), 0, false, true),
	I("add $8,%rax", "\x48\x83\xc0\x08", 0, A, A, false, false),
	I("lea 4(%r8,%r15,2),%r12", "\x4f\x8d\x64\x78\x04", 0, R(8) | R(15), R(12), false,
	  false),
	I("xor %eax,%eax", "\x31\xc0", 0, 0, A, false, false),
	I("sub %rdx,%rdx", "\x48\x29\xd2", 0, 0, D, false, false),
	I("push %rbx", "\x53", SP, 0, 0, false, true),
	I("pop %r13", "\x41\x5d", SP, 0, R(13), true, true),
	I("movzbl (%rsi),%ecx", "\x0f\xb6\x0e", SI, 0, C, true, true),
	I("add (%rbx),%r10", "\x4c\x03\x13", BX, R(10), R(10), true, true),
	I("add %r10,(%rbx)", "\x4c\x01\x13", BX, R(10), 0, true, true),
	I("cmp (%rbx),%r10", "\x4c\x3b\x13", BX, R(10), 0, true, true),
	I("mov $5,%edx", "\xba\x05\x00\x00\x00", 0, 0, D, false, false),
	I("mov %gs:0x20,%r14", "\x65\x4c\x8b\x34\x25\x20\x00\x00\x00", 0, 0, R(14), true, true),
	I("cmovne %rsi,%r11", "\x4c\x0f\x45\xde", 0, SI | R(11), R(11), false, false),
	I("lock xadd %rax,(%rdx)", "\xf0\x48\x0f\xc1\x02", D, A, A, true, true),
	I("lock cmpxchg %rcx,(%rdi)", "\xf0\x48\x0f\xb1\x0f", DI, A | C, A, true, true),
	I("movdqu (%rsi,%rax),%xmm0", "\xf3\x0f\x6f\x04\x06", SI | A, 0, 0, false, true),
	I("movq %xmm0,%rax", "\x66\x48\x0f\x7e\xc0", 0, 0, A, false, false),
	I("vmovdqu 0x20(%r9),%ymm1", "\xc4\xc1\x7e\x6f\x49\x20", R(9), 0, 0, false, true),
	I("andn (%rdi),%rbx,%rax", "\xc4\xe2\xe0\xf2\x07", DI, BX, A, true, true),
	I("shlx %rcx,(%rsi),%r8", "\xc4\x62\xf1\xf7\x06", SI, C, R(8), true, true),
	I("nopl 0(%rax,%rax,1)", "\x0f\x1f\x04\x00", A, 0, 0, false, false),
	I("prefetcht0 (%rax)", "\x0f\x18\x08", A, 0, 0, false, false),
	I("rep movsq", "\xf3\x48\xa5", SI | DI, 0, 0, true, true),
	I("lods (%rsi),%rax", "\x48\xad", SI, 0, A, true, true),
	I("imul (%rdi),%rcx", "\x48\x0f\xaf\x0f", DI, C, C, true, true),
	I("mul %r8", "\x49\xf7\xe0", 0, A | D | R(8), A | D, false, false),
	I("xchg %rax,(%rdi)", "\x48\x87\x07", DI, A, A, true, true),
	I("mov 0(%rip),%rax", "\x48\x8b\x05\x00\x00\x00\x00", 0, 0, A, true, true),
	I("call *(%rax)", "\xff\x10", A | SP, 0, 0, true, true),
	I("bsf %rdi,%rax", "\x48\x0f\xbc\xc7", 0, DI, A, false, false),
	I("movslq (%rdi,%r12),%r13", "\x4e\x63\x2c\x27", DI | R(12), 0, R(13), true, true),
	I("setne %al", "\x0f\x95\xc0", 0, A, A, false, false),
	I("test %rax,(%rdi)", "\x48\x85\x07", DI, A, 0, true, true),
	I("crc32q (%rdi),%rax", "\xf2\x48\x0f\x38\xf1\x07", DI, A, A, true, true),
	I("leave", "\xc9", SP | BP, 0, BP, true, true),
};

TEST(registers)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++) {
		struct operands o;

		operands_decode((const u8 *)known[i].code, known[i].size, &o);
		EXPECT_EQ(o.address, known[i].address) TH_LOG("%s", known[i].text);
		EXPECT_EQ(o.sources, known[i].sources) TH_LOG("%s", known[i].text);
		EXPECT_EQ(o.results, known[i].results) TH_LOG("%s", known[i].text);
		EXPECT_EQ(o.loads, known[i].loads) TH_LOG("%s", known[i].text);
		EXPECT_EQ(o.memory, known[i].memory) TH_LOG("%s", known[i].text);
	}
}

/* Any bytes are decoded, without a look beyond their end. */
TEST(random_bytes)
{
	for (unsigned int i = 0; i < 100000; i++) {
		size_t size = 1 + get_random_u32_below(15);
		struct operands o;
		u8 *code = malloc(size);

		for (size_t k = 0; k < size; k++)
			code[k] = get_random_u32();
		operands_decode(code, size, &o);
		free(code);
	}
}

/* The block of the instructions named. */
static struct flow_block *block(unsigned int nr, ...)
{
	struct flow_code code[16];
	va_list names;

	va_start(names, nr);
	for (unsigned int i = 0; i < nr; i++) {
		const char *name = va_arg(names, const char *);
		unsigned int k = 0;

		while (k < ARRAY_SIZE(known) && strcmp(known[k].text, name))
			k++;
		if (k == ARRAY_SIZE(known))
			abort();
		code[i] = (struct flow_code){ (const u8 *)known[k].code, known[k].size, i };
	}
	va_end(names);
	return flow_block(code, nr);
}

/* Instruction i loads from a line, as request @request or as a hit; what it depends on. */
static u32 loads(struct dataflow *d, unsigned int i, u64 line, u32 request)
{
	const struct flow *f = &d->block->flow[i];
	u32 after = flow_address(d, f, false);

	flow_done(d, f, false, line, after, request);
	return after;
}

TEST(a_chain_through_registers)
{
	struct flow_block *b = block(3, "mov (%rdi),%rax", "add $8,%rax",
				     "mov 8(%rax,%rcx,8),%rdx");
	struct dataflow d = { };

	flow_enter(&d, b);
	EXPECT_EQ(loads(&d, 0, 100, 1), 0);	/* %rdi was there before */
	EXPECT_EQ(loads(&d, 2, 200, 2), 1);
	flow_enter(&d, b);
	EXPECT_EQ(loads(&d, 0, 101, 3), 0);
	/* A hit gives what its address gives, and a line under way what its miss gives. */
	EXPECT_EQ(loads(&d, 2, 300, 0), 3);
	EXPECT_EQ(d.source[RDX], 3);
	flow_enter(&d, b);
	EXPECT_EQ(loads(&d, 0, 200, 0), 0);
	EXPECT_EQ(d.source[RAX], 2);
	free(b);
}

TEST(what_breaks_a_chain)
{
	struct flow_block *b = block(4, "mov (%rdi),%rax", "xor %eax,%eax", "nopl 0(%rax,%rax,1)",
				     "mov 8(%rax,%rcx,8),%rdx");
	struct dataflow d = { };

	flow_enter(&d, b);
	loads(&d, 0, 100, 1);
	EXPECT_EQ(loads(&d, 3, 200, 2), 0);
	free(b);
}

/* Moves after the last access of a block count in the next block. */
TEST(a_chain_through_blocks)
{
	struct flow_block *first = block(2, "mov (%rdi),%rax", "bsf %rdi,%rax");
	struct flow_block *second = block(2, "prefetcht0 (%rax)", "mov 8(%rax,%rcx,8),%rdx");
	struct dataflow d = { .source[RDI] = 7 };

	flow_enter(&d, first);
	EXPECT_EQ(loads(&d, 0, 100, 8), 7);
	EXPECT_EQ(d.source[RAX], 8);
	flow_enter(&d, second);
	EXPECT_EQ(loads(&d, 1, 200, 9), 7);
	free(first);
	free(second);
}

/* An instruction that loads and stores, and results that sum up loads. */
TEST(loads_that_compute)
{
	struct flow_block *b = block(4, "add (%rbx),%r10", "add %r10,(%rbx)",
				     "lock xadd %rax,(%rdx)", "imul (%rdi),%rcx");
	struct dataflow d = { .source = { [10] = 5, [RCX] = 9 } };
	const struct flow *f;

	flow_enter(&d, b);
	EXPECT_EQ(loads(&d, 0, 100, 0), 0);
	EXPECT_EQ(d.source[10], 5);		/* a hit adds nothing */
	EXPECT_EQ(loads(&d, 0, 101, 6), 0);
	EXPECT_EQ(d.source[10], 6);
	f = &b->flow[2];
	EXPECT_EQ(flow_address(&d, f, false), 0);
	flow_done(&d, f, false, 102, 0, 7);
	EXPECT_EQ(d.source[RAX], 7);
	EXPECT_EQ(flow_address(&d, f, true), 0);
	flow_done(&d, f, true, 102, 0, 0);
	EXPECT_EQ(d.source[RAX], 7);
	EXPECT_EQ(loads(&d, 3, 103, 8), 0);
	EXPECT_EQ(d.source[RCX], 9);
	free(b);
}
