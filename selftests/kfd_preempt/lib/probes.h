/* SPDX-License-Identifier: GPL-2.0-only */
/* kfd_probes.ko (selftests/kfd_preempt/probes) and its parameters. Needs root. */
#ifndef SELFTESTS_PROBES_H
#define SELFTESTS_PROBES_H

/* All return 0, or for get the value, or a negative errno. */
int probes_load(void);
int probes_set(const char *parameter, int value);
int probes_get(const char *parameter);
void probes_unload(void);

#endif
