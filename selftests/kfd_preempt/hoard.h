/* SPDX-License-Identifier: GPL-2.0-only */
/* Another process with a running kernel and much of the VRAM, every word of which it knows. */
#ifndef KFD_PREEMPT_HOARD_H
#define KFD_PREEMPT_HOARD_H

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>

#include "evict.h"
#include "hoard_lines.h"
#include "sdma_queue.h"
#include "target.h"

#define MIB (1ul << 20)
#define HOARD_BUFFERS_MAX 256u
#define HOARD_TIMEOUT_MS 120000u

enum hoard_order {
	HOARD_IDLE,
	HOARD_CHECK,	/* all words, by the CPU */
	HOARD_COPY,	/* all words, by SDMA to system memory, then by the CPU */
	HOARD_POLL,	/* its SDMA queue waits for HOARD_RELEASE */
	HOARD_RELEASE,	/* ends that wait */
	HOARD_CHANGE,	/* gives all words new values */
	HOARD_EXPORT,	/* its first buffer; the result is a file of it */
	HOARD_QUEUE,	/* one more compute queue; the result is its id */
	HOARD_YIELD,	/* itself */
	HOARD_RESUME,	/* itself */
	HOARD_FAULT,	/* the pages of a userptr go, so that KFD faults new ones in */
	HOARD_FREE,	/* half of its buffers */
	HOARD_FINISH,	/* ends the kernel, checks what it did, exits */
};

struct hoard_shared {
	uint32_t ready;		/* 1, or a negative errno */
	uint32_t order;
	int32_t result;
	uint32_t queue_id;
	uint32_t more_id;
};

struct hoard {
	pid_t pid;
	uint32_t queue_id;
	uint64_t bytes;
	struct hoard_shared *shared;
};

/* All that its process has. */
struct hoard_world {
	struct hoard_shared *shared;
	struct kfd_device dev;
	struct aql_queue queue, more;
	struct sdma_queue sdma;
	bool has_sdma;
	struct job job;
	struct kfd_buffer buffers[HOARD_BUFFERS_MAX], back, user;
	unsigned int num;
	uint32_t seed;
};

static inline size_t hoard_lines(const struct hoard_world *world, unsigned int buffer)
{
	return world->buffers[buffer].bytes / sizeof(struct hoard_line);
}

static inline void hoard_fill(const struct hoard_world *world)
{
	unsigned int b;

	for (b = 0; b < world->num; b++)
		hoard_fill_lines(world->buffers[b].addr, hoard_lines(world, b), world->seed, b);
}

static inline int hoard_check_at(const struct hoard_world *world, unsigned int buffer, const void *addr)
{
	return hoard_check_lines(addr, hoard_lines(world, buffer), world->seed, buffer);
}

static inline int hoard_check(const struct hoard_world *world)
{
	unsigned int b;
	int ret = 0;

	for (b = 0; !ret && b < world->num; b++)
		ret = hoard_check_at(world, b, world->buffers[b].addr);
	return ret;
}

/* Words behind the copy of a buffer. */
static inline volatile uint32_t *hoard_word(const struct hoard_world *world, unsigned int number)
{
	return (uint32_t *)((uint8_t *)world->back.addr + world->buffers[0].bytes) + number * 16;
}

static inline int hoard_need_sdma(struct hoard_world *world)
{
	if (!world->has_sdma && sdma_queue_create(&world->dev, &world->sdma))
		return -EIO;
	world->has_sdma = true;
	return 0;
}

static inline int hoard_poll(struct hoard_world *world)
{
	if (hoard_need_sdma(world))
		return -EIO;
	*hoard_word(world, 1) = 0;
	sdma_wait_for(&world->sdma, hoard_word(world, 1), 1);
	sdma_submit(&world->sdma);
	return 0;
}

static inline int hoard_copy(struct hoard_world *world)
{
	volatile uint32_t *fence = hoard_word(world, 0);
	unsigned int b, ms;
	int ret = 0;

	if (hoard_need_sdma(world))
		return -EIO;
	for (b = 0; !ret && b < world->num; b++) {
		memset(world->back.addr, 0, world->back.bytes);
		sdma_copy(&world->sdma, world->buffers[b].addr, world->back.addr,
			  world->buffers[b].bytes);
		sdma_fence(&world->sdma, fence, b + 1);
		sdma_submit(&world->sdma);
		for (ms = 0; *fence != b + 1 && ms < HOARD_TIMEOUT_MS; ms++)
			sleep_us(1000);
		ret = *fence != b + 1 ? -ETIME : hoard_check_at(world, b, world->back.addr);
	}
	return ret;
}

static inline int hoard_export(const struct hoard_world *world)
{
	struct kfd_ioctl_export_dmabuf_args args = {
		.handle = world->buffers[0].handle,
		.flags = O_CLOEXEC,
	};
	int ret = kfd_ioctl(world->dev.kfd_fd, AMDKFD_IOC_EXPORT_DMABUF, &args);

	return ret ? ret : (int)args.dmabuf_fd;
}

static inline int hoard_obey(struct hoard_world *world, enum hoard_order order)
{
	int ret;

	switch (order) {
	case HOARD_CHECK:
		return hoard_check(world);
	case HOARD_COPY:
		return hoard_copy(world);
	case HOARD_POLL:
		return hoard_poll(world);
	case HOARD_RELEASE:
		*hoard_word(world, 1) = 1;
		return 0;
	case HOARD_CHANGE:
		world->seed++;
		hoard_fill(world);
		return 0;
	case HOARD_EXPORT:
		return hoard_export(world);
	case HOARD_QUEUE:
		ret = aql_queue_create(&world->dev, &world->more);
		return ret ? ret : (int)world->more.id;
	case HOARD_YIELD:
		return switch_preempt(world->dev.kfd_fd, 0, KFD_PREEMPT_SWITCH_YIELD_MEMORY,
				      world->queue.id);
	case HOARD_RESUME:
		return resume_queue(world->dev.kfd_fd, world->queue.id);
	case HOARD_FAULT:
		ret = world->user.bytes ? 0 : evict_userptr_create(&world->dev, &world->user);
		return ret ? ret : evict_userptr(&world->user);
	case HOARD_FREE:
		for (ret = (int)world->num / 2; ret > 0; ret--)
			kfd_buffer_free(&world->dev, &world->buffers[--world->num]);
		return 0;
	case HOARD_FINISH:
		exit(target_finish_job(&world->job) || hoard_check(world) ? 1 : 0);
	case HOARD_IDLE:
		break;
	}
	return 0;
}

static inline void hoard_run(struct hoard_shared *shared, unsigned int num, size_t bytes)
{
	static struct hoard_world world;
	enum hoard_order order;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	world.shared = shared;
	world.seed = (uint32_t)getpid();
	ret = kfd_device_open(&world.dev);
	if (!ret)
		ret = busy_queue_create(&world.dev, &world.queue, &world.job, 2, HOARD_TIMEOUT_MS);
	if (!ret && num)
		ret = kfd_buffer_alloc(&world.dev, KFD_IN_SYSTEM, bytes + 4096, &world.back);
	for (; !ret && world.num < num; world.num++)
		ret = kfd_buffer_alloc(&world.dev, KFD_IN_VRAM, bytes, &world.buffers[world.num]);
	if (!ret)
		hoard_fill(&world);
	shared->queue_id = world.queue.id;
	shared_set(&shared->ready, ret ? (uint32_t)ret : 1);
	if (ret)
		_exit(1);
	for (;;) {
		order = shared_get(&shared->order);
		if (order != HOARD_IDLE) {
			shared->result = hoard_obey(&world, order);
			shared_set(&shared->order, HOARD_IDLE);
		}
		sleep_us(500);
	}
}

static inline bool hoard_is_ready(const void *shared)
{
	return shared_get(&((const struct hoard_shared *)shared)->ready);
}

static inline bool hoard_is_idle(const void *shared)
{
	return shared_get(&((const struct hoard_shared *)shared)->order) == HOARD_IDLE;
}

/* Only begins a process with that many buffers; 0 or a negative errno. */
static inline int hoard_begin(struct hoard *hoard, unsigned int num, size_t bytes)
{
	hoard->bytes = num * bytes;
	hoard->shared = mmap(NULL, sizeof(*hoard->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hoard->shared == MAP_FAILED)
		return -errno;
	hoard->pid = fork();
	if (hoard->pid < 0)
		return -errno;
	if (!hoard->pid)
		hoard_run(hoard->shared, num, bytes);
	return 0;
}

/* Until it has them; 0 or a negative errno. */
static inline int hoard_wait(struct hoard *hoard)
{
	if (!wait_until(hoard_is_ready, hoard->shared, HOARD_TIMEOUT_MS))
		return -ETIME;
	if (hoard->shared->ready != 1) {
		waitpid(hoard->pid, NULL, 0);
		hoard->pid = 0;
		return (int)hoard->shared->ready;
	}
	hoard->queue_id = hoard->shared->queue_id;
	return 0;
}

static inline int hoard_start(struct hoard *hoard, unsigned int num, size_t bytes)
{
	int ret = hoard_begin(hoard, num, bytes);

	return ret ? ret : hoard_wait(hoard);
}

static inline int hoard_order(struct hoard *hoard, enum hoard_order order)
{
	shared_set(&hoard->shared->order, order);
	if (!wait_until(hoard_is_idle, hoard->shared, HOARD_TIMEOUT_MS))
		return -ETIME;
	return hoard->shared->result;
}

/* True when its kernel has done every iteration once, and every word is right. */
static inline bool hoard_finish(struct hoard *hoard)
{
	shared_set(&hoard->shared->order, HOARD_FINISH);
	return child_succeeds(&hoard->pid);
}

static inline void hoard_kill(struct hoard *hoard)
{
	child_kill(&hoard->pid);
}

#endif
