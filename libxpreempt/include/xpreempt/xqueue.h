/* SPDX-License-Identifier: MIT */
/* xqueues: commands for a stream that are launched little by little and can be suspended. */
#ifndef XPREEMPT_XQUEUE_H
#define XPREEMPT_XQUEUE_H

#include <xpreempt/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xp_xqueue {
	uint64_t handle;
} xp_xqueue_t;

/**
 * Launches one command on the stream: 0, a negative errno, or a hipError_t. Called in the order of
 * submission, by the thread that submits or by the xqueue's own; it must not wait for the GPU. On
 * its own xqueue it may only call xp_xqueue_submit() and xp_xqueue_submit_command().
 *
 * Called once, unless the command has a flag: then it may be called again after each suspend, until
 * the command is complete, and its argument must live that long.
 */
typedef int (*xp_launch_fn)(void *stream, void *argument);

/*
 * Flags of a command: how it may be taken back after its launch, at XP_LEVEL_DEACTIVATE. Both are
 * promises about all of its kernels.
 *
 * Guarded: each begins with XP_GUARD() of xpreempt/guardian.h, and the command does nothing else.
 * Then it runs wholly or not at all, once.
 *
 * Idempotent: doing the command again right after it was done, wholly or in part, gives the same
 * result. It happens to at most one command of a suspend, the one that was being executed.
 */
#define XP_COMMAND_IDEMPOTENT 0x1u
#define XP_COMMAND_GUARDED 0x2u

struct xp_command {
	size_t sz; /* in: sizeof(struct xp_command) */
	xp_launch_fn launch;
	void *argument;
	uint32_t flags; /* XP_COMMAND_* */
	uint32_t reserved; /* 0 */
};

/*
 * flags of xp_xqueue_options. While an xqueue is suspended at XP_LEVEL_BLOCK, a thread that launches
 * into its stream past the xqueue blocks until the resume, and a thread that suspended it itself
 * would block for ever. With this flag the launch of such a thread stops the queue instead, whatever
 * max_level says, and returns; the kernel runs after the resume. It still blocks if the queue cannot
 * be stopped mid-kernel.
 */
#define XP_STOP_FOR_OWN_LAUNCH 0x2u
/* The xqueue's thread launches every command. A submit then costs the caller a fraction of a launch;
 * the GPU has the command later, by the time that it takes to wake a thread if the xqueue was idle.
 */
#define XP_DEFERRED 0x4u

struct xp_xqueue_options {
	size_t sz; /* in: sizeof(struct xp_xqueue_options) */
	uint32_t threshold; /* commands that may be in flight; 0: 16. With a latency budget: at most.
			     * With max_level block also of the program's own calls */
	uint32_t batch; /* commands between two completion markers, <= threshold; 0: 8 or threshold */
	uint32_t capacity; /* commands that may wait before submit blocks; 0: 65536 */
	uint32_t max_level; /* XP_LEVEL_*: do not stop more than that; 0: as much as possible */
	uint32_t flags; /* XP_ALLOW_SHARED, XP_STOP_FOR_OWN_LAUNCH, XP_DEFERRED */
	uint32_t deactivate_method; /* XP_METHOD_*: the only one to use; 0: hardware, but guardian or
				     * flush if the queue is shared and the commands allow it */
	uint64_t latency_budget_ns; /* as xp_xqueue_set_latency_budget(); 0: none */
};

/* For designated initialisation without a warning about what is left out, in C and C++. */
#define XP_COMMAND_INIT { sizeof(struct xp_command), 0, 0, 0, 0 }
#define XP_XQUEUE_OPTIONS_INIT { sizeof(struct xp_xqueue_options), 0, 0, 0, 0, 0, 0, 0 }

/* flags of xp_xqueue_suspend() */
#define XP_SUSPEND_EXACT 0x1u /* fail when the xqueue's highest level cannot be reached */
#define XP_SUSPEND_FINISH_SUBMITTED 0x2u /* first wait until all that was submitted has completed */
#define XP_SUSPEND_FINISH_LAUNCHED 0x4u /* at the end wait for what was launched and still runs */

/* fail, and suspend nothing, when this XP_LEVEL_* cannot be reached, whatever else could be */
#define XP_SUSPEND_LEAST(level) ((level) * 0x100u)

/* By what means the commands that were launched are kept from starting. */
enum xp_method {
	XP_METHOD_NONE = 0, /* not at all: XP_LEVEL_BLOCK */
	XP_METHOD_HARDWARE = 1, /* the stream's queue is held */
	XP_METHOD_GUARDIAN = 2, /* their kernels return at once; launched again later */
	XP_METHOD_FLUSH = 3, /* they are taken back out of the queue, and launched again later */
};

struct xp_xqueue_state {
	size_t sz; /* in: sizeof(struct xp_xqueue_state) */
	uint32_t suspends; /* not yet resumed */
	uint32_t held_level; /* XP_LEVEL_* of the suspend, 0 while it runs */
	uint32_t pending; /* submitted, not launched */
	uint32_t in_flight; /* launched, not known to be complete */
	uint32_t best_level; /* XP_LEVEL_* that a suspend would reach now */
	uint32_t held_method; /* XP_METHOD_* of the suspend, 0 while it runs */
	uint32_t best_method; /* XP_METHOD_* that a suspend would use now */
	uint32_t threshold; /* now in effect */
	uint32_t batch;
	uint32_t waiters; /* threads in HIP calls that wait outside of HIP for its stream's queue */
	uint32_t lifted; /* 1: suspended, but its queue runs for a stream of higher priority */
	uint32_t reserved; /* 0 */
	uint64_t latency_budget_ns; /* 0: none */
	uint64_t command_ns; /* time of a command, as measured; 0: not known */
	char reason[XP_REASON_BYTES]; /* why that level and not a higher one, or "" */
};

/**
 * xp_xqueue_create() - an xqueue in front of a stream
 * @options: NULL for the defaults
 *
 * Starts one thread. The stream must outlive the xqueue; a stream that was never used is touched
 * (xp_stream_touch()) to learn its queue. The null stream is the current device's of the thread that
 * creates the xqueue; launch functions find the stream's device as the current one, whichever thread
 * calls them. -ENOENT: no HIP runtime is loaded. -EOPNOTSUPP: hipStreamPerThread, which is another
 * stream in the xqueue's thread; a stream of one's own does the same. -EBUSY: the stream has an
 * xqueue.
 */
int xp_xqueue_create(void *stream, const struct xp_xqueue_options *options, xp_xqueue_t *xqueue);

/**
 * xp_xqueue_destroy() - resumes, launches what waits, and waits for all of it
 *
 * Commands that another thread submits meanwhile are rejected (-ESHUTDOWN, or -EBADF). -EDEADLK: in
 * a launch function of the xqueue itself.
 */
int xp_xqueue_destroy(xp_xqueue_t xqueue);

/**
 * xp_xqueue_submit() - hands over a command
 * @ticket: receives its number, for xp_xqueue_wait(); may be NULL
 *
 * Launches at once in the calling thread when the xqueue is not suspended, nothing waits, and fewer
 * than threshold commands are in flight; then an error is the launch's. If there are as many, waits
 * up to 10 us for one to end, unless the last such wait was in vain. Blocks while capacity commands
 * wait.
 */
int xp_xqueue_submit(xp_xqueue_t xqueue, xp_launch_fn launch, void *argument, uint64_t *ticket);

/** xp_xqueue_submit_command() - xp_xqueue_submit() of a command that has flags */
int xp_xqueue_submit_command(xp_xqueue_t xqueue, const struct xp_command *command,
			     uint64_t *ticket);

/**
 * xp_xqueue_wait() - until that command has completed on the GPU
 *
 * A suspended xqueue completes when it is resumed. -ECANCELED: dropped. Another error: the launch's.
 */
int xp_xqueue_wait(xp_xqueue_t xqueue, uint64_t ticket);
int xp_xqueue_wait_all(xp_xqueue_t xqueue);

/**
 * xp_xqueue_wait_for() - xp_xqueue_wait() for so long at most
 * @timeout_ns: 0 asks and does not wait; UINT64_MAX waits for ever
 *
 * -ETIMEDOUT: it has not completed by then. Looks every 10 us at first, later every 1 ms.
 */
int xp_xqueue_wait_for(xp_xqueue_t xqueue, uint64_t ticket, uint64_t timeout_ns);

/**
 * xp_xqueue_suspend() - stops the xqueue, as much of it as possible
 * @flags: XP_SUSPEND_*
 * @level: receives the level reached; may be NULL
 *
 * Counted: as many resumes are needed. When it returns no launch is going on and none will begin;
 * one that HIP makes wait for the queue itself is let end first (xp_xqueue_create(3)). At XP_LEVEL_INTERRUPT no wave of the stream runs. With XP_SUSPEND_FINISH_LAUNCHED none runs at a
 * lower level either; another thread's resumes count as usual meanwhile. A command that could not
 * be waited for is an error, and then nothing stays suspended.
 */
int xp_xqueue_suspend(xp_xqueue_t xqueue, uint32_t flags, uint32_t *level);

/** xp_xqueue_resume() - undoes one suspend. -ENOENT: there is none */
int xp_xqueue_resume(xp_xqueue_t xqueue);

/**
 * xp_xqueue_drop() - forgets commands that wait to be launched, relaunches included
 * @count: receives how many; may be NULL
 *
 * A wait for one of them is -ECANCELED; the library remembers the last 1024 runs of dropped tickets.
 */
int xp_xqueue_drop(xp_xqueue_t xqueue, uint64_t *count);

/**
 * xp_xqueue_set_launch_config() - 0 keeps a value
 *
 * Batch falls with the threshold where it is 0. -EINVAL when it would exceed the threshold.
 */
int xp_xqueue_set_launch_config(xp_xqueue_t xqueue, uint32_t threshold, uint32_t batch);

/**
 * xp_xqueue_set_max_level() - as max_level of the options
 * @level: XP_LEVEL_*; 0: as much as possible
 *
 * For the suspends from the next on that finds nothing suspended.
 */
int xp_xqueue_set_max_level(xp_xqueue_t xqueue, uint32_t level);

/**
 * xp_xqueue_set_latency_budget() - how long what runs may run on after a suspend
 * @budget_ns: 0: no budget. Then threshold and batch are used as given, and a suspend stops as much
 *	as possible.
 *
 * With a budget the time of a command is measured, and as many are kept in flight as end within it,
 * at most the threshold that was configured. If the budget has no room for two, the second is
 * launched shortly before the first is expected to end: 20 us, or an eighth of a command if that is
 * more. Where the GPU runs dry with that, two or more are in flight all the time. A
 * suspend uses the lowest level that keeps the budget: XP_LEVEL_BLOCK, else the higher ones. Until
 * the time is known, and when no level keeps it, the highest. xp_xqueue_query() tells the reason.
 */
int xp_xqueue_set_latency_budget(xp_xqueue_t xqueue, uint64_t budget_ns);

/**
 * xp_xqueue_stream() - the stream that the xqueue is in front of
 * @stream: receives what xp_xqueue_create() was given
 */
int xp_xqueue_stream(xp_xqueue_t xqueue, void **stream);

/**
 * xp_stream_xqueue() - the xqueue in front of a stream
 *
 * The null stream is the current device's. -ENOENT: the stream has none.
 */
int xp_stream_xqueue(void *stream, xp_xqueue_t *xqueue);

/** xp_xqueue_set_name() - as xp_stream_set_name(), for an xqueue */
int xp_xqueue_set_name(xp_xqueue_t xqueue, const char *name);

/** xp_xqueue_query() - what it does now, and how far a suspend would get */
int xp_xqueue_query(xp_xqueue_t xqueue, struct xp_xqueue_state *state);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_XQUEUE_H */
