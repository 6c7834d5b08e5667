/* SPDX-License-Identifier: GPL-2.0-only */
/* A GPU program of kernels/, loaded where the GPU can run it. */
#ifndef SELFTESTS_GPU_PROGRAM_H
#define SELFTESTS_GPU_PROGRAM_H

#include <stdint.h>

#include "kfd_device.h"

struct gpu_code {
	const unsigned char *start;	/* NULL: none for that GPU */
	const unsigned char *end;
};

/* gfx950 runs the code of gfx942: these programs use no instruction that it lost. */
struct gpu_image {
	struct gpu_code gfx942;
	struct gpu_code gfx90a;
	struct gpu_code gfx908;
};

struct gpu_program {
	struct kfd_buffer code;
	uint64_t kernel_object;
	uint32_t group_segment_bytes;
};

extern const struct gpu_image gpu_image_count;
extern const struct gpu_image gpu_image_checksum;
extern const struct gpu_image gpu_image_stay;
extern const struct gpu_image gpu_image_whereabouts;
extern const struct gpu_image gpu_image_gws_init;
extern const struct gpu_image gpu_image_gws_meet;
/* A trap handler, which has no descriptor: its code is at the beginning. */
extern const struct gpu_image gpu_image_count_traps;

/* -EOPNOTSUPP: there is no code of that program for this GPU. */
int gpu_program_load(struct kfd_device *dev, const struct gpu_image *image,
		     struct gpu_program *program);
void gpu_program_free(struct kfd_device *dev, struct gpu_program *program);

#endif
