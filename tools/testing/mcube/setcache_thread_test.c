// SPDX-License-Identifier: GPL-2.0
/*
 * Torture: threads read and write pages as the kernel does, around a table that grows and
 * shrinks, with policies that change.
 *
 * A page is WORDS times the same stamp.  A write gives its page a higher stamp, and notes
 * the stamp when it is complete.  A read notes that stamp before it begins; what it reads
 * has to be one stamp, and not a lower one.
 *
 *	read		set, else page cache, else fill: FILLING, page cache again, disk, VALID
 *	write		page into the page cache, then out of its set; then the stamp
 *	write back	disk, then out of the page cache
 *	direct write	write back; out of its set, disk, out of its set
 *	change cookie	write back; all pages to disk, then a new cookie: the old pages are
 *			never found again
 *	drop		all pages of a file out of all sets
 *
 * The Makefile builds this file a second time, under ThreadSanitizer, which sees each read
 * of a page that another thread writes at the same time.
 *
 * Mutations tried by hand, which fail: a reader that does not pin, publish() that does not
 * look at FILLING, an inserter that does not kill (a test below), a lock of a set without
 * setcache_table_is_at(); and under ThreadSanitizer, where threads are slower, also
 * take_from_valid() without the second look at pins, a filler that does not look into the
 * page cache, setcache_table_may_have() that does not look at @turn.  What this test
 * does not find within seconds: a missing smp_mb(), and setcache_table_may_have() that looks
 * at @turn only once.
 */
#include "mcube_test.h"

#include <pthread.h>
#include <sched.h>

#include "setcache/policy.h"
#include "setcache/table.h"

enum { SHIFT = 5, SEGMENTS = 2, SETS = SEGMENTS << SHIFT, WORDS = 16 };
enum { FILES = 4, PAGES = 200, THREADS = 4 };

#ifdef __SANITIZE_THREAD__
/* READ_ONCE() and WRITE_ONCE() are no races; the compiler asks for these functions. */
#define VOLATILE(size)					\
	void __tsan_volatile_read##size(void *p) { }	\
	void __tsan_volatile_write##size(void *p) { }
VOLATILE(1)
VOLATILE(2)
VOLATILE(4)
VOLATILE(8)

/* The table locks sets in any order; it is the only one to lock more than one. */
const char *__tsan_default_options(void)
{
	return "detect_deadlocks=0 halt_on_error=1";
}
#endif

struct locked_set {
	pthread_mutex_t lock;
	struct setcache_set set;
};

struct file {
	pthread_mutex_t lock;		/* the page cache of the file */
	u64 cookie;
	u64 stamp;			/* the last one given out */
	bool cached[PAGES];
	u64 page[PAGES];		/* what the page cache has */
	u64 disk[PAGES];
	u64 complete[PAGES];
};

static struct setcache_table table;
static void *segments[SEGMENTS];
static struct file file[FILES];
static u64 next_cookie;
static enum setcache_policy policy;
static bool stop, omit_kill;
static unsigned long hits, fills, doomed, stale, torn, reads;

static void lock(struct setcache_set *set)
{
	pthread_mutex_lock(&container_of(set, struct locked_set, set)->lock);
}

static void unlock(struct setcache_set *set)
{
	pthread_mutex_unlock(&container_of(set, struct locked_set, set)->lock);
}

static const struct setcache_locks locks = { lock, unlock };

static struct setcache_set *lock_set_of(struct setcache_key *key)
{
	struct setcache_set *set;

	for (;;) {
		set = setcache_table_find(&table, key);
		lock(set);
		if (setcache_table_is_at(&table, key, set))
			return set;
		unlock(set);
	}
}

static u64 load(u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(u64 *p, u64 value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static void count(unsigned long *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static void begin(void)
{
	const struct setcache_layout layout = {
		.stride = sizeof(struct locked_set), .offset = offsetof(struct locked_set, set),
		.segment_shift = SHIFT, .max_segments = SEGMENTS, .segment = segments,
	};
	unsigned int i, s, way;

	setcache_table_init(&table, &layout, &locks, 12345);
	for (s = 0; s < SEGMENTS; s++) {
		struct locked_set *set = calloc(1 << SHIFT, sizeof(*set));

		for (i = 0; i < 1 << SHIFT; i++) {
			pthread_mutex_init(&set[i].lock, NULL);
			setcache_set_init(&set[i].set);
			for (way = 0; way < SETCACHE_WAYS; way++)
				set[i].set.entry[way].page = calloc(WORDS, sizeof(u64));
		}
		setcache_table_add_segment(&table, set);
	}
	memset(file, 0, sizeof(file));
	next_cookie = 1;
	for (i = 0; i < FILES; i++) {
		pthread_mutex_init(&file[i].lock, NULL);
		file[i].cookie = next_cookie++;
	}
	hits = 0;
	fills = 0;
	doomed = 0;
	stale = 0;
	torn = 0;
	reads = 0;
	stop = false;
}

static void end(void)
{
	unsigned int i, s, way;

	for (s = 0; s < SEGMENTS; s++) {
		struct locked_set *set = segments[s];

		for (i = 0; i < 1 << SHIFT; i++)
			for (way = 0; way < SETCACHE_WAYS; way++)
				free(set[i].set.entry[way].page);
		free(set);
	}
}

/* The stamp of a page; a page with different stamps was written while it was read. */
static u64 read_page(const u64 *page)
{
	unsigned int i;

	for (i = 1; i < WORDS; i++) {
		if (page[i] != page[0])
			count(&torn);
		if (i == WORDS / 2 && page[0] % 8 == 0)
			sched_yield();
	}
	return page[0];
}

static void write_page(u64 *page, u64 stamp)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		page[i] = stamp;
}

static bool read_cached(struct file *f, unsigned int i, u64 *stamp)
{
	bool cached;

	pthread_mutex_lock(&f->lock);
	cached = f->cached[i];
	if (cached)
		*stamp = f->page[i];
	pthread_mutex_unlock(&f->lock);
	return cached;
}

/* The inserter: the page is in the page cache, and must not be in a set. */
static void kill_page(struct setcache_key *key)
{
	struct setcache_set *set;

	/* Pairs with fill_page(). */
	smp_mb();
	if (omit_kill || !setcache_table_may_have(&table, key))
		return;
	set = lock_set_of(key);
	setcache_set_kill(set, key);
	unlock(set);
}

static u64 fill_page(struct file *f, unsigned int i, struct setcache_set *set, unsigned int way)
{
	struct setcache_entry *e = &set->entry[way];
	bool cached;
	u64 stamp;

	/* Pairs with kill_page(). */
	smp_mb();
	cached = read_cached(f, i, &stamp);
	if (!cached) {
		stamp = load(&f->disk[i]);
		if (stamp % 4 == 0)
			sched_yield();
		write_page(e->page, stamp);
	}
	lock(set);
	if (cached)
		setcache_set_abort(set, way);
	else
		count(setcache_set_publish(set, way) ? &fills : &doomed);
	unlock(set);
	if (!cached)
		stamp = read_page(e->page);
	setcache_set_put(set, way);
	return stamp;
}

static u64 read_stamp(struct file *f, unsigned int i)
{
	enum setcache_policy p = __atomic_load_n(&policy, __ATOMIC_RELAXED);
	struct setcache_key key = setcache_key(table.seed, load(&f->cookie), i);
	struct setcache_set *set = setcache_table_find(&table, &key);
	enum setcache_reserved what;
	unsigned int way;
	u64 stamp;
	int hit;

	hit = setcache_set_get(set, &key, p);
	if (hit >= 0) {
		count(&hits);
		stamp = read_page(set->entry[hit].page);
		setcache_set_put(set, hit);
		return stamp;
	}
	if (read_cached(f, i, &stamp))
		return stamp;
	set = lock_set_of(&key);
	what = setcache_set_reserve(set, &key, p, &way);
	unlock(set);
	switch (what) {
	case SETCACHE_RESERVED:
		return fill_page(f, i, set, way);
	case SETCACHE_HIT:
		stamp = read_page(set->entry[way].page);
		setcache_set_put(set, way);
		return stamp;
	default:
		/* Into the page cache and out again, or straight from the disk. */
		return read_cached(f, i, &stamp) ? stamp : load(&f->disk[i]);
	}
}

static void read_some(struct file *f, unsigned int i)
{
	u64 least = load(&f->complete[i]);

	if (read_stamp(f, i) < least)
		count(&stale);
	count(&reads);
}

/* Both with the lock of the file. */
static void write_back(struct file *f, unsigned int i)
{
	if (f->cached[i])
		store(&f->disk[i], f->page[i]);
	f->cached[i] = false;
}

static void complete(struct file *f, unsigned int i, u64 stamp)
{
	store(&f->complete[i], stamp);
}

static void write_some(struct file *f, unsigned int i, unsigned int how)
{
	struct setcache_key key;
	unsigned int j;
	u64 stamp;

	pthread_mutex_lock(&f->lock);
	key = setcache_key(table.seed, f->cookie, i);
	stamp = ++f->stamp;
	switch (how) {
	case 0 ... 3:
		if (!f->cached[i]) {
			f->page[i] = load(&f->disk[i]);
			f->cached[i] = true;
			kill_page(&key);
		}
		f->page[i] = stamp;
		complete(f, i, stamp);
		break;
	case 4 ... 7:
		write_back(f, i);
		break;
	case 8 ... 9:
		write_back(f, i);
		kill_page(&key);
		store(&f->disk[i], stamp);
		kill_page(&key);
		complete(f, i, stamp);
		break;
	case 10:
		for (j = 0; j < PAGES; j++) {
			write_back(f, j);
			store(&f->disk[j], stamp);
		}
		store(&f->cookie, __atomic_fetch_add(&next_cookie, 1, __ATOMIC_RELAXED));
		for (j = 0; j < PAGES; j++)
			complete(f, j, stamp);
		break;
	}
	pthread_mutex_unlock(&f->lock);
}

static void drop(struct file *f)
{
	u64 cookie = load(&f->cookie);
	struct setcache_range range = { cookie, cookie, 0, ~0ULL };
	struct setcache_set *set;
	unsigned int i;

	for (i = 0; i < SETS; i++) {
		set = setcache_table_set_at(&table, i);
		lock(set);
		setcache_set_kill_range(set, &range);
		unlock(set);
	}
}

static u32 below(struct rnd_state *rnd, u32 ceil)
{
	return (u64)prandom_u32_state(rnd) * ceil >> 32;
}

struct worker {
	pthread_t thread;
	struct rnd_state rnd;
	unsigned long rounds;
};

static void *work(void *data)
{
	struct worker *w = data;
	unsigned int what, i;
	struct file *f;

	while (w->rounds--) {
		f = &file[below(&w->rnd, FILES)];
		/* Some pages are used more often. */
		i = below(&w->rnd, 1 + below(&w->rnd, PAGES));
		what = below(&w->rnd, 256);
		if (what < 40)
			write_some(f, i, what < 39 ? what % 10 : 10);
		else if (what == 40 && !below(&w->rnd, 16))
			drop(f);
		else
			read_some(f, i);
	}
	return NULL;
}

static void *resize(void *data)
{
	struct worker *w = data;
	u32 goal;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(&policy, below(&w->rnd, SETCACHE_NR_POLICIES), __ATOMIC_RELAXED);
		goal = SETCACHE_GROUP + below(&w->rnd, SETS - SETCACHE_GROUP);
		while (table.nr < goal)
			setcache_table_grow(&table, policy);
		while (table.nr > goal)
			setcache_table_shrink(&table, policy);
		sched_yield();
	}
	return NULL;
}

static void torture(unsigned long rounds)
{
	struct worker w[THREADS + 1];
	unsigned int i;

	begin();
	for (i = 0; i <= THREADS; i++) {
		prandom_seed_state(&w[i].rnd, get_random_u64());
		w[i].rounds = rounds / THREADS;
		pthread_create(&w[i].thread, NULL, i < THREADS ? work : resize, &w[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(w[THREADS].thread, NULL);
}

TEST(no_read_is_older_than_a_complete_write)
{
	struct setcache_pressure p;
	unsigned int i;

	torture(400000 * test_scale());
	TH_LOG("%lu reads, %lu hits, %lu fills, %lu doomed fills; %llu pages moved, %llu dropped",
	       reads, hits, fills, doomed, table.moved, table.dropped);
	EXPECT_EQ(stale, 0);
	EXPECT_EQ(torn, 0);
	/* The run has seen what it is about. */
	EXPECT_GT(hits, reads / 10);
	EXPECT_GT(fills, reads / 20);
	EXPECT_GT(doomed, 0);
	EXPECT_GT(table.moved, 1000);
	/* All pins were given back. */
	for (i = 0; i < SETS; i++) {
		setcache_pressure(setcache_table_set_at(&table, i), &p);
		EXPECT_EQ(p.pinned, 0);
	}
	end();
}

#ifndef __SANITIZE_THREAD__
/* The control: with a hook left out the torture finds stale reads. */
TEST(the_torture_notices_a_missing_kill)
{
	omit_kill = true;
	torture(100000);
	TH_LOG("%lu stale reads of %lu", stale, reads);
	EXPECT_GT(stale, 0);
	end();
}
#endif
