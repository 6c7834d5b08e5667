// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reads the indexes of rings from memory of processes, without waiting for
 * them.
 */

#include <linux/dma-resv.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include <drm/drm_drv.h>
#include <drm/drm_vma_manager.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_tt.h>

#include "amdgpu_object.h"
#include "amdgpu_res_cursor.h"
#include "kfd_preempt_compat.h"

/**
 * DOC: Indexes of rings
 *
 * A process chooses where they are: ROCm uses a buffer of the driver, other
 * programs their own memory. A process can make a fault there wait forever
 * (userfaultfd, FUSE) and hold its mmap_lock meanwhile. So this code faults no
 * page in and only trylocks; what it cannot read is unknown. A ring may be in VRAM:
 * that is read through the BAR, eight bytes at a time.
 */

/* The HSA architecture's packets, and amd_signal_t of amd_hsa_signal.h (ROCr). */
#define AQL_PACKET_BYTES 64
#define AQL_PACKET_SIGNAL 56
#define AMD_SIGNAL_KIND 0
#define AMD_SIGNAL_KIND_USER 1
#define AMD_SIGNAL_VALUE 8

static u64 read_page(struct page *page, unsigned long addr)
{
	void *at = kmap_local_page(page);
	u64 value = READ_ONCE(*(u64 *)(at + offset_in_page(addr)));

	kunmap_local(at);
	return value;
}

/* Reads from VRAM of one of our GPUs through the BAR. */
static bool read_vram(struct ttm_buffer_object *bo, u64 offset, u64 *value)
{
	struct amdgpu_res_cursor cursor;
	struct amdgpu_device *adev;
	bool ok = false;
	int idx;

	if (!amdgpu_bo_is_amdgpu_bo(bo))
		return false;
	adev = amdgpu_ttm_adev(bo->bdev);
	if (!drm_dev_enter(adev_to_drm(adev), &idx))
		return false;
	if (down_read_trylock(&adev->reset_domain->sem)) {
		amdgpu_res_first(bo->resource, offset, sizeof(*value), &cursor);
		ok = amdgpu_device_aper_access(adev, cursor.start, value, sizeof(*value),
					       false) == sizeof(*value);
		up_read(&adev->reset_domain->sem);
	}
	drm_dev_exit(idx);
	return ok;
}

static bool read_tt(struct ttm_tt *tt, u64 offset, u64 *value)
{
	unsigned long i = offset >> PAGE_SHIFT;

	if (!tt || i >= tt->num_pages || !ttm_tt_is_populated(tt) || !tt->pages || !tt->pages[i])
		return false;
	*value = read_page(tt->pages[i], offset);
	return true;
}

/* Reads from a buffer that is mapped through a DRM file. */
static bool read_bo(struct vm_area_struct *vma, unsigned long addr, u64 *value)
{
	struct ttm_buffer_object *bo = vma->vm_private_data;
	u64 offset = addr - vma->vm_start +
		     ((u64)(vma->vm_pgoff - drm_vma_node_start(&bo->base.vma_node)) << PAGE_SHIFT);
	bool ok = false;

	if (!dma_resv_trylock(bo->base.resv))
		return false;
	/* While the GPU moves a buffer the new place has no contents yet. */
	if (bo->resource && offset < bo->base.size &&
	    dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_KERNEL)) {
		if (bo->resource->mem_type <= TTM_PL_TT)
			ok = read_tt(bo->ttm, offset, value);
		else if (bo->resource->mem_type == TTM_PL_VRAM)
			ok = read_vram(bo, offset, value);
	}
	dma_resv_unlock(bo->base.resv);
	return ok;
}

/* -EFAULT: there is no memory; -EBUSY: there is, and it cannot be read now. */
static int read_u64(struct mm_struct *mm, unsigned long addr, u64 *value)
{
	struct vm_area_struct *vma = find_vma(mm, addr);
	struct page *page;

	if (!vma || vma->vm_start > addr || !IS_ALIGNED(addr, sizeof(*value)))
		return -EFAULT;
	if (vma->vm_ops && vma->vm_ops->access == ttm_bo_vm_access)
		return read_bo(vma, addr, value) ? 0 : -EBUSY;
	if (kfd_preempt_get_page(mm, addr, FOLL_NOFAULT, &page) != 1)
		return -EFAULT;
	*value = read_page(page, addr);
	put_page(page);
	return 0;
}

/**
 * kfd_preempt_indexes_lock - begin to read indexes of a process
 * @p: the process
 *
 * Return: its mm for kfd_preempt_indexes_read(), to be released by
 * kfd_preempt_indexes_unlock(); NULL if the process exits or holds its
 * mmap_lock.
 */
struct mm_struct *kfd_preempt_indexes_lock(const struct kfd_process *p)
{
	struct mm_struct *mm = kfd_preempt_get_mm(p);

	if (mm && !mmap_read_trylock(mm)) {
		mmput_async(mm);
		mm = NULL;
	}
	return mm;
}

void kfd_preempt_indexes_unlock(struct mm_struct *mm)
{
	if (mm) {
		mmap_read_unlock(mm);
		mmput_async(mm);
	}
}

/**
 * kfd_preempt_indexes_read - the indexes of a ring
 * @mm: of kfd_preempt_indexes_lock(), may be NULL
 * @read_ptr: where the read index is in the memory of the process
 * @write_ptr: where the write index is
 * @read: its value
 * @write: its value
 *
 * Return: true if both could be read.
 */
bool kfd_preempt_indexes_read(struct mm_struct *mm, unsigned long read_ptr,
			      unsigned long write_ptr, u64 *read, u64 *write)
{
	/*
	 * Work that arrives after this read rings the doorbell, which is an
	 * event.
	 */
	return mm && !read_u64(mm, write_ptr, write) && !read_u64(mm, read_ptr, read);
}

/**
 * kfd_preempt_signal_read - the completion signal of the last packet of a ring
 * @mm: of kfd_preempt_indexes_lock(), not NULL
 * @ring: where the ring is in the memory of the process
 * @bytes: its size, a power of two
 * @write: its write index
 * @value: the value of the signal
 *
 * When the packet is done, its process may free the signal and reuse the
 * memory: memory that is not there any more is no signal.
 *
 * Return: KFD_PREEMPT_VALID_SIGNAL if there is a signal; 0 if the packet has
 * none, or its memory is none any more; KFD_PREEMPT_UNREAD_SIGNAL if the packet
 * or the signal could not be read.
 */
u32 kfd_preempt_signal_read(struct mm_struct *mm, unsigned long ring, u64 bytes,
			    u64 write, s64 *value)
{
	unsigned long slot = ring + ((write - 1) * AQL_PACKET_BYTES & (bytes - 1));
	u64 signal, kind;
	int ret;

	if (!write)
		return 0;
	if (read_u64(mm, slot + AQL_PACKET_SIGNAL, &signal))
		return KFD_PREEMPT_UNREAD_SIGNAL;
	if (!signal)
		return 0;
	ret = read_u64(mm, signal + AMD_SIGNAL_KIND, &kind);
	if (!ret && kind != AMD_SIGNAL_KIND_USER)
		return 0;
	if (!ret)
		ret = read_u64(mm, signal + AMD_SIGNAL_VALUE, (u64 *)value);
	if (ret)
		return ret == -EBUSY ? KFD_PREEMPT_UNREAD_SIGNAL : 0;
	return KFD_PREEMPT_VALID_SIGNAL;
}
