/* SPDX-License-Identifier: GPL-2.0 */
#include "../../../../../include/linux/mcube_map.h"
