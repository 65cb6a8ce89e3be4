// SPDX-License-Identifier: GPL-2.0
/*
 * The modelled machine: finding it, switching it, describing it.
 *
 * QEMU shows the memory that its plugin shares with us as an ivshmem PCI
 * device. Modelling makes the guest slower by an order of magnitude, so the
 * plugin does it only on request:
 *
 *	control = ON, SIM_CONTROL
 *	   |
 *	   v   the plugin translates the guest's code anew, soon
 *	state = 1 ... all that runs from here on is counted
 *
 * The switch is on while there are users: each perf event is one, and so is
 * the attribute "hold", for who wants warm caches over several measurements.
 *
 * The device is never given back. Events hold no reference that could keep a
 * driver from being unbound under them, so it cannot be unbound.
 */

#define pr_fmt(fmt) "mcube_sim: " fmt

#include <linux/device.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/sysfs.h>

#include "internal.h"

#define SIM_PCI_VENDOR	0x1af4
#define SIM_PCI_DEVICE	0x1110
#define SIM_PCI_BAR	2

/* A request gets lost if it meets the end of the one before: ask again. */
#define SIM_TRY_US	(100 * USEC_PER_MSEC)
#define SIM_TRIES	20

void *sim_shm;

static DEFINE_MUTEX(sim_lock);		/* all below, and sim_header.control */
static unsigned int sim_users;
static bool sim_held;

/* Ask for @control and wait until the machine is in that state. */
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
 * sim_get - have the machine modelled until sim_put()
 *
 * Context: may sleep.
 * Return: 0, or -ETIMEDOUT if the plugin does not react.
 */
int sim_get(void)
{
	guard(mutex)(&sim_lock);
	return sim_get_locked();
}

/**
 * sim_put - the counterpart of sim_get()
 *
 * Context: may sleep.
 */
void sim_put(void)
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

static struct attribute *sim_control_attrs[] = {
	&dev_attr_hold.attr,
	&dev_attr_clear.attr,
	NULL
};

const struct attribute_group sim_control_group = {
	.attrs = sim_control_attrs,
};

static ssize_t name_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	const char *name = sim_header()->name;

	return sysfs_emit(buf, "%.*s\n", (int)sizeof(sim_header()->name), name);
}
static DEVICE_ATTR_RO(name);

static ssize_t figure_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct dev_ext_attribute *ext =
		container_of(attr, struct dev_ext_attribute, attr);
	const u32 *figure = sim_shm + (unsigned long)ext->var;

	return sysfs_emit(buf, "%u\n", READ_ONCE(*figure));
}

#define SIM_FIGURE(name, offset)					\
	(&((struct dev_ext_attribute[]) {				\
		{ __ATTR(name, 0444, figure_show, NULL), (void *)(offset) } \
	})[0].attr.attr)

static struct attribute *sim_machine_attrs[] = {
	&dev_attr_name.attr,
	SIM_FIGURE(line, offsetof(struct sim_header, line)),
	SIM_FIGURE(llc_sets, offsetof(struct sim_header, llc_sets)),
	SIM_FIGURE(llc_ways, offsetof(struct sim_header, llc_ways)),
	SIM_FIGURE(llc_slices, offsetof(struct sim_header, llc_slices)),
	SIM_FIGURE(colors, offsetof(struct sim_header, colors)),
	SIM_FIGURE(banks, offsetof(struct sim_header, banks)),
	SIM_FIGURE(mhz, offsetof(struct sim_header, mhz)),
	NULL
};

const struct attribute_group sim_machine_group = {
	.name = "machine",
	.attrs = sim_machine_attrs,
};

/*
 * The PCI device
 */

static int sim_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct sim_header *h;
	int err;

	/* One machine has one model; a second device is for someone else. */
	if (sim_shm || pci_resource_len(pdev, SIM_PCI_BAR) < SIM_SHM_SIZE)
		return -ENODEV;

	err = pci_enable_device(pdev);
	if (err)
		return err;

	h = memremap(pci_resource_start(pdev, SIM_PCI_BAR), SIM_SHM_SIZE,
		     MEMREMAP_WB);
	if (!h) {
		err = -ENOMEM;
		goto disable;
	}

	err = -ENODEV;
	if (READ_ONCE(h->magic) != SIM_MAGIC) {
		pci_dbg(pdev, "shared memory, but not of mcube's plugin\n");
		goto unmap;
	}
	if (h->version != SIM_VERSION) {
		pr_warn("the plugin speaks version %u, this kernel %u; build both from one tree\n",
			h->version, SIM_VERSION);
		goto unmap;
	}
	if (nr_cpu_ids > SIM_MAX_CPUS) {
		pr_warn("%u CPUs, but the model has at most %u; boot with fewer (-smp, nr_cpus=)\n",
			nr_cpu_ids, SIM_MAX_CPUS);
		goto unmap;
	}

	sim_shm = h;
	err = sim_pmu_register();
	if (err) {
		sim_shm = NULL;
		goto unmap;
	}
	pci_info(pdev, "modelled machine '%.*s'\n", (int)sizeof(h->name),
		 h->name);
	return 0;

unmap:
	memunmap(h);
disable:
	pci_disable_device(pdev);
	return err;
}

static const struct pci_device_id sim_ids[] = {
	{ PCI_DEVICE(SIM_PCI_VENDOR, SIM_PCI_DEVICE) },
	{ }
};

static struct pci_driver sim_driver = {
	.name = "mcube_sim",
	.id_table = sim_ids,
	.probe = sim_probe,
	.driver.suppress_bind_attrs = true,
};
builtin_pci_driver(sim_driver);
