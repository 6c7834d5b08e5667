// SPDX-License-Identifier: GPL-2.0-only
/* An SDMA queue of KFD and the few packets that tests need. */
#include "sdma_queue.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/mman.h>

#define RING_BYTES 65536u
#define PRIORITY_NORMAL 7

/* vega10_sdma_pkt_open.h */
#define OP_COPY_LINEAR 1u
#define OP_FENCE 5u
#define OP_TRAP 6u
#define OP_POLL_MEMORY (8u | 3u << 28 | 1u << 31)	/* until the word is equal */
#define POLL_FOREVER (0xfffu << 16 | 10u)		/* retries, interval */
#define COPY_BYTES_MAX 0x3fffe0u	/* what ROCr gives one packet */

static volatile uint64_t *write_pointer(const struct sdma_queue *queue)
{
	return queue->pointers.addr;
}

static volatile uint64_t *read_pointer(const struct sdma_queue *queue)
{
	return (volatile uint64_t *)((char *)queue->pointers.addr + 128);
}

static void free_buffers(struct sdma_queue *queue)
{
	kfd_buffer_free(queue->dev, &queue->ring);
	kfd_buffer_free(queue->dev, &queue->pointers);
}

static int create(struct kfd_device *dev, uint32_t type, uint32_t engine,
		  struct sdma_queue *queue)
{
	struct kfd_ioctl_create_queue_args args = {};
	int ret;

	memset(queue, 0, sizeof(*queue));
	queue->dev = dev;
	ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, RING_BYTES, &queue->ring);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &queue->pointers);
	if (ret)
		goto fail;

	args.ring_base_address = (uintptr_t)queue->ring.addr;
	args.ring_size = RING_BYTES;
	args.write_pointer_address = (uintptr_t)write_pointer(queue);
	args.read_pointer_address = (uintptr_t)read_pointer(queue);
	args.gpu_id = dev->gpu_id;
	args.queue_type = type;
	args.sdma_engine_id = engine;
	args.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
	args.queue_priority = PRIORITY_NORMAL;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_CREATE_QUEUE, &args);
	if (ret)
		goto fail;
	queue->id = args.queue_id;

	ret = kfd_doorbell_map(dev, args.doorbell_offset, &queue->doorbell);
	if (ret)
		sdma_queue_destroy(queue);
	return ret;
fail:
	free_buffers(queue);
	return ret;
}

int sdma_queue_create(struct kfd_device *dev, struct sdma_queue *queue)
{
	return create(dev, KFD_IOC_QUEUE_TYPE_SDMA, 0, queue);
}

int sdma_queue_create_on(struct kfd_device *dev, uint32_t engine, struct sdma_queue *queue)
{
	return create(dev, KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID, engine, queue);
}

int sdma_queue_destroy(struct sdma_queue *queue)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = queue->id };
	int ret = kfd_ioctl(queue->dev->kfd_fd, AMDKFD_IOC_DESTROY_QUEUE, &args);

	kfd_doorbell_unmap(&queue->doorbell);
	free_buffers(queue);
	return ret;
}

int sdma_queue_set_percentage(struct sdma_queue *queue, uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uintptr_t)queue->ring.addr,
		.ring_size = RING_BYTES,
		.queue_id = queue->id,
		.queue_percentage = percentage,
		.queue_priority = PRIORITY_NORMAL,
	};

	return kfd_ioctl(queue->dev->kfd_fd, AMDKFD_IOC_UPDATE_QUEUE, &args);
}

static void push(struct sdma_queue *queue, uint32_t dword)
{
	memcpy((char *)queue->ring.addr + queue->written % RING_BYTES, &dword, sizeof(dword));
	queue->written += sizeof(dword);
}

static void push_address(struct sdma_queue *queue, uintptr_t address)
{
	push(queue, (uint32_t)address);
	push(queue, (uint32_t)(address >> 32));
}

void sdma_copy(struct sdma_queue *queue, const void *from, void *to, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		uint64_t part = bytes - done < COPY_BYTES_MAX ? bytes - done : COPY_BYTES_MAX;

		push(queue, OP_COPY_LINEAR);
		push(queue, (uint32_t)(part - 1));
		push(queue, 0);
		push_address(queue, (uintptr_t)from + done);
		push_address(queue, (uintptr_t)to + done);
		done += part;
	}
}

void sdma_fence(struct sdma_queue *queue, volatile uint32_t *where, uint32_t value)
{
	push(queue, OP_FENCE);
	push_address(queue, (uintptr_t)where);
	push(queue, value);
}

void sdma_trap(struct sdma_queue *queue, uint32_t event_id)
{
	push(queue, OP_TRAP);
	push(queue, event_id);
}

void sdma_wait_for(struct sdma_queue *queue, const volatile uint32_t *where, uint32_t value)
{
	push(queue, OP_POLL_MEMORY);
	push_address(queue, (uintptr_t)where);
	push(queue, value);
	push(queue, ~0u);
	push(queue, POLL_FOREVER);
}

void sdma_submit(struct sdma_queue *queue)
{
	__atomic_store_n(write_pointer(queue), queue->written, __ATOMIC_RELEASE);
	*queue->doorbell = queue->written;
}

uint64_t sdma_read_pointer(const struct sdma_queue *queue)
{
	return __atomic_load_n(read_pointer(queue), __ATOMIC_ACQUIRE);
}
