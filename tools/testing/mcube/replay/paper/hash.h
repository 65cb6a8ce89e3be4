/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM hash: hashes of files and of their pages, with a secret.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Users choose inode numbers and page numbers, but not the secret.  The two hashes that
 * choose a hash slot are of a keyed function for hash tables, hsiphash.  Then no choice of numbers
 * makes more of them share a slot than chance does, and what the sample has chosen spreads
 * over the slots of a ghost stack as all pages would.
 *
 * The sample itself is chosen by a product, as each read of a file that is read at random asks
 * for it.  Only its lower bits follow from lower bits, and no slot follows from it.
 *
 * Sources: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012;
 * Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem",
 * Journal of Algorithms, 1997: products with a random odd number.
 *
 * Pure: integers only.
 */
#ifndef _MM_MCUBE_UBM_HASH_H
#define _MM_MCUBE_UBM_HASH_H

#include <linux/hash.h>
#include <linux/siphash.h>
#include <linux/types.h>

/* The kernel chooses it before the first domain is made; 0 in user space. */
extern hsiphash_key_t mcube_ubm_secret;

/**
 * mcube_ubm_place() - where the sample of a block of pages lies
 * @hash: hash of the file.
 * @block: number of the block.
 *
 * Return: 32 bits; of files of different hashes, or of different blocks, they differ.
 */
static inline u32 mcube_ubm_place(u32 hash, u32 block)
{
	/* The multiplier has to be odd. */
	const u64 factor = GOLDEN_RATIO_64 ^ (u64)mcube_ubm_secret.key[0] << 1;

	return ((u64)hash << 32 | block) * factor >> 32;
}

/**
 * mcube_ubm_print() - fingerprint of a page
 * @hash: hash of the file.
 * @page: index of the page.
 *
 * Return: 32 bits that do not follow from mcube_ubm_place().
 */
static inline u32 mcube_ubm_print(u32 hash, u32 page)
{
	return hsiphash_2u32(hash, page, &mcube_ubm_secret);
}

#endif /* _MM_MCUBE_UBM_HASH_H */
