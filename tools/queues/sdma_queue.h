/* SPDX-License-Identifier: GPL-2.0-only */
/* An SDMA queue of KFD and the few packets that tests need. */
#ifndef SELFTESTS_SDMA_QUEUE_H
#define SELFTESTS_SDMA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd_device.h"

struct sdma_queue {
	struct kfd_device *dev;
	uint32_t id;			/* KFD queue id */
	struct kfd_buffer ring;
	struct kfd_buffer pointers;
	volatile uint64_t *doorbell;
	uint64_t written;		/* bytes, never wraps */
};

/* KFD chooses the engine, of those for PCIe. */
int sdma_queue_create(struct kfd_device *dev, struct sdma_queue *queue);
/* Without HWS the stock driver makes a broken queue of it, and an oops of its destruction. */
int sdma_queue_create_on(struct kfd_device *dev, uint32_t engine, struct sdma_queue *queue);
int sdma_queue_destroy(struct sdma_queue *queue);

/* Stock UPDATE_QUEUE: 0 percent takes the queue off the hardware. */
int sdma_queue_set_percentage(struct sdma_queue *queue, uint32_t percentage);

/* Packets; nothing happens before sdma_submit(). The ring must have room. */
void sdma_copy(struct sdma_queue *queue, const void *from, void *to, uint64_t bytes);
void sdma_fence(struct sdma_queue *queue, volatile uint32_t *where, uint32_t value);
void sdma_trap(struct sdma_queue *queue, uint32_t event_id);
void sdma_wait_for(struct sdma_queue *queue, const volatile uint32_t *where, uint32_t value);
void sdma_submit(struct sdma_queue *queue);

/* How far the engine has got, in bytes of the ring. */
uint64_t sdma_read_pointer(const struct sdma_queue *queue);

#endif
