/* SPDX-License-Identifier: GPL-2.0-only */
/* What the one module of the selftests does to KFD, each in a file of its own. */
#ifndef SELFTESTS_KFD_PROBES_H
#define SELFTESTS_KFD_PROBES_H

int fail_init(void);
void fail_exit(void);

int evict_in_create_init(void);
void evict_in_create_exit(void);

int hold_reset_init(void);
void hold_reset_exit(void);

#endif
