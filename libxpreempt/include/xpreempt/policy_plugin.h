/* SPDX-License-Identifier: MIT */
/* The interface between a scheduling policy in a shared library and its hosts, xpreemptd(8) and
 * kfd-preempt-sim(1). */
#ifndef XPREEMPT_POLICY_PLUGIN_H
#define XPREEMPT_POLICY_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A plug-in needs only this header, links to no library of this project, and exports one object:
 *
 *	const struct xp_policy_plugin xp_plugin = {
 *		.abi = XP_PLUGIN_ABI,
 *		.size = sizeof(struct xp_policy_plugin),
 *		.name = "MINE",
 *		.decide = decide,
 *	};
 *
 * A decision is a function of the snapshot and the policy's own state. It reads no clock, allocates
 * no memory, starts no thread, takes no lock, and has no static variables. The host owns the state:
 * it starts as zero bytes, is copied with memcpy() and compared with memcmp(), so it must not
 * contain pointers, and the policy must not write padding. The same state and snapshot must give
 * the same verdicts, time and state, because simulation and replay depend on it. So must a second
 * call at the same time, after the verdicts took effect. `kfd-preempt-sim check` tests both.
 *
 * Times are in ns. All points in time are on the clock of `now`, whose zero is undefined.
 *
 * The host ejects a policy at the first decision that breaks a rule: a verdict that is neither
 * XP_PLUGIN_RUN nor XP_PLUGIN_HOLD, XP_PLUGIN_HOLD for a job that is not schedulable, a returned
 * time of 0 or less, bytes written beyond a state or the verdicts. xpreemptd also ejects a policy
 * that takes too long to decide, or that holds a job without a reason. Then all jobs run.
 */

#define XP_PLUGIN_ABI 1u /* unchanged when a field is added at the end of a struct */

#define XP_PLUGIN_NEVER INT64_MAX /* as a time: no deadline, no next call */
#define XP_PLUGIN_MAX_STATE 65536u /* bytes of a state */
#define XP_PLUGIN_MAX_PARAMETERS 32u

/* Bands of jobs, most important first. */
enum xp_plugin_band {
	XP_PLUGIN_REALTIME = 0,
	XP_PLUGIN_HIGH = 1,
	XP_PLUGIN_NORMAL = 2,
	XP_PLUGIN_IDLE = 3,
};

enum xp_plugin_verdict {
	XP_PLUGIN_RUN = 0, /* all its queues are mapped; a held job resumes */
	XP_PLUGIN_HOLD = 1, /* all its queues on all GPUs are stopped */
};

/* A job: a cgroup with all its queues on all its GPUs. It is stopped and resumed as a whole. */
struct xp_plugin_job {
	uint64_t id; /* unique, and constant for the job's life; its order has no meaning */
	uint64_t nodes; /* bit n: has queues on GPU n. Jobs without a common bit are independent */

	int64_t ready_since; /* if ready: when it became so */
	uint64_t ready_edges; /* how often it became ready */
	int64_t deadline; /* earliest one of its requests; XP_PLUGIN_NEVER: none is known */
	int64_t relative_deadline; /* of its rule, from ready_since; XP_PLUGIN_NEVER: none */
	int64_t lax; /* of its rule: how long a request may wait; XP_PLUGIN_NEVER: for ever */
	int64_t soon_since, soon_until; /* announced work; none is announced if soon_until <= now */

	uint32_t band; /* enum xp_plugin_band */
	uint32_t weight; /* 1 to 10000; 100 without a rule */
	uint32_t utilization; /* of its rule: share of each of its GPUs, in percent */
	int32_t priority; /* -255 to 255, higher numbers first */
	int32_t cpu_priority; /* rank among the processes of the host, higher numbers first */

	uint8_t schedulable; /* ready and not held by others; if 0 the verdict must be RUN */
	uint8_t ready; /* has work */
	uint8_t held; /* by the last verdict, even if the driver has not stopped it yet */
	uint8_t held_by_others; /* by an operator or a debugger */
	uint8_t finished; /* hinted that no work follows soon */
	uint8_t focused; /* has the focus of the desktop */
	uint8_t reserved[6];
};

struct xp_plugin_snapshot {
	uint32_t size; /* of the host's version of this struct; later versions are longer */
	uint32_t job_size; /* the same of struct xp_plugin_job; see xp_plugin_job_at() */
	uint64_t num_jobs;
	int64_t now;
	const struct xp_plugin_job *jobs; /* sorted by id */
	const int64_t *values; /* of the parameters, in the order of their table */
	int64_t switch_cost; /* cost of one stop and one resume in the last 5 s; 0: unknown */
};

static inline const struct xp_plugin_job *
xp_plugin_job_at(const struct xp_plugin_snapshot *snapshot, uint64_t i)
{
	const char *first = (const char *)snapshot->jobs;

	return (const struct xp_plugin_job *)(const void *)(first + i * snapshot->job_size);
}

enum xp_plugin_unit {
	XP_PLUGIN_NUMBER = 0, /* in the rules file an integer */
	XP_PLUGIN_DURATION = 1, /* in ns; in the rules file a string such as "5ms", at least 1 us */
};

/* A parameter: key `name` in the table [policy.NAME-OF-THE-POLICY] of the rules file. */
struct xp_plugin_parameter {
	const char *name; /* 1 to 31 of a-z, 0-9 and _, a letter first */
	const char *meaning; /* one line for users */
	uint32_t unit; /* enum xp_plugin_unit */
	uint32_t reserved; /* 0 */
	int64_t value; /* the default; least <= value <= most */
	int64_t least, most;
};

/*
 * decide() is called at each event: a job became ready or idle, a hold by others began or ended, an
 * attribute changed, a job appeared or disappeared, or the time that decide() returned has passed.
 * Calls for one state are never concurrent; calls for different states may be, as in the simulator.
 *
 * @state: the policy's own, state_bytes
 * @job_states: an array of num_jobs elements of job_state_bytes each, in the order of the jobs. The
 *	state of a new job is zero; otherwise it is as decide() left it.
 * @verdicts: enum xp_plugin_verdict of each job; all are XP_PLUGIN_RUN before the call
 * Returns the ns until the next call if there is no event, above 0; or XP_PLUGIN_NEVER.
 */
struct xp_policy_plugin {
	uint32_t abi; /* XP_PLUGIN_ABI */
	uint32_t size; /* sizeof(struct xp_policy_plugin) */
	const char *name; /* 1 to 31 of A-Z, 0-9 and -, a letter first; no built-in policy's */
	uint32_t state_bytes; /* 0 to XP_PLUGIN_MAX_STATE; aligned as by malloc() */
	uint32_t job_state_bytes; /* likewise, for each job */
	const struct xp_plugin_parameter *parameters; /* or NULL */
	uint64_t num_parameters; /* 0 to XP_PLUGIN_MAX_PARAMETERS */
	int64_t (*decide)(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
			  uint8_t *verdicts);
};

/* Defined by the plug-in. */
extern
#ifdef __GNUC__
	__attribute__((visibility("default")))
#endif
	const struct xp_policy_plugin xp_plugin;

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_POLICY_PLUGIN_H */
