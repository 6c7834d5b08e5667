// SPDX-License-Identifier: GPL-2.0-only
/* A GPU program of kernels/, loaded where the GPU can run it. */
#include "gpu_program.h"

#include <string.h>

extern const unsigned char gpu_count_start[], gpu_count_end[];
extern const unsigned char gpu_checksum_start[], gpu_checksum_end[];
extern const unsigned char gpu_whereabouts_start[], gpu_whereabouts_end[];
extern const unsigned char gpu_gws_init_start[], gpu_gws_init_end[];
extern const unsigned char gpu_gws_meet_start[], gpu_gws_meet_end[];
extern const unsigned char gpu_count_traps_start[], gpu_count_traps_end[];

const struct gpu_image gpu_image_count = { gpu_count_start, gpu_count_end };
const struct gpu_image gpu_image_checksum = { gpu_checksum_start, gpu_checksum_end };
const struct gpu_image gpu_image_whereabouts = { gpu_whereabouts_start, gpu_whereabouts_end };
const struct gpu_image gpu_image_gws_init = { gpu_gws_init_start, gpu_gws_init_end };
const struct gpu_image gpu_image_gws_meet = { gpu_gws_meet_start, gpu_gws_meet_end };
const struct gpu_image gpu_image_count_traps = { gpu_count_traps_start, gpu_count_traps_end };

int gpu_program_load(struct kfd_device *dev, const struct gpu_image *image,
		     struct gpu_program *program)
{
	size_t bytes = (size_t)(image->end - image->start);
	int ret;

	/* The GPU fetches instructions ahead: leave room behind the last one. */
	ret = kfd_buffer_alloc(dev, KFD_IN_VRAM_EXEC, bytes + 256, &program->code);
	if (ret)
		return ret;
	memcpy(program->code.addr, image->start, bytes);
	/* kernel.ld puts the descriptor first; its first word is the LDS size */
	program->kernel_object = (uintptr_t)program->code.addr;
	memcpy(&program->group_segment_bytes, image->start,
	       sizeof(program->group_segment_bytes));
	return 0;
}

void gpu_program_free(struct kfd_device *dev, struct gpu_program *program)
{
	kfd_buffer_free(dev, &program->code);
}
