// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Stops relying on features that a node turns out not to have, until they are
 * re-armed.
 */

#include <linux/module.h>

#include "kfd_preempt_compat.h"

/* After so many late or failed unmaps in this time a node is not preempted any more. */
static unsigned int max_late_fences = 3;
module_param_named(preempt_max_late, max_late_fences, uint, 0644);
MODULE_PARM_DESC(preempt_max_late,
		 "Late or failed unmaps within 10 minutes after which a GPU is preempted no more (default: 3)");

#define LATE_PERIOD_MS (10 * 60 * MSEC_PER_SEC)

static const struct {
	u32 bit;
	const char *name;
	const char *reason;
} reasons[] = {
	{ KFD_PREEMPT_DEGRADED_FENCE, "fence",
	  "unmaps of the runlist were late or failed" },
	{ KFD_PREEMPT_DEGRADED_STILL_ACTIVE, "still-active",
	  "a queue was on the hardware although its unmap was confirmed" },
	{ KFD_PREEMPT_DEGRADED_GRACE, "grace",
	  "the short grace period does not reach every XCC" },
	{ KFD_PREEMPT_DEGRADED_MES, "mes", "a call of the MES failed" },
};

/**
 * kfd_preempt_degrade - stop relying on a feature that does not work on a node
 * @dqm: scheduler of the node, locked by the caller
 * @bit: KFD_PREEMPT_DEGRADED_*
 */
void kfd_preempt_degrade(struct device_queue_manager *dqm, u32 bit)
{
	unsigned int i;

	if (dqm->preempt.degraded & bit)
		return;
	WRITE_ONCE(dqm->preempt.degraded, dqm->preempt.degraded | bit);
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].bit == bit)
			dev_warn(dqm->dev->adev->dev,
				 "kfd_preempt: %s; %s until 0 is written to amdgpu's parameter preempt_degraded\n",
				 reasons[i].reason,
				 bit == KFD_PREEMPT_DEGRADED_GRACE ? "no FAST" :
								     "no queue is preempted");
}

/**
 * kfd_preempt_count_fence - classify the time that an unmap of a node took
 * @dqm: scheduler of the node, locked by the caller
 * @batch: what it has carried out
 * @start: when it was sent
 * @end: when it was confirmed or had failed
 * @failed: the fence was never signaled
 *
 * Late is half of the time after which KFD resets the GPU. A process can make
 * unmaps late by its trap handler, so those that it orders itself do not count.
 */
void kfd_preempt_count_fence(struct device_queue_manager *dqm,
			     const struct kfd_preempt_batch *batch, ktime_t start,
			     ktime_t end, bool failed)
{
	struct kfd_preempt_node *node = &dqm->preempt;
	s64 ms = ktime_ms_delta(end, start);
	const struct kfd_preempt_req *req;
	const struct queue *q = NULL;
	bool own = true;

	if (!failed && ms < queue_preemption_timeout_ms / 2)
		return;
	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!req->applied)
			continue;
		/* Prefer the queue of a stop. */
		if (!q || req->set)
			q = req->q;
		own &= !((req->set | req->clear) & KFD_PREEMPT_OPERATOR_HOLDS);
	}
	if (!q)
		return;
	dev_info(dqm->dev->adev->dev,
		 "kfd_preempt: an unmap %s after %lld ms, for queue %u of process %d\n",
		 failed ? "failed" : "was confirmed", ms, q->properties.queue_id,
		 q->process->lead_thread->tgid);
	if (own)
		return;
	if (ktime_ms_delta(end, node->late_since) >= LATE_PERIOD_MS)
		node->late_fences = 0;
	if (!node->late_fences++)
		node->late_since = end;
	if (node->late_fences >= max_late_fences)
		kfd_preempt_degrade(dqm, KFD_PREEMPT_DEGRADED_FENCE);
}

/* Whether a node rejects preemptions. */
bool kfd_preempt_is_given_up(const struct device_queue_manager *dqm)
{
	return READ_ONCE(dqm->preempt.degraded) & ~KFD_PREEMPT_DEGRADED_GRACE;
}

struct show_walk {
	char *buffer;
	int len;
};

static void show_node(struct device_queue_manager *dqm, void *data)
{
	u32 degraded = READ_ONCE(dqm->preempt.degraded);
	struct show_walk *walk = data;
	unsigned int i;

	walk->len += sysfs_emit_at(walk->buffer, walk->len, "%u:", dqm->dev->id);
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (degraded & reasons[i].bit)
			walk->len += sysfs_emit_at(walk->buffer, walk->len, " %s",
						   reasons[i].name);
	walk->len += sysfs_emit_at(walk->buffer, walk->len, "\n");
}

/* One line for each node: its gpu_id, and the features that it does not use. */
static int degraded_get(char *buffer, const struct kernel_param *kp)
{
	struct show_walk walk = { .buffer = buffer };

	kfd_preempt_nodes_visit(show_node, &walk);
	return walk.len;
}

static void rearm_node(struct device_queue_manager *dqm, void *data)
{
	dqm_lock(dqm);
	WRITE_ONCE(dqm->preempt.degraded, 0);
	dqm->preempt.late_fences = 0;
	dqm->preempt.misses_packets = false;
	dqm->preempt.grace_checked = false;
	dqm_unlock(dqm);
}

static int degraded_set(const char *val, const struct kernel_param *kp)
{
	u32 bits;
	int err;

	err = kstrtou32(val, 0, &bits);
	if (err || bits)
		return err ? err : -EINVAL;
	kfd_preempt_nodes_visit(rearm_node, NULL);
	return 0;
}

static const struct kernel_param_ops degraded_ops = {
	.set = degraded_set,
	.get = degraded_get,
};
module_param_cb(preempt_degraded, &degraded_ops, NULL, 0644);
MODULE_PARM_DESC(preempt_degraded,
		 "What each GPU was found not to do; writing 0 tries it again");
