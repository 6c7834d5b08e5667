/* SPDX-License-Identifier: GPL-2.0-only */
/* A compute queue of KFD that takes AQL packets. */
#ifndef SELFTESTS_AQL_QUEUE_H
#define SELFTESTS_AQL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd_device.h"

/* The part of an HSA signal (amd_signal_t) that CP looks at. */
struct aql_signal {
	int64_t kind;
	int64_t value;			/* CP subtracts 1 at the end of a packet */
	uint64_t event_mailbox_ptr;	/* 0: no interrupt, the host polls */
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts;
	uint64_t end_ts;
	uint64_t reserved2[2];
} __attribute__((aligned(64)));

struct aql_queue {
	struct kfd_device *dev;
	uint32_t id;			/* KFD queue id */
	struct kfd_buffer ring;
	struct kfd_buffer pointers;
	struct kfd_buffer eop;
	struct kfd_buffer cwsr;
	void *save_area;		/* in cwsr, or of the caller */
	bool ring_in_vram;
	volatile uint64_t *doorbell;
	volatile uint64_t *write_index;
	volatile uint64_t *read_index;
};

struct aql_dispatch {
	uint64_t kernel_object;		/* GPU address of the kernel descriptor */
	void *kernarg;
	uint32_t group_segment_bytes;
	uint16_t workgroup_size;
	uint32_t num_workgroups;
	struct aql_signal *signal;
};

int aql_queue_create(struct kfd_device *dev, struct aql_queue *queue);
/* Its waves are saved to memory of the caller, of aql_save_area_bytes(). */
int aql_queue_create_with_area(struct kfd_device *dev, void *area, struct aql_queue *queue);
/* Its ring is in VRAM, as newer ROCr has it. */
int aql_queue_create_in_vram(struct kfd_device *dev, struct aql_queue *queue);
size_t aql_save_area_bytes(const struct kfd_device *dev);
int aql_queue_destroy(struct aql_queue *queue);

/*
 * A queue that is there and idle: it shares the memory of `like`, so that a thousand of them fit,
 * and must never get a packet. It has to go before `like` does.
 */
int aql_queue_create_idle(struct aql_queue *like, struct aql_queue *queue);
/* The same at 0 percent: it never gets on the hardware. */
int aql_queue_create_off(struct aql_queue *like, struct aql_queue *queue);
int aql_queue_destroy_idle(struct aql_queue *queue);

/* Stock UPDATE_QUEUE: 0 percent takes the queue off the hardware. */
int aql_queue_set_percentage(struct aql_queue *queue, uint32_t percentage);

/* The ring must have room; the tests never fill it. */
void aql_queue_dispatch(struct aql_queue *queue, const struct aql_dispatch *dispatch);

/* A barrier packet, done when everything before it is. */
void aql_queue_barrier(struct aql_queue *queue, struct aql_signal *signal);

/*
 * The same with a mark: the software GPU of selftests/vgpu copies its counters
 * under this label when it meets one; other GPUs ignore it.
 */
void aql_queue_mark(struct aql_queue *queue, uint32_t label, struct aql_signal *signal);

/* Waits until the signal reads 0; false when it doesn't in time. */
bool aql_signal_wait(const struct aql_signal *signal, unsigned int timeout_ms);

#endif
