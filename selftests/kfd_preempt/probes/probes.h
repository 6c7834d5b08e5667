/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes of KFD in the kernel module of the selftests, each in a file of its own. */
#ifndef SELFTESTS_KFD_PROBES_H
#define SELFTESTS_KFD_PROBES_H

/* Values of the parameter of a probe that holds a thread. */
enum { HOLD_NEXT = 1, HOLD_WAITS = 2, HOLD_ENDED = 3, HOLD_TOO_LONG = 4 };

/* From a probe: waits, if asked for, until `state` is no longer HOLD_WAITS, or for 5 s. */
void hold_next(int *state);

int fail_init(void);
void fail_exit(void);

int evict_in_create_init(void);
void evict_in_create_exit(void);

int hold_reset_init(void);
void hold_reset_exit(void);

int hold_fault_init(void);
void hold_fault_exit(void);

int hold_mm_init(void);
void hold_mm_exit(void);

int hold_open_init(void);
void hold_open_exit(void);

int hold_unmapped_init(void);
void hold_unmapped_exit(void);

int pin_init(void);
void pin_exit(void);

#endif
