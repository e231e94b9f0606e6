// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU emulates no device with NVIDIA's ids, so the ids are laid over emulated NVMe PFs
 * here: their bus gets config accessors that replace a few dwords, and the PFs are then
 * rediscovered by the PCI core, which from there on treats them as GPUs.
 */
#include "fnv.h"

#define FNV_MAX_GPUS 8
#define GPU_ID 0x26b910deU	/* 10de:26b9 */
#define GPU_SUBSYS 0x185110deU
#define GPU_CLASS_REV 0x030200a1U	/* 3D controller, revision a1 */

static struct {
	struct pci_bus *bus;
	struct pci_ops *orig;
	u16 sriov;		/* offset of the PF's SR-IOV capability */
} fnv_bus[FNV_MAX_GPUS];
static unsigned int fnv_nbus;

static unsigned int fnv_bus_find(const struct pci_bus *bus)
{
	unsigned int i = 0;

	for (; bus; bus = bus->parent)	/* a VF may sit on a child bus, which inherits the ops */
		for (i = 0; i < fnv_nbus; i++)
			if (fnv_bus[i].bus == bus)
				return i;
	return i;
}

static u32 fnv_overlay(unsigned int i, unsigned int devfn, int reg, u32 dword)
{
	bool pf = devfn == 0;

	if (pf && reg == PCI_VENDOR_ID)
		return GPU_ID;
	if (reg == PCI_CLASS_REVISION)
		return GPU_CLASS_REV;
	if (reg == PCI_SUBSYSTEM_VENDOR_ID)
		return GPU_SUBSYS;
	if (pf && reg == fnv_bus[i].sriov + PCI_SRIOV_VF_DID - 2)
		return (dword & 0xffff) | (GPU_ID & 0xffff0000);
	return dword;
}

static int fnv_cfg_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	unsigned int i = fnv_bus_find(bus);
	struct pci_ops *orig = fnv_bus[i].orig;
	u32 dword;
	int rc = orig->read(bus, devfn, where & ~3, 4, &dword);

	if (rc)
		return rc;
	if (dword != ~0U || where >= 4)	/* no function there: leave the all-ones alone */
		dword = fnv_overlay(i, devfn, where & ~3, dword);
	*val = dword >> (8 * (where & 3));
	if (size < 4)
		*val &= (1U << (8 * size)) - 1;
	return rc;
}

static int fnv_cfg_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	return fnv_bus[fnv_bus_find(bus)].orig->write(bus, devfn, where, size, val);
}

static struct pci_ops fnv_cfg_ops = { .read = fnv_cfg_read, .write = fnv_cfg_write };

static void fnv_rediscover(struct pci_bus *bus)
{
	struct pci_dev *dev = pci_get_slot(bus, 0);

	if (dev) {
		pci_stop_and_remove_bus_device_locked(dev);
		pci_dev_put(dev);
	}
}

static void fnv_rescan(void)
{
	unsigned int i;

	pci_lock_rescan_remove();
	for (i = 0; i < fnv_nbus; i++)
		pci_rescan_bus(fnv_bus[i].bus);
	pci_unlock_rescan_remove();
}

int fnv_disguise(void)
{
	struct pci_dev *dev = NULL;
	unsigned int i;

	while ((dev = pci_get_device(PCI_VENDOR_ID_REDHAT, 0x0010, dev))) {
		int pos = pci_find_ext_capability(dev, PCI_EXT_CAP_ID_SRIOV);

		if (!pos || dev->is_virtfn || dev->devfn || fnv_nbus == FNV_MAX_GPUS)
			continue;
		fnv_bus[fnv_nbus].sriov = pos;
		fnv_bus[fnv_nbus++].bus = dev->bus;
	}
	for (i = 0; i < fnv_nbus; i++) {
		fnv_bus[i].orig = fnv_bus[i].bus->ops;
		fnv_rediscover(fnv_bus[i].bus);
		pci_bus_set_ops(fnv_bus[i].bus, &fnv_cfg_ops);
	}
	fnv_rescan();
	return fnv_nbus ? 0 : -ENODEV;
}

/* How many disguised PFs have a higher address than this one. */
unsigned int fnv_gpus_after(const struct pci_dev *pdev)
{
	unsigned int i, n = 0;

	for (i = 0; i < fnv_nbus; i++)
		n += fnv_bus[i].bus->number > pdev->bus->number;
	return n;
}

void fnv_undisguise(void)
{
	unsigned int i;

	for (i = 0; i < fnv_nbus; i++) {
		fnv_rediscover(fnv_bus[i].bus);
		pci_bus_set_ops(fnv_bus[i].bus, fnv_bus[i].orig);
	}
	fnv_rescan();
}
