/* SPDX-License-Identifier: GPL-2.0-only */
/* The ioctls under test as functions. */
#ifndef SELFTESTS_PREEMPT_H
#define SELFTESTS_PREEMPT_H

#include <kfd_preempt.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * All functions return 0 or a negative errno. A pid of 0 means the caller's
 * own queues, anything else goes in as TARGET_PID. Calls on other processes wait for
 * seconds for one that keeps itself locked.
 */

int preempt_query(int fd, uint32_t gpu_id, struct kfd_ioctl_preempt_query_args *query);

int preempt_queue(int fd, uint32_t queue_id);
int preempt_queue_type(int fd, uint32_t queue_id, uint32_t type, uint32_t timeout_ms);
int resume_queue(int fd, uint32_t queue_id);

int preempt_status(int fd, pid_t pid, uint32_t queue_id,
		   struct kfd_ioctl_preempt_status_args *status);

/* The error of the call; each entry has its own result. */
int preempt_switch(int fd, pid_t pid, uint32_t flags, struct kfd_preempt_switch_entry *entries,
		   uint32_t num_entries);

/* A SWITCH of one entry: the error of the call, or else of the entry. */
int switch_preempt(int fd, pid_t pid, uint32_t flags, uint32_t queue_id);
int switch_resume(int fd, pid_t pid, uint32_t flags, uint32_t queue_id);

/* No STICKY hold is left after 0. A process that is being restored may be locked for most of ms. */
int switch_end_sticky(int fd, pid_t pid, uint32_t queue_id, uint32_t ms);

/* The same on the process that has opened target_fd; op is KFD_PREEMPT_OP_*, a stop saves. */
int switch_queue_by_fd(int fd, int target_fd, uint32_t queue_id, uint16_t op);

#endif
