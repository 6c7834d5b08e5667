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
 * queue a stream uses, lets streams share queues, and in newer versions moves them. The functions
 * below report the queue that the last packet of a stream went to.
 */

struct xp_stream_info {
	size_t sz; /* in: sizeof(struct xp_stream_info) */
	uint32_t kfd_queue_id; /* of AMDKFD_IOC_CREATE_QUEUE: what the driver calls the queue */
	uint32_t generation; /* with the id unique in this process; ids are reused */
	uint32_t gpu_id; /* KFD's */
	uint32_t num_sharing; /* streams seen on that queue, this one included */
	uint32_t level; /* XP_LEVEL_*: how far the stream can be suspended now */
	uint32_t held; /* 1: its queue is held by this library, though it may be lifted */
	uint32_t blocked; /* 1: its queue waits, over events or copies, for a held one */
	uint32_t blocker; /* KFD id of that one when blocked */
	uint32_t waiters; /* threads in HIP calls that wait outside of HIP for its queue */
	uint32_t reserved; /* 0 */
	uint64_t save_area_bytes; /* for the waves of a preempted queue on one XCC; 0: none */
	char reason[XP_REASON_BYTES]; /* why not a higher level, or "" */
};

/**
 * xp_stream_query() - the queue of a stream
 *
 * -ENOSYS: libxpreempt-hook.so is not loaded. -ENOENT: no packet of the stream was seen; use the
 * stream, or call xp_stream_touch(). -EXDEV: its packets go to a queue whose creation the hook did
 * not see: one from before the hook was loaded, or the stand-in of a profiler.
 */
int xp_stream_query(void *stream, struct xp_stream_info *info);

/* Where the area is that the waves of a preempted queue are saved to. */
enum xp_memory {
	XP_MEMORY_UNKNOWN = 0,
	XP_MEMORY_SYSTEM = 1, /* behind the link to the host */
	XP_MEMORY_VRAM = 2,
};

/* Predicted, not measured. 0: not known, for want of something that the driver does not tell. */
struct xp_prediction {
	size_t sz; /* in: sizeof(struct xp_prediction) */
	uint32_t gpu_id; /* KFD's */
	uint32_t memory; /* XP_MEMORY_* */
	uint32_t xccs;
	uint32_t compute_units; /* of all XCCs */
	uint64_t memory_mbs; /* peak bandwidth of that memory, 1e6 bytes/s */
	uint64_t full_bytes; /* to save when the GPU is full: every wave, register and LDS */
	uint64_t light_bytes; /* to save with one wave of 64 VGPRs on each compute unit */
	double full_us_least; /* microseconds for full_bytes at peak bandwidth */
	double full_us_most; /* at 80 % of it */
	double light_us_most; /* for light_bytes */
	char memory_reason[XP_REASON_BYTES]; /* how the memory is known, or why not */
};

/**
 * xp_stream_predict() - what preempting the stream's queue costs
 *
 * Bytes and bounds from the shape of the GPU and the bandwidth of the memory that the save area is
 * in; where that is unknown the times span both. Not in the times: locks and system call, the
 * scheduler firmware and its grace period, memory operations under way. Reads files of /sys and
 * /proc, so it is not for a hot path. Errors as xp_stream_query(); -ENOENT also when the topology
 * tree does not show the GPU to this user.
 */
int xp_stream_predict(void *stream, struct xp_prediction *prediction);

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

/* flags of xp_stream_hold() */
#define XP_HOLD_EXACT 0x1u /* fail when the stream's highest level cannot be reached */
#define XP_HOLD_SHARED 0x2u /* other streams of its queue may stop with it */

/* fail, and hold nothing, when this XP_LEVEL_* cannot be reached */
#define XP_HOLD_LEAST(level) ((level) * 0x100u)

/**
 * xp_stream_hold() - stops a stream whose program launches into it directly
 * @level: receives the XP_LEVEL_* that was reached; may be NULL
 *
 * At XP_LEVEL_INTERRUPT its running kernel stops where it is. At XP_LEVEL_BLOCK, as where other
 * streams share the queue, each thread that wants to put work into the stream waits before its HIP
 * call, one that holds a lock meanwhile included; what is in the stream completes, and calls that
 * have begun go on. A thread that waits for the stream waits until the release, so release it from a
 * thread that does not use the stream.
 *
 * Counted: it runs after as many xp_stream_release(); the first hold decides the level. A stream that
 * was never used is touched. If the stream has an xqueue, the xqueue is suspended. A hold ends with
 * its stream. -ENOSYS: without libxpreempt-hook.so nobody sees the calls. -EOPNOTSUPP:
 * hipStreamPerThread, or the level is not to be had.
 */
int xp_stream_hold(void *stream, uint32_t flags, uint32_t *level);

/** xp_stream_release() - undoes one xp_stream_hold(); -ENOENT: the stream is not held */
int xp_stream_release(void *stream);

/**
 * xp_stream_set_name() - a name for kfd-preempt(8) and other programs at the control socket
 * @name: up to 63 bytes, no control characters, not beginning with a digit; NULL or "": none
 *
 * Need not be unique, and ends with the stream. -ENAMETOOLONG, -EINVAL: such a name may not be.
 */
int xp_stream_set_name(void *stream, const char *name);

/** xp_stream_destroy() - hipStreamDestroy(); no xqueue and no held queue may be on the stream */
int xp_stream_destroy(void *stream);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_STREAM_H */
