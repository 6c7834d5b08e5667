/* SPDX-License-Identifier: MIT */
/* Counters of an xqueue since its creation. */
#ifndef XPREEMPT_STATS_H
#define XPREEMPT_STATS_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct xp_xqueue_stats {
	size_t sz; /* in: sizeof(struct xp_xqueue_stats) */
	uint64_t submitted;
	uint64_t launched; /* launches, including those of relaunched commands */
	uint64_t launched_inline; /* launches by the submitting thread */
	uint64_t relaunched; /* taken back by a suspend, to be launched again */
	uint64_t launch_failures;
	uint64_t completed; /* known to be complete; the library checks when it needs to know */
	uint64_t dropped;
	uint64_t suspends_block; /* suspends by the level reached */
	uint64_t suspends_deactivate;
	uint64_t suspends_interrupt;
	uint64_t resumes;
	uint64_t hw_failures; /* failed stops and markers */
	uint64_t last_suspend_ns; /* time in xp_xqueue_suspend(); 0 if there was nothing to stop */
	uint64_t max_suspend_ns;
	uint64_t last_resume_ns;
};

/** xp_xqueue_get_stats() - reads the counters, each exactly, but not all at one moment */
int xp_xqueue_get_stats(xp_xqueue_t xqueue, struct xp_xqueue_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_STATS_H */
