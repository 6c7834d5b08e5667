// SPDX-License-Identifier: GPL-2.0-only
/* A compute queue of KFD that takes AQL packets. */
#include "aql_queue.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/mman.h>

#include "wait.h"

#define RING_BYTES 4096u
#define PAGE_BYTES 4096u
#define PACKET_BYTES 64u
#define NUM_PACKETS (RING_BYTES / PACKET_BYTES)
#define PRIORITY_NORMAL 7

/* HSA platform system architecture 1.2, section 2.9: AQL packet header */
#define PACKET_INVALID 1
#define PACKET_KERNEL_DISPATCH 2
#define PACKET_BARRIER_AND 3
#define HEADER_BARRIER (1u << 8)
#define HEADER_ACQUIRE_SYSTEM (2u << 9)
#define HEADER_RELEASE_SYSTEM (2u << 11)

struct aql_kernel_packet {
	uint16_t header;
	uint16_t dimensions;
	uint16_t workgroup_size[3];
	uint16_t reserved0;
	uint32_t grid_size[3];
	uint32_t private_segment_bytes;
	uint32_t group_segment_bytes;
	uint64_t kernel_object;
	uint64_t kernarg;
	uint64_t reserved1;
	uint64_t signal;
};

struct aql_barrier_packet {
	uint16_t header;
	uint16_t reserved0;
	uint32_t reserved1;
	uint64_t dep_signal[5];
	uint64_t reserved2;
	uint64_t signal;
};

_Static_assert(sizeof(struct aql_kernel_packet) == PACKET_BYTES, "AQL packet");
_Static_assert(sizeof(struct aql_barrier_packet) == PACKET_BYTES, "AQL packet");

/* "VGPUSNAP", little endian: see selftests/vgpu/README.md */
#define MARK_MAGIC 0x50414e5355504756ull

size_t aql_save_area_bytes(const struct kfd_device *dev)
{
	size_t bytes = (size_t)(dev->cwsr_bytes + dev->cwsr_debug_bytes) * dev->num_xcc;

	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static int alloc_buffers(struct aql_queue *queue, void *area)
{
	struct kfd_device *dev = queue->dev;
	unsigned int i;
	int ret;

	ret = kfd_buffer_alloc(dev, queue->ring_in_vram ? KFD_IN_VRAM_EXEC : KFD_IN_SYSTEM,
			       RING_BYTES, &queue->ring);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &queue->pointers);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_VRAM, dev->eop_bytes, &queue->eop);
	if (!ret && !area)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, aql_save_area_bytes(dev), &queue->cwsr);
	if (ret)
		return ret;
	queue->save_area = area ? area : queue->cwsr.addr;
	for (i = 0; i < NUM_PACKETS; i++)
		((struct aql_kernel_packet *)queue->ring.addr)[i].header = PACKET_INVALID;
	queue->write_index = queue->pointers.addr;
	/* Apart from the write index: CP writes this one. */
	queue->read_index = (volatile uint64_t *)((char *)queue->pointers.addr + 128);
	return 0;
}

static void free_buffers(struct aql_queue *queue)
{
	kfd_buffer_free(queue->dev, &queue->ring);
	kfd_buffer_free(queue->dev, &queue->pointers);
	kfd_buffer_free(queue->dev, &queue->eop);
	kfd_buffer_free(queue->dev, &queue->cwsr);
}

/* Gives KFD the queue; where its doorbell is goes to `doorbell_offset`. */
static int register_queue(struct aql_queue *queue, uint32_t percentage, uint64_t *doorbell_offset)
{
	struct kfd_device *dev = queue->dev;
	struct kfd_ioctl_create_queue_args args = {
		.ring_base_address = (uintptr_t)queue->ring.addr,
		.ring_size = RING_BYTES,
		.write_pointer_address = (uintptr_t)queue->write_index,
		.read_pointer_address = (uintptr_t)queue->read_index,
		.gpu_id = dev->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.queue_percentage = percentage,
		.queue_priority = PRIORITY_NORMAL,
		.eop_buffer_address = (uintptr_t)queue->eop.addr,
		.eop_buffer_size = dev->eop_bytes,
		.ctx_save_restore_address = (uintptr_t)queue->save_area,
		.ctx_save_restore_size = dev->cwsr_bytes,
		.ctl_stack_size = dev->ctl_stack_bytes,
	};
	int ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_CREATE_QUEUE, &args);

	queue->id = args.queue_id;
	*doorbell_offset = args.doorbell_offset;
	return ret;
}

static int unregister_queue(const struct aql_queue *queue)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = queue->id };

	return kfd_ioctl(queue->dev->kfd_fd, AMDKFD_IOC_DESTROY_QUEUE, &args);
}

static int create(struct kfd_device *dev, void *area, bool ring_in_vram, struct aql_queue *queue)
{
	uint64_t doorbell_offset;
	int ret;

	memset(queue, 0, sizeof(*queue));
	queue->dev = dev;
	queue->ring_in_vram = ring_in_vram;
	ret = alloc_buffers(queue, area);
	if (!ret)
		ret = register_queue(queue, KFD_MAX_QUEUE_PERCENTAGE, &doorbell_offset);
	if (ret) {
		free_buffers(queue);
		return ret;
	}
	ret = kfd_doorbell_map(dev, doorbell_offset, &queue->doorbell);
	if (ret)
		aql_queue_destroy(queue);
	return ret;
}

int aql_queue_create_with_area(struct kfd_device *dev, void *area, struct aql_queue *queue)
{
	return create(dev, area, false, queue);
}

int aql_queue_create(struct kfd_device *dev, struct aql_queue *queue)
{
	return create(dev, NULL, false, queue);
}

int aql_queue_create_in_vram(struct kfd_device *dev, struct aql_queue *queue)
{
	return create(dev, NULL, true, queue);
}

int aql_queue_destroy(struct aql_queue *queue)
{
	int ret = unregister_queue(queue);

	kfd_doorbell_unmap(&queue->doorbell);
	free_buffers(queue);
	return ret;
}

static int create_idle(struct aql_queue *like, uint32_t percentage, struct aql_queue *queue)
{
	uint64_t doorbell_offset;

	*queue = *like;
	queue->doorbell = NULL;
	return register_queue(queue, percentage, &doorbell_offset);
}

int aql_queue_create_idle(struct aql_queue *like, struct aql_queue *queue)
{
	return create_idle(like, KFD_MAX_QUEUE_PERCENTAGE, queue);
}

int aql_queue_create_off(struct aql_queue *like, struct aql_queue *queue)
{
	return create_idle(like, 0, queue);
}

int aql_queue_destroy_idle(struct aql_queue *queue)
{
	return unregister_queue(queue);
}

int aql_queue_set_percentage(struct aql_queue *queue, uint32_t percentage)
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

static void *next_packet(struct aql_queue *queue)
{
	char *packet = (char *)queue->ring.addr + *queue->write_index % NUM_PACKETS * PACKET_BYTES;

	/* All but the header, which still says INVALID. */
	memset(packet + sizeof(uint16_t), 0, PACKET_BYTES - sizeof(uint16_t));
	return packet;
}

static void submit_packet(struct aql_queue *queue, uint16_t *header, unsigned int type)
{
	uint64_t index = *queue->write_index;

	/* Stores to VRAM are combined, and may arrive in another order. */
	if (queue->ring_in_vram)
		kfd_hdp_flush(queue->dev);
	/* The header hands the packet over: it must be the last store of it. */
	__atomic_store_n(header, (uint16_t)(type | HEADER_BARRIER | HEADER_ACQUIRE_SYSTEM |
					    HEADER_RELEASE_SYSTEM), __ATOMIC_RELEASE);
	if (queue->ring_in_vram)
		kfd_hdp_flush(queue->dev);
	__atomic_store_n(queue->write_index, index + 1, __ATOMIC_RELEASE);
	*queue->doorbell = index;
}

void aql_queue_dispatch(struct aql_queue *queue, const struct aql_dispatch *dispatch)
{
	struct aql_kernel_packet *packet = next_packet(queue);

	packet->dimensions = 1;
	packet->workgroup_size[0] = dispatch->workgroup_size;
	packet->workgroup_size[1] = 1;
	packet->workgroup_size[2] = 1;
	packet->grid_size[0] = dispatch->num_workgroups * dispatch->workgroup_size;
	packet->grid_size[1] = 1;
	packet->grid_size[2] = 1;
	packet->group_segment_bytes = dispatch->group_segment_bytes;
	packet->kernel_object = dispatch->kernel_object;
	packet->kernarg = (uintptr_t)dispatch->kernarg;
	packet->signal = (uintptr_t)dispatch->signal;
	submit_packet(queue, &packet->header, PACKET_KERNEL_DISPATCH);
}

void aql_queue_mark(struct aql_queue *queue, uint32_t label, struct aql_signal *signal)
{
	struct aql_barrier_packet *packet = next_packet(queue);

	packet->reserved1 = label;
	packet->reserved2 = MARK_MAGIC;
	packet->signal = (uintptr_t)signal;
	submit_packet(queue, &packet->header, PACKET_BARRIER_AND);
}

void aql_queue_barrier(struct aql_queue *queue, struct aql_signal *signal)
{
	struct aql_barrier_packet *packet = next_packet(queue);

	packet->signal = (uintptr_t)signal;
	submit_packet(queue, &packet->header, PACKET_BARRIER_AND);
}

static bool signal_is_done(const void *signal)
{
	return __atomic_load_n(&((const struct aql_signal *)signal)->value,
			       __ATOMIC_ACQUIRE) == 0;
}

bool aql_signal_wait(const struct aql_signal *signal, unsigned int timeout_ms)
{
	return wait_until(signal_is_done, signal, timeout_ms);
}
