/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The processes that a call acts on. */
#ifndef KFD_PREEMPT_TARGET_H
#define KFD_PREEMPT_TARGET_H

#include "kfd_preempt_compat.h"

/**
 * struct kfd_preempt_target - one process that a call acts on
 * @p: the process, referenced
 * @mm: its address space, between lock and unlock, if its scheduler needs one
 * @err: why no queue of it can be changed, or 0
 * @by_fd: the caller has a file of it
 * @right: what allows the caller to act on it
 * @preempts: the call preempts queues of it
 * @locked: p->mutex is held
 * @waits: the caller is counted in kfd_preempt_p.waiters
 */
struct kfd_preempt_target {
	struct kfd_process *p;
	struct mm_struct *mm;
	int err;
	bool by_fd;
	enum kfd_preempt_right right;
	bool preempts;
	bool locked;
	bool waits;
};

/**
 * struct kfd_preempt_targets - the processes of one call, each once
 * @self: process of the caller
 * @filep: file of the caller
 * @fops: operations of a file of /dev/kfd
 * @list: one slot for each entry of the call
 * @num: how many
 */
struct kfd_preempt_targets {
	struct kfd_process *self;
	struct file *filep;
	const struct file_operations *fops;
	struct kfd_preempt_target *list;
	unsigned int num;
};

struct kfd_preempt_target *
kfd_preempt_target_add(struct kfd_preempt_targets *targets, u32 flags, int fd,
		       s32 pid);
void kfd_preempt_target_authorize(const struct kfd_preempt_targets *targets,
				  struct kfd_preempt_target *target);
int kfd_preempt_targets_lock(struct kfd_preempt_targets *targets, u32 timeout_ms);
void kfd_preempt_targets_unlock(struct kfd_preempt_targets *targets);
void kfd_preempt_targets_put(struct kfd_preempt_targets *targets);

#endif /* KFD_PREEMPT_TARGET_H */
