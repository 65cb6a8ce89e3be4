/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subcommands share: their entries, lines of JSON, progress.
 *
 * Every line on stdout is a JSON object of its own.  {"progress": share, "left_s": seconds}
 * comes meanwhile; the last line has "result", or "error" with what to do in "next", and the
 * exit status is 0 or 1.
 */
#ifndef MCUBE_PROBE_H
#define MCUBE_PROBE_H

#include <stdbool.h>

#define PRINTF(text)	__attribute__((format(printf, text, text + 1)))

int probe_banks(int argc, char **argv);
int probe_color(int argc, char **argv);
int probe_estimate(int argc, char **argv);
int probe_offsets(int argc, char **argv);

int fail(const char *next, const char *format, ...) PRINTF(2);
void progress(double share);

#endif
