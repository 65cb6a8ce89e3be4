// SPDX-License-Identifier: GPL-2.0
/*
 * Puppets and polluters: processes that ROCS finds; see rocs_lib.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rocs_lib.h"
#include "sim_lib.h"

/* Pages that a puppet uses between two looks at what it shall do. */
#define STRIDE		8
/* The shortest period: on a busy machine faults are rare. */
#define PERIOD		32
/* Windows of a profile at first, and at most: short windows shorten the period soon. */
#define FIRST_KCYCLES	40000L
#define MOST_KCYCLES	320000L
/* Seconds between two instructions; a window has a quarter of a second. */
#define SLOWER		.05
#define SLOW		.005
/* Uses of some pages between two looks at what ROCS wants. */
#define LOOK		32
#define TAG		0x5ca1ab1e00000000ULL

static bool is_file(const struct rocs_puppet *p)
{
	return p->path;
}

/* What a page of a file that is only read has in its first and in its last word. */
uint64_t rocs_tag(size_t page)
{
	return TAG | page;
}

static uint64_t *first_word(const struct rocs_puppet *p, size_t i)
{
	return (uint64_t *)(p->mem + i * PAGE_SIZE_);
}

static uint64_t *last_word(const struct rocs_puppet *p, size_t i)
{
	return (uint64_t *)(p->mem + (i + 1) * PAGE_SIZE_ - sizeof(uint64_t));
}

static void write_page(struct rocs_puppet *p, size_t i, uint64_t value)
{
	*(volatile uint64_t *)first_word(p, i) = value;
	*(volatile uint64_t *)last_word(p, i) = ~value;
	p->expected[i] = value;
}

static bool is_right(const struct rocs_puppet *p, size_t i)
{
	return *(volatile uint64_t *)first_word(p, i) == p->expected[i] &&
	       *(volatile uint64_t *)last_word(p, i) == ~p->expected[i];
}

/* Memory ----------------------------------------------------------------- */

char *rocs_map_anon(struct rocs_puppet *p)
{
	return mcube_map_anon(p->pages);
}

char *rocs_map_huge(struct rocs_puppet *p)
{
	size_t len = p->pages * PAGE_SIZE_, huge = HUGE_PAGES * PAGE_SIZE_;
	char *mem = mmap(NULL, len + huge, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return NULL;
	mem += -(uintptr_t)mem % huge;
	return madvise(mem, len, MADV_HUGEPAGE) ? NULL : mem;
}

static char *map_file(struct rocs_puppet *p, int prot, int flags)
{
	int fd = open(p->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t page[PAGE_SIZE_ / sizeof(uint64_t)] = { };
	char *mem;
	size_t i;

	if (fd < 0)
		return NULL;
	for (i = 0; i < p->pages; i++) {
		p->expected[i] = rocs_tag(i);
		page[0] = p->expected[i];
		page[PAGE_SIZE_ / sizeof(uint64_t) - 1] = ~page[0];
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return NULL;
	}
	/* A page under writeback would not move. */
	fsync(fd);
	mem = mmap(NULL, p->pages * PAGE_SIZE_, prot, flags, fd, 0);
	close(fd);
	return mem == MAP_FAILED ? NULL : mem;
}

char *rocs_map_file_shared(struct rocs_puppet *p)
{
	return map_file(p, PROT_READ | PROT_WRITE, MAP_SHARED);
}

char *rocs_map_file_private(struct rocs_puppet *p)
{
	p->reads = true;
	return map_file(p, PROT_READ, MAP_PRIVATE);
}

/* Plays ------------------------------------------------------------------ */

/* Unmap a page, or the huge page that it is in, and fault on it. */
static void refault(struct rocs_puppet *p)
{
	bool huge = p->map == rocs_map_huge;
	size_t nr = huge ? HUGE_PAGES : 1, i = p->next_fault, first = i / nr * nr, k;

	/* An odd step: samples at a fixed period find all pages. */
	p->next_fault = (i + (huge ? HUGE_PAGES + 1 : 1)) % p->pages;
	madvise(p->mem + first * PAGE_SIZE_, nr * PAGE_SIZE_, MADV_DONTNEED);
	if (p->reads) {
		p->wrong += !is_right(p, i);
		return;
	}
	/* The pages of a file keep their contents. */
	if (is_file(p))
		p->wrong += !is_right(p, i);
	write_page(p, i, p->expected[i] + 1);
	for (k = first; k < first + nr; k++)
		write_page(p, k, p->expected[k] + 1);
}

/* Instructions, as the stand-in counts them. */
static void pulse(struct rocs_puppet *p, unsigned int n)
{
	while (n--) {
		madvise(p->pulse, PAGE_SIZE_, MADV_DONTNEED);
		*(volatile char *)p->pulse = 1;
	}
}

/* Seconds that this process has run. */
static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/*
 * An instruction in so many seconds.  How long anything else takes depends on the kernel:
 * a window without instructions would be another phase.
 */
static void pulse_seldom(struct rocs_puppet *p, double seconds)
{
	double now = cpu_time();

	if (now - p->pulsed < seconds)
		return;
	p->pulsed = now;
	pulse(p, 1);
}

/*
 * Many instructions while pages shall be in the partition, else few.  The puppet looks for
 * itself: a test that tells the puppet comes too late on a busy machine, as windows end
 * while the puppet runs.
 */
static void gain(struct rocs_puppet *p, unsigned int n)
{
	struct rocs_line l;

	if (n % LOOK == 0)
		p->inside = rocs_target(getpid(), &l) && l.mapped;
	if (p->inside)
		pulse(p, 4);
	else
		pulse_seldom(p, SLOW);
}

/* Use some pages: a write that is lost or goes to the wrong page is found. */
static void use_pages(struct rocs_puppet *p)
{
	unsigned int n;

	for (n = 0; n < STRIDE; n++) {
		p->wrong += !is_right(p, p->next);
		if (!p->reads)
			write_page(p, p->next, p->expected[p->next] + 1);
		if (++p->next == p->pages) {
			p->next = 0;
			p->rounds++;
		}
	}
}

static void do_op(struct rocs_puppet *p)
{
	int (*op)(struct rocs_puppet *p);

	__atomic_load(&p->op, &op, __ATOMIC_ACQUIRE);
	if (!op)
		return;
	p->ret = op(p);
	__atomic_store_n(&p->op, NULL, __ATOMIC_RELEASE);
}

static void play(struct rocs_puppet *p)
{
	unsigned int n;

	for (n = 0; !__atomic_load_n(&p->stop, __ATOMIC_RELAXED); n++) {
		do_op(p);
		switch (__atomic_load_n(&p->play, __ATOMIC_RELAXED)) {
		case ROCS_FAULT:
			refault(p);
			break;
		case ROCS_SLOWER:
			pulse_seldom(p, SLOWER);
			break;
		case ROCS_SLOW:
			pulse_seldom(p, SLOW);
			break;
		case ROCS_GAIN:
			gain(p, n);
			break;
		}
		use_pages(p);
	}
}

static void be_puppet(struct rocs_puppet *p)
{
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	p->mem = p->map(p);
	p->pulse = mcube_map_anon(1);
	if (!p->mem || !p->pulse)
		_exit(1);
	for (i = 0; i < p->pages && !is_file(p); i++)
		write_page(p, i, rocs_tag(i));
	__atomic_store_n(&p->ready, 1, __ATOMIC_RELEASE);
	play(p);
	_exit(p->wrong ? 1 : 0);
}

/* Does a process that this process started still run? */
static bool runs(pid_t pid)
{
	siginfo_t info = { };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

static bool await(int *flag, pid_t pid)
{
	double end = mcube_deadline(ROCS_DEADLINE);

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
		if (mcube_now() > end || !runs(pid))
			return false;
		usleep(1000);
	}
	return true;
}

/* A puppet that faults on its pages, made by @map; NULL on failure. */
struct rocs_puppet *rocs_puppet(char *(*map)(struct rocs_puppet *p), size_t pages,
				const char *path)
{
	struct rocs_puppet *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (p == MAP_FAILED || pages > ROCS_MOST_PAGES)
		return NULL;
	p->map = map;
	p->pages = pages;
	p->path = path;
	/* Not into *p, which the child shares. */
	pid = fork();
	if (!pid)
		be_puppet(p);
	p->pid = pid;
	return p->pid > 0 && await(&p->ready, p->pid) ? p : NULL;
}

/* Run a function in the puppet.  Return: what it returns, or -ESRCH. */
int rocs_puppet_do(struct rocs_puppet *p, int (*op)(struct rocs_puppet *p))
{
	double end = mcube_deadline(ROCS_DEADLINE);

	__atomic_store_n(&p->op, op, __ATOMIC_RELEASE);
	while (__atomic_load_n(&p->op, __ATOMIC_ACQUIRE)) {
		if (mcube_now() > end || !runs(p->pid))
			return -ESRCH;
		usleep(1000);
	}
	return p->ret;
}

/* Wait until the puppet has used all its pages once more; false if it does not. */
bool rocs_puppet_worked(struct rocs_puppet *p)
{
	long rounds = __atomic_load_n(&p->rounds, __ATOMIC_RELAXED);
	double end = mcube_deadline(ROCS_DEADLINE);

	while (__atomic_load_n(&p->rounds, __ATOMIC_RELAXED) < rounds + 2) {
		if (mcube_now() > end || !runs(p->pid))
			return false;
		usleep(1000);
	}
	return !p->wrong;
}

/* End a puppet.  0 if it found all contents right. */
int rocs_puppet_end(struct rocs_puppet *p)
{
	int status = 0;

	__atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
	waitpid(p->pid, &status, 0);
	return p->wrong || status ? -EILSEQ : 0;
}

/* A profile begins, and the plan is frozen as soon as samples are frequent. */
static bool freeze_profile(struct rocs_puppet *p, struct rocs_line *l, long kcycles)
{
	if (rocs_choose(0) || !rocs_await_gone(p->pid) ||
	    mcube_write_num(MCUBE_ROCS "window_kcycles", kcycles) ||
	    rocs_choose(p->pid) || !rocs_await_state(p->pid, "profile", l))
		return false;
	while (rocs_target(p->pid, l) && !strcmp(l->state, "profile") &&
	       l->period > PERIOD)
		usleep(1000);
	return !rocs_freeze();
}

/* Wait for so many samples; false if the plan leaves the profile before. */
static bool collect(const struct rocs_puppet *p, struct rocs_line *l, long want)
{
	long samples = rocs_stat("samples");

	while (rocs_target(p->pid, l) && !strcmp(l->state, "profile")) {
		if (rocs_stat("samples") >= samples + want)
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Make the puppet a target, and wait until ROCS has profiled all its pages, or some pages
 * of each huge page.  The plan is frozen then: no page has moved.
 *
 * A busy machine may see the plan leave the profile before that, if the windows have passed
 * before the plan is frozen.  The next attempt has longer windows.
 */
bool rocs_lead_to_profile(struct rocs_puppet *p, struct rocs_line *l)
{
	/*
	 * A fault on a huge page clears 512 pages, which takes an emulator a millisecond.
	 * Samples at a fixed period find each page once before they find a page again.
	 */
	long want = p->map == rocs_map_huge ? 16 : p->pages * 3 / 2;
	long kcycles = FIRST_KCYCLES;
	double end = mcube_deadline(ROCS_DEADLINE);

	p->play = ROCS_FAULT;
	for (;;) {
		if (mcube_now() > end || !freeze_profile(p, l, kcycles))
			return false;
		if (collect(p, l, want))
			break;
		printf("# no profile with windows of %ld kcycles: state %s, period %u\n",
		       kcycles, l->state, l->period);
		kcycles = kcycles < MOST_KCYCLES ? 2 * kcycles : kcycles;
	}
	p->play = ROCS_SLOW;
	return rocs_puppet_worked(p);
}

/*
 * Pages that a CPU keeps in a batch for the LRU lists do not move.  move_pages() empties
 * the batches of all CPUs.
 */
static void empty_batches(void)
{
	volatile char here = 0;
	void *addr = (void *)&here;
	int node = 0, status;

	syscall(SYS_move_pages, 0, 1, &addr, &node, &status, MPOL_MF_MOVE);
}

/*
 * From there to the end of the search.  The puppet is slow while no page shall be in the
 * partition, and fast while all pages shall be, so the search finds that all pages
 * shall be there.
 */
bool rocs_lead_to_hold(struct rocs_puppet *p, struct rocs_line *l)
{
	double end = mcube_deadline(ROCS_DEADLINE);

	empty_batches();
	p->play = ROCS_GAIN;
	if (rocs_thaw())
		return false;
	while (rocs_target(p->pid, l) && strcmp(l->state, "hold") && !l->searches) {
		if (mcube_now() > end)
			return false;
		usleep(1000);
	}
	while (rocs_target(p->pid, l) && l->in != l->mapped && mcube_now() < end)
		usleep(1000);
	if (!strcmp(l->state, "hold") && l->mapped == l->stack && l->in == l->mapped)
		return true;
	printf("# state %s after %u searches: %u of %u pages shall be in, %u are\n", l->state,
	       l->searches, l->mapped, l->stack, l->in);
	return false;
}

/* Polluters -------------------------------------------------------------- */

/*
 * A round: the reused array twice, of which the second time hits, and as many lines of
 * the streamed array as the cache has.  Without ROCS these evict the reused array.
 */
static void pollute(struct rocs_polluter *p)
{
	size_t line = sim_line(), cache = sim_llc_lines() * line;
	size_t reused = p->reused_pages * PAGE_SIZE_;
	size_t streamed = p->streamed_pages * PAGE_SIZE_, at = 0, i;
	volatile const char *mem;
	int phase, pass;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		phase = __atomic_load_n(&p->phase, __ATOMIC_RELAXED);
		mem = p->reused[phase];
		for (pass = 0; pass < 2; pass++)
			for (i = 0; i < reused; i += line)
				(void)mem[i];
		mem = p->streamed[phase];
		for (i = 0; i < cache; i += line)
			(void)mem[(at + i) % streamed];
		at = (at + cache) % streamed;
		p->rounds++;
	}
}

static char *touched(size_t pages)
{
	char *mem = mcube_map_anon(pages);

	if (mem)
		memset(mem, 1, pages * PAGE_SIZE_);
	return mem;
}

static void be_polluter(struct rocs_polluter *p)
{
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < 2; i++) {
		p->reused[i] = touched(p->reused_pages);
		p->streamed[i] = touched(p->streamed_pages);
		if (!p->reused[i] || !p->streamed[i])
			_exit(1);
	}
	__atomic_store_n(&p->ready, 1, __ATOMIC_RELEASE);
	pollute(p);
	_exit(0);
}

/* A program on a modelled machine that uses half of the cache again and again. */
struct rocs_polluter *rocs_polluter(void)
{
	struct rocs_polluter *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t cache = sim_llc_lines() * sim_line() / PAGE_SIZE_;
	pid_t pid;

	if (p == MAP_FAILED)
		return NULL;
	p->reused_pages = cache / 2;
	p->streamed_pages = cache * 3;
	pid = fork();
	if (!pid)
		be_polluter(p);
	p->pid = pid;
	return p->pid > 0 && await(&p->ready, p->pid) ? p : NULL;
}

int rocs_polluter_end(struct rocs_polluter *p)
{
	int status = 0;

	__atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
	waitpid(p->pid, &status, 0);
	return status ? -ECHILD : 0;
}
