// SPDX-License-Identifier: GPL-2.0-only
/* Holds who comes to a probe. */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "probes.h"

#define WAIT_NS (5 * NSEC_PER_SEC)

void hold_next(int *state)
{
	u64 begin;

	if (cmpxchg(state, HOLD_NEXT, HOLD_WAITS) != HOLD_NEXT)
		return;
	/*
	 * A probe may be a trap that came with a lock held: it must not sleep, nor ask a clock that
	 * has a lock. Who ends the wait is on the other CPU.
	 */
	begin = ktime_get_mono_fast_ns();
	while (READ_ONCE(*state) == HOLD_WAITS && ktime_get_mono_fast_ns() - begin < WAIT_NS)
		cpu_relax();
	cmpxchg(state, HOLD_WAITS, HOLD_TOO_LONG);
}
