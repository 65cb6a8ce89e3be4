// SPDX-License-Identifier: GPL-2.0
/*
 * UBM core: all that a domain knows, behind a few calls
 *
 * Copyright (C) 2026 The mcube authors
 *
 *               note                              missed        held?
 *                |                                  |             |
 *             [table]--file--[detector]             |             |
 *                |  runs, class                     |             |
 *      +---------+-----------+                      |             |
 *   OTHER       all        loops by period          |             |
 *      |         |           |                      |             |
 *   [ghost]   [ghost]--------|---->[guard]<---------+             |
 *      |                     |        |                           |
 *   [gain]--->[partition]<---+        |                           |
 *                |                    |                           |
 *             held prefix of each loop, victims  -----------------+
 *
 * A domain is the page cache of a memory cgroup.  Its time is its references.
 * The kernel glue and the trace replay both call this file, so what the replay
 * predicts is what the kernel does, but for the pages that the kernel cannot move.
 *
 * The caller has a lock per domain.  Only mcube_ubm_core_held() does without:
 * what it answers is a hint about a page, and memory stays as long as the domain.
 *
 * Work per call is bounded: a note changes at most MCUBE_UBM_STEPS runs of its file, and
 * for each of them walks a few times through the list of the file's runs, which are
 * MCUBE_UBM_FILE_RUNS at most.  It walks once through the runs of the file that is to
 * age, and of a few files for one to forget, and shows a sampled part of its pages to the
 * ghost stacks.  Sizes are computed every sixteenth of the cache, in steps of buckets,
 * regions, and the segments of a curve.
 *
 * Memory is bounded: see mcube_ubm_core_bytes().
 *
 * Source: Kim et al., OSDI 2000; differences are told in the files of the units.
 */

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "core.h"

/* Sizes are computed after a part of the cache was referenced, within bounds. */
#define BALANCE_PART	16
#define BALANCE_MIN	16U
#define BALANCE_MAX	65536U

/* Hits by depth are halved after so many references, in caches. */
#define AGE_CACHES	8

/*
 * Pages that are neither loops nor others: this part of the cache, and for a stream
 * the pages that are not proposed yet, those of its next note, and those that it has read
 * ahead.  If these had no room, reclaim would find nothing but held pages now and again.
 * With MGLRU it then makes generation after generation until all held pages have passed
 * by, and swaps out memory that no program has used between two generations.
 */
#define RESERVE_PART	64

/* A loop that must shrink gives up so many pages per note. */
#define SHRINK		256U

/* A run of less than this part of the cache may be one that LRU would have the next time. */
#define BRIEF_PART	2

/* Loops are rare if less than this part of all references is theirs. */
#define RARE_PART	16

/* Pages that a run proposes per note. */
#define PROPOSE		1024U

/* After so many notes that no stream went on, a file is random. */
#define RANDOM		64

/* Sequences return if plain LRU hits one in so many of their pages. */
#define RETURN_PART	8

/* The counts of such pages are halved after this part of the cache. */
#define RETURN_AGE	8

/*
 * A domain is quiet when for so many caches no page was referenced again, and less than
 * about this part of a cache was referenced out of order; a cache may be small for a
 * moment, as when a file is truncated, so there is a least number of pages as well.
 */
#define QUIET_CACHES	4
#define QUIET_OTHER	16
#define QUIET_OTHER_MIN	256U

/* Pages of first passes stay when the domain lags by this part of the guard's slack. */
#define LAG_PART	4

/* So many pages may have come in whose references are yet to come. */
#define AHEAD		256U

/* Pages of a note that are looked at for the sample. */
#define SAMPLE_MOST	16384U

/**
 * mcube_ubm_core_bytes() - memory of a domain
 * @capacity: pages of its cache.
 *
 * Return: bytes, see mcube_ubm_core_init(): 1.6 % of a cache of 4 MiB, 1.1 % of
 * 64 MiB, 1 % of 1 GiB, and at most 11.1 MiB.
 */
size_t mcube_ubm_core_bytes(u64 capacity)
{
	u32 pages = min_t(u64, capacity, S32_MAX);

	return sizeof(struct mcube_ubm_core) +
	       mcube_ubm_table_bytes(mcube_ubm_table_size(pages)) +
	       2 * mcube_ubm_ghost_bytes(mcube_ubm_ghost_room(pages));
}

/**
 * mcube_ubm_core_resize() - the cache of a domain has another size
 * @core: the domain.
 * @capacity: pages of its cache.
 *
 * Context: lock of the domain.
 */
void mcube_ubm_core_resize(struct mcube_ubm_core *core, u64 capacity)
{
	u32 pages = clamp_t(u64, capacity, 1, S32_MAX);

	if (pages == core->capacity)
		return;
	/* The sizes in force are those of another cache. */
	if (max(pages, core->capacity) - min(pages, core->capacity) >
	    core->capacity / BALANCE_PART)
		core->balance_at = core->now;
	core->capacity = pages;
	mcube_ubm_ghost_resize(&core->other, pages);
	mcube_ubm_ghost_resize(&core->lru, pages);
	mcube_ubm_guard_resize(&core->guard, pages, core->lru.shift);
}

/**
 * mcube_ubm_core_tune() - set what can be set
 * @core: the domain.
 * @tuning: the settings.
 *
 * Context: lock of the domain.
 */
void mcube_ubm_core_tune(struct mcube_ubm_core *core,
			 const struct mcube_ubm_tuning *tuning)
{
	core->tuning = *tuning;
	core->table.runs.rules = tuning->rules;
}

/**
 * mcube_ubm_core_init() - begin to know a domain
 * @core: mcube_ubm_core_bytes(@capacity) bytes, zeroed.
 * @capacity: pages of its cache.
 * @tuning: the settings.
 */
void mcube_ubm_core_init(struct mcube_ubm_core *core, u64 capacity,
			 const struct mcube_ubm_tuning *tuning)
{
	u32 pages = min_t(u64, capacity, S32_MAX);
	u32 room = mcube_ubm_ghost_room(pages);
	u32 size = mcube_ubm_table_size(pages);
	void *memory = core + 1;

	mcube_ubm_table_init(&core->table, memory, size, &tuning->rules);
	memory += mcube_ubm_table_bytes(size);
	mcube_ubm_ghost_init(&core->other, memory, room);
	memory += mcube_ubm_ghost_bytes(room);
	mcube_ubm_ghost_init(&core->lru, memory, room);
	mcube_ubm_guard_init(&core->guard);
	mcube_ubm_core_tune(core, tuning);
	mcube_ubm_core_resize(core, capacity);
	core->shares.cutoff = MCUBE_UBM_BUCKETS;
}

static u32 reserve(const struct mcube_ubm_core *core)
{
	const struct mcube_ubm_tuning *t = &core->tuning;
	u32 stream = t->lag + (1U << t->rules.chunk_shift) + t->ahead;

	return min(core->capacity / RESERVE_PART + stream, core->capacity / 2);
}

/* Pages that loops may hold beside those that they hold. */
static u64 room_for_loops(const struct mcube_ubm_core *core)
{
	u64 most = core->capacity - reserve(core), all = core->table.runs.loops.all;

	return most - min(most, all);
}

static void balance(struct mcube_ubm_core *core)
{
	struct mcube_ubm_point point[MCUBE_UBM_REGIONS];
	u32 i, pages = core->capacity;
	u64 hits = 0;

	if (core->other.refs > (u64)pages * AGE_CACHES) {
		mcube_ubm_ghost_age(&core->other);
		core->other_refs /= 2;
	}
	if (core->lru.refs > (u64)pages * AGE_CACHES)
		mcube_ubm_ghost_age(&core->lru);
	for (i = 0; i < MCUBE_UBM_REGIONS; i++) {
		hits += core->other.hits[i];
		point[i].pages = mcube_ubm_ghost_depth(&core->other, i);
		point[i].hits = hits;
	}
	mcube_ubm_gain_set(&core->gain, point, MCUBE_UBM_REGIONS, core->other.refs,
			   core->other_refs, core->tuning.model);
	mcube_ubm_shares_compute(&core->shares, &core->table.runs.loops, &core->gain,
				 pages - reserve(core));
	core->balance_at = core->now + clamp(pages / BALANCE_PART, BALANCE_MIN,
					     BALANCE_MAX);
	/* The first pages of each stream look out of order. */
	core->quiet_other += (core->refs[MCUBE_UBM_OTHER] - core->quiet_other +
			      BALANCE_PART * QUIET_CACHES - 1) / (BALANCE_PART * QUIET_CACHES);
}

/*
 * Are pages of sequences used again while plain LRU has them?  A file that is read
 * whole looks like a sequence at first, also in a program that reads some of its
 * files now and again.  Then sequences are like other pages, and stay in LRU order.
 */
static bool sequences_return(const struct mcube_ubm_core *core)
{
	return (u64)core->returned * RETURN_PART > core->first;
}

/*
 * Pages that are read in the first pass that the domain knows of, and that had not to
 * come in for it, are from before the time of the domain: if it is young, plain LRU
 * has them as well.
 */
static void note_found(struct mcube_ubm_core *core, u32 refs, bool first_pass)
{
	u32 loaded = min_t(u64, core->missed - core->explained, refs);

	core->explained = max(core->explained + loaded,
			      core->missed - min_t(u64, core->missed, AHEAD));
	if (!first_pass)
		return;
	if (core->now < core->capacity / 2)
		core->returned += (refs - loaded) >> core->lru.shift;
	if (core->first > core->capacity / RETURN_AGE >> core->lru.shift) {
		core->first /= 2;
		core->returned /= 2;
	}
}

/* Something was referenced that is worth memory: the domain is not quiet. */
static void wake(struct mcube_ubm_core *core)
{
	core->quiet_from = core->now;
	core->quiet_other = core->refs[MCUBE_UBM_OTHER];
}

/*
 * Is there nothing that streams could push out?  Then it is as well to leave their pages
 * where they are, as moving them is most of what UBM costs.  The first caches of a stream
 * do not count as quiet: if the stream returns as a loop, its first pages are there.
 */
static bool is_quiet(const struct mcube_ubm_core *core)
{
	return core->now - core->quiet_from > (u64)core->capacity * QUIET_CACHES;
}

/*
 * Would it be better to leave pages of a first pass in LRU order?  So it is if they were
 * taken too early lately, by a part of what the guard bears.
 */
static bool lags(const struct mcube_ubm_core *core)
{
	return core->tuning.guard && core->guard.lead < -core->guard.slack / LAG_PART;
}

/* Passes over the run that was read; 0 for no run. */
static u32 passes_of(const struct mcube_ubm_core *core,
		     const struct mcube_ubm_touched *touched)
{
	return touched->nr ? core->table.runs.run[touched->run[0]].passes : 0;
}

/*
 * Show the sampled pages to the ghost stacks.  A descriptor that jumped may have jumped over
 * pages before @first too, of which no memory has seen anything: these are no gain.
 */
static void sample(struct mcube_ubm_core *core, const struct mcube_ubm_refs *refs,
		   const struct mcube_ubm_touched *touched)
{
	u32 sure = refs->prev == refs->first ? touched->from : refs->first;
	u32 hash = refs->hash, passes = passes_of(core, touched);
	bool other = touched->class == MCUBE_UBM_OTHER ||
		     (passes <= 2 && sequences_return(core));
	u32 end = touched->from + min(touched->refs, SAMPLE_MOST), page = touched->from;
	unsigned int region;

	for (; (page = mcube_ubm_next_sampled(hash, page, end, core->lru.shift)) < end; page++) {
		region = mcube_ubm_ghost_ref(&core->lru, mcube_ubm_print(hash, page));
		if (region >= MCUBE_UBM_REGIONS)
			core->lru_missed += 1ULL << core->lru.shift;
		else
			wake(core);
		if (region == MCUBE_UBM_ABSENT && page >= sure)
			mcube_ubm_guard_gain(&core->guard);
		if (passes == 1)
			core->first++;
		else if (passes == 2 && region < MCUBE_UBM_REGIONS)
			core->returned++;
		if (other)
			mcube_ubm_ghost_ref(&core->other, mcube_ubm_print(hash, page));
	}
}

/* Sampled pages from @page on, as many as sample() looks at. */
static u32 sampled_pages(u32 hash, u32 page, u32 end, unsigned int shift)
{
	u32 nr = 0;

	end = page + min(end - page, SAMPLE_MOST);
	for (; (page = mcube_ubm_next_sampled(hash, page, end, shift)) < end; page++)
		nr++;
	return nr;
}

/* Has the program hardly shown that it reads in loops? */
static bool loops_are_rare(const struct mcube_ubm_core *core)
{
	return core->refs[MCUBE_UBM_LOOP] * RARE_PART < core->now;
}

/* Return: false if there is no room for more ranges. */
static bool propose(const struct mcube_ubm_core *core, struct mcube_ubm_verdict *v,
		    const struct mcube_ubm_run *r, u32 from, u32 to, u32 used)
{
	if (from >= to)
		return true;
	if (v->nr_propose == MCUBE_UBM_PROPOSALS)
		return false;
	v->propose[v->nr_propose++] = (struct mcube_ubm_range){
		.from = from, .to = to, .used = used, .once = r->passes == 1,
		.brief = loops_are_rare(core) &&
			 r->cursor - r->start < core->capacity / BRIEF_PART,
	};
	return true;
}

/* A file that is read in order and at random: what looks like a run may be chance. */
static bool is_mixed(const struct mcube_ubm_core *core,
		     const struct mcube_ubm_trail *trail)
{
	u32 most = core->tuning.rules.mixed;

	return most && trail->mixed > most;
}

/*
 * Hold the first pages of a run, propose those that it has read beyond.  If pages of
 * the file cannot move now, they are left to the next note of the file.
 */
static void place(struct mcube_ubm_core *core, const struct mcube_ubm_trail *trail,
		  struct mcube_ubm_run *r, bool ended, bool away,
		  struct mcube_ubm_verdict *v)
{
	struct mcube_ubm_runs *runs = &core->table.runs;
	u32 lag = ended ? 0 : core->tuning.lag, held = r->held, want, from, to;

	to = r->cursor - min(lag, r->cursor - r->start);
	if (r->class == MCUBE_UBM_LOOP) {
		want = mcube_ubm_shares_hold(&core->shares, &runs->loops, r->bucket,
					     r->reach, held);
		want = max(want, held - min(held, away ? 0 : SHRINK));
		/* Sizes were computed a while ago: all loops must fit the cache. */
		if (want > held)
			want = held + min_t(u64, want - held, room_for_loops(core));
		if (want != held)
			mcube_ubm_run_hold(runs, r, want);
		/* What the loop gives up was read long ago, or in this pass. */
		propose(core, v, r, r->start + want, min(r->start + held, to),
			r->start + want);
	} else if (r->class == MCUBE_UBM_OTHER || sequences_return(core) ||
		   is_mixed(core, trail)) {
		return;
	}
	if (away || (r->passes == 1 && (is_quiet(core) || lags(core))))
		return;
	/* A run may have pages that were read before the domain was made. */
	from = max(r->start + r->held, to - min(to, PROPOSE));
	if (propose(core, v, r, max(from, r->proposed), to, r->start + r->held))
		r->proposed = max(r->proposed, to);
}

/* Loops of a file that are late lose what they hold, if others gain more by it. */
static void age(struct mcube_ubm_core *core)
{
	struct mcube_ubm_file *file = mcube_ubm_table_age(&core->table, core->now);
	struct mcube_ubm_runs *runs = &core->table.runs;
	struct mcube_ubm_run *r;
	u32 id, want;

	for (id = file ? file->trail.runs : MCUBE_UBM_NONE; id != MCUBE_UBM_NONE;
	     id = r->next) {
		r = &runs->run[id];
		if (!r->held)
			continue;
		want = mcube_ubm_shares_hold(&core->shares, &runs->loops, r->bucket,
					     r->reach, r->held);
		if (want < r->held)
			mcube_ubm_run_hold(runs, r, want);
	}
}

/*
 * A domain is made when its memory is full, in the midst of a reader's pass over a
 * file.  Take it that the pass began at the start of the file, or the first loop
 * would be found a pass later than it could.
 */
static void assume_start(struct mcube_ubm_core *core,
			 struct mcube_ubm_trail *trail, u32 first, u32 prev)
{
	if (!first || prev != first || core->now > core->capacity ||
	    trail->runs != MCUBE_UBM_NONE || trail->cursor[0].next)
		return;
	trail->cursor[0] = (struct mcube_ubm_cursor){
		.next = first, .began = (u32)core->now - first, .steps = 1,
	};
}

/**
 * mcube_ubm_core_note() - pages of a file are read
 * @core: the domain.
 * @refs: the pages, one at least.  If their @prev is their @first, or up to a gap before,
 *        the pages from the last note up to @prev were read too.
 * @away: the caller cannot move pages of the file: nothing is proposed.  The next note
 *        of the run proposes what this note would have.
 * @verdict: filled in.
 *
 * Context: lock of the domain.
 */
void mcube_ubm_core_note(struct mcube_ubm_core *core,
			 const struct mcube_ubm_refs *refs, bool away,
			 struct mcube_ubm_verdict *verdict)
{
	struct mcube_ubm_table *table = &core->table;
	struct mcube_ubm_touched touched;
	struct mcube_ubm_file *file;
	struct mcube_ubm_run *run;
	u32 refs_of_sample = 0, i;

	memset(verdict, 0, sizeof(*verdict));
	verdict->from = refs->first;
	file = mcube_ubm_table_get(table, &refs->key, refs->hash);
	if (file->trail.shift && refs->prev != refs->first) {
		verdict->shift = file->trail.shift;
		refs_of_sample = sampled_pages(refs->hash, refs->first, refs->end,
					       file->trail.shift) << file->trail.shift;
		if (!refs_of_sample)
			return;
	}
	assume_start(core, &file->trail, refs->first, refs->prev);
	mcube_ubm_detect(&table->runs, &file->trail, refs->first,
			 refs->end - refs->first, refs->prev, refs->eof, core->now,
			 &touched);
	file->trail.shift = file->trail.random >= RANDOM ? core->lru.shift : 0;

	verdict->class = touched.class;
	verdict->from = touched.from;
	verdict->refs = refs_of_sample ?: touched.refs;
	verdict->shift = file->trail.shift;
	note_found(core, verdict->refs, passes_of(core, &touched) == 1);
	sample(core, refs, &touched);
	core->now += verdict->refs;
	core->refs[touched.class] += verdict->refs;
	core->other.refs += verdict->refs;
	core->lru.refs += verdict->refs;
	if (touched.class == MCUBE_UBM_OTHER)
		core->other_refs += verdict->refs;
	if (touched.class == MCUBE_UBM_LOOP ||
	    core->refs[MCUBE_UBM_OTHER] - core->quiet_other >
	    max(core->capacity / QUIET_OTHER, QUIET_OTHER_MIN))
		wake(core);
	if (core->tuning.guard)
		verdict->guard_changed = mcube_ubm_guard_step(&core->guard, verdict->refs);

	for (i = 0; i < touched.nr; i++) {
		run = &table->runs.run[touched.run[i]];
		place(core, &file->trail, run, refs->eof || i + 1 < touched.nr, away,
		      verdict);
		verdict->run = run;
		verdict->changed = touched.changed >> i & 1;
	}
	if (core->tuning.guard && mcube_ubm_guard_on(&core->guard))
		verdict->nr_propose = 0;
	age(core);
	if (core->now >= core->balance_at) {
		balance(core);
		verdict->balanced = true;
	}
}

/**
 * mcube_ubm_core_held() - is a page to stay in memory?
 * @core: the domain.
 * @key: the file.
 * @hash: mcube_ubm_hash(@key).
 * @index: the page.
 *
 * Context: any.  The lock is not required: if another CPU changes the domain
 * meanwhile, the answer may be wrong for the page, and is found in bounded time.
 * Return: true if the page is held.
 */
bool mcube_ubm_core_held(const struct mcube_ubm_core *core,
			 const struct mcube_ubm_key *key, u32 hash, u32 index)
{
	const struct mcube_ubm_file *file;

	if (!READ_ONCE(core->table.runs.loops.all) ||
	    (core->tuning.guard && READ_ONCE(core->guard.left)))
		return false;
	file = mcube_ubm_table_find(&core->table, key, hash);
	return file && mcube_ubm_trail_holds(&core->table.runs, &file->trail, index);
}

/**
 * mcube_ubm_core_missed() - pages of a file come into memory
 * @core: the domain.
 * @hash: mcube_ubm_hash() of the file.
 * @first: first page.
 * @nr: number of pages, not 0.
 *
 * Of pages that are not sampled only the number counts.
 *
 * Context: lock of the domain.
 */
void mcube_ubm_core_missed(struct mcube_ubm_core *core, u32 hash, u32 first,
			   u32 nr)
{
	u32 page = first, end = first + nr;

	core->missed += nr;
	for (; (page = mcube_ubm_next_sampled(hash, page, end, core->lru.shift)) < end; page++)
		if (mcube_ubm_ghost_load(&core->lru, mcube_ubm_print(hash, page)))
			mcube_ubm_guard_lose(&core->guard);
}
