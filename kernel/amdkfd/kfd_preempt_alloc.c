// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Lets calls of KFD wait for operators, and allocations for a watch to make room in VRAM. */

#include <linux/jiffies.h>
#include <linux/sizes.h>

#include "kfd_preempt_watch.h"

/* A scan of the watcher finds a process that allocates at once, also on a busy machine. */
#define FOUND_AFTER (2 * HZ)

static struct kfd_process_device *pdd_by_id(struct kfd_process *p, u32 gpu_id)
{
	struct kfd_process_device *pdd;

	mutex_lock(&p->mutex);
	pdd = kfd_process_device_data_by_id(p, gpu_id);
	mutex_unlock(&p->mutex);
	return pdd;
}

static bool is_answered(struct kfd_preempt_p *pp, u32 answers)
{
	return READ_ONCE(pp->answers) != answers || !READ_ONCE(pp->num_givers);
}

/*
 * Returns 1 to retry, 0 to retry for the last time, -ENOMEM if no watch makes
 * room, or -ERESTARTSYS.
 */
static int wait_for_room(struct kfd_process *p,
			 const struct kfd_ioctl_alloc_memory_of_gpu_args *args)
{
	struct kfd_process_device *pdd = pdd_by_id(p, args->gpu_id);
	struct kfd_preempt_p *pp = &p->preempt;
	u64 mib = DIV_ROUND_UP_ULL(args->size, SZ_1M);
	long left = (long)(pp->opened + FOUND_AFTER - jiffies);
	bool last;
	u32 answers;

	if (!pdd || pdd->dev->adev->flags & AMD_IS_APU)
		return -ENOMEM;
	if (kfd_preempt_watch_has_givers() && left > 0 &&
	    wait_event_interruptible_timeout(pp->room, READ_ONCE(pp->num_givers), left) < 0)
		return -ERESTARTSYS;
	if (!kfd_preempt_watch_wants(pdd, min_t(u64, mib, U32_MAX), &answers))
		return -ENOMEM;
	if (wait_event_interruptible(pp->room, is_answered(pp, answers)))
		return -ERESTARTSYS;
	spin_lock(&pp->lock);
	last = pp->no_room || !pp->num_givers;
	spin_unlock(&pp->lock);
	return !last;
}

/**
 * kfd_preempt_call - call a handler of KFD
 * @cmd: its ioctl
 * @func: the handler
 * @filep: file of /dev/kfd
 * @p: the caller's process
 * @data: arguments
 *
 * The call starts once no operator waits for @p, or after a second, WAIT_EVENTS at
 * once. An allocation that KFD rejects because VRAM is full is retried once a watch
 * reports room.
 *
 * Return: what the handler returns, or -ERESTARTSYS.
 */
int kfd_preempt_call(unsigned int cmd, kfd_preempt_handler *func, struct file *filep,
		     struct kfd_process *p, void *data)
{
	const struct kfd_ioctl_alloc_memory_of_gpu_args *args = data;
	int ret, more = 1;

	/* It does not lock the process, and programs wait for the GPU in it. */
	if (_IOC_NR(cmd) != _IOC_NR(AMDKFD_IOC_WAIT_EVENTS))
		kfd_preempt_wait_for_operators(p);
	for (;;) {
		ret = func(filep, p, data);
		if (ret != -ENOMEM || more <= 0 ||
		    _IOC_NR(cmd) != _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) ||
		    !(args->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM))
			return ret;
		more = wait_for_room(p, args);
		if (more < 0)
			return more;
	}
}
