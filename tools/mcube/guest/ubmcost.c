// SPDX-License-Identifier: GPL-2.0
/*
 * ubmcost: what the page cache costs a process in a memory cgroup
 *
 * Files are holes, so that no device has a part in the counts.
 *
 *	stream64k	read() of 16 pages at a time of a file that does not fit
 *	stream4k	the same, a page at a time
 *	cached64k	read() of 16 pages at a time of a file that is cached
 *	cached4k	the same, a page at a time
 *	random4k	read() of a page at a time in a random order that is always
 *			the same; all pages are cached
 *
 * The program counts instructions, see icount.h.  The line "copy" says by how much the
 * instruction that copies a page counts more than one.
 *
 *	ubmcost [-n PAGES] [-s STREAM] [-r ROUNDS] FOLDER
 *
 * A file of PAGES is cached, files of STREAM pages are read once each.  A round is a
 * pass; the drop of a stream's pages is part of its round.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "hole.h"

#define PIECE	(16 * PAGE)
#define WARM	16

static const char usage[] =
	"usage: ubmcost [-n PAGES] [-s STREAM] [-r ROUNDS] FOLDER\n";

static unsigned long pages = 2048, stream_pages = 32768;
static unsigned int *order;
static int folder, hot;
static char buf[PIECE], scratch[2 * PAGE];

static void pass(int fd, unsigned long nr, unsigned long piece)
{
	unsigned long at;

	if (lseek(fd, 0, SEEK_SET))
		die("lseek");
	for (at = 0; at < nr * PAGE; at += piece)
		if (read(fd, buf, piece) != (ssize_t)piece)
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

static unsigned long in_cached64k(void)
{
	pass(hot, pages, PIECE);
	return pages;
}

static unsigned long in_cached4k(void)
{
	pass(hot, pages, PAGE);
	return pages;
}

static unsigned long in_random4k(void)
{
	unsigned long i;

	for (i = 0; i < pages; i++)
		if (pread(hot, buf, PAGE, order[i] * PAGE) != PAGE)
			die("read");
	return pages;
}

/* Instructions per 1000 pages. */
static void rounds_of(const char *name, unsigned long (*run)(void),
		      unsigned int rounds)
{
	unsigned long start, nr;

	run();
	while (rounds--) {
		start = now();
		nr = run();
		printf("%s %lu\n", name, (now() - start) * 1000 / nr);
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = 6, i;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:r:")) != -1) {
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
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind + 1 != argc || !pages || pages % 16 || stream_pages % 16) {
		fputs(usage, stderr);
		return 2;
	}
	folder = open(argv[optind], O_DIRECTORY | O_RDONLY);
	if (folder < 0)
		die(argv[optind]);
	order = shuffled(pages);
	memset(buf, 1, sizeof(buf));
	memset(scratch, 1, sizeof(scratch));
	icount_begin();
	for (i = 0; i < 3; i++)
		printf("copy %lu\n", copy_count(buf, scratch));
	hot = make_hole(folder, "hot", pages * PAGE);
	/* The domain of the memory cgroup is made meanwhile. */
	for (i = 0; i < 2; i++) {
		in_stream64k();
		usleep(100000);
	}
	rounds_of("stream64k", in_stream64k, rounds);
	rounds_of("stream4k", in_stream4k, rounds);
	/* UBM notes references until it knows that there is room for all pages. */
	for (i = 0; i < WARM; i++)
		in_cached64k();
	rounds_of("cached64k", in_cached64k, rounds);
	rounds_of("cached4k", in_cached4k, rounds);
	rounds_of("random4k", in_random4k, rounds);
	expect_cached("reading", hot, pages, pages);
	return 0;
}
