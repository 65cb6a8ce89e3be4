/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/mm/mcube and what the directories below it share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SYSFS_H
#define _MM_MCUBE_SYSFS_H

#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>
#include <linux/types.h>

int mcube_parse_uint(const char *buf, size_t count, unsigned int min,
		     unsigned int max, unsigned int *value);
int mcube_parse_switch(const char *file, const char *buf, size_t count,
		       unsigned int *on);
int mcube_parse_choice(const char *buf, size_t count,
		       const char * const *names, unsigned int nr);
unsigned long mcube_sum(const unsigned long __percpu *counter);
struct kobject *mcube_sysfs_add(const char *name,
				const struct attribute * const *files,
				const struct attribute_group *stats);

/**
 * struct mcube_setting - a file with a number or a choice, which root may write
 * @attr: the file.
 * @room: name of the directory below /sys/kernel/mm/mcube/.
 * @value: what a read shows.
 * @min: least number.
 * @max: greatest number.
 * @unit: what the numbers count, for the kernel log; NULL if they count nothing.
 * @names: a word for each number from 0 to @max, which are read and written instead; or NULL.
 * @lock: held while @value is written; NULL if @value may change at any time.
 * @set: takes the number in place of @value, or returns an error: -EBUSY where the setting
 *       changes only while the room is off.  NULL if @value is written.
 */
struct mcube_setting {
	struct kobj_attribute attr;
	const char *room;
	unsigned int *value;
	unsigned int min;
	unsigned int max;
	const char *unit;
	const char * const *names;
	struct mutex *lock;	/* of what uses @value */
	int (*set)(unsigned int number);
};

ssize_t mcube_setting_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf);
ssize_t mcube_setting_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			    size_t count);

/* A setting of numbers from _min to _max; other members of struct mcube_setting follow. */
#define MCUBE_SETTING(_room, _name, _value, _min, _max, ...)		\
static struct mcube_setting _name##_setting = {				\
	.attr = {							\
		.attr = { .name = #_name, .mode = 0644 },		\
		.show = mcube_setting_show,				\
		.store = mcube_setting_store,				\
	},								\
	.room = _room,							\
	.value = &(_value),						\
	.min = _min,							\
	.max = _max,							\
	__VA_ARGS__							\
}

/* A setting that is one of _nr words. */
#define MCUBE_CHOICE(_room, _name, _value, _names, _nr, ...)		\
	MCUBE_SETTING(_room, _name, _value, 0, (_nr) - 1, .names = _names, __VA_ARGS__)

/* A read-only file with one number. */
#define MCUBE_NUMBER_ATTR(_name, _fmt, _value)				\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, _fmt "\n", _value);			\
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

#endif /* _MM_MCUBE_SYSFS_H */
