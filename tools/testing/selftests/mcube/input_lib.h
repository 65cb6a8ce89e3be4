/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bad input for the files of mcube: what each file must refuse, and the proof
 * that no setting has changed.
 *
 * A function prints each text that was not refused as it must be, and returns
 * their number: 0 is a test passed.
 */
#ifndef _SELFTEST_MCUBE_INPUT_LIB_H
#define _SELFTEST_MCUBE_INPUT_LIB_H

#include <stddef.h>

#include "mcube_lib.h"

/* All files that root may write, up to a NULL; and those of modules. */
extern const char * const input_writable[];
extern const char * const input_rocs[];
extern const char * const input_setcache[];

/* Texts that every file with a number refuses, and every switch. */
extern const char * const input_bad_numbers[];
extern const char * const input_bad_switch[];
/* Texts that both address maps refuse. */
extern const char * const input_bad_maps[];

/* The allocator off, with known settings. */
int input_begin(void);

/* All settings as one text. */
void input_snapshot(char *buf, size_t size);

#define INPUT_SNAPSHOT	8192

/* What @run() returns in a child of a user without rights; or a positive number. */
int input_without_rights(int (*run)(void));
/* Files that such a user can write or change, or can read. */
int input_writable_files(const char * const *paths);
int input_readable_files(const char * const *paths);
/* Files of a directory that are not in a table, or that others can write. */
int input_unlisted(const char *dir, const char * const *table);

int input_refused(const char *path, const char * const *texts);
int input_refused_forms(const char *path, const char *valid);

#endif /* _SELFTEST_MCUBE_INPUT_LIB_H */
