/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bank maps as text, and the report as JSON.
 */
#ifndef MCUBE_PROBE_BANK_TEXT_H
#define MCUBE_PROBE_BANK_TEXT_H

#include "bank.h"

const char *bank_parse(struct solve_map *map, const char *text);
void bank_print(const struct bank_report *r, const char *unit);

#endif
