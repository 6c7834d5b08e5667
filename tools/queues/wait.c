// SPDX-License-Identifier: GPL-2.0-only
/* Waiting for something without a busy loop, and time for messages. */
#include "wait.h"

#include <stdio.h>
#include <time.h>

void sleep_us(unsigned int us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	while (nanosleep(&ts, &ts))
		;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool wait_until(bool (*condition)(const void *arg), const void *arg, unsigned int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;

	while (!condition(arg)) {
		if (now_ns() > end)
			return condition(arg);
		sleep_us(1000);
	}
	return true;
}

char process_state(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state;
}
