/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The current address map, for the rooms that place pages by it.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_MAP_MAP_H
#define _MM_MCUBE_MAP_MAP_H

#include <linux/mcube_map.h>

/**
 * enum mcube_map_source - where a dimension of the map came from
 * @MCUBE_SOURCE_NONE: no source; there is one color, or one bank.
 * @MCUBE_SOURCE_CPUID: CPUID leaf 4, or AMD's leaf 0x8000001d.
 * @MCUBE_SOURCE_CACHEINFO: struct cacheinfo, as the architecture filled it.
 * @MCUBE_SOURCE_CMDLINE: a boot parameter.
 * @MCUBE_SOURCE_SYSFS: a write to map/.
 * @MCUBE_NR_SOURCES: number of sources.
 */
enum mcube_map_source {
	MCUBE_SOURCE_NONE,
	MCUBE_SOURCE_CPUID,
	MCUBE_SOURCE_CACHEINFO,
	MCUBE_SOURCE_CMDLINE,
	MCUBE_SOURCE_SYSFS,
	MCUBE_NR_SOURCES,
};

/**
 * struct mcube_map_info - the current map and what is known about it
 * @map: the map.
 * @color_source: where the color masks came from.
 * @bank_source: where the bank masks came from.
 * @cache_size: bytes of the cache that the colors divide, 0 if not known.
 */
struct mcube_map_info {
	struct mcube_map map;
	enum mcube_map_source color_source;
	enum mcube_map_source bank_source;
	u64 cache_size;
};

const struct mcube_map *mcube_map_get(void);
void mcube_map_put(void);
int mcube_map_set(const struct mcube_map *map, enum mcube_map_source source);
int mcube_map_set_dims(const struct mcube_dim *color, const struct mcube_dim *bank,
		       enum mcube_map_source source);
int mcube_map_need_last_level(const struct mcube_map *map, const char *file);
void mcube_map_info(struct mcube_map_info *info);

#endif /* _MM_MCUBE_MAP_MAP_H */
