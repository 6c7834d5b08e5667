// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatches a kernel whose first instruction the vgpu doesn't execute, and exits with 0 although
 * the kernel didn't run. selftests/vm/unmodelled_test.py checks that the run fails all the same.
 */
#include <stdio.h>
#include <string.h>

#include "aql_queue.h"
#include "gpu_program.h"

/* kernel_code_entry_byte_offset of the kernel descriptor */
#define ENTRY_OFFSET 16

/* v_screen_partition_4se_b32 v0, v0: gfx942 has it, the vgpu doesn't. */
static const uint32_t instruction = 0x7e006f00;

int main(void)
{
	static struct kfd_device dev;
	static struct aql_queue queue;
	static struct gpu_program program;
	static struct aql_signal *signal;
	static struct kfd_buffer shared;
	uint64_t entry;
	int ret = kfd_device_open(&dev);

	if (!ret)
		ret = aql_queue_create(&dev, &queue);
	if (!ret)
		ret = gpu_program_load(&dev, &gpu_image_count, &program);
	if (!ret)
		ret = kfd_buffer_alloc(&dev, KFD_IN_SYSTEM, 4096, &shared);
	if (ret) {
		fprintf(stderr, "unmodelled_shader: cannot set the queue up: %s\n", strerror(-ret));
		return 2;
	}
	memcpy(&entry, (char *)program.code.addr + ENTRY_OFFSET, sizeof(entry));
	memcpy((char *)program.code.addr + entry, &instruction, sizeof(instruction));

	signal = shared.addr;
	signal->kind = 1;
	signal->value = 1;
	aql_queue_dispatch(&queue, &(struct aql_dispatch){
		.kernel_object = program.kernel_object,
		.kernarg = (char *)shared.addr + sizeof(*signal),
		.workgroup_size = 64,
		.num_workgroups = 1,
		.signal = signal,
	});
	printf("the kernel %s\n", aql_signal_wait(signal, 2000) ? "completed" : "did not complete");
	return 0;
}
