// SPDX-License-Identifier: GPL-2.0
/*
 * setcacherefs: read pages of a file in a given order
 *
 *	setcacherefs FILE < NUMBERS
 *
 * NUMBERS are 32-bit words of the machine.  The file is read with POSIX_FADV_RANDOM, so
 * that it takes part in page sets; a file that is missing is made as one hole.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "hole.h"

#define MOST_PAGES	(1UL << 20)

int main(int argc, char **argv)
{
	static unsigned int number[4096];
	static char buf[PAGE];
	ssize_t got, i;
	int fd;

	if (argc != 2) {
		fputs("usage: setcacherefs FILE < NUMBERS\n", stderr);
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		fd = make_hole(AT_FDCWD, argv[1], MOST_PAGES * PAGE);
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		die("posix_fadvise");
	while ((got = read(0, number, sizeof(number))) > 0) {
		for (i = 0; i < got / (ssize_t)sizeof(*number); i++)
			if (pread(fd, buf, PAGE, number[i] * PAGE) != (ssize_t)PAGE)
				die("pread");
	}
	if (got < 0)
		die("numbers");
	return 0;
}
