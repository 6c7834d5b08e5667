// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moves the VRAM buffers of a process on one GPU to system memory and back.
 *
 * The caller holds kfd_process.mutex, so no buffer is made or freed and no other
 * caller changes a kgd_mem.preempt_place, and has made sure that no queue of the
 * process runs on that GPU. Each buffer is moved and mapped again under one
 * reservation, so a move may end between two buffers.
 */

#include "amdgpu_amdkfd.h"
#include "kfd_preempt_compat.h"

#define LOCK_MS 100

/*
 * KFD's worker for userptrs has that lock while it faults pages of the process in:
 * for ever, if they are of a file system that does not answer. So only a move takes
 * it, against workers that put buffers where kfd_preempt_bo_domain() says; the domain
 * is the same before and after a charge. A process waits for its own pages, others
 * only so long.
 */
static int preempt_lock(const struct kfd_process *p)
{
	struct amdkfd_process_info *info = p->kgd_process_info;
	ktime_t end = ktime_add_ms(ktime_get(), LOCK_MS);

	if (current->mm && current->mm == p->mm)
		return mutex_lock_interruptible(&info->lock);
	while (!mutex_trylock(&info->lock)) {
		if (ktime_after(ktime_get(), end))
			return -EBUSY;
		usleep_range(20, 50);
	}
	return 0;
}

static bool preempt_is_vram_of(const struct kgd_mem *mem,
			       const struct kfd_process_device *pdd)
{
	return mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM && !mem->is_imported &&
	       mem->bo->kfd_bo == mem &&
	       amdgpu_ttm_adev(mem->bo->tbo.bdev) == pdd->dev->adev &&
	       mem->bo->xcp_id == kfd_preempt_xcp(pdd->dev);
}

static bool preempt_maps_elsewhere(struct kgd_mem *mem, const struct amdgpu_vm *vm)
{
	struct kfd_mem_attachment *entry;

	list_for_each_entry(entry, &mem->attachments, list)
		if (entry->is_mapped && entry->bo_va->base.vm != vm)
			return true;
	return false;
}

/*
 * Whether another process or driver maps the reserved buffer. A handle is not a
 * mapping: KFD has one in its own client.
 */
static bool preempt_is_shared(const struct kgd_mem *mem)
{
	struct dma_buf *exported = mem->bo->tbo.base.dma_buf;
	struct amdgpu_vm_bo_base *base;
	struct amdgpu_bo_va *bo_va;

	if (exported && !list_empty(&exported->attachments))
		return true;
	for (base = mem->bo->vm_bo; base; base = base->next) {
		bo_va = container_of(base, struct amdgpu_bo_va, base);
		if (base->vm->process_info != mem->process_info &&
		    !(list_empty(&bo_va->valids) && list_empty(&bo_va->invalids)))
			return true;
	}
	return false;
}

/* The counter for the reason why a buffer stays, or NULL if it can move. */
static u64 *preempt_stays(struct kgd_mem *mem, const struct kfd_process_device *pdd,
			  struct kfd_preempt_memory *memory)
{
	u64 *counter = NULL;

	if (preempt_maps_elsewhere(mem, drm_priv_to_vm(pdd->drm_priv)))
		return &memory->peer;
	/* Uninterruptible: at worst it waits for another move. */
	if (amdgpu_bo_reserve(mem->bo, true))
		return &memory->pinned;
	if (mem->bo->tbo.pin_count)
		counter = &memory->pinned;
	else if (preempt_is_shared(mem))
		counter = &memory->shared;
	amdgpu_bo_unreserve(mem->bo);
	return counter;
}

/**
 * kfd_preempt_bos_count - how much VRAM a process has on a GPU
 * @pdd: the process there
 * @memory: out: the bytes
 */
void kfd_preempt_bos_count(const struct kfd_process_device *pdd,
			   struct kfd_preempt_memory *memory)
{
	struct amdkfd_process_info *info = pdd->process->kgd_process_info;
	struct kgd_mem *mem;
	u64 size, *stays;

	memset(memory, 0, sizeof(*memory));
	if (!info || !pdd->drm_priv)
		return;
	kfd_preempt_for_each_bo(mem, info) {
		if (!preempt_is_vram_of(mem, pdd))
			continue;
		size = amdgpu_bo_size(mem->bo);
		if (mem->preempt_place == KFD_PREEMPT_YIELDED) {
			memory->yielded += size;
			continue;
		}
		memory->resident += size;
		stays = preempt_stays(mem, pdd, memory);
		if (stays)
			*stays += size;
	}
}

static int preempt_charge(struct kgd_mem *mem, u32 flags)
{
	return amdgpu_amdkfd_reserve_mem_limit(amdgpu_ttm_adev(mem->bo->tbo.bdev),
					       amdgpu_bo_size(mem->bo), flags, mem->bo->xcp_id);
}

static void preempt_uncharge(struct kgd_mem *mem, u32 flags)
{
	amdgpu_amdkfd_unreserve_mem_limit(amdgpu_ttm_adev(mem->bo->tbo.bdev),
					  amdgpu_bo_size(mem->bo), flags, mem->bo->xcp_id);
}

/**
 * kfd_preempt_bos_settle - undo kfd_preempt_bos_charge() for all that has not moved
 * @pdd: the process on the GPU
 */
void kfd_preempt_bos_settle(struct kfd_process_device *pdd)
{
	struct amdkfd_process_info *info = pdd->process->kgd_process_info;
	struct kgd_mem *mem;

	kfd_preempt_for_each_bo(mem, info) {
		if (!preempt_is_vram_of(mem, pdd))
			continue;
		if (mem->preempt_place == KFD_PREEMPT_LEAVING) {
			preempt_uncharge(mem, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
			WRITE_ONCE(mem->preempt_place, KFD_PREEMPT_IN_VRAM);
		} else if (mem->preempt_place == KFD_PREEMPT_RETURNING) {
			preempt_uncharge(mem, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
			WRITE_ONCE(mem->preempt_place, KFD_PREEMPT_YIELDED);
		}
	}
}

/**
 * kfd_preempt_bos_charge - count all buffers that are to move at both places
 * @pdd: the process on the GPU
 * @leave: they will leave VRAM, else return to it
 * @bytes: out: their size
 *
 * If it succeeds, the caller must call kfd_preempt_bos_settle().
 *
 * Return: 0, or -ENOMEM if there is no room for all of them; nothing is charged then.
 */
int kfd_preempt_bos_charge(struct kfd_process_device *pdd, bool leave, u64 *bytes)
{
	struct amdkfd_process_info *info = pdd->process->kgd_process_info;
	struct kfd_preempt_memory ignored;
	struct kgd_mem *mem;
	int ret = 0;

	*bytes = 0;
	kfd_preempt_for_each_bo(mem, info) {
		if (!preempt_is_vram_of(mem, pdd) ||
		    mem->preempt_place != (leave ? KFD_PREEMPT_IN_VRAM : KFD_PREEMPT_YIELDED) ||
		    (leave && preempt_stays(mem, pdd, &ignored)))
			continue;
		ret = preempt_charge(mem, leave ? KFD_IOC_ALLOC_MEM_FLAGS_GTT :
						  KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
		if (ret)
			break;
		WRITE_ONCE(mem->preempt_place,
			   leave ? KFD_PREEMPT_LEAVING : KFD_PREEMPT_RETURNING);
		*bytes += amdgpu_bo_size(mem->bo);
	}
	if (ret)
		kfd_preempt_bos_settle(pdd);
	return ret;
}

/**
 * kfd_preempt_bos_move - move the buffers that are charged at both places
 * @pdd: the process on the GPU
 * @leave: they leave VRAM, else they return
 * @moved: out: bytes that have moved
 * @mapped: out: false if page tables do not have the new place of a buffer
 *
 * Return: 0, -EINTR for a signal, -EBUSY if KFD's worker for userptrs waits for a page,
 * -ENOMEM, or an error of TTM.
 */
int kfd_preempt_bos_move(struct kfd_process_device *pdd, bool leave, u64 *moved,
			 bool *mapped)
{
	struct amdkfd_process_info *info = pdd->process->kgd_process_info;
	u8 charged = leave ? KFD_PREEMPT_LEAVING : KFD_PREEMPT_RETURNING;
	struct kgd_mem *mem;
	int ret = 0;

	*moved = 0;
	*mapped = true;
	/*
	 * The list does not change. Other threads wait for at most one buffer.
	 */
	kfd_preempt_for_each_bo(mem, info) {
		if (mem->preempt_place != charged || !preempt_is_vram_of(mem, pdd))
			continue;
		if (signal_pending(current))
			return -EINTR;
		ret = preempt_lock(pdd->process);
		if (ret)
			return ret;
		ret = kfd_preempt_bo_move(mem, leave ? AMDGPU_GEM_DOMAIN_GTT :
						       AMDGPU_GEM_DOMAIN_VRAM, mapped);
		if (!ret || !*mapped) {
			WRITE_ONCE(mem->preempt_place,
				   leave ? KFD_PREEMPT_YIELDED : KFD_PREEMPT_IN_VRAM);
			preempt_uncharge(mem, leave ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM :
						      KFD_IOC_ALLOC_MEM_FLAGS_GTT);
			*moved += amdgpu_bo_size(mem->bo);
			if (leave)
				kfd_preempt_vram_freed();
		}
		mutex_unlock(&info->lock);
		/* Pinned after it was charged, so it stays. */
		if (ret && ret != -EBUSY)
			return ret;
	}
	return 0;
}

/**
 * kfd_preempt_bos_are_away - whether buffers of a process are still in system
 * memory
 * @pdd: the process on the GPU
 *
 * Return: true if it has.
 */
bool kfd_preempt_bos_are_away(const struct kfd_process_device *pdd)
{
	struct amdkfd_process_info *info = pdd->process->kgd_process_info;
	struct kgd_mem *mem;
	bool away = false;

	kfd_preempt_for_each_bo(mem, info)
		away |= preempt_is_vram_of(mem, pdd) &&
			mem->preempt_place == KFD_PREEMPT_YIELDED;
	return away;
}

/**
 * kfd_preempt_bo_domain - the domain to which a buffer is restored
 * @mem: the buffer
 *
 * Return: AMDGPU_GEM_DOMAIN_*.
 */
u32 kfd_preempt_bo_domain(const struct kgd_mem *mem)
{
	u8 place = READ_ONCE(mem->preempt_place);

	return place == KFD_PREEMPT_YIELDED || place == KFD_PREEMPT_RETURNING ?
	       AMDGPU_GEM_DOMAIN_GTT : mem->domain;
}

/**
 * kfd_preempt_bo_charged - the charge that ends with a freed buffer
 * @mem: the buffer
 *
 * If the buffer is in VRAM, releases that wait for room are retried.
 *
 * Return: KFD_IOC_ALLOC_MEM_FLAGS_*.
 */
u32 kfd_preempt_bo_charged(const struct kgd_mem *mem)
{
	if (mem->preempt_place == KFD_PREEMPT_YIELDED)
		return KFD_IOC_ALLOC_MEM_FLAGS_GTT;
	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
		kfd_preempt_vram_freed();
	return mem->alloc_flags;
}
