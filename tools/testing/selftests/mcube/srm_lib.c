// SPDX-License-Identifier: GPL-2.0
/*
 * Files of known contents, and the colors of their cached pages.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* The tunables as after boot; the policy is off. */
void srm_defaults(void)
{
	mcube_write(MCUBE_SRM "tl", "256");
	mcube_write(MCUBE_SRM "mode", SRM_MODE_SEGMENTS);
	mcube_write(MCUBE_SRM SRM_GROUP_ORDER, "auto");
	mcube_write(MCUBE_SRM "reserve", "1");
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

int srm_read_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDONLY), ret = 0;
	char page[PAGE_SIZE_];
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < pages && !ret; i++)
		if (read(fd, page, sizeof(page)) != sizeof(page) ||
		    page[0] != (char)i || page[PAGE_SIZE_ - 1] != (char)i)
			ret = -EIO;
	close(fd);
	return ret;
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
