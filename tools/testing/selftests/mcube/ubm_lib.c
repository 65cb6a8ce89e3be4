// SPDX-License-Identifier: GPL-2.0
/*
 * Memory cgroups, processes that read files in them, and the reads of the device.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ubm_lib.h"

#define DISK_STAT	"/sys/block/vda/stat"
#define SECTORS		(PAGE_SIZE_ / 512)	/* of a page */
#define CHUNK		(16 * PAGE_SIZE_)

/* NULL, or the reason why nothing can be tested. */
const char *ubm_unusable(void)
{
	if (geteuid())
		return "must be root";
	if (!mcube_exists(MCUBE_UBM "enabled"))
		return "no CONFIG_MCUBE_UBM";
	return NULL;
}

int ubm_defaults(void)
{
	return mcube_write(MCUBE_UBM "enabled", "0");
}

/*
 * Mount the disk, choose the classic lists ("n") or generations ("y"); UBM is off.
 * Return: NULL, or the reason why nothing can be tested.
 */
const char *ubm_begin(struct ubm_setup *s, const char *lru_gen)
{
	const char *why = ubm_unusable(), *dir;

	if (why)
		return why;
	if (mcube_read(MCUBE_LRU_GEN, s->lru_gen, sizeof(s->lru_gen)) < 0)
		return "no CONFIG_LRU_GEN";
	if (!mcube_exists(MCUBE_CGROUPS "/cgroup.procs"))
		return "no cgroup2 on " MCUBE_CGROUPS;
	if (!mcube_exists(DISK_STAT))
		return "no " DISK_STAT;
	dir = mcube_disk(UBM_MOUNT, &s->mounted);
	if (!dir)
		return "no ext4 on " MCUBE_DISK;
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	s->usable = true;
	if (ubm_defaults() || mcube_write(MCUBE_LRU_GEN, lru_gen))
		return "settings are refused";
	return NULL;
}

/* All as before ubm_begin().  Called in any case. */
int ubm_end(struct ubm_setup *s)
{
	int ret = 0;

	if (!s->usable)
		return 0;
	ret = ubm_defaults();
	ret = ubm_rmdir(UBM_CGROUP) ?: ret;
	ret = ubm_rmdir(UBM_BESIDE) ?: ret;
	if (s->mounted && umount(UBM_MOUNT))
		ret = -errno;
	mcube_write(MCUBE_LRU_GEN, strcmp(s->lru_gen, "0x0000") ? "y" : "n");
	return ret;
}

long ubm_stat(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), MCUBE_UBM "stats/%s", name);
	return mcube_read_num(path);
}

/* A memory cgroup with a limit and a protected size, in MiB; 0 for none. */
int ubm_cgroup(const char *path, long max_mib, long min_mib)
{
	char file[192];
	int ret = mcube_make_cgroup(path, "+memory");

	if (!ret && max_mib) {
		snprintf(file, sizeof(file), "%s/memory.max", path);
		ret = mcube_write_num(file, max_mib * MIB);
	}
	if (!ret && min_mib) {
		snprintf(file, sizeof(file), "%s/memory.min", path);
		ret = mcube_write_num(file, min_mib * MIB);
	}
	return ret;
}

/* A process that has just ended may still be in the cgroup for a moment. */
int ubm_rmdir(const char *path)
{
	int i, ret = 0;

	for (i = 0; i < 100; i++) {
		ret = rmdir(path) ? -errno : 0;
		if (ret != -EBUSY)
			break;
		usleep(20000);
	}
	return ret == -ENOENT ? 0 : ret;
}

/* A number of memory.stat or memory.events. */
long ubm_event(const char *cgroup, const char *file, const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	return mcube_field(path, name);
}

/* A file on the device; none of its pages are cached afterwards. */
int ubm_write_file(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret = 0;
	static char chunk[CHUNK];
	size_t at, len;

	if (fd < 0)
		return -errno;
	for (at = 0; at < pages * PAGE_SIZE_ && !ret; at += len) {
		len = pages * PAGE_SIZE_ - at;
		if (len > CHUNK)
			len = CHUNK;
		memset(chunk, at / PAGE_SIZE_, len);
		if (write(fd, chunk, len) != (ssize_t)len)
			ret = -EIO;
	}
	if (!ret && (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)))
		ret = -EIO;
	close(fd);
	return ret;
}

/* Read a file from its start, a page at a time. */
int ubm_read_once(const char *path, size_t pages)
{
	int fd = open(path, O_RDONLY), ret = 0;
	char page[PAGE_SIZE_];
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < pages && !ret; i++)
		if (read(fd, page, sizeof(page)) != sizeof(page))
			ret = -EIO;
	close(fd);
	return ret;
}

/* A process in a cgroup; its exit status says whether @run() gave 0. */
pid_t ubm_start(const char *cgroup, int (*run)(void *arg), void *arg)
{
	char procs[192];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
	_exit(mcube_write(procs, "0") || run(arg));
}

/* 0 if the process ended well. */
int ubm_finish(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return status ? -EIO : 0;
}

int ubm_run(const char *cgroup, int (*run)(void *arg), void *arg)
{
	return ubm_finish(ubm_start(cgroup, run, arg));
}

static long disk_stat(const char *format)
{
	unsigned long nr;
	char text[256];

	if (mcube_read(DISK_STAT, text, sizeof(text)) < 0 || sscanf(text, format, &nr) != 1)
		return -EIO;
	return nr;
}

/* Pages that were read from the disk since boot. */
long ubm_device_pages(void)
{
	long sectors = disk_stat("%*u %*u %lu");

	return sectors < 0 ? sectors : sectors / SECTORS;
}

/* Requests to read that the disk has done since boot. */
long ubm_device_reads(void)
{
	return disk_stat("%lu");
}

/* Pages of a file that are in the page cache, by mincore(). */
long ubm_cached(const char *path, size_t first, size_t pages)
{
	int fd = open(path, O_RDONLY);
	unsigned char *in;
	size_t i;
	long n = 0;
	char *p;

	if (fd < 0)
		return -errno;
	p = mmap(NULL, pages * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd,
		 first * PAGE_SIZE_);
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	in = mcube_map_anon((pages + PAGE_SIZE_ - 1) / PAGE_SIZE_);
	if (!in || mincore(p, pages * PAGE_SIZE_, in))
		n = -errno;
	for (i = 0; i < pages && n >= 0; i++)
		n += in[i] & 1;
	if (in)
		munmap(in, pages);
	munmap(p, pages * PAGE_SIZE_);
	return n;
}
