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
	uint64_t launched; /* launches, those of relaunched commands included */
	uint64_t launched_inline; /* of these, by the thread that submitted */
	uint64_t relaunched; /* taken back by a suspend, to be launched again */
	uint64_t launch_failures;
	uint64_t completed; /* as far as it was looked */
	uint64_t dropped;
	uint64_t suspends_block; /* suspends by the level reached */
	uint64_t suspends_deactivate;
	uint64_t suspends_interrupt;
	uint64_t resumes;
	uint64_t hw_failures; /* stops, starts and markers that were refused */
	uint64_t last_suspend_ns; /* time in xp_xqueue_suspend(); 0 when nothing had to be stopped */
	uint64_t max_suspend_ns;
	uint64_t last_resume_ns;
};

/** xp_xqueue_get_stats() - counters; each is exact, together they may be of different moments */
int xp_xqueue_get_stats(xp_xqueue_t xqueue, struct xp_xqueue_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_STATS_H */
