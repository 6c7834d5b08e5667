/* SPDX-License-Identifier: GPL-2.0-only */
/* A compute queue of KFD that takes PM4 packets, and the packets that tests need. */
#ifndef SELFTESTS_PM4_QUEUE_H
#define SELFTESTS_PM4_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd_device.h"

/* Where packets go: the ring of a queue, or an indirect buffer. */
struct pm4_stream {
	uint32_t *words;
	uint32_t size;		/* dwords; a ring wraps, an indirect buffer must have room */
	uint64_t written;	/* dwords, never wraps */
};

struct pm4_queue {
	struct kfd_device *dev;
	uint32_t id;			/* KFD queue id */
	struct kfd_buffer ring;
	struct kfd_buffer pointers;
	struct kfd_buffer eop;
	struct kfd_buffer cwsr;
	volatile uint64_t *doorbell;
	struct pm4_stream stream;	/* of the ring */
};

/* On a GPU with several XCCs, the first one executes the packets. */
int pm4_queue_create(struct kfd_device *dev, struct pm4_queue *queue);
int pm4_queue_destroy(struct pm4_queue *queue);

/* Stock UPDATE_QUEUE: 0 percent takes the queue off the hardware. */
int pm4_queue_set_percentage(struct pm4_queue *queue, uint32_t percentage);

/* Nothing in the ring runs before this. The ring must have room. */
void pm4_submit(struct pm4_queue *queue);

/* Waits until CP is done with every packet of the ring; dispatches may still run. */
bool pm4_wait_consumed(const struct pm4_queue *queue, unsigned int timeout_ms);

/* Values of the registers of a dispatch. */
struct pm4_dispatch {
	const void *kernel_object;	/* kernel descriptor, code behind it */
	const void *kernarg;
	uint32_t workgroup_size;
	uint32_t group_segment_bytes;
};

/* SET_SH_REG of every COMPUTE_* register that the dispatch needs. */
void pm4_set_dispatch(struct pm4_stream *stream, const struct pm4_dispatch *dispatch);
void pm4_dispatch_direct(struct pm4_stream *stream, uint32_t num_workgroups);
/* The same with three dwords of memory as the number of workgroups. */
void pm4_dispatch_indirect(struct pm4_stream *stream, const uint32_t *dimensions);

/* Waits for the dispatches before it. */
void pm4_partial_flush(struct pm4_stream *stream);

enum pm4_interrupt {	/* int_sel of RELEASE_MEM */
	PM4_INTERRUPT = 2,	/* behind the data */
	PM4_NO_INTERRUPT = 3,	/* the data only */
};

/* When the dispatches before it are done: 64 bits of data, and an interrupt with the event's id. */
void pm4_release_mem(struct pm4_stream *stream, uint64_t address, uint64_t data,
		     enum pm4_interrupt interrupt, uint32_t event_id);

/* At once, whatever dispatches are doing. */
void pm4_write_data(struct pm4_stream *stream, const volatile uint32_t *where, uint32_t value);
/* Waits until the word has this value. */
void pm4_wait_equal(struct pm4_stream *stream, const volatile uint32_t *where, uint32_t value);

void pm4_indirect_buffer(struct pm4_stream *stream, const struct pm4_stream *buffer);

#endif
