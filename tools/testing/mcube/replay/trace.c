// SPDX-License-Identifier: GPL-2.0
/*
 * Page-reference traces: readers and controls
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Two formats are read, as text or gzip'd:
 *
 * - Public traces: a decimal id per line.  The lines '*' and blank lines are skipped.  Files
 *   are not known, so ids are taken as page indices of a single file.
 * - Traces of 'mcube record'.  The first line is '# mcube-trace 1':
 *
 *	F ID MAJOR:MINOR INO PAGES [PATH]	a file; IDs count from 0
 *	ID FIRST NR KIND			a reference to pages of a file
 *
 *   Kind r is a read and f a fault.  Kind m says that at least a page of the range was
 *   touched, and counts as a reference to its first page.  Kind a, a page that entered the
 *   page cache, is no reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"

/* References, and with them pages, have 32-bit numbers. */
#define MOST_REFS	(UINT32_MAX - 1)

static void die(const char *path, unsigned long line, const char *what)
{
	if (line)
		fprintf(stderr, "error: %s:%lu: %s\n", path, line, what);
	else
		fprintf(stderr, "error: %s: %s\n", path, what);
	exit(1);
}

/* @p with room for an item more than @nr; sizes are powers of 2. */
static void *grown(void *p, uint32_t nr, size_t size)
{
	if (nr & (nr - 1))
		return p;
	p = realloc(p, (nr ? 2ULL * nr : 1) * size);
	if (!p)
		die("trace", 0, "no memory");
	return p;
}

static uint32_t hash(uint32_t file, uint64_t index)
{
	uint64_t x = (index + 1) * 0x9e3779b97f4a7c15ULL + file * 0xd6e8feb86659fd93ULL;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	return x >> 32;
}

/* The slot of a place: has its page, or is free. */
static uint32_t *slot(const struct replay_trace *t, uint32_t file, uint64_t index)
{
	uint32_t i = hash(file, index);

	for (;; i++) {
		uint32_t *s = &t->hash[i & t->hash_mask];

		if (*s == REPLAY_NONE ||
		    (t->page[*s].index == index && t->page[*s].file == file))
			return s;
	}
}

/* A table at most half full for @nr pages, with all pages in it. */
static void rehash(struct replay_trace *t, uint32_t nr)
{
	uint64_t size = 64;

	while (size < 2ULL * nr)
		size *= 2;
	free(t->hash);
	t->hash = engine_alloc(size, sizeof(*t->hash));
	t->hash_mask = size - 1;
	memset(t->hash, 0xff, size * sizeof(*t->hash));
	for (uint32_t i = 0; i < t->nr_pages; i++)
		*slot(t, t->page[i].file, t->page[i].index) = i;
}

/**
 * replay_find() - the page at a place
 * @t: the trace.
 * @file: number of the file.
 * @index: index in the file.
 *
 * Return: number of the page, REPLAY_NONE if the trace never references the place.
 */
uint32_t replay_find(const struct replay_trace *t, uint32_t file, uint64_t index)
{
	return *slot(t, file, index);
}

static void add_ref(struct replay_trace *t, uint32_t file, uint64_t index)
{
	uint32_t *s;

	if (2ULL * t->nr_pages >= t->hash_mask)
		rehash(t, 2 * t->nr_pages);
	s = slot(t, file, index);
	if (*s == REPLAY_NONE) {
		t->page = grown(t->page, t->nr_pages, sizeof(*t->page));
		t->page[t->nr_pages] = (struct replay_page){ .file = file, .index = index };
		*s = t->nr_pages++;
	}
	t->ref = grown(t->ref, t->nr_refs, sizeof(*t->ref));
	t->ref[t->nr_refs++] = *s;
}

static void add_range(struct replay_trace *t, uint32_t file, uint64_t index, uint32_t nr)
{
	t->range = grown(t->range, t->nr_ranges, sizeof(*t->range));
	t->range[t->nr_ranges++] = (struct replay_range){
		.file = file, .index = index, .nr = nr,
	};
	while (nr--)
		add_ref(t, file, index++);
}

static struct replay_trace *new_trace(void)
{
	struct replay_trace *t = engine_alloc(1, sizeof(*t));

	rehash(t, 0);
	return t;
}

static void add_file(struct replay_trace *t, uint64_t dev, uint64_t ino, uint64_t pages)
{
	t->file = grown(t->file, t->nr_files, sizeof(*t->file));
	t->file[t->nr_files++] = (struct replay_file){
		.dev = dev, .ino = ino, .pages = pages,
	};
}

/* A line of a recorded trace; what is wrong with it, or NULL. */
static const char *recorded_line(struct replay_trace *t, const char *line)
{
	uint64_t id, first, nr, major, minor, ino, pages;
	int fields;
	char kind;

	if (*line == '#' || !*line)
		return NULL;
	if (*line == 'F') {
		/* The size is "-" if it is not known. */
		fields = sscanf(line, "F %" SCNu64 " %" SCNu64 ":%" SCNu64 " %" SCNu64
				" %" SCNu64, &id, &major, &minor, &ino, &pages);
		if (fields < 4 || id != t->nr_files)
			return "expected: F ID MAJOR:MINOR INO PAGES, IDs counted from 0";
		add_file(t, major << 20 | minor, ino, fields == 5 ? pages : 0);
		return NULL;
	}
	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %c", &id, &first, &nr, &kind) != 4)
		return "expected: ID FIRST NR KIND";
	if (id >= t->nr_files)
		return "there is no F line of this file";
	if (!strchr("rfma", kind))
		return "the kind is none of r, f, m, a";
	if (!nr || nr > MOST_REFS - t->nr_refs || first + nr < first)
		return "the number of pages is 0 or too large";
	if (kind != 'a')
		add_range(t, id, first, kind == 'm' ? 1 : nr);
	return NULL;
}

/* A line of a public trace; what is wrong with it, or NULL. */
static const char *public_line(struct replay_trace *t, const char *line)
{
	char *end;
	uint64_t id;

	if (*line == '*' || !*line)
		return NULL;
	errno = 0;
	id = strtoull(line, &end, 10);
	if (errno || *end || end == line || *line == '-')
		return "expected a decimal number";
	if (t->nr_refs == MOST_REFS)
		return "the trace is too long";
	add_range(t, 0, id, 1);
	return NULL;
}

static void read_lines(struct replay_trace *t, FILE *f, const char *path)
{
	unsigned long number = 0;
	const char *wrong;
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!number++) {
			t->has_files = !strcmp(line, "# mcube-trace 1");
			if (!t->has_files)
				add_file(t, 0, 0, 0);
		}
		wrong = t->has_files ? recorded_line(t, line) : public_line(t, line);
		if (wrong)
			die(path, number, wrong);
	}
	free(line);
}

/**
 * replay_read() - read a trace
 * @path: file, text or gzip'd.
 *
 * The program ends with a message if that fails.
 *
 * Return: the trace.
 */
struct replay_trace *replay_read(const char *path)
{
	struct replay_trace *t = new_trace();
	int fd = open(path, O_RDONLY | O_CLOEXEC), out[2], status;
	pid_t pid;
	FILE *f;

	if (fd < 0 || pipe(out))
		die(path, 0, strerror(errno));
	pid = fork();
	if (pid < 0)
		die(path, 0, strerror(errno));
	if (!pid) {
		dup2(fd, STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		/* With -f, what is not gzip'd passes as it is. */
		execlp("gzip", "gzip", "-cdf", NULL);
		_exit(127);
	}
	close(fd);
	close(out[1]);
	f = fdopen(out[0], "r");
	if (!f)
		die(path, 0, strerror(errno));
	read_lines(t, f, path);
	fclose(f);
	if (waitpid(pid, &status, 0) != pid || status)
		die(path, 0, "gzip cannot unpack it");
	if (!t->nr_refs)
		die(path, 0, "there are no references");
	return t;
}

/**
 * replay_make() - make a trace from ids
 * @id: page indices of a single file, in order of reference.
 * @nr: how many.
 *
 * Return: the trace.
 */
struct replay_trace *replay_make(const uint64_t *id, uint32_t nr)
{
	struct replay_trace *t = new_trace();

	add_file(t, 0, 0, 0);
	for (uint32_t i = 0; i < nr; i++)
		add_range(t, 0, id[i], 1);
	return t;
}

/* SplitMix64: the next random number. */
static uint64_t random_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static void shuffle_places(struct replay_page *place, uint32_t nr, uint64_t seed)
{
	while (nr > 1) {
		uint32_t other = random_number(&seed) % nr--;
		struct replay_page last = place[nr];

		place[nr] = place[other];
		place[other] = last;
	}
}

/**
 * replay_shuffle() - destroy a property of a trace
 * @t: the trace.
 * @how: what to shuffle.
 * @seed: seed of the random numbers.
 *
 * Afterwards each range has a single page.
 */
void replay_shuffle(struct replay_trace *t, enum replay_shuffle how, uint64_t seed)
{
	uint32_t nr = t->nr_refs;
	struct replay_page *at;

	if (how == REPLAY_AS_IS)
		return;
	if (how == REPLAY_SHUFFLE_IDS)
		shuffle_places(t->page, t->nr_pages, seed);
	at = engine_alloc(nr, sizeof(*at));
	for (uint32_t i = 0; i < nr; i++)
		at[i] = t->page[t->ref[i]];
	if (how == REPLAY_SHUFFLE_ORDER)
		shuffle_places(at, nr, seed);
	t->nr_refs = 0;
	t->nr_ranges = 0;
	t->nr_pages = 0;
	rehash(t, 0);
	for (uint32_t i = 0; i < nr; i++)
		add_range(t, at[i].file, at[i].index, 1);
	free(at);
}

void replay_free(struct replay_trace *t)
{
	free(t->range);
	free(t->ref);
	free(t->page);
	free(t->file);
	free(t->hash);
	free(t);
}
