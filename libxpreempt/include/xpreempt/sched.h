/* SPDX-License-Identifier: MIT */
/* Priorities of xqueues and streams, and a scheduler for them in this process. */
#ifndef XPREEMPT_SCHED_H
#define XPREEMPT_SCHED_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Priorities of xqueues; a higher number runs first. HIP's stream priorities are unrelated. */
#define XP_PRIORITY_MIN (-255)
#define XP_PRIORITY_DEFAULT 0
#define XP_PRIORITY_MAX 255

/**
 * xp_xqueue_set_priority() - XP_PRIORITY_MIN to XP_PRIORITY_MAX, else -EINVAL
 *
 * Takes effect at once if a scheduler runs. If a stream of higher priority waits for a held queue,
 * that queue runs until it no longer blocks the stream.
 */
int xp_xqueue_set_priority(xp_xqueue_t xqueue, int32_t priority);

/** xp_xqueue_get_priority() - the priority set last, or XP_PRIORITY_DEFAULT */
int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t *priority);

/**
 * xp_stream_set_priority() - the same for a stream into which the program launches directly
 *
 * From then on a scheduler suspends the stream as xp_stream_hold() does, and treats its work like
 * that of an xqueue; a thread waits for the work to complete. If the stream has an xqueue, this
 * sets the xqueue's priority. -ENOSYS without libxpreempt-hook.so, which intercepts the calls.
 * -EOPNOTSUPP for hipStreamPerThread.
 */
int xp_stream_set_priority(void *stream, int32_t priority);

/** xp_stream_get_priority() - the priority set last, or XP_PRIORITY_DEFAULT */
int xp_stream_get_priority(void *stream, int32_t *priority);

/* A utilization of 0 %: runs only if nothing else has work. */
#define XP_NO_UTILIZATION UINT32_MAX

/* Attributes that policies read in addition to the priority. 0 selects the default of each. */
struct xp_sched_attributes {
	size_t sz; /* in: sizeof(struct xp_sched_attributes) */
	uint32_t weight; /* XP_POLICY_COMPLETELY_FAIR: 1 to 10000; 0: 100 */
	uint32_t utilization; /* the two partition policies: 1 to 100 percent, or
			       * XP_NO_UTILIZATION; 0: 100 */
	uint64_t deadline_us; /* of each request, from when it has work, at most 3600000000; 0: none */
	uint64_t laxity_us; /* how long a request may wait before it is critical; 0: for ever */
};

/**
 * xp_xqueue_set_attributes() - sets all attributes; -EINVAL if one is out of range
 *
 * Takes effect at once if a scheduler runs. Under XP_POLICY_DAEMON the errors of the daemon too; it
 * sets the attributes nevertheless. -EPERM if the daemon's rules reject one; the job has the others.
 */
int xp_xqueue_set_attributes(xp_xqueue_t xqueue, const struct xp_sched_attributes *attributes);

/** xp_xqueue_get_attributes() - the attributes in effect, with the defaults filled in */
int xp_xqueue_get_attributes(xp_xqueue_t xqueue, struct xp_sched_attributes *attributes);

/**
 * xp_stream_set_attributes() - the same for a stream From then on a scheduler suspends the stream,
 * as after xp_stream_set_priority(). Returns the same errors.
 */
int xp_stream_set_attributes(void *stream, const struct xp_sched_attributes *attributes);

/** xp_stream_get_attributes() - as xp_xqueue_get_attributes() */
int xp_stream_get_attributes(void *stream, struct xp_sched_attributes *attributes);

/* Policies of a scheduler. Only the first one considers dependences between streams; see
   xp_sched_start(3). */
enum xp_policy {
	/* on each GPU the xqueues of the highest priority that has work run, the others are suspended */
	XP_POLICY_HIGHEST_PRIORITY_FIRST = 1,
	/* xpreemptd(8) schedules this process among others by the highest of its priorities: above 0
	   its job is in band high, below 0 in band idle, at 0 in the band of its rule; policy HPF uses
	   the number itself. The job also gets the largest number and the shortest time of each
	   attribute that xqueues and streams have set, as far as the rules let the user choose them. The
	   process' own xqueues and streams are not scheduled. */
	XP_POLICY_DAEMON = 2,
	/* as the first, but one highest priority for all GPUs, so a GPU may be idle */
	XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST = 3,
	/* on each GPU one runs: the one that got work first, until it has none */
	XP_POLICY_FIRST_IN_FIRST_OUT = 4,
	/* on each GPU one runs at a time, in turn, for slices of equal length */
	XP_POLICY_ROUND_ROBIN = 5,
	/* likewise, in proportion to the weights */
	XP_POLICY_COMPLETELY_FAIR = 6,
	/* likewise, in proportion to the utilization */
	XP_POLICY_UTILIZATION_PARTITION = 7,
	/* likewise; one that runs out of work keeps the rest of its slice for the next turn */
	XP_POLICY_PROCESS_UTILIZATION_PARTITION = 8,
	/* on each GPU the k with the earliest deadlines run, those without a deadline last */
	XP_POLICY_EARLIEST_DEADLINE_FIRST = 9,
	/* all run until one has had work for longer than its laxity; then only such ones run */
	XP_POLICY_LAXITY = 10,
	/* on each GPU one runs at a time; those whose work was short so far come first */
	XP_POLICY_MULTILEVEL_FEEDBACK = 11,
	XP_POLICY_PROGRAM = 255, /* a function of the program, see xp_sched_start_policy() */
};

/**
 * xp_sched_start() - schedules the present and future xqueues of this process, and its streams that
 * have a priority
 * @policy: XP_POLICY_*; -EOPNOTSUPP for any other
 *
 * Starts one thread, and up to two for each xqueue and one for each stream, which wait until its
 * work is complete. A thread that submits work first suspends those of lower priority. An xqueue
 * that must not run is suspended at the highest level it can reach; other suspends add to this one.
 * Work launched before may still run for a moment, or at XP_LEVEL_BLOCK until it has completed.
 * -EALREADY if a scheduler runs.
 *
 * XP_POLICY_DAEMON starts no thread. -ENOENT or -ECONNREFUSED if xpreemptd is not running. -EPERM
 * if its rules do not let this user choose such priorities. From then on xp_xqueue_set_priority()
 * and xp_stream_set_priority() may return these errors too; they set the priority nevertheless.
 *
 * Without libxpreempt-hook.so the GPU of an xqueue is unknown, and all xqueues count as on one GPU.
 */
int xp_sched_start(uint32_t policy);

/* Parameters of a policy; 0 selects its default. */
struct xp_sched_parameters {
	size_t sz; /* in: sizeof(struct xp_sched_parameters) */
	/*
	 * Policies with turns: length of a turn, 100 to 10000000. A turn is never shorter than twenty
	 * times the measured cost of a stop and a resume.
	 */
	uint64_t slice_us;
	uint64_t k; /* XP_POLICY_EARLIEST_DEADLINE_FIRST: 1 to 1000; 0: 1 */
	/*
	 * XP_POLICY_HIGHEST_PRIORITY_FIRST, XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST and
	 * XP_POLICY_EARLIEST_DEADLINE_FIRST: an xqueue without work counts as ready for so long, and
	 * others stay suspended for it: 1 to 10000000, XP_NO_LINGER; 0: 200. Never shorter than the
	 * measured cost of a stop and a resume.
	 */
	uint64_t linger_us;
};
#define XP_NO_LINGER UINT64_MAX

/**
 * xp_sched_start_with() - as xp_sched_start(), with parameters
 * @parameters: may be NULL; -EINVAL if one is out of range
 */
int xp_sched_start_with(uint32_t policy, const struct xp_sched_parameters *parameters);

/* An xqueue, or a stream that has a priority, as a policy sees it. */
struct xp_sched_source {
	xp_xqueue_t xqueue; /* handle 0: a stream without an xqueue */
	void *stream;
	uint32_t gpu_id; /* 0: unknown */
	int32_t priority;
	uint32_t ready; /* 1: has work, and only the scheduler may have suspended it */
	uint32_t held; /* 1: the scheduler has suspended it */
	uint64_t reserved[2]; /* 0 */
};

/**
 * Decides which sources run. Called at each event and at the time it returned last. Events: work
 * was submitted or completed, a suspend by others began or ended, a priority changed.
 * @sources: sources of one GPU are adjacent
 * @now_ns: CLOCK_MONOTONIC
 * @suspend: one element per source, initially 0; set to 1 for each source that must not run
 *
 * Returns the time of the next call if there is no event, on the clock of @now_ns; UINT64_MAX:
 * none. A time less than 50 us ahead counts as 50 us. One thread calls at a time, often the one
 * that submits, so keep it short. It must not call the library or throw.
 */
typedef uint64_t (*xp_policy_fn)(const struct xp_sched_source *sources, size_t count,
				 uint64_t now_ns, uint8_t *suspend, void *argument);

/**
 * xp_sched_start_policy() - as xp_sched_start(), with a policy of the program
 *
 * To suspend a source without work costs as much as with work. The policy may be called until
 * xp_sched_stop() returns. If it throws, all sources run.
 */
int xp_sched_start_policy(xp_policy_fn policy, void *argument);

/** xp_sched_stop() - stops the scheduler and resumes what it suspended. -ENOENT if none runs */
int xp_sched_stop(void);

struct xp_sched_state {
	size_t sz; /* in: sizeof(struct xp_sched_state) */
	uint32_t policy; /* XP_POLICY_*; 0: no scheduler runs, and all other fields are 0 */
	uint32_t num_xqueues; /* including streams that have a priority */
	uint64_t decisions; /* since the start */
	uint64_t suspends;
	uint64_t resumes;
	uint64_t failures; /* of suspends and resumes; each is retried at the next event */
	uint64_t last_reaction_ns; /* from the event until the suspends it caused were done */
	uint64_t max_reaction_ns;
};

/** xp_sched_query() - whether a scheduler runs, and its counters */
int xp_sched_query(struct xp_sched_state *state);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_SCHED_H */
