// SPDX-License-Identifier: GPL-2.0
/*
 * ubmcost: what the page cache costs a process in a memory cgroup
 *
 * Files are holes, so that no device has a part in the counts.
 *
 *	stream64k	read() of 16 pages at a time of a file that does not fit
 *	stream4k	the same, a page at a time
 *	random4k	read() of a page at a time at random, of a file of half as many
 *			pages as a stream: pages leave, and come back
 *	reclaim		pages that leave as "memory.reclaim" asks for it
 *	cached64k	read() of 16 pages at a time of a file that is cached
 *	cached4k	read() of a page at a time of it, in a random order that is
 *			always the same
 *	fault		pages of it that are mapped, touched and unmapped
 *	fork		fork() and exec() of this program in the cgroup BESIDE
 *
 * The program counts instructions, see icount.h, and prints those of a thousand pages, or
 * of a thousand processes.  The line "copy" says by how much the instruction that copies a
 * page counts more than one.
 *
 *	ubmcost [-n PAGES] [-s STREAM] [-r ROUNDS] FOLDER CGROUP BESIDE
 *
 * The process is in CGROUP.  A file of PAGES is cached, files of STREAM pages are read once
 * each.  A round is a pass; the drop of a stream's pages is part of its round.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hole.h"

#define PIECE	(16 * PAGE)
#define WARM	4
#define PASSES	4
#define FORKS	64

static const char usage[] =
	"usage: ubmcost [-n PAGES] [-s STREAM] [-r ROUNDS] FOLDER CGROUP BESIDE\n";

static unsigned long pages = 1024, stream_pages = 16384, were_cached;
static unsigned int *order;
static int folder, hot, large, group, beside;
static char buf[PIECE], scratch[2 * PAGE];

/* Less than was asked for may be reclaimed: EAGAIN. */
static void tell(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY);

	if (fd < 0 || (write(fd, text, strlen(text)) < 0 && errno != EAGAIN) || close(fd))
		die(name);
}

static void pass(int fd, unsigned long nr, unsigned long piece)
{
	unsigned long at;

	if (lseek(fd, 0, SEEK_SET))
		die("lseek");
	for (at = 0; at < nr * PAGE; at += piece)
		if (read(fd, buf, piece) != (ssize_t)piece)
			die("read");
}

static void read_page(int fd, unsigned long index)
{
	if (pread(fd, buf, PAGE, index * PAGE) != PAGE)
		die("read");
}

/* Each stream is another file, or it would be a loop. */
static unsigned long through(unsigned long piece)
{
	int fd = make_hole(folder, "stream", stream_pages * PAGE);

	pass(fd, stream_pages, piece);
	if (close(fd) || unlinkat(folder, "stream", 0))
		die("stream");
	return stream_pages;
}

static unsigned long in_stream64k(void)
{
	return through(PIECE);
}

static unsigned long in_stream4k(void)
{
	return through(PAGE);
}

static unsigned long in_random4k(void)
{
	static unsigned long seed = 1;
	unsigned long i;

	for (i = 0; i < stream_pages / 2; i++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		read_page(large, (seed >> 33) % (stream_pages / 2));
	}
	return stream_pages / 2;
}

static unsigned long all_cached(void)
{
	return cached(large, stream_pages / 2) + cached(hot, pages);
}

static void fill(void)
{
	pass(large, stream_pages / 2, PIECE);
	were_cached = all_cached();
}

static unsigned long in_reclaim(void)
{
	char size[32];

	snprintf(size, sizeof(size), "%luK", pages * PAGE >> 10);
	tell(group, "memory.reclaim", size);
	return 0;
}

static unsigned long reclaimed(void)
{
	return were_cached - all_cached();
}

static unsigned long in_cached64k(void)
{
	pass(hot, pages, PIECE);
	return pages;
}

static unsigned long in_cached4k(void)
{
	unsigned long i;

	for (i = 0; i < pages; i++)
		read_page(hot, order[i]);
	return pages;
}

static unsigned long in_fault(void)
{
	unsigned long i, n;

	for (n = 0; n < PASSES; n++) {
		char *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, hot, 0);

		if (p == MAP_FAILED)
			die("mmap");
		for (i = 0; i < pages; i++)
			asm volatile("movb %0, %%al" : : "m"(p[i * PAGE]) : "al");
		munmap(p, pages * PAGE);
	}
	return PASSES * pages;
}

static void leave(void)
{
	tell(beside, "cgroup.procs", "0");
}

static unsigned long in_fork(void)
{
	unsigned long i;
	int status;
	pid_t pid;

	for (i = 0; i < FORKS; i++) {
		pid = fork();
		if (!pid) {
			execl("/proc/self/exe", "ubmcost", "-x", NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			die("fork");
	}
	return FORKS;
}

/*
 * struct kind - what is counted
 * @name: its name.
 * @before: is called before each round, and not counted; may be NULL.
 * @run: a round; returns its pages, or 0 if @pages does.
 * @pages: is called after each round, and not counted; may be NULL.
 */
struct kind {
	const char *name;
	void (*before)(void);
	unsigned long (*run)(void);
	unsigned long (*pages)(void);
};

static const struct kind first[] = {
	{ "stream64k", NULL, in_stream64k, NULL },
	{ "stream4k", NULL, in_stream4k, NULL },
	{ "random4k", NULL, in_random4k, NULL },
	{ "reclaim", fill, in_reclaim, reclaimed },
	{ }
}, then[] = {
	{ "cached64k", NULL, in_cached64k, NULL },
	{ "cached4k", NULL, in_cached4k, NULL },
	{ "fault", NULL, in_fault, NULL },
	{ }
}, last[] = {
	{ "fork", leave, in_fork, NULL },
	{ }
};

/* The first round is not printed. */
static void count(const struct kind *k, unsigned int rounds)
{
	unsigned long start, nr, took;
	unsigned int i;

	for (; k->name; k++) {
		for (i = 0; i <= rounds; i++) {
			if (k->before)
				k->before();
			start = now();
			nr = k->run();
			took = now() - start;
			if (k->pages)
				nr = k->pages();
			if (!nr) {
				fprintf(stderr, "ubmcost: %s: no page\n", k->name);
				exit(1);
			}
			if (i)
				printf("%s %lu\n", k->name, took * 1000 / nr);
		}
	}
}

static int open_folder(const char *name)
{
	int fd = open(name, O_DIRECTORY | O_RDONLY);

	if (fd < 0)
		die(name);
	return fd;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 6, i;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:r:x")) != -1) {
		switch (opt) {
		case 'n':
			pages = strtoul(optarg, NULL, 0);
			break;
		case 's':
			stream_pages = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 0);
			break;
		case 'x':
			/* in_fork() started this. */
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind + 3 != argc || !pages || pages % 16 || !stream_pages || stream_pages % 32) {
		fputs(usage, stderr);
		return 2;
	}
	folder = open_folder(argv[optind]);
	group = open_folder(argv[optind + 1]);
	beside = open_folder(argv[optind + 2]);
	order = shuffled(pages);
	memset(buf, 1, sizeof(buf));
	memset(scratch, 1, sizeof(scratch));
	icount_begin();
	for (i = 0; i < 3; i++)
		printf("copy %lu\n", copy_count(buf, scratch));
	hot = make_hole(folder, "hot", pages * PAGE);
	large = make_hole(folder, "large", stream_pages / 2 * PAGE);
	count(first, rounds);
	for (i = 0; i < WARM; i++)
		in_cached64k();
	expect_cached("reading", hot, pages, pages);
	count(then, rounds);
	expect_cached("all", hot, pages, pages);
	count(last, rounds);
	return 0;
}
