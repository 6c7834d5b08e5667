// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Makes the tracepoints of kfd_preempt_trace.h. */

#include "kfd_preempt_compat.h"

#define CREATE_TRACE_POINTS
#include "kfd_preempt_trace.h"
