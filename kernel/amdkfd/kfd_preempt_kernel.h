/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the kernel has that not all kernels have. Packaging overwrites this file with what
 * kernel/probe-kernel finds in the headers. As it is here it is right for Linux 6.7 and newer.
 */
#ifndef KFD_PREEMPT_KERNEL_H
#define KFD_PREEMPT_KERNEL_H

#define KFD_PREEMPT_KERNEL_HAS_VMEMDUP_ARRAY_USER
#define KFD_PREEMPT_KERNEL_HAS_DATA_RACE
#define KFD_PREEMPT_KERNEL_HAS_COPY_STRUCT_FROM_USER
#define KFD_PREEMPT_KERNEL_HAS_REAL_ADDRESS

#endif /* KFD_PREEMPT_KERNEL_H */
