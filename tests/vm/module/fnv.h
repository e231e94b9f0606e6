/* SPDX-License-Identifier: GPL-2.0-only */
/* fake_nvidia_vgpu: a test stand-in for a vGPU host driver, on emulated SR-IOV functions. */
#ifndef FNV_H
#define FNV_H
#include <linux/mdev.h>
#include <linux/pci.h>
#include <linux/vfio_pci_core.h>
#include <linux/wait.h>

#define FNV_PARAMS_MAX 1024

struct fnv_type {
	u32 id;
	const char *name;
	u32 fb_mib;
};
extern const struct fnv_type fnv_types[];
extern const unsigned int fnv_ntypes;
const struct fnv_type *fnv_type_by_id(u32 id);

/* One physical function. `lock` guards every mutable field of the PF and of its VFs. */
struct fnv_gpu {
	struct pci_dev *pdev;
	struct mutex lock;
	u32 fb_mib;
	bool mdev;			/* its VFs are mdev parents */
	struct list_head vfs;
	DECLARE_BITMAP(unbound, 256);	/* VFs that left the driver since SR-IOV was enabled, by devfn */
};

/* One virtual function. `core` must stay first: vfio_alloc_device() demands offset 0. */
struct fnv_vf {
	struct vfio_pci_core_device core;
	struct pci_dev *pdev;
	struct fnv_gpu *gpu;
	struct list_head link;
	const struct fnv_type *type;	/* NULL: not configured */
	u32 placement;
	char params[FNV_PARAMS_MAX];
	u32 open_count;			/* VFIO device fds opened by user space */
	u32 writes_while_open;		/* type writes and mdev removals that came while it was open */
	bool broken;			/* rebound to the driver: refuses every type */
	u32 sick;			/* killed during initialisation: only a guest would notice */
	unsigned long opened, closed;	/* jiffies */
	/* fault switches (debugfs); errno values are positive, 0 is off */
	u32 refuse_set, refuse_reset, ignore_resets, settle_ms, fail_open, delay_ms, wedge, init_ms;
	wait_queue_head_t unwedged;
	struct dentry *dir;
	/* mdev GPUs only */
	struct mdev_parent mparent;
	struct mdev_type *mtypes;
	struct mdev_type **mtype_ptrs;
	struct fnv_mdev *mdev;
};

/* These three are called with gpu->lock held. */
bool fnv_can_create(struct fnv_vf *vf, const struct fnv_type *type);
void fnv_opened(struct fnv_vf *vf);
void fnv_closed(struct fnv_vf *vf);

/* The faults delay_ms and wedge: may sleep, 0 or -EINTR; called without locks. */
int fnv_stall(struct fnv_vf *vf);

/* vfio.c: the VF is its own VFIO device */
int fnv_vfio_alloc(struct pci_dev *pdev, struct fnv_vf **out);
int fnv_vfio_register(struct fnv_vf *vf);
void fnv_vfio_unregister(struct fnv_vf *vf);
void fnv_vfio_free(struct fnv_vf *vf);
/* mdev.c: the VF is the parent of one mediated device */
extern const struct attribute_group fnv_mdev_group;
int fnv_mdev_init(void);
void fnv_mdev_exit(void);
int fnv_mdev_register(struct fnv_vf *vf);
void fnv_mdev_unregister(struct fnv_vf *vf);
/* disguise.c: makes the emulated PFs read as NVIDIA GPUs in PCI configuration space */
int fnv_disguise(void);
void fnv_undisguise(void);
unsigned int fnv_gpus_after(const struct pci_dev *pdev);
#endif
