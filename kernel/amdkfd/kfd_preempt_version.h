/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Version string for modinfo; packaging overwrites this file. */
#ifndef KFD_PREEMPT_VERSION_H
#define KFD_PREEMPT_VERSION_H

#define KFD_PREEMPT_VERSION "unpackaged"

#endif /* KFD_PREEMPT_VERSION_H */
