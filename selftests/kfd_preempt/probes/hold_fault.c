// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds KFD's worker for userptrs where it faults pages in, with the lock of the buffers of that
 * process: as pages do of a file system that does not answer. Needs a second CPU.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "probes.h"

static int hold_fault;
module_param(hold_fault, int, 0600);
MODULE_PARM_DESC(hold_fault, "1: the next worker waits; then 2 until another value is written, and 4 after 5 s");

static int before_fault(struct kprobe *probe, struct pt_regs *regs)
{
	if (current->flags & PF_WQ_WORKER)
		hold_next(&hold_fault);
	return 0;
}

static struct kprobe fault = {
	.symbol_name = "amdgpu_hmm_range_get_pages",
	.pre_handler = before_fault,
};

int hold_fault_init(void)
{
	return register_kprobe(&fault);
}

void hold_fault_exit(void)
{
	unregister_kprobe(&fault);
}
