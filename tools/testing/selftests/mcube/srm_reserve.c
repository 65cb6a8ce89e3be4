// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: colors that are reserved for files, and programs, whose files are
 * used like memory.
 *
 * One of the 16 colors is reserved: while it has free frames all files have that
 * color, and memory has the others.  The case that uses it up fills memory, and
 * expects a small machine that has just been booted.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		64UL
#define LONG		(16 * TL)
#define TIGHT		96UL	/* MiB left free: 6 of each color */
#define RESERVED	0U

FIXTURE(srm_reserve) {
	struct srm_setup setup;
	unsigned int color[SRM_PAGES_MAX];
};

static int switch_on(const char *share)
{
	return mcube_write(MCUBE_SRM "enabled", "0") ?:
	       mcube_write(MCUBE_SRM "reserve", share) ?:
	       mcube_write(MCUBE_SRM "enabled", "1");
}

FIXTURE_SETUP(srm_reserve)
{
	const char *why = srm_begin(&self->setup, "mcube-reserve");

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, srm_write_file(self->setup.file, LONG));
	srm_forget_files();
	ASSERT_EQ(0, srm_switch_on(&self->setup, TL, "1"));
}

FIXTURE_TEARDOWN_PARENT(srm_reserve)
{
	EXPECT_EQ(0, srm_end(&self->setup));
	srm_leave_node();
}

/* How many of the pages have the reserved color? */
static size_t reserved(FIXTURE_DATA(srm_reserve) *self, size_t first, size_t pages)
{
	size_t i, n = 0;

	for (i = first; i < first + pages; i++)
		n += self->color[i] == RESERVED;
	return n;
}

/* Pages of the rarest of the other colors. */
static size_t rarest(FIXTURE_DATA(srm_reserve) *self, size_t pages)
{
	size_t i, least = pages, n[SRM_COLORS] = { 0 };

	for (i = 0; i < pages; i++)
		n[self->color[i]]++;
	for (i = 0; i < SRM_COLORS; i++)
		if (i != RESERVED && n[i] < least)
			least = n[i];
	return least;
}

TEST_F_TIMEOUT(srm_reserve, files_have_the_reserved_color, 120)
{
	long missed = srm_stat("missed");

	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	EXPECT_EQ(missed, srm_stat("missed"));
	EXPECT_EQ(LONG, reserved(self, 0, LONG));
}

TEST_F_TIMEOUT(srm_reserve, short_files_have_it_too, 120)
{
	char path[192];
	int i;

	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/mcube-short", self->setup.dir);
		ASSERT_EQ(0, srm_write_file(path, 8));
		EXPECT_EQ(0, srm_file_colors(&self->setup.dim, path, 8, self->color));
		EXPECT_EQ(8, reserved(self, 0, 8));
		unlink(path);
	}
}

TEST_F_TIMEOUT(srm_reserve, memory_hops_over_the_others, 120)
{
	const size_t pages = 20 * (SRM_COLORS - 1);

	ASSERT_EQ(0, srm_memory_colors(&self->setup.dim, pages, self->color));
	/* Page tables are not movable, and a page or two may come another way. */
	EXPECT_GE(2, reserved(self, 0, pages));
	EXPECT_LE(18, rarest(self, pages));
}

/*
 * All memory of the node but @mib MiB, by single pages: the pages come from the
 * pieces, and whole blocks are left free.
 */
static char *fill_memory(unsigned long mib, size_t *pages)
{
	char *p;
	size_t i;

	*pages = srm_free_pages() - mib * (MIB / PAGE_SIZE_);
	p = mcube_map_anon(*pages);
	for (i = 0; p && i < *pages; i++)
		p[i * PAGE_SIZE_] = 1;
	return p;
}

/*
 * Files get the reserved color of three quarters of free memory, then other
 * colors.
 */
TEST_F_TIMEOUT(srm_reserve, others_when_it_is_exhausted, 300)
{
	const char *why = srm_stay_on_node();
	size_t i, n, head = 0, filled, free;
	char *p;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, srm_write_file(self->setup.file, SRM_PAGES_MAX));
	srm_forget_files();
	p = fill_memory(TIGHT, &filled);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, switch_on("1"));
	ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
	/* This includes pages that other tasks have freed meanwhile. */
	free = srm_free_pages() + SRM_PAGES_MAX;
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, SRM_PAGES_MAX,
				     self->color));
	while (head < SRM_PAGES_MAX && self->color[head] == RESERVED)
		head++;
	n = reserved(self, head, SRM_PAGES_MAX - head);
	TH_LOG("%zu pages of the reserved color, then %zu more, of %zu", head, n, free);
	/* A 16th of three quarters of free memory, and a segment that was begun. */
	EXPECT_LE(TL, head);
	EXPECT_LT(free / SRM_COLORS / 2, head + n);
	EXPECT_GE(free / SRM_COLORS, head + n);
	/*
	 * The rest comes in segments: most pages have the color of the page
	 * before.
	 */
	for (n = 0, i = head + 1; i < SRM_PAGES_MAX; i++)
		n += self->color[i] != self->color[i - 1];
	EXPECT_GE((SRM_PAGES_MAX - head) / TL * 2, n);
	EXPECT_LT(0, rarest(self, SRM_PAGES_MAX));
	munmap(p, filled * PAGE_SIZE_);
}

/* Map the file to be executed, and execute each page, or only read it. */
static void map_program(struct __test_metadata *_metadata,
			FIXTURE_DATA(srm_reserve) *self, int fd, bool execute)
{
	volatile char sum = 0;
	size_t i;
	char *p;

	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
	p = mmap(NULL, LONG * PAGE_SIZE_, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < LONG; i++) {
		if (execute)
			((void (*)(void))(p + i * PAGE_SIZE_))();
		else
			sum += p[i * PAGE_SIZE_];
	}
	munmap(p, LONG * PAGE_SIZE_);
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
}

/* Every process that runs the program uses its text again. */
TEST_F_TIMEOUT(srm_reserve, programs_are_like_memory, 120)
{
	int fd;

	if (srm_write_code(self->setup.file, LONG) == -EOPNOTSUPP)
		SKIP(return, "no code for this architecture");
	fd = open(self->setup.file, O_RDONLY);
	ASSERT_LE(0, fd);
	map_program(_metadata, self, fd, true);
	EXPECT_EQ(0, reserved(self, 0, LONG));
	EXPECT_LE(LONG / SRM_COLORS / 2, rarest(self, LONG));
	/* The same pages, if read() needs them and nobody executes them. */
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	EXPECT_EQ(LONG, reserved(self, 0, LONG));
	/* After POSIX_FADV_NOREUSE text keeps to its segments. */
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_NOREUSE));
	map_program(_metadata, self, fd, true);
	EXPECT_EQ(LONG, reserved(self, 0, LONG));
	close(fd);
}

/* A mapping that may be executed does not make a stream a program. */
TEST_F_TIMEOUT(srm_reserve, streams_are_no_programs, 120)
{
	int fd = open(self->setup.file, O_RDONLY);

	ASSERT_LE(0, fd);
	map_program(_metadata, self, fd, false);
	close(fd);
	EXPECT_EQ(LONG, reserved(self, 0, LONG));
}

TEST_F_TIMEOUT(srm_reserve, not_while_it_is_on, 60)
{
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_SRM "reserve", "2"));
	EXPECT_EQ(1, mcube_read_num(MCUBE_SRM "reserve"));
	ASSERT_EQ(0, switch_on("8"));
	ASSERT_EQ(0, srm_memory_colors(&self->setup.dim, 20 * SRM_COLORS,
				       self->color));
	EXPECT_EQ(0, rarest(self, 20 * SRM_COLORS));
	ASSERT_EQ(0, switch_on("0"));
	ASSERT_EQ(0, srm_memory_colors(&self->setup.dim, 20 * SRM_COLORS,
				       self->color));
	EXPECT_LE(18, reserved(self, 0, 20 * SRM_COLORS));
}

TEST_HARNESS_MAIN
