// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI device of the modelled machine.
 *
 * QEMU shows the memory that its plugin shares with the guest as an ivshmem
 * PCI device. This file finds the device, checks that the plugin is there and
 * has the version of this kernel, and registers the PMU.
 *
 * The driver keeps the device for good. perf events hold no reference that
 * could keep the driver bound while they exist, so the driver cannot be
 * unbound.
 */

#define pr_fmt(fmt) "mcube_sim: " fmt

#include <linux/io.h>
#include <linux/pci.h>

#include "internal.h"

#define SIM_PCI_VENDOR	0x1af4
#define SIM_PCI_DEVICE	0x1110
#define SIM_PCI_BAR	2

static int sim_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct sim_header *h;
	int err;

	/* A guest has one model; a second device belongs to another driver. */
	if (mcube_sim_shm || pci_resource_len(pdev, SIM_PCI_BAR) < SIM_SHM_SIZE)
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
		pci_dbg(pdev, "the shared memory is not that of mcube's plugin\n");
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

	mcube_sim_shm = h;
	err = mcube_sim_pmu_register();
	if (err) {
		mcube_sim_shm = NULL;
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
