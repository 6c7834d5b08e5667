/* SPDX-License-Identifier: MIT */
/* XSched 1.2's interface, on libxpreempt. */
#ifndef XPREEMPT_COMPAT_XSCHED_XSCHED_H
#define XPREEMPT_COMPAT_XSCHED_XSCHED_H

#include <xsched/types.h>

#include <xsched/hint.h>
#include <xsched/xqueue.h>

#endif /* XPREEMPT_COMPAT_XSCHED_XSCHED_H */
