// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Runs a batch: each node gets its part, in the context that it needs. */

#include <linux/workqueue.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/**
 * kfd_preempt_next_req - the next request to a node
 * @batch: where it is
 * @dqm: the node
 * @first: the first one that it may be
 *
 * Return: the request, or NULL.
 */
struct kfd_preempt_req *kfd_preempt_next_req(const struct kfd_preempt_batch *batch,
					     const struct device_queue_manager *dqm,
					     const struct kfd_preempt_req *first)
{
	unsigned int i;

	for (i = first - batch->reqs; i < batch->num; i++)
		if (!batch->reqs[i].skip && batch->reqs[i].q->device->dqm == dqm)
			return &batch->reqs[i];
	return NULL;
}

struct run_work {
	struct work_struct work;
	struct device_queue_manager *dqm;
	struct kfd_preempt_batch *batch;
};

static void run_worker(struct work_struct *work)
{
	struct run_work *run = container_of(work, struct run_work, work);

	run->dqm->ops.switch_queues(run->dqm, run->batch);
}

/*
 * load_mqd() of SDMA queues reads the write pointer from user memory, which
 * works only in the target itself and in kernel threads. Elsewhere it would use
 * the read pointer instead and lose a wakeup.
 */
static bool needs_worker(const struct device_queue_manager *dqm,
			 const struct kfd_preempt_batch *batch)
{
	const struct kfd_process_device *pdd;
	const struct kfd_preempt_req *req;

	if (dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS ||
	    (current->flags & PF_KTHREAD))
		return false;
	kfd_preempt_for_each_req(req, batch, dqm)
		if (req->mm != current->mm)
			return true;
	kfd_preempt_for_each_move(pdd, batch)
		if (pdd->dev->dqm == dqm && pdd->process->mm != current->mm)
			return true;
	return false;
}

static void switch_node(struct device_queue_manager *dqm,
			struct kfd_preempt_batch *batch)
{
	struct run_work run = { .dqm = dqm, .batch = batch };

	if (!needs_worker(dqm, batch)) {
		dqm->ops.switch_queues(dqm, batch);
		return;
	}
	INIT_WORK_ONSTACK(&run.work, run_worker);
	queue_work(kfd_preempt_wq, &run.work);
	flush_work(&run.work);
	destroy_work_on_stack(&run.work);
}

static void run_node(struct device_queue_manager *dqm,
		     struct kfd_preempt_batch *batch)
{
	u64 hw_ns = batch->hw_ns;
	ktime_t start = ktime_get();
	const struct kfd_preempt_req *req;
	u32 preempts = 0, resumes = 0;

	switch_node(dqm, batch);
	if (!trace_kfd_preempt_node_enabled())
		return;
	kfd_preempt_for_each_req(req, batch, dqm) {
		preempts += !!req->set;
		resumes += !req->set;
	}
	trace_kfd_preempt_node(dqm, preempts, resumes,
			       ktime_to_ns(ktime_sub(ktime_get(), start)),
			       batch->hw_ns - hw_ns);
}

static bool has_move(const struct kfd_preempt_batch *batch,
		     const struct kfd_process_device *end,
		     const struct device_queue_manager *dqm)
{
	const struct kfd_process_device *pdd;

	kfd_preempt_for_each_move(pdd, batch) {
		if (pdd == end)
			return false;
		if (pdd->dev->dqm == dqm)
			return true;
	}
	return false;
}

/**
 * kfd_preempt_run - bring a batch to the hardware, node by node
 * @batch: what to do; the caller holds the mutex of each target process
 *
 * All preemptions and resumes of one node are done together. Two dqm locks are
 * never held at a time: they share one lock class.
 */
void kfd_preempt_run(struct kfd_preempt_batch *batch)
{
	struct device_queue_manager *dqm;
	struct kfd_process_device *pdd;
	unsigned int i;

	batch->start = ktime_get();
	for (i = 0; i < batch->num; i++) {
		if (batch->reqs[i].skip)
			continue;
		dqm = batch->reqs[i].q->device->dqm;
		if (kfd_preempt_next_req(batch, dqm, batch->reqs) == &batch->reqs[i])
			run_node(dqm, batch);
	}
	kfd_preempt_for_each_move(pdd, batch) {
		dqm = pdd->dev->dqm;
		if (!kfd_preempt_next_req(batch, dqm, batch->reqs) &&
		    !has_move(batch, pdd, dqm))
			run_node(dqm, batch);
	}
}
