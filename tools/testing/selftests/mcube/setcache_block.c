// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets of a block device: how many requests the device gets, and what a bad sector
 * takes along.  The device is null_blk with memory, whose sectors can be bad.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "setcache_lib.h"

#define CONFIG	"/sys/kernel/config"
#define NAME	"setcachenull"
#define DEVICE	CONFIG "/nullb/" NAME "/"
#define PAGES	128U
#define READ	16U	/* pages of a read, no more than a fill has */
#define BAD	5U	/* of the pages of a read */

FIXTURE(setcache_block) {
	char *buf;
	int fd;
};

static bool load(const char *name, const char *sign)
{
	char path[64];

	snprintf(path, sizeof(path), "/lib/modules/%s.ko", name);
	return mcube_exists(sign) || !mcube_load_module(path);
}

/* Make the device; NULL, or the reason why there is none. */
static const char *make_device(void)
{
	if (!load("configfs", CONFIG))
		return "no configfs";
	if (!mcube_exists(CONFIG "/nullb") && mount("none", CONFIG, "configfs", 0, NULL) &&
	    errno != EBUSY)
		return "no configfs";
	if (!load("null_blk", CONFIG "/nullb"))
		return "no null_blk";
	if (mkdir(CONFIG "/nullb/" NAME, 0700))
		return "no device of null_blk";
	if (mcube_write(DEVICE "size", "1") || mcube_write(DEVICE "blocksize", "512") ||
	    mcube_write(DEVICE "memory_backed", "1") || mcube_write(DEVICE "power", "1"))
		return "null_blk has no memory";
	return NULL;
}

FIXTURE_SETUP(setcache_block)
{
	const char *why = setcache_unusable() ?: make_device();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, setcache_defaults());
	self->buf = aligned_alloc(PAGE_SIZE_, READ * PAGE_SIZE_);
	memset(self->buf, 0, READ * PAGE_SIZE_);
	self->fd = open("/dev/" NAME, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, setcache_write(self->fd, PAGES, 1));
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_RANDOM));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN(setcache_block)
{
	close(self->fd);
	EXPECT_EQ(0, setcache_defaults());
	if (mcube_exists(DEVICE)) {
		EXPECT_EQ(0, mcube_write(DEVICE "power", "0"));
		EXPECT_EQ(0, rmdir(CONFIG "/nullb/" NAME));
	}
}

/* Read requests that the device has completed; they count after the reader is woken up. */
static long requests(void)
{
	long now, before = -1;

	while ((now = mcube_read_num("/sys/block/" NAME "/stat")) != before) {
		before = now;
		usleep(10000);
	}
	return now;
}

/* Read pages; returns how many are right, from the first on, or an error. */
static long right(int fd, char *buf, unsigned int first, unsigned int nr)
{
	ssize_t got = pread(fd, buf, nr * PAGE_SIZE_, first * PAGE_SIZE_);
	struct stamped s = { .begun = 1, .done = 1 };
	unsigned int i;

	for (i = 0; (ssize_t)(i * PAGE_SIZE_) < got; i++)
		if (!stamp_is_current(&s, first + i, 1, buf + i * PAGE_SIZE_, 0, PAGE_SIZE_))
			return i;
	return got < 0 ? -errno : (long)i;
}

TEST_F(setcache_block, adjacent_pages_are_a_request)
{
	long before = requests();

	EXPECT_EQ(READ, right(self->fd, self->buf, 0, READ));
	EXPECT_EQ(1, requests() - before);
	/* In the second half two pages are in sets. */
	EXPECT_EQ(1, right(self->fd, self->buf, READ + 3, 1));
	EXPECT_EQ(1, right(self->fd, self->buf, READ + 4, 1));
	before = requests();
	EXPECT_EQ(READ, right(self->fd, self->buf, READ, READ));
	EXPECT_EQ(2, requests() - before);
	/* All are. */
	before = requests();
	EXPECT_EQ(READ, right(self->fd, self->buf, 0, READ));
	EXPECT_EQ(READ, right(self->fd, self->buf, READ, READ));
	EXPECT_EQ(0, requests() - before);
}

TEST_F(setcache_block, a_bad_sector_fails_a_page)
{
	long errors = setcache_stat("errors"), fills = setcache_stat("fills");
	char range[64];

	/* The second sector of a page. */
	snprintf(range, sizeof(range), "+%u-%u", BAD * 8 + 1, BAD * 8 + 1);
	ASSERT_EQ(0, mcube_write(DEVICE "badblocks", range));
	/* The kernel goes on after the good pages, and so tries the bad one twice. */
	EXPECT_EQ(BAD, right(self->fd, self->buf, 0, READ));
	EXPECT_EQ(2, setcache_stat("errors") - errors);
	EXPECT_EQ(READ - 1, setcache_stat("fills") - fills);
	/* All other pages have come in. */
	fills = setcache_stat("fills");
	EXPECT_EQ(READ - BAD - 1, right(self->fd, self->buf, BAD + 1, READ - BAD - 1));
	EXPECT_EQ(0, setcache_stat("fills") - fills);
	EXPECT_EQ(-EIO, right(self->fd, self->buf, BAD, 1));
	EXPECT_EQ(3, setcache_stat("errors") - errors);
	range[0] = '-';
	ASSERT_EQ(0, mcube_write(DEVICE "badblocks", range));
	EXPECT_EQ(READ, right(self->fd, self->buf, 0, READ));
}

TEST_HARNESS_MAIN
