// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two moments of a GPU's reset, which waits there until it is released.
 * - hold_reset: the reset has taken its lock, and KFD hasn't heard of it: the queues are lost and
 *   don't know.
 * - hold_stopped: KFD has stopped its scheduler, and the hardware isn't reset yet.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "probes.h"

#define WAIT_S 30

/* 0: not requested, or released; 1: the next reset; 2: a reset waits; 4: it waited too long. */
static int hold_reset;
module_param(hold_reset, int, 0600);
MODULE_PARM_DESC(hold_reset, "1: the next reset waits; then 2, until 0; or 4 after 30 s");

static int hold_stopped;
module_param(hold_stopped, int, 0600);
MODULE_PARM_DESC(hold_stopped, "like hold_reset, once KFD has stopped");

static int before_kfd(struct kprobe *probe, struct pt_regs *regs);
static int after_kfd(struct kprobe *probe, struct pt_regs *regs);
static void keep_trap(struct kprobe *probe, struct pt_regs *regs, unsigned long flags) {}

/* The post_handler keeps kprobes from a jump in place of the trap, which may not go elsewhere. */
static struct kprobe kfd = {
	.symbol_name = "kgd2kfd_pre_reset",
	.pre_handler = before_kfd,
	.post_handler = keep_trap,
};

/* The next function that amdgpu_device_gpu_recover() calls. */
static struct kprobe next = {
	.symbol_name = "amdgpu_unregister_gpu_instance",
	.pre_handler = after_kfd,
	.post_handler = keep_trap,
};

static void sleep_while_held(int *state)
{
	unsigned long end = jiffies + WAIT_S * HZ;

	while (READ_ONCE(*state) == HOLD_WAITS && time_before(jiffies, end))
		msleep(20);
	cmpxchg(state, HOLD_WAITS, HOLD_TOO_LONG);
}

typedef long (*probed_t)(void *first, void *second);

/* In place of the function, which may sleep; the second call goes by the probe. */
static long hold_before_kfd(void *first, void *second)
{
	sleep_while_held(&hold_reset);
	return ((probed_t)kfd.addr)(first, second);
}

static long hold_after_kfd(void *first, void *second)
{
	sleep_while_held(&hold_stopped);
	return ((probed_t)next.addr)(first, second);
}

/*
 * A probe must not sleep. Were it to spin, no grace period of RCU would end, and the exit of a process
 * waits for one.
 */
static int hold(int *state, struct pt_regs *regs, probed_t instead)
{
	if (cmpxchg(state, HOLD_NEXT, HOLD_WAITS) != HOLD_NEXT)
		return 0;
	instruction_pointer_set(regs, (unsigned long)instead);
	return 1;
}

static int before_kfd(struct kprobe *probe, struct pt_regs *regs)
{
	return hold(&hold_reset, regs, hold_before_kfd);
}

static int after_kfd(struct kprobe *probe, struct pt_regs *regs)
{
	return hold(&hold_stopped, regs, hold_after_kfd);
}

static struct kprobe *probes[] = { &kfd, &next };

int hold_reset_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

void hold_reset_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}
