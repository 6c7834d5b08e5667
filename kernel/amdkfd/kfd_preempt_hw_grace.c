// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The grace period of FAST: how long the firmware lets waves run before it
 * preempts them. One register in each XCC holds it, for all queues of the node.
 */
#include "kfd_preempt_hw.h"

/*
 * A failed unmap leaves the grace period short. During a GPU reset no packet
 * may be sent; afterwards the node has its default again.
 */
void kfd_preempt_hw_restore_grace(struct device_queue_manager *dqm)
{
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;

	if (dqm->is_hws_hang || !dqm->active_runlist ||
	    !down_read_trylock(reset_sem))
		return;
	kfd_preempt_reset_grace(dqm);
	up_read(reset_sem);
}

/* Whether the register of every XCC has another value than @before. */
static bool preempt_grace_reached_all(struct device_queue_manager *dqm, u32 before)
{
	u32 mask = dqm->dev->xcc_mask;
	u32 now;

	for (; mask; mask &= mask - 1) {
		dqm->dev->kfd2kgd->get_iq_wait_times(dqm->dev->adev, &now,
						     ffs(mask) - 1);
		if (now == before)
			return false;
	}
	return true;
}

/*
 * Done once for each node, before its first FAST: a packet on the HIQ writes
 * the register, and it is not documented that it reaches all XCCs. If it does
 * not, the node stops offering FAST.
 */
void kfd_preempt_hw_check_grace(struct device_queue_manager *dqm)
{
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;
	struct kfd_node *node = dqm->dev;
	u32 before;

	if (dqm->preempt.grace_checked || !node->kfd2kgd->get_iq_wait_times ||
	    !dqm->active_runlist || !down_read_trylock(reset_sem))
		return;
	node->kfd2kgd->get_iq_wait_times(node->adev, &before,
					 ffs(dqm->dev->xcc_mask) - 1);
	*dqm->fence_addr = KFD_FENCE_INIT;
	if (!kfd_preempt_set_grace(dqm) &&
	    !pm_send_query_status(&dqm->packet_mgr, dqm->fence_gpu_addr,
				  KFD_FENCE_COMPLETED) &&
	    !amdkfd_fence_wait_timeout(dqm, KFD_FENCE_COMPLETED,
				       queue_preemption_timeout_ms)) {
		dqm->preempt.grace_checked = true;
		if (!preempt_grace_reached_all(dqm, before))
			kfd_preempt_degrade(dqm, KFD_PREEMPT_DEGRADED_GRACE);
	}
	kfd_preempt_reset_grace(dqm);
	up_read(reset_sem);
}
