/* SPDX-License-Identifier: GPL-2.0 */
/* ThreadSanitizer does not take the loads and stores of tools/include for atomic ones. */
#ifndef MCUBE_SHIM_BARRIER_H
#define MCUBE_SHIM_BARRIER_H

#include_next <asm/barrier.h>

#undef smp_load_acquire
/* Pairs with a release, as the kernel's. */
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#undef smp_store_release
/* Pairs with an acquire, as the kernel's. */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
