// SPDX-License-Identifier: GPL-2.0-only
/* A client of DRM without KFD: buffers of its own address space, and SDMA commands on them. */
#include "gem_client.h"

#include <drm/amdgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd_device.h"
#include "wait.h"

#define FIRST_VA 0x100000000ull
#define VA_ALIGN 0x200000ull	/* so that large pages fit */
#define COMMAND_BYTES 65536u
#define WAIT_NS 300000000000ull	/* longer than the driver waits before it resets the GPU */

/* vega10_sdma_pkt_open.h */
#define OP_COPY_LINEAR 1u
#define OP_CONST_FILL 11u
#define FILL_DWORDS (2u << 30)
#define PACKET_BYTES_MAX 0x200000u
#define COPY_DWORDS 7u		/* the longer one of the two packets */
#define COMMANDS_ALIGN 8u	/* dwords; zero is a NOP */

/*
 * Calls again after -EAGAIN, as drmIoctl() of libdrm does: amdgpu_cs_submit() returns it if a
 * buffer was evicted since the call has checked all of them.
 */
static int drm_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret;

	do {
		ret = kfd_ioctl(fd, cmd, arg);
	} while (ret == -EAGAIN);
	return ret;
}

static int map_buffer(struct gem_client *client, uint32_t handle, uint64_t bytes,
		      struct gem_buffer *buf)
{
	struct drm_amdgpu_gem_va map = {};

	buf->handle = handle;
	buf->bytes = bytes;
	buf->va = client->next_va;
	client->next_va += (bytes + VA_ALIGN - 1) / VA_ALIGN * VA_ALIGN;

	map.handle = buf->handle;
	map.operation = AMDGPU_VA_OP_MAP;
	map.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE;
	map.va_address = buf->va;
	map.map_size = bytes;
	return drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_GEM_VA, &map);
}

int gem_buffer_alloc(struct gem_client *client, enum gem_placement placement, uint64_t bytes,
		     struct gem_buffer *buf)
{
	union drm_amdgpu_gem_create create = {};
	union drm_amdgpu_gem_mmap at = {};
	int ret;

	memset(buf, 0, sizeof(*buf));
	create.in.bo_size = bytes;
	create.in.domains = placement == GEM_IN_VRAM ? AMDGPU_GEM_DOMAIN_VRAM :
						       AMDGPU_GEM_DOMAIN_GTT;
	if (placement == GEM_IN_VRAM)
		create.in.domain_flags = AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
	ret = drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);
	if (ret)
		return ret;
	ret = map_buffer(client, create.out.handle, bytes, buf);
	if (ret || placement == GEM_IN_VRAM)
		return ret;

	at.in.handle = buf->handle;
	ret = drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &at);
	if (ret)
		return ret;
	buf->addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, client->fd,
			 (off_t)at.out.addr_ptr);
	return buf->addr == MAP_FAILED ? -errno : 0;
}

int gem_buffer_import(struct gem_client *client, int file, uint64_t bytes, struct gem_buffer *buf)
{
	struct drm_prime_handle import = { .fd = file };
	int ret = drm_ioctl(client->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &import);

	memset(buf, 0, sizeof(*buf));
	return ret ? ret : map_buffer(client, import.handle, bytes, buf);
}

int gem_client_open(uint32_t render_minor, struct gem_client *client)
{
	union drm_amdgpu_ctx ctx = { .in.op = AMDGPU_CTX_OP_ALLOC_CTX };
	char path[64];
	int ret;

	memset(client, 0, sizeof(*client));
	client->next_va = FIRST_VA;
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", render_minor);
	client->fd = open(path, O_RDWR | O_CLOEXEC);
	if (client->fd < 0)
		return -errno;
	ret = drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_CTX, &ctx);
	if (ret)
		return ret;
	client->ctx_id = ctx.out.alloc.ctx_id;
	return gem_buffer_alloc(client, GEM_IN_SYSTEM, COMMAND_BYTES, &client->commands);
}

void gem_client_close(struct gem_client *client)
{
	/* A mapping would keep the file, and all its buffers. */
	munmap(client->commands.addr, client->commands.bytes);
	close(client->fd);
}

static int wait_for(struct gem_client *client, uint64_t handle)
{
	union drm_amdgpu_wait_cs wait = {};
	int ret;

	wait.in.handle = handle;
	wait.in.timeout = now_ns() + WAIT_NS;
	wait.in.ip_type = AMDGPU_HW_IP_DMA;
	wait.in.ctx_id = client->ctx_id;
	ret = drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_WAIT_CS, &wait);
	if (ret)
		return ret;
	return wait.out.status ? -ETIME : 0;
}

static int submit(struct gem_client *client, const struct gem_buffer *first,
		  const struct gem_buffer *second, uint32_t dwords)
{
	struct drm_amdgpu_bo_list_entry buffers[] = {
		{ .bo_handle = client->commands.handle },
		{ .bo_handle = first->handle },
		{ .bo_handle = second ? second->handle : 0 },
	};
	struct drm_amdgpu_bo_list_in list = {
		.operation = ~0u,
		.list_handle = ~0u,
		.bo_number = second ? 3 : 2,
		.bo_info_size = sizeof(buffers[0]),
		.bo_info_ptr = (uintptr_t)buffers,
	};
	struct drm_amdgpu_cs_chunk_ib commands = {
		.va_start = client->commands.va,
		.ib_bytes = (dwords + COMMANDS_ALIGN - 1) / COMMANDS_ALIGN * COMMANDS_ALIGN * 4,
		.ip_type = AMDGPU_HW_IP_DMA,
	};
	struct drm_amdgpu_cs_chunk chunks[] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(commands) / 4, (uintptr_t)&commands },
	};
	uint64_t pointers[] = { (uintptr_t)&chunks[0], (uintptr_t)&chunks[1] };
	union drm_amdgpu_cs cs = {};
	int ret;

	cs.in.ctx_id = client->ctx_id;
	cs.in.num_chunks = 2;
	cs.in.chunks = (uintptr_t)pointers;
	ret = drm_ioctl(client->fd, DRM_IOCTL_AMDGPU_CS, &cs);
	return ret ? ret : wait_for(client, cs.out.handle);
}

static uint32_t part_of(uint64_t bytes, uint64_t done)
{
	return bytes - done < PACKET_BYTES_MAX ? (uint32_t)(bytes - done) : PACKET_BYTES_MAX;
}

static bool commands_fit(uint64_t bytes)
{
	return bytes / PACKET_BYTES_MAX + 1 < COMMAND_BYTES / 4 / COPY_DWORDS;
}

int gem_fill(struct gem_client *client, const struct gem_buffer *buf, uint32_t value)
{
	uint32_t *commands = client->commands.addr, *at = commands;
	uint64_t done;

	if (!commands_fit(buf->bytes))
		return -EINVAL;
	memset(commands, 0, COMMAND_BYTES);
	for (done = 0; done < buf->bytes; done += PACKET_BYTES_MAX) {
		*at++ = OP_CONST_FILL | FILL_DWORDS;
		*at++ = (uint32_t)(buf->va + done);
		*at++ = (uint32_t)((buf->va + done) >> 32);
		*at++ = value;
		*at++ = part_of(buf->bytes, done) - 4;
	}
	return submit(client, buf, NULL, (uint32_t)(at - commands));
}

int gem_copy(struct gem_client *client, const struct gem_buffer *from, const struct gem_buffer *to)
{
	uint32_t *commands = client->commands.addr, *at = commands;
	uint64_t done;

	if (!commands_fit(from->bytes) || from->bytes > to->bytes)
		return -EINVAL;
	memset(commands, 0, COMMAND_BYTES);
	for (done = 0; done < from->bytes; done += PACKET_BYTES_MAX) {
		*at++ = OP_COPY_LINEAR;
		*at++ = part_of(from->bytes, done) - 1;
		*at++ = 0;
		*at++ = (uint32_t)(from->va + done);
		*at++ = (uint32_t)((from->va + done) >> 32);
		*at++ = (uint32_t)(to->va + done);
		*at++ = (uint32_t)((to->va + done) >> 32);
	}
	return submit(client, from, to, (uint32_t)(at - commands));
}
