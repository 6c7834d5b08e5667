// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Scans the HQDs of every XCC for queues that are on the hardware. With
 * preempt_verify=1 none of them may be a stopped one.
 */
#include "kfd_preempt_hw.h"

/*
 * Indexes of registers in what hqd_dump() reads of gfx9 and gfx10, which are
 * consecutive; that of CP_HQD_PQ_WPTR_LO is counted from the end.
 */
#define PREEMPT_DUMP_MQD_LO 0
#define PREEMPT_DUMP_MQD_HI 1
#define PREEMPT_DUMP_ACTIVE 2
#define PREEMPT_DUMP_WPTR_LO 2

/* Returns false without memory. */
static bool preempt_find_hqd_regs(struct device_queue_manager *dqm, int xcc)
{
	u32 (*dump)[2], n_regs;

	if (dqm->preempt.hqd_regs[xcc].mqd)
		return true;
	/* A dump reads 56 registers. It contains their addresses, in bytes. */
	if (dqm->dev->kfd2kgd->hqd_dump(dqm->dev->adev, 0, 0, &dump, &n_regs, xcc))
		return false;
	dqm->preempt.hqd_regs[xcc].mqd = dump[PREEMPT_DUMP_MQD_LO][0] / sizeof(u32);
	dqm->preempt.hqd_regs[xcc].wptr =
		dump[n_regs - PREEMPT_DUMP_WPTR_LO][0] / sizeof(u32);
	kfree(dump);
	return true;
}

/* Add the queues in these slots of an XCC. */
static void preempt_scan_xcc(struct device_queue_manager *dqm, const unsigned long *slots,
			     int xcc, struct kfd_preempt_hqds *hqds)
{
	struct amdgpu_device *adev = dqm->dev->adev;
	u32 i, mqd, num_slots = get_queues_per_pipe(dqm);

	if (!preempt_find_hqd_regs(dqm, xcc))
		return;
	mqd = dqm->preempt.hqd_regs[xcc].mqd;
	mutex_lock(&adev->srbm_mutex);
	for_each_set_bit(i, slots, get_pipes_per_mec(dqm) * num_slots) {
		amdgpu_gfx_select_me_pipe_q(adev, 1, i / num_slots, i % num_slots, 0, xcc);
		if (!RREG32(mqd + PREEMPT_DUMP_ACTIVE))
			continue;
		hqds->hqd[hqds->num].mqd = RREG32(mqd) |
					   (u64)RREG32(mqd + PREEMPT_DUMP_MQD_HI) << 32;
		hqds->hqd[hqds->num].wptr = RREG32(dqm->preempt.hqd_regs[xcc].wptr);
		hqds->hqd[hqds->num].slot = i;
		hqds->hqd[hqds->num].xcc = xcc;
		/* Firmware may put another queue into the slot between two registers. */
		if (RREG32(mqd) == lower_32_bits(hqds->hqd[hqds->num].mqd))
			hqds->num++;
	}
	amdgpu_gfx_select_me_pipe_q(adev, 0, 0, 0, 0, xcc);
	mutex_unlock(&adev->srbm_mutex);
}

/*
 * Returns the queues in these slots, to be freed, or NULL without memory.
 * During a GPU reset the registers must not be read and would mean nothing.
 */
struct kfd_preempt_hqds *kfd_preempt_hw_scan(struct device_queue_manager *dqm,
					     const unsigned long *slots)
{
	struct amdgpu_device *adev = dqm->dev->adev;
	u32 mask = dqm->dev->xcc_mask;
	struct kfd_preempt_hqds *hqds;

	hqds = kzalloc(struct_size(hqds, hqd, NUM_XCC(dqm->dev->xcc_mask) *
				   get_pipes_per_mec(dqm) * get_queues_per_pipe(dqm)),
		       GFP_KERNEL);
	if (!hqds)
		return NULL;
	hqds->scanned = ktime_get();
	if (!dqm->sched_running || !down_read_trylock(&adev->reset_domain->sem))
		return hqds;
	amdgpu_gfx_off_ctrl(adev, false);
	for (; mask; mask &= mask - 1)
		preempt_scan_xcc(dqm, slots, ffs(mask) - 1, hqds);
	amdgpu_gfx_off_ctrl(adev, true);
	up_read(&adev->reset_domain->sem);
	return hqds;
}

/* The slot of a queue without the HWS. */
static u32 preempt_own_slot(const struct queue *q)
{
	return q->pipe * get_queues_per_pipe(q->device->dqm) + q->queue;
}

/* Add the slots in which a queue may be: any under the HWS. */
void kfd_preempt_hw_add_slots(const struct queue *q, unsigned long *slots)
{
	if (q->device->dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS)
		__set_bit(preempt_own_slot(q), slots);
	else
		bitmap_fill(slots, AMDGPU_MAX_QUEUES);
}

/*
 * Whether a queue is in a slot with that MQD. MQDs are compared: rings of two
 * processes may have the same address.
 */
static bool preempt_is_in_slot(struct queue *q, u64 mqd, u32 slot)
{
	struct device_queue_manager *dqm = q->device->dqm;

	/*
	 * Without the HWS a queue has one slot. In others there may be a dead queue that
	 * never left, whose MQD had the same address.
	 */
	if (dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS && slot != preempt_own_slot(q))
		return false;
	return mqd - q->gart_mqd_addr < kfd_preempt_mqd_bytes(kfd_preempt_mqd_mgr(q), q);
}

/* Returns the first entry from @i on that is a queue, or hqds->num. */
unsigned int kfd_preempt_hw_find_hqd(const struct kfd_preempt_hqds *hqds, unsigned int i,
				     struct queue *q)
{
	while (i < hqds->num && !preempt_is_in_slot(q, hqds->hqd[i].mqd, hqds->hqd[i].slot))
		i++;
	return i;
}

bool kfd_preempt_hw_can_read_hqds(const struct device_queue_manager *dqm,
				  const struct queue *q)
{
	return dqm->dev->kfd2kgd->hqd_dump && !kfd_preempt_is_sdma(q) &&
	       !kfd_preempt_uses_mes(dqm);
}

/* Returns whether a queue that should be off the hardware is still on it. */
bool kfd_preempt_hw_still_active(struct device_queue_manager *dqm, struct queue *q,
				 const struct kfd_preempt_hqds *hqds)
{
	unsigned int i = kfd_preempt_hw_find_hqd(hqds, 0, q);

	if (i == hqds->num)
		return false;
	dev_err(dqm->dev->adev->dev,
		"kfd_preempt: queue %u of process %d is off the hardware but active on XCC %d\n",
		q->properties.queue_id, q->process->lead_thread->tgid, hqds->hqd[i].xcc);
	kfd_preempt_degrade(dqm, KFD_PREEMPT_DEGRADED_STILL_ACTIVE);
	return true;
}

static bool preempt_to_verify(const struct device_queue_manager *dqm,
			      const struct kfd_preempt_req *req, bool stops)
{
	const struct queue *q = req->q;

	if (!!req->set != stops || req->result ||
	    q->properties.is_active || q->preempt.hw_pending)
		return false;
	/*
	 * One more hold on a queue that is off the hardware does not stop it.
	 */
	if (stops && !req->was_active && !req->was_pending)
		return false;
	return kfd_preempt_hw_can_read_hqds(dqm, q);
}

/* Set the slots in which the queues to verify may be. Returns whether there are any. */
static bool preempt_slots_to_verify(struct device_queue_manager *dqm,
				    const struct kfd_preempt_batch *batch, bool stops,
				    unsigned long *slots)
{
	const struct kfd_preempt_req *req;

	bitmap_zero(slots, AMDGPU_MAX_QUEUES);
	kfd_preempt_for_each_req(req, batch, dqm)
		if (preempt_to_verify(dqm, req, stops))
			kfd_preempt_hw_add_slots(req->q, slots);
	return !bitmap_empty(slots, AMDGPU_MAX_QUEUES);
}

/*
 * Called after confirmed stops; without the HWS also before resumes, which
 * would load the queues a second time (the HWS unmaps all queues before it
 * maps). If a queue is still on the hardware, a stop counts as not confirmed,
 * and a resume fails as too early.
 */
void kfd_preempt_hw_verify(struct device_queue_manager *dqm,
			   struct kfd_preempt_batch *batch, bool stops)
{
	DECLARE_BITMAP(slots, AMDGPU_MAX_QUEUES);
	struct kfd_preempt_hqds *hqds;
	struct kfd_preempt_req *req;

	if (!kfd_preempt_verify || !preempt_slots_to_verify(dqm, batch, stops, slots))
		return;
	/* One scan for all of them. */
	hqds = kfd_preempt_hw_scan(dqm, slots);
	if (!hqds)
		return;
	kfd_preempt_for_each_req(req, batch, dqm)
		if (preempt_to_verify(dqm, req, stops) &&
		    kfd_preempt_hw_still_active(dqm, req->q, hqds))
			req->result = stops ? -ETIME : -EBUSY;
	kfree(hqds);
}
