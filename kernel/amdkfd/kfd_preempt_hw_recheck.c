// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * With preempt_verify=1: rechecks queues 50 ms after they were resumed or
 * preempted. Once a resumed queue was found that had missed packets, those of
 * that GPU are rechecked without the parameter.
 *
 * A resumed queue: its process may have rung the doorbell while the queue was
 * unmapped. The firmware has to read the write index when it maps the queue;
 * where it does not, the packets wait for the next doorbell, which may never
 * come. Then the runlist is mapped once more.
 *
 * A preempted queue: its read index must not move.
 *
 * Both indexes are memory of the process, which can write them. So they only
 * decide whether the HQDs are read, and what is found there decides the rest.
 */
#include "kfd_preempt_hw.h"

/* A queue is checked twice, each time after this delay. */
#define PREEMPT_RECHECK_MS 25

/* Most queues that are checked while the dqm lock is held. */
#define PREEMPT_RECHECK_QUEUES 8

/* Unit of CP_HQD_PQ_WPTR, seen on an MI308X: 16 for each AQL packet. */
#define PREEMPT_PACKET_DWORDS 16

/* Whether an XCC has mapped the queue but has not seen all of its packets. */
static bool preempt_misses_packets(struct queue *q, u64 write,
				   const struct kfd_preempt_hqds *hqds)
{
	u32 ring_dwords = q->properties.queue_size / sizeof(u32);
	u32 wptr = (u32)write * PREEMPT_PACKET_DWORDS;
	unsigned int i;

	for (i = kfd_preempt_hw_find_hqd(hqds, 0, q); i < hqds->num;
	     i = kfd_preempt_hw_find_hqd(hqds, i + 1, q))
		if ((hqds->hqd[i].wptr ^ wptr) & (ring_dwords - 1))
			return true;
	return false;
}

/**
 * kfd_preempt_recheck_cancel - cancel the recheck of a queue
 * @q: the queue; the caller holds its dqm lock
 */
void kfd_preempt_recheck_cancel(struct queue *q)
{
	if (q->preempt.recheck)
		list_del(&q->preempt.recheck_node);
	q->preempt.recheck = false;
}

static void preempt_recheck_queue(struct device_queue_manager *dqm,
				  struct queue *q)
{
	struct kfd_preempt_q *pq = &q->preempt;

	kfd_preempt_recheck_cancel(q);
	list_add_tail(&pq->recheck_node, &dqm->preempt.recheck_list);
	pq->recheck = true;
	pq->recheck_at = ktime_add_ms(ktime_get(), PREEMPT_RECHECK_MS);
	schedule_delayed_work(&dqm->preempt.recheck,
			      msecs_to_jiffies(PREEMPT_RECHECK_MS));
}

/* Schedule the recheck of the queue of a finished request, if it needs one. */
void kfd_preempt_hw_recheck_later(struct device_queue_manager *dqm,
				  struct kfd_preempt_req *req)
{
	struct queue *q = req->q;
	bool wanted;

	if (!req->applied || req->result)
		return;
	if (req->set)
		wanted = kfd_preempt_verify && !q->preempt.hw_pending;
	else
		wanted = (kfd_preempt_verify || dqm->preempt.misses_packets) &&
			 q->properties.is_active && !req->was_active &&
			 dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS;
	q->preempt.indexes_known = false;
	if (wanted && kfd_preempt_hw_can_read_hqds(dqm, q) &&
	    q->properties.format == KFD_QUEUE_FORMAT_AQL)
		preempt_recheck_queue(dqm, q);
	else
		kfd_preempt_recheck_cancel(q);
}

/*
 * Whether @hqds has all that the check of a queue needs. Under the HWS one scan serves
 * all queues that were not stopped or started since; without it a queue has one slot,
 * and only that is read.
 */
static bool preempt_is_scanned(const struct queue *q, const struct kfd_preempt_hqds *hqds)
{
	return hqds && q->device->dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS &&
	       ktime_ms_delta(q->preempt.recheck_at, hqds->scanned) <= PREEMPT_RECHECK_MS;
}

/* Check a queue. Returns whether it must be mapped once more. */
static bool preempt_recheck_one(struct device_queue_manager *dqm, struct queue *q,
				struct kfd_preempt_hqds **hqds)
{
	struct mm_struct *mm = kfd_preempt_indexes_lock(q->process);
	struct kfd_preempt_q *pq = &q->preempt;
	DECLARE_BITMAP(slots, AMDGPU_MAX_QUEUES);
	u64 read, write;
	bool readable;

	readable = kfd_preempt_indexes_read(mm, (unsigned long)q->properties.read_ptr,
					    (__force unsigned long)q->properties.write_ptr,
					    &read, &write);
	kfd_preempt_indexes_unlock(mm);
	kfd_preempt_recheck_cancel(q);
	if (!readable)
		return false;
	if (!pq->indexes_known) {
		/* A queue without work cannot have missed a packet. */
		if (q->properties.is_active && read == write)
			return false;
		pq->indexes_known = true;
		pq->read_index = read;
		pq->write_index = write;
		preempt_recheck_queue(dqm, q);
		return false;
	}
	/* If the write index has changed, the doorbell is rung as well. */
	if (q->properties.preempt_holds ? read == pq->read_index :
					  !q->properties.is_active || read != pq->read_index ||
					  write != pq->write_index)
		return false;

	if (!preempt_is_scanned(q, *hqds)) {
		kfree(*hqds);
		bitmap_zero(slots, AMDGPU_MAX_QUEUES);
		kfd_preempt_hw_add_slots(q, slots);
		*hqds = kfd_preempt_hw_scan(dqm, slots);
		if (!*hqds)
			return false;
	}
	if (q->properties.preempt_holds) {
		if (!kfd_preempt_hw_still_active(dqm, q, *hqds))
			dev_info_ratelimited(dqm->dev->adev->dev,
					     "kfd_preempt: the read index of queue %u of process %d moved, and no XCC has the queue\n",
					     q->properties.queue_id,
					     q->process->lead_thread->tgid);
		return false;
	}
	if (!preempt_misses_packets(q, write, *hqds))
		return false;
	trace_kfd_preempt_missed(q, read, write);
	/*
	 * No message: a thread that was interrupted between its write index and its
	 * doorbell looks the same, and one more map does no harm.
	 */
	dqm->preempt.misses_packets = true;
	return true;
}

/*
 * Check the queues that are due, but not too many. Sets @map if one must be
 * mapped. Returns true to be called again.
 */
static bool preempt_recheck_some(struct device_queue_manager *dqm,
				 struct kfd_preempt_hqds **hqds, bool *map)
{
	ktime_t start = ktime_get();
	unsigned int num;
	struct queue *q;
	s64 left_ms = 0;

	for (num = 0; num < PREEMPT_RECHECK_QUEUES; num++) {
		q = list_first_entry_or_null(&dqm->preempt.recheck_list, struct queue,
					     preempt.recheck_node);
		if (q)
			left_ms = ktime_ms_delta(q->preempt.recheck_at, start);
		if (!q || left_ms > 0)
			break;
		*map |= preempt_recheck_one(dqm, q, hqds);
	}
	trace_kfd_preempt_recheck(dqm, num, ktime_to_ns(ktime_sub(ktime_get(), start)));
	if (left_ms > 0)
		schedule_delayed_work(&dqm->preempt.recheck, msecs_to_jiffies(left_ms));
	return num == PREEMPT_RECHECK_QUEUES;
}

void kfd_preempt_hw_recheck_worker(struct work_struct *work)
{
	struct device_queue_manager *dqm =
		container_of(to_delayed_work(work), struct device_queue_manager,
			     preempt.recheck);
	struct kfd_preempt_hqds *hqds = NULL;
	bool map = false, more;

	do {
		dqm_lock(dqm);
		more = preempt_recheck_some(dqm, &hqds, &map);
		if (!more && map && kfd_preempt_execute(dqm, false) && !dqm->active_runlist)
			kfd_preempt_hw_map_failed(dqm);
		dqm_unlock(dqm);
	} while (more);
	kfree(hqds);
}
