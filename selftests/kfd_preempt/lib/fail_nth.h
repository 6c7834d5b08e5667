/* SPDX-License-Identifier: GPL-2.0-only */
/* Lets one allocation, or one copy from or to user memory, of the next calls fail. */
#ifndef SELFTESTS_FAIL_NTH_H
#define SELFTESTS_FAIL_NTH_H

#include <stdbool.h>

/*
 * For the calling thread. A file descriptor, or a negative errno: the kernel has to have fault
 * injection (selftests/kernels), and the caller to be root.
 */
int fail_nth_open(void);

/* The n-th thing that can fail from here on fails, n >= 1. */
int fail_nth_arm(int fd, unsigned int n);

/* True when it has failed; false when fewer than n came. */
bool fail_nth_disarm(int fd);

#endif
