// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that YIELD_MEMORY must leave because its address is known elsewhere: another GPU of the process
 * maps it, or a device has pinned it. Needs two GPUs, root, and kfd_probes.ko, which lets a GPU map VRAM
 * of the other one and pins.
 */
#include <fcntl.h>
#include <linux/kfd_ioctl.h>

#include "jobs.h"
#include "kselftest_harness.h"
#include "probes.h"
#include "preempt.h"

#define LONG_MS 60000u
#define BUFFER_BYTES (4ul << 20)

enum { STAYS, MOVES, BUFFERS };

FIXTURE(stays)
{
	struct kfd_device dev, second;
	struct aql_queue queue;
	struct job job;
	struct kfd_buffer memory[BUFFERS];
	struct kfd_ioctl_preempt_status_args status;
};

static uint32_t word(unsigned int buffer, size_t i)
{
	return (buffer + 1) * 0x9e3779b9u + (uint32_t)i * 0x85ebca6bu;
}

FIXTURE_SETUP(stays)
{
	unsigned int b;
	size_t i;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, kfd_device_open_second(&self->second, &self->dev));
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	for (b = 0; b < BUFFERS; b++) {
		ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, BUFFER_BYTES,
					      &self->memory[b]));
		for (i = 0; i < BUFFER_BYTES / sizeof(uint32_t); i++)
			((uint32_t *)self->memory[b].addr)[i] = word(b, i);
	}
}

FIXTURE_TEARDOWN(stays)
{
	unsigned int b;

	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	for (b = 0; b < BUFFERS; b++)
		kfd_buffer_free(&self->dev, &self->memory[b]);
	kfd_device_close(&self->second);
	kfd_device_close(&self->dev);
	probes_unload();
}

static size_t wrong_words(const FIXTURE_DATA(stays) *self)
{
	size_t i, wrong = 0;
	unsigned int b;

	for (b = 0; b < BUFFERS; b++)
		for (i = 0; i < BUFFER_BYTES / sizeof(uint32_t); i++)
			wrong += ((const uint32_t *)self->memory[b].addr)[i] != word(b, i);
	return wrong;
}

static int yield(FIXTURE_DATA(stays) *self)
{
	return switch_preempt(self->dev.kfd_fd, 0, KFD_PREEMPT_SWITCH_YIELD_MEMORY,
			      self->queue.id);
}

static int count_memory(FIXTURE_DATA(stays) *self)
{
	self->status = (struct kfd_ioctl_preempt_status_args){
		.flags = KFD_PREEMPT_STATUS_COUNT_MEMORY,
		.queue_id = self->queue.id,
	};
	return kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_PREEMPT_STATUS, &self->status);
}

/* `pinned` and `peer` bytes of the two buffers stay, and the others move; all words are right. */
static void expect_yield(struct __test_metadata *_metadata, FIXTURE_DATA(stays) *self,
			 uint64_t pinned, uint64_t peer)
{
	ASSERT_EQ(0, yield(self));
	ASSERT_EQ(0, count_memory(self));
	EXPECT_TRUE(self->status.valid & KFD_PREEMPT_VALID_MEMORY);
	EXPECT_EQ(pinned, self->status.pinned_bytes);
	EXPECT_EQ(peer, self->status.peer_bytes);
	EXPECT_EQ(0, self->status.shared_bytes);
	EXPECT_EQ(pinned + peer, self->status.vram_bytes);
	EXPECT_LE(BUFFERS * BUFFER_BYTES - pinned - peer, self->status.yielded_bytes);
	EXPECT_EQ(0, wrong_words(self));
	ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue.id));
	EXPECT_EQ(0, wrong_words(self));
}

static int on_second(FIXTURE_DATA(stays) *self, unsigned long call)
{
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.handle = self->memory[STAYS].handle,
		.device_ids_array_ptr = (uintptr_t)&self->second.gpu_id,
		.n_devices = 1,
	};

	return kfd_ioctl(self->dev.kfd_fd, call, &map);
}

TEST_F_TIMEOUT(stays, memory_that_another_gpu_maps_until_it_is_unmapped, 300)
{
	expect_yield(_metadata, self, 0, 0);
	ASSERT_EQ(0, probes_set("peers_accessible", 1));
	ASSERT_EQ(0, on_second(self, AMDKFD_IOC_MAP_MEMORY_TO_GPU));
	EXPECT_EQ(0, probes_get("peers_accessible"));
	expect_yield(_metadata, self, 0, BUFFER_BYTES);
	ASSERT_EQ(0, on_second(self, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU));
	ASSERT_EQ(0, yield(self));
	ASSERT_EQ(0, count_memory(self));
	EXPECT_EQ(0, self->status.peer_bytes);
	ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue.id));
	EXPECT_EQ(0, wrong_words(self));
}

TEST_F_TIMEOUT(stays, memory_that_a_device_pins_until_it_unpins_it, 300)
{
	struct kfd_ioctl_export_dmabuf_args args = {
		.handle = self->memory[STAYS].handle,
		.flags = O_CLOEXEC,
	};

	ASSERT_EQ(0, kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_EXPORT_DMABUF, &args));
	expect_yield(_metadata, self, 0, 0);
	ASSERT_EQ(0, probes_set("pin", (int)args.dmabuf_fd));
	expect_yield(_metadata, self, BUFFER_BYTES, 0);
	ASSERT_EQ(0, probes_set("pin", -1));
	expect_yield(_metadata, self, 0, 0);
	close((int)args.dmabuf_fd);
}

TEST_HARNESS_MAIN
