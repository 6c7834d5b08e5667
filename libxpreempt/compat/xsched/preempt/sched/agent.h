/* SPDX-License-Identifier: MIT */
#include <xsched/preempt/not_here.h>
