/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steps of mcube_fuzz.c.
 */
#ifndef _SELFTEST_MCUBE_FUZZ_STEPS_H
#define _SELFTEST_MCUBE_FUZZ_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define FUZZ_STEPS	40
#define FUZZ_PAGES	512	/* most pages that a step uses */
#define FUZZ_THP	"/sys/kernel/mm/transparent_hugepage/enabled"

/*
 * Load the modules whose files are there, look for memory blocks, and let allocations fail
 * for a task that asks for failures.
 */
void fuzz_begin(void);
void fuzz_end(void);

/*
 * All steps of one process, which exits with 0 if nothing was wrong.  @alone: no
 * other process writes to the control files.  @dir: a directory for files.
 */
void fuzz_write(uint64_t seed, bool alone, const char *dir);

/* Is the file one that fuzz_write() writes to? */
bool fuzz_knows(const char *path);

/* Memory blocks and CPUs are online again, and the pool of huge pages is empty. */
void fuzz_restore(void);

#endif /* _SELFTEST_MCUBE_FUZZ_STEPS_H */
