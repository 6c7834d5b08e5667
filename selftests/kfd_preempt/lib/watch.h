/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of a watch as functions. */
#ifndef SELFTESTS_WATCH_H
#define SELFTESTS_WATCH_H

#include <kfd_preempt.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The file of a new watch, or a negative errno. */
int watch_open(int kfd_fd);

/* The id of the target, or a negative errno. */
int watch_add(int watch, pid_t pid, uint64_t cookie);
/* flags: KFD_PREEMPT_WATCH_GIVE_MEMORY or 0 */
int watch_add_flags(int watch, pid_t pid, uint64_t cookie, uint32_t flags);
int watch_add_fd(int watch, int kfd_fd, uint64_t cookie);
int watch_remove(int watch, uint32_t id);
int watch_answer(int watch, uint32_t id, uint32_t flags);

/* ARM of one target: the error of the call, or else of the entry. */
int watch_arm(int watch, uint32_t id, uint32_t flags, struct kfd_preempt_watch_arm_entry *entry);

/* The next event; false when none comes in time. */
bool watch_next(int watch, unsigned int timeout_ms, struct kfd_preempt_watch_event *event);

/* Maps the doorbells of the process on that GPU as ROCm does; MAP_FAILED and errno. */
#define WATCH_DOORBELL_BYTES 8192ul
void *watch_map_doorbells(int kfd_fd, uint32_t gpu_id, int flags);

/* Stores to a doorbell; 0, or the signal that it ended with. */
int watch_store_to(volatile uint64_t *doorbell);

#endif
