// SPDX-License-Identifier: GPL-2.0-only
/* mdev GPUs: each VF is the parent of at most one mediated device, a small emulated PCI function. */
#include <linux/uaccess.h>
#include "fnv.h"

#define BAR0_SIZE 4096

struct fnv_mdev {
	struct vfio_device vdev;	/* first: vfio_alloc_device() */
	struct fnv_vf *vf;
	struct mutex lock;
	u8 cfg[PCI_CFG_SPACE_SIZE];
	u8 bar0[BAR0_SIZE];
};

static struct fnv_mdev *to_fm(struct vfio_device *vdev)
{
	return container_of(vdev, struct fnv_mdev, vdev);
}

static int fm_open(struct vfio_device *vdev)
{
	struct fnv_vf *vf = to_fm(vdev)->vf;
	int rc = 0;

	mutex_lock(&vf->gpu->lock);
	if (vf->fail_open)
		rc = -(int)vf->fail_open;
	else
		fnv_opened(vf);
	mutex_unlock(&vf->gpu->lock);
	return rc;
}

static void fm_close(struct vfio_device *vdev)
{
	struct fnv_vf *vf = to_fm(vdev)->vf;

	mutex_lock(&vf->gpu->lock);
	fnv_closed(vf);
	mutex_unlock(&vf->gpu->lock);
}

/* The memory behind a region, or NULL; `size` gets its length. */
static u8 *fm_region(struct fnv_mdev *fm, unsigned int index, u64 *size)
{
	switch (index) {
	case VFIO_PCI_CONFIG_REGION_INDEX:
		*size = sizeof(fm->cfg);
		return fm->cfg;
	case VFIO_PCI_BAR0_REGION_INDEX:
		*size = BAR0_SIZE;
		return fm->bar0;
	}
	*size = 0;
	return NULL;
}

static u8 *fm_at(struct fnv_mdev *fm, loff_t pos, size_t *count)
{
	u64 size, off = pos & VFIO_PCI_OFFSET_MASK;
	u8 *mem = fm_region(fm, VFIO_PCI_OFFSET_TO_INDEX(pos), &size);

	if (off >= size)
		return NULL;
	*count = min_t(u64, *count, size - off);
	return mem + off;
}

static ssize_t fm_read(struct vfio_device *vdev, char __user *buf, size_t count, loff_t *ppos)
{
	struct fnv_mdev *fm = to_fm(vdev);
	u8 *mem = fm_at(fm, *ppos, &count);
	ssize_t rc = count;

	mutex_lock(&fm->lock);
	if (!mem || copy_to_user(buf, mem, count))
		rc = -EFAULT;
	mutex_unlock(&fm->lock);
	return rc;
}

/* Bytes of the configuration space that a guest may change: command, BAR 0, interrupt line. */
static u8 cfg_writable(unsigned int off)
{
	if (off == PCI_COMMAND)
		return PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	if (off == PCI_BASE_ADDRESS_0 + 1)
		return 0xf0;
	return off == PCI_BASE_ADDRESS_0 + 2 || off == PCI_BASE_ADDRESS_0 + 3 ||
	       off == PCI_INTERRUPT_LINE ? 0xff : 0;
}

static ssize_t fm_write(struct vfio_device *vdev, const char __user *buf, size_t count, loff_t *ppos)
{
	struct fnv_mdev *fm = to_fm(vdev);
	u8 *mem = fm_at(fm, *ppos, &count), byte, mask;
	bool cfg = VFIO_PCI_OFFSET_TO_INDEX(*ppos) == VFIO_PCI_CONFIG_REGION_INDEX;
	size_t i;

	if (!mem)
		return -EFAULT;
	for (i = 0; i < count; i++) {
		if (get_user(byte, (u8 __user *)buf + i))
			return -EFAULT;
		mutex_lock(&fm->lock);
		mask = cfg ? cfg_writable(mem + i - fm->cfg) : 0xff;
		mem[i] = (mem[i] & ~mask) | (byte & mask);
		mutex_unlock(&fm->lock);
	}
	return count;
}

static long fm_ioctl(struct vfio_device *vdev, unsigned int cmd, unsigned long arg)
{
	struct fnv_mdev *fm = to_fm(vdev);
	void __user *user = (void __user *)arg;
	union {
		struct vfio_device_info dev;
		struct vfio_region_info region;
		struct vfio_irq_info irq;
	} u;
	size_t len;

	switch (cmd) {
	case VFIO_DEVICE_GET_INFO:
		len = offsetofend(struct vfio_device_info, num_irqs);
		break;
	case VFIO_DEVICE_GET_REGION_INFO:
		len = offsetofend(struct vfio_region_info, offset);
		break;
	case VFIO_DEVICE_GET_IRQ_INFO:
		len = offsetofend(struct vfio_irq_info, count);
		break;
	case VFIO_DEVICE_SET_IRQS:
	case VFIO_DEVICE_RESET:
		return 0;
	default:
		return -ENOTTY;
	}
	if (copy_from_user(&u, user, len))
		return -EFAULT;
	if (u.dev.argsz < len)	/* argsz comes first in all three */
		return -EINVAL;
	if (cmd == VFIO_DEVICE_GET_INFO) {
		u.dev.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
		u.dev.num_regions = VFIO_PCI_NUM_REGIONS;
		u.dev.num_irqs = VFIO_PCI_NUM_IRQS;
	} else if (cmd == VFIO_DEVICE_GET_REGION_INFO) {
		if (u.region.index >= VFIO_PCI_NUM_REGIONS)
			return -EINVAL;
		u.region.flags = 0;
		if (fm_region(fm, u.region.index, &u.region.size))
			u.region.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
		u.region.offset = VFIO_PCI_INDEX_TO_OFFSET(u.region.index);
		u.region.cap_offset = 0;
	} else {
		if (u.irq.index >= VFIO_PCI_NUM_IRQS)
			return -EINVAL;
		u.irq.flags = VFIO_IRQ_INFO_EVENTFD;
		u.irq.count = 0;
	}
	return copy_to_user(user, &u, len) ? -EFAULT : 0;
}

static const struct vfio_device_ops fm_ops = {
	.name = "nvidia-vgpu-mdev",
	.open_device = fm_open,
	.close_device = fm_close,
	.read = fm_read,
	.write = fm_write,
	.ioctl = fm_ioctl,
	.bind_iommufd = vfio_iommufd_emulated_bind,
	.unbind_iommufd = vfio_iommufd_emulated_unbind,
	.attach_ioas = vfio_iommufd_emulated_attach_ioas,
	.detach_ioas = vfio_iommufd_emulated_detach_ioas,
};

static struct fnv_vf *mtype_vf(struct mdev_type *mtype)
{
	return dev_get_drvdata(mtype->parent->dev);
}

static const struct fnv_type *mtype_type(struct mdev_type *mtype)
{
	return &fnv_types[mtype - mtype_vf(mtype)->mtypes];
}

static void fm_release_type(struct fnv_vf *vf)
{
	mutex_lock(&vf->gpu->lock);
	vf->type = NULL;
	vf->params[0] = '\0';
	mutex_unlock(&vf->gpu->lock);
}

static int fm_probe(struct mdev_device *mdev)
{
	struct fnv_vf *vf = mtype_vf(mdev->type);
	const struct fnv_type *type = mtype_type(mdev->type);
	struct fnv_mdev *fm;
	int rc = fnv_stall(vf);

	if (rc)
		return rc;
	mutex_lock(&vf->gpu->lock);
	if (vf->refuse_set)
		rc = -(int)vf->refuse_set;
	else if (!fnv_can_create(vf, type))
		rc = -EINVAL;
	else
		vf->type = type;
	mutex_unlock(&vf->gpu->lock);
	if (rc)
		return rc;
	fm = vfio_alloc_device(fnv_mdev, vdev, &mdev->dev, &fm_ops);
	if (IS_ERR(fm)) {
		fm_release_type(vf);
		return PTR_ERR(fm);
	}
	fm->vf = vf;
	mutex_init(&fm->lock);
	*(__le16 *)&fm->cfg[PCI_VENDOR_ID] = cpu_to_le16(PCI_VENDOR_ID_NVIDIA);
	*(__le16 *)&fm->cfg[PCI_DEVICE_ID] = cpu_to_le16(0x26b9);
	*(__le16 *)&fm->cfg[PCI_CLASS_DEVICE] = cpu_to_le16(PCI_CLASS_DISPLAY_3D);
	vf->mdev = fm;
	dev_set_drvdata(&mdev->dev, vf);	/* what the nvidia/ attributes expect */
	rc = vfio_register_emulated_iommu_dev(&fm->vdev);
	if (rc) {
		vfio_put_device(&fm->vdev);
		fm_release_type(vf);
	}
	return rc;
}

static void fm_remove(struct mdev_device *mdev)
{
	struct fnv_vf *vf = dev_get_drvdata(&mdev->dev);

	mutex_lock(&vf->gpu->lock);
	if (vf->open_count)
		vf->writes_while_open++;
	mutex_unlock(&vf->gpu->lock);
	vfio_unregister_group_dev(&vf->mdev->vdev);	/* waits for the last user */
	vfio_put_device(&vf->mdev->vdev);
	vf->mdev = NULL;
	fm_release_type(vf);
}

static unsigned int fm_get_available(struct mdev_type *mtype)
{
	struct fnv_vf *vf = mtype_vf(mtype);
	bool can;

	mutex_lock(&vf->gpu->lock);
	can = fnv_can_create(vf, mtype_type(mtype));
	mutex_unlock(&vf->gpu->lock);
	return can;
}

static ssize_t fm_show_description(struct mdev_type *mtype, char *buf)
{
	const struct fnv_type *type = mtype_type(mtype);

	return sysfs_emit(buf, "num_heads=4, frl_config=60, framebuffer=%uM, max_resolution=7680x4320, max_instance=%u\n",
			  type->fb_mib, mtype_vf(mtype)->gpu->fb_mib / type->fb_mib);
}

static const struct attribute_group *fm_groups[] = { &fnv_mdev_group, NULL };

static struct mdev_driver fm_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.probe = fm_probe,
	.remove = fm_remove,
	.get_available = fm_get_available,
	.show_description = fm_show_description,
	.driver = {
		.name = "nvidia_vgpu_mdev",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
		.dev_groups = fm_groups,
	},
};

int fnv_mdev_init(void)
{
	return mdev_register_driver(&fm_driver);
}

void fnv_mdev_exit(void)
{
	mdev_unregister_driver(&fm_driver);
}

int fnv_mdev_register(struct fnv_vf *vf)
{
	char (*names)[12];
	unsigned int i;
	int rc = -ENOMEM;
	struct device *dev = &vf->pdev->dev;

	vf->mtypes = devm_kcalloc(dev, fnv_ntypes, sizeof(*vf->mtypes), GFP_KERNEL);
	vf->mtype_ptrs = devm_kcalloc(dev, fnv_ntypes, sizeof(*vf->mtype_ptrs), GFP_KERNEL);
	names = devm_kcalloc(dev, fnv_ntypes, sizeof(*names), GFP_KERNEL);
	if (!vf->mtypes || !vf->mtype_ptrs || !names)
		return rc;
	for (i = 0; i < fnv_ntypes; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", fnv_types[i].id);
		vf->mtypes[i].sysfs_name = names[i];
		vf->mtypes[i].pretty_name = fnv_types[i].name;
		vf->mtype_ptrs[i] = &vf->mtypes[i];
	}
	return mdev_register_parent(&vf->mparent, dev, &fm_driver, vf->mtype_ptrs, fnv_ntypes);
}

void fnv_mdev_unregister(struct fnv_vf *vf)
{
	mdev_unregister_parent(&vf->mparent);
}
