/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy of a plug-in that holds the jobs of band idle, also while no other job has work, and
 * crashes once a job has priority 66.
 */
#include <xpreempt/policy_plugin.h>

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	(void)state, (void)job_states;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		const struct xp_plugin_job *job = xp_plugin_job_at(snapshot, i);

		if (job->priority == 66)
			__builtin_trap();
		if (job->schedulable && job->band == XP_PLUGIN_IDLE)
			verdicts[i] = XP_PLUGIN_HOLD;
	}
	return XP_PLUGIN_NEVER;
}

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "CRASHING",
	.decide = decide,
};
