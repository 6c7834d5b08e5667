// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds a thread in a user namespace of its own that has got the address space of a task: here a call on
 * another process, which has found the memory of that process and may find its state only after an exec.
 */
#include <linux/cred.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/user_namespace.h>

#include "probes.h"

static int hold_mm;
module_param(hold_mm, int, 0600);
MODULE_PARM_DESC(hold_mm, "1: the next such thread waits; then 2 until another value is written, and 4 after 5 s");

/* Returns whether the return of the function is not of interest. */
static int get_begins(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return READ_ONCE(hold_mm) != HOLD_NEXT || current_user_ns() == &init_user_ns;
}

static int get_returns(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (regs_return_value(regs))
		hold_next(&hold_mm);
	return 0;
}

static struct kretprobe get_mm = {
	.kp.symbol_name = "get_task_mm",
	.entry_handler = get_begins,
	.handler = get_returns,
};

int hold_mm_init(void)
{
	return register_kretprobe(&get_mm);
}

void hold_mm_exit(void)
{
	unregister_kretprobe(&get_mm);
}
