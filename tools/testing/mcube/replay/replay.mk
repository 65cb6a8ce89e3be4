# SPDX-License-Identifier: GPL-2.0
#
# How the trace replay is built, for its program and for replay_test.c.  Include this file
# after units.mk.
#
# The engines are user-space code: UBSan has to see their signed overflows.

REPLAY_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
REPLAY_SRC := $(filter-out main.c,$(notdir $(wildcard $(REPLAY_DIR)/*.c)))
REPLAY_OBJS := $(addprefix $(O)/replay/,$(REPLAY_SRC:.c=.o))
REPLAY_FLAGS := $(filter-out -fwrapv -fno-strict-aliasing,$(CFLAGS)) $(STRICT) $(INCLUDE)	\
	-I$(TOP)/mm/mcube -I$(TOP)/drivers/mcube

$(O)/replay/%.o: $(REPLAY_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(REPLAY_FLAGS) -c -o $@ $<

-include $(REPLAY_OBJS:.o=.d)
