/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of the software GPU, armed and disarmed while the driver runs. */
#ifndef SELFTESTS_GPU_FAULT_H
#define SELFTESTS_GPU_FAULT_H

/* `spec` as in selftests/vgpu/README.md. The fault's number, or -1 with a message. */
int gpu_fault_arm(const char *spec);

/* How often it struck, or -1 with a message. */
int gpu_fault_hits(int number);

/* 0 or -1 with a message. */
int gpu_fault_disarm_all(void);

#endif
