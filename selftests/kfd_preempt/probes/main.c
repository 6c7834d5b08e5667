// SPDX-License-Identifier: GPL-2.0-only
/* Kprobes that bring KFD into situations that are rare: Debian's kernel has no fault injection. */
#include <linux/array_size.h>
#include <linux/module.h>

#include "probes.h"

static const struct {
	int (*init)(void);
	void (*exit)(void);
} probes[] = {
	{ fail_init, fail_exit },
	{ evict_in_create_init, evict_in_create_exit },
	{ hold_fault_init, hold_fault_exit },
	{ hold_reset_init, hold_reset_exit },
	{ hold_mm_init, hold_mm_exit },
	{ hold_open_init, hold_open_exit },
	{ hold_unmapped_init, hold_unmapped_exit },
	{ pin_init, pin_exit },
};

static void exit_first(unsigned int num)
{
	while (num--)
		probes[num].exit();
}

static int __init kfd_probes_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = probes[i].init();
		if (ret) {
			exit_first(i);
			return ret;
		}
	}
	return 0;
}

static void __exit kfd_probes_exit(void)
{
	exit_first(ARRAY_SIZE(probes));
}

module_init(kfd_probes_init);
module_exit(kfd_probes_exit);
MODULE_DESCRIPTION("Rare situations of KFD, for its selftests");
MODULE_LICENSE("GPL");
