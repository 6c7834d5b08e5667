// SPDX-License-Identifier: GPL-2.0-only
/* Makes KFD evict the queues of a process; KFD restores them later. */
#include "evict.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_debugfs.h"

#define BYTES 65536ul

int evict_all(const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "amdgpu_evict_%s", what);
	return gpu_debugfs_read(name);
}

int userptr_create(struct kfd_device *dev, size_t bytes, struct kfd_buffer *buf)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {};
	struct kfd_ioctl_map_memory_to_gpu_args map = {};
	int ret;

	buf->bytes = bytes;
	buf->addr = mmap(NULL, buf->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (buf->addr == MAP_FAILED)
		return -errno;
	alloc.va_addr = (uintptr_t)buf->addr;
	alloc.mmap_offset = (uintptr_t)buf->addr;
	alloc.size = buf->bytes;
	alloc.gpu_id = dev->gpu_id;
	alloc.flags = (uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
		      KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE |
		      KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
		      KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc);
	if (ret)
		return ret;
	buf->handle = alloc.handle;
	map.handle = alloc.handle;
	map.device_ids_array_ptr = (uintptr_t)&dev->gpu_id;
	map.n_devices = 1;
	return kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);
}

int evict_userptr_create(struct kfd_device *dev, struct kfd_buffer *buf)
{
	return userptr_create(dev, BYTES, buf);
}

int evict_userptr(const struct kfd_buffer *buf)
{
	return madvise(buf->addr, buf->bytes, MADV_DONTNEED) ? -errno : 0;
}
