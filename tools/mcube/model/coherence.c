// SPDX-License-Identifier: GPL-2.0
/*
 * Coherence of the private levels: a store takes the line away from other CPUs.
 *
 * The protocol is MESI with a directory: for each line, the CPUs that may hold it and
 * the CPU that has written it and not yet written it back, its writer. What a request
 * of a CPU does to the line in other private levels:
 *
 *	load, another CPU is the writer		it gives a copy, and is no writer any more
 *	store, other CPUs hold the line		they lose it, this CPU is the writer
 *
 * Each takes coherence.latency, and is a coherence miss. So is an access to a line that
 * the CPU lost to a store and nobody else has now, which takes what the last level or
 * DRAM takes. A store that finds no copy elsewhere costs nothing.
 *
 * The directory works in the weave phase, in the order of modelled time: the emulator
 * runs a CPU for thousands of cycles, in which a CPU that shares a line with another
 * would never lose it. But most private hits never reach the weave phase. These do:
 *
 *  - A store that finds the line in the private levels, and not written there.
 *  - Every access to a line that is watched. A line is watched from the first coherence
 *    miss on, until QUIET accesses in a row had none.
 *
 * Private levels keep a line that was lost while the line is watched, as the directory
 * decides whether an access hits. Other lines that are lost leave the private levels.
 * Accesses of the present quantum that came before the first coherence miss of a line
 * are not seen: the counters depend on the quantum by that much.
 *
 * A line is in one place at a time: a CPU that wants a line on its way to another CPU
 * waits until it has arrived there. So lines that CPUs fight for move at the rate of one
 * move in coherence.latency, however many CPUs want them and however many requests a CPU
 * has under way.
 *
 * A CPU may evict a line that it has not written without notice. So before a store takes
 * a line away, the private levels of the others are asked whether they hold it.
 */
#include "coherence.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK		4096u		/* lines */
#define SPAN		(1ull << 32)	/* bytes of address space that have an entry */
#define QUIET		64u

/* struct directory: an entry */
#define HOLDERS		0xffffu		/* CPUs, a bit for each */
#define WRITER_SHIFT	16		/* number of the writer + 1, 0 for none */
#define WRITER		(0x1fu << WRITER_SHIFT)
#define WATCHED		(1u << 21)
#define QUIET_SHIFT	24		/* accesses since the last coherence miss */
#define QUIET_ONE	(1u << QUIET_SHIFT)
#define QUIET_MASK	(0xffu << QUIET_SHIFT)

_Static_assert(SIM_MAX_CPUS <= 16, "HOLDERS has a bit for each CPU");

static uint64_t chunks(const struct model *m)
{
	return (SPAN >> m->map.line_shift) / CHUNK;
}

/**
 * coherence_init - keep the private levels coherent
 * @m:	the model
 *
 * Return: false if memory is short.
 */
bool coherence_init(struct model *m)
{
	m->directory.chunk = calloc(chunks(m), sizeof(*m->directory.chunk));
	return m->directory.chunk;
}

/**
 * coherence_free - free the memory of the directory
 * @m:	the model
 */
void coherence_free(struct model *m)
{
	if (!coherent(m))
		return;
	for (uint64_t i = 0; i < chunks(m); i++)
		free(m->directory.chunk[i]);
	free(m->directory.chunk);
}

/**
 * coherence_clear - no CPU holds any line
 * @m:	the model
 */
void coherence_clear(struct model *m)
{
	if (!coherent(m))
		return;
	for (uint64_t i = 0; i < chunks(m); i++)
		if (m->directory.chunk[i])
			memset(m->directory.chunk[i], 0, CHUNK * sizeof(uint32_t));
}

/* The entry of a line; NULL beyond SPAN. */
static uint32_t *find(struct model *m, uint64_t line)
{
	uint64_t i = line / CHUNK;

	if (i >= chunks(m))
		return NULL;
	if (!m->directory.chunk[i])
		m->directory.chunk[i] = calloc(CHUNK, sizeof(uint32_t));
	if (!m->directory.chunk[i])
		abort();
	return &m->directory.chunk[i][line % CHUNK];
}

static uint64_t *in_l1(struct vcpu *v, uint64_t line)
{
	return cache_peek(&v->l1, cache_index(&v->l1, line), line);
}

static uint64_t *in_l2(struct vcpu *v, uint64_t line)
{
	return v->l2.set ? cache_peek(&v->l2, cache_index(&v->l2, line), line) : NULL;
}

/* Watch a line, or watch it no longer, in the first level of a CPU. */
static void set_watched(struct vcpu *v, uint64_t line, bool watched)
{
	uint64_t *entry = in_l1(v, line);

	if (!entry)
		return;
	*entry &= ~(uint64_t)LINE_WATCHED;
	if (watched)
		*entry |= LINE_WATCHED;
	vcpu_forget(v);
}

/* Somebody else has the data that a CPU wrote. */
static void clean(struct vcpu *v, uint64_t line)
{
	uint64_t *entry = in_l1(v, line);

	if (entry)
		*entry &= ~(uint64_t)LINE_DIRTY;
	entry = in_l2(v, line);
	if (entry)
		*entry &= ~(uint64_t)LINE_DIRTY;
}

/**
 * coherence_fill - a line has entered the first level of a CPU
 * @m:		the model
 * @v:		the CPU
 * @line:	line number
 *
 * Return: true if the line is watched.
 */
bool coherence_fill(const struct model *m, struct vcpu *v, uint64_t line)
{
	uint64_t i = line / CHUNK;

	if (i >= chunks(m) || !m->directory.chunk[i] ||
	    !(m->directory.chunk[i][line % CHUNK] & WATCHED))
		return false;
	set_watched(v, line, true);
	return true;
}

static void drop(struct vcpu *v, uint64_t line)
{
	cache_drop(&v->l1, cache_index(&v->l1, line), line);
	if (v->l2.set)
		cache_drop(&v->l2, cache_index(&v->l2, line), line);
	vcpu_forget(v);
}

/* After a coherence miss. */
static void watch(struct model *m, uint32_t *e, uint64_t line)
{
	*e &= ~QUIET_MASK;
	if (*e & WATCHED)
		return;
	*e |= WATCHED;
	for (unsigned int i = 0; i < m->ncpus; i++)
		set_watched(&m->vcpu[i], line, true);
}

/* After an access without a coherence miss. */
static void calm(struct model *m, uint32_t *e, uint64_t line)
{
	if (!(*e & WATCHED))
		return;
	*e += QUIET_ONE;
	if (*e >> QUIET_SHIFT < QUIET)
		return;
	*e &= ~(WATCHED | QUIET_MASK);
	for (unsigned int i = 0; i < m->ncpus; i++) {
		if (*e & 1u << i)
			set_watched(&m->vcpu[i], line, false);
		else
			drop(&m->vcpu[i], line);
	}
}

/* Make a CPU the writer, unless it has evicted the line since. */
static void write(struct vcpu *v, uint32_t *e, uint64_t line)
{
	uint64_t *entry = in_l1(v, line);

	if (!entry)
		entry = in_l2(v, line);
	*e &= ~(HOLDERS | WRITER);
	if (!entry)
		return;
	*entry |= LINE_DIRTY;
	*e |= 1u << v->index | (v->index + 1) << WRITER_SHIFT;
}

/* The other CPUs that hold a line. */
static uint32_t others(struct model *m, const struct vcpu *v, uint32_t *e, uint64_t line)
{
	uint32_t writer = (*e & WRITER) >> WRITER_SHIFT;

	for (unsigned int i = 0; i < m->ncpus; i++) {
		struct vcpu *w = &m->vcpu[i];

		if (w == v || !(*e & 1u << i) || writer == i + 1)
			continue;
		if (!in_l1(w, line) && !in_l2(w, line))
			*e &= ~(1u << i);
	}
	return *e & HOLDERS & ~(1u << v->index);
}

static enum coherence load(struct model *m, struct vcpu *v, const struct request *r,
			   uint32_t *e, uint64_t line)
{
	uint32_t writer = (*e & WRITER) >> WRITER_SHIFT, me = 1u << v->index;
	bool touch = r->kind == REQUEST_TOUCH, mine = *e & me;

	*e |= me;
	if (writer && writer != v->index + 1) {
		clean(&m->vcpu[writer - 1], line);
		*e &= ~WRITER;
		watch(m, e, line);
		return COHERENCE_SHARE;
	}
	if (touch && !mine) {
		watch(m, e, line);
		return COHERENCE_REFETCH;
	}
	calm(m, e, line);
	return touch ? COHERENCE_HIT : COHERENCE_FETCH;
}

static enum coherence store(struct model *m, struct vcpu *v, const struct request *r,
			    uint32_t *e, uint64_t line)
{
	bool touch = r->kind == REQUEST_TOUCH, mine = *e & 1u << v->index;
	bool data = mine || (*e & WRITER);
	uint32_t losers = others(m, v, e, line);

	for (unsigned int i = 0; i < m->ncpus; i++)
		if (losers & 1u << i)
			clean(&m->vcpu[i], line);
	write(v, e, line);
	if (losers) {
		watch(m, e, line);
		return data ? COHERENCE_TAKE : COHERENCE_EVICT;
	}
	if (touch && !mine) {
		watch(m, e, line);
		return COHERENCE_REFETCH;
	}
	calm(m, e, line);
	return touch ? COHERENCE_HIT : COHERENCE_FETCH;
}

/**
 * coherence_serve - what other private levels mean to a request, and it to them
 * @m:	the model
 * @v:	the CPU
 * @r:	REQUEST_DEMAND or REQUEST_TOUCH
 *
 * Return: how the request is served.
 */
enum coherence coherence_serve(struct model *m, struct vcpu *v, const struct request *r)
{
	uint64_t line = r->paddr >> m->map.line_shift;
	uint32_t *e = find(m, line);

	if (!e)
		return r->kind == REQUEST_TOUCH ? COHERENCE_HIT : COHERENCE_FETCH;
	return r->flags & SIM_SAMPLE_STORE ? store(m, v, r, e, line) : load(m, v, r, e, line);
}

/**
 * coherence_written_back - a CPU has evicted a line that it wrote
 * @m:		the model
 * @v:		the CPU
 * @paddr:	physical address
 */
void coherence_written_back(struct model *m, struct vcpu *v, uint64_t paddr)
{
	uint32_t *e = find(m, paddr >> m->map.line_shift);

	if (e && (*e & WRITER) >> WRITER_SHIFT == v->index + 1)
		*e &= ~WRITER;
}

/**
 * coherence_move - a line moves to a CPU
 * @m:		the model
 * @paddr:	physical address
 * @time:	time at which the CPU asks for it
 *
 * Return: the time at which it arrives.
 */
uint64_t coherence_move(struct model *m, uint64_t paddr, uint64_t time)
{
	uint64_t line = paddr >> m->map.line_shift;
	uint64_t arrives = coherence_arrival(m, paddr, time) + m->coherence_cost;

	m->directory.moving[line % MOVING].line = line;
	m->directory.moving[line % MOVING].arrives = arrives;
	return arrives;
}

/**
 * coherence_arrival - the time from which on a line does not move
 * @m:		the model
 * @paddr:	physical address
 * @time:	the present time
 *
 * Return: @time, or the time at which the line arrives, if that is later.
 */
uint64_t coherence_arrival(const struct model *m, uint64_t paddr, uint64_t time)
{
	uint64_t line = paddr >> m->map.line_shift;
	uint64_t arrives = m->directory.moving[line % MOVING].arrives;

	return m->directory.moving[line % MOVING].line == line && arrives > time ? arrives : time;
}
