// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * EXPERIMENTAL: preempts queues under firmware scheduling by naming their
 * doorbells, so that all other queues stay on the hardware.
 *
 * UNMAP_QUEUES can do it, and the driver uses it on the KIQ. How the scheduling
 * firmware handles it on the HIQ, with a runlist in place, is not documented
 * and was tested on a software GPU only. Hence the parameter.
 */
#include "kfd_preempt_hw.h"
#include "kfd_pm4_headers_ai.h"

/* Number of doorbells in one UNMAP_QUEUES. */
#define PREEMPT_DOORBELLS 4

static bool preempt_is_changed(const struct kfd_preempt_req *req)
{
	return req->applied && req->q->properties.is_active != req->was_active;
}

/* Whether a batch can be done this way; any other unmaps the whole runlist. */
static bool preempt_suits_doorbells(const struct device_queue_manager *dqm,
				    const struct kfd_preempt_batch *batch)
{
	u32 version = KFD_GC_VERSION(dqm->dev);
	const struct kfd_preempt_req *req;

	if (!kfd_preempt_by_doorbell || batch->fast || !dqm->active_runlist ||
	    !dqm->sched_running || dqm->sched_halt)
		return false;
	/* All queues of a process whose memory moves are unmapped. */
	if (batch->moves)
		return false;
	/* The packet has the layout of gfx9 and gfx10. */
	if (version < IP_VERSION(9, 0, 1) || version >= IP_VERSION(11, 0, 0))
		return false;
	/* Firmware that cycles through a runlist would map the queue again. */
	if (dqm->packet_mgr.is_over_subscription)
		return false;
	/* A resumed queue needs a new runlist. */
	kfd_preempt_for_each_req(req, batch, dqm)
		if (preempt_is_changed(req) &&
		    (!req->set || kfd_preempt_is_sdma(req->q) || req->q->gws))
			return false;
	return true;
}

static int preempt_send_doorbells(struct packet_manager *pm, const u32 *doorbells,
				  unsigned int num)
{
	struct pm4_mes_unmap_queues *packet;
	unsigned int *buffer;
	int err;

	mutex_lock(&pm->lock);
	err = kq_acquire_packet_buffer(pm->priv_queue,
				       sizeof(*packet) / sizeof(u32), &buffer);
	if (err)
		goto unlock;
	err = pm->pmf->unmap_queues(pm, buffer,
				    KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0,
				    false);
	if (err) {
		kq_rollback_packet(pm->priv_queue);
		goto unlock;
	}
	packet = (struct pm4_mes_unmap_queues *)buffer;
	packet->bitfields2.queue_sel =
		queue_sel__mes_unmap_queues__perform_request_on_specified_queues;
	packet->bitfields2.num_queues = num;
	packet->bitfields3b.doorbell_offset0 = doorbells[0];
	packet->bitfields4.doorbell_offset1 = doorbells[1];
	packet->bitfields5.doorbell_offset2 = doorbells[2];
	packet->bitfields6.doorbell_offset3 = doorbells[3];
	err = kq_submit_packet(pm->priv_queue);
unlock:
	mutex_unlock(&pm->lock);
	return err;
}

static int preempt_send_batch(struct device_queue_manager *dqm,
			      const struct kfd_preempt_batch *batch)
{
	u32 doorbells[PREEMPT_DOORBELLS] = {};
	const struct kfd_preempt_req *req;
	unsigned int num = 0;
	int err;

	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!preempt_is_changed(req))
			continue;
		doorbells[num++] = req->q->properties.doorbell_off;
		if (num < PREEMPT_DOORBELLS)
			continue;
		err = preempt_send_doorbells(&dqm->packet_mgr, doorbells, num);
		if (err)
			return err;
		num = 0;
	}
	return num ? preempt_send_doorbells(&dqm->packet_mgr, doorbells, num) : 0;
}

/* Whether firmware gave up a queue instead of unmapping it. */
static bool preempt_unmap_failed(struct device_queue_manager *dqm)
{
	struct mqd_manager *hiq = dqm->mqd_mgrs[KFD_MQD_TYPE_HIQ];

	return hiq->check_preemption_failed(hiq, dqm->packet_mgr.priv_queue->queue->mqd);
}

/*
 * Returns 0 when all preempted queues of the batch are saved, or -EAGAIN to
 * unmap the whole runlist instead. This is safe at any time: an unmap has no
 * effect on queues that are off the hardware. The caller holds the reset
 * semaphore.
 */
static int preempt_unmap_doorbells(struct device_queue_manager *dqm,
				   const struct kfd_preempt_batch *batch)
{
	int err;

	if (preempt_send_batch(dqm, batch))
		return -EAGAIN;
	*dqm->fence_addr = KFD_FENCE_INIT;
	if (pm_send_query_status(&dqm->packet_mgr, dqm->fence_gpu_addr,
				 KFD_FENCE_COMPLETED))
		return -EAGAIN;
	err = amdkfd_fence_wait_timeout(dqm, KFD_FENCE_COMPLETED,
					queue_preemption_timeout_ms);
	if (err) {
		/* No other packet may be sent: this fence would confirm it. */
		dev_err(dqm->dev->adev->dev,
			"no answer to an unmap by doorbell\n");
		kfd_preempt_hws_hang(dqm);
		return err;
	}
	/* The unmap of the whole runlist handles a queue that was given up. */
	if (preempt_unmap_failed(dqm))
		return -EAGAIN;
	return 0;
}

/* As above, and -EAGAIN if the batch cannot be done this way. */
int kfd_preempt_hw_by_doorbell(struct device_queue_manager *dqm,
			       const struct kfd_preempt_batch *batch)
{
	struct rw_semaphore *reset = &dqm->dev->adev->reset_domain->sem;
	int err;

	if (!preempt_suits_doorbells(dqm, batch) || !down_read_trylock(reset))
		return -EAGAIN;
	err = preempt_unmap_doorbells(dqm, batch);
	up_read(reset);
	return err;
}
