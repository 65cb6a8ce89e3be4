// SPDX-License-Identifier: GPL-2.0
/*
 * The device mapper by its ioctls, see dm_lib.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm_lib.h"
#include "setcache_lib.h"

#define CONTROL		"/dev/mapper/control"
#define NAME		"mcube-test"
#define BROKEN		"mcube-broken"
#define SECTOR		512U
/* Each part has a line of the table before it, and the last has one behind it. */
#define LINES		(2 * DM_PARTS + 1)

struct line {
	struct dm_target_spec spec;
	char args[128];
};

struct request {
	struct dm_ioctl head;
	struct line line[LINES];
};

static int control(struct request *r, const char *name, unsigned long command,
		   unsigned int flags)
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	r->head.version[0] = DM_VERSION_MAJOR;
	r->head.data_size = sizeof(*r);
	r->head.data_start = offsetof(struct request, line);
	r->head.flags = flags;
	snprintf(r->head.name, sizeof(r->head.name), "%s", name);
	ret = ioctl(fd, command, r) ? -errno : 0;
	close(fd);
	return ret;
}

/* A request without a table. */
static int command(const char *name, unsigned long number, unsigned int flags)
{
	struct request r = { 0 };

	return control(&r, name, number, flags);
}

/* Add a line for sectors [@first, @end); returns where its arguments go. */
static char *add_line(struct request *r, uint64_t first, uint64_t end, const char *target)
{
	struct line *line = &r->line[r->head.target_count++];

	line->spec.sector_start = first;
	line->spec.length = end - first;
	line->spec.next = sizeof(*line);
	snprintf(line->spec.target_type, sizeof(line->spec.target_type), "%s", target);
	return line->args;
}

/* Sectors that are as on the device below. */
static void add_linear(struct request *r, const struct dm_device *d, uint64_t first,
		       uint64_t end)
{
	if (first < end)
		sprintf(add_line(r, first, end, "linear"), "%s %llu", d->below,
			(unsigned long long)first);
}

static int load_and_resume(struct request *r, const char *name)
{
	/* Nobody is told to write back what a file system has in memory: that may fail. */
	return control(r, name, DM_TABLE_LOAD, 0) ?:
	       command(name, DM_DEV_SUSPEND, DM_SKIP_LOCKFS_FLAG);
}

/*
 * Let the parts of the device have a target of the device mapper.  Arguments follow those
 * that all targets have, the device below and the first sector there.  Requests that are
 * under way end before.
 */
int dm_set(const struct dm_device *d, const char *target, const char *args)
{
	struct request r = { 0 };
	uint64_t at = 0;
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		add_linear(&r, d, at, d->part[i].first);
		at = d->part[i].end;
		snprintf(add_line(&r, d->part[i].first, at, target), sizeof(r.line->args),
			 "%s %llu %s", d->below, (unsigned long long)d->part[i].first, args);
	}
	add_linear(&r, d, at, d->sectors);
	return load_and_resume(&r, NAME);
}

/*
 * Let reads of the parts wait for so many milliseconds, and then reach the device below; and
 * let writes go to the device @writes.  The target delay has a device for each kind.
 */
static int set_kinds(const struct dm_device *d, unsigned int ms, const char *writes)
{
	struct request r = { 0 };
	uint64_t at = 0;
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		unsigned long long first = d->part[i].first;

		add_linear(&r, d, at, first);
		at = d->part[i].end;
		snprintf(add_line(&r, first, at, "delay"), sizeof(r.line->args),
			 "%s %llu %u %s %llu 0 %s %llu 0", d->below, first, ms, writes, first,
			 d->below, first);
	}
	add_linear(&r, d, at, d->sectors);
	return load_and_resume(&r, NAME);
}

/*
 * Let writes to the parts fail.  The target flakey would fail requests to flush the cache
 * too, which concern all parts of a device.
 */
int dm_fail_writes(const struct dm_device *d)
{
	return set_kinds(d, 0, d->broken);
}

/* Let reads of the parts wait, and no write. */
int dm_delay_reads(const struct dm_device *d, unsigned int ms)
{
	return set_kinds(d, ms, d->below);
}

int dm_heal(const struct dm_device *d)
{
	struct request r = { 0 };

	add_linear(&r, d, 0, d->sectors);
	return load_and_resume(&r, NAME);
}

/* Requests wait from now on. */
int dm_hold(void)
{
	return command(NAME, DM_DEV_SUSPEND,
		       DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG | DM_NOFLUSH_FLAG);
}

int dm_go_on(void)
{
	return command(NAME, DM_DEV_SUSPEND, DM_SKIP_LOCKFS_FLAG);
}

static bool load(const char *name, const char *sign)
{
	char path[64];

	snprintf(path, sizeof(path), "/lib/modules/%s.ko", name);
	return mcube_exists(sign) || !mcube_load_module(path);
}

static int measure(struct dm_device *d, const char *below)
{
	int fd = open(below, O_RDONLY | O_CLOEXEC), ret;
	uint64_t bytes = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) || ioctl(fd, BLKGETSIZE64, &bytes) ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	snprintf(d->below, sizeof(d->below), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	d->sectors = bytes / SECTOR;
	return 0;
}

/* A device whose requests all fail. */
static int make_broken(struct dm_device *d)
{
	struct request r = { 0 };
	int ret = control(&r, BROKEN, DM_DEV_CREATE, 0);

	if (ret)
		return ret;
	snprintf(d->broken, sizeof(d->broken), "%u:%u", (unsigned int)major(r.head.dev),
		 (unsigned int)minor(r.head.dev));
	memset(&r, 0, sizeof(r));
	add_line(&r, 0, d->sectors, "error");
	return load_and_resume(&r, BROKEN);
}

/*
 * Make a device without parts over the device @below.
 * Return: NULL, or the reason why there is none.
 */
const char *dm_open(struct dm_device *d, const char *below)
{
	struct request r = { 0 };

	memset(d, 0, sizeof(*d));
	if (!load("dm-mod", "/sys/module/dm_mod") ||
	    !load("dm-flakey", "/sys/module/dm_flakey") ||
	    !load("dm-delay", "/sys/module/dm_delay"))
		return "no device mapper with flakey and delay";
	if (measure(d, below))
		return "no device below";
	if (make_broken(d) || control(&r, NAME, DM_DEV_CREATE, 0))
		return "no device of the device mapper";
	snprintf(d->path, sizeof(d->path), "/dev/dm-%u", (unsigned int)minor(r.head.dev));
	d->name = d->path + strlen("/dev/");
	return dm_heal(d) ? "the device mapper refuses a table" : NULL;
}

int dm_add_part(struct dm_device *d, uint64_t first, uint64_t sectors)
{
	if (d->nr == DM_PARTS || (d->nr && first < d->part[d->nr - 1].end))
		return -EINVAL;
	d->part[d->nr].first = first;
	d->part[d->nr++].end = first + sectors;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct fiemap_extent *x = a, *y = b;

	return (x->fe_physical > y->fe_physical) - (x->fe_physical < y->fe_physical);
}

/* Let pages of a file be parts, wherever its file system has put them. */
int dm_add_pages(struct dm_device *d, const char *file, uint64_t first, uint64_t nr)
{
	struct {
		struct fiemap head;
		struct fiemap_extent extent[DM_PARTS];
	} map = {
		.head = {
			.fm_start = first * PAGE_SIZE_, .fm_length = nr * PAGE_SIZE_,
			.fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = DM_PARTS,
		},
	};
	uint64_t from, to, end = (first + nr) * PAGE_SIZE_, all = 0;
	int fd = open(file, O_RDONLY | O_CLOEXEC), ret;
	unsigned int i;

	ret = fd < 0 || ioctl(fd, FS_IOC_FIEMAP, &map) ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	qsort(map.extent, map.head.fm_mapped_extents, sizeof(*map.extent), by_place);
	for (i = 0; i < map.head.fm_mapped_extents && !ret; i++) {
		const struct fiemap_extent *e = &map.extent[i];

		from = e->fe_logical > first * PAGE_SIZE_ ? e->fe_logical : first * PAGE_SIZE_;
		to = e->fe_logical + e->fe_length < end ? e->fe_logical + e->fe_length : end;
		all += to - from;
		ret = dm_add_part(d, (e->fe_physical + from - e->fe_logical) / SECTOR,
				  (to - from) / SECTOR);
	}
	return ret ?: all == nr * PAGE_SIZE_ ? 0 : -EINVAL;
}

/* The first byte on the device of a page of a file, or 0. */
uint64_t dm_place(int fd, uint64_t page)
{
	struct {
		struct fiemap head;
		struct fiemap_extent extent;
	} map = {
		.head = {
			.fm_start = page * PAGE_SIZE_, .fm_length = PAGE_SIZE_,
			.fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 1,
		},
	};

	if (ioctl(fd, FS_IOC_FIEMAP, &map) || !map.head.fm_mapped_extents)
		return 0;
	return map.extent.fe_physical + page * PAGE_SIZE_ - map.extent.fe_logical;
}

static int remove_device(const char *name)
{
	double end = mcube_deadline(30);
	int ret;

	while ((ret = command(name, DM_DEV_REMOVE, 0)) == -EBUSY && mcube_now() < end)
		usleep(10000);
	return ret;
}

/* Remove the device, as soon as nobody has it open; called in any case. */
int dm_close(struct dm_device *d)
{
	int ret = 0;

	if (*d->path)
		ret = remove_device(NAME);
	if (!ret && *d->broken)
		ret = remove_device(BROKEN);
	if (!ret)
		*d->path = *d->broken = '\0';
	return ret;
}

/* A file system over the device mapper, and a file there. */
const char *dm_begin_file(struct dm_device *d, struct setcache_setup *s, const char *type,
			  const char *below, unsigned int pages)
{
	const char *why = dm_open(d, below);
	int fd;

	if (why)
		return why;
	mkdir(SETCACHE_MOUNT, 0700);
	/* No read writes a time. */
	if (mount(d->path, SETCACHE_MOUNT, type, MS_NOATIME, NULL))
		return "no file system on the disk";
	s->mounted = true;
	s->usable = true;
	snprintf(s->file, sizeof(s->file), SETCACHE_MOUNT "/setcache");
	snprintf(s->backing, sizeof(s->backing), "%s", s->file);
	fd = open(s->file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, pages * PAGE_SIZE_))
		return "no room on the disk";
	close(fd);
	return setcache_defaults() ? "settings are refused" : NULL;
}

/* A loop device below the device mapper. */
const char *dm_begin_device(struct dm_device *d, struct setcache_setup *s, unsigned int pages)
{
	const char *why = setcache_begin(s, ON_BLOCK_DEVICE, pages) ?: dm_open(d, s->loop);

	snprintf(s->file, sizeof(s->file), "%s", d->path);
	return why;
}
