/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM hash: a multiplicative hash with a secret.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Users choose inode numbers and page numbers.  As the multiplier is not known, they
 * cannot tell which of these share a hash slot.
 *
 * Source: Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair
 * problem", Journal of Algorithms, 1997: for a random odd multiplier, two given numbers
 * rarely collide.
 *
 * Pure: integers only.
 */
#ifndef _MM_MCUBE_UBM_HASH_H
#define _MM_MCUBE_UBM_HASH_H

#include <linux/hash.h>
#include <linux/types.h>

/* The kernel chooses it before the first domain is made; 0 in user space. */
extern u64 mcube_ubm_secret;

/**
 * mcube_ubm_hash_64() - hash_64() with the secret
 * @x: the number.
 *
 * Return: 32 bits.
 */
static inline u32 mcube_ubm_hash_64(u64 x)
{
	/* The multiplier has to be odd. */
	return x * (GOLDEN_RATIO_64 ^ mcube_ubm_secret << 1) >> 32;
}

#endif /* _MM_MCUBE_UBM_HASH_H */
