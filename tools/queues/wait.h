/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for something without a busy loop, and time for messages. */
#ifndef SELFTESTS_WAIT_H
#define SELFTESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Polls every millisecond; false when the condition stays false in time. */
bool wait_until(bool (*condition)(const void *arg), const void *arg, unsigned int timeout_ms);

/* State of a process or a thread: 'S' and 'D' asleep, 'Z' ended, 0 there is none. */
char process_state(pid_t pid);

void sleep_us(unsigned int us);
uint64_t now_ns(void);

#endif
