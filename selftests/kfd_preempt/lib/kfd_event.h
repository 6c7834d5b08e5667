/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of KFD: what a queue signals, and what the driver tells a process of. */
#ifndef SELFTESTS_KFD_EVENT_H
#define SELFTESTS_KFD_EVENT_H

#include <linux/kfd_ioctl.h>
#include <stdbool.h>
#include <stdint.h>

#include "kfd_device.h"

/* The mailboxes of a process' signal events; the GPU writes there before it interrupts. */
struct kfd_event_page {
	struct kfd_buffer slots;
	bool known;	/* the driver takes it from the first event that is created */
};

struct kfd_event {
	uint32_t id;
	uint64_t mailbox;	/* of a signal event: where the GPU writes the id */
};

/* Once in a process, before its first signal event. */
int kfd_event_page_create(struct kfd_device *dev, struct kfd_event_page *page);

/* A signal event. It resets itself when a wait for it ends. */
int kfd_event_create(struct kfd_device *dev, struct kfd_event_page *page, struct kfd_event *event);

/* KFD_IOC_EVENT_MEMORY or KFD_IOC_EVENT_HW_EXCEPTION of the device. */
int kfd_exception_event_create(struct kfd_device *dev, uint32_t type, struct kfd_event *event);

/* 0, -ETIME, or another negative errno. `data`, unless NULL, is what came with an exception. */
int kfd_event_wait(struct kfd_device *dev, const struct kfd_event *event, uint32_t timeout_ms,
		   struct kfd_event_data *data);

#endif
