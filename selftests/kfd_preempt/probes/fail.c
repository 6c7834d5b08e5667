// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes functions of the driver return a value instead of doing their work, the next N times: an error,
 * because Debian's kernel has no fault injection, but kprobes; or what another machine would return.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/sched.h>

#include "probes.h"

struct failing {
	struct kprobe probe;
	atomic_t left;
	int result;
};

/* Where a function that failed continues: back in its caller. */
void fail_return(void);
asm(".pushsection .text\n"
	".type fail_return, @function\n"
	"fail_return:\n"
	ANNOTATE_NOENDBR "\n"
	ASM_RET
	".size fail_return, .-fail_return\n"
	".popsection\n");

static int instead(struct kprobe *probe, struct pt_regs *regs)
{
	struct failing *failing = container_of(probe, struct failing, probe);

	if (atomic_dec_if_positive(&failing->left) < 0)
		return 0;
	regs->ax = failing->result;
	regs->ip = (unsigned long)fail_return;
	return 1;
}

/* Without one the kernel may make a jump of the probe, which always comes back. */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

/* As if there were no memory. */
static struct failing map = {
	.probe = {
		.symbol_name = "pm_send_runlist",
		.pre_handler = instead,
		.post_handler = after,
	},
	.result = -ENOMEM,
};

/* Reserves a buffer to unmap or free it. Fails as if a signal had come. */
static struct failing reserve = {
	.probe = {
		.symbol_name = "reserve_bo_and_cond_vms",
		.pre_handler = instead,
		.post_handler = after,
	},
	.result = -EINTR,
};

static int at_exit(struct kprobe *probe, struct pt_regs *regs)
{
	return current->flags & PF_EXITING ? instead(probe, regs) : 0;
}

/* Locks a buffer interruptibly. At process exit it fails as if the process were killed. */
static struct failing lock_at_exit = {
	.probe = {
		.symbol_name = "ww_mutex_lock_interruptible",
		.pre_handler = at_exit,
		.post_handler = after,
	},
	.result = -EINTR,
};

/* Writes the page tables of a buffer. */
static struct failing map_buffer = {
	.probe = {
		.symbol_name = "amdgpu_vm_bo_update",
		.pre_handler = instead,
		.post_handler = after,
	},
	.result = -ENOMEM,
};

/* As if the PCI bus let one GPU access the VRAM of another one. */
static struct failing peers = {
	.probe = {
		.symbol_name = "amdgpu_device_is_peer_accessible",
		.pre_handler = instead,
		.post_handler = after,
	},
	.result = true,
};

static int left_set(const char *val, const struct kernel_param *kp)
{
	int num, ret = kstrtoint(val, 0, &num);

	if (!ret)
		atomic_set((atomic_t *)kp->arg, num);
	return ret;
}

static int left_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static const struct kernel_param_ops left_ops = { .set = left_set, .get = left_get };
module_param_cb(fail_map, &left_ops, &map.left, 0600);
MODULE_PARM_DESC(fail_map, "How many more runlists fail");
module_param_cb(fail_reserve, &left_ops, &reserve.left, 0600);
MODULE_PARM_DESC(fail_reserve, "How many more buffers are not reserved");

module_param_cb(fail_lock_at_exit, &left_ops, &lock_at_exit.left, 0600);
MODULE_PARM_DESC(fail_lock_at_exit, "How many more locks of buffers a signal interrupts at exit");

module_param_cb(fail_map_buffer, &left_ops, &map_buffer.left, 0600);
MODULE_PARM_DESC(fail_map_buffer, "How many more buffers are not mapped");

module_param_cb(peers_accessible, &left_ops, &peers.left, 0600);
MODULE_PARM_DESC(peers_accessible, "How many more times a GPU may map VRAM of another one");

static struct kprobe *probes[] = {
	&map.probe, &reserve.probe, &lock_at_exit.probe, &map_buffer.probe, &peers.probe,
};

int fail_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

void fail_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
}
