// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reset of a GPU has taken its lock, and KFD has not heard of it: the queues are lost and do not
 * know. Waits there until it is told to go on. Needs a second CPU.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

#include "probes.h"

/* 0: not asked for, or told to go on; 1: the next reset; 2: a reset waits; 4: it waited too long. */
static int hold_reset;
module_param(hold_reset, int, 0600);
MODULE_PARM_DESC(hold_reset, "1: the next reset waits; then 2, until 0; or 4 after 5 s");

static int before_kfd(struct kprobe *probe, struct pt_regs *regs)
{
	hold_next(&hold_reset);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "kgd2kfd_pre_reset",
	.pre_handler = before_kfd,
};

int hold_reset_init(void)
{
	return register_kprobe(&probe);
}

void hold_reset_exit(void)
{
	unregister_kprobe(&probe);
}
