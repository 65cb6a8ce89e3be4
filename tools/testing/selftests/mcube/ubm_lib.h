/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of UBM share: memory cgroups, processes that read files
 * in them, and the reads of the device.
 */
#ifndef _SELFTEST_MCUBE_UBM_LIB_H
#define _SELFTEST_MCUBE_UBM_LIB_H

#include "mcube_lib.h"

#define UBM_MOUNT	"/tmp/mcube-ubm"
#define UBM_XFS_MOUNT	"/tmp/mcube-ubm-xfs"
#define UBM_CGROUP	MCUBE_CGROUPS "/mcube-ubm"
#define UBM_BESIDE	MCUBE_CGROUPS "/mcube-ubm-beside"
#define UBM_DEBUGFS	"/sys/kernel/debug/mcube/ubm"
#define UBM_PAGES(mib)	((mib) * (MIB / PAGE_SIZE_))

/* What the tests set up: a disk, a list of pages, a memory cgroup. */
struct ubm_setup {
	char dir[128], lru_gen[32];
	bool mounted, usable;
};

const char *ubm_unusable(void);
const char *ubm_begin(struct ubm_setup *s, const char *lru_gen);
int ubm_end(struct ubm_setup *s);
int ubm_defaults(void);
long ubm_stat(const char *name);
int ubm_cgroup(const char *path, long max_mib, long min_mib);
int ubm_rmdir(const char *path);
long ubm_event(const char *cgroup, const char *file, const char *name);
int ubm_write_file(const char *path, size_t pages);
int ubm_read_once(const char *path, size_t pages);
pid_t ubm_start(const char *cgroup, int (*run)(void *arg), void *arg);
int ubm_finish(pid_t pid);
int ubm_run(const char *cgroup, int (*run)(void *arg), void *arg);
long ubm_device_pages(void);
long ubm_device_reads(void);
long ubm_cached(const char *path, size_t first, size_t pages);

#endif /* _SELFTEST_MCUBE_UBM_LIB_H */
