/* SPDX-License-Identifier: GPL-2.0-only */
/* A GPU of KFD, its memory, and the mapping of both into this process. */
#ifndef SELFTESTS_KFD_DEVICE_H
#define SELFTESTS_KFD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* All functions return 0 or a negative errno, unless they say otherwise. */

struct kfd_device {
	int kfd_fd;
	int render_fd;
	uint32_t gpu_id;
	uint32_t gfx_target_version;
	uint32_t render_minor;
	uint32_t num_xcc;
	uint32_t num_sdma;		/* engines: those for PCIe, then those for XGMI */
	uint32_t cwsr_bytes;
	uint32_t ctl_stack_bytes;
	uint32_t cwsr_debug_bytes;
	uint32_t computed_cwsr_bytes;	/* cwsr_bytes where the driver doesn't show them */
	uint32_t computed_ctl_stack_bytes;
	uint32_t eop_bytes;
	volatile uint32_t *hdp_flush;	/* of kfd_hdp_map(), or NULL */
};

enum kfd_placement {
	KFD_IN_SYSTEM,	/* GTT, coherent */
	KFD_IN_VRAM,	/* VRAM that the CPU sees through the BAR */
	KFD_IN_VRAM_EXEC,
};

struct kfd_buffer {
	void *addr;	/* the same for CPU and GPU */
	size_t bytes;
	uint64_t handle;
};

/* Opens /dev/kfd only: enough for every call that needs no GPU. */
int kfd_open(void);

/* Opens the first GPU and acquires its VM for this process. */
int kfd_device_open(struct kfd_device *dev);
/* Opens a GPU that isn't `first`, or -ENODEV. */
int kfd_device_open_second(struct kfd_device *dev, const struct kfd_device *first);
/* Opens that GPU, or -ENODEV. */
int kfd_device_open_gpu(struct kfd_device *dev, uint32_t gpu_id);
void kfd_device_close(struct kfd_device *dev);

/*
 * Maps the register that makes VRAM show what the CPU has written through the BAR. From then on
 * kfd_buffer_alloc() and gpu_program_load() write it. The software GPU needs none of that.
 */
int kfd_hdp_map(struct kfd_device *dev);
/* Does nothing without kfd_hdp_map(). */
void kfd_hdp_flush(struct kfd_device *dev);

/* The memory reads as zero. */
int kfd_buffer_alloc(struct kfd_device *dev, enum kfd_placement placement,
		     size_t bytes, struct kfd_buffer *buf);
void kfd_buffer_free(struct kfd_device *dev, struct kfd_buffer *buf);

/*
 * The doorbells of this process where its GPU code can write them; for the CPU nothing is there.
 * They are in the order of the mapping that kfd_doorbell_map() makes.
 */
int kfd_doorbells_alloc(struct kfd_device *dev, struct kfd_buffer *buf);

/* ioctl() that returns a negative errno instead of -1; repeats after EINTR. */
int kfd_ioctl(int fd, unsigned long cmd, void *arg);
/* The driver's answer to an unknown ioctl: -ENOTTY, or -EINVAL from ROCm's driver. */
int kfd_answer_to_unknown(int fd);

/* The doorbell at the offset that CREATE_QUEUE gave. Unmapping none is no error. */
int kfd_doorbell_map(struct kfd_device *dev, uint64_t offset, volatile uint64_t **doorbell);
void kfd_doorbell_unmap(volatile uint64_t **doorbell);

#endif
