// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer and files that are read again and again: a file that fits in the
 * cache is recolored to all colors, a larger file keeps its segments; and advice
 * by posix_fadvise().  Needs the disk that srm_segments.c needs.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		64UL
#define REUSE		16UL
#define SMALL		128UL	/* SRM_COLORS * REUSE = 256 pages fit */
#define LARGE		512UL
#define FILES		12
#define SHORT		32UL	/* FILES * SHORT do not fit */

FIXTURE(srm_reuse) {
	struct srm_setup setup;
	unsigned int color[LARGE];
};

FIXTURE_SETUP(srm_reuse)
{
	const char *why = srm_begin(&self->setup, "mcube-reuse");

	if (why)
		SKIP(return, "%s", why);
	/* Pages in the LRU batch of another CPU than the reader's would not move. */
	ASSERT_EQ(0, mcube_pin(0));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM SRM_REUSE, REUSE));
	ASSERT_EQ(0, srm_switch_on(&self->setup, TL, "0"));
}

FIXTURE_TEARDOWN_PARENT(srm_reuse)
{
	EXPECT_EQ(0, srm_end(&self->setup));
}

static void make(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
		 size_t pages)
{
	ASSERT_EQ(0, srm_write_file(self->setup.file, pages));
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
}

/* Pages of the rarest and of the most frequent color. */
static void count_colors(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			 const char *path, size_t pages, unsigned int *least,
			 unsigned int *most)
{
	unsigned int n[SRM_COLORS] = { 0 };
	size_t i;

	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, path, pages, self->color));
	for (i = 0; i < pages; i++)
		n[self->color[i]]++;
	for (*least = *most = n[0], i = 1; i < SRM_COLORS; i++) {
		*least = n[i] < *least ? n[i] : *least;
		*most = n[i] > *most ? n[i] : *most;
	}
}

static void expect_all_colors(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			      size_t pages)
{
	unsigned int least, most;

	count_colors(_metadata, self, self->setup.file, pages, &least, &most);
	TH_LOG("%zu pages, %u to %u of each color", pages, least, most);
	EXPECT_LE(pages / SRM_COLORS / 2, least);
	EXPECT_GE(pages / SRM_COLORS * 2, most);
}

static void expect_segments(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			    size_t pages)
{
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, pages, self->color));
	EXPECT_EQ(0, srm_strays(self->color, pages, TL));
}

TEST_F_TIMEOUT(srm_reuse, small_file_gets_all_colors, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	recolored = srm_await(STAT_RECOLORED, recolored + SMALL * 9 / 10) - recolored;
	EXPECT_LE((long)SMALL * 9 / 10, recolored);
	EXPECT_GE((long)SMALL, recolored);
	expect_all_colors(_metadata, self, SMALL);
	/*
	 * The pages also hop when they are read in again, as the inode has
	 * stayed.
	 */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	expect_all_colors(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(srm_reuse, large_file_stays_a_stream, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, LARGE);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, LARGE));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, LARGE);
}

TEST_F_TIMEOUT(srm_reuse, many_files_stay_a_stream, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	char path[192];
	int i, round;

	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->setup.dir, i);
		ASSERT_EQ(0, srm_write_file(path, SHORT));
	}
	srm_forget_files();
	for (round = 0; round < 5; round++)
		for (i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->setup.dir, i);
			ASSERT_EQ(0, srm_read_file(path, SHORT));
		}
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->setup.dir, i);
		unlink(path);
	}
}

/* One task after the other reads the file once: what counts is that it is read again. */
TEST_F_TIMEOUT(srm_reuse, tasks_that_read_once_count_together, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i, status;

	make(_metadata, self, SMALL);
	for (i = 0; i < 6; i++) {
		if (!fork())
			_exit(srm_read_file(self->setup.file, SMALL) ? 1 : 0);
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	EXPECT_LE((long)SMALL * 9 / 10,
		  srm_await(STAT_RECOLORED, recolored + SMALL * 9 / 10) - recolored);
	expect_all_colors(_metadata, self, SMALL);
}

#define HEADERS		8
#define HEADER		16UL	/* HEADERS * HEADER pages fit, and sources beside them */
#define JOBS		4
#define COMPILERS	60
#define COMPILER	200UL	/* fits, but not beside the headers */

static const char *part(FIXTURE_DATA(srm_reuse) *self, const char *kind, int i)
{
	static char path[192];

	snprintf(path, sizeof(path), "%s/mcube-%s%d", self->setup.dir, kind, i);
	return path;
}

/* What a compiler does: exec() has looked at its head, then it reads headers and a source. */
static int compile(FIXTURE_DATA(srm_reuse) *self, int source)
{
	char head[256];
	int fd = open(self->setup.file, O_RDONLY), i, ret = 0;

	if (fd < 0 || pread(fd, head, sizeof(head), 0) != sizeof(head))
		return -EIO;
	close(fd);
	for (i = 0; i < HEADERS && !ret; i++)
		ret = srm_read_file(part(self, "header", i), HEADER);
	return ret ?: srm_read_file(part(self, "source", source), HEADER);
}

/* Headers of a make -j get all colors, the sources are a stream. */
TEST_F_TIMEOUT(srm_reuse, headers_of_many_compilers, 120)
{
	unsigned int n[SRM_COLORS] = { 0 }, color[HEADER], strays = 0;
	long recolored;
	int i, k, status;
	size_t page;

	for (i = 0; i < HEADERS; i++)
		ASSERT_EQ(0, srm_write_file(part(self, "header", i), HEADER));
	for (i = 0; i < COMPILERS; i++)
		ASSERT_EQ(0, srm_write_file(part(self, "source", i), HEADER));
	make(_metadata, self, COMPILER);
	recolored = srm_stat(STAT_RECOLORED);
	for (i = 0; i < COMPILERS; i += JOBS) {
		for (k = 0; k < JOBS; k++)
			if (!fork())
				_exit(compile(self, i + k) ? 1 : 0);
		for (k = 0; k < JOBS; k++) {
			ASSERT_LT(0, wait(&status));
			EXPECT_EQ(0, status);
		}
		/* A user has one request at a time: others of his files count anew. */
		usleep(20000);
	}
	recolored = srm_await(STAT_RECOLORED, recolored + HEADERS * HEADER / 2) - recolored;
	TH_LOG("%ld pages moved", recolored);
	EXPECT_LE(HEADERS * HEADER / 2, (size_t)recolored);
	for (i = 0; i < HEADERS; i++) {
		ASSERT_EQ(0, srm_file_colors(&self->setup.dim, part(self, "header", i), HEADER,
					     color));
		for (page = 0; page < HEADER; page++)
			n[color[page]]++;
	}
	for (i = 0; i < SRM_COLORS; i++) {
		TH_LOG("color %d: %u pages of headers", i, n[i]);
		EXPECT_LE(HEADERS * HEADER / SRM_COLORS / 4, n[i]);
		EXPECT_GE(HEADERS * HEADER / SRM_COLORS * 4, n[i]);
	}
	for (i = 0; i < COMPILERS; i++) {
		ASSERT_EQ(0, srm_file_colors(&self->setup.dim, part(self, "source", i), HEADER,
					     color));
		strays += srm_strays(color, HEADER, TL) > 0;
	}
	/* A segment may end within a file. */
	EXPECT_GE(COMPILERS / 2, strays);
	for (i = 0; i < HEADERS; i++)
		unlink(part(self, "header", i));
	for (i = 0; i < COMPILERS; i++)
		unlink(part(self, "source", i));
}

/* Who starts a program or a library looks at its head, however often. */
TEST_F_TIMEOUT(srm_reuse, a_look_at_the_head_does_not_count, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	char head[256];
	int fd, i;

	make(_metadata, self, SMALL);
	fd = open(self->setup.file, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, srm_read_fd(fd, SMALL));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(sizeof(head), pread(fd, head, sizeof(head), 0));
	ASSERT_EQ(0, srm_read_fd(fd, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
	close(fd);
}

TEST_F_TIMEOUT(srm_reuse, recolored_pages_are_not_moved_again, 120)
{
	long recolored;
	int i, status;

	make(_metadata, self, SMALL);
	recolored = srm_stat(STAT_RECOLORED);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	recolored = srm_await(STAT_RECOLORED, recolored + SMALL * 9 / 10);
	if (!fork()) {
		for (i = 0; i < 5; i++)
			if (srm_read_file(self->setup.file, SMALL))
				_exit(1);
		_exit(0);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
	/* By chance two neighbours have the same color here and there. */
	EXPECT_GE(recolored + (long)SMALL / 10, srm_stat(STAT_RECOLORED));
	expect_all_colors(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(srm_reuse, never_if_switched_off, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, SMALL);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_REUSE, "0"));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
}

static int advise(const char *path, int advice)
{
	int fd = open(path, O_RDONLY), ret;

	if (fd < 0)
		return -errno;
	ret = posix_fadvise(fd, 0, 0, advice);
	close(fd);
	return ret;
}

TEST_F_TIMEOUT(srm_reuse, advice_of_programs, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	/*
	 * The program says that the file is used once: no number of reads
	 * counts.
	 */
	make(_metadata, self, SMALL);
	ASSERT_EQ(0, advise(self->setup.file, POSIX_FADV_NOREUSE));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);

	/*
	 * The program says that it needs the whole file: the pages hop at the
	 * first read, of a large file too.
	 */
	make(_metadata, self, LARGE);
	ASSERT_EQ(0, advise(self->setup.file, POSIX_FADV_WILLNEED));
	ASSERT_EQ(0, srm_read_file(self->setup.file, LARGE));
	expect_all_colors(_metadata, self, LARGE);

	/* POSIX_FADV_NORMAL takes the advice back. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, advise(self->setup.file, POSIX_FADV_NORMAL));
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_read_file(self->setup.file, LARGE));
	expect_segments(_metadata, self, LARGE);
}

/* What a reader says holds for the descriptor, and for nobody else. */
TEST_F_TIMEOUT(srm_reuse, a_reader_advises_for_his_descriptor, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i, fd;

	make(_metadata, self, SMALL);
	fd = open(self->setup.file, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, srm_as_nobody(fd, POSIX_FADV_NOREUSE));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_fd(fd, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
	/* For others the file is read again and again. */
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	recolored = srm_await(STAT_RECOLORED, recolored + SMALL * 9 / 10) - recolored;
	EXPECT_LE((long)SMALL * 9 / 10, recolored);
	expect_all_colors(_metadata, self, SMALL);
	/* Pages that the descriptor reads in keep to their segments. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_read_fd(fd, SMALL));
	expect_segments(_metadata, self, SMALL);
	/* And no longer, when it takes the advice back. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_as_nobody(fd, POSIX_FADV_NORMAL));
	ASSERT_EQ(0, srm_read_fd(fd, SMALL));
	expect_all_colors(_metadata, self, SMALL);
	close(fd);
}

/* A reader may ask for all colors for the pages that the call reads in. */
TEST_F_TIMEOUT(srm_reuse, a_reader_spreads_what_he_reads_ahead, 120)
{
	int fd;

	make(_metadata, self, SMALL);
	fd = open(self->setup.file, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, srm_as_nobody(fd, POSIX_FADV_WILLNEED));
	expect_all_colors(_metadata, self, SMALL);
	close(fd);
	/* The file is a stream for all who read it later. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	expect_segments(_metadata, self, SMALL);
}

static char *map_part(const char *path, size_t from, size_t pages)
{
	int fd = open(path, O_RDONLY);
	volatile char sum = 0;
	size_t i;
	char *p;

	if (fd < 0)
		return MAP_FAILED;
	p = mmap(NULL, pages * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd,
		 from * PAGE_SIZE_);
	close(fd);
	for (i = 0; p != MAP_FAILED && i < pages; i++)
		sum += p[i * PAGE_SIZE_];
	return p;
}

/* To move a page that is mapped costs the processes that have mapped it. */
TEST_F_TIMEOUT(srm_reuse, locked_and_mapped_pages_stay, 120)
{
	const size_t part = SMALL / 4;
	uint64_t was[SMALL], is[SMALL];
	char *locked, *mapped;
	size_t i, moved = 0;
	long recolored;

	make(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	locked = map_part(self->setup.file, 0, part);
	mapped = map_part(self->setup.file, 2 * part, part);
	ASSERT_NE(MAP_FAILED, locked);
	ASSERT_NE(MAP_FAILED, mapped);
	ASSERT_EQ(0, mlock(locked, part * PAGE_SIZE_));
	ASSERT_EQ(0, mcube_pfns(locked, part, was));
	ASSERT_EQ(0, mcube_pfns(mapped, part, was + part));
	recolored = srm_stat(STAT_RECOLORED);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
	/* The last of the pages that may move follow all that may not. */
	recolored = srm_await(STAT_RECOLORED, recolored + 2 * part * 9 / 10) - recolored;
	EXPECT_LE(2 * part * 9 / 10, (size_t)recolored);
	ASSERT_EQ(0, mcube_pfns(locked, part, is));
	ASSERT_EQ(0, mcube_pfns(mapped, part, is + part));
	for (i = 0; i < 2 * part; i++)
		moved += was[i] != is[i];
	EXPECT_EQ(0, moved);
	munmap(locked, part * PAGE_SIZE_);
	munmap(mapped, part * PAGE_SIZE_);
}

/* 256 colors, and 64 pages of each: the largest file that is recolored. */
#define MANY_COLORS	MCUBE_TEST_COLORS " 0x10000 0x20000 0x40000 0x80000"
#define HUGE		(256 * 64UL)
#define MOST		(HUGE * 3 / 4)
#define PER_SECOND	4096

/* A reader does not pay for the file, nor can he keep a CPU busy with it. */
TEST_F_TIMEOUT(srm_reuse, few_pages_move_in_a_second, 120)
{
	long recolored, moved;
	double start, took;
	char c[PAGE_SIZE_];
	int fd, i;

	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_on("shuffle", MANY_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_REUSE, "64"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	make(_metadata, self, HUGE);
	fd = open(self->setup.file, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, srm_read_fd(fd, HUGE));
	ASSERT_EQ(sizeof(c), pread(fd, c, sizeof(c), 0));
	recolored = srm_stat(STAT_RECOLORED);
	start = mcube_now();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(sizeof(c), pread(fd, c, sizeof(c), 0));
	moved = srm_stat(STAT_RECOLORED) - recolored;
	took = mcube_now() - start;
	TH_LOG("%ld of %lu pages moved in %.3f s", moved, HUGE, took);
	EXPECT_GE(PER_SECOND * (long)(took + 2), moved);
	/*
	 * In the end most pages have moved, in as many seconds as that takes.
	 * Pages stay that missed the color of their segment, and those for which a
	 * node has no free page.
	 */
	moved = srm_await(STAT_RECOLORED, recolored + MOST) - recolored;
	took = mcube_now() - start;
	TH_LOG("%ld of %lu pages moved in %.3f s", moved, HUGE, took);
	EXPECT_LE((long)MOST, moved);
	EXPECT_GE(PER_SECOND * (long)(took + 2), moved);
	close(fd);
}

#define TINY_FILES	48	/* three for each color, fewer than a segment has */

static unsigned int tiny_color(struct __test_metadata *_metadata,
			       FIXTURE_DATA(srm_reuse) *self, int i)
{
	unsigned int color = 0;

	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, part(self, "tiny", i), 1, &color));
	return color;
}

static void read_tiny(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self)
{
	int i;

	for (i = 0; i < TINY_FILES; i++)
		ASSERT_EQ(0, srm_read_file(part(self, "tiny", i), 1));
}

/* Files of a page come one after the other to the same color.  Each of them is moved. */
TEST_F_TIMEOUT(srm_reuse, files_of_a_page_get_all_colors, 120)
{
	unsigned int n[SRM_COLORS] = { 0 }, most = 0, least = TINY_FILES, same = 0;
	long recolored = srm_stat(STAT_RECOLORED);
	double end = mcube_deadline(30);
	int i, round;

	for (i = 0; i < TINY_FILES; i++)
		ASSERT_EQ(0, srm_write_file(part(self, "tiny", i), 1));
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
	read_tiny(_metadata, self);
	for (i = 1; i < TINY_FILES; i++)
		same += tiny_color(_metadata, self, i) == tiny_color(_metadata, self, 0);
	TH_LOG("%u of %d files have the color of the first file", same, TINY_FILES - 1);
	EXPECT_LE(TINY_FILES * 3 / 4, same);
	/*
	 * A user has one request at a time: not all files have room in each round.  Another
	 * case may have used up the pages of a second, and then nothing moves in that second.
	 */
	for (round = 0; mcube_now() < end; round++) {
		if (srm_stat(STAT_RECOLORED) >= recolored + TINY_FILES)
			break;
		read_tiny(_metadata, self);
		usleep(1000);
	}
	TH_LOG("%ld pages moved in %d rounds", srm_stat(STAT_RECOLORED) - recolored, round);
	for (i = 0; i < TINY_FILES; i++) {
		n[tiny_color(_metadata, self, i)]++;
		unlink(part(self, "tiny", i));
	}
	for (i = 0; i < SRM_COLORS; i++) {
		most = n[i] > most ? n[i] : most;
		least = n[i] < least ? n[i] : least;
	}
	TH_LOG("%u to %u files of each color", least, most);
	/* Some pages stay: they wait in another CPU's batch for the LRU lists. */
	EXPECT_LE(1, least);
	EXPECT_GE(3 + TINY_FILES / 8, most);
}

/* A new inode has no advice, even if the inode before it in its memory had. */
TEST_F_TIMEOUT(srm_reuse, advice_goes_with_the_file, 120)
{
	int i;

	for (i = 0; i < 20; i++) {
		make(_metadata, self, SMALL);
		ASSERT_EQ(0, advise(self->setup.file, POSIX_FADV_WILLNEED));
		ASSERT_EQ(0, unlink(self->setup.file));
	}
	for (i = 0; i < 20; i++) {
		make(_metadata, self, SMALL);
		ASSERT_EQ(0, srm_read_file(self->setup.file, SMALL));
		expect_segments(_metadata, self, SMALL);
		ASSERT_EQ(0, unlink(self->setup.file));
	}
}

TEST_HARNESS_MAIN
