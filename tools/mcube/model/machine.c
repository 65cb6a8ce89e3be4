// SPDX-License-Identifier: GPL-2.0
/*
 * Machine description files: lines of "key = value", # starts a comment.
 *
 * One table has the type and the place of the value of every key. Reading a file,
 * overriding a key on the command line and printing all parameters with a result use
 * that table, so they cannot disagree.
 */
#include "machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../drivers/mcube/sim/shm.h"

#define PAGE	4096u

enum kind { NUMBER, NAME, TEXT, POLICY, PREFETCH, MASKS, TABLE };

static const char * const policies[] = { "lru", "srrip", NULL };
static const char * const prefetchers[] = { "none", "next", "stride", NULL };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
} keys[] = {
#define KEY(text, kind, field)	{ text, kind, offsetof(struct machine, field) }
	KEY("name", NAME, name),
	KEY("mhz", NUMBER, mhz),
	KEY("line", NUMBER, line),
	KEY("quantum", NUMBER, quantum),
	KEY("cpu.instruction", NUMBER, instruction),
	KEY("cpu.pause", NUMBER, pause),
	KEY("cpu.hidden", NUMBER, hidden),
	KEY("cpu.misses", NUMBER, misses),
	KEY("cpu.window", NUMBER, window),
	KEY("coherence.latency", NUMBER, coherence),
	KEY("l1.size", NUMBER, l1.size),
	KEY("l1.ways", NUMBER, l1.ways),
	KEY("l1.latency", NUMBER, l1.latency),
	KEY("l1.policy", POLICY, l1.policy),
	KEY("l2.size", NUMBER, l2.size),
	KEY("l2.ways", NUMBER, l2.ways),
	KEY("l2.latency", NUMBER, l2.latency),
	KEY("l2.policy", POLICY, l2.policy),
	KEY("llc.size", NUMBER, llc.size),
	KEY("llc.ways", NUMBER, llc.ways),
	KEY("llc.latency", NUMBER, llc.latency),
	KEY("llc.policy", POLICY, llc.policy),
	KEY("llc.slices", NUMBER, llc_slices),
	KEY("llc.hash", MASKS, llc_hash),
	KEY("prefetch.kind", PREFETCH, prefetch),
	KEY("prefetch.degree", NUMBER, prefetch_degree),
	KEY("prefetch.under_way", NUMBER, under_way),
	KEY("dram.banks", MASKS, dram_banks),
	KEY("dram.channels", MASKS, dram_channels),
	KEY("dram.table", TABLE, dram_table),
	KEY("dram.granule", NUMBER, dram_granule),
	KEY("dram.bank_table", TABLE, dram_bank_table),
	KEY("dram.bank_granule", NUMBER, dram_bank_granule),
	KEY("dram.rank_table", TABLE, dram_rank_table),
	KEY("dram.rank_granule", NUMBER, dram_rank_granule),
	KEY("dram.offset", NUMBER, dram_offset),
	KEY("dram.row", NUMBER, dram_row),
	KEY("dram.base", NUMBER, dram_base),
	KEY("dram.cas", NUMBER, dram_cas),
	KEY("dram.rcd", NUMBER, dram_rcd),
	KEY("dram.rp", NUMBER, dram_rp),
	KEY("dram.burst", NUMBER, dram_burst),
	KEY("backing", NUMBER, backing),
	KEY("backing.seed", NUMBER, backing_seed),
	KEY("color_map", TEXT, color_map),
	KEY("bank_map", TEXT, bank_map),
#undef KEY
};

#define NR_KEYS	(sizeof(keys) / sizeof(keys[0]))

/* The text of the last error. */
static char problem[640];

static const char *wrong(const char *fmt, const char *a, const char *b)
{
	snprintf(problem, sizeof(problem), fmt, a, b);
	return problem;
}

/* Parse a number with an optional K, M or G; false if the text is no number. */
static bool number(const char *s, uint64_t *out)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	uint64_t n;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &end, 0);
	if (errno)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		n <<= 10 * (unit - units + 1);
		end++;
	}
	*out = n;
	return !*end;
}

static bool word(const char * const *words, const char *s, unsigned int *out)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(words[i], s)) {
			*out = i;
			return true;
		}
	return false;
}

static bool masks(const char *s, struct masks *out)
{
	struct masks m = { };
	char *end;

	if (!strcmp(s, "none")) {
		*out = m;
		return true;
	}
	for (; *s; s = end) {
		if (strncmp(s, "0x", 2) || m.nr == MAX_MASKS)
			return false;
		m.mask[m.nr++] = strtoull(s, &end, 16);
		while (*end == ' ')
			end++;
	}
	*out = m;
	return m.nr;
}

static bool table(const char *s, struct table *out)
{
	struct table t = { };
	char *end;

	if (!strcmp(s, "none")) {
		*out = t;
		return true;
	}
	for (; *s; s = end) {
		unsigned long v;

		if (!isdigit((unsigned char)*s) || t.len == MAX_TABLE)
			return false;
		v = strtoul(s, &end, 10);
		if (v >= MAX_TABLE)
			return false;
		t.entry[t.len++] = v;
		while (*end == ' ')
			end++;
	}
	*out = t;
	return t.len;
}

/**
 * machine_set - set the value of a key
 * @m:		the description
 * @key:	the key
 * @value:	the value, as text
 *
 * Return: an empty string, or an error message in static memory.
 */
const char *machine_set(struct machine *m, const char *key, const char *value)
{
	for (size_t i = 0; i < NR_KEYS; i++) {
		void *p = (char *)m + keys[i].offset;
		bool ok = false;

		if (strcmp(keys[i].name, key))
			continue;
		switch (keys[i].kind) {
		case NUMBER:
			ok = number(value, p);
			break;
		case NAME:
			ok = *value && strlen(value) < sizeof(m->name);
			if (ok)
				strcpy(p, value);
			break;
		case TEXT:
			ok = strlen(value) < MAP_TEXT;
			if (ok)
				strcpy(p, value);
			break;
		case POLICY:
			ok = word(policies, value, p);
			break;
		case PREFETCH:
			ok = word(prefetchers, value, p);
			break;
		case MASKS:
			ok = masks(value, p);
			break;
		case TABLE:
			ok = table(value, p);
			break;
		}
		return ok ? "" : wrong("%s: '%s' is no valid value", key, value);
	}
	return wrong("'%s' is no key of a machine description%s", key, "");
}

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/**
 * table_values - number of values that a table tells apart
 * @t:	the table
 *
 * Return: the largest entry plus one; 1 without a table.
 */
unsigned int table_values(const struct table *t)
{
	unsigned int values = 1;

	for (unsigned int i = 0; i < t->len; i++)
		if (t->entry[i] >= values)
			values = t->entry[i] + 1u;
	return values;
}

static const char *check_level(struct level *l, const char *name, uint64_t line)
{
	if (!l->ways || l->ways > 64)
		return wrong("%s.ways: 1 to 64%s", name, "");
	if (l->size % (l->ways * line))
		return wrong("%s.size is not a multiple of ways times line%s", name, "");
	l->sets = l->size / (l->ways * line);
	if (l->sets > 1u << 24)
		return wrong("%s has too many sets%s", name, "");
	return "";
}

/**
 * machine_check - check a description and work out the sets of each level
 * @m:	the description
 *
 * Return: an empty string, or an error message that says what cannot be modelled.
 */
const char *machine_check(struct machine *m)
{
	uint64_t banks, channels, colors;
	const char *bad;

	if (!power_of_two(m->line) || m->line < 16 || m->line > 1024)
		return "line: a power of two from 16 to 1024";
	if (!m->l1.size)
		return "l1.size: a machine needs a first level";
	bad = check_level(&m->l1, "l1", m->line);
	if (!*bad && m->l2.size)
		bad = check_level(&m->l2, "l2", m->line);
	if (!*bad)
		bad = check_level(&m->llc, "llc", m->line);
	if (*bad)
		return bad;
	if (!m->llc.sets)
		return "llc.size: a machine needs a last level";
	if ((m->l2.size && m->l2.latency < m->l1.latency) ||
	    m->llc.latency < (m->l2.size ? m->l2.latency : m->l1.latency))
		return "latency: an outer level must not be faster than an inner level";
	if (m->prefetch_degree > MAX_DEGREE)
		return "prefetch.degree: at most 16";
	if (m->under_way > MAX_UNDER_WAY)
		return "prefetch.under_way: at most 64";
	if (!m->llc_slices || m->llc.sets % m->llc_slices)
		return "llc.slices does not divide the sets";
	if (m->llc_slices > 1u << m->llc_hash.nr)
		return "llc.hash: too few masks for llc.slices";
	for (unsigned int i = 0; i < m->llc_hash.nr; i++)
		if (m->llc_hash.mask[i] & (m->line - 1))
			return "llc.hash: a bit below the line size puts a line into two slices";
	colors = m->llc.sets / m->llc_slices / (PAGE / m->line);
	if (colors > SIM_MAX_COLORS)
		return "llc: more colors than SIM_MAX_COLORS";
	if (m->dram_table.len && m->dram_channels.nr)
		return "dram.table and dram.channels exclude each other";
	channels = m->dram_channels.nr ? 1u << m->dram_channels.nr : table_values(&m->dram_table);
	banks = channels * table_values(&m->dram_bank_table) *
		table_values(&m->dram_rank_table) << m->dram_banks.nr;
	if (banks > SIM_MAX_BANKS)
		return "dram: more banks than SIM_MAX_BANKS";
	if (m->dram_granule < m->line)
		return "dram.granule: at least a line";
	if (m->dram_bank_granule < PAGE || m->dram_rank_granule < PAGE)
		return "dram.bank_granule and dram.rank_granule: at least a page";
	if (m->dram_row < m->line)
		return "dram.row: at least a line";
	if (m->backing && (!power_of_two(m->backing) || m->backing < PAGE || m->backing > 1u << 30))
		return "backing: 0, or a power of two from 4K to 1G";
	if (m->quantum < 100)
		return "quantum: at least 100 cycles";
	if (!m->instruction || !m->mhz)
		return "cpu.instruction and mhz must not be 0";
	if (!m->misses || m->misses > MAX_MISSES)
		return "cpu.misses: 1 to 32";
	if (!m->window || m->window > MAX_WINDOW)
		return "cpu.window: 1 to 4096";
	if (m->coherence && m->coherence < m->llc.latency)
		return "coherence.latency: 0, or at least llc.latency";
	return "";
}

/**
 * machine_default - set the values of keys that a description leaves out
 * @m:	the description
 */
void machine_default(struct machine *m)
{
	*m = (struct machine){
		.name = "unnamed", .mhz = 1000, .line = 64, .quantum = 20000, .instruction = 1,
		.pause = 40, .misses = 1, .window = 128,
		.l1.ways = 1, .l2.ways = 1, .llc.ways = 1, .llc_slices = 1, .prefetch_degree = 1,
		.dram_granule = PAGE, .dram_bank_granule = PAGE, .dram_rank_granule = PAGE,
		.dram_row = 8192,
	};
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return s;
}

/**
 * machine_load - read a description
 * @m:		the description
 * @path:	the file
 *
 * Return: an empty string, or an error message in static memory.
 */
const char *machine_load(struct machine *m, const char *path)
{
	char line[512], where[32];
	const char *bad = "";
	unsigned int nr = 0;
	FILE *f = fopen(path, "r");

	if (!f)
		return wrong("%s: %s", path, strerror(errno));
	machine_default(m);
	while (!*bad && fgets(line, sizeof(line), f)) {
		char *eq, *key;

		nr++;
		line[strcspn(line, "#")] = 0;
		key = trim(line);
		if (!*key)
			continue;
		eq = strchr(key, '=');
		if (eq)
			*eq++ = 0;
		bad = eq ? machine_set(m, trim(key), trim(eq)) : "no '='";
	}
	fclose(f);
	if (!*bad)
		return machine_check(m);
	/* bad may point to problem[], which wrong() overwrites. */
	snprintf(line, sizeof(line), "%s", bad);
	snprintf(where, sizeof(where), "line %u", nr);
	return wrong("%s: %s", where, line);
}

/**
 * machine_text - all keys in one line, "key=value;...", to be printed with results
 * @m:		the description
 * @buf:	memory for the text
 * @size:	bytes of @buf
 *
 * Return: @buf.
 */
const char *machine_text(const struct machine *m, char *buf, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < NR_KEYS && n < size; i++) {
		const void *p = (const char *)m + keys[i].offset;
		const struct masks *x = p;
		const struct table *t = p;

		n += snprintf(buf + n, size - n, "%s%s=", i ? ";" : "", keys[i].name);
		switch (n < size ? keys[i].kind : TEXT) {
		case NUMBER:
			n += snprintf(buf + n, size - n, "%llu",
				      *(const unsigned long long *)p);
			break;
		case NAME:
		case TEXT:
			if (n < size)
				n += snprintf(buf + n, size - n, "%s", (const char *)p);
			break;
		case POLICY:
			n += snprintf(buf + n, size - n, "%s",
				      policies[*(const unsigned int *)p]);
			break;
		case PREFETCH:
			n += snprintf(buf + n, size - n, "%s",
				      prefetchers[*(const unsigned int *)p]);
			break;
		case MASKS:
			for (unsigned int k = 0; k < x->nr && n < size; k++)
				n += snprintf(buf + n, size - n, "%s%#llx", k ? " " : "",
					      (unsigned long long)x->mask[k]);
			break;
		case TABLE:
			for (unsigned int k = 0; k < t->len && n < size; k++)
				n += snprintf(buf + n, size - n, "%s%u", k ? " " : "",
					      t->entry[k]);
			break;
		}
	}
	return buf;
}

/**
 * machine_arguments - read a description as a command line gives it: FILE.conf KEY=VALUE...
 * @m:		the description, complete and checked
 * @argv:	as of main()
 * @at:		index of FILE.conf; set to the first argument that is no KEY=VALUE
 * @argc:	as of main()
 *
 * Return: an empty string, or an error message in static memory.
 */
const char *machine_arguments(struct machine *m, char **argv, int *at, int argc)
{
	const char *bad = machine_load(m, argv[(*at)++]);
	char *value;

	for (; !*bad && *at < argc && (value = strchr(argv[*at], '=')); (*at)++) {
		*value++ = 0;
		bad = machine_set(m, argv[*at], value);
	}
	return *bad ? bad : machine_check(m);
}
