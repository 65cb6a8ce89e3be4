// SPDX-License-Identifier: GPL-2.0
/*
 * Files of known contents, and the colors of their cached pages.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srm_lib.h"

#define CGROUP_NODE	MCUBE_CGROUPS "/mcube-selftest-node"

/* NULL, or the reason why nothing can be tested. */
const char *srm_unusable(void)
{
	const char *why = mcube_unusable();

	if (!why && !mcube_exists(MCUBE_SRM "enabled"))
		why = "no CONFIG_MCUBE_SRM";
	return why;
}

/*
 * Save the settings and mount the disk; the file @name on it does not exist yet.  Reserved
 * colors are not lent.
 * Return: NULL, or the reason why nothing can be tested.
 */
const char *srm_begin(struct srm_setup *s, const char *name)
{
	const char *why = srm_unusable(), *dir;

	mcube_save(&s->saved);
	if (why)
		return why;
	dir = mcube_disk(SRM_MOUNT, &s->mounted);
	if (!dir)
		return "no ext4 on " MCUBE_DISK "; MCUBE_DISK_DIR may name a directory";
	mcube_write(MCUBE_SRM "lend", "0");
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	snprintf(s->file, sizeof(s->file), "%s/%s", dir, name);
	return NULL;
}

/* The allocator and the policy, with @share sixteenths of the colors reserved. */
int srm_switch_on(struct srm_setup *s, unsigned long tl, const char *share)
{
	return mcube_write(MCUBE_SRM "enabled", "0") ?: mcube_off() ?:
	       mcube_write_num(MCUBE_SRM "tl", tl) ?:
	       mcube_write(MCUBE_SRM "reserve", share) ?:
	       mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS) ?:
	       mcube_dim_from(&s->dim, MCUBE_MAP "color_map") ?:
	       mcube_write(MCUBE_SRM "enabled", "1");
}

/* All as before srm_begin(), and the file is gone.  Called in any case. */
int srm_end(struct srm_setup *s)
{
	int ret;

	if (srm_unusable())
		return 0;
	ret = mcube_write(MCUBE_SRM "enabled", "0");
	srm_defaults();
	if (s->file[0])
		unlink(s->file);
	if (s->mounted && umount(SRM_MOUNT) && !ret)
		ret = -errno;
	ret = ret ?: mcube_off();
	mcube_restore(&s->saved);
	return ret;
}

/* The tunables as after boot; the policy is off. */
void srm_defaults(void)
{
	mcube_write(MCUBE_SRM "tl", "256");
	mcube_write(MCUBE_SRM "mode", SRM_MODE_SEGMENTS);
	mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "auto");
	mcube_write(MCUBE_SRM "reserve", "1");
	mcube_write(MCUBE_SRM "lend", "10");
	mcube_write(MCUBE_SRM SRM_REUSE, "16");
	mcube_write(MCUBE_SRM "vm_hop", "1");
	mcube_write(MCUBE_SRM SRM_RECLAIM, "1");
}

long srm_stat(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), MCUBE_SRM "stats/%s", name);
	return mcube_read_num(path);
}

void srm_forget_files(void)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
}

/* Switch the policy off and on: files and tasks lose their segments. */
int srm_restart(void)
{
	return mcube_write(MCUBE_SRM "enabled", "0") ?: mcube_write(MCUBE_SRM "enabled", "1");
}

/*
 * From here on this process runs on the first CPU, and its pages come from the
 * first node.  At a watermark the page allocator would go to another node and
 * back, and each node selects the colors of its own segments.  Return: NULL, or
 * the reason why the process cannot stay.
 */
const char *srm_stay_on_node(void)
{
	if (mcube_pin(0))
		return "no CPU 0";
	if (!mcube_max_node())
		return NULL;
	if (mcube_make_cgroup(CGROUP_NODE, "+cpuset") ||
	    mcube_write(CGROUP_NODE "/cpuset.mems", "0"))
		return "two nodes, and no cpuset controller";
	return mcube_write(CGROUP_NODE "/cgroup.procs", "0") ? "cannot enter a cpuset" : NULL;
}

/* Called when the process has ended. */
void srm_leave_node(void)
{
	rmdir(CGROUP_NODE);
}

/* Free pages of the first node. */
long srm_free_pages(void)
{
	return mcube_field(mcube_max_node() ? MCUBE_NODES "/node0/vmstat" : "/proc/vmstat",
			   "nr_free_pages");
}

int srm_write_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret = 0;
	char page[PAGE_SIZE_];
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < pages && !ret; i++) {
		memset(page, i, sizeof(page));
		if (write(fd, page, sizeof(page)) != sizeof(page))
			ret = -EIO;
	}
	close(fd);
	return ret;
}

/* Read a file of srm_write_file() from its start, a page at a time. */
int srm_read_fd(int fd, size_t pages)
{
	char page[PAGE_SIZE_];
	size_t i;

	for (i = 0; i < pages; i++)
		if (pread(fd, page, sizeof(page), i * PAGE_SIZE_) != sizeof(page) ||
		    page[0] != (char)i || page[PAGE_SIZE_ - 1] != (char)i)
			return -EIO;
	return 0;
}

int srm_read_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDONLY), ret;

	if (fd < 0)
		return -errno;
	ret = srm_read_fd(fd, pages);
	close(fd);
	return ret;
}

/* A file of pages that can be called and return at once. */
int srm_write_code(const char *path, size_t pages)
{
#ifdef __x86_64__
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700), ret = 0;
	char page[PAGE_SIZE_];

	if (fd < 0)
		return -errno;
	memset(page, 0xc3, sizeof(page));
	while (pages-- && !ret)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			ret = -EIO;
	close(fd);
	return ret;
#else
	return -EOPNOTSUPP;
#endif
}

/* Advice on an open file by a user who may read it, not write it. */
int srm_as_nobody(int fd, int advice)
{
	int status;

	if (!fork())
		_exit(setuid(NOBODY) ||
		      posix_fadvise(fd, 0, 0, advice) ? 1 : 0);
	return wait(&status) < 0 || status ? -EPERM : 0;
}

/* Wait for work in the background, for some seconds.  Return: the counter. */
long srm_await(const char *stat, long least)
{
	int i;

	for (i = 0; i < 600 && srm_stat(stat) < least; i++)
		usleep(100000);
	return srm_stat(stat);
}

/* Colors of cached pages from page @first on; other pages are read in. */
int srm_colors_at(const struct mcube_dim *dim, const char *path, size_t first,
		  size_t pages, unsigned int *color)
{
	int fd = open(path, O_RDONLY), ret;
	uint64_t pfn[SRM_PAGES_MAX];
	volatile char sum = 0;
	size_t i;
	char *p;

	if (fd < 0)
		return -errno;
	p = pages > SRM_PAGES_MAX ? MAP_FAILED :
		mmap(NULL, pages * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd,
		     first * PAGE_SIZE_);
	close(fd);
	if (p == MAP_FAILED)
		return -EINVAL;
	for (i = 0; i < pages; i++)
		sum += p[i * PAGE_SIZE_];
	ret = mcube_pfns(p, pages, pfn);
	for (i = 0; i < pages && !ret; i++)
		color[i] = mcube_value(dim, pfn[i]);
	munmap(p, pages * PAGE_SIZE_);
	return ret;
}

int srm_file_colors(const struct mcube_dim *dim, const char *path, size_t pages,
		    unsigned int *color)
{
	return srm_colors_at(dim, path, 0, pages, color);
}

/* Colors of fresh anonymous memory, in the order in which it was touched. */
int srm_memory_colors(const struct mcube_dim *dim, size_t pages,
		      unsigned int *color)
{
	char *p = pages > SRM_PAGES_MAX ? NULL : mcube_map_anon(pages);
	uint64_t pfn[SRM_PAGES_MAX];
	size_t i;
	int ret;

	if (!p)
		return -EINVAL;
	for (i = 0; i < pages; i++)
		p[i * PAGE_SIZE_] = 1;
	ret = mcube_pfns(p, pages, pfn);
	for (i = 0; i < pages && !ret; i++)
		color[i] = mcube_value(dim, pfn[i]);
	munmap(p, pages * PAGE_SIZE_);
	return ret;
}

/* Pages whose color differs from that of the first page of their segment. */
size_t srm_strays(const unsigned int *color, size_t pages, size_t segment)
{
	size_t i, n = 0;

	for (i = 0; i < pages; i++)
		n += color[i] != color[i / segment * segment];
	return n;
}

/* Segments that have the color of the segment before. */
size_t srm_repeats(const unsigned int *color, size_t pages, size_t segment)
{
	size_t i, n = 0;

	for (i = segment; i < pages; i += segment)
		n += color[i] == color[i - segment];
	return n;
}
