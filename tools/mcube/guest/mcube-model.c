// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-model: control the modelled machine from inside the guest
 *
 * Maps the memory that is shared with the model (drivers/mcube/sim/shm.h) through
 * sysfs, so that no kernel driver is needed; switches the model on and off; runs access
 * patterns on chosen CPUs; prints the counters.
 *
 *	mcube-model info
 *	mcube-model check [-c CPUS]
 *	mcube-model work [-p PATTERN] [-k KIB] [-n ACCESSES]
 *	mcube-model run [-m] [-c CPUS] [-p PATTERN] [-k KIB] [-n ACCESSES] [-r ROUNDS]
 *			[-s EVENT:PERIOD]
 *
 * check compares sampled physical addresses with /proc/self/pagemap, on each CPU.
 * work makes ACCESSES of the PATTERN to a buffer, without the model. run forks a
 * process for each of the first CPUS CPUs; each makes these accesses to a buffer of its
 * own. With -m the model is on meanwhile. -s samples an EVENT on all CPUs.
 *
 * Patterns: seq (loads of 8 bytes in sequence), line (a load from each line in
 * sequence), random (loads from random places), chase (loads from lines that name the
 * next line, in random order), mixed (loads from random places, stores in sequence), halt
 * (mixed, with a sleep of 1 ms each 50000 accesses), share (a load and a store of a word
 * in the same line as the words of the other CPUs; the buffer is shared), apart (the same
 * in lines of their own).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../probe/model_clock.h"

#define PAGE		4096UL
#define CHECK_PAGES	512UL
#define CHECK_SAMPLES	500UL
#define POLL_US		5000
#define PFN_MASK	((1UL << 55) - 1)

static const char usage[] =
	"usage: mcube-model info | check [-c CPUS] |\n"
	"       work [-p PATTERN] [-k KIB] [-n ACCESSES] |\n"
	"       run [-m] [-c CPUS] [-p PATTERN] [-k KIB] [-n ACCESSES] [-r ROUNDS]\n"
	"           [-s EVENT:PERIOD]\n"
	"patterns: seq line random chase mixed halt share apart\n";

static const char * const events[SIM_NR_EVENTS] = {
	[SIM_CYCLES] = "cycles",
	[SIM_INSTRUCTIONS] = "instructions",
	[SIM_ACCESSES] = "accesses",
	[SIM_STORES] = "stores",
	[SIM_L1_MISSES] = "l1_misses",
	[SIM_L2_MISSES] = "l2_misses",
	[SIM_LLC_REFS] = "llc_refs",
	[SIM_LLC_MISSES] = "llc_misses",
	[SIM_LLC_WRITEBACKS] = "llc_writebacks",
	[SIM_LLC_STOLEN] = "llc_stolen",
	[SIM_PREFETCHES] = "prefetches",
	[SIM_DRAM_ACCESSES] = "dram_accesses",
	[SIM_ROW_HITS] = "row_hits",
	[SIM_ROW_EMPTY] = "row_empty",
	[SIM_ROW_CONFLICTS] = "row_conflicts",
	[SIM_BANK_WAITS] = "bank_waits",
	[SIM_COHERENCE_MISSES] = "coherence_misses",
};

static volatile struct sim_header *header;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "mcube-model: %s: %s\n", what, why);
	exit(1);
}

static volatile struct sim_cpu *cpu_page(unsigned int cpu)
{
	return (void *)((char *)header + SIM_CPU_OFFSET + cpu * SIM_CPU_STRIDE);
}

static volatile struct sim_sample *ring(unsigned int cpu)
{
	return (struct sim_sample *)((char *)header + SIM_RING_OFFSET) +
		(size_t)cpu * SIM_RING_SIZE;
}

static void map_shared(void)
{
	header = model_map();
	if (!header)
		die("no shared memory", "QEMU has no model, or a model of another version");
}

static void sync_model(void)
{
	asm volatile(SIM_SYNC ::: "memory");
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity", strerror(errno));
}

static void *buffer(size_t bytes, int sharing)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       sharing | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap", strerror(errno));
	return p;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end)
		die(text, "expected digits");
	return n;
}

static int info(void)
{
	printf("name %s\ncpus %u\nline %u\nllc_sets %u\nllc_ways %u\nllc_slices %u\n"
	       "colors %u\nbanks %u\nmhz %u\n", (const char *)header->name, header->ncpus,
	       header->line, header->llc_sets, header->llc_ways, header->llc_slices,
	       header->colors, header->banks, header->mhz);
	return 0;
}

static unsigned long frames[CHECK_PAGES];

static void read_frames(const char *buf)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	ssize_t want = sizeof(frames);

	if (fd < 0 || pread(fd, frames, want, (uintptr_t)buf / PAGE * 8) != want)
		die("/proc/self/pagemap", strerror(errno));
	close(fd);
	for (unsigned long i = 0; i < CHECK_PAGES; i++)
		frames[i] &= PFN_MASK;
}

/* Compare samples of the buffer with pagemap; returns the number of right samples. */
static unsigned long drain(unsigned int cpu, const char *buf, unsigned long *wrong)
{
	volatile struct sim_cpu *c = cpu_page(cpu);
	unsigned long right = 0;

	for (; c->tail != c->head; c->tail++) {
		volatile struct sim_sample *s = ring(cpu) + c->tail % SIM_RING_SIZE;
		unsigned long off = s->vaddr - (uintptr_t)buf;

		if (off >= CHECK_PAGES * PAGE)
			continue;
		if (s->paddr == (frames[off / PAGE] * PAGE | off % PAGE))
			right++;
		else if (!(*wrong)++)
			printf("# cpu %u: virtual %llx is frame %lx, the model says %llx\n", cpu,
			       s->vaddr, frames[off / PAGE], s->paddr);
	}
	return right;
}

static void start_sampler(unsigned int cpu, unsigned int i, unsigned int event,
			  unsigned long period)
{
	volatile struct sim_sampler *s = &cpu_page(cpu)->sampler[i];

	s->period = 0;
	s->event = event;
	s->left = period;
	s->period = period;
}

static int check_cpu(unsigned int cpu)
{
	volatile char *buf = buffer(CHECK_PAGES * PAGE, MAP_PRIVATE);
	volatile struct sim_cpu *c = cpu_page(cpu);
	unsigned long right = 0, wrong = 0, x = 1;

	pin(cpu);
	for (unsigned long i = 0; i < CHECK_PAGES; i++)
		buf[i * PAGE] = 1;
	read_frames((const char *)buf);
	model_control(SIM_CTL_ON | SIM_CTL_CLEAR);
	c->tail = c->head;
	start_sampler(cpu, 0, SIM_ACCESSES, 97);
	start_sampler(cpu, 1, SIM_LLC_MISSES, 7);
	start_sampler(cpu, 2, SIM_STORES, 53);
	sync_model();
	for (unsigned long round = 0; round < 64; round++) {
		for (unsigned long i = 0; i < CHECK_PAGES; i++) {
			unsigned long at;

			x = x * 6364136223846793005UL + 1442695040888963407UL;
			at = (x >> 33) % (CHECK_PAGES * PAGE - 8);
			if (i & 1)
				buf[at]++;
			else
				/* Any alignment: some accesses cross lines, some pages. */
				*(volatile unsigned long *)(buf + at) = x;
		}
		sync_model();
		right += drain(cpu, (const char *)buf, &wrong);
	}
	for (unsigned int i = 0; i < 3; i++)
		cpu_page(cpu)->sampler[i].period = 0;
	model_control(0);
	printf("check cpu %u right %lu wrong %lu lost %llu\n", cpu, right, wrong, c->lost);
	return wrong || right < CHECK_SAMPLES;
}

/* The options of work and run. */
struct job {
	const char *pattern;
	unsigned long bytes;
	unsigned long accesses;
	unsigned int cpus;
	unsigned int rounds;
	bool model;
};

static unsigned long step(unsigned long x)
{
	return x * 6364136223846793005UL + 1442695040888963407UL;
}

/* Make a cycle of all lines, in random order (Sattolo's algorithm). */
static void link_lines(unsigned long *buf, unsigned long bytes)
{
	unsigned long lines = bytes / 64, x = 1;

	for (unsigned long i = 0; i < lines; i++)
		buf[i * 8] = i * 8;
	for (unsigned long i = lines - 1; i > 0; i--) {
		unsigned long k, old = buf[i * 8];

		x = step(x);
		k = (x >> 33) % i;
		buf[i * 8] = buf[k * 8];
		buf[k * 8] = old;
	}
}

static void work(const struct job *j, unsigned int cpu, volatile unsigned long *buf)
{
	unsigned long words = j->bytes / 8, n = j->accesses, x = 1, at = 0;
	bool halts = !strcmp(j->pattern, "halt");

	if (!strcmp(j->pattern, "seq")) {
		for (unsigned long i = 0; i < n; i++) {
			(void)buf[at];
			at = at + 1 < words ? at + 1 : 0;
		}
	} else if (!strcmp(j->pattern, "line")) {
		for (unsigned long i = 0; i < n; i++) {
			(void)buf[at];
			at = at + 8 < words ? at + 8 : 0;
		}
	} else if (!strcmp(j->pattern, "random")) {
		for (unsigned long i = 0; i < n; i++) {
			x = step(x);
			(void)buf[(x >> 33) % words];
		}
	} else if (!strcmp(j->pattern, "chase")) {
		for (unsigned long i = 0; i < n; i++)
			at = buf[at];
	} else if (!strcmp(j->pattern, "share") || !strcmp(j->pattern, "apart")) {
		at = *j->pattern == 's' ? cpu % 8 : cpu * 8;
		for (unsigned long i = 0; i < n; i += 2)
			buf[at]++;
	} else {
		for (unsigned long i = 0; i < n; i += 2) {
			x = step(x);
			buf[at] = buf[(x >> 33) % words];
			at = at + 1 < words ? at + 1 : 0;
			if (halts && i % 50000 == 0)
				usleep(1000);
		}
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Shared with the workers: rounds that may start, and workers that have ended one. */
struct gate {
	unsigned int ready;
	unsigned int round;
	unsigned int done;
};

static void worker(const struct job *j, unsigned int cpu, void *shared,
		   volatile struct gate *g)
{
	void *buf = shared;

	pin(cpu);
	if (strcmp(j->pattern, "share") && strcmp(j->pattern, "apart")) {
		buf = buffer(j->bytes, MAP_PRIVATE);
		memset(buf, 1, j->bytes);
	}
	if (!strcmp(j->pattern, "chase"))
		link_lines(buf, j->bytes);
	__atomic_add_fetch(&g->ready, 1, __ATOMIC_SEQ_CST);
	for (unsigned int r = 1; r <= j->rounds; r++) {
		while (g->round < r)
			usleep(500);
		work(j, cpu, buf);
		__atomic_add_fetch(&g->done, 1, __ATOMIC_SEQ_CST);
	}
	exit(0);
}

static unsigned long long before[SIM_MAX_CPUS][SIM_NR_EVENTS];

/* Print the counts since the last call; round 0 prints nothing. */
static void print_counts(unsigned int round)
{
	for (unsigned int i = 0; i < header->ncpus; i++) {
		for (unsigned int e = 0; e < SIM_NR_EVENTS; e++) {
			unsigned long long n = cpu_page(i)->count[e];

			if (round)
				printf("count %u %u %s %llu\n", round, i, events[e],
				       n - before[i][e]);
			before[i][e] = n;
		}
		if (round)
			printf("samples %u %u %u lost %llu\n", round, i, cpu_page(i)->head,
			       cpu_page(i)->lost);
	}
}

static int run(const struct job *j)
{
	volatile struct gate *g = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *shared = buffer(PAGE, MAP_SHARED);

	for (unsigned int i = 0; i < j->cpus; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork", strerror(errno));
		if (!pid)
			worker(j, i, shared, g);
	}
	while (g->ready < j->cpus)
		usleep(1000);
	for (unsigned int r = 1; r <= j->rounds; r++) {
		double start;

		if (j->model) {
			print_counts(0);
			model_control(SIM_CTL_ON | SIM_CTL_CLEAR);
		}
		start = now();
		g->round = r;
		while (g->done < r * j->cpus)
			usleep(POLL_US);
		sync_model();
		printf("round %u seconds %.6f\n", r, now() - start);
		if (j->model) {
			model_control(0);
			print_counts(r);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static void sample_all(const char *text)
{
	const char *colon = strchr(text, ':');

	map_shared();
	for (unsigned int e = 0; colon && e < SIM_NR_EVENTS; e++) {
		if (strncmp(events[e], text, colon - text) || events[e][colon - text])
			continue;
		for (unsigned int i = 0; i < header->ncpus; i++)
			start_sampler(i, 0, e, number(colon + 1));
		return;
	}
	die(text, "not EVENT:PERIOD");
}

int main(int argc, char **argv)
{
	struct job j = { "mixed", 4096 * 1024, 1000000, 1, 1, false };
	unsigned int checked = 0;
	unsigned long *buf;
	int c, rc = 0;

	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	while ((c = getopt(argc - 1, argv + 1, "mc:p:k:n:r:s:")) != -1) {
		switch (c) {
		case 'm':
			j.model = true;
			break;
		case 'c':
			j.cpus = number(optarg);
			break;
		case 'p':
			j.pattern = optarg;
			break;
		case 'k':
			j.bytes = number(optarg) * 1024;
			break;
		case 'n':
			j.accesses = number(optarg);
			break;
		case 'r':
			j.rounds = number(optarg);
			break;
		case 's':
			sample_all(optarg);
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!strcmp(argv[1], "work")) {
		buf = buffer(j.bytes, MAP_PRIVATE);
		if (!strcmp(j.pattern, "chase"))
			link_lines(buf, j.bytes);
		work(&j, 0, buf);
		return 0;
	}
	if (!header && (j.model || strcmp(argv[1], "run")))
		map_shared();
	if (!strcmp(argv[1], "info"))
		return info();
	if (!strcmp(argv[1], "run"))
		return run(&j);
	if (strcmp(argv[1], "check")) {
		fputs(usage, stderr);
		return 2;
	}
	for (; checked < j.cpus; checked++)
		rc |= check_cpu(checked);
	return rc;
}
