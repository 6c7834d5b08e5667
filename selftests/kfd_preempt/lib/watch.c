// SPDX-License-Identifier: GPL-2.0-only
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd_device.h"

int watch_open(int kfd_fd)
{
	struct kfd_ioctl_preempt_watch_args args = { 0 };
	int ret = kfd_ioctl(kfd_fd, AMDKFD_IOC_PREEMPT_WATCH, &args);

	return ret ? ret : args.fd;
}

static int add(int watch, uint32_t flags, int target, uint64_t cookie)
{
	struct kfd_preempt_watch_add args = {
		.flags = flags,
		.target = target,
		.cookie = cookie,
	};
	int ret = kfd_ioctl(watch, KFD_PREEMPT_WATCH_ADD, &args);

	return ret ? ret : (int)args.id;
}

int watch_add(int watch, pid_t pid, uint64_t cookie)
{
	return add(watch, KFD_PREEMPT_SWITCH_TARGET_PID, pid, cookie);
}

int watch_add_flags(int watch, pid_t pid, uint64_t cookie, uint32_t flags)
{
	return add(watch, KFD_PREEMPT_SWITCH_TARGET_PID | flags, pid, cookie);
}

int watch_add_fd(int watch, int kfd_fd, uint64_t cookie)
{
	return add(watch, KFD_PREEMPT_SWITCH_TARGET_FD, kfd_fd, cookie);
}

int watch_remove(int watch, uint32_t id)
{
	struct kfd_preempt_watch_remove args = { .id = id };

	return kfd_ioctl(watch, KFD_PREEMPT_WATCH_REMOVE, &args);
}

int watch_answer(int watch, uint32_t id, uint32_t flags)
{
	struct kfd_preempt_watch_answer args = { .id = id, .flags = flags };

	return kfd_ioctl(watch, KFD_PREEMPT_WATCH_ANSWER, &args);
}

int watch_arm(int watch, uint32_t id, uint32_t flags, struct kfd_preempt_watch_arm_entry *entry)
{
	struct kfd_preempt_watch_arm args = {
		.entries_ptr = (uintptr_t)entry,
		.num_entries = 1,
		.flags = flags,
	};
	int ret;

	*entry = (struct kfd_preempt_watch_arm_entry){ .id = id };
	ret = kfd_ioctl(watch, KFD_PREEMPT_WATCH_ARM, &args);
	return ret ? ret : entry->result;
}

bool watch_next(int watch, unsigned int timeout_ms, struct kfd_preempt_watch_event *event)
{
	struct pollfd ready = { .fd = watch, .events = POLLIN };

	while (poll(&ready, 1, (int)timeout_ms) < 0)
		if (errno != EINTR)
			return false;
	return ready.revents & POLLIN && read(watch, event, sizeof(*event)) == sizeof(*event);
}

void *watch_map_doorbells(int kfd_fd, uint32_t gpu_id, int flags)
{
	uint64_t offset = 3ull << 62 | (uint64_t)gpu_id << 46;

	return mmap(NULL, WATCH_DOORBELL_BYTES, PROT_READ | PROT_WRITE, flags, kfd_fd,
		    (off_t)offset);
}

static sigjmp_buf at_store;

static void leave_store(int signal)
{
	siglongjmp(at_store, signal);
}

int watch_store_to(volatile uint64_t *doorbell)
{
	int ended;

	signal(SIGSEGV, leave_store);
	signal(SIGBUS, leave_store);
	ended = sigsetjmp(at_store, 1);
	if (!ended)
		*doorbell = 0;
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	return ended;
}
