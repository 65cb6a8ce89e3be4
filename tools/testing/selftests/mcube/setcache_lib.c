// SPDX-License-Identifier: GPL-2.0
/*
 * The module mcube_setcache, files and block devices that its tests read, and stamps.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "setcache_lib.h"

static const char *module_path(void)
{
	return getenv("MCUBE_SETCACHE_MODULE") ?: SETCACHE_MODULE;
}

int setcache_load(void)
{
	return mcube_load_module(module_path());
}

int setcache_unload(void)
{
	return mcube_unload_module("mcube_setcache");
}

/* Load the module.  NULL, or the reason why nothing can be tested. */
const char *setcache_unusable(void)
{
	if (geteuid())
		return "must be root";
	if (mcube_exists(MCUBE_SETCACHE "mode"))
		return NULL;
	if (access(module_path(), R_OK))
		return "no module mcube_setcache, and MCUBE_SETCACHE_MODULE names no file";
	return setcache_load() ? "mcube_setcache cannot be loaded" : NULL;
}

/* The settings as after loading, and all hooks. */
int setcache_defaults(void)
{
	if (mcube_exists(SETCACHE_SKIP))
		mcube_write(SETCACHE_SKIP, "0");
	return mcube_write(MCUBE_SETCACHE "mode", "off") ?:
	       mcube_write(MCUBE_SETCACHE "policy", "s3fifo") ?:
	       mcube_write(MCUBE_SETCACHE "numa", "interleave") ?:
	       mcube_write(MCUBE_SETCACHE "size_mib", "64");
}

long setcache_stat(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), MCUBE_SETCACHE "stats/%s", name);
	return mcube_read_num(path);
}

/* A loop device over a file. */
int setcache_attach(struct setcache_setup *s, const char *file)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), number, fd, ret;
	struct loop_config config = { 0 };

	if (control < 0)
		return -errno;
	number = s->loop[0] ? atoi(s->loop + strlen("/dev/loop")) :
			      ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	if (number < 0)
		return -errno;
	snprintf(s->loop, sizeof(s->loop), "/dev/loop%d", number);
	fd = open(s->loop, O_RDWR | O_CLOEXEC);
	config.fd = open(file, O_RDWR | O_CLOEXEC);
	ret = ioctl(fd, LOOP_CONFIGURE, &config) ? -errno : 0;
	close(config.fd);
	close(fd);
	return ret;
}

/*
 * Mount a disk, and make a file of zeros, or a block device of zeros, with so many pages.
 * Return: NULL, or the reason why nothing can be tested.
 */
const char *setcache_begin(struct setcache_setup *s, enum setcache_place place,
			   size_t pages)
{
	const char *why = setcache_unusable(), *dir;
	int fd;

	if (why)
		return why;
	dir = place == ON_XFS ? mcube_xfs(SETCACHE_MOUNT, &s->mounted) :
				mcube_disk(SETCACHE_MOUNT, &s->mounted);
	if (!dir)
		return "no file system on the disk";
	s->usable = true;
	snprintf(s->backing, sizeof(s->backing), "%s/setcache", dir);
	snprintf(s->file, sizeof(s->file), "%s", s->backing);
	fd = open(s->backing, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, pages * PAGE_SIZE_))
		return "no room on the disk";
	close(fd);
	if (place == ON_BLOCK_DEVICE) {
		if (setcache_attach(s, s->backing))
			return "no loop device";
		snprintf(s->file, sizeof(s->file), "%s", s->loop);
	}
	return setcache_defaults() ? "settings are refused" : NULL;
}

/* Detach s->loop, as soon as nobody has it open. */
int setcache_detach(struct setcache_setup *s)
{
	double end = mcube_deadline(10);
	int fd = open(s->loop, O_RDWR | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -errno;
	ioctl(fd, LOOP_CLR_FD);
	close(fd);
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file",
		 s->loop + strlen("/dev/"));
	while (mcube_exists(path) && mcube_now() < end)
		usleep(10000);
	return mcube_exists(path) ? -EBUSY : 0;
}

/* All as before setcache_begin().  Called in any case, perhaps by another process. */
int setcache_end(struct setcache_setup *s)
{
	int ret;

	if (!s->usable)
		return 0;
	ret = mcube_exists(MCUBE_SETCACHE "mode") ? 0 : setcache_load();
	ret = setcache_defaults() ?: ret;
	if (s->loop[0])
		ret = setcache_detach(s) ?: ret;
	unlink(s->backing);
	if (s->mounted && umount(SETCACHE_MOUNT))
		ret = -errno;
	return ret;
}

/* Write stamps to pages, to the disk; no page stays in the page cache. */
int setcache_write(int fd, unsigned int pages, uint32_t number)
{
	char buf[PAGE_SIZE_];
	unsigned int i;

	for (i = 0; i < pages; i++) {
		stamp_fill(buf, i, number);
		if (pwrite(fd, buf, sizeof(buf), i * PAGE_SIZE_) != sizeof(buf))
			return -errno;
	}
	return fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ? -errno : 0;
}

/* The caller holds the page. */
uint32_t stamp_begin(struct stamped *s, bool zero)
{
	uint32_t number = atomic_load(&s->begun) + 1;

	if (zero)
		atomic_store(&s->zero, number);
	atomic_store(&s->begun, number);
	return number;
}

void stamp_end(struct stamped *s)
{
	atomic_store(&s->done, atomic_load(&s->begun));
}

/* Each word of a page has the number of the page and of the write. */
void stamp_fill(void *buf, unsigned int page, uint32_t number)
{
	uint64_t *word = buf, stamp = (uint64_t)(page + 1) << 32 | number;
	size_t i;

	for (i = 0; i < PAGE_SIZE_ / sizeof(*word); i++)
		word[i] = stamp;
}

/*
 * Is what a read returned, bytes [@from, @from + @len) of a page, as new as the write
 * @done, which was complete when the read began?  A read may return parts of several
 * writes that ran at the time.
 */
bool stamp_is_current(const struct stamped *s, unsigned int page, uint32_t done,
		      const void *buf, size_t from, size_t len)
{
	uint32_t begun = atomic_load(&s->begun), zero = atomic_load(&s->zero);
	size_t at;

	/* Every 31st word: a few of each sector. */
	for (at = (from + 7) & ~7UL; at + 8 <= from + len; at += 31 * 8) {
		uint64_t word;

		memcpy(&word, (const char *)buf + at - from, sizeof(word));
		if (!word && zero >= done)
			continue;
		if (word >> 32 == page + 1 && (uint32_t)word >= done && (uint32_t)word <= begun)
			continue;
		printf("# page %u byte %zu: page %d write %u; %u complete, %u begun, zeros %u\n",
		       page, at, (int)(word >> 32) - 1, (uint32_t)word, done, begun, zero);
		return false;
	}
	return true;
}

/* Wait for a child.  True if it has exited with 0. */
bool child_ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && !status;
}

/* Kill a child, and wait for it.  False if it has ended before. */
bool child_was_killed(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

/* Wait for a child that was killed.  False if it does not end, or has ended before. */
bool child_ends_by_kill(pid_t pid)
{
	double end = mcube_deadline(60);
	int status = 0;
	pid_t got;

	while (!(got = waitpid(pid, &status, WNOHANG)) && mcube_now() < end)
		usleep(10000);
	return got == pid && WIFSIGNALED(status);
}

bool child_runs(pid_t pid)
{
	return !waitpid(pid, NULL, WNOHANG);
}

/* Wait until a child is in a fill, and sleeps there.  False if the child has ended. */
bool setcache_wait_for_fill(pid_t pid)
{
	char path[64], text[4096], *state;

	for (; child_runs(pid); usleep(2000)) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		if (mcube_read(path, text, sizeof(text)) <= 0)
			continue;
		state = strrchr(text, ')');
		if (!state || state[2] != 'D')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stack", pid);
		if (mcube_read(path, text, sizeof(text)) > 0 && strstr(text, "setcache_miss+"))
			return true;
	}
	return false;
}

/* Ways that somebody fills or uses. */
long setcache_ways_in_use(void)
{
	FILE *f = fopen(SETCACHE_SETS, "re");
	long filling, pinned, sum = 0;
	char line[256];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*u %*u %ld %ld", &filling, &pinned) == 2)
			sum += filling + pinned;
	fclose(f);
	return sum;
}

/* Ways that stay in use.  The reads of readers that were killed end when the device answers. */
long setcache_ways_that_stay(void)
{
	double end = mcube_deadline(60);
	long nr;

	while ((nr = setcache_ways_in_use()) && mcube_now() < end)
		usleep(10000);
	return nr;
}
