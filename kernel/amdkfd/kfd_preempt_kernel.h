/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Features that only some supported kernels have. Packaging overwrites this
 * file with the output of kernel/probe-kernel. This copy is right for Linux 6.7
 * and newer.
 */
#ifndef KFD_PREEMPT_KERNEL_H
#define KFD_PREEMPT_KERNEL_H

#define KFD_PREEMPT_KERNEL_HAS_VMEMDUP_ARRAY_USER
#define KFD_PREEMPT_KERNEL_HAS_DATA_RACE
#define KFD_PREEMPT_KERNEL_HAS_COPY_STRUCT_FROM_USER
#define KFD_PREEMPT_KERNEL_HAS_REAL_ADDRESS

#endif /* KFD_PREEMPT_KERNEL_H */
