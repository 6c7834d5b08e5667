// SPDX-License-Identifier: GPL-2.0-only
/* The ioctls under test as functions. */
#include "preempt.h"

#include <errno.h>
#include <string.h>

#include "kfd_device.h"
#include "wait.h"

int preempt_query(int fd, uint32_t gpu_id, struct kfd_ioctl_preempt_query_args *query)
{
	memset(query, 0, sizeof(*query));
	query->gpu_id = gpu_id;
	return kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_QUERY, query);
}

int preempt_queue_type(int fd, uint32_t queue_id, uint32_t type, uint32_t timeout_ms)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = queue_id,
		.preempt_type = type,
		.timeout_ms = timeout_ms,
	};

	return kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_QUEUE, &args);
}

int preempt_queue(int fd, uint32_t queue_id)
{
	return preempt_queue_type(fd, queue_id, KFD_PREEMPT_TYPE_SAVE, 0);
}

int resume_queue(int fd, uint32_t queue_id)
{
	struct kfd_ioctl_resume_queue_args args = { .queue_id = queue_id };

	return kfd_ioctl(fd, AMDKFD_IOC_RESUME_QUEUE, &args);
}

/*
 * How long a call waits for another process that keeps itself locked. The 100 ms of the driver are not enough
 * where the emulator gets no CPU for so long. Without the HWS they bound a stop, too: as long as by default.
 */
#define PATIENCE_MS 4000u

static int status_once(int fd, pid_t pid, uint32_t queue_id,
		       struct kfd_ioctl_preempt_status_args *status)
{
	memset(status, 0, sizeof(*status));
	status->queue_id = queue_id;
	if (pid) {
		status->target_pid = pid;
		status->flags = KFD_PREEMPT_SWITCH_TARGET_PID;
	}
	return kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_STATUS, status);
}

int preempt_status(int fd, pid_t pid, uint32_t queue_id,
		   struct kfd_ioctl_preempt_status_args *status)
{
	uint64_t end = now_ns() + PATIENCE_MS * 1000000ull;
	int ret;

	do
		ret = status_once(fd, pid, queue_id, status);
	while (ret == -EBUSY && now_ns() < end);
	return ret;
}

int preempt_switch(int fd, pid_t pid, uint32_t flags, struct kfd_preempt_switch_entry *entries,
		   uint32_t num_entries)
{
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = flags | (pid ? KFD_PREEMPT_SWITCH_TARGET_PID : 0),
		.target_pid = pid,
		.timeout_ms = PATIENCE_MS,
		.entries_ptr = (uintptr_t)entries,
		.num_entries = num_entries,
	};

	return kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);
}

int switch_preempt(int fd, pid_t pid, uint32_t flags, uint32_t queue_id)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = queue_id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};
	int ret = preempt_switch(fd, pid, flags, &entry, 1);

	return ret ? ret : entry.result;
}

int switch_resume(int fd, pid_t pid, uint32_t flags, uint32_t queue_id)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = queue_id,
		.op = KFD_PREEMPT_OP_RESUME,
	};
	int ret = preempt_switch(fd, pid, flags, &entry, 1);

	return ret ? ret : entry.result;
}

int switch_end_sticky(int fd, pid_t pid, uint32_t queue_id, uint32_t ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	int ret;

	do
		ret = switch_resume(fd, pid, KFD_PREEMPT_SWITCH_STICKY, queue_id);
	while (ret == -EBUSY && now_ns() < end);
	return ret == -EALREADY ? 0 : ret;
}

int switch_queue_by_fd(int fd, int target_fd, uint32_t queue_id, uint16_t op)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = queue_id,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_FD,
		.target_fd = target_fd,
		.timeout_ms = PATIENCE_MS,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	int ret = kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);

	return ret ? ret : entry.result;
}
