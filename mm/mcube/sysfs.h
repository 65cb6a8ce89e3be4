/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/mm/mcube and what the directories below it share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SYSFS_H
#define _MM_MCUBE_SYSFS_H

#include <linux/kobject.h>
#include <linux/sysfs.h>
#include <linux/types.h>

int mcube_parse_uint(const char *buf, size_t count, unsigned int min,
		     unsigned int max, unsigned int *value);
int mcube_parse_switch(const char *file, const char *buf, size_t count,
		       unsigned int *on);
int mcube_parse_choice(const char *buf, size_t count,
		       const char * const *names, unsigned int nr);
ssize_t mcube_show_choice(char *buf, const char * const *names,
			  unsigned int nr, unsigned int chosen);
unsigned long mcube_sum(const unsigned long __percpu *counter);
struct kobject *mcube_sysfs_add(const char *name,
				const struct attribute * const *files,
				const struct attribute_group *stats);

/* A read-only file with one number. */
#define MCUBE_NUMBER_ATTR(_name, _fmt, _value)				\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, _fmt "\n", _value);			\
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

#endif /* _MM_MCUBE_SYSFS_H */
