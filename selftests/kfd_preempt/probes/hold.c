// SPDX-License-Identifier: GPL-2.0-only
/* Holds who comes to a probe. */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>

#include "probes.h"

#define WAIT_MS 5000

void hold_next(int *state)
{
	ktime_t end = ktime_add_ms(ktime_get(), WAIT_MS);

	if (cmpxchg(state, HOLD_NEXT, HOLD_WAITS) != HOLD_NEXT)
		return;
	/* A probe must not sleep; who ends the wait is on the other CPU. */
	while (READ_ONCE(*state) == HOLD_WAITS && ktime_before(ktime_get(), end))
		cpu_relax();
	cmpxchg(state, HOLD_WAITS, HOLD_TOO_LONG);
}
