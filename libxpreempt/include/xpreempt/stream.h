/* SPDX-License-Identifier: MIT */
/* HIP streams: the KFD queue of a stream, streams that share it, streams with their own queue. */
#ifndef XPREEMPT_STREAM_H
#define XPREEMPT_STREAM_H

#include <xpreempt/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A stream is a hipStream_t, passed as void * so that this header does not need HIP's. HIP decides
 * which queue a stream uses, lets streams share queues, and in newer versions moves streams between
 * queues. The functions below report the queue that received the last packet of a stream.
 */

struct xp_stream_info {
	size_t sz; /* in: sizeof(struct xp_stream_info) */
	uint32_t kfd_queue_id; /* the driver's id, from AMDKFD_IOC_CREATE_QUEUE */
	uint32_t generation; /* KFD reuses ids; id and generation are unique in this process */
	uint32_t gpu_id; /* KFD's */
	uint32_t num_sharing; /* streams seen on that queue, this one included */
	uint32_t level; /* XP_LEVEL_* that a suspend of the stream would reach now */
	uint32_t held; /* 1: this library holds its queue, even if the hold is lifted now */
	uint32_t blocked; /* 1: its queue waits for a held one, because of events or copies */
	uint32_t blocker; /* if blocked: the KFD id of that queue */
	uint32_t waiters; /* threads whose HIP calls the library blocks because of its queue */
	uint32_t preempts_known; /* 1: the driver reports the last fields; 0 on a stock driver */
	uint64_t save_area_bytes; /* CWSR area of the queue on one XCC; 0: none */
	char reason[XP_REASON_BYTES]; /* why level is not higher, or "" */
	uint64_t preempts; /* confirmed preemptions of its queue */
	uint64_t last_preempt_ns; /* time that the last one took in the driver */
	uint64_t max_preempt_ns;
};

/**
 * xp_stream_query() - the queue of a stream
 *
 * -ENOSYS if libxpreempt-hook.so is not loaded. -ENOENT if the hook has seen no packet of the
 * stream; use the stream, or call xp_stream_touch(). -EXDEV if its packets go to a queue whose
 * creation the hook did not see: one from before the hook was loaded, or a profiler's replacement.
 */
int xp_stream_query(void *stream, struct xp_stream_info *info);

/* Where the CWSR area is, to which the waves of a preempted queue are saved. */
enum xp_memory {
	XP_MEMORY_UNKNOWN = 0,
	XP_MEMORY_SYSTEM = 1, /* the host's, across the link */
	XP_MEMORY_VRAM = 2,
};

/* Predicted, not measured. A field is 0 if the driver does not report what it depends on. */
struct xp_prediction {
	size_t sz; /* in: sizeof(struct xp_prediction) */
	uint32_t gpu_id; /* KFD's */
	uint32_t memory; /* XP_MEMORY_* */
	uint32_t xccs;
	uint32_t compute_units; /* of all XCCs */
	uint64_t memory_mbs; /* peak bandwidth of that memory, 1e6 bytes/s */
	uint64_t full_bytes; /* saved if the GPU is full: every wave, register and LDS */
	uint64_t light_bytes; /* saved with one wave of 64 VGPRs on each compute unit */
	double full_us_least; /* microseconds for full_bytes at peak bandwidth */
	double full_us_most; /* at 80 % of it */
	double light_us_most; /* for light_bytes */
	char memory_reason[XP_REASON_BYTES]; /* how memory was found out, or why it is unknown */
};

/**
 * xp_stream_predict() - what preempting the stream's queue costs
 *
 * Computes bytes and times from the shape of the GPU and the bandwidth of the memory that has the
 * CWSR area. If that memory is unknown, the times span both kinds. The times do not include locks,
 * the system call, the scheduler firmware and its grace period, and memory operations in flight.
 * Reads files of /sys and /proc: do not call it in a hot path. Errors as xp_stream_query(); -ENOENT
 * also if the topology tree does not show the GPU to this user.
 */
int xp_stream_predict(void *stream, struct xp_prediction *prediction);

/**
 * xp_stream_sharing() - the streams on the same queue, which stop when it stops
 * @streams: receives up to max handles; NULL stands for the null stream
 * @count: receives their number, which may be more than max
 */
int xp_stream_sharing(void *stream, void **streams, size_t max, size_t *count);

/**
 * xp_stream_touch() - launches a small kernel on the stream and waits for it, so that the hook sees
 * which queue the stream uses
 *
 * Blocks until all work on the stream has completed, but not if its queue is held: then the kernel
 * runs after the resume. -ENOENT if no HIP runtime is loaded. -EBUSY if the stream is being captured
 * or destroyed.
 */
int xp_stream_touch(void *stream);

/**
 * xp_stream_is_idle() - whether all work in the stream has completed, also work that the program
 * put there past an xqueue
 *
 * Ends no capture of any thread. A stream that is captured counts as idle: its work is in no queue
 * yet. -ENOENT if no HIP runtime is loaded.
 */
int xp_stream_is_idle(void *stream, uint32_t *idle);

/**
 * xp_stream_wait() - waits until all work in the stream has completed
 *
 * Ends no capture of any thread, and does not wait for a stream that is captured. Does not return
 * while the stream is held. Errors as xp_stream_is_idle().
 */
int xp_stream_wait(void *stream);

/**
 * xp_stream_create() - creates a stream with a queue of its own, on the current device
 *
 * The stream synchronizes with the null stream as those of hipStreamCreate() do, and has normal
 * priority. -EBUSY if HIP gave it a shared queue after all. Destroy it with xp_stream_destroy() or
 * hipStreamDestroy() before the process exits: at exit HIP leaves its queue on the GPU, and ROCr
 * frees memory that the queue refers to.
 */
int xp_stream_create(void **stream);

/* flags of xp_stream_hold() */
#define XP_HOLD_EXACT 0x1u /* fail if the stream's highest level cannot be reached */
#define XP_HOLD_SHARED 0x2u /* other streams on its queue may stop with it */

/* Fail and hold nothing if this XP_LEVEL_* cannot be reached. */
#define XP_HOLD_LEAST(level) ((level) * 0x100u)

/**
 * xp_stream_hold() - suspends a stream into which the program launches directly
 * @level: receives the XP_LEVEL_* that was reached; may be NULL
 *
 * At XP_LEVEL_INTERRUPT the running kernel stops where it is. At XP_LEVEL_BLOCK, for example if
 * other streams share the queue, every thread that submits work to the stream blocks before its HIP
 * call, even if it holds a lock; work already in the stream completes, and HIP calls in progress
 * continue. A thread that waits for the stream blocks until the release, so release it from a
 * thread that does not use the stream.
 *
 * Counted: each hold needs an xp_stream_release(); the first hold decides the level. A stream that
 * was never used is touched. If the stream has an xqueue, this suspends the xqueue. A hold ends
 * with its stream.
 *
 * -ENOSYS without libxpreempt-hook.so, which intercepts the calls. -EOPNOTSUPP for
 * hipStreamPerThread, or if the level cannot be reached. -EIO if the queue is dead. If the driver
 * cannot confirm a stop in time, the stream is held, and its queue stops as soon as it can.
 */
int xp_stream_hold(void *stream, uint32_t flags, uint32_t *level);

/**
 * xp_stream_release() - undoes one xp_stream_hold(). -ENOENT if the stream is not held
 *
 * If the driver refuses the start, a thread of the library retries it.
 */
int xp_stream_release(void *stream);

/**
 * xp_streams_hold() - holds several streams as xp_stream_hold() does, and their queues at once
 * @level: receives the lowest XP_LEVEL_* of them; may be NULL
 *
 * Holds all or none: if one cannot be held, it releases the others and returns that error. On a
 * driver with SWITCH all queues that stop mid-kernel are unmapped in one update of the runlist of
 * their GPU; otherwise they stop one by one, and each update disturbs the other queues of the GPU.
 */
int xp_streams_hold(void *const *streams, size_t count, uint32_t flags, uint32_t *level);

/**
 * xp_streams_release() - undoes one hold of each stream, at once as xp_streams_hold()
 *
 * Releases all that are held, and returns -ENOENT if one is not.
 */
int xp_streams_release(void *const *streams, size_t count);

/**
 * xp_stream_set_name() - names the stream for kfd-preempt(8) and other clients of the control
 * socket
 * @name: up to 63 bytes, no control characters, not beginning with a digit; NULL or "": no name
 *
 * Names need not be unique. A name ends with its stream. -ENAMETOOLONG or -EINVAL for any other
 * name.
 */
int xp_stream_set_name(void *stream, const char *name);

/** xp_stream_destroy() - hipStreamDestroy(); the stream must have no xqueue */
int xp_stream_destroy(void *stream);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_STREAM_H */
