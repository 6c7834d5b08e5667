/* SPDX-License-Identifier: MIT */
/* HIP streams: which KFD queue a stream is on, who shares it, streams with a queue of their own. */
#ifndef XPREEMPT_STREAM_H
#define XPREEMPT_STREAM_H

#include <xpreempt/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A stream is a hipStream_t, given as void * so that HIP's headers are not needed. HIP decides which
 * queue a stream uses, lets streams share queues, and in newer versions moves them. What is told
 * here is where the last packet of a stream went.
 */

struct xp_stream_info {
	size_t sz; /* in: sizeof(struct xp_stream_info) */
	uint32_t kfd_queue_id; /* of AMDKFD_IOC_CREATE_QUEUE: what the driver calls the queue */
	uint32_t generation; /* with the id unique in this process; ids are reused */
	uint32_t gpu_id; /* KFD's */
	uint32_t num_sharing; /* streams seen on that queue, this one included */
	uint32_t level; /* XP_LEVEL_*: how far the stream can be suspended now */
	uint32_t reserved; /* 0 */
	uint64_t save_area_bytes; /* for the waves of a preempted queue; 0: none */
	char reason[XP_REASON_BYTES]; /* why not a higher level, or "" */
};

/**
 * xp_stream_query() - the queue of a stream
 *
 * -ENOSYS: libxpreempt-hook.so is not loaded. -ENOENT: no packet of the stream was seen; use the
 * stream, or call xp_stream_touch().
 */
int xp_stream_query(void *stream, struct xp_stream_info *info);

/**
 * xp_stream_sharing() - the streams that stop when this one's queue does
 * @streams: receives up to max handles; NULL stands for the null stream
 * @count: how many there are, which may be more than max
 */
int xp_stream_sharing(void *stream, void **streams, size_t max, size_t *count);

/**
 * xp_stream_touch() - puts a small kernel on the stream and waits for it, so that it is mapped
 *
 * Blocks until everything on the stream has completed. -ENOENT: no HIP runtime is loaded.
 */
int xp_stream_touch(void *stream);

/**
 * xp_stream_create() - a stream with a queue of its own
 *
 * On the calling thread's current device. Such a stream waits for the null stream and makes it wait,
 * as hipStreamCreate()'s do, and has normal priority. The stream is verified: -EBUSY when HIP gave
 * it a shared queue after all. Destroy it with xp_stream_destroy() or hipStreamDestroy().
 */
int xp_stream_create(void **stream);

/** xp_stream_destroy() - hipStreamDestroy(); no xqueue and no held queue may be on the stream */
int xp_stream_destroy(void *stream);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_STREAM_H */
