// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the creation of a process in KFD, by open() of /dev/kfd, where it waits for all of the address
 * space. A signal ends the wait, and fails the creation.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "probes.h"

#define WAIT_S 30

/* 0: not requested; 1: the next creation waits; 2: it waits; 3: a signal came; 4: it waited too long. */
static int hold_open;
module_param(hold_open, int, 0600);
MODULE_PARM_DESC(hold_open, "1: the next process that opens /dev/kfd waits; then 2, and 3 or 4");

static int before_locks(struct kprobe *probe, struct pt_regs *regs);
static void keep_trap(struct kprobe *probe, struct pt_regs *regs, unsigned long flags) {}

/* The post_handler keeps kprobes from a jump in place of the trap, which may not go elsewhere. */
static struct kprobe take_locks = {
	.symbol_name = "mm_take_all_locks",
	.pre_handler = before_locks,
	.post_handler = keep_trap,
};

/* In place of the function, because a probe must not sleep; the second call goes by the probe. */
static long hold_before_locks(void *mm)
{
	unsigned long end = jiffies + WAIT_S * HZ;

	while (!signal_pending(current) && time_before(jiffies, end))
		msleep(20);
	cmpxchg(&hold_open, HOLD_WAITS, signal_pending(current) ? HOLD_ENDED : HOLD_TOO_LONG);
	return ((long (*)(void *))take_locks.addr)(mm);
}

static int before_locks(struct kprobe *probe, struct pt_regs *regs)
{
	if (cmpxchg(&hold_open, HOLD_NEXT, HOLD_WAITS) != HOLD_NEXT)
		return 0;
	instruction_pointer_set(regs, (unsigned long)hold_before_locks);
	return 1;
}

int hold_open_init(void)
{
	return register_kprobe(&take_locks);
}

void hold_open_exit(void)
{
	unregister_kprobe(&take_locks);
}
