/* SPDX-License-Identifier: MIT */
/* xqueues: queue commands in front of a stream, launch a few at a time, suspend and resume. */
#ifndef XPREEMPT_XQUEUE_H
#define XPREEMPT_XQUEUE_H

#include <xpreempt/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xp_xqueue {
	uint64_t handle;
} xp_xqueue_t;

/**
 * Launches one command on the stream. Returns 0, a negative errno or a hipError_t.
 *
 * The library calls it in the order of submission, from the submitting thread or from the xqueue's
 * own. It must not wait for the GPU. On its own xqueue it may only call xp_xqueue_submit() and
 * xp_xqueue_submit_command().
 *
 * It is called once. With a flag of XP_COMMAND_* it may be called again after each suspend until
 * the command is complete, so its argument must live that long.
 */
typedef int (*xp_launch_fn)(void *stream, void *argument);

/*
 * Flags of a command: how XP_LEVEL_DEACTIVATE may take it back after its launch. The caller
 * promises this for all kernels of the command.
 *
 * Guarded: each kernel begins with XP_GUARD() of xpreempt/guardian.h, and the command does nothing
 * else. The command runs completely or not at all, and never twice.
 *
 * Idempotent: a second run directly after a complete or partial run gives the same result. Each
 * suspend repeats at most one command: the one that was executing.
 */
#define XP_COMMAND_IDEMPOTENT 0x1u
#define XP_COMMAND_GUARDED 0x2u

struct xp_command {
	size_t sz; /* in: sizeof(struct xp_command) */
	xp_launch_fn launch;
	void *argument;
	uint32_t flags; /* XP_COMMAND_* */
	uint32_t reserved; /* 0 */
	/*
	 * NULL, or called with the argument exactly once for each submit that returned 0: when the
	 * library notices that the command has completed, when it is dropped, when the xqueue's thread
	 * could not launch it, or at the latest in xp_xqueue_destroy(). Any thread that calls the
	 * library may notice. The end of the last commands is noticed only by a call, a wait or a
	 * notification. It is called with a lock of the library: it must not call the library, throw
	 * or block.
	 */
	void (*over)(void *argument);
};

/*
 * Flags of xp_xqueue_options.
 *
 * While an xqueue is suspended at XP_LEVEL_BLOCK, a thread that launches into its stream directly
 * blocks until the resume; the thread that suspended the xqueue would block for ever. With
 * XP_STOP_FOR_OWN_LAUNCH such a launch by the suspending thread stops the queue instead, whatever
 * max_level says, and returns; the kernel runs after the resume. The launch still blocks if the
 * queue cannot be stopped mid-kernel.
 *
 * With XP_DEFERRED the xqueue's thread launches every command that is submitted while another one
 * is in flight. A submit then costs the caller a fraction of a launch. A submit to an idle xqueue
 * launches, because the GPU would wait while the thread is woken.
 */
#define XP_ALLOW_SHARED 0x1u /* stop the other streams on its queue too */
#define XP_STOP_FOR_OWN_LAUNCH 0x2u
#define XP_DEFERRED 0x4u

struct xp_xqueue_options {
	size_t sz; /* in: sizeof(struct xp_xqueue_options) */
	uint32_t threshold; /* most commands in flight; 0: 16. A latency budget may lower it. With
			     * max_level block it also counts the program's own calls */
	uint32_t batch; /* commands between two completion markers, <= threshold; 0: 8 or threshold */
	uint32_t capacity; /* commands not yet launched before submit blocks; 0: 65536 */
	uint32_t max_level; /* XP_LEVEL_*: the highest that a suspend uses; 0: no limit */
	uint32_t flags; /* XP_ALLOW_SHARED, XP_STOP_FOR_OWN_LAUNCH, XP_DEFERRED */
	uint32_t deactivate_method; /* XP_METHOD_*: the only one to use; 0: hardware, but guardian or
				     * flush if the queue is shared and the commands allow it */
	uint64_t latency_budget_ns; /* as xp_xqueue_set_latency_budget(); 0: none */
};

/* Initialize the first member and zero the others, without a compiler warning in C or C++. */
#define XP_COMMAND_INIT { sizeof(struct xp_command), 0, 0, 0, 0, 0 }
#define XP_XQUEUE_OPTIONS_INIT { sizeof(struct xp_xqueue_options), 0, 0, 0, 0, 0, 0, 0 }

/* flags of xp_xqueue_suspend() */
#define XP_SUSPEND_EXACT 0x1u /* fail if the xqueue's highest level cannot be reached */
#define XP_SUSPEND_FINISH_SUBMITTED 0x2u /* first wait until all submitted commands completed */
#define XP_SUSPEND_FINISH_LAUNCHED 0x4u /* finally wait until no launched command runs */

/* Fail and suspend nothing if this XP_LEVEL_* cannot be reached. */
#define XP_SUSPEND_LEAST(level) ((level) * 0x100u)

/* How a suspend keeps launched commands from starting. */
enum xp_method {
	XP_METHOD_NONE = 0, /* not at all: XP_LEVEL_BLOCK */
	XP_METHOD_HARDWARE = 1, /* the stream's queue is held */
	XP_METHOD_GUARDIAN = 2, /* their kernels return at once; a resume launches them again */
	XP_METHOD_FLUSH = 3, /* their packets leave the queue; a resume launches them again */
};

struct xp_xqueue_state {
	size_t sz; /* in: sizeof(struct xp_xqueue_state) */
	uint32_t suspends; /* not yet resumed */
	uint32_t held_level; /* XP_LEVEL_* of the suspend; 0: not suspended */
	uint32_t pending; /* submitted, not launched */
	uint32_t in_flight; /* launched, not known to be complete */
	uint32_t best_level; /* XP_LEVEL_* that a suspend would reach now */
	uint32_t held_method; /* XP_METHOD_* of the suspend; 0: not suspended */
	uint32_t best_method; /* XP_METHOD_* that a suspend would use now */
	uint32_t threshold; /* now in effect */
	uint32_t batch;
	uint32_t waiters; /* threads whose HIP calls the library blocks because of its queue */
	uint32_t lifted; /* 1: suspended, but its queue runs for a stream of higher priority */
	uint32_t reserved; /* 0 */
	uint64_t latency_budget_ns; /* 0: none */
	uint64_t command_ns; /* time of a command, as measured; 0: not known */
	char reason[XP_REASON_BYTES]; /* why best_level is not higher, or "" */
};

/**
 * xp_xqueue_create() - an xqueue in front of a stream
 * @options: NULL for the defaults
 *
 * Starts one thread. The stream must outlive the xqueue. A stream that was never used is touched
 * (xp_stream_touch()) to learn its queue. The null stream is that of the creating thread's current
 * device. Every thread that calls a launch function makes the stream's device current first.
 *
 * -ENOENT if no HIP runtime is loaded. -EBUSY if the stream already has an xqueue. -EOPNOTSUPP for
 * hipStreamPerThread, because that names another stream in the xqueue's thread; use a stream
 * created by the program.
 */
int xp_xqueue_create(void *stream, const struct xp_xqueue_options *options, xp_xqueue_t *xqueue);

/**
 * xp_xqueue_destroy() - resumes, launches all pending commands, and waits until they completed
 *
 * Rejects commands that another thread submits meanwhile (-ESHUTDOWN or -EBADF). -EDEADLK in a
 * launch function of the xqueue itself. -EBUSY during a capture of the stream if commands from
 * before it are unfinished. One that begins meanwhile waits up to two seconds; then the pending
 * commands come after it, so another thread has to end it.
 */
int xp_xqueue_destroy(xp_xqueue_t xqueue);

/**
 * xp_xqueue_submit() - submits a command
 * @ticket: receives its number, for xp_xqueue_wait(); may be NULL
 *
 * Launches at once in the calling thread if the xqueue is not suspended, no command is pending, and
 * fewer than threshold commands are in flight; an error is then that of the launch. At the
 * threshold it waits up to 10 us for a command to end, unless the last such wait was in vain.
 * Blocks while capacity commands are pending.
 */
int xp_xqueue_submit(xp_xqueue_t xqueue, xp_launch_fn launch, void *argument, uint64_t *ticket);

/** xp_xqueue_submit_command() - as xp_xqueue_submit(), for a command with flags */
int xp_xqueue_submit_command(xp_xqueue_t xqueue, const struct xp_command *command,
			     uint64_t *ticket);

/**
 * xp_xqueue_wait() - waits until that command has completed on the GPU
 *
 * Commands of a suspended xqueue complete after the resume. -ECANCELED if the command was dropped;
 * otherwise the error of its launch. The errors of the last 1024 failed launches are kept until they
 * are waited for. -EBUSY if the stream is captured, and commands from before the capture are
 * unfinished.
 */
int xp_xqueue_wait(xp_xqueue_t xqueue, uint64_t ticket);
int xp_xqueue_wait_all(xp_xqueue_t xqueue);

/**
 * xp_xqueue_wait_for() - xp_xqueue_wait() with a timeout
 * @timeout_ns: 0 only checks; UINT64_MAX waits for ever
 *
 * -ETIMEDOUT if the command has not completed by then. Polls every 10 us at first, later every 1
 * ms.
 */
int xp_xqueue_wait_for(xp_xqueue_t xqueue, uint64_t ticket, uint64_t timeout_ns);

/**
 * xp_xqueue_suspend() - suspends the xqueue at the highest level it can reach
 * @flags: XP_SUSPEND_*
 * @level: receives the level reached; may be NULL
 *
 * Counted: each suspend needs a resume. When it returns, no launch is in progress and none will
 * begin; it first lets a launch end that HIP blocks because of the queue (xp_xqueue_create(3)). At
 * XP_LEVEL_INTERRUPT no wave of the stream runs, unless the driver reports that the stop is late.
 * With XP_SUSPEND_FINISH_LAUNCHED none runs then and at lower levels either; resumes of other
 * threads count as usual meanwhile. If it cannot wait for a
 * command, it returns the error and leaves nothing suspended.
 */
int xp_xqueue_suspend(xp_xqueue_t xqueue, uint32_t flags, uint32_t *level);

/** xp_xqueue_resume() - undoes one suspend. -ENOENT if the xqueue is not suspended */
int xp_xqueue_resume(xp_xqueue_t xqueue);

/**
 * xp_xqueue_drop() - discards the pending commands, including those to be launched again
 * @count: receives how many; may be NULL
 *
 * A wait for one of them returns -ECANCELED. The library remembers the last 1024 ranges of dropped
 * tickets.
 */
int xp_xqueue_drop(xp_xqueue_t xqueue, uint64_t *count);

/**
 * xp_xqueue_set_launch_config() - sets threshold and batch; 0 keeps a value
 *
 * If batch is 0, a lower threshold lowers it too. -EINVAL if batch exceeds the threshold.
 */
int xp_xqueue_set_launch_config(xp_xqueue_t xqueue, uint32_t threshold, uint32_t batch);

/**
 * xp_xqueue_set_max_level() - sets max_level of the options
 * @level: XP_LEVEL_*; 0: no limit
 *
 * Takes effect at the next suspend of an xqueue that is not suspended.
 */
int xp_xqueue_set_max_level(xp_xqueue_t xqueue, uint32_t level);

/**
 * xp_xqueue_set_latency_budget() - bounds how long launched commands may run after a suspend
 * @budget_ns: 0: no budget; threshold and batch are used as given, and a suspend uses the highest
 *	level it can reach
 *
 * With a budget the xqueue measures the time of a command, and keeps as many in flight as end
 * within the budget, but at most the configured threshold. If two do not fit, the xqueue launches
 * the second shortly before it expects the first to end: 20 us, or an eighth of a command if that
 * is longer. If the GPU runs dry with that, it keeps two or more in flight all the time.
 *
 * While a scheduler of this process runs, xqueues of a GPU that have a budget and more to launch
 * share it: they launch in turn, for 4 ms each. Give no budget to streams whose kernels run side by
 * side, or wait for each other.
 *
 * A suspend uses the lowest level that keeps the budget. Until the time of a command is known, and
 * if no level keeps the budget, it uses the highest. xp_xqueue_query() reports the reason.
 */
int xp_xqueue_set_latency_budget(xp_xqueue_t xqueue, uint64_t budget_ns);

/**
 * xp_xqueue_stream() - the stream of the xqueue
 * @stream: receives the stream that xp_xqueue_create() was given
 */
int xp_xqueue_stream(xp_xqueue_t xqueue, void **stream);

/**
 * xp_stream_xqueue() - the xqueue of a stream
 *
 * The null stream is the current device's. -ENOENT if the stream has no xqueue.
 */
int xp_stream_xqueue(void *stream, xp_xqueue_t *xqueue);

/** xp_xqueue_set_name() - as xp_stream_set_name(), for an xqueue */
int xp_xqueue_set_name(xp_xqueue_t xqueue, const char *name);

/** xp_xqueue_query() - the current state, and the level that a suspend would reach */
int xp_xqueue_query(xp_xqueue_t xqueue, struct xp_xqueue_state *state);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_XQUEUE_H */
