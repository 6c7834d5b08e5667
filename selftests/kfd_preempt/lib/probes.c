// SPDX-License-Identifier: GPL-2.0-only
/* kfd_probes.ko (selftests/kfd_preempt/probes) and its parameters. */
#include "probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text_file.h"

#define MODULE "/modules/kfd_probes.ko"

int probes_load(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	if (ret)
		printf("# %s: does the kernel have kprobes?\n", MODULE);
	return ret;
}

static void parameter_path(char *path, size_t bytes, const char *parameter)
{
	snprintf(path, bytes, "/sys/module/kfd_probes/parameters/%s", parameter);
}

int probes_set(const char *parameter, int value)
{
	char path[128], text[16];

	parameter_path(path, sizeof(path), parameter);
	snprintf(text, sizeof(text), "%d\n", value);
	return text_file_write(path, text);
}

int probes_get(const char *parameter)
{
	char path[128];

	parameter_path(path, sizeof(path), parameter);
	return text_file_number(path);
}

void probes_unload(void)
{
	syscall(SYS_delete_module, "kfd_probes", O_NONBLOCK);
}
