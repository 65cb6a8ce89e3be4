/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's header and lib/siphash.c, which tools/include and tools/lib lack: units.mk
 * names the header and compiles the file.
 */
#ifndef MCUBE_SHIM_SIPHASH_H
#define MCUBE_SHIM_SIPHASH_H

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/kconfig.h>
#include <linux/kernel.h>

#define le16_to_cpup(p)	le16_to_cpu(*(const __le16 *)(p))
#define le32_to_cpup(p)	le32_to_cpu(*(const __le32 *)(p))
#define le64_to_cpup(p)	le64_to_cpu(*(const __le64 *)(p))

static inline u64 rol64(u64 word, unsigned int shift)
{
	return word << (shift & 63) | word >> (-shift & 63);
}

#include KERNEL_SIPHASH_H

#endif
