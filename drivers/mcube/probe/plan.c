// SPDX-License-Identifier: GPL-2.0
/*
 * The probe: the line that says what to measure
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	mib=128 node=0 repeat=500 base=0 start=64 step=64 count=2097152
 *
 * Words in any order, each at most once; these are the values of words that are missing,
 * but for node, which then is that of the CPU.  count is then as far as memory reaches.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/nodemask.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "internal.h"

enum { MIB, NODE, REPEAT, BASE, START, STEP, COUNT, NR_WORDS };

static const char * const words[NR_WORDS] = {
	[MIB]		= "mib",
	[NODE]		= "node",
	[REPEAT]	= "repeat",
	[BASE]		= "base",
	[START]		= "start",
	[STEP]		= "step",
	[COUNT]		= "count",
};

/* Check that a value is a multiple of @unit from @least to @most. */
static int check(int word, u64 value, u64 least, u64 most, unsigned int unit)
{
	if (value >= least && value <= most && !(value % unit))
		return 0;
	pr_warn_ratelimited("probe: %s: expected %llu to %llu, a multiple of %u\n", words[word],
			    least, most, unit);
	return value < least || value > most ? -ERANGE : -EINVAL;
}

static int read_words(char *text, u64 *value)
{
	unsigned long seen = 0;
	char *word, *number;
	int i;

	while ((word = strsep(&text, " \t"))) {
		if (!*word)
			continue;
		number = strchr(word, '=');
		if (!number)
			return -EINVAL;
		*number++ = '\0';
		i = match_string(words, NR_WORDS, word);
		if (i < 0 || __test_and_set_bit(i, &seen) || kstrtou64(number, 0, &value[i]))
			return -EINVAL;
	}
	return 0;
}

/**
 * probe_parse() - read what to measure
 * @text: a line without its end; is changed.
 * @plan: set if the line is good.
 *
 * A refused line is told in the log, with what is allowed.
 *
 * Context: process.
 * Return: 0; %-EINVAL for what is no such line and for values that are no multiple of
 * their unit, or %-ERANGE.
 */
int probe_parse(char *text, struct probe_plan *plan)
{
	u64 v[NR_WORDS] = {
		[MIB]		= U64_MAX,
		[NODE]		= numa_mem_id(),
		[REPEAT]	= PROBE_REPEAT,
		[START]		= PROBE_LINE,
		[STEP]		= PROBE_LINE,
		[COUNT]		= PROBE_MAX_COUNT,
	};
	unsigned int most;
	int ret;

	ret = read_words(text, v);
	if (ret) {
		pr_warn_ratelimited("probe: expected mib=N node=N repeat=N base=BYTES start=BYTES step=BYTES count=N, each at most once\n");
		return ret;
	}
	if (v[NODE] >= nr_node_ids || !node_state(v[NODE], N_MEMORY)) {
		pr_warn_ratelimited("probe: node: expected a node that has memory, 0 to %u\n",
				    nr_node_ids - 1);
		return -ERANGE;
	}
	most = probe_max_mib(v[NODE]);
	if (v[MIB] == U64_MAX)
		v[MIB] = min(128U, most);
	ret = check(MIB, v[MIB], PROBE_MIB, most, PROBE_MIB);
	ret = ret ?: check(REPEAT, v[REPEAT], PROBE_PIECE, PROBE_MAX_REPEAT, PROBE_PIECE);
	ret = ret ?: check(BASE, v[BASE], 0, PROBE_MAX_BYTES, PROBE_LINE);
	ret = ret ?: check(START, v[START], 0, PROBE_MAX_BYTES, PROBE_LINE);
	ret = ret ?: check(STEP, v[STEP], PROBE_LINE, PROBE_MAX_BYTES / PROBE_MAX_COUNT,
			   PROBE_LINE);
	ret = ret ?: check(COUNT, v[COUNT], 1, PROBE_MAX_COUNT, 1);
	if (ret)
		return ret;
	*plan = (struct probe_plan) {
		.mib = v[MIB], .node = v[NODE], .repeat = v[REPEAT],
		.base = v[BASE], .start = v[START], .step = v[STEP], .count = v[COUNT],
	};
	return 0;
}
