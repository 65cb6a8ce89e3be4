/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include defines PAGE_SIZE only in a header that includes headers it lacks. */
#ifndef MCUBE_SHIM_PAGE_H
#define MCUBE_SHIM_PAGE_H

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#endif
