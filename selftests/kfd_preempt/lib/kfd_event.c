// SPDX-License-Identifier: GPL-2.0-only
/* Events of KFD: what a queue signals, and what the driver tells a process of. */
#include "kfd_event.h"

#include <errno.h>
#include <string.h>

/* KFD_SIGNAL_EVENT_LIMIT slots of 8 bytes */
#define EVENT_PAGE_BYTES (4096u * 8u)

int kfd_event_page_create(struct kfd_device *dev, struct kfd_event_page *page)
{
	page->known = false;
	return kfd_buffer_alloc(dev, KFD_IN_SYSTEM, EVENT_PAGE_BYTES, &page->slots);
}

static int create(struct kfd_device *dev, struct kfd_ioctl_create_event_args *args,
		  struct kfd_event *event)
{
	int ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_CREATE_EVENT, args);

	if (!ret)
		event->id = args->event_id;
	return ret;
}

int kfd_event_create(struct kfd_device *dev, struct kfd_event_page *page, struct kfd_event *event)
{
	struct kfd_ioctl_create_event_args args = {
		.event_type = KFD_IOC_EVENT_SIGNAL,
		.auto_reset = 1,
		.event_page_offset = page->known ? 0 : page->slots.handle,
	};
	int ret = create(dev, &args, event);

	page->known = page->known || !ret;
	event->mailbox = (uintptr_t)page->slots.addr + 8ul * event->id;
	return ret;
}

int kfd_exception_event_create(struct kfd_device *dev, uint32_t type, struct kfd_event *event)
{
	struct kfd_ioctl_create_event_args args = { .event_type = type, .node_id = dev->gpu_id };

	event->mailbox = 0;
	return create(dev, &args, event);
}

int kfd_event_wait(struct kfd_device *dev, const struct kfd_event *event, uint32_t timeout_ms,
		   struct kfd_event_data *data)
{
	struct kfd_event_data one = { .event_id = event->id };
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)&one,
		.num_events = 1,
		.timeout = timeout_ms,
	};
	int ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &args);

	if (ret)
		return ret;
	if (args.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT)
		return -ETIME;
	if (args.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE)
		return -EIO;
	if (data)
		*data = one;
	return 0;
}
