// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without firmware scheduling the creation of a queue releases the lock of the scheduler to allocate
 * the MQD. Waits there until the process was evicted. Needs a second CPU.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/version.h>

#include "probes.h"

/* 0: not asked for; 1: for the next queue; 2: a queue waits; 3: it was evicted; 4: it wasn't. */
static int evict_in_create;
module_param(evict_in_create, int, 0600);
MODULE_PARM_DESC(evict_in_create, "1: the next queue waits for an eviction; then 2, and 3 or 4");

/* After the eviction has done its work. */
static int evicted(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	cmpxchg(&evict_in_create, HOLD_WAITS, HOLD_ENDED);
	return 0;
}

static int before_allocation(struct kprobe *probe, struct pt_regs *regs)
{
	hold_next(&evict_in_create);
	return 0;
}

/* Allocates the MQD, which newer kernels have in VRAM. */
static struct kprobe allocation = {
	.symbol_name = LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0) ?
		"amdgpu_amdkfd_alloc_kernel_mem" : "amdgpu_amdkfd_alloc_gtt_mem",
	.pre_handler = before_allocation,
};

static struct kretprobe eviction = {
	.kp.symbol_name = "evict_process_queues_nocpsch",
	.handler = evicted,
};

int evict_in_create_init(void)
{
	int ret = register_kprobe(&allocation);

	if (ret)
		return ret;
	ret = register_kretprobe(&eviction);
	if (ret)
		unregister_kprobe(&allocation);
	return ret;
}

void evict_in_create_exit(void)
{
	unregister_kretprobe(&eviction);
	unregister_kprobe(&allocation);
}
