/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tools/include has few of the kernel's atomic functions, and in assembly, which
 * ThreadSanitizer does not see.  The functions here are the compiler's.
 */
#ifndef MCUBE_SHIM_ATOMIC_H
#define MCUBE_SHIM_ATOMIC_H

#include <linux/types.h>
#include <asm/barrier.h>

#define atomic_read(v)		__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_read_acquire(v)	__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_inc(v)		((void)__atomic_fetch_add(&(v)->counter, 1, __ATOMIC_SEQ_CST))
#define atomic_fetch_sub_release(i, v)	__atomic_fetch_sub(&(v)->counter, i, __ATOMIC_RELEASE)
#if defined(__x86_64__)
/* Here atomic_inc() is a full barrier, as in the kernel. */
#define smp_mb__after_atomic()	barrier()
#else
/* Other machines need the barrier. */
#define smp_mb__after_atomic()	smp_mb()
#endif

#define cmpxchg(ptr, old, new) ({						\
	typeof(ptr) __ptr = (ptr);						\
	typeof(*__ptr) __old = (old);						\
										\
	__atomic_compare_exchange_n(__ptr, &__old, new, false, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_SEQ_CST);				\
	__old;									\
})

#endif
