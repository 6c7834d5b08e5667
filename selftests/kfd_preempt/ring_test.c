// SPDX-License-Identifier: GPL-2.0-only
/*
 * STATUS of a queue whose ring is in system memory or in VRAM, where newer ROCr places it: the
 * completion signal of the last packet, or that the packet cannot be read.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"

#define LONG_MS 30000u
#define INDEXES KFD_PREEMPT_VALID_INDEXES
#define BOTH (INDEXES | KFD_PREEMPT_VALID_SIGNAL)

FIXTURE(ring)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct kfd_buffer memory;
	struct aql_signal *signal;
};

FIXTURE_VARIANT(ring)
{
	int (*create)(struct kfd_device *dev, struct aql_queue *queue);
};

FIXTURE_VARIANT_ADD(ring, in_system_memory)
{
	.create = aql_queue_create,
};

FIXTURE_VARIANT_ADD(ring, in_vram)
{
	.create = aql_queue_create_in_vram,
};

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, variant->create(&self->dev, &self->queue));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, 4096, &self->memory));
	self->signal = self->memory.addr;
	self->signal->kind = 1;
}

FIXTURE_TEARDOWN(ring)
{
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_buffer_free(&self->dev, &self->memory);
	kfd_device_close(&self->dev);
}

static struct kfd_ioctl_preempt_status_args status_of(const FIXTURE_DATA(ring) *self)
{
	struct kfd_ioctl_preempt_status_args status;

	if (preempt_status(self->dev.kfd_fd, 0, self->queue.id, &status))
		memset(&status, 0xff, sizeof(status));
	return status;
}

static bool run_packet(FIXTURE_DATA(ring) *self)
{
	__atomic_store_n(&self->signal->value, 1, __ATOMIC_RELEASE);
	aql_queue_barrier(&self->queue, self->signal);
	return aql_signal_wait(self->signal, LONG_MS);
}

/* From now on a read of the CPU finds no page there; the GPU keeps its mapping. */
static bool hide(const struct kfd_buffer *buffer)
{
	return mmap(buffer->addr, buffer->bytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == buffer->addr;
}

TEST_F(ring, status_has_the_signal_of_a_kernel_that_runs)
{
	struct kfd_ioctl_preempt_status_args status;
	struct job job;

	EXPECT_EQ(INDEXES, status_of(self).valid);
	ASSERT_EQ(0, checksum_job_start(&job, &self->queue, 1, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	status = status_of(self);
	EXPECT_EQ(BOTH, status.valid);
	EXPECT_EQ(1, status.last_signal);
	EXPECT_TRUE(job_ends_right(&job, LONG_MS));
	status = status_of(self);
	EXPECT_EQ(BOTH, status.valid);
	EXPECT_EQ(0, status.last_signal);
	job_free(&job);
}

TEST_F(ring, status_has_the_signal_of_every_slot)
{
	int64_t i;

	/* Once around the ring, and further. */
	for (i = 1; i < 100; i++) {
		ASSERT_TRUE(run_packet(self));
		self->signal->value = i;
		ASSERT_EQ(BOTH, status_of(self).valid);
		ASSERT_EQ(i, status_of(self).last_signal);
	}
	aql_queue_barrier(&self->queue, NULL);
	EXPECT_EQ(INDEXES, status_of(self).valid);
	ASSERT_TRUE(run_packet(self));
}

TEST_F(ring, signal_is_read_while_memory_is_yielded)
{
	const uint32_t yield = KFD_PREEMPT_SWITCH_YIELD_MEMORY;

	ASSERT_TRUE(run_packet(self));
	self->signal->value = 7;
	ASSERT_EQ(0, switch_preempt(self->dev.kfd_fd, 0, yield, self->queue.id));
	EXPECT_EQ(BOTH, status_of(self).valid);
	EXPECT_EQ(7, status_of(self).last_signal);
	ASSERT_EQ(0, switch_resume(self->dev.kfd_fd, 0, 0, self->queue.id));
	EXPECT_EQ(BOTH, status_of(self).valid);
	EXPECT_EQ(7, status_of(self).last_signal);
	ASSERT_TRUE(run_packet(self));
}

TEST_F(ring, packet_that_cannot_be_read_is_announced)
{
	ASSERT_TRUE(run_packet(self));
	ASSERT_TRUE(hide(&self->queue.ring));
	EXPECT_EQ(INDEXES | KFD_PREEMPT_UNREAD_SIGNAL, status_of(self).valid);
}

TEST_F(ring, ring_without_packets_needs_not_be_read)
{
	ASSERT_TRUE(hide(&self->queue.ring));
	EXPECT_EQ(INDEXES, status_of(self).valid);
}

TEST_F(ring, signal_whose_memory_was_freed_is_none)
{
	ASSERT_TRUE(run_packet(self));
	ASSERT_TRUE(hide(&self->memory));
	EXPECT_EQ(INDEXES, status_of(self).valid);
}

TEST_HARNESS_MAIN
