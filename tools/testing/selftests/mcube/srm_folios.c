// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer where colors are hard to find: free memory in small pieces, a page
 * cache that fills memory, folios of several pages, block devices.
 *
 * Needs the disk that srm_segments.c needs.  Large folios need a file system
 * that supports them: MCUBE_XFS_DIR, or xfs on /dev/vdb.  Each case that fills
 * memory expects a small machine that has just been booted.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		64UL
#define LONG		(16 * TL)
#define GROUP_ORDER	2
#define GROUP		(1U << GROUP_ORDER)
/* With a sixteenth of these 64 colors "auto" makes color groups of GROUP colors. */
#define COLORS_64	MCUBE_TEST_COLORS " 0x10000 0x20000"

#define KPF_COMPOUND_HEAD	15

FIXTURE(srm_folios) {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char lru_gen[32];
	char file[160];
	const char *dir;
	bool mounted;
	unsigned int color[LONG];
};

FIXTURE_SETUP(srm_folios)
{
	const char *why = srm_unusable();

	mcube_save(&self->saved);
	mcube_read(MCUBE_LRU_GEN, self->lru_gen, sizeof(self->lru_gen));
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "tl", TL));
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "color_map", MCUBE_TEST_COLORS));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
}

FIXTURE_TEARDOWN_PARENT(srm_folios)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	if (self->file[0])
		unlink(self->file);
	if (self->mounted)
		EXPECT_EQ(0, umount(SRM_MOUNT));
	EXPECT_EQ(0, mcube_off());
	if (self->lru_gen[0])
		mcube_write(MCUBE_LRU_GEN, self->lru_gen);
	mcube_restore(&self->saved);
}

static int switch_on_with(const char *colors, const char *group_order,
			  const char *reserve)
{
	return mcube_write(MCUBE_SRM "enabled", "0") ?:
	       mcube_write(MCUBE_SRM SRM_GROUP_ORDER, group_order) ?:
	       mcube_write(MCUBE_SRM "reserve", reserve) ?:
	       mcube_on("shuffle", colors, MCUBE_TEST_BANKS) ?:
	       mcube_write(MCUBE_SRM "enabled", "1");
}

static int switch_on(unsigned int group_order)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", group_order);
	return switch_on_with(MCUBE_TEST_COLORS, text, "0");
}

/* Make a long file whose pages are not cached. */
static void make_file(struct __test_metadata *_metadata,
		      FIXTURE_DATA(srm_folios) *self)
{
	snprintf(self->file, sizeof(self->file), "%s/mcube-folios", self->dir);
	ASSERT_EQ(0, srm_write_file(self->file, LONG));
	srm_forget_files();
}

/* Pages whose color is not of the color group that their segment began in. */
static size_t outside(const unsigned int *color, size_t pages)
{
	size_t i, n = 0;

	for (i = 0; i < pages; i++)
		n += color[i] / GROUP != color[i / TL * TL] / GROUP;
	return n;
}

/* Segments that lack a color of their color group. */
static size_t uneven(const unsigned int *color, size_t pages)
{
	size_t i, k, n = 0;

	for (i = 0; i < pages; i += TL) {
		unsigned int seen = 0;

		for (k = i; k < i + TL; k++)
			seen |= 1U << color[k] % GROUP;
		n += seen != (1U << GROUP) - 1;
	}
	return n;
}

/*
 * Break free memory into pieces of less than 256 pages, by a page in use in
 * each.
 */
static char *break_memory(struct __test_metadata *_metadata, size_t *pages)
{
	struct mcube_memory m;
	uint64_t *pfn;
	size_t i, n;
	char *p;

	/* Watermarks are a share of all memory, not of free memory. */
	mcube_memory(&m);
	n = m.free - m.managed / 20 - 4096;
	p = mcube_map_anon(n);
	pfn = malloc(n * sizeof(*pfn));
	ASSERT_NE(NULL, p) return NULL;
	ASSERT_NE(NULL, pfn) return NULL;
	for (i = 0; i < n; i++)
		p[i * PAGE_SIZE_] = 1;
	ASSERT_EQ(0, mcube_pfns(p, n, pfn));
	for (i = 0; i < n; i++)
		if (pfn[i] % 256 != 77)
			madvise(p + i * PAGE_SIZE_, PAGE_SIZE_, MADV_DONTNEED);
	EXPECT_LE((long)n / 2, mcube_field("/proc/vmstat", "nr_free_pages"));
	*pages = n;
	return p;
}

TEST_F_TIMEOUT(srm_folios, memory_in_pieces, 300)
{
	long missed, taken, most;
	struct mcube_memory m;
	size_t pages;
	char *p;

	self->dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	make_file(_metadata, self);
	p = break_memory(_metadata, &pages);
	ASSERT_TRUE(mcube_memory_settled(&m));
	ASSERT_EQ(0, switch_on(0));
	taken = mcube_stat("taken");
	missed = srm_stat("missed");
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	missed = srm_stat("missed") - missed;
	taken = (mcube_stat("taken") - taken) << mcube_read_num(MCUBE_ALLOC "container_order");
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	/*
	 * Pages that came from whole blocks prove nothing: there must be few.
	 */
	most = taken / SRM_COLORS;
	TH_LOG("%lu pages read, %ld missed their color; %ld came from whole blocks", LONG,
	       missed, most);
	EXPECT_LE(most, (long)LONG / 2);
	EXPECT_LE(missed, (long)LONG / 20);
	munmap(p, pages * PAGE_SIZE_);
}

/* Read through pages [@from, @to). */
static int read_through(const char *path, size_t from, size_t to)
{
	static char buffer[16 * PAGE_SIZE_];
	int fd = open(path, O_RDONLY), ret = 0;
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = from; i < to && !ret; i += 16)
		if (pread(fd, buffer, sizeof(buffer), i * PAGE_SIZE_) !=
		    (ssize_t)sizeof(buffer))
			ret = -EIO;
	close(fd);
	return ret;
}

/*
 * More page cache than memory: the next segments get the frames that reclaim
 * evicts.  The file has no blocks, so the disk has no part in it.  @aged: memory
 * was full before the policy was switched on, so no container has any of it.
 */
static void full_cache(struct __test_metadata *_metadata,
		       FIXTURE_DATA(srm_folios) *self, const char *lru_gen, bool aged)
{
	long pages, missed, reclaimed, segments;
	size_t half, full, end;
	int fd;

	if (mcube_write(MCUBE_LRU_GEN, lru_gen))
		SKIP(return, "no " MCUBE_LRU_GEN);
	self->dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	srm_forget_files();
	half = mcube_field("/proc/vmstat", "nr_free_pages") / 64 * 64;
	full = half / 4 * 5;
	end = full + (aged ? 4 : 1) * half;
	snprintf(self->file, sizeof(self->file), "%s/mcube-folios", self->dir);
	fd = open(self->file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, end * PAGE_SIZE_));
	close(fd);
	if (!aged)
		ASSERT_EQ(0, switch_on(0));
	ASSERT_EQ(0, read_through(self->file, 0, full));
	if (aged)
		ASSERT_EQ(0, switch_on(0));
	/* Read until no page is left of the pages that were there. */
	ASSERT_EQ(0, read_through(self->file, full, end - half));
	pages = srm_stat("file_pages");
	missed = srm_stat("missed");
	segments = srm_stat(STAT_SEGMENTS);
	reclaimed = mcube_field("/proc/vmstat", "pgsteal_file") + srm_stat(STAT_RECLAIMED);
	ASSERT_EQ(0, read_through(self->file, end - half, end));
	pages = srm_stat("file_pages") - pages;
	missed = srm_stat("missed") - missed;
	segments = srm_stat(STAT_SEGMENTS) - segments;
	reclaimed = mcube_field("/proc/vmstat", "pgsteal_file") + srm_stat(STAT_RECLAIMED) -
		    reclaimed;
	TH_LOG("%ld pages read, %ld reclaimed, %ld missed their color, %ld segments; %ld containers",
	       pages, reclaimed, missed, segments, mcube_stat("containers"));
	/* Some pages were read ahead earlier. */
	EXPECT_LE((long)(half - half / 16), pages);
	EXPECT_LE((long)half / 2, reclaimed);
	EXPECT_LE(missed, pages / (aged ? 25 : 8));
}

TEST_F_TIMEOUT(srm_folios, full_cache_with_two_lists, 300)
{
	full_cache(_metadata, self, "0", false);
}

TEST_F_TIMEOUT(srm_folios, full_cache_with_generations, 300)
{
	full_cache(_metadata, self, "7", false);
}

TEST_F_TIMEOUT(srm_folios, aged_cache_with_two_lists, 300)
{
	full_cache(_metadata, self, "0", true);
}

TEST_F_TIMEOUT(srm_folios, aged_cache_with_generations, 300)
{
	full_cache(_metadata, self, "7", true);
}

TEST_F_TIMEOUT(srm_folios, group_order_is_checked, 60)
{
	ASSERT_EQ(0, switch_on(GROUP_ORDER));
	EXPECT_EQ(-EBUSY, mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "1"));
	EXPECT_EQ(GROUP_ORDER, mcube_read_num(MCUBE_SRM SRM_GROUP_ORDER));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	/* One color group would be the whole cache. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "4"));
	EXPECT_EQ(-ERANGE, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(0, mcube_read_num(MCUBE_SRM "enabled"));
	EXPECT_EQ(-ERANGE, mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "5"));
	EXPECT_EQ(4, mcube_read_num(MCUBE_SRM SRM_GROUP_ORDER));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "auto"));
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
}

/* Segments of single pages use all colors of a color group. */
TEST_F_TIMEOUT(srm_folios, pages_of_a_color_group, 120)
{
	long missed;

	self->dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	make_file(_metadata, self);
	ASSERT_EQ(0, switch_on(GROUP_ORDER));
	missed = srm_stat("missed");
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	ASSERT_EQ(missed, srm_stat("missed"));
	EXPECT_EQ(0, outside(self->color, LONG));
	EXPECT_EQ(0, uneven(self->color, LONG));
}

/* Folios of several pages in the file. */
static long large_folios(const char *path)
{
	int fd = open(path, O_RDONLY), flags = open("/proc/kpageflags", O_RDONLY);
	uint64_t pfn[LONG], bits;
	long n = -1;
	size_t i;
	char *p;

	p = mmap(NULL, LONG * PAGE_SIZE_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p != MAP_FAILED && !mcube_pfns(p, LONG, pfn)) {
		for (i = n = 0; i < LONG; i++)
			if (pread(flags, &bits, 8, pfn[i] * 8) == 8)
				n += bits >> KPF_COMPOUND_HEAD & 1;
		munmap(p, LONG * PAGE_SIZE_);
	}
	close(flags);
	close(fd);
	return n;
}

TEST_F_TIMEOUT(srm_folios, large_folios_have_one_color_group, 120)
{
	long folios, missed, pages;

	self->dir = mcube_xfs(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no xfs on /dev/vdb");
	make_file(_metadata, self);
	ASSERT_EQ(0, switch_on(0));
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	EXPECT_EQ(0, large_folios(self->file));
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	EXPECT_EQ(0, srm_strays(self->color, LONG, TL));

	srm_forget_files();
	ASSERT_EQ(0, switch_on(GROUP_ORDER));
	missed = srm_stat("missed");
	pages = srm_stat("file_pages");
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	EXPECT_LE((long)LONG, srm_stat("file_pages") - pages);
	folios = large_folios(self->file);
	TH_LOG("%lu pages, %ld folios of several pages", LONG, folios);
	EXPECT_LE((long)LONG / GROUP / 2, folios);
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	missed = srm_stat("missed") - missed;
	EXPECT_LE(missed, (long)LONG / 20);
	if (!missed)
		EXPECT_EQ(0, outside(self->color, LONG));
	EXPECT_EQ(0, uneven(self->color, LONG));
}

/* A color group has the reserved colors: one of 16, four of 64. */
TEST_F_TIMEOUT(srm_folios, auto_group_order, 120)
{
	long folios;

	self->dir = mcube_xfs(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no xfs on /dev/vdb");
	make_file(_metadata, self);
	/* Files longer than this are streams with 64 colors, too. */
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM SRM_REUSE, LONG / 128));
	ASSERT_EQ(0, switch_on_with(MCUBE_TEST_COLORS, "auto", "1"));
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	EXPECT_EQ(0, large_folios(self->file));

	srm_forget_files();
	ASSERT_EQ(0, switch_on_with(COLORS_64, "auto", "1"));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	folios = large_folios(self->file);
	TH_LOG("%lu pages, %ld folios of several pages", LONG, folios);
	EXPECT_LE((long)LONG / GROUP / 2, folios);
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	EXPECT_EQ(0, outside(self->color, LONG));
	EXPECT_EQ(0, uneven(self->color, LONG));
}

#define ROW	16UL	/* pages of a batch */

/* Rows in which some color of the color group does not have its share. */
static size_t crowded(const unsigned int *color, size_t pages)
{
	size_t i, k, n = 0;

	for (i = 0; i < pages; i += ROW) {
		unsigned int seen[GROUP] = { 0 };
		bool fair = true;

		for (k = i; k < i + ROW; k++)
			seen[color[k] % GROUP]++;
		for (k = 0; k < GROUP; k++)
			fair = fair && seen[k] == ROW / GROUP;
		n += !fair;
	}
	return n;
}

/* A short file that is read twice fits in the colors of its group. */
TEST_F_TIMEOUT(srm_folios, pages_take_turns_in_a_group, 120)
{
	self->dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	make_file(_metadata, self);
	ASSERT_EQ(0, switch_on_with(COLORS_64, "auto", "1"));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, srm_read_file(self->file, LONG));
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, LONG, self->color));
	EXPECT_EQ(0, outside(self->color, LONG));
	EXPECT_EQ(0, crowded(self->color, LONG));
}

/*
 * How many pages miss their color depends on the free pages in pageblocks of
 * their own type, since no other pageblock is converted for a color.  Each page
 * that misses is counted, and the other pages are placed.
 */
TEST_F_TIMEOUT(srm_folios, block_device, 120)
{
	size_t first = 64 * MIB / PAGE_SIZE_;
	long pages, missed, fallback;

	ASSERT_EQ(0, switch_on(0));
	srm_forget_files();
	pages = srm_stat("file_pages");
	missed = srm_stat("missed");
	fallback = mcube_stat("fallback");
	if (srm_colors_at(&self->dim, MCUBE_DISK, first, LONG, self->color))
		SKIP(return, MCUBE_DISK " cannot be read");
	pages = srm_stat("file_pages") - pages;
	missed = srm_stat("missed") - missed;
	fallback = mcube_stat("fallback") - fallback;
	TH_LOG("%ld pages of the device, %ld missed their color, %ld fallbacks",
	       pages, missed, fallback);
	EXPECT_LE((long)LONG, pages);
	EXPECT_LE(missed, fallback);
	EXPECT_GT(pages, missed);
}

TEST_HARNESS_MAIN
