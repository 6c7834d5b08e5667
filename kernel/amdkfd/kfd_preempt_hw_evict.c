// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Evicts the queues of a process while its memory moves.
 *
 * A process without an active queue is evicted as well. Otherwise a worker of KFD
 * that restores it in the meantime would make its queues active.
 */
#include "kfd_preempt_hw.h"

/* Returns true if the runlist changes. */
static bool preempt_set_evicted(struct device_queue_manager *dqm,
				struct kfd_process_device *pdd, bool evicted)
{
	bool changed = false, active;
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list) {
		q->properties.is_evicted = evicted;
		active = QUEUE_IS_ACTIVE(q->properties);
		changed |= q->properties.is_active != active;
		kfd_preempt_hw_set_active(dqm, q, active);
	}
	return changed;
}

/* As evict_process_queues_cpsch(), without the update of the runlist. */
static bool preempt_evict_cpsch(struct device_queue_manager *dqm,
				struct kfd_process_device *pdd)
{
	pdd->preempt.move.evicted = true;
	if (pdd->qpd.evicted++)
		return false;
	pdd->last_evict_timestamp = get_jiffies_64();
	return preempt_set_evicted(dqm, pdd, true);
}

/* As restore_process_queues_cpsch(), without the update of the runlist. */
static bool preempt_restore_cpsch(struct device_queue_manager *dqm,
				  struct kfd_process_device *pdd)
{
	pdd->preempt.move.evicted = false;
	if (--pdd->qpd.evicted)
		return false;
	pdd->qpd.page_table_base =
		amdgpu_amdkfd_gpuvm_get_process_page_dir(pdd->drm_priv);
	atomic64_add(get_jiffies_64() - pdd->last_evict_timestamp,
		     &pdd->evict_duration_counter);
	return preempt_set_evicted(dqm, pdd, false);
}

bool kfd_preempt_hw_evict_all(struct device_queue_manager *dqm,
			      struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;
	bool changed = false;

	kfd_preempt_for_each_move(pdd, batch)
		if (pdd->dev->dqm == dqm && kfd_preempt_must_move(&pdd->preempt.move))
			changed |= preempt_evict_cpsch(dqm, pdd);
	return changed;
}

bool kfd_preempt_hw_restore_all(struct device_queue_manager *dqm,
				struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;
	bool changed = false;

	kfd_preempt_for_each_move(pdd, batch)
		if (pdd->dev->dqm == dqm && pdd->preempt.move.evicted)
			changed |= preempt_restore_cpsch(dqm, pdd);
	return changed;
}

/*
 * KFD would wait for a late stop with the dqm lock held, then take the queue for
 * stopped, so that a later eviction would not stop it.
 */
static bool preempt_is_late(const struct kfd_preempt_batch *batch,
			    const struct kfd_process_device *pdd)
{
	const struct kfd_preempt_req *req;
	struct queue *q;

	kfd_preempt_for_each_req(req, batch, pdd->dev->dqm)
		if (req->set && req->result && req->q->process == pdd->process)
			return true;
	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		if (q->preempt.hw_pending)
			return true;
	return false;
}

/* The same by KFD's own functions, where there is no runlist; without the dqm lock. */
void kfd_preempt_hw_evict_each(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;

	kfd_preempt_for_each_move(pdd, batch) {
		if (pdd->dev->dqm != dqm || !kfd_preempt_must_move(&pdd->preempt.move) ||
		    preempt_is_late(batch, pdd))
			continue;
		/* KFD counts the queues as evicted, also after an error. */
		pdd->preempt.move.evicted = true;
		if (dqm->ops.evict_process_queues(dqm, &pdd->qpd))
			pdd->preempt.move.result = -EBUSY;
	}
}

void kfd_preempt_hw_restore_each(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;

	kfd_preempt_for_each_move(pdd, batch) {
		if (pdd->dev->dqm != dqm || !pdd->preempt.move.evicted)
			continue;
		pdd->preempt.move.evicted = false;
		dqm->ops.restore_process_queues(dqm, &pdd->qpd);
	}
}
