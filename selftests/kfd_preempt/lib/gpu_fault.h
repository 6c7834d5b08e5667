/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults of the software GPU, armed and disarmed while the driver runs. */
#ifndef SELFTESTS_GPU_FAULT_H
#define SELFTESTS_GPU_FAULT_H

#include <stdint.h>
#include <sys/types.h>

/* `spec` as in selftests/vgpu/README.md. The fault's number, or -1 with a message. */
int gpu_fault_arm(const char *spec);

/* How often it struck, or -1 with a message. */
int gpu_fault_hits(int number);

/* 0 or -1 with a message. */
int gpu_fault_disarm_all(void);

/* A counter of the summary (selftests/vgpu/README.md) as it is now, or -1 with a message. */
int64_t gpu_counter(const char *name);

/* Returns the PASID of a process on the GPU, or 0 if it is unknown. */
unsigned int gpu_pasid(pid_t pid);

/*
 * Spoils what the stopped queues of a process have saved in their MQDs and control stacks. The
 * number of MQDs, or -1 with a message.
 */
int gpu_scribble_mqds(pid_t pid);

#endif
