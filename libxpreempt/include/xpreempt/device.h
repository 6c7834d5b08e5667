/* SPDX-License-Identifier: MIT */
/* Capabilities of this process on this machine, and error reporting. */
#ifndef XPREEMPT_DEVICE_H
#define XPREEMPT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rules of the whole interface
 *
 * Errors: a function returns 0 or a negative errno. If it fails it does not change its outputs. It
 * never changes errno, ends the process or throws, and is no cancellation point.
 *
 * Versions: `sz` at the beginning of a struct is its version. Set sz = sizeof(struct) before the
 * call; the library writes nothing beyond it. -EINVAL if it is smaller than the first version.
 *
 * Handles: a handle is a number in a struct. Every call returns -EBADF for one that is not open.
 *
 * Threads: every function may be called by any number of threads, unless it says otherwise.
 * libxpreempt(7) lists the threads that the library starts. No function is async-signal-safe. A
 * function of the program that the library calls must not end its thread, as pthread_exit() does.
 *
 * fork: in the child of a process that has loaded HIP or made an object of the library every call
 * returns -EBADF, because the GPU's queues stay with the parent.
 *
 * HIP: the library uses the runtime that the program has loaded, and never loads one.
 */

/* Ways to stop a queue, worst first. 1 and 3 are not used. */
enum xp_transport {
	XP_TRANSPORT_NONE = 0, /* queues cannot be stopped, only launches withheld */
	XP_TRANSPORT_UPDATE_QUEUE = 2, /* any amdkfd: percentage 0 */
	XP_TRANSPORT_PATCHED = 4, /* amdkfd with QUERY and SWITCH */
};

/* How much a suspend stops. Each level includes those before it. */
enum xp_level {
	XP_LEVEL_BLOCK = 1, /* no further command is launched */
	XP_LEVEL_DEACTIVATE = 2, /* no launched command starts */
	XP_LEVEL_INTERRUPT = 3, /* the running kernel stops mid-kernel */
};

#define XP_REASON_BYTES 192

struct xp_probe_info {
	size_t sz; /* in: sizeof(struct xp_probe_info) */
	uint32_t transport; /* XP_TRANSPORT_* */
	uint32_t hook_loaded; /* libxpreempt-hook.so is in this process */
	uint32_t hip_loaded; /* a HIP runtime is in this process */
	uint32_t sched_mode; /* KFD_PREEMPT_SCHED_*; patched driver only */
	uint64_t caps; /* KFD_PREEMPT_CAP_*; patched driver only */
	char reason[XP_REASON_BYTES]; /* why the transport is not better or the hook is blind, or "" */
};

/**
 * xp_probe() - finds out how queues can be stopped on this machine
 *
 * Opens /dev/kfd if no earlier call of the library did, and sends the driver no ioctl but QUERY.
 * May be called before HIP is used.
 */
int xp_probe(struct xp_probe_info *probe);

/**
 * xp_start() - applies the environment variables of libxpreempt(7) now
 *
 * Without it the first call of any function does so. libxpreempt-hook.so calls it in a program that
 * is not linked with this library.
 */
int xp_start(void);

/**
 * xp_last_detail() - describes the last error of the calling thread in a sentence
 *
 * Valid until the thread's next call. Returns "" if no call of this thread has failed.
 */
const char *xp_last_detail(void);

/**
 * xp_last_hip_error() - the hipError_t behind the last error of the calling thread
 *
 * Returns 0 if no HIP call caused that error. If a launch function returned a hipError_t, this is
 * that value; the errno of such an error is only the nearest one, usually EIO.
 */
int xp_last_hip_error(void);

/** xp_version() - "MAJOR.MINOR.PATCH" of the library */
const char *xp_version(void);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_DEVICE_H */
