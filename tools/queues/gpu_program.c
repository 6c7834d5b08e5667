// SPDX-License-Identifier: GPL-2.0-only
/* A GPU program of kernels/, loaded where the GPU can run it. */
#include "gpu_program.h"

#include <errno.h>
#include <string.h>

#define CODE(name) { gpu_ ## name ## _start, gpu_ ## name ## _end }
#define DECLARE(name) extern const unsigned char gpu_ ## name ## _start[], gpu_ ## name ## _end[]
#define IMAGE(name)								\
	DECLARE(name);								\
	DECLARE(name ## gfx90a);						\
	DECLARE(name ## gfx908);						\
	const struct gpu_image gpu_image_ ## name = {				\
		.gfx942 = CODE(name),						\
		.gfx90a = CODE(name ## gfx90a),					\
		.gfx908 = CODE(name ## gfx908),					\
	}

IMAGE(count);
IMAGE(checksum);
IMAGE(stay);
IMAGE(whereabouts);
IMAGE(gws_init);
IMAGE(gws_meet);
IMAGE(count_traps);

static const struct gpu_code *code_for(const struct kfd_device *dev, const struct gpu_image *image)
{
	switch (dev->gfx_target_version) {
	case 90008:
		return &image->gfx908;
	case 90010:
		return &image->gfx90a;
	default:
		return &image->gfx942;
	}
}

int gpu_program_load(struct kfd_device *dev, const struct gpu_image *image,
		     struct gpu_program *program)
{
	const struct gpu_code *code = code_for(dev, image);
	size_t bytes;
	int ret;

	if (!code->start)
		return -EOPNOTSUPP;
	bytes = (size_t)(code->end - code->start);
	/* The GPU fetches instructions ahead: leave room behind the last one. */
	ret = kfd_buffer_alloc(dev, KFD_IN_VRAM_EXEC, bytes + 256, &program->code);
	if (ret)
		return ret;
	memcpy(program->code.addr, code->start, bytes);
	kfd_hdp_flush(dev);
	/* kernel.ld puts the descriptor first; its first word is the LDS size */
	program->kernel_object = (uintptr_t)program->code.addr;
	memcpy(&program->group_segment_bytes, code->start,
	       sizeof(program->group_segment_bytes));
	return 0;
}

void gpu_program_free(struct kfd_device *dev, struct gpu_program *program)
{
	kfd_buffer_free(dev, &program->code);
}
