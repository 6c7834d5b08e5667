/* SPDX-License-Identifier: MIT */
/* Breaks rules that the host can't see in one decision: parameter `how` says which. */
#include <stddef.h>
#include <xpreempt/policy_plugin.h>

enum how {
	REMEMBERS = 1, /* in a static variable */
	SEES_IDS,
	FLICKERS, /* other verdicts at the same time */
	CALLS_OFTEN,
	HOLDS_ALL,
};

struct state {
	uint64_t calls;
};

static uint64_t calls;

static uint64_t num_schedulable(const struct xp_plugin_snapshot *snapshot)
{
	uint64_t num = 0;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		num += xp_plugin_job_at(snapshot, i)->schedulable;
	return num;
}

static int holds(enum how how, uint64_t calls_of_state, uint64_t num,
		 const struct xp_plugin_job *job)
{
	switch (how) {
	case REMEMBERS:
		return calls % 5 == 0;
	case SEES_IDS:
		return job->id % 5 == 0 && num > 1;
	case FLICKERS:
		return calls_of_state % 2;
	case HOLDS_ALL:
		return 1;
	default:
		return 0;
	}
}

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	struct state *own = state;
	const enum how how = (enum how)snapshot->values[0];

	(void)job_states;
	calls++;
	own->calls++;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		const struct xp_plugin_job *job = xp_plugin_job_at(snapshot, i);

		if (job->schedulable && holds(how, own->calls, num_schedulable(snapshot), job))
			verdicts[i] = XP_PLUGIN_HOLD;
	}
	return how == CALLS_OFTEN ? 1000 : XP_PLUGIN_NEVER;
}

static const struct xp_plugin_parameter parameters[] = {
	{ .name = "how", .meaning = "enum how", .most = HOLDS_ALL },
};

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "UNRULY",
	.state_bytes = sizeof(struct state),
	.parameters = parameters,
	.num_parameters = 1,
	.decide = decide,
};
