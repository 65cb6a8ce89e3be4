/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device of the device mapper with parts that fail, wait, or are as the device below.
 *
 * Functions that can fail return a negative errno unless said otherwise.
 */
#ifndef _SELFTEST_MCUBE_DM_LIB_H
#define _SELFTEST_MCUBE_DM_LIB_H

#include <stdbool.h>
#include <stdint.h>

#define DM_PARTS	16U

/**
 * struct dm_device - the device
 * @path: its name in /dev, or "" if there is no device.
 * @name: the last part of @path.
 * @below: numbers of the device below.
 * @broken: numbers of a device whose requests all fail.
 * @sectors: its size.
 * @nr: number of parts.
 * @part: sectors [@first, @end) that dm_set() changes, in order.
 */
struct dm_device {
	char path[32], below[32], broken[32];
	const char *name;
	uint64_t sectors;
	unsigned int nr;
	struct {
		uint64_t first, end;
	} part[DM_PARTS];
};

const char *dm_open(struct dm_device *d, const char *below);
int dm_add_part(struct dm_device *d, uint64_t first, uint64_t sectors);
int dm_add_pages(struct dm_device *d, const char *file, uint64_t first, uint64_t nr);
uint64_t dm_place(int fd, uint64_t page);
int dm_set(const struct dm_device *d, const char *target, const char *args);
int dm_fail_writes(const struct dm_device *d);
int dm_delay_reads(const struct dm_device *d, unsigned int ms);
int dm_heal(const struct dm_device *d);
int dm_hold(void);
int dm_go_on(void);
int dm_close(struct dm_device *d);

struct setcache_setup;

const char *dm_begin_file(struct dm_device *d, struct setcache_setup *s, const char *type,
			  const char *below, unsigned int pages);
const char *dm_begin_device(struct dm_device *d, struct setcache_setup *s, unsigned int pages);

#endif /* _SELFTEST_MCUBE_DM_LIB_H */
