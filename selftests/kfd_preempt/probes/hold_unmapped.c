// SPDX-License-Identifier: GPL-2.0-only
/*
 * With firmware scheduling: waits after a runlist was unmapped for a stop, with the lock of the
 * scheduler and without that of resets. Needs a second CPU.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

#include "probes.h"

static int hold_unmapped;
module_param(hold_unmapped, int, 0600);
MODULE_PARM_DESC(hold_unmapped, "1: the next stop waits; then 2, until 0");

static int before_count(struct kprobe *probe, struct pt_regs *regs)
{
	hold_next(&hold_unmapped);
	return 0;
}

/* The driver counts late unmaps before it tries again to map. */
static struct kprobe count = {
	.symbol_name = "kfd_preempt_count_fence",
	.pre_handler = before_count,
};

int hold_unmapped_init(void)
{
	return register_kprobe(&count);
}

void hold_unmapped_exit(void)
{
	unregister_kprobe(&count);
}
