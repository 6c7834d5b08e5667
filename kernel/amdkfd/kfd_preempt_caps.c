// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Reports what preemption can do on a node: capabilities, QUERY. */

#include "kfd_preempt_compat.h"

/* KFD_PREEMPT_SCHED_* of a node. */
u32 kfd_preempt_sched_mode(const struct device_queue_manager *dqm)
{
	/* NO_HWS first: on gfx11 enable_mes is true there as well. */
	if (dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS)
		return KFD_PREEMPT_SCHED_NO_HWS;
	if (kfd_preempt_uses_mes(dqm))
		return KFD_PREEMPT_SCHED_MES;
	if (dqm->sched_policy == KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION)
		return KFD_PREEMPT_SCHED_HWS_NO_OVERSUB;
	return KFD_PREEMPT_SCHED_HWS;
}

/* Bit n is set when preempt_type n is possible on a node. */
u32 kfd_preempt_type_mask(const struct device_queue_manager *dqm)
{
	u32 version = KFD_GC_VERSION(dqm->dev);
	u32 mask = 0;

	switch (kfd_preempt_sched_mode(dqm)) {
	case KFD_PREEMPT_SCHED_HWS:
	case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB:
	case KFD_PREEMPT_SCHED_MES:
		/* The firmware preempts, or resets by PASID; it has no drain. */
		if (kfd_preempt_has_cwsr(dqm))
			mask |= BIT(KFD_PREEMPT_TYPE_SAVE);
		break;
	case KFD_PREEMPT_SCHED_NO_HWS:
		mask |= BIT(KFD_PREEMPT_TYPE_DRAIN);
		if (kfd_preempt_allow_reset)
			mask |= BIT(KFD_PREEMPT_TYPE_RESET);
		/* Only these hqd_destroy() know SAVE; others silently drain. */
		if (kfd_preempt_has_cwsr(dqm) &&
		    version >= IP_VERSION(9, 0, 1) &&
		    version < IP_VERSION(11, 0, 0))
			mask |= BIT(KFD_PREEMPT_TYPE_SAVE);
		break;
	}
	return mask;
}

/* What the driver understands without a GPU. */
#define DRIVER_CAPS						\
	(KFD_PREEMPT_CAP_BATCH |				\
	 KFD_PREEMPT_CAP_OPERATOR |				\
	 KFD_PREEMPT_CAP_OPERATOR_FD)

/* KFD_PREEMPT_CAP_* of a node. */
u64 kfd_preempt_node_caps(const struct device_queue_manager *dqm)
{
	u32 types = kfd_preempt_type_mask(dqm);
	u64 caps = DRIVER_CAPS;

	if (types & BIT(KFD_PREEMPT_TYPE_SAVE))
		caps |= KFD_PREEMPT_CAP_SAVE;
	if (types & BIT(KFD_PREEMPT_TYPE_DRAIN))
		caps |= KFD_PREEMPT_CAP_DRAIN;
	if (types & BIT(KFD_PREEMPT_TYPE_RESET))
		caps |= KFD_PREEMPT_CAP_RESET;
	if (types & BIT(KFD_PREEMPT_TYPE_SAVE) && kfd_preempt_checkpoint_mode &&
	    kfd_preempt_sched_mode(dqm) != KFD_PREEMPT_SCHED_MES &&
	    kfd_preempt_can_copy(dqm))
		caps |= KFD_PREEMPT_CAP_CHECKPOINT;

	switch (kfd_preempt_sched_mode(dqm)) {
	case KFD_PREEMPT_SCHED_HWS:
	case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB:
		caps |= KFD_PREEMPT_CAP_RESUME_IS_ASYNC;
		/* The grace period is one of firmware scheduling, from gfx9 on. */
		if (kfd_preempt_has_grace(dqm))
			caps |= KFD_PREEMPT_CAP_FAST;
		break;
	case KFD_PREEMPT_SCHED_NO_HWS:
		caps |= KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE |
			KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP;
		break;
	case KFD_PREEMPT_SCHED_MES:
		caps |= KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE;
		break;
	}
	return caps;
}

/* KFD_PREEMPT_CAP_* that hold on every node of a process. */
u64 kfd_preempt_caps(const struct kfd_process *p)
{
	u64 caps = ~0ULL;
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		caps &= kfd_preempt_node_caps(p->pdds[i]->dev->dqm);
	return p->n_pdds ? caps : DRIVER_CAPS;
}

static void query_node(const struct device_queue_manager *dqm,
		       struct kfd_ioctl_preempt_query_args *args)
{
	args->caps &= kfd_preempt_node_caps(dqm);
	args->type_mask &= kfd_preempt_type_mask(dqm);
	args->sched_mode = kfd_preempt_sched_mode(dqm);
}

/**
 * kfd_preempt_do_query - QUERY: what a node, or the driver, can do
 * @p: the caller's process
 * @args: validated here
 *
 * Return: 0, -EINVAL, -ENODEV for a node that the process does not have, or
 * -EINTR.
 */
int kfd_preempt_do_query(struct kfd_process *p,
			 struct kfd_ioctl_preempt_query_args *args)
{
	struct kfd_process_device *pdd;
	int ret = 0;
	u32 i;

	if (args->flags || args->reserved[0] || args->reserved[1])
		return -EINVAL;

	args->abi_major = KFD_PREEMPT_ABI_MAJOR;
	args->abi_minor = KFD_PREEMPT_ABI_MINOR;
	args->caps = ~0ULL;
	args->type_mask = ~0U;
	args->sched_mode = sched_policy;
	args->num_xcc = 0;
	args->max_batch = KFD_PREEMPT_MAX_BATCH;
	args->max_timeout_ms = KFD_PREEMPT_MAX_TIMEOUT_MS;
	args->pad = 0;

	if (mutex_lock_interruptible(&p->mutex))
		return -EINTR;
	if (args->gpu_id) {
		pdd = kfd_process_device_data_by_id(p, args->gpu_id);
		if (pdd) {
			query_node(pdd->dev->dqm, args);
			args->num_xcc = kfd_preempt_num_xcc(pdd->dev->dqm);
		} else {
			ret = -ENODEV;
		}
	} else {
		for (i = 0; i < p->n_pdds; i++)
			query_node(p->pdds[i]->dev->dqm, args);
	}
	mutex_unlock(&p->mutex);

	if (!ret && args->caps == ~0ULL) {
		/* No GPU: what the driver understands, nothing it can do. */
		args->caps = DRIVER_CAPS;
		args->type_mask = 0;
	}
	return ret;
}
