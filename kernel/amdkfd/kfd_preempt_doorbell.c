// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Maps doorbell pages by faults, so that the first store of an idle process is
 * seen.
 */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include <drm/drm_drv.h>

#include "amdgpu.h"
#include "kfd_preempt_compat.h"

#define KFD_PREEMPT_FS_MAGIC 0x4b465051 /* "KFPQ" */

/**
 * DOC: Doorbell pages
 *
 * A process submits work by a store to a page of the doorbell BAR. KFD maps
 * these pages when the process asks for them; here they are mapped by the first
 * store instead, and ARM of a watch unmaps them. So the store that ends an idle
 * time faults, and no other does.
 *
 * Each process has an address space (struct address_space) of its own for all
 * its files of /dev/kfd, as DRM has one for each device. unmap_mapping_range()
 * then finds every mapping of the doorbells of a process, however often it was
 * mapped, moved or split, and takes no lock of its mm.
 *
 * Neither side holds a lock across both of its steps:
 *
 *	fault	map the pages, then read and clear "armed" and report
 *	ARM	set "armed", then unmap the pages, then look at the queues
 *
 * Pages that are mapped after an ARM were mapped by a fault that began to read
 * "armed" after it was set, so that fault reports. "Armed and mapped" never lasts.
 */

/*
 * A file system only for inodes, as DRM has one. It has no owner: only a
 * kfd_process holds an inode of it, and amdgpu waits for the last kfd_process
 * when it is unloaded.
 */
static int init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, KFD_PREEMPT_FS_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type doorbell_fs = {
	.name = "kfd_preempt",
	.init_fs_context = init_fs_context,
	.kill_sb = kill_anon_super,
};

static struct vfsmount *doorbell_mount;
static int doorbell_mount_users;

static struct inode *new_inode_of_process(struct kfd_process *p)
{
	struct inode *inode;
	int ret = simple_pin_fs(&doorbell_fs, &doorbell_mount, &doorbell_mount_users);

	if (ret)
		return ERR_PTR(ret);
	inode = alloc_anon_inode(doorbell_mount->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&doorbell_mount, &doorbell_mount_users);
	else
		inode->i_private = p;
	return inode;
}

static void free_inode_of_process(struct inode *inode)
{
	iput(inode);
	simple_release_fs(&doorbell_mount, &doorbell_mount_users);
}

/*
 * No file of the process is left, so none of its doorbells is mapped. The pdds
 * are gone: KFD frees their resources with the last reference to the device.
 */
void kfd_preempt_doorbells_fini(struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->preempt.drm); i++)
		if (p->preempt.drm[i])
			drm_dev_put(p->preempt.drm[i]);
	if (p->preempt.inode)
		free_inode_of_process(p->preempt.inode);
}

/**
 * kfd_preempt_file_open - a process has opened /dev/kfd
 * @filep: the new file; the process is its private_data
 *
 * If memory is short, the file keeps the address space of the device, and
 * doorbells mapped through it are not watched.
 */
void kfd_preempt_file_open(struct file *filep)
{
	struct kfd_process *p = filep->private_data;
	struct inode *inode = READ_ONCE(p->preempt.inode);

	if (!kfd_preempt_enabled())
		return;
	if (!inode) {
		inode = new_inode_of_process(p);
		if (IS_ERR(inode))
			return;
		/* Two threads may open at once. */
		if (cmpxchg(&p->preempt.inode, NULL, inode)) {
			free_inode_of_process(inode);
			inode = READ_ONCE(p->preempt.inode);
		}
	}
	/* A file may get another process later (7.2), and keeps this address space. */
	kref_get(&p->ref);
	filep->f_mapping = inode->i_mapping;
}

/* Newer trees have an address space for all files of the device, which is not that of its inode. */
void kfd_preempt_doorbell_file_release(struct file *filep)
{
	struct inode *inode = filep->f_mapping->host;

	if (inode->i_sb->s_magic == KFD_PREEMPT_FS_MAGIC)
		kfd_unref_process(inode->i_private);
}

static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct kfd_process_device *pdd = vma->vm_private_data;
	unsigned long addr, pfn;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	struct drm_device *drm;
	u32 doorbell;
	int idx;

	/* The GPU is gone, or the driver was unbound from it. */
	drm = pdd->process->preempt.drm[kfd_preempt_gpu_index(pdd)];
	if (!drm_dev_enter(drm, &idx))
		return ret;
	/* vm_pgoff was 0 below the GPU id; what splits and moves the VMA adds to it. */
	pfn = pdd->preempt.pfn + (vma->vm_pgoff & KFD_PREEMPT_DOORBELL_PGOFF);
	/* Map all: SDMA queues have their doorbells in another page. */
	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE, pfn++) {
		ret = vmf_insert_pfn(vma, addr, pfn);
		if (ret != VM_FAULT_NOPAGE)
			break;
	}
	if (ret == VM_FAULT_NOPAGE) {
		doorbell = ((vmf->pgoff & KFD_PREEMPT_DOORBELL_PGOFF) << PAGE_SHIFT) |
			   offset_in_page(kfd_preempt_fault_address(vmf));
		kfd_preempt_watch_rang(pdd, doorbell);
	}
	drm_dev_exit(idx);
	return ret;
}

/*
 * Maps no pages around the fault. But with this operation the fault is handled
 * under the lock of the VMA alone, so a ring never waits for a writer of
 * mmap_lock.
 */
static KFD_PREEMPT_MAP_PAGES_TYPE doorbell_map_pages(struct vm_fault *vmf, pgoff_t start,
						     pgoff_t end)
{
	return KFD_PREEMPT_MAP_PAGES_NONE;
}

static const struct vm_operations_struct doorbell_ops = {
	.map_pages = doorbell_map_pages,
	.fault = doorbell_fault,
};

/**
 * kfd_preempt_doorbell_mmap - a process maps its doorbells on a GPU
 * @pdd: process and GPU
 * @vma: the mapping; KFD has set its flags and protection
 * @address: of the doorbells on the bus
 *
 * Some mappings cannot be found again or must not be mapped page by page: those
 * through a file of another process, and private ones, on which
 * vmf_insert_pfn() is a BUG(). If the driver itself unmaps idle doorbells, no
 * mapping is accepted.
 *
 * Return: true if the pages will be mapped by faults, false if the caller is to
 * map them now.
 */
bool kfd_preempt_doorbell_mmap(struct kfd_process_device *pdd,
			       struct vm_area_struct *vma, phys_addr_t address)
{
	struct inode *inode = READ_ONCE(pdd->process->preempt.inode);
	struct drm_device **drm;

	if (!inode || kfd_preempt_others_take_doorbells() ||
	    vma->vm_file->f_mapping != inode->i_mapping || !(vma->vm_flags & VM_SHARED)) {
		WRITE_ONCE(pdd->preempt.blind, true);
		return false;
	}
	drm = &pdd->process->preempt.drm[kfd_preempt_gpu_index(pdd)];
	if (!*drm) {
		*drm = adev_to_drm(pdd->dev->adev);
		drm_dev_get(*drm);
	}
	pdd->preempt.pfn = address >> PAGE_SHIFT;
	vma->vm_private_data = pdd;
	vma->vm_ops = &doorbell_ops;
	/* Clear what the program has put below the id of the GPU. */
	vma->vm_pgoff = (KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(pdd->dev->id)) >> PAGE_SHIFT;
	return true;
}

/**
 * kfd_preempt_doorbell_remap - io_remap_pfn_range() for a process' doorbells
 * @pdd: process and GPU
 * @address: of the doorbells on the bus
 * @vma: the mapping; KFD has set its flags and protection
 * @start: as io_remap_pfn_range() takes it
 * @pfn: likewise
 * @size: likewise
 * @prot: likewise
 *
 * For trees that make this call under a lock, where a hook cannot return early.
 *
 * Return: 0, or the error of io_remap_pfn_range().
 */
int kfd_preempt_doorbell_remap(struct kfd_process_device *pdd, phys_addr_t address,
			       struct vm_area_struct *vma, unsigned long start,
			       unsigned long pfn, unsigned long size, pgprot_t prot)
{
	if (kfd_preempt_doorbell_mmap(pdd, vma, address))
		return 0;
	return io_remap_pfn_range(vma, start, pfn, size, prot);
}

/**
 * kfd_preempt_doorbells_unmap - unmap the doorbells of a process on all GPUs
 * @p: the process, referenced
 */
void kfd_preempt_doorbells_unmap(struct kfd_process *p)
{
	struct inode *inode = READ_ONCE(p->preempt.inode);

	/* The type is in the two top bits. */
	if (inode)
		unmap_mapping_range(inode->i_mapping, KFD_MMAP_TYPE_DOORBELL,
				    BIT_ULL(KFD_MMAP_TYPE_SHIFT), 1);
}
