// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled machine: switching the model on and off, and describing the
 * machine in sysfs.
 *
 * Modelling slows the guest down by an order of magnitude, so the plugin does
 * it only on request:
 *
 *	control = ON, SIM_CONTROL
 *	   |
 *	   v   the plugin soon translates the guest's code anew
 *	state = 1 ... everything that runs from here on is counted
 *
 * The model is on while it has users. Each perf event is a user. The attribute
 * "hold" is a user too: it keeps caches warm over several measurements.
 */

#define pr_fmt(fmt) "mcube_sim: " fmt

#include <linux/device.h>
#include <linux/iopoll.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "internal.h"

/*
 * The plugin drops a request that arrives while it completes the previous
 * request, so retry.
 */
#define SIM_TRY_US	(100 * USEC_PER_MSEC)
#define SIM_TRIES	20

void *mcube_sim_shm;

/* Protects the variables below and sim_header.control. */
static DEFINE_MUTEX(sim_lock);
static unsigned int sim_users;
static bool sim_held;

/* Ask for @control and wait until the model is in that state. */
static int sim_control(u32 control)
{
	struct sim_header *h = sim_header();
	u32 want = !!(control & SIM_CTL_ON), state;
	int i, err;

	lockdep_assert_held(&sim_lock);

	WRITE_ONCE(h->control, control);
	for (i = 0; i < SIM_TRIES; i++) {
		asm volatile(SIM_CONTROL ::: "memory");
		err = read_poll_timeout(READ_ONCE, state, state == want, 100,
					SIM_TRY_US, false, h->state);
		if (!err)
			return 0;
	}
	pr_warn_once("the model does not switch %s; is QEMU's plugin of the version of this kernel?\n",
		     want ? "on" : "off");
	return err;
}

static int sim_get_locked(void)
{
	int err = 0;

	if (!sim_users)
		err = sim_control(SIM_CTL_ON);
	if (!err)
		sim_users++;
	return err;
}

static void sim_put_locked(void)
{
	if (!--sim_users)
		sim_control(0);
}

/**
 * mcube_sim_get - keep the model on until mcube_sim_put()
 *
 * Context: may sleep.
 * Return: 0, or -ETIMEDOUT if the plugin does not react.
 */
int mcube_sim_get(void)
{
	guard(mutex)(&sim_lock);
	return sim_get_locked();
}

/**
 * mcube_sim_put - drop a user of the model; without users the model goes off
 *
 * Context: may sleep.
 */
void mcube_sim_put(void)
{
	guard(mutex)(&sim_lock);
	sim_put_locked();
}

/*
 * sysfs, in the directory of the PMU
 */

static ssize_t hold_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(sim_held));
}

static ssize_t hold_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t len)
{
	bool hold;
	int err;

	err = kstrtobool(buf, &hold);
	if (err)
		return err;

	guard(mutex)(&sim_lock);
	if (hold == sim_held)
		return len;
	if (hold) {
		err = sim_get_locked();
		if (err)
			return err;
	} else {
		sim_put_locked();
	}
	sim_held = hold;
	return len;
}
static DEVICE_ATTR_RW(hold);

static ssize_t clear_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t len)
{
	bool clear;
	int err;

	err = kstrtobool(buf, &clear);
	if (err)
		return err;
	if (!clear)
		return -EINVAL;

	guard(mutex)(&sim_lock);
	err = sim_control(SIM_CTL_ON | SIM_CTL_CLEAR);
	if (sim_users)
		WRITE_ONCE(sim_header()->control, SIM_CTL_ON);
	else
		sim_control(0);
	return err ?: len;
}
static DEVICE_ATTR_WO(clear);

static ssize_t pages_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(sim_header()->marks));
}

static ssize_t pages_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t len)
{
	struct sim_header *h = sim_header();
	bool mark;
	u32 before;
	int err;

	err = kstrtobool(buf, &mark);
	if (err)
		return err;
	if (!mark)
		return -EINVAL;
	if (!READ_ONCE(h->frames))
		return -EOPNOTSUPP;

	guard(mutex)(&sim_lock);
	before = READ_ONCE(h->marks);
	/* The plugin ends the interval before the next instruction. */
	WRITE_ONCE(h->control, (sim_users ? SIM_CTL_ON : 0) | SIM_CTL_PAGES);
	asm volatile(SIM_CONTROL ::: "memory");
	WRITE_ONCE(h->control, sim_users ? SIM_CTL_ON : 0);
	return READ_ONCE(h->marks) == before ? -ETIMEDOUT : len;
}
static DEVICE_ATTR_RW(pages);

static struct attribute *sim_control_attrs[] = {
	&dev_attr_hold.attr,
	&dev_attr_clear.attr,
	&dev_attr_pages.attr,
	NULL
};

const struct attribute_group mcube_sim_control_group = {
	.attrs = sim_control_attrs,
};

static ssize_t name_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	const char *name = sim_header()->name;

	return sysfs_emit(buf, "%.*s\n", (int)sizeof(sim_header()->name), name);
}
static DEVICE_ATTR_RO(name);

static ssize_t parameter_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *ext =
		container_of(attr, struct dev_ext_attribute, attr);
	const u32 *parameter = mcube_sim_shm + (unsigned long)ext->var;

	return sysfs_emit(buf, "%u\n", READ_ONCE(*parameter));
}

#define SIM_PARAMETER(name, offset)					\
	(&((struct dev_ext_attribute[]) {				\
		{ __ATTR(name, 0444, parameter_show, NULL), (void *)(offset) } \
	})[0].attr.attr)

static struct attribute *sim_machine_attrs[] = {
	&dev_attr_name.attr,
	SIM_PARAMETER(line, offsetof(struct sim_header, line)),
	SIM_PARAMETER(llc_sets, offsetof(struct sim_header, llc_sets)),
	SIM_PARAMETER(llc_ways, offsetof(struct sim_header, llc_ways)),
	SIM_PARAMETER(llc_slices, offsetof(struct sim_header, llc_slices)),
	SIM_PARAMETER(colors, offsetof(struct sim_header, colors)),
	SIM_PARAMETER(banks, offsetof(struct sim_header, banks)),
	SIM_PARAMETER(mhz, offsetof(struct sim_header, mhz)),
	NULL
};

const struct attribute_group mcube_sim_machine_group = {
	.name = "machine",
	.attrs = sim_machine_attrs,
};
