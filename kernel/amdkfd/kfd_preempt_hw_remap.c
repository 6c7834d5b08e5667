// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Maps a runlist again that could not be mapped. */
#include "kfd_preempt_hw.h"

/*
 * How often and after what time a runlist is mapped again that could not be
 * mapped.
 */
#define PREEMPT_REMAP_TRIES 3
#define PREEMPT_REMAP_MS 100

static bool preempt_needs_map(const struct device_queue_manager *dqm)
{
	return dqm->sched_running && !dqm->sched_halt &&
	       !dqm->active_runlist && dqm->active_queue_count > 0 &&
	       dqm->processes_count > 0;
}

/*
 * Maps a runlist that is unmapped. Returns true if that must be retried; during
 * a GPU reset, whose owner rebuilds the runlist, nothing is sent.
 */
static bool preempt_map_again(struct device_queue_manager *dqm)
{
	return preempt_needs_map(dqm) && kfd_preempt_execute(dqm, false);
}

/*
 * The runlist is unmapped for every process on the node, and nothing else would
 * map it again, so a worker does.
 */
void kfd_preempt_hw_remap_worker(struct work_struct *work)
{
	struct device_queue_manager *dqm =
		container_of(to_delayed_work(work), struct device_queue_manager,
			     preempt.remap);
	bool again;

	dqm_lock(dqm);
	again = preempt_map_again(dqm);
	dqm_unlock(dqm);
	if (again)
		schedule_delayed_work(&dqm->preempt.remap,
				      msecs_to_jiffies(PREEMPT_REMAP_MS));
}

void kfd_preempt_hw_map_failed(struct device_queue_manager *dqm)
{
	int tries;

	for (tries = 0; tries < PREEMPT_REMAP_TRIES; tries++)
		if (!preempt_map_again(dqm))
			return;
	schedule_delayed_work(&dqm->preempt.remap,
			      msecs_to_jiffies(PREEMPT_REMAP_MS));
}
