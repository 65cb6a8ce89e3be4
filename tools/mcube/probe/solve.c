// SPDX-License-Identifier: GPL-2.0
/*
 * From bank sets to the functions that choose the bank.
 *
 *	samples (address, set) --> pairs in one set --+--> XOR masks		functions()
 *	        |                                     +--> turns of three	turns()
 *	        +--> samples held back ------------------> does it hold?	assess()
 *
 * Two addresses of one bank agree in the parity under each XOR mask that chooses the
 * bank. So a mask is right if nearly all pairs agree under it, and under a wrong mask half
 * of them do. All 2^n masks of the n address bits that vary are tried, in Gray code: one
 * XOR gives the parities of 64 pairs. A fifth of wrong labels leaves 64 % of the pairs
 * right, and a right mask still has 82 % of agreement, 20 standard deviations from half.
 * No weight of a mask and no order of bits is assumed.
 *
 * Masks that all pairs of any sets agree under say something about the memory, not about
 * banks. Where such a mask makes a bank mask ambiguous, there is no answer.
 *
 * What is not linear is searched for in two forms: a controller that adds an offset to the
 * address first (AMD's, for the hole below 4 GiB), and three channels that take turns,
 * whose other functions may be of address / 3.
 *
 * The answer has to hold on samples held back, both ways: pairs in one set are in one bank
 * of the map, and pairs in one bank of the map are in one set. A map that lacks a function
 * fails the second. Answers of equal merit that differ are no answer.
 */
#include "solve.h"

#include <math.h>
#include <string.h>

#include "numbers.h"

#define MOST_DIMENSIONS	13u		/* of masks that all pairs agree under */
#define DROPPED		2		/* in solve_work.held: the sample is not used */
#define OFFSET_STEP	(16ull << 20)
#define OFFSET_END	(4ull << 30)
#define CHANNELS	3u		/* that take turns */
#define MOST_TURN_SHIFT	24u
#define LEAST_HELD	64u		/* pairs */

static unsigned int below(struct solve_work *w, unsigned int n)
{
	return (xorshift64s(&w->rng) >> 32) * n >> 32;
}

/* What the masks of an address are of: the address with the offset, or a quotient. */
static uint64_t view(const struct solve_map *map, bool quotient, uint64_t address)
{
	return quotient ? address / map->modulus : address + map->offset;
}

/* Put samples of a set side by side, in random order, and hold a fourth back. */
static void group(struct solve_work *w, const struct solve_sample *sample, unsigned int nr)
{
	unsigned int count[SOLVE_MAX_LABELS] = { }, sum = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (w->held[i] != DROPPED)
			count[sample[i].label]++;
	for (unsigned int l = 0; l < SOLVE_MAX_LABELS; l++) {
		w->start[l] = sum;
		sum += count[l];
		count[l] = w->start[l];
	}
	w->start[SOLVE_MAX_LABELS] = sum;
	for (unsigned int i = 0; i < nr; i++)
		if (w->held[i] != DROPPED)
			w->order[count[sample[i].label]++] = i;
	for (unsigned int l = 0; l < SOLVE_MAX_LABELS; l++) {
		unsigned int from = w->start[l], n = w->start[l + 1] - from;

		for (unsigned int i = n; i > 1; i--) {
			unsigned int k = from + below(w, i);
			uint16_t old = w->order[k];

			w->order[k] = w->order[from + i - 1];
			w->order[from + i - 1] = old;
		}
		for (unsigned int i = 0; i < n; i++)
			w->held[w->order[from + i]] = !below(w, 4);
	}
}

/* Pairs of one set: neighbours first, then every other, as many as there is room for. */
static void pair_up(struct solve_work *w)
{
	unsigned int seen = 0;

	w->nr_pairs = 0;
	for (unsigned int stride = 1; stride <= 8 && seen < SOLVE_PAIRS; stride++)
		for (unsigned int l = 0; l < SOLVE_MAX_LABELS; l++)
			for (unsigned int i = w->start[l]; i + stride < w->start[l + 1]; i++) {
				unsigned int a = w->order[i], b = w->order[i + stride], k;

				if (w->held[a] || w->held[b])
					continue;
				k = seen++ < SOLVE_PAIRS ? w->nr_pairs++ : below(w, seen);
				if (k >= SOLVE_PAIRS)
					continue;
				w->pair[k][0] = a;
				w->pair[k][1] = b;
			}
}

static void put(uint64_t column[64][SOLVE_WORDS], unsigned int at, uint64_t difference)
{
	for (; difference; difference &= difference - 1)
		column[__builtin_ctzll(difference)][at / 64] |= 1ull << at % 64;
}

/* The pairs as columns of bits: those of one set, and pairs of any. */
static void columns(struct solve_work *w, const struct solve_sample *sample,
		    const struct solve_map *map, bool quotient)
{
	memset(w->column, 0, sizeof(w->column));
	memset(w->random, 0, sizeof(w->random));
	for (unsigned int i = 0; i < w->nr_pairs; i++) {
		unsigned int used = w->start[SOLVE_MAX_LABELS];
		uint64_t a = view(map, quotient, sample[w->pair[i][0]].address);
		uint64_t b = view(map, quotient, sample[w->pair[i][1]].address);

		put(w->column, i, a ^ b);
		a = view(map, quotient, sample[w->order[below(w, used)]].address);
		b = view(map, quotient, sample[w->order[below(w, used)]].address);
		put(w->random, i, a ^ b);
	}
}

/* Pairs that disagree under a mask, out of the first @words words. */
static unsigned int disagree(uint64_t column[64][SOLVE_WORDS], uint64_t mask,
			     unsigned int words)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < words; k++) {
		uint64_t x = 0;

		for (uint64_t m = mask; m; m &= m - 1)
			x ^= column[__builtin_ctzll(m)][k];
		n += __builtin_popcountll(x);
	}
	return n;
}

/**
 * struct space - masks that the pairs of one set agree under
 * @nr:		dimensions
 * @basis:	masks with leading bits of their own
 * @nr_empty:	dimensions of those that all pairs agree under
 * @empty:	basis of these
 * @most:	pairs that may disagree under a mask
 * @fewest:	pairs that do under the mask that holds best
 */
struct space {
	unsigned int nr;
	uint64_t basis[MOST_DIMENSIONS + 1];
	unsigned int nr_empty;
	uint64_t empty[MOST_DIMENSIONS + 1];
	unsigned int most;
	unsigned int fewest;
};

static void try_mask(struct solve_work *w, struct space *s, uint64_t mask)
{
	unsigned int n;

	if (disagree(w->column, mask, 4) > 4 * 64 * 37 / 100)
		return;
	n = disagree(w->column, mask, SOLVE_WORDS);
	if (n > s->most)
		return;
	if (s->nr <= MOST_DIMENSIONS)
		s->nr = solve_span(s->basis, s->nr, mask);
	if (disagree(w->random, mask, SOLVE_WORDS) * 100 >= w->nr_pairs * 36)
		s->fewest = n < s->fewest ? n : s->fewest;
	else if (s->nr_empty <= MOST_DIMENSIONS)
		s->nr_empty = solve_span(s->empty, s->nr_empty, mask);
}

/* All masks of the bits of @bits that the pairs agree under. */
static void search(struct solve_work *w, struct space *s, uint64_t bits, unsigned int most)
{
	unsigned int at[SOLVE_MAX_BITS], n = 0;
	uint64_t mask = 0, parity = 0;

	*s = (struct space){ .most = most, .fewest = most };
	for (; bits && n < SOLVE_MAX_BITS; bits &= bits - 1)
		at[n++] = __builtin_ctzll(bits);
	for (uint64_t i = 1; i < 1ull << n; i++) {
		unsigned int bit = at[__builtin_ctzll(i)];

		mask ^= 1ull << bit;
		parity ^= w->column[bit][0];
		if (__builtin_popcountll(parity) <= 23)
			try_mask(w, s, mask);
	}
}

/* The @i-th sum of a basis. */
static uint64_t sum(const uint64_t *basis, unsigned int i)
{
	uint64_t mask = 0;

	for (; i; i &= i - 1)
		mask ^= basis[__builtin_ctz(i)];
	return mask;
}

static bool lighter(uint64_t a, uint64_t b)
{
	int weight = __builtin_popcountll(a) - __builtin_popcountll(b);

	return weight ? weight < 0 : a < b;
}

/*
 * The masks with the fewest bits that tell the same banks apart. Returns why there is no
 * such choice, or NULL.
 */
static const char *canonical(const struct space *s, uint64_t *mask, unsigned int *nr)
{
	uint64_t basis[2 * MOST_DIMENSIONS + 2];
	unsigned int n = s->nr_empty;

	if (s->nr > MOST_DIMENSIONS || s->nr - s->nr_empty > SOLVE_MAX_MASKS)
		return "too many address functions fit: the sets tell too little";
	memcpy(basis, s->empty, n * sizeof(*basis));
	for (*nr = 0; *nr < s->nr - s->nr_empty; ++*nr) {
		uint64_t best = 0;

		for (unsigned int i = 1; i < 1u << s->nr; i++) {
			uint64_t m = sum(s->basis, i);

			if ((!best || lighter(m, best)) && solve_rest(basis, n, m))
				best = m;
		}
		if (!best)
			return "the address functions depend on each other";
		for (unsigned int i = 1; i < 1u << s->nr_empty; i++)
			if (__builtin_popcountll(best ^ sum(s->empty, i)) ==
			    __builtin_popcountll(best))
				return "some address bits are never apart in this memory, and one "
				       "of them chooses the bank";
		mask[*nr] = best;
		n = solve_span(basis, n, best);
	}
	return NULL;
}

/* Address bits that differ between the samples, as the masks see them. */
static uint64_t varying(struct solve_work *w, const struct solve_sample *sample,
			const struct solve_map *map, bool quotient, unsigned int least)
{
	uint64_t first = 0, bits = 0;

	for (unsigned int i = 0; i < w->start[SOLVE_MAX_LABELS]; i++) {
		uint64_t x = view(map, quotient, sample[w->order[i]].address);

		if (!i)
			first = x;
		bits |= x ^ first;
	}
	return bits & ~((1ull << least) - 1);
}

/* What @n errors may be where as many are expected. */
static unsigned int about(unsigned int n)
{
	return n + 8 + 5 * sqrt(n);
}

/*
 * XOR masks of the address, and of its quotient. Wrong labels spoil all of these alike, so
 * a mask that holds much worse than the best is only nearly what chooses the bank.
 */
static const char *functions(struct solve_work *w, const struct solve_sample *sample,
			     struct solve_map *map, unsigned int least)
{
	unsigned int most = w->nr_pairs * 30 / 100, views = map->modulus ? 2 : 1;
	const char *why = NULL;
	struct space s;

	for (unsigned int pass = 0; pass < 2; pass++) {
		unsigned int fewest = most;

		for (unsigned int q = 0; q < views && !why; q++) {
			uint64_t bits = varying(w, sample, map, q, least);

			if (__builtin_popcountll(bits) > (int)SOLVE_MAX_BITS)
				return "too many address bits vary: take less memory";
			columns(w, sample, map, q);
			search(w, &s, bits, most);
			if (s.fewest < fewest)
				fewest = s.fewest;
			if (pass)
				why = canonical(&s, q ? map->quotient : map->mask,
						q ? &map->nr_quotients : &map->nr_masks);
		}
		if (about(fewest) < most)
			most = about(fewest);
	}
	return why;
}

/* How many pairs of one set the map has in different banks. */
static unsigned int misses(const struct solve_work *w, const struct solve_sample *sample,
			   const struct solve_map *map)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->nr_pairs; i++)
		n += solve_value(map, sample[w->pair[i][0]].address) !=
			solve_value(map, sample[w->pair[i][1]].address);
	return n;
}

/* Does the map hold on the samples held back, both ways? */
static void assess(struct solve_result *r, const struct solve_work *w,
		   const struct solve_sample *sample)
{
	unsigned int used = w->start[SOLVE_MAX_LABELS], both = 0, set = 0, bank = 0, n = 0;

	static _Thread_local unsigned int value[SOLVE_MAX_SAMPLES];
	static _Thread_local uint16_t label[SOLVE_MAX_SAMPLES];

	for (unsigned int i = 0; i < used; i++) {
		if (w->held[w->order[i]] != 1)
			continue;
		value[n] = solve_value(&r->map, sample[w->order[i]].address);
		label[n++] = sample[w->order[i]].label;
	}
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < i; k++) {
			set += label[i] == label[k];
			bank += value[i] == value[k];
			both += label[i] == label[k] && value[i] == value[k];
		}
	r->pairs = set;
	r->holds = set ? (double)both / set : 0;
	r->whole = bank ? (double)both / bank : 0;
}

static const char *judge(const struct solve_result *r)
{
	double spread = r->pairs ? r->holds * (1 - r->holds) / r->pairs : 0;
	double slack = .04 + 3 * sqrt(spread);

	if (solve_banks(&r->map) < 2)
		return "no address function tells the bank sets apart";
	if (r->pairs < LEAST_HELD)
		return "too few samples share a bank set";
	if (r->holds < .5)
		return "the address functions do not hold on samples held back";
	if (r->whole < r->holds - slack)
		return "the bank sets are finer than any address function found: the map is not "
		       "of a known form";
	if (r->holds < r->whole - slack)
		return "the address functions are finer than the bank sets";
	return NULL;
}

/* Where the turns of three channels show: the granule under which most pairs agree. */
static bool turns(struct solve_work *w, const struct solve_sample *sample,
		  struct solve_map *map, unsigned int least)
{
	unsigned int best = 0;

	for (unsigned int shift = least; shift <= MOST_TURN_SHIFT; shift++) {
		unsigned int n = 0, any = 0;

		for (unsigned int i = 0; i < w->nr_pairs; i++) {
			unsigned int turn = (sample[w->pair[i][0]].address >> shift) % CHANNELS;
			unsigned int k = w->order[below(w, w->start[SOLVE_MAX_LABELS])];

			n += turn == (sample[w->pair[i][1]].address >> shift) % CHANNELS;
			any += turn == (sample[k].address >> shift) % CHANNELS;
		}
		if (n * 9 > best * 10 && any * 100 < w->nr_pairs * 42) {
			best = n;
			map->modulus_shift = shift;
		}
	}
	return best * 100 >= w->nr_pairs * 60;
}

/* Lowest address bit that any sample has. */
static unsigned int alignment(const struct solve_sample *sample, unsigned int nr)
{
	uint64_t any = 1ull << 63;

	for (unsigned int i = 0; i < nr; i++)
		any |= sample[i].address;
	return __builtin_ctzll(any) > (int)SOLVE_LINE_SHIFT ? __builtin_ctzll(any) :
		SOLVE_LINE_SHIFT;
}

/*
 * Where all low bits of address / 3 are known, so are those of the address: keep the masks
 * of the quotient that say something that the turns and the masks of the address do not.
 * Returns false if the turns say nothing that the masks do not.
 */
static bool drop_repeated(struct solve_map *map, unsigned int least, unsigned int most)
{
	struct solve_map kept = *map;

	kept.nr_quotients = 0;
	kept.modulus = 0;
	if (!solve_adds(map, &kept, map->nr_masks + map->nr_quotients, least, most))
		return false;
	kept.modulus = map->modulus;
	for (unsigned int i = 0; i < map->nr_quotients; i++)
		if (solve_adds(map, &kept, map->nr_masks + i, least, most))
			kept.quotient[kept.nr_quotients++] = map->quotient[i];
	*map = kept;
	return true;
}

/* Solve for the offset and the modulus that @r->map has. */
static void attempt(struct solve_result *r, struct solve_work *w,
		    const struct solve_sample *sample, unsigned int least)
{
	if (r->map.modulus && !turns(w, sample, &r->map, least)) {
		r->why = "no turns of three channels";
		return;
	}
	r->why = functions(w, sample, &r->map, least);
	if (r->why)
		return;
	if (r->map.modulus && !drop_repeated(&r->map, least, solve_top(r->seen))) {
		r->why = "no turns of three channels";
		return;
	}
	assess(r, w, sample);
	r->why = judge(r);
}

/* Bits that hardly ever differ from the others': leave out the samples in which they do. */
static void drop_rare(struct solve_work *w, const struct solve_sample *sample, unsigned int nr)
{
	for (unsigned int bit = SOLVE_LINE_SHIFT; bit < 63; bit++) {
		unsigned int set = 0, used = 0;

		for (unsigned int i = 0; i < nr; i++) {
			if (w->held[i] == DROPPED)
				continue;
			used++;
			set += sample[i].address >> bit & 1;
		}
		if (!set || set == used || (set * 100 >= used * 15 && set * 100 <= used * 85))
			continue;
		for (unsigned int i = 0; i < nr; i++)
			if ((sample[i].address >> bit & 1) == (set < used - set))
				w->held[i] = DROPPED;
	}
}

static const char *begin(struct solve_result *r, struct solve_work *w,
			 const struct solve_sample *sample, unsigned int nr)
{
	*r = (struct solve_result){ };
	w->rng = 0x9e3779b97f4a7c15ull;
	if (nr > SOLVE_MAX_SAMPLES)
		return "too many samples";
	memset(w->held, 0, sizeof(w->held));
	for (unsigned int i = 0; i < nr; i++)
		if (sample[i].label >= SOLVE_MAX_LABELS)
			w->held[i] = DROPPED;
	drop_rare(w, sample, nr);
	group(w, sample, nr);
	pair_up(w);
	if (w->nr_pairs < SOLVE_LEAST_PAIRS)
		return "too few samples share a bank set";
	r->seen = varying(w, sample, &r->map, false, SOLVE_LINE_SHIFT);
	return NULL;
}

/* Are all samples that one map has in one bank in one bank of the other? */
static bool same_banks(const struct solve_work *w, const struct solve_sample *sample,
		       const struct solve_map *a, const struct solve_map *b)
{
	unsigned int used = w->start[SOLVE_MAX_LABELS];

	if (solve_banks(a) != solve_banks(b))
		return false;
	if (a->modulus || b->modulus)
		return a->modulus == b->modulus && a->offset == b->offset;
	for (unsigned int i = 0; i < used; i++) {
		const struct solve_sample *s = &sample[w->order[i]];

		for (unsigned int k = 0; k < i && k < 64; k++) {
			const struct solve_sample *t = &sample[w->order[k]];

			if ((solve_value(a, s->address) == solve_value(a, t->address)) !=
			    (solve_value(b, s->address) == solve_value(b, t->address)))
				return false;
		}
	}
	return true;
}

/**
 * solve - find the functions that choose the bank
 * @r:		what came out
 * @w:		memory to work in
 * @sample:	addresses with the sets that timing put them into; a fifth may be wrong
 * @nr:		how many
 * @what:	SOLVE_OFFSET, SOLVE_MODULUS: what to search for beside XOR masks
 *
 * Takes 2^n steps for n address bits that vary, each time for some hundred offsets.
 */
void solve(struct solve_result *r, struct solve_work *w, const struct solve_sample *sample,
	   unsigned int nr, unsigned int what)
{
	unsigned int least = alignment(sample, nr), fewest = SOLVE_PAIRS + 1, rival;
	const char *why = begin(r, w, sample, nr);
	struct solve_result best = *r, other = *r;
	uint64_t end = OFFSET_STEP;

	r->why = why;
	if (why)
		return;
	if (what & SOLVE_OFFSET && r->seen)
		end = 2ull << solve_top(r->seen);
	if (end > OFFSET_END)
		end = OFFSET_END;
	best.why = NULL;
	for (uint64_t offset = 0; offset < end; offset += OFFSET_STEP) {
		struct solve_result x = *r;
		unsigned int n;

		x.map.offset = offset;
		attempt(&x, w, sample, least);
		if (!offset)
			why = x.why;
		n = x.why ? SOLVE_PAIRS + 1 : misses(w, sample, &x.map);
		if (n < fewest) {
			/* The runner-up of another kind decides whether this is certain. */
			if (fewest <= SOLVE_PAIRS && !same_banks(w, sample, &x.map, &best.map))
				other = best;
			fewest = n;
			best = x;
		} else if (n <= SOLVE_PAIRS && !same_banks(w, sample, &x.map, &best.map) &&
			   (!solve_components(&other.map) ||
			    n < misses(w, sample, &other.map))) {
			other = x;
		}
	}
	if (what & SOLVE_MODULUS) {
		struct solve_result x = *r;

		x.map.modulus = CHANNELS;
		attempt(&x, w, sample, least);
		if (!x.why && fewest <= SOLVE_PAIRS) {
			r->why = "several maps explain the bank sets nearly as well";
			return;
		}
		if (!x.why) {
			best = x;
			fewest = misses(w, sample, &x.map);
		}
	}
	if (fewest > SOLVE_PAIRS) {
		r->why = why;
		return;
	}
	*r = best;
	if (!solve_components(&other.map))
		return;
	rival = misses(w, sample, &other.map);
	if (rival < fewest || (rival - fewest) * (rival - fewest) < 16 * (rival + fewest + 1))
		r->why = "several maps explain the bank sets nearly as well";
}

/**
 * solve_as - find the functions, where offset and modulus are known
 * @r:		what came out
 * @w:		memory to work in
 * @sample:	addresses with the sets that timing put them into
 * @nr:		how many
 * @like:	a map with that offset and modulus; its masks do not count
 */
void solve_as(struct solve_result *r, struct solve_work *w, const struct solve_sample *sample,
	      unsigned int nr, const struct solve_map *like)
{
	r->why = begin(r, w, sample, nr);
	if (r->why)
		return;
	r->map.offset = like->offset;
	r->map.modulus = like->modulus;
	attempt(r, w, sample, alignment(sample, nr));
}
