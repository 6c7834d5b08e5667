/* SPDX-License-Identifier: MIT */
/* libxpreempt: preemption of HIP streams on AMD GPUs. */
#ifndef XPREEMPT_XPREEMPT_H
#define XPREEMPT_XPREEMPT_H

#include <xpreempt/control.h>
#include <xpreempt/device.h>
#include <xpreempt/guardian.h>
#include <xpreempt/hint.h>
#include <xpreempt/notify.h>
#include <xpreempt/queue.h>
#include <xpreempt/sched.h>
#include <xpreempt/stats.h>
#include <xpreempt/stream.h>
#include <xpreempt/xqueue.h>

#endif /* XPREEMPT_XPREEMPT_H */
