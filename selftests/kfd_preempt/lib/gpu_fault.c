// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of the software GPU, armed and disarmed while the driver runs.
 *
 * Not by its program vgpu-fault: a child that closes the render node of its
 * parent, as exec() does, makes the driver wait for the parent's VM to be idle
 * (amdgpu_flush), and for that it evicts the parent's queues.
 */
#include "gpu_fault.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The capability of selftests/vgpu/pci/fault_mailbox.hpp */
#define CAPABILITY 0x400
#define MAGIC (CAPABILITY + 0x08)
#define GO (CAPABILITY + 0x0c)
#define STATUS (CAPABILITY + 0x10)
#define REQUEST (CAPABILITY + 0x20)
#define REQUEST_BYTES 0x100
#define RESPONSE (REQUEST + REQUEST_BYTES)
#define RESPONSE_BYTES 0x9e0
#define VGPU 0x55504756u

static uint32_t read_word(int config, int offset)
{
	uint32_t word = 0;

	return pread(config, &word, sizeof(word), offset) == sizeof(word) ? word : 0;
}

static int open_gpu(void)
{
	int config = -1;
	glob_t found;
	size_t i;

	if (glob("/sys/bus/pci/devices/*/config", 0, NULL, &found))
		return -1;
	for (i = 0; i < found.gl_pathc && config < 0; i++) {
		config = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (config >= 0 && read_word(config, MAGIC) != VGPU) {
			close(config);
			config = -1;
		}
	}
	globfree(&found);
	return config;
}

/* 0 with the answer, or -1 with a message. */
static int run_command(const char *command, char answer[RESPONSE_BYTES + 1])
{
	char request[REQUEST_BYTES] = "";
	uint32_t go = 1;
	int config = open_gpu();
	int i, length, failed = 0;

	memset(answer, 0, RESPONSE_BYTES + 1);
	if (config < 0) {
		printf("# no software GPU that this user may control\n");
		return -1;
	}
	snprintf(request, sizeof(request), "%s", command);
	length = (int)strlen(request);
	/* Stop at the zero that ends request and answer: each access is a message to the device. */
	for (i = 0; i <= length; i += 4)
		failed |= pwrite(config, request + i, 4, REQUEST + i) != 4;
	failed |= pwrite(config, &go, sizeof(go), GO) != sizeof(go);
	for (i = 0; i < RESPONSE_BYTES && strlen(answer) == (size_t)i; i += 4)
		failed |= pread(config, answer + i, 4, RESPONSE + i) != 4;
	failed |= read_word(config, STATUS) != 0;
	close(config);
	if (failed)
		printf("# %s: %s\n", command, answer);
	return failed ? -1 : 0;
}

int gpu_fault_arm(const char *spec)
{
	char command[REQUEST_BYTES], answer[RESPONSE_BYTES + 1];

	snprintf(command, sizeof(command), "arm %s", spec);
	return run_command(command, answer) ? -1 : atoi(answer);
}

int gpu_fault_hits(int number)
{
	char answer[RESPONSE_BYTES + 1];
	char *line, *rest = answer;

	if (run_command("list", answer))
		return -1;
	while ((line = strsep(&rest, "\n"))) {
		const char *hits = strstr(line, " hits=");

		if (atoi(line) == number && hits)
			return atoi(hits + strlen(" hits="));
	}
	printf("# no fault %d is armed\n", number);
	return -1;
}

int64_t gpu_counter(const char *name)
{
	char command[REQUEST_BYTES], answer[RESPONSE_BYTES + 1];

	snprintf(command, sizeof(command), "counter %s", name);
	return run_command(command, answer) ? -1 : strtoll(answer, NULL, 10);
}

/* The first number that `format` finds in a line of a file, or 0. */
static unsigned int number_in(const char *path, const char *format)
{
	unsigned int number = 0;
	char line[128];
	FILE *file = fopen(path, "r");

	if (!file)
		return 0;
	while (!number && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) != 1)
			number = 0;
	fclose(file);
	return number;
}

/* The highest of the files that the pattern matches, or of the first of them. */
static unsigned int number_in_files(const char *pattern, const char *format, bool highest)
{
	unsigned int number, found = 0;
	glob_t files;
	size_t i;

	if (glob(pattern, 0, NULL, &files))
		return 0;
	for (i = 0; i < (highest ? files.gl_pathc : 1); i++) {
		number = number_in(files.gl_pathv[i], format);
		if (number > found)
			found = number;
	}
	globfree(&files);
	return found;
}

/*
 * Where a PASID is that of a GPU, and not of the process on all of them, KFD's file in sysfs says 0,
 * and one in debugfs knows. ROCm's driver has no such file: there the last of the render nodes' is
 * taken, because a child has its parent's as well.
 */
unsigned int gpu_pasid(pid_t pid)
{
	unsigned int pasid;
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/pasid", pid);
	pasid = number_in(path, "%u");
	if (pasid)
		return pasid;
	snprintf(path, sizeof(path), "/sys/kernel/debug/kfd/proc/%d/pasid_*", pid);
	pasid = number_in_files(path, "%u", false);
	if (pasid)
		return pasid;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/*", pid);
	return number_in_files(path, "pasid: %u", true);
}

int gpu_scribble_mqds(pid_t pid)
{
	char command[REQUEST_BYTES], answer[RESPONSE_BYTES + 1];

	snprintf(command, sizeof(command), "scribble-mqds %u", gpu_pasid(pid));
	return run_command(command, answer) ? -1 : atoi(answer);
}

int gpu_fault_disarm_all(void)
{
	char answer[RESPONSE_BYTES + 1];

	return run_command("disarm all", answer);
}
