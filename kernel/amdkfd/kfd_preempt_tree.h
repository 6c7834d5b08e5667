/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Features that only some trees of amdkfd have. Packaging overwrites this file with
 * the output of kernel/probe-tree. This copy is right for Linux 6.12.
 */
#ifndef KFD_PREEMPT_TREE_H
#define KFD_PREEMPT_TREE_H

#endif /* KFD_PREEMPT_TREE_H */
