// SPDX-License-Identifier: GPL-2.0
/*
 * pollute: a working set, and two ways to stream a file past it
 *
 *	pollute victim [-k KIB] [-r ROUNDS]	use KIB of memory again and again
 *	pollute read FILE			once through FILE by read()
 *	pollute mmap FILE			once through FILE by a mapping
 *
 * The victim touches every line of its memory in each round.  A line that misses
 * after the first round was evicted by another program.  A streamer touches every
 * line of the file's pages once: read() by the kernel's copy into a buffer of
 * 64 KiB, mmap by loads of the program.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE	64
#define CHUNK	65536

static void die(const char *what)
{
	fprintf(stderr, "pollute: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t touch(const char *p, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes; i += LINE)
		sum += *(const volatile uint64_t *)(p + i);
	return sum;
}

static long number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > 1 << 20) {
		fprintf(stderr, "pollute: '%s' is not within 1..%d\n", text, 1 << 20);
		exit(2);
	}
	return n;
}

static void victim(int argc, char **argv)
{
	size_t bytes = 768 << 10;
	long rounds = 40;
	char *p;
	int c;

	while ((c = getopt(argc, argv, "k:r:")) != -1) {
		if (c == 'k')
			bytes = number(optarg) << 10;
		else if (c == 'r')
			rounds = number(optarg);
		else
			exit(2);
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, bytes, MADV_NOHUGEPAGE);
	memset(p, 1, bytes);
	while (rounds--)
		touch(p, bytes);
}

static void stream(const char *path, int by_map)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char buffer[CHUNK];
	struct stat st;
	ssize_t n;
	char *p;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		die(path);
	if (by_map) {
		p = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			die("mmap");
		touch(p, st.st_size);
		return;
	}
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		;
	if (n < 0)
		die(path);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "victim")) {
		victim(argc - 1, argv + 1);
		return 0;
	}
	if (argc == 3 && (!strcmp(argv[1], "read") || !strcmp(argv[1], "mmap"))) {
		stream(argv[2], argv[1][0] == 'm');
		return 0;
	}
	fprintf(stderr, "usage: pollute victim [-k KIB] [-r ROUNDS] | read FILE | mmap FILE\n");
	return 2;
}
