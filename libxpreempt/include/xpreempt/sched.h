/* SPDX-License-Identifier: MIT */
/* Order in which xqueues and streams run: priorities, and a scheduler in this process. */
#ifndef XPREEMPT_SCHED_H
#define XPREEMPT_SCHED_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Priorities of xqueues; a higher number runs first. Not those of HIP streams. */
#define XP_PRIORITY_MIN (-255)
#define XP_PRIORITY_DEFAULT 0
#define XP_PRIORITY_MAX 255

/**
 * xp_xqueue_set_priority() - XP_PRIORITY_MIN to XP_PRIORITY_MAX, else -EINVAL
 *
 * Any thread may call. Takes effect at once when a scheduler runs. A held queue that a
 * stream of higher priority waits for runs until that one has what it wants.
 */
int xp_xqueue_set_priority(xp_xqueue_t xqueue, int32_t priority);

/** xp_xqueue_get_priority() - what was set last, XP_PRIORITY_DEFAULT before */
int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t *priority);

/**
 * xp_stream_set_priority() - the same for a stream whose program launches into it directly
 *
 * From here on a scheduler holds the stream as xp_stream_hold() does, and its work counts like that
 * of an xqueue; a thread waits for the end of it. If the stream has an xqueue, this sets the xqueue's
 * priority. -ENOSYS: without libxpreempt-hook.so nobody sees the calls. -EOPNOTSUPP:
 * hipStreamPerThread.
 */
int xp_stream_set_priority(void *stream, int32_t priority);

/** xp_stream_get_priority() - what was set last, XP_PRIORITY_DEFAULT before */
int xp_stream_get_priority(void *stream, int32_t *priority);

/* A utilization of 0: runs only where nothing else has work. */
#define XP_NO_UTILIZATION UINT32_MAX

/* Read by policies beside the priority. 0 is the default of each. */
struct xp_sched_attributes {
	size_t sz; /* in: sizeof(struct xp_sched_attributes) */
	uint32_t weight; /* 1 to 10000; 0: 100. XP_POLICY_COMPLETELY_FAIR */
	uint32_t utilization; /* 1 to 100 percent, or XP_NO_UTILIZATION; 0: 100. The partitions */
	uint64_t deadline_us; /* of each request, from the moment it has work: to 3600000000; 0: none */
	uint64_t laxity_us; /* a request may wait so long before it is critical; 0: for ever */
};

/**
 * xp_xqueue_set_attributes() - sets all of them; -EINVAL: one is out of range
 *
 * Any thread may call. Takes effect at once when a scheduler runs.
 */
int xp_xqueue_set_attributes(xp_xqueue_t xqueue, const struct xp_sched_attributes *attributes);

/** xp_xqueue_get_attributes() - those in force, defaults included, in the form in which they are set */
int xp_xqueue_get_attributes(xp_xqueue_t xqueue, struct xp_sched_attributes *attributes);

/**
 * xp_stream_set_attributes() - the same for a stream
 *
 * From here on a scheduler holds the stream, as after xp_stream_set_priority(), whose errors it has.
 */
int xp_stream_set_attributes(void *stream, const struct xp_sched_attributes *attributes);

/** xp_stream_get_attributes() - as xp_xqueue_get_attributes() */
int xp_stream_get_attributes(void *stream, struct xp_sched_attributes *attributes);

/* Policies of a scheduler. All but the first two know no dependence between streams: see
   xp_sched_start(3). */
enum xp_policy {
	/* of each GPU the xqueues with work and the highest priority run, those below are suspended */
	XP_POLICY_HIGHEST_PRIORITY_FIRST = 1,
	/* xpreemptd(8) runs this process beside others, by the highest of these priorities: above 0
	   its job is in band high, below in band idle, at 0 in that of its rule; policy HPF uses the
	   number itself. Nothing is scheduled among the process' own xqueues and streams. */
	XP_POLICY_DAEMON = 2,
	/* as the first, with one highest priority for all GPUs together: a GPU may be idle */
	XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST = 3,
	/* of each GPU one runs: that which got work first, until it has none */
	XP_POLICY_FIRST_IN_FIRST_OUT = 4,
	/* of each GPU one runs at a time, in turn, for slices of equal length */
	XP_POLICY_ROUND_ROBIN = 5,
	/* likewise, with shares in proportion to the weights */
	XP_POLICY_COMPLETELY_FAIR = 6,
	/* likewise, with shares in proportion to the utilization */
	XP_POLICY_UTILIZATION_PARTITION = 7,
	/* likewise, and what has no work in its slice keeps the rest of it for the next one */
	XP_POLICY_PROCESS_UTILIZATION_PARTITION = 8,
	/* of each GPU the k with the earliest deadlines run, those without one last */
	XP_POLICY_EARLIEST_DEADLINE_FIRST = 9,
	/* all run, until one has had work for longer than its laxity: then only such ones */
	XP_POLICY_LAXITY = 10,
	/* of each GPU one runs at a time; those whose work was short so far come first */
	XP_POLICY_MULTILEVEL_FEEDBACK = 11,
	XP_POLICY_PROGRAM = 255, /* a function of the program, see xp_sched_start_policy() */
};

/**
 * xp_sched_start() - schedules the xqueues of this process, and the streams that were given a
 * priority, those to come included
 * @policy: XP_POLICY_*; another one is -EOPNOTSUPP
 *
 * Starts a thread, and one for each xqueue that waits for the end of its work. The thread that
 * submits work first suspends what has less priority. An xqueue that has to wait is suspended at the
 * best level that it can reach; suspends of others count on top. Work launched before the suspend
 * may still run for a moment, or at XP_LEVEL_BLOCK until it has completed.
 * -EALREADY: a scheduler runs.
 *
 * XP_POLICY_DAEMON starts no thread. -ENOENT, -ECONNREFUSED: xpreemptd is not running. -EPERM: the
 * priorities are above what the user may choose there. xp_xqueue_set_priority() and
 * xp_stream_set_priority() return such errors from then on, and set the priority all the same.
 *
 * Without libxpreempt-hook.so the GPU of an xqueue is not known, and all of them count as one GPU's.
 */
int xp_sched_start(uint32_t policy);

/* Parameters of a policy; 0 is its own value. */
struct xp_sched_parameters {
	size_t sz; /* in: sizeof(struct xp_sched_parameters) */
	uint64_t slice_us; /* 100 to 10000000: of one turn, where jobs run in turn */
	uint64_t k; /* 1 to 1000: XP_POLICY_EARLIEST_DEADLINE_FIRST; 0: 1 */
};

/** xp_sched_start_with() - as xp_sched_start(); @parameters may be NULL. -EINVAL: one is out of range */
int xp_sched_start_with(uint32_t policy, const struct xp_sched_parameters *parameters);

/* An xqueue, or a stream that was given a priority, as a policy sees it. */
struct xp_sched_source {
	xp_xqueue_t xqueue; /* handle 0: a stream without an xqueue */
	void *stream;
	uint32_t gpu_id; /* 0: not known */
	int32_t priority;
	uint32_t ready; /* 1: has work, and no other suspend keeps it from running */
	uint32_t held; /* 1: the scheduler has suspended it */
	uint64_t reserved[2]; /* 0 */
};

/**
 * Decides which sources run. Called at each event: work came or ended, a suspend of others came or
 * ended, a priority changed; and at the time that it returned last.
 * @sources: those of one GPU are neighbours
 * @now_ns: CLOCK_MONOTONIC
 * @suspend: one for each source, 0; set those to 1 that are not to run
 *
 * Returns when to be called again if nothing happens, on the clock of @now_ns; UINT64_MAX: never.
 * A time that is less than 50 us ahead counts as 50 us. One thread calls at a time, often the one
 * that submits: be short. Must not call the library, nor throw.
 */
typedef uint64_t (*xp_policy_fn)(const struct xp_sched_source *sources, size_t count,
				 uint64_t now_ns, uint8_t *suspend, void *argument);

/**
 * xp_sched_start_policy() - as xp_sched_start(), with a policy of the program
 *
 * Suspending a source without work costs as much as one with work. The policy is called until
 * xp_sched_stop() returns; if it throws, all sources run.
 */
int xp_sched_start_policy(xp_policy_fn policy, void *argument);

/** xp_sched_stop() - ends it; what it suspended runs again. -ENOENT: none runs */
int xp_sched_stop(void);

struct xp_sched_state {
	size_t sz; /* in: sizeof(struct xp_sched_state) */
	uint32_t policy; /* XP_POLICY_*; 0: no scheduler runs, and the rest is 0 too */
	uint32_t num_xqueues; /* and streams that have a priority */
	uint64_t decisions; /* since the start */
	uint64_t suspends;
	uint64_t resumes;
	uint64_t failures; /* of these two; tried again at the next event */
	uint64_t last_reaction_ns; /* from the event until what had to stop was suspended */
	uint64_t max_reaction_ns;
};

/** xp_sched_query() - whether a scheduler runs, and what it did */
int xp_sched_query(struct xp_sched_state *state);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_SCHED_H */
