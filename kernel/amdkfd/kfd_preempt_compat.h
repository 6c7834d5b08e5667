/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Every difference between the amdkfd trees that kfd_preempt is built for, and
 * short names for what has long ones there.
 */
#ifndef KFD_PREEMPT_COMPAT_H
#define KFD_PREEMPT_COMPAT_H

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/coredump.h>
#ifndef SUID_DUMP_USER
#include <linux/sched/exec_state.h>
#endif
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "amdgpu_reset.h"
#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_kernel_queue.h"
#include "kfd_mqd_manager.h"
#include "kfd_preempt_kernel.h"
#include "kfd_preempt_tree.h"

/*
 * The amdkfd tree and the kernel that it is built for are two things: ROCm's driver
 * has one tree for kernels from 4.18 on. kfd_preempt_tree.h has the features of the
 * tree, kfd_preempt_kernel.h those of the kernel. No code here depends on a version.
 */

/* Size of the MQDs of all XCCs, which are contiguous. */
static inline u64 kfd_preempt_mqd_bytes(struct mqd_manager *mqd_mgr, struct queue *q)
{
	return mqd_mgr->mqd_stride(mqd_mgr, &q->properties) *
	       NUM_XCC(q->device->xcc_mask);
}

/* Byte offset of the doorbell of a queue among those of its process. */
static inline u32 kfd_preempt_doorbell_bytes(const struct kfd_process_device *pdd,
					     const struct queue *q)
{
	u32 first = amdgpu_doorbell_index_on_bar(pdd->dev->adev,
						 pdd->qpd.proc_doorbells, 0,
						 pdd->dev->kfd->device_info.doorbell_size);

	return (q->properties.doorbell_off - first) * sizeof(u32);
}

/* A GPU in partitions has VRAM for each of them. */
static inline int kfd_preempt_xcp(const struct kfd_node *node)
{
	return node->xcp ? node->xcp->id : 0;
}

static inline void kfd_preempt_flush_tlb(struct kfd_process_device *pdd)
{
	amdgpu_vm_flush_compute_tlb(pdd->dev->adev, drm_priv_to_vm(pdd->drm_priv),
				    TLB_FLUSH_HEAVYWEIGHT, pdd->dev->xcc_mask);
}

/* A macro, because not all files that include this one know the struct. */
#define kfd_preempt_for_each_bo(mem, info)	\
	list_for_each_entry(mem, &(info)->kfd_bo_list, validate_list)

/*
 * PREEMPT_QUEUE and RESUME_QUEUE have numbers that AMD's own driver assigns, too. The
 * whole command decides: SWITCH is the only call where the tree has an equal one.
 */
#ifdef KFD_PREEMPT_TREE_COMMAND_0x87
#define KFD_PREEMPT_0x87_IS_OURS (KFD_PREEMPT_TREE_COMMAND_0x87 != AMDKFD_IOC_PREEMPT_QUEUE)
#else
#define KFD_PREEMPT_0x87_IS_OURS 1
#endif
#ifdef KFD_PREEMPT_TREE_COMMAND_0x88
#define KFD_PREEMPT_0x88_IS_OURS (KFD_PREEMPT_TREE_COMMAND_0x88 != AMDKFD_IOC_RESUME_QUEUE)
#else
#define KFD_PREEMPT_0x88_IS_OURS 1
#endif
#define KFD_PREEMPT_HAS_V0 (KFD_PREEMPT_0x87_IS_OURS && KFD_PREEMPT_0x88_IS_OURS)

/* Shortest grace period: the CP takes 0 for infinite. */
#define KFD_PREEMPT_FAST_GRACE 1

#ifdef KFD_PREEMPT_TREE_HAS_DEQUEUE_WAITS

static inline bool kfd_preempt_has_grace(const struct device_queue_manager *dqm)
{
	return dqm->packet_mgr.pmf->config_dequeue_wait_counts;
}

static inline int kfd_preempt_reset_grace(struct device_queue_manager *dqm)
{
	return pm_config_dequeue_wait_counts(&dqm->packet_mgr,
					     KFD_DEQUEUE_WAIT_RESET, 0);
}

static inline int kfd_preempt_set_grace(struct device_queue_manager *dqm)
{
	return pm_config_dequeue_wait_counts(&dqm->packet_mgr,
					     KFD_DEQUEUE_WAIT_SET_SCH_WAVE,
					     KFD_PREEMPT_FAST_GRACE);
}

#else

static inline bool kfd_preempt_has_grace(const struct device_queue_manager *dqm)
{
	return dqm->packet_mgr.pmf->set_grace_period;
}

static inline int kfd_preempt_reset_grace(struct device_queue_manager *dqm)
{
	return pm_update_grace_period(&dqm->packet_mgr, USE_DEFAULT_GRACE_PERIOD);
}

static inline int kfd_preempt_set_grace(struct device_queue_manager *dqm)
{
	return pm_update_grace_period(&dqm->packet_mgr, KFD_PREEMPT_FAST_GRACE);
}

#endif

#ifdef KFD_PREEMPT_TREE_HAS_CREATE_PROCESS
/* CREATE_PROCESS puts another process into an open file. */
static inline struct kfd_process *kfd_preempt_get_process(const struct file *filep)
{
	struct kfd_process *p;

	mutex_lock(&kfd_processes_mutex);
	p = filep->private_data;
	kref_get(&p->ref);
	mutex_unlock(&kfd_processes_mutex);
	return p;
}
#else
static inline struct kfd_process *kfd_preempt_get_process(const struct file *filep)
{
	struct kfd_process *p = filep->private_data;

	kref_get(&p->ref);
	return p;
}
#endif

static inline int kfd_preempt_checkpoint_size(struct queue *q, u32 *mqd, u32 *ctl_stack)
{
	struct device_queue_manager *dqm = q->device->dqm;

#ifdef KFD_PREEMPT_TREE_CHECKPOINT_SIZE_FAILS
	return dqm->ops.get_queue_checkpoint_info(dqm, q, mqd, ctl_stack);
#else
	dqm->ops.get_queue_checkpoint_info(dqm, q, mqd, ctl_stack);
	return 0;
#endif
}

/* ROCm's driver can go on where a node does not stop its queues. */
static inline int kfd_preempt_evict_queues(struct kfd_process *p)
{
#ifdef KFD_PREEMPT_TREE_EVICTION_CAN_BE_FORCED
	return kfd_process_evict_queues(p, false, KFD_QUEUE_EVICTION_TRIGGER_TTM);
#else
	return kfd_process_evict_queues(p, KFD_QUEUE_EVICTION_TRIGGER_TTM);
#endif
}

/* ROCm's driver can itself unmap the doorbells of idle processes. */
static inline bool kfd_preempt_others_take_doorbells(void)
{
#ifdef KFD_PREEMPT_TREE_TAKES_DOORBELLS
	return keep_idle_process_evicted;
#else
	return false;
#endif
}

static inline long kfd_preempt_get_page(struct mm_struct *mm, unsigned long addr,
					unsigned int flags, struct page **page)
{
#if defined(KFD_PREEMPT_KERNEL_GUP_TAKES_TASK)
	return get_user_pages_remote(NULL, mm, addr, 1, flags, page, NULL, NULL);
#elif defined(KFD_PREEMPT_KERNEL_GUP_GIVES_VMAS)
	return get_user_pages_remote(mm, addr, 1, flags, page, NULL, NULL);
#else
	return get_user_pages_remote(mm, addr, 1, flags, page, NULL);
#endif
}

/* Older kernels report only the page of a fault. */
#ifdef KFD_PREEMPT_KERNEL_HAS_REAL_ADDRESS
#define kfd_preempt_fault_address(vmf) ((vmf)->real_address)
#else
#define kfd_preempt_fault_address(vmf) ((unsigned long)(vmf)->address)
#endif

#ifdef KFD_PREEMPT_KERNEL_MAP_PAGES_IS_VOID
#define KFD_PREEMPT_MAP_PAGES_TYPE void
#define KFD_PREEMPT_MAP_PAGES_NONE
#else
#define KFD_PREEMPT_MAP_PAGES_TYPE vm_fault_t
#define KFD_PREEMPT_MAP_PAGES_NONE 0
#endif

#ifndef KFD_PREEMPT_KERNEL_HAS_VMEMDUP_ARRAY_USER
static inline void *kfd_preempt_vmemdup_array_user(const void __user *src, size_t n,
						   size_t size)
{
	size_t bytes;

	if (check_mul_overflow(n, size, &bytes))
		return ERR_PTR(-EOVERFLOW);
	return vmemdup_user(src, bytes);
}

#undef vmemdup_array_user
#define vmemdup_array_user kfd_preempt_vmemdup_array_user
#endif

#ifndef KFD_PREEMPT_KERNEL_HAS_DATA_RACE
#undef data_race
/* Such kernels have no KCSAN. */
#define data_race(expr) (expr)
#endif

#ifndef KFD_PREEMPT_KERNEL_HAS_COPY_STRUCT_FROM_USER
static inline int kfd_preempt_copy_struct_from_user(void *dst, size_t ksize,
						    const void __user *src, size_t usize)
{
	size_t size = min(ksize, usize);
	const char __user *rest = (const char __user *)src + size;
	char byte;

	if (usize > PAGE_SIZE)
		return -E2BIG;
	for (; rest < (const char __user *)src + usize; rest++) {
		if (get_user(byte, rest))
			return -EFAULT;
		if (byte)
			return -E2BIG;
	}
	memset((char *)dst + size, 0, ksize - size);
	return copy_from_user(dst, src, size) ? -EFAULT : 0;
}

#undef copy_struct_from_user
#define copy_struct_from_user kfd_preempt_copy_struct_from_user
#endif

/* Pages below the id of the GPU in the offset of a doorbell mapping. */
#define KFD_PREEMPT_DOORBELL_PGOFF (BIT_ULL(KFD_MMAP_GPU_ID_SHIFT - PAGE_SHIFT) - 1)

/* Referenced; NULL if the caller does not use KFD. */
static inline struct kfd_process *kfd_preempt_current_process(void)
{
	return kfd_lookup_process_by_pid(task_pid(current));
}

static inline bool kfd_preempt_uses_mes(const struct device_queue_manager *dqm)
{
	return dqm->dev->kfd->shared_resources.enable_mes;
}

static inline bool kfd_preempt_is_sdma(const struct queue *q)
{
	return q->properties.type == KFD_QUEUE_TYPE_SDMA ||
	       q->properties.type == KFD_QUEUE_TYPE_SDMA_XGMI;
}

static inline bool kfd_preempt_can_copy(const struct device_queue_manager *dqm)
{
	const struct mqd_manager *mqd_mgr = dqm->mqd_mgrs[KFD_MQD_TYPE_CP];

	return mqd_mgr->checkpoint_mqd && mqd_mgr->restore_mqd;
}

/*
 * Whether the caller has rights over the memory of a process: 0, -EPERM if it is not
 * dumpable, -ESRCH if no thread of the process has it. After exec the credentials are
 * those of another program. Newer kernels keep dumpability with the task.
 */
#ifndef SUID_DUMP_USER
static inline int kfd_preempt_may_trace_memory(const struct kfd_process *p)
{
	const struct task_exec_state *state;
	struct mm_struct *mm;
	bool may;

	/*
	 * The state first: exec replaces the memory, then the state, under the lock
	 * that kfd_preempt_get_mm() takes. With the state of another program the
	 * memory is not found.
	 */
	rcu_read_lock();
	state = rcu_dereference(p->lead_thread->exec_state);
	may = state && (READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER ||
			ns_capable(state->user_ns, CAP_SYS_PTRACE));
	rcu_read_unlock();
	mm = kfd_preempt_get_mm(p);
	if (!mm)
		return -ESRCH;
	mmput_async(mm);
	return may ? 0 : -EPERM;
}
#else
static inline int kfd_preempt_may_trace_memory(const struct kfd_process *p)
{
	struct mm_struct *mm = kfd_preempt_get_mm(p);
	int ret;

	if (!mm)
		return -ESRCH;
	ret = get_dumpable(mm) == SUID_DUMP_USER ||
	      ns_capable(mm->user_ns, CAP_SYS_PTRACE) ? 0 : -EPERM;
	mmput_async(mm);
	return ret;
}
#endif

#endif /* KFD_PREEMPT_COMPAT_H */
