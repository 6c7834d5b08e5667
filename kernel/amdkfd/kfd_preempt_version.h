/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What modinfo says about the build; packaging overwrites this file. */
#ifndef KFD_PREEMPT_VERSION_H
#define KFD_PREEMPT_VERSION_H

#define KFD_PREEMPT_VERSION "unpackaged"

#endif /* KFD_PREEMPT_VERSION_H */
