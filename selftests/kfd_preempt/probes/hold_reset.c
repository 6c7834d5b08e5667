// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two moments of a GPU's reset, which waits there until it is told to go on. Needs a second CPU.
 * - hold_reset: the reset has taken its lock, and KFD has not heard of it: the queues are lost and
 *   do not know.
 * - hold_stopped: KFD has stopped its scheduler, and the hardware is not reset yet.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

#include "probes.h"

/* 0: not asked for, or told to go on; 1: the next reset; 2: a reset waits; 4: it waited too long. */
static int hold_reset;
module_param(hold_reset, int, 0600);
MODULE_PARM_DESC(hold_reset, "1: the next reset waits; then 2, until 0; or 4 after 5 s");

static int hold_stopped;
module_param(hold_stopped, int, 0600);
MODULE_PARM_DESC(hold_stopped, "like hold_reset, once KFD has stopped");

static int before_kfd(struct kprobe *probe, struct pt_regs *regs)
{
	hold_next(&hold_reset);
	return 0;
}

static int after_kfd(struct kprobe *probe, struct pt_regs *regs)
{
	hold_next(&hold_stopped);
	return 0;
}

static struct kprobe kfd = {
	.symbol_name = "kgd2kfd_pre_reset",
	.pre_handler = before_kfd,
};

/* What amdgpu_device_gpu_recover() calls next. */
static struct kprobe next = {
	.symbol_name = "amdgpu_unregister_gpu_instance",
	.pre_handler = after_kfd,
};

static struct kprobe *probes[] = { &kfd, &next };

int hold_reset_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

void hold_reset_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}
