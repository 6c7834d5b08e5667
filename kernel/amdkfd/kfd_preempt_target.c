// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Which processes a preemption call acts on, and who may do that. */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>

#include "kfd_preempt_compat.h"

/*
 * Held by calls on several processes: only one of them at a time holds more
 * than one kfd_process.mutex, so their order does not matter.
 */
static DEFINE_MUTEX(many_targets);

static struct kfd_process *process_by_pid(s32 pid)
{
	struct kfd_process *p;
	struct pid *spid;

	spid = find_get_pid(pid);
	if (!spid)
		return ERR_PTR(-ESRCH);
	p = kfd_lookup_process_by_pid(spid);
	/* A thread, or a vfork child with the same mm, is not the process. */
	if (p && task_pid(p->lead_thread) != spid) {
		kfd_unref_process(p);
		p = NULL;
	}
	put_pid(spid);
	return p ? p : ERR_PTR(-ESRCH);
}

static struct kfd_process *process_by_fd(const struct file *filep, int fd)
{
	struct kfd_process *p = ERR_PTR(-EBADF);
	struct file *file = fget(fd);

	if (!file)
		return p;
	/* All files of /dev/kfd have the operations of the caller's own. */
	if (file->f_op == filep->f_op)
		p = kfd_preempt_get_process(file);
	fput(file);
	return p;
}

/**
 * kfd_preempt_target_add - find a process to act on
 * @targets: where it is put, or found when it is there already
 * @flags: TARGET_FD, TARGET_PID, or neither for the caller's own process
 * @fd: of a file of /dev/kfd
 * @pid: in the caller's pid namespace
 *
 * The reference is for the length of one call: a longer one would keep the
 * memory of a dead process pinned.
 *
 * Return: the target, -EBADF or -ESRCH.
 */
struct kfd_preempt_target *
kfd_preempt_target_add(struct kfd_preempt_targets *targets, u32 flags, int fd,
		       s32 pid)
{
	bool by_fd = flags & KFD_PREEMPT_SWITCH_TARGET_FD;
	struct kfd_preempt_target *target;
	struct kfd_process *p = targets->self;
	unsigned int i;

	if (by_fd)
		p = process_by_fd(targets->filep, fd);
	else if (flags & KFD_PREEMPT_SWITCH_TARGET_PID)
		p = process_by_pid(pid);
	else
		kref_get(&p->ref);
	if (IS_ERR(p))
		return ERR_CAST(p);

	for (i = 0; i < targets->num; i++)
		if (targets->list[i].p == p)
			break;
	target = &targets->list[i];
	if (i < targets->num) {
		kfd_unref_process(p);
	} else {
		target->p = p;
		targets->num++;
	}
	target->by_fd |= by_fd;
	return target;
}

/* The rule of kill(2): real or effective uid equals real or saved uid. */
static bool same_user(const struct cred *cred, const struct cred *tcred)
{
	return uid_eq(cred->euid, tcred->suid) ||
	       uid_eq(cred->euid, tcred->uid) ||
	       uid_eq(cred->uid, tcred->suid) ||
	       uid_eq(cred->uid, tcred->uid);
}

/**
 * kfd_preempt_target_authorize - decide whether the caller may act on a process
 * @targets: says who the caller is
 * @target: that process, already looked up: its pid may have changed hands,
 *	so the credentials judged are those of the process found. @target->err
 *	becomes -EPERM when the caller may not
 */
void kfd_preempt_target_authorize(const struct kfd_preempt_targets *targets,
			      struct kfd_preempt_target *target)
{
	const struct cred *tcred;
	bool ok = false;

	if (target->p == targets->self)
		return;
	tcred = get_task_cred(target->p->lead_thread);
	if (kfd_preempt_operator_mode > 0 || !target->preempts)
		ok = ns_capable(tcred->user_ns, CAP_SYS_PTRACE);
	if (!ok && kfd_preempt_operator_mode >= 2)
		ok = target->by_fd;
	if (!ok && kfd_preempt_operator_mode >= 3)
		ok = same_user(current_cred(), tcred);
	put_cred(tcred);
	if (!ok)
		target->err = -EPERM;
}

static int lock_target(const struct kfd_preempt_targets *targets,
		       struct kfd_preempt_target *target)
{
	bool own = target->p == targets->self;

	target->mm = own ? current->mm : get_task_mm(target->p->lead_thread);
	if (!target->mm) {
		target->err = -ESRCH;
		return 0;
	}
	if (targets->num > 1)
		mutex_lock_nest_lock(&target->p->mutex, &many_targets);
	else if (mutex_lock_interruptible(&target->p->mutex))
		return -EINTR;
	target->locked = true;
	/* exec has replaced the owner of the queues */
	if (target->p->mm != target->mm)
		target->err = -ESRCH;
	return 0;
}

/**
 * kfd_preempt_targets_lock - lock all processes that can be acted on
 * @targets: those; one that is gone gets -ESRCH as its error
 *
 * Return: 0, or -EINTR with nothing locked.
 */
int kfd_preempt_targets_lock(struct kfd_preempt_targets *targets)
{
	unsigned int i;
	int ret;

	if (targets->num > 1 && mutex_lock_interruptible(&many_targets))
		return -EINTR;
	for (i = 0; i < targets->num; i++) {
		if (targets->list[i].err)
			continue;
		ret = lock_target(targets, &targets->list[i]);
		if (ret) {
			kfd_preempt_targets_unlock(targets);
			return ret;
		}
	}
	return 0;
}

/**
 * kfd_preempt_targets_unlock - undo kfd_preempt_targets_lock()
 * @targets: what was locked, or partly so
 */
void kfd_preempt_targets_unlock(struct kfd_preempt_targets *targets)
{
	struct kfd_preempt_target *target;
	unsigned int i;

	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		if (target->locked)
			mutex_unlock(&target->p->mutex);
		target->locked = false;
	}
	if (targets->num > 1)
		mutex_unlock(&many_targets);
	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		/* Not mmput(): the last one runs MMU notifiers, which wait. */
		if (target->mm && target->p != targets->self)
			mmput_async(target->mm);
		target->mm = NULL;
	}
}

/**
 * kfd_preempt_targets_put - drop the references
 * @targets: not locked any more
 */
void kfd_preempt_targets_put(struct kfd_preempt_targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->num; i++)
		kfd_unref_process(targets->list[i].p);
	targets->num = 0;
}
