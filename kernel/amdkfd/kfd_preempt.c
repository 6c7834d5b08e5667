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

/* PREEMPT_QUEUE and RESUME_QUEUE, whose structs never grow. */
static long ioctl_own_queue(struct file *filep, struct kfd_process *p,
			    unsigned int cmd, void __user *uarg)
{
	struct kfd_ioctl_preempt_queue_args preempt = {};
	struct kfd_ioctl_resume_queue_args resume;

	if (cmd == AMDKFD_IOC_PREEMPT_QUEUE) {
		if (copy_from_user(&preempt, uarg, sizeof(preempt)))
			return -EFAULT;
		return kfd_preempt_do_own_queue(filep, p, KFD_PREEMPT_OP_PREEMPT,
						&preempt);
	}
	if (copy_from_user(&resume, uarg, sizeof(resume)))
		return -EFAULT;
	if (resume.flags || resume.pad[0] || resume.pad[1])
		return -EINVAL;
	preempt.queue_id = resume.queue_id;
	return kfd_preempt_do_own_queue(filep, p, KFD_PREEMPT_OP_RESUME, &preempt);
}

/*
 * The other calls. Their structs may grow at the end, the first size is the
 * minimum.
 */
static long ioctl_extensible(struct file *filep, struct kfd_process *p,
			     unsigned int cmd, void __user *uarg)
{
	union {
		struct kfd_ioctl_preempt_query_args query;
		struct kfd_ioctl_preempt_switch_args batch;
		struct kfd_ioctl_preempt_status_args status;
		struct kfd_ioctl_preempt_watch_args watch;
	} args;
	struct file *made = NULL;
	size_t ksize, least = 0;
	long ret;

	switch (_IOC_NR(cmd)) {
	case _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY):
		ksize = sizeof(args.query);
		break;
	case _IOC_NR(AMDKFD_IOC_PREEMPT_SWITCH):
		ksize = sizeof(args.batch);
		break;
	case _IOC_NR(AMDKFD_IOC_PREEMPT_STATUS):
		ksize = sizeof(args.status);
		least = offsetofend(struct kfd_ioctl_preempt_status_args, reserved);
		break;
	default:
		ksize = sizeof(args.watch);
		break;
	}
	if (_IOC_SIZE(cmd) < (least ?: ksize))
		return -EINVAL;
	memset(&args, 0, sizeof(args));
	ret = copy_struct_from_user(&args, ksize, uarg, _IOC_SIZE(cmd));
	if (ret)
		return ret;

	if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY))
		ret = kfd_preempt_do_query(p, &args.query);
	else if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_SWITCH))
		ret = kfd_preempt_do_switch(filep, p, &args.batch);
	else if (_IOC_NR(cmd) == _IOC_NR(AMDKFD_IOC_PREEMPT_STATUS))
		ret = kfd_preempt_do_status(filep, p, &args.status);
	else
		ret = kfd_preempt_do_watch(filep, &args.watch, &made);

	if (!ret && copy_to_user(uarg, &args, min_t(size_t, ksize, _IOC_SIZE(cmd))))
		ret = -EFAULT;
	if (made && ret) {
		put_unused_fd(args.watch.fd);
		fput(made);
	} else if (made) {
		fd_install(args.watch.fd, made);
	}
	return ret;
}

static bool is_own_queue(unsigned int cmd)
{
	return KFD_PREEMPT_HAS_V0 && (cmd == AMDKFD_IOC_PREEMPT_QUEUE ||
				      cmd == AMDKFD_IOC_RESUME_QUEUE);
}

/**
 * kfd_preempt_cmd - whether an ioctl on /dev/kfd is one of ours
 * @cmd: the whole command
 *
 * The first two are matched by the whole command: other trees use their numbers
 * for other ioctls, which must reach the table of KFD.
 *
 * Return: true if kfd_preempt_ioctl() handles it.
 */
bool kfd_preempt_cmd(unsigned int cmd)
{
	if (!kfd_preempt_enabled())
		return false;
	if (is_own_queue(cmd))
		return true;

	if (_IOC_TYPE(cmd) != _IOC_TYPE(AMDKFD_IOC_PREEMPT_QUERY) ||
	    _IOC_DIR(cmd) != _IOC_DIR(AMDKFD_IOC_PREEMPT_QUERY))
		return false;
	return _IOC_NR(cmd) >= _IOC_NR(AMDKFD_IOC_PREEMPT_QUERY) &&
	       _IOC_NR(cmd) <= _IOC_NR(AMDKFD_IOC_PREEMPT_WATCH);
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

	/* Like every KFD ioctl, fail on a file that was inherited over fork. */
	if (p->lead_thread != current->group_leader)
		return -EBADF;
	/* The file survives exec, the address space of the queues does not. */
	if (!p->mm)
		return -ESRCH;

	if (is_own_queue(cmd))
		return ioctl_own_queue(filep, p, cmd, uarg);
	return ioctl_extensible(filep, p, cmd, uarg);
}
