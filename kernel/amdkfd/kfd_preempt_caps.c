// SPDX-License-Identifier: GPL-2.0-only OR MIT
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

	if (kfd_preempt_is_given_up(dqm))
		return 0;
	switch (kfd_preempt_sched_mode(dqm)) {
	case KFD_PREEMPT_SCHED_MES:
		/* Field reports: a REMOVE_QUEUE that times out resets the GPU. */
		if (!kfd_preempt_mes)
			break;
		fallthrough;
	case KFD_PREEMPT_SCHED_HWS:
	case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB:
		/* The firmware preempts, or resets by PASID; it has no drain. */
		if (dqm->dev->kfd->cwsr_enabled)
			mask |= BIT(KFD_PREEMPT_TYPE_SAVE);
		break;
	case KFD_PREEMPT_SCHED_NO_HWS:
		mask |= BIT(KFD_PREEMPT_TYPE_DRAIN);
		if (kfd_preempt_allow_reset)
			mask |= BIT(KFD_PREEMPT_TYPE_RESET);
		/*
		 * Only these hqd_destroy() implement SAVE; others silently
		 * drain.
		 */
		if (dqm->dev->kfd->cwsr_enabled &&
		    version >= IP_VERSION(9, 0, 1) &&
		    version < IP_VERSION(11, 0, 0))
			mask |= BIT(KFD_PREEMPT_TYPE_SAVE);
		break;
	}
	return mask;
}

/* Capabilities that do not depend on a GPU. */
#define DRIVER_CAPS						\
	(KFD_PREEMPT_CAP_BATCH |				\
	 KFD_PREEMPT_CAP_OPERATOR |				\
	 KFD_PREEMPT_CAP_OPERATOR_FD |				\
	 KFD_PREEMPT_CAP_WATCH |				\
	 KFD_PREEMPT_CAP_GIVE_MEMORY |				\
	 KFD_PREEMPT_CAP_PROCESS |				\
	 (KFD_PREEMPT_HAS_V0 ? 0 : KFD_PREEMPT_CAP_SWITCH_ONLY))

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
	/* The VRAM of an APU is system memory. */
	if (types && !(dqm->dev->adev->flags & AMD_IS_APU))
		caps |= KFD_PREEMPT_CAP_YIELD_MEMORY;
	if (types & BIT(KFD_PREEMPT_TYPE_SAVE) && kfd_preempt_checkpoint_mode &&
	    kfd_preempt_sched_mode(dqm) != KFD_PREEMPT_SCHED_MES &&
	    kfd_preempt_can_copy(dqm))
		caps |= KFD_PREEMPT_CAP_CHECKPOINT;

	switch (kfd_preempt_sched_mode(dqm)) {
	case KFD_PREEMPT_SCHED_HWS:
	case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB:
		caps |= KFD_PREEMPT_CAP_RESUME_IS_ASYNC;
		/* Only firmware scheduling has a grace period, from gfx9 on. */
		if (kfd_preempt_has_grace(dqm) &&
		    !(READ_ONCE(dqm->preempt.degraded) & KFD_PREEMPT_DEGRADED_GRACE))
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

/*
 * A walk over the nodes of a process: finds what all of them can do, what any of
 * them can, and the requested one.
 */
struct caps_walk {
	const struct kfd_process *p;
	u32 gpu_id; /* 0: all of them */
	u32 num; /* nodes that the walk has found */
	u32 num_xcc;
	u32 sched_mode;
	u32 type_mask;
	u32 degraded;
	u64 caps;
	u64 any_caps;
};

static bool has_node(const struct kfd_process *p, const struct device_queue_manager *dqm)
{
	u32 i;

	/* Compared only: the node of a pdd may be gone. */
	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->dev == dqm->dev)
			return true;
	return false;
}

static void visit_node(struct device_queue_manager *dqm, void *data)
{
	struct caps_walk *walk = data;
	u64 caps;

	if (!has_node(walk->p, dqm) ||
	    (walk->gpu_id && walk->gpu_id != dqm->dev->id))
		return;
	walk->num++;
	caps = kfd_preempt_node_caps(dqm);
	walk->caps &= caps;
	walk->any_caps |= caps;
	walk->type_mask &= kfd_preempt_type_mask(dqm);
	walk->sched_mode = kfd_preempt_sched_mode(dqm);
	walk->num_xcc = NUM_XCC(dqm->dev->xcc_mask);
	walk->degraded |= READ_ONCE(dqm->preempt.degraded);
}

static struct caps_walk walk_nodes(const struct kfd_process *p, u32 gpu_id)
{
	struct caps_walk walk = {
		.p = p,
		.gpu_id = gpu_id,
		.sched_mode = sched_policy,
		.type_mask = ~0U,
		.caps = ~0ULL,
		.any_caps = DRIVER_CAPS,
	};

	kfd_preempt_nodes_visit(visit_node, &walk);
	if (!walk.num) {
		/*
		 * No GPU: report what the driver implements, and no capability
		 * of hardware.
		 */
		walk.caps = DRIVER_CAPS;
		walk.type_mask = 0;
	}
	return walk;
}

/* KFD_PREEMPT_CAP_* that any node of a process has. */
u64 kfd_preempt_any_caps(const struct kfd_process *p)
{
	return walk_nodes(p, 0).any_caps;
}

/**
 * kfd_preempt_do_query - QUERY: what a node, or the driver, can do
 * @filep: file of /dev/kfd
 * @p: the caller's process
 * @data: struct kfd_ioctl_preempt_query_args, validated here
 *
 * Takes no lock: the list of its nodes is made before any file of it is open.
 *
 * Return: 0, -EINVAL, or -ENODEV for a node that the process has not opened.
 */
int kfd_preempt_do_query(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_query_args *args = data;
	struct caps_walk walk;

	if (args->flags || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	walk = walk_nodes(p, args->gpu_id);
	if (args->gpu_id && !walk.num)
		return -ENODEV;

	args->abi_major = KFD_PREEMPT_ABI_MAJOR;
	args->abi_minor = KFD_PREEMPT_ABI_MINOR;
	args->caps = walk.caps;
	args->type_mask = walk.type_mask;
	args->sched_mode = walk.sched_mode;
	args->num_xcc = args->gpu_id ? walk.num_xcc : 0;
	args->max_batch = KFD_PREEMPT_MAX_BATCH;
	args->max_timeout_ms = KFD_PREEMPT_MAX_TIMEOUT_MS;
	args->degraded = walk.degraded;
	return 0;
}
