/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has PAGE_SIZE only beside headers that it lacks. */
#ifndef MCUBE_SHIM_PAGE_H
#define MCUBE_SHIM_PAGE_H

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#endif
