// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI driver "nvidia" for the disguised PFs and their VFs, the VFs' sysfs group nvidia/,
 * capacity accounting per PF, and the fault switches in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include "fnv.h"

static uint mdev_gpus;
module_param(mdev_gpus, uint, 0444);
MODULE_PARM_DESC(mdev_gpus, "the last so many PFs have VFs that are mdev parents; VFs of the others are VFIO devices (vendor-specific framework)");
static uint fb_mib = 49152;
module_param(fb_mib, uint, 0444);
MODULE_PARM_DESC(fb_mib, "framebuffer of each PF in MiB");
static bool mixed;
module_param(mixed, bool, 0644);
MODULE_PARM_DESC(mixed, "let one PF carry types of different framebuffer sizes at once");
static uint vfs;
module_param(vfs, uint, 0444);
MODULE_PARM_DESC(vfs, "VFs to enable on each PF at load (0: left to sriov_numvfs)");

static uint catalogue = 1;
module_param(catalogue, uint, 0644);
MODULE_PARM_DESC(catalogue, "format of creatable_vgpu_types; 1: header, id : name; 2: no header, name id");

static struct dentry *fnv_debugfs;

/* Ids and names as a host with an L40S shows them, in its order. */
const struct fnv_type fnv_types[] = {
	{ 1145, "NVIDIA L40S-1B", 1024 },   { 1146, "NVIDIA L40S-2B", 2048 },
	{ 1147, "NVIDIA L40S-1Q", 1024 },   { 1148, "NVIDIA L40S-2Q", 2048 },
	{ 1149, "NVIDIA L40S-3Q", 3072 },   { 1150, "NVIDIA L40S-4Q", 4096 },
	{ 1151, "NVIDIA L40S-6Q", 6144 },   { 1152, "NVIDIA L40S-8Q", 8192 },
	{ 1153, "NVIDIA L40S-12Q", 12288 }, { 1154, "NVIDIA L40S-16Q", 16384 },
	{ 1155, "NVIDIA L40S-24Q", 24576 }, { 1156, "NVIDIA L40S-48Q", 49152 },
	{ 1157, "NVIDIA L40S-1A", 1024 },   { 1158, "NVIDIA L40S-2A", 2048 },
	{ 1159, "NVIDIA L40S-3A", 3072 },   { 1160, "NVIDIA L40S-4A", 4096 },
	{ 1161, "NVIDIA L40S-6A", 6144 },   { 1162, "NVIDIA L40S-8A", 8192 },
	{ 1163, "NVIDIA L40S-12A", 12288 }, { 1164, "NVIDIA L40S-16A", 16384 },
	{ 1165, "NVIDIA L40S-24A", 24576 }, { 1166, "NVIDIA L40S-48A", 49152 },
	{ 2164, "NVIDIA L40S-3B", 3072 },
};
const unsigned int fnv_ntypes = ARRAY_SIZE(fnv_types);

const struct fnv_type *fnv_type_by_id(u32 id)
{
	unsigned int i;

	for (i = 0; i < fnv_ntypes; i++)
		if (fnv_types[i].id == id)
			return &fnv_types[i];
	return NULL;
}

bool fnv_can_create(struct fnv_vf *vf, const struct fnv_type *type)
{
	struct fnv_vf *o;
	u32 used = 0;

	if (vf->type)
		return false;
	list_for_each_entry(o, &vf->gpu->vfs, link) {
		if (!o->type)
			continue;
		used += o->type->fb_mib;
		if (!mixed && o->type->fb_mib != type->fb_mib)
			return false;
	}
	return used + type->fb_mib <= vf->gpu->fb_mib;
}

/* The lowest number that no other VF of the PF has. */
static u32 fnv_placement(struct fnv_vf *vf)
{
	struct fnv_vf *o;
	u32 slot = 0;

again:
	list_for_each_entry(o, &vf->gpu->vfs, link) {
		if (o != vf && o->type && o->placement == slot) {
			slot++;
			goto again;
		}
	}
	return slot;
}

void fnv_opened(struct fnv_vf *vf)
{
	vf->open_count++;
	vf->opened = jiffies;
}

void fnv_closed(struct fnv_vf *vf)
{
	vf->open_count--;
	vf->closed = jiffies;
	/* The kernel closes the file for a process that SIGKILL ended: too early, and the VF falls sick. */
	if ((current->flags & PF_EXITING) && (current->exit_code & 0x7f) == SIGKILL &&
	    time_before(jiffies, vf->opened + msecs_to_jiffies(vf->init_ms)))
		vf->sick = 1;
}

/* ---- sysfs group nvidia/ ---- */

static struct fnv_vf *dev_to_vf(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* wedge=1 blocks the caller killably, wedge=2 uninterruptibly (state D), until set to 0. */
int fnv_stall(struct fnv_vf *vf)
{
	if (vf->delay_ms)
		msleep(vf->delay_ms);
	if (vf->wedge == 1)
		return wait_event_killable(vf->unwedged, !vf->wedge) ? -EINTR : 0;
	wait_event(vf->unwedged, !vf->wedge);
	return 0;
}

static ssize_t creatable_vgpu_types_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct fnv_vf *vf = dev_to_vf(dev);
	ssize_t n = catalogue == 2 ? 0 : sysfs_emit(buf, "ID    : vGPU Name\n");
	const struct fnv_type *t;

	mutex_lock(&vf->gpu->lock);
	for (t = fnv_types; t < fnv_types + fnv_ntypes; t++) {
		if (!fnv_can_create(vf, t))
			continue;
		if (catalogue == 2)
			n += sysfs_emit_at(buf, n, "%-24s %u\n", t->name, t->id);
		else
			n += sysfs_emit_at(buf, n, "%-5u : %s\n", t->id, t->name);
	}
	mutex_unlock(&vf->gpu->lock);
	return n;
}
static DEVICE_ATTR_RO(creatable_vgpu_types);

static ssize_t current_vgpu_type_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct fnv_vf *vf = dev_to_vf(dev);

	return sysfs_emit(buf, "%u\n", vf->type ? vf->type->id : 0);
}

static void fnv_clear_type(struct fnv_vf *vf)
{
	vf->type = NULL;
	vf->params[0] = '\0';
}

static int fnv_set_type(struct fnv_vf *vf, const struct fnv_type *type)
{
	if (vf->refuse_set)
		return -(int)vf->refuse_set;
	if (vf->broken) {
		pci_err(vf->pdev, "vfio_pci_core_device not found\n");
		return -EIO;
	}
	if (!type || !fnv_can_create(vf, type)) {
		fnv_clear_type(vf);	/* a refused type also costs the VF the one it had */
		return -EINVAL;
	}
	vf->placement = fnv_placement(vf);
	vf->type = type;
	return 0;
}

static int fnv_reset_type(struct fnv_vf *vf)
{
	if (vf->refuse_reset)
		return -(int)vf->refuse_reset;
	if (vf->settle_ms && time_before(jiffies, vf->closed + msecs_to_jiffies(vf->settle_ms)))
		return -EPERM;
	if (vf->ignore_resets)
		vf->ignore_resets--;
	else
		fnv_clear_type(vf);
	return 0;
}

static ssize_t current_vgpu_type_store(struct device *dev, struct device_attribute *a,
				       const char *buf, size_t count)
{
	struct fnv_vf *vf = dev_to_vf(dev);
	u32 id;
	int rc = kstrtou32(buf, 10, &id);

	if (rc)
		return rc;
	rc = fnv_stall(vf);
	if (rc)
		return rc;
	mutex_lock(&vf->gpu->lock);
	if (vf->open_count) {
		vf->writes_while_open++;
		rc = -EBUSY;
	} else if (id) {
		rc = fnv_set_type(vf, fnv_type_by_id(id));
	} else {
		rc = fnv_reset_type(vf);
	}
	mutex_unlock(&vf->gpu->lock);
	return rc ?: count;
}
static DEVICE_ATTR_RW(current_vgpu_type);

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct fnv_vf *vf = dev_to_vf(dev);
	ssize_t n;

	mutex_lock(&vf->gpu->lock);
	n = sysfs_emit(buf, "%s\n", vf->params);
	mutex_unlock(&vf->gpu->lock);
	return n;
}

static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *a,
				 const char *buf, size_t count)
{
	struct fnv_vf *vf = dev_to_vf(dev);
	int rc = fnv_stall(vf);

	if (rc)
		return rc;
	if (count >= FNV_PARAMS_MAX)
		return -EINVAL;
	mutex_lock(&vf->gpu->lock);
	if (vf->open_count)
		rc = -EBUSY;
	else if (!vf->type)
		rc = -EINVAL;
	else
		strscpy(vf->params, strim((char *)buf), FNV_PARAMS_MAX);
	mutex_unlock(&vf->gpu->lock);
	return rc ?: count;
}
static DEVICE_ATTR_RW(vgpu_params);

static ssize_t placement_id_show(struct device *dev, struct device_attribute *a, char *buf)
{
	struct fnv_vf *vf = dev_to_vf(dev);

	return vf->type ? sysfs_emit(buf, "%u\n", vf->placement) : -ENXIO;
}
static DEVICE_ATTR_RO(placement_id);

static ssize_t gpu_instance_id_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return -ENXIO;	/* no MIG */
}
static DEVICE_ATTR_RO(gpu_instance_id);

static ssize_t warm_update_show(struct device *dev, struct device_attribute *a, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(warm_update);

static struct attribute *fnv_attrs[] = {
	&dev_attr_creatable_vgpu_types.attr,
	&dev_attr_current_vgpu_type.attr,
	&dev_attr_vgpu_params.attr,
	&dev_attr_placement_id.attr,
	&dev_attr_gpu_instance_id.attr,
	&dev_attr_warm_update.attr,
	NULL
};
static const struct attribute_group fnv_group = { .name = "nvidia", .attrs = fnv_attrs };

static struct attribute *fnv_mdev_attrs[] = { &dev_attr_vgpu_params.attr, NULL };
const struct attribute_group fnv_mdev_group = { .name = "nvidia", .attrs = fnv_mdev_attrs };

/* ---- fault switches: <debugfs>/fake_nvidia_vgpu/<VF address>/ ---- */

static int wedge_get(void *data, u64 *val)
{
	*val = ((struct fnv_vf *)data)->wedge;
	return 0;
}

static int wedge_set(void *data, u64 val)
{
	struct fnv_vf *vf = data;

	vf->wedge = val;
	wake_up_all(&vf->unwedged);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(wedge_fops, wedge_get, wedge_set, "%llu\n");

static void fnv_faults_create(struct fnv_vf *vf)
{
	vf->dir = debugfs_create_dir(pci_name(vf->pdev), fnv_debugfs);
	debugfs_create_u32("refuse_set", 0600, vf->dir, &vf->refuse_set);
	debugfs_create_u32("refuse_reset", 0600, vf->dir, &vf->refuse_reset);
	debugfs_create_u32("ignore_resets", 0600, vf->dir, &vf->ignore_resets);
	debugfs_create_u32("settle_ms", 0600, vf->dir, &vf->settle_ms);
	debugfs_create_u32("fail_open", 0600, vf->dir, &vf->fail_open);
	debugfs_create_u32("delay_ms", 0600, vf->dir, &vf->delay_ms);
	debugfs_create_u32("init_ms", 0600, vf->dir, &vf->init_ms);
	debugfs_create_u32("open_count", 0400, vf->dir, &vf->open_count);
	debugfs_create_u32("writes_while_open", 0600, vf->dir, &vf->writes_while_open);
	debugfs_create_u32("sick", 0600, vf->dir, &vf->sick);
	debugfs_create_file("wedge", 0600, vf->dir, vf, &wedge_fops);
}

/* ---- PCI driver ---- */

static int fnv_probe_pf(struct pci_dev *pdev)
{
	struct fnv_gpu *gpu = devm_kzalloc(&pdev->dev, sizeof(*gpu), GFP_KERNEL);
	int rc;

	if (!gpu)
		return -ENOMEM;
	gpu->pdev = pdev;
	gpu->fb_mib = fb_mib;
	gpu->mdev = fnv_gpus_after(pdev) < mdev_gpus;
	mutex_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->vfs);
	rc = pcim_enable_device(pdev);
	if (rc)
		return rc;
	pci_set_master(pdev);
	pci_set_drvdata(pdev, gpu);
	return 0;
}

static int fnv_probe_vf(struct pci_dev *pdev)
{
	struct fnv_gpu *gpu = pci_get_drvdata(pci_physfn(pdev));
	struct fnv_vf *vf;
	int rc;

	if (gpu->mdev) {
		vf = kzalloc(sizeof(*vf), GFP_KERNEL);
		if (!vf)
			return -ENOMEM;
	} else {
		rc = fnv_vfio_alloc(pdev, &vf);
		if (rc)
			return rc;
	}
	vf->pdev = pdev;
	vf->gpu = gpu;
	vf->init_ms = 3000;
	init_waitqueue_head(&vf->unwedged);
	mutex_lock(&gpu->lock);
	vf->broken = test_bit(pdev->devfn, gpu->unbound);
	list_add_tail(&vf->link, &gpu->vfs);
	mutex_unlock(&gpu->lock);
	pci_set_drvdata(pdev, vf);	/* &vf->core, as vfio_pci_core demands */

	rc = gpu->mdev ? fnv_mdev_register(vf) : fnv_vfio_register(vf);
	if (rc)
		goto err_unlink;
	if (!gpu->mdev) {
		rc = device_add_group(&pdev->dev, &fnv_group);
		if (rc)
			goto err_unregister;
	}
	fnv_faults_create(vf);
	return 0;

err_unregister:
	fnv_vfio_unregister(vf);
err_unlink:
	mutex_lock(&gpu->lock);
	list_del(&vf->link);
	mutex_unlock(&gpu->lock);
	if (gpu->mdev)
		kfree(vf);
	else
		fnv_vfio_free(vf);
	return rc;
}

static void fnv_remove_vf(struct fnv_vf *vf)
{
	debugfs_remove(vf->dir);
	if (vf->gpu->mdev) {
		fnv_mdev_unregister(vf);
	} else {
		device_remove_group(&vf->pdev->dev, &fnv_group);
		fnv_vfio_unregister(vf);
	}
	mutex_lock(&vf->gpu->lock);
	list_del(&vf->link);
	set_bit(vf->pdev->devfn, vf->gpu->unbound);
	mutex_unlock(&vf->gpu->lock);
	if (vf->gpu->mdev)
		kfree(vf);
	else
		fnv_vfio_free(vf);
}

static int fnv_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return pdev->is_virtfn ? fnv_probe_vf(pdev) : fnv_probe_pf(pdev);
}

static void fnv_remove(struct pci_dev *pdev)
{
	if (pdev->is_virtfn)
		fnv_remove_vf(pci_get_drvdata(pdev));
	else
		pci_disable_sriov(pdev);
}

static int fnv_sriov_configure(struct pci_dev *pdev, int n)
{
	struct fnv_gpu *gpu = pci_get_drvdata(pdev);

	bitmap_zero(gpu->unbound, 256);
	return pci_sriov_configure_simple(pdev, n);
}

static const struct pci_device_id fnv_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, 0x26b9) },
	{ }
};
MODULE_DEVICE_TABLE(pci, fnv_ids);

static struct pci_driver fnv_driver = {
	.name = "nvidia",
	.id_table = fnv_ids,
	.probe = fnv_probe,
	.remove = fnv_remove,
	.sriov_configure = fnv_sriov_configure,
	.driver_managed_dma = true,
};

static void fnv_enable_vfs(void)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_NVIDIA, 0x26b9, pdev)))
		if (vfs && !pdev->is_virtfn && pci_dev_driver(pdev) == &fnv_driver)
			fnv_sriov_configure(pdev, vfs);
}

static int __init fnv_init(void)
{
	int rc = fnv_disguise();

	if (rc)
		return rc;
	fnv_debugfs = debugfs_create_dir("fake_nvidia_vgpu", NULL);
	rc = fnv_mdev_init();
	if (rc)
		goto err_debugfs;
	rc = pci_register_driver(&fnv_driver);
	if (rc)
		goto err_mdev;
	fnv_enable_vfs();
	return 0;

err_mdev:
	fnv_mdev_exit();
err_debugfs:
	debugfs_remove(fnv_debugfs);
	fnv_undisguise();
	return rc;
}
module_init(fnv_init);

static void __exit fnv_exit(void)
{
	pci_unregister_driver(&fnv_driver);
	fnv_mdev_exit();
	debugfs_remove(fnv_debugfs);
	fnv_undisguise();
}
module_exit(fnv_exit);

MODULE_DESCRIPTION("Test stand-in for a vGPU host driver");
MODULE_LICENSE("GPL");
