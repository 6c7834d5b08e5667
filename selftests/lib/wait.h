/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for something without a busy loop, and time for messages. */
#ifndef SELFTESTS_WAIT_H
#define SELFTESTS_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Polls every millisecond; false when the condition stays false in time. */
bool wait_until(bool (*condition)(const void *arg), const void *arg, unsigned int timeout_ms);

void sleep_us(unsigned int us);
uint64_t now_ns(void);

#endif
