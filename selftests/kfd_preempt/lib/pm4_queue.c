// SPDX-License-Identifier: GPL-2.0-only
/* A compute queue of KFD that takes PM4 packets, and the packets that tests need. */
#include "pm4_queue.h"

#include <linux/kfd_ioctl.h>
#include <string.h>

#include "wait.h"

#define RING_BYTES 4096u
#define RING_DWORDS (RING_BYTES / 4u)
#define PRIORITY_NORMAL 7

/* soc15d.h */
#define OP_DISPATCH_DIRECT 0x15u
#define OP_DISPATCH_INDIRECT 0x16u
#define OP_WRITE_DATA 0x37u
#define OP_WAIT_REG_MEM 0x3cu
#define OP_INDIRECT_BUFFER 0x3fu
#define OP_EVENT_WRITE 0x46u
#define OP_RELEASE_MEM 0x49u
#define OP_SET_SH_REG 0x76u

#define TYPE3(op, body) (3u << 30 | ((body) - 1u) << 16 | (op) << 8)

/* gc_9_4_3_offset.h: dwords from the start of the SH register space */
#define COMPUTE_START_X 0x204u
#define COMPUTE_PGM_LO 0x20cu
#define COMPUTE_PGM_RSRC1 0x212u
#define COMPUTE_RESOURCE_LIMITS 0x215u
#define COMPUTE_PGM_RSRC3 0x22du
#define COMPUTE_USER_DATA_0 0x240u

#define RSRC2_LDS_SIZE_SHIFT 15
#define LDS_GRANULE 512u
#define INITIATOR_COMPUTE_SHADER_EN 1u

/* The kernel descriptor of LLVM's AMDGPUUsage. */
struct kernel_descriptor {
	uint32_t group_segment_bytes;
	uint32_t private_segment_bytes;
	uint32_t kernarg_bytes;
	uint32_t reserved0;
	int64_t entry_offset;
	uint32_t reserved1[5];
	uint32_t rsrc3;
	uint32_t rsrc1;
	uint32_t rsrc2;
	uint32_t properties;
	uint32_t reserved2;
};

_Static_assert(sizeof(struct kernel_descriptor) == 64, "kernel descriptor");

static volatile uint64_t *write_pointer(const struct pm4_queue *queue)
{
	return queue->pointers.addr;
}

/* Apart from the write pointer: CP writes this one. */
static volatile uint32_t *read_pointer(const struct pm4_queue *queue)
{
	return (volatile uint32_t *)((char *)queue->pointers.addr + 128);
}

static int alloc_buffers(struct pm4_queue *queue)
{
	struct kfd_device *dev = queue->dev;
	uint64_t cwsr = (uint64_t)(dev->cwsr_bytes + dev->cwsr_debug_bytes) * dev->num_xcc;
	int ret;

	ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, RING_BYTES, &queue->ring);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &queue->pointers);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_VRAM, dev->eop_bytes, &queue->eop);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, cwsr, &queue->cwsr);
	queue->stream.words = queue->ring.addr;
	queue->stream.size = RING_DWORDS;
	return ret;
}

static void free_buffers(struct pm4_queue *queue)
{
	kfd_buffer_free(queue->dev, &queue->ring);
	kfd_buffer_free(queue->dev, &queue->pointers);
	kfd_buffer_free(queue->dev, &queue->eop);
	kfd_buffer_free(queue->dev, &queue->cwsr);
}

int pm4_queue_create(struct kfd_device *dev, struct pm4_queue *queue)
{
	struct kfd_ioctl_create_queue_args args = {};
	int ret;

	memset(queue, 0, sizeof(*queue));
	queue->dev = dev;
	ret = alloc_buffers(queue);
	if (ret)
		goto fail;

	args.ring_base_address = (uintptr_t)queue->ring.addr;
	args.ring_size = RING_BYTES;
	args.write_pointer_address = (uintptr_t)write_pointer(queue);
	args.read_pointer_address = (uintptr_t)read_pointer(queue);
	args.gpu_id = dev->gpu_id;
	args.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE;
	args.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
	args.queue_priority = PRIORITY_NORMAL;
	args.eop_buffer_address = (uintptr_t)queue->eop.addr;
	args.eop_buffer_size = dev->eop_bytes;
	args.ctx_save_restore_address = (uintptr_t)queue->cwsr.addr;
	args.ctx_save_restore_size = dev->cwsr_bytes;
	args.ctl_stack_size = dev->ctl_stack_bytes;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_CREATE_QUEUE, &args);
	if (ret)
		goto fail;
	queue->id = args.queue_id;

	ret = kfd_doorbell_map(dev, args.doorbell_offset, &queue->doorbell);
	if (ret)
		pm4_queue_destroy(queue);
	return ret;
fail:
	free_buffers(queue);
	return ret;
}

int pm4_queue_destroy(struct pm4_queue *queue)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = queue->id };
	int ret = kfd_ioctl(queue->dev->kfd_fd, AMDKFD_IOC_DESTROY_QUEUE, &args);

	kfd_doorbell_unmap(&queue->doorbell);
	free_buffers(queue);
	return ret;
}

int pm4_queue_set_percentage(struct pm4_queue *queue, uint32_t percentage)
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

void pm4_submit(struct pm4_queue *queue)
{
	__atomic_store_n(write_pointer(queue), queue->stream.written, __ATOMIC_RELEASE);
	*queue->doorbell = queue->stream.written;
}

static bool is_consumed(const void *arg)
{
	const struct pm4_queue *queue = arg;

	return __atomic_load_n(read_pointer(queue), __ATOMIC_ACQUIRE) ==
	       queue->stream.written % RING_DWORDS;
}

bool pm4_wait_consumed(const struct pm4_queue *queue, unsigned int timeout_ms)
{
	return wait_until(is_consumed, queue, timeout_ms);
}

static void push(struct pm4_stream *stream, uint32_t dword)
{
	stream->words[stream->written++ % stream->size] = dword;
}

static void push_address(struct pm4_stream *stream, uint64_t address)
{
	push(stream, (uint32_t)address);
	push(stream, (uint32_t)(address >> 32));
}

static void set_registers(struct pm4_stream *stream, uint32_t first, const uint32_t *values,
			  uint32_t count)
{
	uint32_t i;

	push(stream, TYPE3(OP_SET_SH_REG, count + 1));
	push(stream, first);
	for (i = 0; i < count; i++)
		push(stream, values[i]);
}

void pm4_set_dispatch(struct pm4_stream *stream, const struct pm4_dispatch *dispatch)
{
	const struct kernel_descriptor *kernel = dispatch->kernel_object;
	uint64_t entry = ((uintptr_t)kernel + (uint64_t)kernel->entry_offset) >> 8;
	uint64_t kernarg = (uintptr_t)dispatch->kernarg;
	uint32_t lds = (dispatch->group_segment_bytes + LDS_GRANULE - 1) / LDS_GRANULE;
	const uint32_t start_and_threads[] = { 0, 0, 0, dispatch->workgroup_size, 1, 1, 0, 0 };
	const uint32_t program[] = { (uint32_t)entry, (uint32_t)(entry >> 32), 0, 0, 0, 0 };
	const uint32_t resources[] = { kernel->rsrc1, kernel->rsrc2 | lds << RSRC2_LDS_SIZE_SHIFT };
	const uint32_t user_data[] = { (uint32_t)kernarg, (uint32_t)(kernarg >> 32) };
	const uint32_t no_limits = 0;

	set_registers(stream, COMPUTE_START_X, start_and_threads, 8);
	set_registers(stream, COMPUTE_PGM_LO, program, 6);
	set_registers(stream, COMPUTE_PGM_RSRC1, resources, 2);
	set_registers(stream, COMPUTE_RESOURCE_LIMITS, &no_limits, 1);
	set_registers(stream, COMPUTE_PGM_RSRC3, &kernel->rsrc3, 1);
	set_registers(stream, COMPUTE_USER_DATA_0, user_data, 2);
}

void pm4_dispatch_direct(struct pm4_stream *stream, uint32_t num_workgroups)
{
	push(stream, TYPE3(OP_DISPATCH_DIRECT, 4));
	push(stream, num_workgroups);
	push(stream, 1);
	push(stream, 1);
	push(stream, INITIATOR_COMPUTE_SHADER_EN);
}

void pm4_dispatch_indirect(struct pm4_stream *stream, const uint32_t *dimensions)
{
	push(stream, TYPE3(OP_DISPATCH_INDIRECT, 3));
	push_address(stream, (uintptr_t)dimensions);
	push(stream, INITIATOR_COMPUTE_SHADER_EN);
}

void pm4_partial_flush(struct pm4_stream *stream)
{
	push(stream, TYPE3(OP_EVENT_WRITE, 1));
	push(stream, 7 | 4 << 8);	/* CS_PARTIAL_FLUSH */
}

void pm4_release_mem(struct pm4_stream *stream, uint64_t address, uint64_t data,
		     enum pm4_interrupt interrupt, uint32_t event_id)
{
	push(stream, TYPE3(OP_RELEASE_MEM, 7));
	push(stream, 0x14 | 5 << 8);	/* CACHE_FLUSH_AND_INV_TS_EVENT, end of pipe */
	push(stream, (uint32_t)interrupt << 24 | 2u << 29);	/* 64 bits of data */
	push_address(stream, address);
	push_address(stream, data);
	push(stream, event_id);
}

void pm4_write_data(struct pm4_stream *stream, const volatile uint32_t *where, uint32_t value)
{
	push(stream, TYPE3(OP_WRITE_DATA, 4));
	push(stream, 5 << 8 | 1 << 20);	/* to memory, with confirmation */
	push_address(stream, (uintptr_t)where);
	push(stream, value);
}

void pm4_wait_equal(struct pm4_stream *stream, const volatile uint32_t *where, uint32_t value)
{
	push(stream, TYPE3(OP_WAIT_REG_MEM, 6));
	push(stream, 3 | 1 << 4);	/* equal, memory */
	push_address(stream, (uintptr_t)where);
	push(stream, value);
	push(stream, ~0u);
	push(stream, 4);
}

void pm4_indirect_buffer(struct pm4_stream *stream, const struct pm4_stream *buffer)
{
	push(stream, TYPE3(OP_INDIRECT_BUFFER, 3));
	push_address(stream, (uintptr_t)buffer->words);
	push(stream, (uint32_t)buffer->written | 1u << 23);
}
