// SPDX-License-Identifier: GPL-2.0-only
/* Kprobes that bring KFD into situations that are rare: Debian's kernel has no fault injection. */
#include <linux/module.h>

#include "probes.h"

static int __init kfd_probes_init(void)
{
	int ret = fail_init();

	if (ret)
		return ret;
	ret = evict_in_create_init();
	if (ret)
		goto no_eviction;
	ret = hold_reset_init();
	if (ret)
		goto no_reset;
	ret = hold_mm_init();
	if (ret)
		goto no_mm;
	ret = hold_open_init();
	if (ret)
		goto no_open;
	ret = hold_unmapped_init();
	if (ret)
		goto no_unmapped;
	ret = pin_init();
	if (ret)
		goto no_pin;
	return 0;

no_pin:
	hold_unmapped_exit();
no_unmapped:
	hold_open_exit();
no_open:
	hold_mm_exit();
no_mm:
	hold_reset_exit();
no_reset:
	evict_in_create_exit();
no_eviction:
	fail_exit();
	return ret;
}

static void __exit kfd_probes_exit(void)
{
	pin_exit();
	hold_unmapped_exit();
	hold_open_exit();
	hold_mm_exit();
	hold_reset_exit();
	evict_in_create_exit();
	fail_exit();
}

module_init(kfd_probes_init);
module_exit(kfd_probes_exit);
MODULE_DESCRIPTION("Rare situations of KFD, for its selftests");
MODULE_LICENSE("GPL");
