// SPDX-License-Identifier: GPL-2.0
/*
 * The current address map and its users
 *
 * Copyright (C) 2026 The mcube authors
 *
 * There is one map.  A user that places pages by the map takes a reference, and
 * the map cannot change while a reference is held: a page must have the same
 * color when it is freed as when it was allocated.  So users read the map
 * without a lock, and the map changes only while it has no users.
 *
 * At boot the boot parameters mcube.color_map= and mcube.bank_map= set the map;
 * without mcube.color_map= the colors are those that the CPU reports
 * (detect.c).  A bad parameter is reported and ignored.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/bug.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "internal.h"
#include "map.h"

static DEFINE_MUTEX(map_lock);
static unsigned int map_users;			/* by map_lock */
static struct mcube_map map = {			/* fixed while map_users */
	.color = { .nr_values = 1 },
	.bank = { .nr_values = 1 },
};

static enum mcube_map_source color_source, bank_source;	/* by map_lock */
static u64 guess_size, llc_size;		/* set once at boot */
static enum mcube_level guess_level;		/* set once at boot */

/* The masks that were found have the level that was found; who writes others knows theirs. */
static enum mcube_level level_of(enum mcube_map_source source)
{
	switch (source) {
	case MCUBE_SOURCE_NONE:
		return MCUBE_LEVEL_NONE;
	case MCUBE_SOURCE_CPUID:
	case MCUBE_SOURCE_CACHEINFO:
		return guess_level;
	default:
		return MCUBE_LEVEL_GIVEN;
	}
}

static struct mcube_dim boot_color __initdata;
static struct mcube_dim boot_bank __initdata;
static u64 boot_cache_size __initdata;

/**
 * mcube_map_get() - take a reference to the address map
 *
 * Context: may sleep.
 * Return: the map, which does not change until mcube_map_put().
 */
const struct mcube_map *mcube_map_get(void)
{
	mutex_lock(&map_lock);
	map_users++;
	mutex_unlock(&map_lock);
	return &map;
}
EXPORT_SYMBOL_NS_GPL(mcube_map_get, MCUBE);

/**
 * mcube_map_put() - drop the reference that mcube_map_get() took
 *
 * Context: may sleep.
 */
void mcube_map_put(void)
{
	mutex_lock(&map_lock);
	if (!WARN_ON_ONCE(!map_users))
		map_users--;
	mutex_unlock(&map_lock);
}
EXPORT_SYMBOL_NS_GPL(mcube_map_put, MCUBE);

/**
 * mcube_map_set_dims() - change the address map
 * @color: the new colors, NULL to keep the present colors
 * @bank: the new banks, NULL to keep the present banks
 * @source: where the new dimensions come from
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if a dimension is not valid, -EBUSY while the map has
 * users.
 */
int mcube_map_set_dims(const struct mcube_dim *color, const struct mcube_dim *bank,
		       enum mcube_map_source source)
{
	int err = 0;

	if ((color && mcube_dim_validate(color, NULL)) ||
	    (bank && mcube_dim_validate(bank, NULL)))
		return -EINVAL;

	mutex_lock(&map_lock);
	if (map_users) {
		err = -EBUSY;
	} else {
		if (color) {
			map.color = *color;
			color_source = color->nr_values == 1 ? MCUBE_SOURCE_NONE : source;
			map.level = level_of(color_source);
		}
		if (bank) {
			map.bank = *bank;
			bank_source = bank->nr_values == 1 ? MCUBE_SOURCE_NONE : source;
		}
	}
	mutex_unlock(&map_lock);
	return err;
}

/**
 * mcube_map_set() - change the address map as a whole
 * @new: the new map
 * @source: where the new map comes from
 *
 * Context: may sleep.
 * Return: as mcube_map_set_dims().
 */
int mcube_map_set(const struct mcube_map *new, enum mcube_map_source source)
{
	return mcube_map_set_dims(&new->color, &new->bank, source);
}

/**
 * mcube_map_need_last_level() - refuse colors of L2 alone
 * @map: the map
 * @file: the file that was written, for the log
 *
 * A share of L2 kept for pages that are used once takes L2 away from its core, and leaves
 * the last level as it was.
 *
 * Return: 0 or -ENXIO.
 */
int mcube_map_need_last_level(const struct mcube_map *map, const char *file)
{
	if (map->level != MCUBE_LEVEL_L2)
		return 0;
	pr_warn_ratelimited("%s: the colors are those of L2 alone, and how the last-level cache is indexed is not known: write its masks to map/color_map or mcube.color_map=\n",
			    file);
	return -ENXIO;
}
EXPORT_SYMBOL_NS_GPL(mcube_map_need_last_level, MCUBE);

/**
 * mcube_map_info() - a copy of the map and what is known about it
 * @info: filled in
 *
 * Context: may sleep.
 */
void mcube_map_info(struct mcube_map_info *info)
{
	mutex_lock(&map_lock);
	info->map = map;
	info->color_source = color_source;
	info->bank_source = bank_source;
	if (color_source == MCUBE_SOURCE_CPUID || color_source == MCUBE_SOURCE_CACHEINFO)
		info->cache_size = guess_size;
	else
		info->cache_size = llc_size;
	mutex_unlock(&map_lock);
}
EXPORT_SYMBOL_NS_GPL(mcube_map_info, MCUBE);

static void __init boot_dim(struct mcube_dim *dim, const char *name, const char *text)
{
	const char *why;

	if (!text)
		text = "";
	if (mcube_dim_parse(dim, text, strlen(text), &why))
		pr_warn("mcube.%s=\"%s\" ignored: %s\n", name, text, why);
}

static int __init boot_color_map(char *text)
{
	boot_dim(&boot_color, "color_map", text);
	return 0;
}
early_param("mcube.color_map", boot_color_map);

static int __init boot_bank_map(char *text)
{
	boot_dim(&boot_bank, "bank_map", text);
	return 0;
}
early_param("mcube.bank_map", boot_bank_map);

static int __init boot_cache(char *text)
{
	char *end = text;

	boot_cache_size = text ? memparse(text, &end) : 0;
	if (!boot_cache_size || *end) {
		pr_warn("mcube.cache_size=\"%s\" ignored: expected bytes, or a number with K, M or G\n",
			text ?: "");
		boot_cache_size = 0;
	}
	return 0;
}
early_param("mcube.cache_size", boot_cache);

static void __init report_guess(const struct mcube_guess *g, enum mcube_map_source source)
{
	static const char * const how[] = {
		[MCUBE_GUESS_DIRECT] = "indexed by address bits",
		[MCUBE_GUESS_SLICE] = "in slices",
		[MCUBE_GUESS_L2] = "L2 alone, as the index of the last-level cache is not known",
	};
	unsigned int colors = 1U << g->nr_masks;

	if (g->how == MCUBE_GUESS_NONE)
		pr_info("colors unknown, give masks in mcube.color_map= or map/color_map\n");
	else
		pr_info("%u colors of %llu KiB each, by %s: L%u, %s\n", colors,
			div_u64(g->size, colors) >> 10,
			source == MCUBE_SOURCE_CPUID ? "CPUID" : "cacheinfo",
			g->level, how[g->how]);
}

static void __init default_map(void)
{
	struct mcube_guess guess;
	enum mcube_map_source source = mcube_detect(&guess);
	struct mcube_dim color;

	guess_size = guess.size;
	guess_level = guess.how == MCUBE_GUESS_L2 ? MCUBE_LEVEL_L2 : MCUBE_LEVEL_LAST;
	llc_size = boot_cache_size ?: guess.llc_size;
	if (!boot_color.nr_values) {
		report_guess(&guess, source);
		if (!mcube_dim_init(&color, guess.mask, guess.nr_masks, NULL))
			mcube_map_set_dims(&color, NULL, source);
	} else {
		mcube_map_set_dims(&boot_color, NULL, MCUBE_SOURCE_CMDLINE);
		pr_info("%u colors by mcube.color_map=\n", boot_color.nr_values);
	}

	if (!boot_bank.nr_values) {
		pr_info("banks unknown, give masks in mcube.bank_map= or map/bank_map\n");
	} else {
		mcube_map_set_dims(NULL, &boot_bank, MCUBE_SOURCE_CMDLINE);
		pr_info("%u banks by mcube.bank_map=\n", boot_bank.nr_values);
	}
}

/* Late, after cacheinfo is filled; before other rooms by the order of Makefile. */
static int __init mcube_init(void)
{
	default_map();
	return 0;
}
late_initcall(mcube_init);
