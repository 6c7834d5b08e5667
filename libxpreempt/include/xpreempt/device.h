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
 * Errors: a function returns 0 or a negative errno, and leaves its outputs alone when it fails; it
 * never sets errno, never ends the process, and throws nothing.
 *
 * Growth: a struct that begins with `sz` is versioned by it. Set sz = sizeof(struct) before the
 * call; the library writes no byte behind it. Too small for the first version is -EINVAL.
 *
 * Handles: a number in a struct. One that was closed, or never opened, is -EBADF in every call.
 *
 * Threads: any number may call, unless a function says otherwise. libxpreempt(7) names the threads
 * that the library starts, and when. No function is async-signal-safe.
 *
 * fork: in the child every call answers -EBADF, for the GPU's queues stay with the parent.
 *
 * HIP: the library uses the runtime that the program has loaded, and loads none.
 */

/* Ways to stop a queue, worst first. */
enum xp_transport {
	XP_TRANSPORT_NONE = 0, /* none: launches can only be withheld */
	XP_TRANSPORT_DEBUG_TRAP = 1, /* as one's own debugger; by XPREEMPT_TRANSPORT=debug-trap only */
	XP_TRANSPORT_UPDATE_QUEUE = 2, /* any amdkfd: percentage 0 */
	XP_TRANSPORT_PATCHED_V0 = 3, /* amdkfd with PREEMPT_QUEUE, but without QUERY */
	XP_TRANSPORT_PATCHED = 4, /* amdkfd with PREEMPT_QUEUE and SWITCH */
};

/* How much of a suspended queue stops. */
enum xp_level {
	XP_LEVEL_BLOCK = 1, /* no further command is launched */
	XP_LEVEL_DEACTIVATE = 2, /* and none that was launched starts */
	XP_LEVEL_INTERRUPT = 3, /* and the running kernel stops where it is */
};

#define XP_REASON_BYTES 192

struct xp_probe_info {
	size_t sz; /* in: sizeof(struct xp_probe_info) */
	uint32_t transport; /* XP_TRANSPORT_* */
	uint32_t hook_loaded; /* libxpreempt-hook.so is in this process */
	uint32_t hip_loaded; /* a HIP runtime is in this process */
	uint32_t sched_mode; /* KFD_PREEMPT_SCHED_*, of a patched driver */
	uint64_t caps; /* KFD_PREEMPT_CAP_*, of a patched driver */
	char reason[XP_REASON_BYTES]; /* why not a better transport, whether the hook is blind, or "" */
};

/**
 * xp_probe() - finds out how queues can be stopped here
 *
 * Side effects: opens /dev/kfd at the first call of the library that needs it. The driver is asked
 * with QUERY only. May be called before HIP is used.
 */
int xp_probe(struct xp_probe_info *probe);

/**
 * xp_start() - does now what the environment asks for, see libxpreempt(7)
 *
 * Otherwise the first call of any function does it. libxpreempt-hook.so calls it in a program that
 * is not linked with this library.
 */
int xp_start(void);

/**
 * xp_last_detail() - a sentence about the last error of the calling thread
 *
 * Valid until the thread's next call; "" when no call of this thread has failed.
 */
const char *xp_last_detail(void);

/**
 * xp_last_hip_error() - the hipError_t behind the last error of the calling thread
 *
 * Returns 0 if no HIP call caused that error. For a launch function that returned a hipError_t, it
 * is that value; the errno of such an error is only the nearest one, mostly EIO.
 */
int xp_last_hip_error(void);

/** xp_version() - "MAJOR.MINOR.PATCH" of the library */
const char *xp_version(void);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_DEVICE_H */
