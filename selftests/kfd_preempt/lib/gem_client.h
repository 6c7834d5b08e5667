/* SPDX-License-Identifier: GPL-2.0-only */
/* A client of DRM without KFD: buffers of its own address space, and SDMA commands on them. */
#ifndef SELFTESTS_GEM_CLIENT_H
#define SELFTESTS_GEM_CLIENT_H

#include <stdint.h>

/* All functions return 0 or a negative errno. */

enum gem_placement {
	GEM_IN_SYSTEM,
	GEM_IN_VRAM,
};

struct gem_buffer {
	uint32_t handle;
	uint64_t bytes;
	uint64_t va;	/* of the GPU */
	void *addr;	/* of the CPU; NULL in VRAM */
};

struct gem_client {
	int fd;
	uint32_t ctx_id;
	uint64_t next_va;
	struct gem_buffer commands;
};

/* Opens the render node once more, with a VM that KFD doesn't share. */
int gem_client_open(uint32_t render_minor, struct gem_client *client);
void gem_client_close(struct gem_client *client);

/* Evicts other buffers from a full VRAM. The buffer lives as long as the client. */
int gem_buffer_alloc(struct gem_client *client, enum gem_placement placement, uint64_t bytes,
		     struct gem_buffer *buf);

/* Maps, for the GPU, a buffer that another process has exported as that file. */
int gem_buffer_import(struct gem_client *client, int file, uint64_t bytes,
		      struct gem_buffer *buf);

/*
 * One job on an SDMA ring of the driver, which runs under a VMID of the memory hub once its buffers
 * are in place. Both functions wait until it is done: -ETIME if it doesn't end, -ECANCELED if a
 * GPU reset ended it.
 */
int gem_fill(struct gem_client *client, const struct gem_buffer *buf, uint32_t value);
int gem_copy(struct gem_client *client, const struct gem_buffer *from,
	     const struct gem_buffer *to);

#endif
