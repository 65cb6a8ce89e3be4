// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that the tests of the mcube_sim PMU share, see sim_lib.h.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcube_lib.h"
#include "sim_lib.h"

#define RING_PAGES	512UL

const char *const sim_event_name[NR_EVENTS] = {
	"cycles", "instructions", "accesses", "stores", "l1_misses",
	"l2_misses", "llc_refs", "llc_misses", "llc_writebacks", "llc_stolen",
	"prefetches", "dram_accesses", "row_hits", "row_empty",
	"row_conflicts", "bank_waits", "coherence_misses",
};

const char *sim_unusable(void)
{
	if (geteuid())
		return "needs root";
	if (!mcube_exists(SIM_PMU "type"))
		return "no modelled machine: needs QEMU with mcube's plugin, see measuring.rst";
	return NULL;
}

/* Read once: reading a file costs thousands of accesses, which would count. */
long sim_line(void)
{
	static long line;

	if (!line)
		line = mcube_read_num(SIM_MACHINE "line");
	return line;
}

long sim_llc_lines(void)
{
	return mcube_read_num(SIM_MACHINE "llc_sets") *
	       mcube_read_num(SIM_MACHINE "llc_ways");
}

struct perf_event_attr sim_attr(unsigned int event)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = mcube_read_num(SIM_PMU "type"),
		.config = event,
		.disabled = 1,
	};

	return attr;
}

int sim_open_attr(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, group,
			 PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sim_open(unsigned int event, pid_t pid, int cpu)
{
	struct perf_event_attr attr = sim_attr(event);

	return sim_open_attr(&attr, pid, cpu, -1);
}

int sim_on(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) ? -errno : 0;
}

int sim_off(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) ? -errno : 0;
}

long long sim_read(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return -errno;
	return count;
}

struct perf_event_attr sim_sample_attr(unsigned int event, uint64_t period)
{
	struct perf_event_attr attr = sim_attr(event);

	attr.sample_period = period;
	attr.sample_type = SIM_SAMPLE_TYPE;
	return attr;
}

int sim_sample(struct sim_sampler *p, struct perf_event_attr *attr, pid_t pid,
	       int cpu, int group)
{
	p->fd = sim_open_attr(attr, pid, cpu, group);
	if (p->fd < 0)
		return p->fd;
	p->map = mmap(NULL, (RING_PAGES + 1) * PAGE_SIZE_,
		      PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->map == MAP_FAILED) {
		close(p->fd);
		return -errno;
	}
	return 0;
}

/* Copy out of the ring, which may wrap. */
static void ring_copy(const char *ring, uint64_t at, void *to, size_t len)
{
	uint64_t size = RING_PAGES * PAGE_SIZE_, off = at % size;
	size_t first = size - off < len ? size - off : len;

	memcpy(to, ring + off, first);
	memcpy((char *)to + first, ring, len - first);
}

void sim_collect(struct sim_sampler *p, struct sim_samples *out)
{
	struct perf_event_mmap_page *page = p->map;
	const char *ring = (char *)p->map + PAGE_SIZE_;
	struct {
		struct perf_event_header h;
		uint64_t word[2];
	} r;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail;

	memset(out, 0, sizeof(*out));
	out->s = calloc(RING_PAGES * PAGE_SIZE_ / sizeof(*out->s) + 1,
			sizeof(*out->s));
	for (tail = page->data_tail; tail < head; tail += r.h.size) {
		ring_copy(ring, tail, &r, sizeof(r));
		switch (r.h.type) {
		case PERF_RECORD_SAMPLE:
			ring_copy(ring, tail + sizeof(r.h), &out->s[out->n],
				  sizeof(*out->s));
			out->sum += out->s[out->n++].period;
			break;
		case PERF_RECORD_LOST:
			out->lost += r.word[1];
			break;
		case PERF_RECORD_LOST_SAMPLES:
			out->lost += r.word[0];
			break;
		case PERF_RECORD_THROTTLE:
			out->throttled++;
			break;
		}
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void sim_samples_free(struct sim_samples *out)
{
	free(out->s);
	out->s = NULL;
}

void sim_close(struct sim_sampler *p)
{
	munmap(p->map, (RING_PAGES + 1) * PAGE_SIZE_);
	close(p->fd);
}

/* @lines, a power of two, in small pages that are all in memory. */
char *sim_memory(size_t lines)
{
	size_t len = lines * sim_line();
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_NOHUGEPAGE);
	memset(p, 1, len);
	return p;
}

/*
 * A bijection of 0 ... mask that no prefetcher follows, and that needs no
 * memory of its own, which would be counted too.
 */
static inline size_t scatter(size_t i, size_t mask, unsigned int half)
{
	i ^= i >> half;
	i = (i * 0x9e3779b97f4a7c15UL) & mask;
	i ^= i >> half;
	return (i * 0xd1b54a32d192ed03UL) & mask;
}

/* Sections of their own, so that an address shows which code touched. */
#define IN(name)	__attribute__((noinline, noclone, section(name)))

IN("simload") static unsigned long load_lines(const char *p, size_t lines,
					      size_t line)
{
	unsigned int half = __builtin_ctzl(lines) / 2;
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < lines; i++)
		sum += *(const volatile unsigned long *)
			(p + scatter(i, lines - 1, half) * line);
	return sum;
}

IN("simstore") static void store_lines(char *p, size_t lines, size_t line)
{
	unsigned int half = __builtin_ctzl(lines) / 2;
	size_t i;

	for (i = 0; i < lines; i++)
		*(volatile unsigned long *)
			(p + scatter(i, lines - 1, half) * line) = i;
}

void sim_load(const char *p, size_t lines)
{
	load_lines(p, lines, sim_line());
}

void sim_store(char *p, size_t lines)
{
	store_lines(p, lines, sim_line());
}

bool sim_is_load(uint64_t ip)
{
	return ip >= (uintptr_t)__start_simload && ip < (uintptr_t)__stop_simload;
}

bool sim_is_store(uint64_t ip)
{
	return ip >= (uintptr_t)__start_simstore &&
	       ip < (uintptr_t)__stop_simstore;
}

/* A @polite task gives the CPU to others all the time. */
static void task_work(char *p, size_t lines, unsigned int rounds, bool polite)
{
	size_t line = sim_line(), part = polite ? 512 : lines, i;
	unsigned int round;

	if (part > lines)
		part = lines;
	for (round = 0; round < rounds; round++)
		for (i = 0; i < lines; i += part) {
			load_lines(p + i * line, part, line);
			if (polite)
				sched_yield();
		}
}

int sim_task_start(struct sim_task *t, int cpu, char *p, size_t lines,
		   unsigned int rounds, bool polite)
{
	int go[2];
	char c;

	if (pipe(go))
		return -errno;
	t->pid = fork();
	if (t->pid < 0)
		return -errno;
	if (!t->pid) {
		close(go[1]);
		if (mcube_pin(cpu) || read(go[0], &c, 1) != 1)
			_exit(1);
		task_work(p, lines, rounds, polite);
		_exit(0);
	}
	close(go[0]);
	t->go = go[1];
	return 0;
}

void sim_task_go(struct sim_task *t)
{
	if (write(t->go, "", 1) != 1)
		perror("sim_task_go");
}

/* 0 if the task did its work and has ended. */
int sim_task_wait(struct sim_task *t)
{
	int status = 0;

	waitpid(t->pid, &status, 0);
	close(t->go);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}
