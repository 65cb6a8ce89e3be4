// SPDX-License-Identifier: GPL-2.0
/*
 * lockload: how often CPUs take locks from each other while they use memory
 *
 * A process on each CPU allocates and frees pages.  The kernel counts for each
 * class of locks how often a lock was acquired by another CPU than the last
 * (acq-bounces in /proc/lock_stat):
 *
 *	lockload [-n PAGES] [-r ROUNDS] [-s STEP] local|remote|stream|files [FOLDER]
 *
 *	local	Each process maps PAGES, touches each page ("fault") and unmaps
 *		the pages ("free").
 *	remote	The same, but between the two each process moves to the next CPU:
 *		all pages are freed by another CPU than the CPU that allocated
 *		them.
 *	stream	Each process reads PAGES of a file of its own in FOLDER
 *		("stream"), from start to end.  The files are holes, so that no
 *		device has a part in the counts.  A round continues where the
 *		last round ended.
 *	files	Each process opens, reads and closes small files in FOLDER ("files"),
 *		with PAGES in all.  Each round reads the same files.
 *
 * The host may have fewer CPUs than the guest.  Then it runs some CPUs of the
 * guest for a while, and then others, and a lock that all CPUs share changes its
 * CPU more seldom than on hardware.  So the processes keep in step: each waits
 * for the others after STEP pages (frees and reads: after 32 pages, which are
 * freed or read at a time; small files: after each file).
 *
 * The program prints "part NAME ROUND PAGES" and the contents of /proc/lock_stat
 * after each part of a round; PAGES is the number of all processes together.
 * Round 0 warms up.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096UL
#define PIECE		32UL	/* pages of an munmap() or a read() */
#define SMALL		4UL	/* pages of a small file */
#define LOCK_STAT	"/proc/lock_stat"

struct shared {
	pthread_barrier_t step;	/* the processes */
	pthread_barrier_t part;	/* the processes and their parent */
};

static const char usage[] =
	"usage: lockload [-n PAGES] [-r ROUNDS] [-s STEP] local|remote|stream|files [FOLDER]\n";

static unsigned long pages = 16384, rounds = 3, step = 4;
static const char *folder = "/mnt";
static unsigned int cpus;
static struct shared *shared;

static void die(const char *what)
{
	fprintf(stderr, "lockload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void keep_step(void)
{
	pthread_barrier_wait(&shared->step);
}

/*
 * A part of a round begins or ends.  The processes stand still meanwhile, and the
 * parent does @work.
 */
static void stand_still(void (*work)(void))
{
	pthread_barrier_wait(&shared->part);
	if (work)
		work();
	pthread_barrier_wait(&shared->part);
}

static void move_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % cpus, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void anonymous(unsigned int cpu, unsigned int shift)
{
	unsigned long i;
	char *p;

	p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	move_to(cpu);
	stand_still(NULL);
	for (i = 0; i < pages; i++) {
		if (i % step == 0)
			keep_step();
		p[i * PAGE] = 1;
	}
	stand_still(NULL);
	move_to(cpu + shift);
	stand_still(NULL);
	for (i = 0; i < pages; i += PIECE) {
		keep_step();
		if (munmap(p + i * PAGE, PIECE * PAGE))
			die("munmap");
	}
	stand_still(NULL);
}

static void stream(int fd)
{
	static char buf[PIECE * PAGE];
	unsigned long i;

	stand_still(NULL);
	for (i = 0; i < pages; i += PIECE) {
		keep_step();
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			die("read");
	}
	stand_still(NULL);
}

static int open_hole(unsigned int cpu, unsigned long nr, unsigned long size, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/hole%u-%lu", folder, cpu, nr);
	fd = open(path, O_RDWR | flags, 0600);
	if (fd < 0 || ((flags & O_CREAT) && ftruncate(fd, size * PAGE)))
		die(path);
	return fd;
}

static void small_files(unsigned int cpu)
{
	static char buf[SMALL * PAGE];
	unsigned long i;
	int fd;

	stand_still(NULL);
	for (i = 0; i < pages / SMALL; i++) {
		keep_step();
		fd = open_hole(cpu, i, SMALL, 0);
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			die("read");
		close(fd);
	}
	stand_still(NULL);
}

static void process(unsigned int cpu, char kind)
{
	unsigned long i;
	int fd = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	move_to(cpu);
	if (kind == 's')
		fd = open_hole(cpu, 0, (rounds + 1) * pages, O_CREAT | O_TRUNC);
	for (i = 0; kind == 'f' && i < pages / SMALL; i++)
		close(open_hole(cpu, i, SMALL, O_CREAT | O_TRUNC));
	for (i = 0; i <= rounds; i++) {
		if (kind == 's')
			stream(fd);
		else if (kind == 'f')
			small_files(cpu);
		else
			anonymous(cpu, kind == 'r');
	}
}

static void clear_counters(void)
{
	int fd = open(LOCK_STAT, O_WRONLY);

	if (fd < 0 || write(fd, "0", 1) != 1)
		die(LOCK_STAT);
	close(fd);
}

static void print_counters(void)
{
	FILE *f = fopen(LOCK_STAT, "r");
	char line[512];

	if (!f)
		die(LOCK_STAT);
	/* Lines without a colon name the callers that met contention. */
	while (fgets(line, sizeof(line), f))
		if (strchr(line, ':'))
			fputs(line, stdout);
	fclose(f);
}

static void watch(const char *part, unsigned long round)
{
	stand_still(clear_counters);
	printf("part %s %lu %lu\n", part, round, pages * cpus);
	stand_still(print_counters);
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t attr;
	unsigned long i;
	int opt, status;
	char kind;

	while ((opt = getopt(argc, argv, "n:r:s:")) != -1) {
		if (opt == 'n')
			pages = strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			rounds = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			step = strtoul(optarg, NULL, 0);
		else
			goto usage;
	}
	if (optind >= argc || argc - optind > 2 || !step || !pages || pages % PIECE)
		goto usage;
	kind = argv[optind][0];
	if (!strchr("lrsf", kind))
		goto usage;
	if (argc - optind == 2)
		folder = argv[optind + 1];

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->step, &attr, cpus);
	pthread_barrier_init(&shared->part, &attr, cpus + 1);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (i = 0; i < cpus; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			process(i, kind);
			_exit(0);
		}
	}
	for (i = 0; i <= rounds; i++) {
		if (kind == 's') {
			watch("stream", i);
		} else if (kind == 'f') {
			watch("files", i);
		} else {
			watch("fault", i);
			watch("free", i);
		}
	}
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;

usage:
	fputs(usage, stderr);
	return 2;
}
