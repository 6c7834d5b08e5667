/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's parameter preempt_verify, whose accesses to the hardware aren't to be counted. */
#ifndef KFD_PREEMPT_VERIFY_H
#define KFD_PREEMPT_VERIFY_H

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "text_file.h"

#define VERIFY_PARAMETER "/sys/module/amdgpu/parameters/preempt_verify"

static inline bool verify_is_on(void)
{
	int fd = open(VERIFY_PARAMETER, O_RDONLY | O_CLOEXEC);
	char on = 'N';

	if (fd < 0)
		return false;
	if (read(fd, &on, 1) != 1)
		on = 'N';
	close(fd);
	return on == 'Y';
}

/* Returns whether it was on. A driver without the parameter has it off. */
static inline bool verify_turn(bool on)
{
	bool was_on = verify_is_on();

	if (was_on != on)
		text_file_write(VERIFY_PARAMETER, on ? "1" : "0");
	return was_on;
}

#endif
