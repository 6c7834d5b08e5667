// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Entry points of the preemption ioctls: dispatch, parameters, QUERY. */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"
#include "kfd_preempt_version.h"

/**
 * DOC: Preemption of user queues
 *
 * A queue is stopped in the middle of its kernels by letting the CP save its
 * waves (CWSR) and take it off the hardware, and is kept off by a *hold*.
 * Holds are bits in queue_properties.preempt_holds and part of
 * QUEUE_IS_ACTIVE(), so that eviction, restoration, updates of the queue and
 * the debugger respect them with no change of their own: nobody who
 * re-activates queues touches a held one, and a hold never starts a queue
 * that KFD wants off the hardware.
 *
 * The order is that of eviction: destroy_mqd(SAVE), or an unmap by the HWS,
 * leaves MQD, control stack and save area as the CP wrote them, and starting
 * loads that MQD. Nothing may be copied over the MQD in between: while a queue
 * is on hardware its MQD in memory is stale.
 */

static int kfd_preempt_enable = 1;
module_param_named(kfd_preempt, kfd_preempt_enable, int, 0444);
MODULE_PARM_DESC(kfd_preempt, "Queue preemption ioctls (0 = off, 1 = on (default))");

int kfd_preempt_operator_mode = 1;
module_param_named(operator_mode, kfd_preempt_operator_mode, int, 0444);
MODULE_PARM_DESC(operator_mode,
		 "Who may stop queues of another process (0 = nobody, 1 = CAP_SYS_PTRACE (default), 2 = also who has a file of it, 3 = also the same user)");

int kfd_preempt_allow_reset;
module_param_named(allow_reset, kfd_preempt_allow_reset, int, 0444);
MODULE_PARM_DESC(allow_reset,
		 "Allow preempt type RESET, which kills the queue (0 = no (default), 1 = yes)");

int kfd_preempt_checkpoint_mode = 1;
module_param_named(preempt_checkpoint, kfd_preempt_checkpoint_mode, int, 0444);
MODULE_PARM_DESC(preempt_checkpoint,
		 "Copy the MQD of a stopped queue (0 = never, 1 = on request (default), 2 = always)");

bool kfd_preempt_by_doorbell;
module_param_named_unsafe(preempt_by_doorbell, kfd_preempt_by_doorbell, bool, 0444);
MODULE_PARM_DESC(preempt_by_doorbell,
		 "EXPERIMENTAL: stop a queue under firmware scheduling without a save of all others; never run on a GPU (default: no)");

static int abi_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u.%u\n", KFD_PREEMPT_ABI_MAJOR,
			  KFD_PREEMPT_ABI_MINOR);
}

static int abi_set(const char *val, const struct kernel_param *kp)
{
	return -EPERM;
}

static const struct kernel_param_ops abi_ops = {
	.set = abi_set,
	.get = abi_get,
};
module_param_cb(kfd_preempt_abi, &abi_ops, NULL, 0444);
MODULE_PARM_DESC(kfd_preempt_abi, "Version of the preemption ioctls (read only)");

MODULE_INFO(kfd_preempt, KFD_PREEMPT_VERSION);
/* DKMS takes two modules without a version for the same and keeps the stock one. */
MODULE_VERSION(KFD_PREEMPT_VERSION);

bool kfd_preempt_enabled(void)
{
	return kfd_preempt_enable;
}

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

static int do_query(struct kfd_process *p,
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
	args->hw_clock_khz = 0;

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
 * works in the target itself and in kernel threads only. Elsewhere it would
 * take the read pointer instead and lose a wakeup.
 */
static bool needs_worker(const struct device_queue_manager *dqm,
			 const struct kfd_preempt_batch *batch)
{
	unsigned int i;

	if (dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS ||
	    (current->flags & PF_KTHREAD))
		return false;
	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].q && batch->reqs[i].q->device->dqm == dqm &&
		    batch->reqs[i].mm != current->mm)
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
	u32 stops = 0, starts = 0;
	unsigned int i;

	switch_node(dqm, batch);
	if (!trace_kfd_preempt_node_enabled())
		return;
	for (i = 0; i < batch->num; i++) {
		if (!batch->reqs[i].q || batch->reqs[i].q->device->dqm != dqm)
			continue;
		stops += !!batch->reqs[i].set;
		starts += !batch->reqs[i].set;
	}
	trace_kfd_preempt_node(dqm, stops, starts,
			       ktime_to_ns(ktime_sub(ktime_get(), start)),
			       batch->hw_ns - hw_ns);
}

/**
 * kfd_preempt_run - bring a batch to the hardware, node by node
 * @batch: what to do; the caller holds the mutex of each target process
 *
 * All stops and starts of one node go together. Two dqm locks are never held
 * at a time: they share one lock class.
 */
void kfd_preempt_run(struct kfd_preempt_batch *batch)
{
	struct device_queue_manager *dqm;
	unsigned int i, j;

	batch->start = ktime_get();
	for (i = 0; i < batch->num; i++) {
		if (!batch->reqs[i].q)
			continue;
		dqm = batch->reqs[i].q->device->dqm;
		for (j = 0; j < i; j++)
			if (batch->reqs[j].q &&
			    batch->reqs[j].q->device->dqm == dqm)
				break;
		if (j == i)
			run_node(dqm, batch);
	}
}

static long ioctl_v0(struct file *filep, struct kfd_process *p,
		     unsigned int cmd, void __user *uarg)
{
	struct kfd_ioctl_preempt_queue_args preempt = {};
	struct kfd_ioctl_resume_queue_args resume;

	if (cmd == AMDKFD_IOC_PREEMPT_QUEUE) {
		if (copy_from_user(&preempt, uarg, sizeof(preempt)))
			return -EFAULT;
		return kfd_preempt_do_v0(filep, p, KFD_PREEMPT_OP_PREEMPT,
					 &preempt);
	}
	if (copy_from_user(&resume, uarg, sizeof(resume)))
		return -EFAULT;
	if (resume.flags || resume.pad[0] || resume.pad[1])
		return -EINVAL;
	preempt.queue_id = resume.queue_id;
	return kfd_preempt_do_v0(filep, p, KFD_PREEMPT_OP_RESUME, &preempt);
}

static long ioctl_v1(struct file *filep, struct kfd_process *p,
		     unsigned int cmd, void __user *uarg)
{
	union {
		struct kfd_ioctl_preempt_query_args query;
		struct kfd_ioctl_preempt_switch_args swtch;
		struct kfd_ioctl_preempt_status_args status;
	} args;
	size_t ksize;
	long ret;

	if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY))
		ksize = sizeof(args.query);
	else if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_SWITCH))
		ksize = sizeof(args.swtch);
	else
		ksize = sizeof(args.status);

	if (_IOC_SIZE(cmd) < ksize)
		return -EINVAL;
	memset(&args, 0, sizeof(args));
	ret = copy_struct_from_user(&args, ksize, uarg, _IOC_SIZE(cmd));
	if (ret)
		return ret;

	if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY))
		ret = do_query(p, &args.query);
	else if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_SWITCH))
		ret = kfd_preempt_do_switch(filep, p, &args.swtch);
	else
		ret = kfd_preempt_do_status(filep, p, &args.status);

	if (!ret && copy_to_user(uarg, &args, ksize))
		ret = -EFAULT;
	return ret;
}

/**
 * kfd_preempt_cmd - whether an ioctl on /dev/kfd is one of ours
 * @cmd: the whole command
 *
 * The first two are matched by the whole command: their numbers carry other
 * ioctls in other trees, which must reach the table of KFD.
 *
 * Return: true when kfd_preempt_ioctl() is to have it.
 */
bool kfd_preempt_cmd(unsigned int cmd)
{
	if (!kfd_preempt_enable)
		return false;
	if (cmd == AMDKFD_IOC_PREEMPT_QUEUE || cmd == AMDKFD_IOC_RESUME_QUEUE)
		return true;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(AMDKFD_IOC_PREEMPT_QUERY) ||
	    _IOC_DIR(cmd) != _IOC_DIR(AMDKFD_IOC_PREEMPT_QUERY))
		return false;
	return _IOC_NR(cmd) >= _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY) &&
	       _IOC_NR(cmd) <= _IOC_NR(AMDKFD_IOC_PREEMPT_STATUS);
}

/**
 * kfd_preempt_ioctl - one of the ioctls that kfd_preempt_cmd() accepts
 * @filep: file of /dev/kfd
 * @cmd: the whole command
 * @arg: user pointer to the arguments
 *
 * Return: 0 or a negative errno, see kfd_preempt_uapi.h.
 */
long kfd_preempt_ioctl(struct file *filep, unsigned int cmd, unsigned long arg)
{
	struct kfd_process *p = filep->private_data;
	void __user *uarg = (void __user *)arg;

	/* As every KFD ioctl: not through a file inherited over fork. */
	if (p->lead_thread != current->group_leader)
		return -EBADF;
	/* exec kept the file, but the address space of the queues is gone. */
	if (!p->mm)
		return -ESRCH;

	if (cmd == AMDKFD_IOC_PREEMPT_QUEUE || cmd == AMDKFD_IOC_RESUME_QUEUE)
		return ioctl_v0(filep, p, cmd, uarg);
	return ioctl_v1(filep, p, cmd, uarg);
}
