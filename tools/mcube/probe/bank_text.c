// SPDX-License-Identifier: GPL-2.0
/*
 * Bank maps as text, and the report as JSON.
 *
 * The text is that of map/bank_map: "0xMASK", "table:SHIFT:v,v,v" with SHIFT in pages, and
 * here "offset:BYTES" too, which the kernel does not take.
 */
#include "bank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT	12u

static bool number(const char *text, char **end, int base, uint64_t *out)
{
	errno = 0;
	*out = strtoull(text, end, base);
	return *end != text && *text != '-' && *text != '+' && *text != ' ' && !errno;
}

static const char *parse_table(struct solve_map *map, const char *text)
{
	struct solve_table *t = &map->table[map->nr_tables];
	unsigned int first = 0;
	uint64_t n;
	char *end;

	if (map->nr_tables == SOLVE_MAX_TABLES)
		return "a map has at most 4 tables";
	for (unsigned int i = 0; i < map->nr_tables; i++)
		first += map->table[i].len;
	if (!number(text, &end, 10, &n) || *end != ':' || n > 30)
		return "a table is table:SHIFT:v,v,v, with SHIFT up to 30";
	*t = (struct solve_table){ .shift = n + PAGE_SHIFT, .first = first };
	do {
		if (!number(end + 1, &end, 10, &n) || n > 255)
			return "entries of a table are 0 to 255";
		if (first + t->len == SOLVE_MAX_ENTRIES)
			return "all tables of a map have at most 256 entries";
		map->entry[first + t->len++] = n;
	} while (*end == ',');
	map->nr_tables++;
	return *end ? "a table is table:SHIFT:v,v,v" : NULL;
}

/**
 * bank_parse - read a map
 * @map:	the map
 * @text:	words as in map/bank_map, at most 2047 bytes
 *
 * Return: NULL, or what is wrong.
 */
const char *bank_parse(struct solve_map *map, const char *text)
{
	uint64_t basis[SOLVE_MAX_MASKS + 1];
	const char *bad = NULL;
	char copy[2048], *save;

	*map = (struct solve_map){ };
	if (strlen(text) >= sizeof(copy))
		return "the map is too long";
	strcpy(copy, text);
	for (char *w = strtok_r(copy, " ", &save); w && !bad; w = strtok_r(NULL, " ", &save)) {
		uint64_t n;
		char *end;

		if (!strncmp(w, "table:", 6)) {
			bad = parse_table(map, w + 6);
		} else if (!strncmp(w, "offset:", 7)) {
			if (!number(w + 7, &end, 0, &map->offset) || *end)
				bad = "an offset is offset:BYTES";
		} else if (strncmp(w, "0x", 2) || !number(w, &end, 16, &n) || *end) {
			bad = "a mask is a number like 0x44000";
		} else if (map->nr_masks == SOLVE_MAX_MASKS) {
			bad = "a map has at most 10 masks";
		} else if (solve_span(basis, map->nr_masks, n) == map->nr_masks) {
			bad = "a mask says what the masks before it say";
		} else {
			map->mask[map->nr_masks++] = n;
		}
	}
	if (!bad && solve_banks(map) < 2)
		bad = "the map has one bank";
	return bad;
}

static void print_masks(const char *name, const uint64_t *mask, unsigned int nr)
{
	printf(", \"%s\": [", name);
	for (unsigned int i = 0; i < nr; i++)
		printf("%s\"%#llx\"", i ? ", " : "", (unsigned long long)mask[i]);
	printf("]");
}

static void print_bits(const char *name, uint64_t bits)
{
	const char *comma = "";

	printf(", \"%s\": [", name);
	for (; bits; bits &= bits - 1, comma = ", ")
		printf("%s%u", comma, __builtin_ctzll(bits));
	printf("]");
}

/* What the kernel is to be told; null if its form cannot say it. */
static void print_pages(const struct bank_report *r)
{
	struct solve_map pages;
	const char *space = "";

	printf(", \"bank_map\": ");
	if (r->hypothesis) {
		pages = r->page_map;
	} else if (!solve_pages(&r->page_map, &pages)) {
		printf("null");
		return;
	}
	if (pages.offset) {
		printf("null");
		return;
	}
	printf("\"");
	for (unsigned int i = 0; i < pages.nr_masks; i++, space = " ")
		printf("%s%#llx", space, (unsigned long long)pages.mask[i]);
	for (unsigned int i = 0; i < pages.nr_tables; i++, space = " ") {
		const struct solve_table *t = &pages.table[i];

		printf("%stable:%u:", space, t->shift - PAGE_SHIFT);
		for (unsigned int k = 0; k < t->len; k++)
			printf("%s%u", k ? "," : "", pages.entry[t->first + k]);
	}
	printf("\", \"page_banks\": %u", solve_banks(&pages));
}

static void print_map(const struct bank_report *r)
{
	const struct solve_map *m = &r->map;

	printf(", \"banks\": %u", solve_banks(m));
	print_masks("masks", m->mask, m->nr_masks);
	printf(", \"offset\": %llu, \"modulus\": %u, \"turn\": %llu", (unsigned long long)m->offset,
	       m->modulus, m->modulus ? 1ull << m->modulus_shift : 0ull);
	print_masks("quotient_masks", m->quotient, m->nr_quotients);
	print_pages(r);
	printf(", \"within_pages\": %s", r->pages ? "false" : "true");
	print_bits("row_bits", r->row_bits);
	print_bits("column_bits", r->column_bits);
}

/**
 * bank_print - print a report as members of a JSON object, from the first comma on
 * @r:		the report
 * @unit:	unit of the latencies
 */
void bank_print(const struct bank_report *r, const char *unit)
{
	const struct cluster_split *s = &r->split;
	const struct bank_verified *v = &r->verified;

	printf(", \"known\": %s, \"why\": ", r->why ? "false" : "true");
	if (r->why)
		printf("\"%s\"", r->why);
	else
		printf("null");
	if (!r->why)
		print_map(r);
	printf(", \"hypothesis\": \"%s\"",
	       r->hypothesis ? "holds" : r->refuted ? "refuted" : "none");
	printf(", \"latency\": {\"unit\": \"%s\", \"bimodal\": %s, \"low\": %.4g, \"high\": %.4g, "
	       "\"threshold\": %.4g, \"share\": %.4g, \"gap\": %.3g, \"confidence\": %.4f}", unit,
	       s->why ? "false" : "true", s->low, s->high, s->threshold, s->share, s->gap,
	       s->confidence);
	printf(", \"lines\": %u, \"sets\": %u, \"within\": %.4f, \"across\": %.4f, \"timed\": %u, "
	       "\"repeats\": %u, \"holds\": %.4f",
	       r->lines, r->sets, r->within, r->across, r->timed, r->repeats, r->holds);
	printf(", \"verified\": {\"same\": %u, \"same_hold\": %u, \"other\": %u, "
	       "\"other_hold\": %u}, \"confidence\": %.4f", v->same, v->same_hold, v->other,
	       v->other_hold, r->confidence);
	print_bits("seen_bits", r->seen);
}
