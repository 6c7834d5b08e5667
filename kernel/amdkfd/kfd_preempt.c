// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Dispatch of the preemption ioctls. */

#include <linux/file.h>
#include <linux/uaccess.h>

#include "kfd_preempt_compat.h"

/**
 * DOC: Preemption of user queues
 *
 * A queue is stopped in the middle of its kernels by letting the CP save its
 * waves (CWSR) and take it off the hardware, and is kept off by a *hold*. Holds
 * are bits in queue_properties.preempt_holds and part of QUEUE_IS_ACTIVE(), so
 * that eviction, restoration, updates of the queue and the debugger respect
 * them unchanged: code that re-activates queues skips held ones, and a hold
 * never starts a queue that KFD wants off the hardware.
 *
 * The order is that of eviction: destroy_mqd(SAVE), or an unmap by the HWS,
 * leaves MQD, control stack and save area as the CP wrote them, and a resume
 * loads that MQD. Nothing may overwrite the MQD in between. While a queue is on
 * the hardware, its MQD in memory is stale.
 */

static int preempt_queue(struct file *filep, struct kfd_process *p, void *data)
{
	return kfd_preempt_do_own_queue(filep, p, KFD_PREEMPT_OP_PREEMPT, data);
}

static int resume_queue(struct file *filep, struct kfd_process *p, void *data)
{
	const struct kfd_ioctl_resume_queue_args *resume = data;
	struct kfd_ioctl_preempt_queue_args args = { .queue_id = resume->queue_id };

	if (resume->flags || resume->pad[0] || resume->pad[1])
		return -EINVAL;
	return kfd_preempt_do_own_queue(filep, p, KFD_PREEMPT_OP_RESUME, &args);
}

struct call_args {
	union {
		struct kfd_ioctl_preempt_queue_args preempt;
		struct kfd_ioctl_resume_queue_args resume;
		struct kfd_ioctl_preempt_query_args query;
		struct kfd_ioctl_preempt_switch_args batch;
		struct kfd_ioctl_preempt_status_args status;
		struct kfd_ioctl_preempt_watch_args watch;
	};
	struct file *made; /* by WATCH, to be installed once its descriptor is returned */
};

static int make_watch(struct file *filep, struct kfd_process *p, void *data)
{
	struct call_args *args = container_of(data, struct call_args, watch);

	return kfd_preempt_do_watch(filep, &args->watch, &args->made);
}

/*
 * Structs may grow at the end: @least is the first size, which is the minimum.
 * PREEMPT_QUEUE and RESUME_QUEUE never grow, and return nothing in their structs.
 * They are matched by the whole command: other trees use their numbers for other
 * ioctls, which must reach the table of KFD.
 */
struct ioctl {
	unsigned int cmd;
	size_t size;
	size_t least;
	kfd_preempt_handler *func;
};

/* A copy has the size of a member of call_args, so it fits. */
#define IOCTL(_cmd, _member, _least, _func) {				\
		.cmd = (_cmd),						\
		.size = sizeof_field(struct call_args, _member),	\
		.least = (_least),					\
		.func = (_func),					\
	}

static const struct ioctl ioctls[] = {
#if KFD_PREEMPT_HAS_V0
	IOCTL(AMDKFD_IOC_PREEMPT_QUEUE, preempt, 0, preempt_queue),
	IOCTL(AMDKFD_IOC_RESUME_QUEUE, resume, 0, resume_queue),
#endif
	IOCTL(AMDKFD_IOC_PREEMPT_QUERY, query,
	      sizeof(struct kfd_ioctl_preempt_query_args), kfd_preempt_do_query),
	IOCTL(AMDKFD_IOC_PREEMPT_SWITCH, batch,
	      sizeof(struct kfd_ioctl_preempt_switch_args), kfd_preempt_do_switch),
	IOCTL(AMDKFD_IOC_PREEMPT_STATUS, status,
	      offsetofend(struct kfd_ioctl_preempt_status_args, reserved),
	      kfd_preempt_do_status),
	IOCTL(AMDKFD_IOC_PREEMPT_WATCH, watch,
	      sizeof(struct kfd_ioctl_preempt_watch_args), make_watch),
};

static const struct ioctl *find_ioctl(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ioctls); i++)
		if (!((ioctls[i].cmd ^ cmd) & (ioctls[i].least ? ~IOCSIZE_MASK : ~0U)))
			return &ioctls[i];
	return NULL;
}

/**
 * kfd_preempt_cmd - whether an ioctl on /dev/kfd is one of ours
 * @cmd: the whole command
 *
 * Return: true if kfd_preempt_ioctl() handles it.
 */
bool kfd_preempt_cmd(unsigned int cmd)
{
	return kfd_preempt_enabled() && find_ioctl(cmd);
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
	const struct ioctl *ioctl = find_ioctl(cmd);
	size_t usize = _IOC_SIZE(cmd);
	struct kfd_process *p = filep->private_data;
	void __user *uarg = (void __user *)arg;
	struct call_args args = {};
	long ret;

	/* Like every KFD ioctl, fail on a file that was inherited over fork. */
	if (p->lead_thread != current->group_leader)
		return -EBADF;
	/* The file survives exec, the address space of the queues does not. */
	if (!p->mm)
		return -ESRCH;
	if (usize < ioctl->least)
		return -EINVAL;
	ret = copy_struct_from_user(&args, ioctl->size, uarg, usize);
	if (ret)
		return ret;
	ret = ioctl->func(filep, p, &args);
	if (!ret && ioctl->least && copy_to_user(uarg, &args, min(ioctl->size, usize)))
		ret = -EFAULT;
	if (args.made && ret) {
		put_unused_fd(args.watch.fd);
		fput(args.made);
	} else if (args.made) {
		fd_install(args.watch.fd, args.made);
	}
	return ret;
}
