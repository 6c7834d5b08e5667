// SPDX-License-Identifier: GPL-2.0-only
/* Holds a thread that hits a probe. */
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
	 * A probe may trap with a lock held: it must not sleep, nor read a clock that takes a lock.
	 * The thread that ends the wait runs on the other CPU.
	 */
	begin = ktime_get_mono_fast_ns();
	while (READ_ONCE(*state) == HOLD_WAITS && ktime_get_mono_fast_ns() - begin < WAIT_NS)
		cpu_relax();
	cmpxchg(state, HOLD_WAITS, HOLD_TOO_LONG);
}
