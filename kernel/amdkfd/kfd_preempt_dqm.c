// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The begin and the end of a scheduler. */
#include "kfd_preempt_hw.h"

/**
 * kfd_preempt_dqm_init - the last step of a scheduler's initialization
 * @dqm: the scheduler
 *
 * Return: @dqm.
 */
struct device_queue_manager *kfd_preempt_dqm_init(struct device_queue_manager *dqm)
{
	INIT_DELAYED_WORK(&dqm->preempt.remap, kfd_preempt_hw_remap_worker);
	INIT_DELAYED_WORK(&dqm->preempt.recheck, kfd_preempt_hw_recheck_worker);
	INIT_LIST_HEAD(&dqm->preempt.recheck_list);
	INIT_LIST_HEAD(&dqm->preempt.list);
	if (dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS)
		dqm->ops.switch_queues = kfd_preempt_hw_switch_nocpsch;
	else if (kfd_preempt_uses_mes(dqm))
		dqm->ops.switch_queues = kfd_preempt_hw_switch_mes;
	else
		dqm->ops.switch_queues = kfd_preempt_hw_switch_cpsch;
	return dqm;
}

/**
 * kfd_preempt_dqm_fini - the first step of a scheduler's end
 * @dqm: the scheduler
 */
void kfd_preempt_dqm_fini(struct device_queue_manager *dqm)
{
	kfd_preempt_node_remove(dqm);
	cancel_delayed_work_sync(&dqm->preempt.recheck);
	cancel_delayed_work_sync(&dqm->preempt.remap);
}
