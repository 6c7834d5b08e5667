/* SPDX-License-Identifier: MIT */
/* The interface of a scheduling policy in a shared library of its own, for xpreemptd(8) and
 * kfd-preempt-sim(1). */
#ifndef XPREEMPT_POLICY_PLUGIN_H
#define XPREEMPT_POLICY_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A plug-in includes this header alone, links to nothing of ours, and exports one object:
 *
 *	const struct xp_policy_plugin xp_plugin = {
 *		.abi = XP_PLUGIN_ABI,
 *		.size = sizeof(struct xp_policy_plugin),
 *		.name = "MINE",
 *		.decide = decide,
 *	};
 *
 * A decision is a function of the snapshot and of the policy's own state: it reads no clock,
 * allocates nothing, starts no thread, takes no lock, and keeps nothing in static variables. The
 * host owns the state. It starts as zero bytes, is copied with memcpy() and compared with memcmp(),
 * so a pointer in it is a bug, and so is padding that a program writes. The same state and snapshot
 * must give the same verdicts, time and state; simulation and replay depend on that. So must a
 * second call at the same time, once the verdicts are carried out. `kfd-preempt-sim check` tries
 * both.
 *
 * Times are in ns. Points in time are of one clock, that of `now`, whose zero is unknown.
 *
 * The host ejects a policy at the first decision that breaks a rule: a verdict that is neither
 * XP_PLUGIN_RUN nor XP_PLUGIN_HOLD, XP_PLUGIN_HOLD for a job that is not schedulable, a returned
 * time of 0 or less, bytes written behind a state or the verdicts. xpreemptd also ejects a policy
 * that decides for too long, or that holds a job for nothing. Then all jobs run.
 */

#define XP_PLUGIN_ABI 1u /* a field that is added at an end does not change it */

#define XP_PLUGIN_NEVER INT64_MAX /* a time that does not come: no deadline, no next call */
#define XP_PLUGIN_MAX_STATE 65536u /* bytes of a state */
#define XP_PLUGIN_MAX_PARAMETERS 32u

/* Bands of jobs, highest first: the lower number is the more important one. */
enum xp_plugin_band {
	XP_PLUGIN_REALTIME = 0,
	XP_PLUGIN_HIGH = 1,
	XP_PLUGIN_NORMAL = 2,
	XP_PLUGIN_IDLE = 3,
};

enum xp_plugin_verdict {
	XP_PLUGIN_RUN = 0, /* its queues are on the GPU, or come back to it */
	XP_PLUGIN_HOLD = 1, /* its queues are stopped, all of them on all GPUs */
};

/* A job: a cgroup with all its queues on all its GPUs. It is stopped and resumed as a whole. */
struct xp_plugin_job {
	uint64_t id; /* unique in a snapshot, the job's for its life; no order to decide by */
	uint64_t nodes; /* bit n: has queues on GPU n. Jobs without a common bit are independent */

	int64_t ready_since; /* when it became ready last; while ready */
	uint64_t ready_edges; /* how often it became ready */
	int64_t deadline; /* of its request that ends first; XP_PLUGIN_NEVER: none is known */
	int64_t relative_deadline; /* from ready_since, by its rule; XP_PLUGIN_NEVER: none */
	int64_t lax; /* a request may wait so long, by its rule; XP_PLUGIN_NEVER: for ever */
	int64_t soon_since, soon_until; /* it announced work; none is announced if soon_until <= now */

	uint32_t band; /* enum xp_plugin_band */
	uint32_t weight; /* 1 to 10000, 100 if no rule says another one */
	uint32_t utilization; /* share of each of its nodes that a rule gives it, in percent */
	int32_t priority; /* -255 to 255, the higher one first */
	int32_t cpu_priority; /* its place among the processes of the host, the higher one first */

	uint8_t schedulable; /* ready, and not held by others: 0 must get XP_PLUGIN_RUN */
	uint8_t ready; /* has work */
	uint8_t held; /* by our last verdict; it may wait for the driver */
	uint8_t held_by_others; /* by an operator, or by a debugger */
	uint8_t finished; /* told us that no work follows soon */
	uint8_t focused; /* has the focus of the desktop */
	uint8_t reserved[6];
};

struct xp_plugin_snapshot {
	uint32_t size; /* of this struct as the host knows it; a later one is longer */
	uint32_t job_size; /* from a job to the next, for the same reason; see xp_plugin_job_at() */
	uint64_t num_jobs;
	int64_t now;
	const struct xp_plugin_job *jobs; /* by their ids, so the order of equal jobs is the same always */
	const int64_t *values; /* of the parameters, in the order of their table */
	int64_t switch_cost; /* of one stop and resume, measured; 0: not known yet */
};

static inline const struct xp_plugin_job *
xp_plugin_job_at(const struct xp_plugin_snapshot *snapshot, uint64_t i)
{
	const char *first = (const char *)snapshot->jobs;

	return (const struct xp_plugin_job *)(const void *)(first + i * snapshot->job_size);
}

enum xp_plugin_unit {
	XP_PLUGIN_NUMBER = 0, /* in the rules file a whole number */
	XP_PLUGIN_DURATION = 1, /* in ns; in the rules file a text such as "5ms", not below 1 us */
};

/* In the rules file: key `name` of the table [policy.NAME-OF-THE-POLICY]. */
struct xp_plugin_parameter {
	const char *name; /* 1 to 31 of a-z, 0-9 and _, a letter first */
	const char *meaning; /* a line for people */
	uint32_t unit; /* enum xp_plugin_unit */
	uint32_t reserved; /* 0 */
	int64_t value; /* that it has unless a rule says another one; least <= value <= most */
	int64_t least, most;
};

/*
 * decide() is called at each event: a job became ready or idle, a hold of others came or went, an
 * attribute changed, jobs came or left, the time that it returned is over. All calls for one state
 * come one after the other; calls for different states may come from several threads at the same
 * time, as in the simulator.
 *
 * @state: the policy's own, state_bytes
 * @job_states: an array of num_jobs elements of job_state_bytes each, in the order of the jobs. The
 *	state of a new job is zero; that of a job that stays is what decide() left there.
 * @verdicts: enum xp_plugin_verdict for each job; all are XP_PLUGIN_RUN before the call
 * Returns ns until the next call if nothing happens, above 0; or XP_PLUGIN_NEVER.
 */
struct xp_policy_plugin {
	uint32_t abi; /* XP_PLUGIN_ABI */
	uint32_t size; /* sizeof(struct xp_policy_plugin) */
	const char *name; /* 1 to 31 of A-Z, 0-9 and -, a letter first; not that of a built-in policy */
	uint32_t state_bytes; /* 0 to XP_PLUGIN_MAX_STATE, both; aligned as by malloc() */
	uint32_t job_state_bytes; /* for each job */
	const struct xp_plugin_parameter *parameters; /* or NULL */
	uint64_t num_parameters; /* 0 to XP_PLUGIN_MAX_PARAMETERS */
	int64_t (*decide)(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
			  uint8_t *verdicts);
};

/* The plug-in defines it. */
extern
#ifdef __GNUC__
	__attribute__((visibility("default")))
#endif
	const struct xp_policy_plugin xp_plugin;

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_POLICY_PLUGIN_H */
