// SPDX-License-Identifier: GPL-2.0-only
/*
 * Without firmware scheduling the creation of a queue releases the lock of the scheduler to allocate
 * the MQD. Waits there until the process was evicted. Needs a second CPU.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/version.h>

#include "probes.h"

#define WAIT_MS 5000

/* 0: not asked for; 1: for the next queue; 2: a queue waits; 3: it was evicted; 4: it was not. */
static int evict_in_create;
module_param(evict_in_create, int, 0600);
MODULE_PARM_DESC(evict_in_create, "1: the next queue waits for an eviction; then 2, and 3 or 4");

/* After the eviction has done its work. */
static int evicted(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	cmpxchg(&evict_in_create, 2, 3);
	return 0;
}

static int before_allocation(struct kprobe *probe, struct pt_regs *regs)
{
	ktime_t end = ktime_add_ms(ktime_get(), WAIT_MS);

	if (cmpxchg(&evict_in_create, 1, 2) != 1)
		return 0;
	/* A probe must not sleep; the eviction comes on the other CPU. */
	while (READ_ONCE(evict_in_create) == 2 && ktime_before(ktime_get(), end))
		cpu_relax();
	cmpxchg(&evict_in_create, 2, 4);
	return 0;
}

/* Of the memory for the MQD, which newer kernels have in VRAM. */
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
