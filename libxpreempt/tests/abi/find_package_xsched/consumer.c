/* SPDX-License-Identifier: MIT */
/* Calls what the linked target has to bring. There is no HIP and no GPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef struct ihipStream_t *hipStream_t;
#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

int main(void)
{
	XQueueHandle xqueue;
	int failures = 0;

	failures += XQueueCreate(&xqueue, 1, kPreemptLevelBlock, kQueueCreateFlagNone) !=
		    kXSchedErrorNotFound;
#ifdef WITH_halhip
	failures += HipQueueCreate(NULL, NULL) != kXSchedErrorInvalidValue;
#endif
#ifdef WITH_shimhip
	failures += dlsym(RTLD_DEFAULT, "xpreempt_hook_table") == NULL;
#endif
	if (failures)
		printf("%d calls did not answer as expected\n", failures);
	return failures != 0;
}
