/* SPDX-License-Identifier: MIT */
/* Holds jobs of lower bands while one of a higher band has work, until it breaks a rule. */
#include <stddef.h>
#include <string.h>
#include <xpreempt/policy_plugin.h>

/* Values of parameter `fault`. */
enum fault {
	FAULT_NONE = 0,
	FAULT_VERDICT,
	FAULT_HOLDS_IDLE,
	FAULT_HOLDS_OF_OTHERS,
	FAULT_TIME,
	FAULT_STATE,
	FAULT_JOB_STATES,
	FAULT_VERDICTS,
	FAULT_HOLDS_ALL, /* no fault at once, but nothing runs */
	FAULT_SPINS, /* burns CPU time: parameter `spin`, in thousands of turns */
};

struct state {
	uint64_t calls;
};

struct job_state {
	uint64_t calls;
};

static void spin(int64_t turns)
{
	for (volatile int64_t i = 0; i < turns * 1000; i++)
		;
}

static void hold_lower_bands(const struct xp_plugin_snapshot *snapshot, uint8_t *verdicts)
{
	uint32_t highest = XP_PLUGIN_IDLE;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		if (xp_plugin_job_at(snapshot, i)->schedulable &&
		    xp_plugin_job_at(snapshot, i)->band < highest)
			highest = xp_plugin_job_at(snapshot, i)->band;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		if (xp_plugin_job_at(snapshot, i)->schedulable &&
		    xp_plugin_job_at(snapshot, i)->band > highest)
			verdicts[i] = XP_PLUGIN_HOLD;
}

/* Parameter `weight` is 0, or a job has that weight. */
static int is_time(const struct xp_plugin_snapshot *snapshot)
{
	int is = snapshot->values[1] == 0;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		is = is || xp_plugin_job_at(snapshot, i)->weight == snapshot->values[1];
	return is;
}

static void hold_where(const struct xp_plugin_snapshot *snapshot, uint8_t *verdicts,
		       enum fault fault)
{
	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		const struct xp_plugin_job *job = xp_plugin_job_at(snapshot, i);

		if ((fault == FAULT_HOLDS_IDLE && !job->ready && !job->held_by_others) ||
		    (fault == FAULT_HOLDS_OF_OTHERS && job->held_by_others) ||
		    (fault == FAULT_HOLDS_ALL && job->schedulable))
			verdicts[i] = XP_PLUGIN_HOLD;
	}
}

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	struct state *own = state;
	struct job_state *jobs = job_states;
	const enum fault fault = (enum fault)snapshot->values[0];

	own->calls++;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		jobs[i].calls++;
	hold_lower_bands(snapshot, verdicts);
	if (!is_time(snapshot))
		return XP_PLUGIN_NEVER;
	switch (fault) {
	case FAULT_VERDICT:
		if (snapshot->num_jobs > 0)
			verdicts[0] = 7;
		break;
	case FAULT_TIME:
		return 0;
	case FAULT_STATE:
		memset(own + 1, 0, 1);
		break;
	case FAULT_JOB_STATES:
		memset(jobs + snapshot->num_jobs, 0, 1);
		break;
	case FAULT_VERDICTS:
		verdicts[snapshot->num_jobs] = XP_PLUGIN_RUN;
		break;
	case FAULT_SPINS:
		spin(snapshot->values[2]);
		break;
	default:
		hold_where(snapshot, verdicts, fault);
	}
	return XP_PLUGIN_NEVER;
}

static const struct xp_plugin_parameter parameters[] = {
	{ .name = "fault", .meaning = "enum fault", .most = FAULT_SPINS },
	{ .name = "weight", .meaning = "of the job that sets it off", .most = 10000 },
	{ .name = "spin", .meaning = "how long", .most = 1000000 },
	{ .name = "pause", .meaning = "unused", .unit = XP_PLUGIN_DURATION, .value = 5000000,
	  .least = 100000, .most = 10000000000 },
};

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "MINE",
	.state_bytes = sizeof(struct state),
	.job_state_bytes = sizeof(struct job_state),
	.parameters = parameters,
	.num_parameters = sizeof(parameters) / sizeof(parameters[0]),
	.decide = decide,
};
