/* SPDX-License-Identifier: GPL-2.0 */
/* WARN_ON() of tools/include prints and goes on, but a warning must fail the test. */
#ifndef MCUBE_SHIM_BUG_H
#define MCUBE_SHIM_BUG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define WARN_ON(condition) ({						\
	bool __warn = !!(condition);					\
									\
	if (__warn) {							\
		fprintf(stderr, "# %s:%d: WARN_ON(%s)\n",		\
			__FILE__, __LINE__, #condition);		\
		abort();						\
	}								\
	__warn;								\
})
#define WARN_ON_ONCE(condition)	WARN_ON(condition)

#endif
