// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the next runlists of KFD fail as if there were no memory for them. Debian's kernel has no
 * fault injection, but kprobes.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/objtool.h>

#include "probes.h"

static atomic_t left = ATOMIC_INIT(0);

static int fails_set(const char *val, const struct kernel_param *kp)
{
	int num, ret = kstrtoint(val, 0, &num);

	if (!ret)
		atomic_set(&left, num);
	return ret;
}

static int fails_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&left));
}

static const struct kernel_param_ops fails_ops = { .set = fails_set, .get = fails_get };
module_param_cb(fail_map, &fails_ops, NULL, 0600);
MODULE_PARM_DESC(fail_map, "How many more runlists fail");

/* Where a function that failed goes on: at once back to its caller. */
void fail_map_return(void);
asm(".pushsection .text\n"
	".type fail_map_return, @function\n"
	"fail_map_return:\n"
	ANNOTATE_NOENDBR "\n"
	ASM_RET
	".size fail_map_return, .-fail_map_return\n"
	".popsection\n");

static int before_runlist(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_dec_if_positive(&left) < 0)
		return 0;
	regs->ax = -ENOMEM;
	regs->ip = (unsigned long)fail_map_return;
	return 1;
}

static struct kprobe probe = {
	.symbol_name = "pm_send_runlist",
	.pre_handler = before_runlist,
};

int fail_map_init(void)
{
	return register_kprobe(&probe);
}

void fail_map_exit(void)
{
	unregister_kprobe(&probe);
}
