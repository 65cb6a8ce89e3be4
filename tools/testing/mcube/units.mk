# SPDX-License-Identifier: GPL-2.0
#
# How the pure sources of mcube are built in user space, under AddressSanitizer and
# UBSan.  The Makefile that includes this file sets O, where everything is put.
#
# Pure sources are compiled as they lie in the kernel tree.  Their kernel headers are
# those of tools/include; shim/ has what is missing there, and each header in it says
# why.  An object lies below $(O) at the path of its source in the kernel tree.

UNITS	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
TOP	:= $(abspath $(UNITS)/../../..)
ifneq ($(wildcard $(TOP)/patches/series),)
BUILD	?= $(TOP)/build
KERNEL	:= $(BUILD)/linux
else
KERNEL	:= $(TOP)
endif
HARNESS	:= $(KERNEL)/tools/testing/selftests/kselftest_harness.h
ifeq ($(wildcard $(HARNESS)),)
$(error $(HARNESS) is missing; run 'make tree' first)
endif

CC	:= gcc
SEED	?= 1
SCALE	?= 1
export SEED SCALE

# Pure sources, below the top of the kernel tree.
PURE	:= $(addprefix mm/mcube/,map/map.c map/offset.c map/parse.c map/cpuid.c	\
		alloc/bins.c								\
		alloc/sort.c alloc/cluster.c alloc/fill.c alloc/even.c			\
		alloc/choice.c srm/color_group.c srm/segment.c)				\
	mm/mcube/ubm/held.c								\
	$(addprefix tools/testing/mcube/replay/paper/,core.c detector.c gain.c ghost.c	\
		guard.c partition.c runs.c table.c)					\
	$(addprefix drivers/mcube/,rocs/profile.c rocs/search.c rocs/phase.c		\
		rocs/plan.c rocs/period.c setcache/set.c setcache/policy.c		\
		setcache/table.c)							\
	$(addprefix tools/mcube/probe/,bank.c cluster.c decide.c solve.c solve_map.c)
# What tools/include declares and does not define inline, below tools/lib.
LIB	:= bitmap.c ctype.c find_bit.c hweight.c vsprintf.c

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
INCLUDE	:= -I$(UNITS)/shim -isystem $(KERNEL)/tools/include				\
	-DKERNEL_SIPHASH_H='"$(KERNEL)/include/linux/siphash.h"'
CFLAGS	:= -std=gnu11 -O2 -g -fno-strict-aliasing -fwrapv -fno-omit-frame-pointer	\
	$(SANITIZE) -DCONFIG_DEBUG_LIST -MMD -MP
STRICT	:= -Wall -Wextra -Werror -Wno-unused-parameter
TEST_INCLUDE := -I$(UNITS) -isystem $(dir $(HARNESS)) \
	-I$(TOP)/mm/mcube -I$(TOP)/drivers/mcube

PURE_OBJS := $(addprefix $(O)/,$(PURE:.c=.o))
SHIM_OBJS := $(addprefix $(O)/tools/lib/,$(LIB:.c=.o)) $(O)/lib/siphash.o $(O)/shim/shim.o

$(PURE_OBJS): $(O)/%.o: $(TOP)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(STRICT) $(INCLUDE) -c -o $@ $<

$(O)/tools/lib/%.o: $(KERNEL)/tools/lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Wall $(INCLUDE) -c -o $@ $<

$(O)/lib/%.o: $(KERNEL)/lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Wall $(INCLUDE) -c -o $@ $<

$(O)/shim/%.o: $(UNITS)/shim/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(STRICT) $(INCLUDE) -c -o $@ $<

.SECONDARY:
-include $(PURE_OBJS:.o=.d) $(SHIM_OBJS:.o=.d)
