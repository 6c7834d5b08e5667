/* SPDX-License-Identifier: GPL-2.0-only */
/* A watch of the own process, which has a queue. */
#ifndef WATCH_FIXTURE_H
#define WATCH_FIXTURE_H

#include <unistd.h>

#include "aql_queue.h"
#include "kselftest_harness.h"
#include "watch.h"

#define LONG_MS 30000u
#define COOKIE 0x1122334455667788ull

FIXTURE(watch)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct kfd_buffer memory;
	struct aql_signal *signal;
	struct kfd_preempt_watch_event event;
	struct kfd_preempt_watch_arm_entry entry;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(watch)
{
	int id;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, 4096, &self->memory));
	self->signal = self->memory.addr;
	self->signal->kind = 1;
	self->fd = watch_open(self->dev.kfd_fd);
	ASSERT_LE(0, self->fd);
	id = watch_add(self->fd, getpid(), COOKIE);
	ASSERT_LT(0, id);
	self->id = (uint32_t)id;
}

FIXTURE_TEARDOWN(watch)
{
	close(self->fd);
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_buffer_free(&self->dev, &self->memory);
	kfd_device_close(&self->dev);
}

#define ARM(flags) watch_arm(self->fd, self->id, flags, &self->entry)
#define NEXT(timeout_ms) watch_next(self->fd, timeout_ms, &self->event)

#endif
