/* SPDX-License-Identifier: MIT */
/* Holds a job if each of its fields has the value that the test gave it. */
#include <xpreempt/policy_plugin.h>

static int is_right(const struct xp_plugin_snapshot *snapshot, const struct xp_plugin_job *job)
{
	return snapshot->size == sizeof(*snapshot) && snapshot->now == 15 &&
	       snapshot->switch_cost == 16 && job->id == 1 && job->nodes == 2 &&
	       job->band == XP_PLUGIN_IDLE && job->weight == 4 &&
	       job->priority == -5 && job->cpu_priority == -6 && job->utilization == 7 &&
	       job->relative_deadline == 8 && job->lax == 9 && job->focused == 1 &&
	       job->ready == 1 && job->held == 1 && job->held_by_others == 0 &&
	       job->schedulable == 1 && job->ready_since == 10 && job->ready_edges == 11 &&
	       job->soon_since == 12 && job->soon_until == 13 && job->finished == 1 &&
	       job->deadline == 14;
}

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	(void)state;
	(void)job_states;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		if (is_right(snapshot, xp_plugin_job_at(snapshot, i)))
			verdicts[i] = XP_PLUGIN_HOLD;
	return XP_PLUGIN_NEVER;
}

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "FIELDS",
	.decide = decide,
};
