// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Module parameters. */

#include <linux/module.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_version.h"

static int kfd_preempt_enable = 1;
module_param_named(kfd_preempt, kfd_preempt_enable, int, 0444);
MODULE_PARM_DESC(kfd_preempt, "Queue preemption ioctls (0 = off, 1 = on (default))");

int kfd_preempt_operator_mode = 1;
module_param_named(operator_mode, kfd_preempt_operator_mode, int, 0444);
MODULE_PARM_DESC(operator_mode,
		 "Permission to stop queues of another process (0 = none, 1 = with CAP_SYS_PTRACE (default), 2 = also with a file of it, 3 = also as the same user)");

int kfd_preempt_allow_reset;
module_param_named(allow_reset, kfd_preempt_allow_reset, int, 0444);
MODULE_PARM_DESC(allow_reset,
		 "Allow preempt type RESET, which kills the queue (0 = no (default), 1 = yes)");

int kfd_preempt_checkpoint_mode = 1;
module_param_named(preempt_checkpoint, kfd_preempt_checkpoint_mode, int, 0444);
MODULE_PARM_DESC(preempt_checkpoint,
		 "Copy the MQD of a stopped queue (0 = never, 1 = on request (default), 2 = always)");

bool kfd_preempt_verify;
module_param_named(preempt_verify, kfd_preempt_verify, bool, 0644);
MODULE_PARM_DESC(preempt_verify,
		 "Check after each stop and before each resume that the queue is off the hardware (default: no)");

bool kfd_preempt_mes;
module_param_named(preempt_mes, kfd_preempt_mes, bool, 0444);
MODULE_PARM_DESC(preempt_mes,
		 "Preempt queues through the MES of gfx11 and newer, never run on a GPU (default: no)");

bool kfd_preempt_sdma;
module_param_named(preempt_sdma, kfd_preempt_sdma, bool, 0444);
MODULE_PARM_DESC(preempt_sdma,
		 "Let operators preempt SDMA queues of other processes (default: no)");

bool kfd_preempt_by_doorbell;
module_param_named_unsafe(preempt_by_doorbell, kfd_preempt_by_doorbell, bool, 0444);
MODULE_PARM_DESC(preempt_by_doorbell,
		 "EXPERIMENTAL: stop a queue under firmware scheduling without a save of all others; never run on a GPU (default: no)");

static int abi_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%u.%u\n", KFD_PREEMPT_ABI_MAJOR,
			  KFD_PREEMPT_ABI_MINOR);
}

static int abi_set(const char *val, const struct kernel_param *kp)
{
	return -EPERM;
}

static const struct kernel_param_ops abi_ops = {
	.set = abi_set,
	.get = abi_get,
};
module_param_cb(kfd_preempt_abi, &abi_ops, NULL, 0444);
MODULE_PARM_DESC(kfd_preempt_abi, "Version of the preemption ioctls (read only)");

MODULE_INFO(kfd_preempt, KFD_PREEMPT_VERSION);
#ifndef KFD_PREEMPT_ROCM /* it has a version of its own */
/*
 * DKMS considers two modules without a version equal and keeps the stock one.
 */
MODULE_VERSION(KFD_PREEMPT_VERSION);
#endif

bool kfd_preempt_enabled(void)
{
	return kfd_preempt_enable;
}
