// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer and the pageblocks that a block device makes unmovable.
 *
 * Pages of a device node are not movable.  The page allocator converts whole
 * pageblocks for them, and fills each pageblock before it converts the next
 * pageblock.  A policy that looks for a color must not convert more pageblocks.
 *
 * Each case reads one half of a device with the policy off and the other half with
 * the policy on.  The pages of both halves stay, so each half needs new pageblocks.
 * Before that, pages of another device use up the unmovable memory that is free.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define READ_MIB	256L
#define FIRST_MIB	64L
#define UNMOVABLE	"Unmovable"
#define BLOCK_MIB	2L	/* of a pageblock */

FIXTURE(srm_device) {
	struct mcube_saved saved;
};

FIXTURE_VARIANT(srm_device) {
	const char *reserve;
};

FIXTURE_VARIANT_ADD(srm_device, reserved_colors) { .reserve = "1" };
FIXTURE_VARIANT_ADD(srm_device, all_colors) { .reserve = "0" };

FIXTURE_SETUP(srm_device)
{
	const char *why = srm_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(NULL, srm_stay_on_node());
	ASSERT_EQ(0, mcube_off());
	srm_forget_files();
}

FIXTURE_TEARDOWN_PARENT(srm_device)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	EXPECT_EQ(0, mcube_off());
	mcube_restore(&self->saved);
	srm_leave_node();
}

/* Read a part of a device.  Return: the new unmovable pageblocks, or an error. */
static long convert(int fd, long from_mib, long mib)
{
	static char buf[64 * 1024];
	long before = mcube_pageblocks(UNMOVABLE), at, end = (from_mib + mib) * MIB;

	for (at = from_mib * MIB; at < end; at += sizeof(buf))
		if (pread(fd, buf, sizeof(buf), at) != sizeof(buf))
			return -EIO;
	return mcube_pageblocks(UNMOVABLE) - before;
}

TEST_F_TIMEOUT(srm_device, converts_no_more_pageblocks, 300)
{
	/* The pages of a device are freed when nobody has the device open. */
	int fd = open(MCUBE_DISK, O_RDONLY | O_CLOEXEC);
	int other = open(MCUBE_DISK_XFS, O_RDONLY | O_CLOEXEC);
	long first, stock, srm, pages, missed, fallback;

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 2 * READ_MIB * (long)MIB)
		SKIP(return, MCUBE_DISK " has no %ld MiB", 2 * READ_MIB);
	if (other < 0 || lseek(other, 0, SEEK_END) < FIRST_MIB * (long)MIB)
		SKIP(return, MCUBE_DISK_XFS " has no %ld MiB", FIRST_MIB);
	first = convert(other, 0, FIRST_MIB);
	ASSERT_LE(0, first);
	stock = convert(fd, 0, READ_MIB);
	ASSERT_LE(READ_MIB / BLOCK_MIB * 3 / 4, stock);

	ASSERT_EQ(0, mcube_write(MCUBE_SRM "reserve", variant->reserve));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	pages = srm_stat("file_pages");
	missed = srm_stat("missed");
	fallback = mcube_stat("fallback");
	srm = convert(fd, READ_MIB, READ_MIB);
	ASSERT_LE(0, srm);
	pages = srm_stat("file_pages") - pages;
	missed = srm_stat("missed") - missed;
	fallback = mcube_stat("fallback") - fallback;
	TH_LOG("%ld new unmovable pageblocks at first, %ld with the policy off, %ld with the policy on",
	       first, stock, srm);
	TH_LOG("of %ld pages %ld missed their color, %ld fallbacks", pages, missed, fallback);
	EXPECT_LE(READ_MIB * (long)(MIB / PAGE_SIZE_) * 9 / 10, pages);
	/* The per-CPU lists may hold some pages of other pageblocks. */
	EXPECT_LE(srm, stock + 4);
	EXPECT_LE(missed, fallback);
	close(other);
	close(fd);
}

TEST_HARNESS_MAIN
