// SPDX-License-Identifier: GPL-2.0
/*
 * The engines of the trace replay against slow engines that are easy to read, and the
 * readers of traces.
 *
 * A slow engine keeps its lists as plain arrays, first page first.
 */
#include "mcube_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/engine.h"
#include "replay_array.h"

enum { PAGES = 40, REFS = 600 };

/* The counters that the last engine put out. */
struct engine_stat {
	double value[16];
	const char *name[16];
	int nr;
};

void engine_stat(struct engine_stat *to, const char *name, double value)
{
	to->name[to->nr] = name;
	to->value[to->nr++] = value;
}

static bool drop(struct array *a, u64 id)
{
	int i = array_place(a, id);

	if (i >= 0)
		array_take(a, i);
	return i >= 0;
}

static void push(struct array *a, u64 id)
{
	memmove(&a->id[1], &a->id[0], a->nr * sizeof(*a->id));
	a->id[0] = id;
	a->nr++;
}

static u64 pop(struct array *a)
{
	return a->id[--a->nr];
}

static u32 slow_lru(const u64 *id, u32 nr, u32 size)
{
	struct array a = { };
	u32 i, hits = 0;

	for (i = 0; i < nr; i++) {
		if (drop(&a, id[i]))
			hits++;
		else if (a.nr == size)
			pop(&a);
		push(&a, id[i]);
	}
	return hits;
}

static u32 slow_clock(const u64 *id, u32 nr, u32 size)
{
	bool again[PAGES] = { };
	struct array a = { };
	u32 i, hits = 0;
	u64 last;

	for (i = 0; i < nr; i++) {
		if (array_place(&a, id[i]) >= 0) {
			again[id[i]] = true;
			hits++;
			continue;
		}
		while (a.nr == size) {
			last = pop(&a);
			if (again[last])
				push(&a, last);
			again[last] = false;
		}
		push(&a, id[i]);
	}
	return hits;
}

static u32 slow_2q(const u64 *id, u32 nr, u32 size)
{
	struct array in = { }, out = { }, main = { };
	u32 i, hits = 0, most_in = max(size / 4, 1U), most_out = max(size / 2, 1U);
	bool known;

	for (i = 0; i < nr; i++) {
		if (array_place(&in, id[i]) >= 0) {
			hits++;
			continue;
		}
		if (drop(&main, id[i])) {
			hits++;
			push(&main, id[i]);
			continue;
		}
		known = drop(&out, id[i]);
		if (in.nr + main.nr == size) {
			if (in.nr > most_in || !main.nr)
				push(&out, pop(&in));
			else
				pop(&main);
			if (out.nr > most_out)
				pop(&out);
		}
		push(known ? &main : &in, id[i]);
	}
	return hits;
}

/* A victim of ARC, as REPLACE of the paper has it. */
static void arc_replace(struct array *t, struct array *b, double p, bool in_b2)
{
	bool first = t[0].nr && (t[0].nr > p || (in_b2 && t[0].nr == p));

	if (!first && !t[1].nr)
		first = true;
	push(&b[!first], pop(&t[!first]));
}

static u32 slow_arc(const u64 *id, u32 nr, u32 size)
{
	struct array t[2] = { }, b[2] = { };
	u32 i, hits = 0;
	double p = 0;

	for (i = 0; i < nr; i++) {
		if (drop(&t[0], id[i]) || drop(&t[1], id[i])) {
			hits++;
			push(&t[1], id[i]);
			continue;
		}
		if (array_place(&b[0], id[i]) >= 0 || array_place(&b[1], id[i]) >= 0) {
			bool second = array_place(&b[1], id[i]) >= 0;

			if (second)
				p = max(p - max((double)b[0].nr / b[1].nr, 1.0), 0.0);
			else
				p = min(p + max((double)b[1].nr / b[0].nr, 1.0), (double)size);
			arc_replace(t, b, p, second);
			drop(&b[second], id[i]);
			push(&t[1], id[i]);
			continue;
		}
		if (t[0].nr + b[0].nr == size) {
			if (t[0].nr < size) {
				pop(&b[0]);
				arc_replace(t, b, p, false);
			} else {
				pop(&t[0]);
			}
		} else if (t[0].nr + t[1].nr + b[0].nr + b[1].nr >= size) {
			if (t[0].nr + t[1].nr + b[0].nr + b[1].nr == 2 * size)
				pop(&b[1]);
			arc_replace(t, b, p, false);
		}
		push(&t[0], id[i]);
	}
	return hits;
}

static void prune(struct array *s, const bool *lir)
{
	while (s->nr && !lir[s->id[s->nr - 1]])
		s->nr--;
}

static u32 slow_lirs(const u64 *id, u32 nr, u32 size)
{
	bool lir[PAGES] = { }, cached[PAGES] = { }, known;
	u32 i, hits = 0, nr_lir = 0, most = size > 2 ? size - 2 : 0;
	struct array s = { }, q = { };

	for (i = 0; i < nr; i++) {
		u64 x = id[i];

		hits += cached[x];
		known = drop(&s, x);
		push(&s, x);
		if (lir[x]) {
			prune(&s, lir);
			continue;
		}
		if (!cached[x] && nr_lir + q.nr == size)
			cached[pop(&q)] = false;
		drop(&q, x);
		if (known ? most : !cached[x] && nr_lir < most) {
			lir[x] = true;
			if (++nr_lir > most) {
				u64 last = pop(&s);

				lir[last] = false;
				push(&q, last);
				nr_lir--;
			}
		} else {
			push(&q, x);
		}
		cached[x] = true;
		prune(&s, lir);
	}
	return hits;
}

static u32 slow_opt(const u64 *id, u32 nr, u32 size)
{
	u32 i, k, next, hits = 0, latest;
	struct array a = { };
	u64 victim;

	for (i = 0; i < nr; i++) {
		if (drop(&a, id[i])) {
			hits++;
		} else if (a.nr == size) {
			for (k = 0, latest = 0, victim = a.id[0]; k < a.nr; k++) {
				for (next = i; next < nr && id[next] != a.id[k]; next++)
					;
				if (next > latest) {
					latest = next;
					victim = a.id[k];
				}
			}
			drop(&a, victim);
		}
		push(&a, id[i]);
	}
	return hits;
}

/* References with loops, single pages that are popular, and pages that come once. */
static void make_refs(u64 *id, u32 nr)
{
	u32 i, k, length, start;

	for (i = 0; i < nr;) {
		length = 1 + get_random_u32_below(20);
		start = get_random_u32_below(PAGES - 20);
		switch (get_random_u32_below(3)) {
		case 0:
			for (k = 0; k < 2 * length && i < nr; k++)
				id[i++] = start + k % length;
			break;
		case 1:
			for (k = 0; k < length && i < nr; k++)
				id[i++] = get_random_u32_below(1 + get_random_u32_below(PAGES));
			break;
		case 2:
			for (k = 0; k < length && i < nr; k++)
				id[i++] = start + k;
			break;
		}
	}
}

TEST(engines_equal_the_slow_engines)
{
	static const struct {
		const char *name;
		u32 (*slow)(const u64 *id, u32 nr, u32 size);
	} pair[] = {
		{ "lru", slow_lru }, { "clock", slow_clock }, { "2q", slow_2q },
		{ "arc", slow_arc }, { "lirs", slow_lirs }, { "opt", slow_opt },
	};
	unsigned long round, rounds = 60 * test_scale();
	u32 i, size;
	u64 id[REFS];

	for (round = 0; round < rounds; round++) {
		struct replay_trace *t;

		make_refs(id, REFS);
		t = replay_make(id, REFS);
		for (i = 0; i < ARRAY_SIZE(pair); i++)
			for (size = 1; size < 30; size += 1 + size / 4)
				EXPECT_EQ(pair[i].slow(id, REFS, size),
					  engine_run(engine_find(pair[i].name), t, size, NULL))
					TH_LOG("%s, %u pages", pair[i].name, size);
		replay_free(t);
	}
}

/* Page sets have no size below a group of sets, and may be full while the cache is not. */
TEST(no_engine_is_better_than_opt)
{
	static const struct engine *const engine[] = {
		&engine_lru, &engine_clock, &engine_twoq, &engine_arc, &engine_lirs,
		&engine_ubm_paper,
	};
	unsigned long round, rounds = 40 * test_scale();
	u32 i, size, best;
	u64 id[REFS];

	for (round = 0; round < rounds; round++) {
		struct replay_trace *t;

		make_refs(id, REFS);
		t = replay_make(id, REFS);
		for (size = 1; size <= PAGES; size += 3) {
			best = engine_run(&engine_opt, t, size, NULL);
			for (i = 0; i < ARRAY_SIZE(engine); i++)
				EXPECT_LE(engine_run(engine[i], t, size, NULL), best)
					TH_LOG("%s, %u pages", engine[i]->name, size);
		}
		/* All pages have room: each page misses once. */
		for (i = 0; i < ARRAY_SIZE(engine); i++)
			EXPECT_EQ(engine_run(engine[i], t, 4 * PAGES, NULL), REFS - t->nr_pages)
				TH_LOG("%s", engine[i]->name);
		replay_free(t);
	}
}

/* A loop over twice the size of the cache: LRU has no hit, LIRS keeps its LIR pages. */
TEST(loop_that_does_not_fit)
{
	enum { LENGTH = 400, PASSES = 10 };
	static u64 id[LENGTH * PASSES];
	struct replay_trace *t;
	u32 i;

	for (i = 0; i < LENGTH * PASSES; i++)
		id[i] = i % LENGTH;
	t = replay_make(id, LENGTH * PASSES);
	EXPECT_EQ(engine_run(&engine_lru, t, LENGTH / 2, NULL), 0);
	EXPECT_EQ(engine_run(&engine_clock, t, LENGTH / 2, NULL), 0);
	EXPECT_EQ(engine_run(&engine_lirs, t, LENGTH / 2, NULL), (LENGTH / 2 - 2) * (PASSES - 1));
	EXPECT_EQ(engine_run(&engine_lru, t, LENGTH, NULL), LENGTH * (PASSES - 1));
	replay_free(t);
}

/* A file with this text; gzip'd if @zip.  The caller removes it by removed(). */
static char *file_with(const char *text, bool zip)
{
	char *path = strdup("/tmp/mcube-replay-XXXXXX");
	char command[128];
	FILE *f;
	int fd;

	fd = mkstemp(path);
	close(fd);
	snprintf(command, sizeof(command), "%s > %s", zip ? "gzip -c" : "cat", path);
	f = popen(command, "w");
	fputs(text, f);
	pclose(f);
	return path;
}

static void removed(char *path)
{
	unlink(path);
	free(path);
}

TEST(public_traces_are_read)
{
	static const u32 expected[] = { 0, 1, 0, 2 };
	char *path;
	int zip;
	u32 i;

	for (zip = 0; zip < 2; zip++) {
		struct replay_trace *t;

		path = file_with("7\r\n*\n\n12345678901\n7\n0\n", zip);
		t = replay_read(path);
		removed(path);
		ASSERT_EQ(t->nr_refs, 4);
		EXPECT_EQ(t->nr_ranges, 4);
		EXPECT_EQ(t->nr_pages, 3);
		EXPECT_EQ(t->nr_files, 1);
		EXPECT_FALSE(t->has_files);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(t->ref[i], expected[i]);
		EXPECT_EQ(t->page[1].index, 12345678901ULL);
		EXPECT_EQ(replay_find(t, 0, 12345678901ULL), 1);
		EXPECT_EQ(replay_find(t, 0, 1), REPLAY_NONE);
		replay_free(t);
	}
}

TEST(recorded_traces_are_read)
{
	static const char text[] =
		"# mcube-trace 1\n# program: cat\n"
		"F 0 8:1 77 40 /a path\nF 1 0:37 4294967299 -\n"
		"0 0 3 r\n1 9 1 f\n0 2 2 r\n1 4 5 m\n1 30 4 a\n";
	static const u32 expected[] = { 0, 1, 2, 3, 2, 4, 5 };
	char *path = file_with(text, true);
	struct replay_trace *t = replay_read(path);
	u32 i;

	removed(path);
	EXPECT_TRUE(t->has_files);
	ASSERT_EQ(t->nr_files, 2);
	EXPECT_EQ(t->file[0].dev, 8 << 20 | 1);
	EXPECT_EQ(t->file[1].ino, 4294967299ULL);
	ASSERT_EQ(t->nr_ranges, 4);
	EXPECT_EQ(t->range[2].index, 2);
	EXPECT_EQ(t->range[2].nr, 2);
	ASSERT_EQ(t->nr_refs, ARRAY_SIZE(expected));
	for (i = 0; i < ARRAY_SIZE(expected); i++)
		EXPECT_EQ(t->ref[i], expected[i]);
	EXPECT_EQ(t->page[5].file, 1);
	EXPECT_EQ(t->page[5].index, 4);
	EXPECT_EQ(replay_find(t, 1, 9), 3);
	replay_free(t);
}

/* The reader refuses these texts: the program ends with status 1. */
TEST(broken_traces_are_refused)
{
	static const char *const text[] = {
		"", "*\n", "x\n", "1\n-2\n", "1 2\n", "99999999999999999999\n",
		"# mcube-trace 2\n1\n",
		"# mcube-trace 1\n0 0 1 r\n",
		"# mcube-trace 1\nF 1 8:1 7 4\n",
		"# mcube-trace 1\nF 0 8:1 7 4\n0 0 0 r\n",
		"# mcube-trace 1\nF 0 8:1 7 4\n0 0 1 x\n",
		"# mcube-trace 1\nF 0 8:1 7 4\n0 0 4294967295 r\n",
		"# mcube-trace 1\nF 0 8:1 7 4\n0 18446744073709551615 2 r\n",
		"# mcube-trace 1\nF 0 8:1 7 4\n0 0 1\n",
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(text); i++) {
		char *path = file_with(text[i], false);
		pid_t pid = fork();
		int status;

		if (!pid) {
			fclose(stderr);
			replay_read(path);
			_exit(0);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1)
			TH_LOG("text %u: %s", i, text[i]);
		removed(path);
	}
}

static u32 *counts(const struct replay_trace *t)
{
	u32 *nr = calloc(PAGES, sizeof(*nr));
	u32 i;

	for (i = 0; i < t->nr_refs; i++)
		nr[t->page[t->ref[i]].index]++;
	return nr;
}

TEST(controls_keep_what_they_do_not_shuffle)
{
	u32 i, size, hits[PAGES], *before, *after, moved = 0;
	struct replay_trace *t;
	u64 id[REFS];

	make_refs(id, REFS);
	t = replay_make(id, REFS);
	for (size = 1; size < PAGES; size++)
		hits[size] = engine_run(&engine_lru, t, size, NULL);
	replay_shuffle(t, REPLAY_SHUFFLE_IDS, 5);
	ASSERT_EQ(t->nr_refs, REFS);
	for (i = 0; i < REFS; i++)
		moved += t->page[t->ref[i]].index != id[i];
	EXPECT_GT(moved, REFS / 2);
	/* Times are as before. */
	for (size = 1; size < PAGES; size++)
		EXPECT_EQ(engine_run(&engine_lru, t, size, NULL), hits[size]);
	replay_free(t);

	t = replay_make(id, REFS);
	before = counts(t);
	replay_shuffle(t, REPLAY_SHUFFLE_ORDER, 5);
	ASSERT_EQ(t->nr_refs, REFS);
	after = counts(t);
	EXPECT_EQ(memcmp(before, after, PAGES * sizeof(*before)), 0);
	for (i = 0, moved = 0; i < REFS; i++)
		moved += t->page[t->ref[i]].index != id[i];
	EXPECT_GT(moved, REFS / 2);
	free(before);
	free(after);
	replay_free(t);
}
