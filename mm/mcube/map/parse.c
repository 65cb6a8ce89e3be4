// SPDX-License-Identifier: GPL-2.0
/*
 * The address map as text, for sysfs and boot parameters
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	0x1000 0x2000 0x44000		XOR masks, bit 0 of the value first
 *	0x2000,0x4000			commas separate masks, too
 *	table:SHIFT:v,v,v		entry (pfn >> SHIFT) % 3, above the parities
 *	table:0:0,1,2 table:0:0,0,0,1,1,1	a table stands above the one before it
 *	none				nothing is distinguished, one value
 *
 * Masks are hexadecimal with 0x.  A mask in decimal is most likely a
 * hexadecimal mask that lost its prefix, so it is refused.  A text is accepted
 * as a whole or not at all.
 *
 * Pure: the file is built into the kernel and into a user-space test.
 */

#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mcube_map.h>
#include <linux/string.h>

struct text {
	const char *p;
	const char *end;
};

struct parsed {
	u64 mask[MCUBE_MAX_MASKS];
	u8 entry[MCUBE_MAX_ENTRIES];
	unsigned int nr_masks;
	unsigned int nr_tables;
	unsigned int nr_entries;
	struct {
		unsigned int shift;
		unsigned int len;
	} table[MCUBE_MAX_TABLES];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool at(const struct text *t, char c)
{
	return t->p < t->end && *t->p == c;
}

static bool eat(struct text *t, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(t->end - t->p) < len || memcmp(t->p, word, len))
		return false;
	t->p += len;
	return true;
}

static int digit(const struct text *t, unsigned int base)
{
	unsigned char c = t->p < t->end ? *t->p : 0;

	if (c >= '0' && c <= '9')
		return c - '0';
	if (base == 16 && isxdigit(c))
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* @max must be below 2^59, so that one digit more does not overflow. */
static int number(struct text *t, unsigned int base, u64 max, u64 *val)
{
	int d = digit(t, base);

	if (d < 0)
		return -EINVAL;
	for (*val = 0; d >= 0; d = digit(t, base)) {
		*val = *val * base + d;
		if (*val > max)
			return -ERANGE;
		t->p++;
	}
	return 0;
}

static int parse_mask(struct text *t, struct parsed *n, const char **why)
{
	u64 mask;
	int err;

	*why = "a mask is hexadecimal and starts with 0x";
	if (!eat(t, "0x") && !eat(t, "0X"))
		return -EINVAL;
	err = number(t, 16, (1ULL << MCUBE_MAX_PHYS_BITS) - 1, &mask);
	if (err == -ERANGE)
		*why = "physical addresses have at most 52 bits";
	if (err)
		return err;
	*why = "at most 8 masks";
	if (n->nr_masks == MCUBE_MAX_MASKS)
		return -EINVAL;
	n->mask[n->nr_masks++] = mask;
	return 0;
}

static int parse_table(struct text *t, struct parsed *n, const char **why)
{
	u64 val;
	int err;

	*why = "at most 4 tables";
	if (n->nr_tables == MCUBE_MAX_TABLES)
		return -EINVAL;

	*why = "the shift of a table is a number from 0 to 30";
	err = number(t, 10, MCUBE_MAX_TABLE_SHIFT, &val);
	if (err)
		return err;
	n->table[n->nr_tables].shift = val;

	*why = "a table is written table:SHIFT:v,v,v";
	if (!at(t, ':'))
		return -EINVAL;
	do {
		t->p++;
		*why = "all tables together have at most 256 entries";
		if (n->nr_entries == MCUBE_MAX_ENTRIES)
			return -EINVAL;
		*why = "entries of a table are numbers from 0 to 255";
		err = number(t, 10, MCUBE_MAX_VALUES - 1, &val);
		if (err)
			return err;
		n->entry[n->nr_entries++] = val;
		n->table[n->nr_tables].len++;
	} while (at(t, ','));
	n->nr_tables++;
	return 0;
}

static int parse_words(struct text *t, struct parsed *n, const char **why)
{
	bool comma = false;
	int err;

	while (t->p < t->end) {
		if (eat(t, "table:"))
			err = parse_table(t, n, why);
		else
			err = parse_mask(t, n, why);
		if (err)
			return err;

		*why = "words are separated by spaces or one comma";
		if (t->p < t->end && !is_blank(*t->p) && *t->p != ',')
			return -EINVAL;
		for (comma = false; t->p < t->end; t->p++) {
			if (*t->p == ',' && !comma)
				comma = true;
			else if (!is_blank(*t->p))
				break;
		}
	}
	*why = "nothing follows the last comma";
	return comma ? -EINVAL : 0;
}

/**
 * mcube_dim_parse() - read a dimension from text
 * @d: filled in
 * @text: see the head of this file; need not end in NUL
 * @len: bytes of @text; white space at both ends is skipped
 * @why: set to what is wrong, or NULL
 *
 * Return: 0; -ERANGE for a number that is too large, -EINVAL for any other
 * error.  An error leaves @d unchanged.
 */
int mcube_dim_parse(struct mcube_dim *d, const char *text, size_t len,
		    const char **why)
{
	struct text t = { .p = text, .end = text + len };
	struct parsed n = { };
	struct mcube_dim new;
	const u8 *entry = n.entry;
	const char *unused;
	unsigned int i;
	int err;

	if (!why)
		why = &unused;
	while (t.p < t.end && is_blank(t.end[-1]))
		t.end--;
	while (t.p < t.end && is_blank(*t.p))
		t.p++;

	*why = "empty";
	if (t.p == t.end)
		return -EINVAL;
	if (t.end - t.p != 4 || !eat(&t, "none")) {
		err = parse_words(&t, &n, why);
		if (err)
			return err;
	}

	err = mcube_dim_init(&new, n.mask, n.nr_masks, why);
	for (i = 0; !err && i < n.nr_tables; i++) {
		err = mcube_dim_add_table(&new, entry, n.table[i].len, n.table[i].shift, why);
		entry += n.table[i].len;
	}
	if (!err)
		*d = new;
	return err;
}

/**
 * mcube_dim_format() - write a dimension as text
 * @d: a valid dimension
 * @buf: filled in, without a newline
 * @size: room in @buf; MCUBE_DIM_TEXT is enough for any dimension
 *
 * mcube_dim_parse() reads the text back.
 *
 * Return: length of the text.
 */
int mcube_dim_format(const struct mcube_dim *d, char *buf, size_t size)
{
	const struct mcube_table *t;
	const char *sep = "";
	unsigned int i;
	int len = 0;

	if (!d->nr_masks && !d->nr_tables)
		return scnprintf(buf, size, "none");
	for (i = 0; i < d->nr_masks; i++) {
		len += scnprintf(buf + len, size - len, "%s0x%llx", sep,
				 (unsigned long long)d->mask[i]);
		sep = " ";
	}
	for (t = d->table; t < d->table + d->nr_tables; t++) {
		len += scnprintf(buf + len, size - len, "%stable:%u:", sep, t->shift);
		sep = " ";
		for (i = 0; i < t->len; i++)
			len += scnprintf(buf + len, size - len, "%s%u", i ? "," : "",
					 d->entry[t->first + i]);
	}
	return len;
}
