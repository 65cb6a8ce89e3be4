/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of SRM-buffer share: files of known contents, and
 * the colors of their cached pages.
 */
#ifndef _SELFTEST_MCUBE_SRM_LIB_H
#define _SELFTEST_MCUBE_SRM_LIB_H

#include "mcube_lib.h"

#define SRM_MOUNT	"/tmp/mcube-srm"
#define SRM_COLORS	16	/* of MCUBE_TEST_COLORS */
#define SRM_PAGES_MAX	4096UL

/* What most of these tests set up: a file on a disk, the policy on. */
struct srm_setup {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char dir[128], file[160];
	bool mounted;
};

const char *srm_unusable(void);
const char *srm_begin(struct srm_setup *s, const char *name);
int srm_switch_on(struct srm_setup *s, unsigned long tl, const char *share);
int srm_end(struct srm_setup *s);
void srm_defaults(void);
long srm_stat(const char *name);
void srm_forget_files(void);
int srm_restart(void);
const char *srm_stay_on_node(void);
void srm_leave_node(void);
long srm_free_pages(void);
int srm_write_file(const char *path, size_t pages);
int srm_read_file(const char *path, size_t pages);
int srm_read_fd(int fd, size_t pages);
int srm_write_code(const char *path, size_t pages);
int srm_as_nobody(int fd, int advice);
long srm_await(const char *stat, long least);
int srm_colors_at(const struct mcube_dim *dim, const char *path, size_t first,
		  size_t pages, unsigned int *color);
int srm_file_colors(const struct mcube_dim *dim, const char *path, size_t pages,
		    unsigned int *color);
int srm_memory_colors(const struct mcube_dim *dim, size_t pages,
		      unsigned int *color);
size_t srm_strays(const unsigned int *color, size_t pages, size_t segment);
size_t srm_repeats(const unsigned int *color, size_t pages, size_t segment);

#endif /* _SELFTEST_MCUBE_SRM_LIB_H */
