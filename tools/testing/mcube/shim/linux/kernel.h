/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's linux/kernel.h includes limits.h and minmax.h as well. */
#ifndef MCUBE_SHIM_KERNEL_H
#define MCUBE_SHIM_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#endif
