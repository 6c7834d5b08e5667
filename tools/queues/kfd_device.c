// SPDX-License-Identifier: GPL-2.0-only
/* A GPU of KFD, its memory, and the mapping of both into this process. */
#include "kfd_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kfd_ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

/* kfd_queue.c: what of a CU and of a wave is in the CWSR area of gfx9 */
#define WAVES_PER_CU 40
#define WAVES_PER_ENGINE 512
#define VGPR_BYTES_PER_CU 0x40000u
#define VGPR_BYTES_PER_CU_WITH_ACC 0x80000u
#define SGPR_BYTES_PER_CU 0x4000u
#define LDS_BYTES_PER_CU 0x10000u
#define HWREG_BYTES_PER_CU 0x1000u
#define CTL_STACK_HEADER_BYTES (40 + 8)
#define CTL_STACK_BYTES_PER_WAVE 8
#define DEBUGGER_BYTES_PER_WAVE 32
#define DEBUGGER_BYTES_ALIGN 64

#define PAGE_BYTES 4096ul
/* A process has two pages of doorbells on gfx9 (KFD_DOORBELL_PER_PROCESS). */
#define DOORBELL_BYTES 8192ul

static uint64_t align_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

int kfd_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, cmd, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

int kfd_answer_to_unknown(int fd)
{
	uint64_t nothing[2] = {};

	return kfd_ioctl(fd, _IOWR('K', 0xff, nothing), nothing);
}

int kfd_open(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_number(const char *node, const char *file, uint64_t *value)
{
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), TOPOLOGY "/%s/%s", node, file);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fscanf(f, "%" SCNu64, value);
	fclose(f);
	return n == 1 ? 0 : -EIO;
}

static uint64_t read_property(const char *node, const char *name)
{
	char path[512], key[64];
	uint64_t value, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), TOPOLOGY "/%s/properties", node);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fscanf(f, "%63s %" SCNu64, key, &value) == 2) {
		if (!strcmp(key, name))
			found = value;
	}
	fclose(f);
	return found;
}

static uint64_t bytes_per_cu(const char *node, uint32_t version)
{
	bool acc = version / 100 == 904 || version == 90500 || version == 90010 || version == 90008;
	uint64_t lds = version == 90500 ? read_property(node, "lds_size_in_kb") << 10 : LDS_BYTES_PER_CU;

	return (acc ? VGPR_BYTES_PER_CU_WITH_ACC : VGPR_BYTES_PER_CU) + SGPR_BYTES_PER_CU + lds +
	       HWREG_BYTES_PER_CU;
}

/*
 * The size of a queue's CWSR area. Debian's driver shows it in the topology. ROCm's 6.12.12 accepts no
 * other size and doesn't show it; it is computed here as kfd_queue_ctx_save_restore_size() does.
 */
static void size_save_area(const char *node, struct kfd_device *dev, uint64_t cus, uint64_t waves)
{
	uint64_t ctl_stack = align_up(CTL_STACK_HEADER_BYTES + waves * CTL_STACK_BYTES_PER_WAVE,
				      PAGE_BYTES);
	uint64_t data = align_up(cus * bytes_per_cu(node, dev->gfx_target_version), PAGE_BYTES);

	dev->computed_ctl_stack_bytes = (uint32_t)ctl_stack;
	dev->computed_cwsr_bytes = (uint32_t)(ctl_stack + data);
	dev->ctl_stack_bytes = (uint32_t)(read_property(node, "ctl_stack_size") ?: ctl_stack);
	dev->cwsr_bytes = (uint32_t)(read_property(node, "cwsr_size") ?: ctl_stack + data);
	dev->cwsr_debug_bytes = (uint32_t)align_up(waves * DEBUGGER_BYTES_PER_WAVE,
						   DEBUGGER_BYTES_ALIGN);
}

static void read_node(const char *node, struct kfd_device *dev)
{
	uint64_t xccs = read_property(node, "num_xcc");
	uint64_t cus, engines, waves;

	if (!xccs)
		xccs = 1;
	cus = read_property(node, "simd_count");
	cus /= read_property(node, "simd_per_cu") ?: 4;
	cus /= xccs;
	engines = read_property(node, "array_count");
	engines /= read_property(node, "simd_arrays_per_engine") ?: 1;
	waves = cus * WAVES_PER_CU;
	if (waves > engines * WAVES_PER_ENGINE)
		waves = engines * WAVES_PER_ENGINE;

	dev->num_xcc = (uint32_t)xccs;
	dev->num_sdma = (uint32_t)(read_property(node, "num_sdma_engines") +
				   read_property(node, "num_sdma_xgmi_engines"));
	dev->gfx_target_version = (uint32_t)read_property(node, "gfx_target_version");
	dev->render_minor = (uint32_t)read_property(node, "drm_render_minor");
	size_save_area(node, dev, cus, waves);
	dev->eop_bytes = PAGE_BYTES;
}

/* The first in the topology that isn't `except`, or the one that is `only`; 0: none is named. */
static int find_gpu(struct kfd_device *dev, uint32_t only, uint32_t except)
{
	struct dirent *entry;
	uint64_t gpu_id;
	DIR *dir = opendir(TOPOLOGY);

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		/* CPU nodes have gpu_id 0 */
		if (read_number(entry->d_name, "gpu_id", &gpu_id) || !gpu_id || gpu_id == except)
			continue;
		if (only && gpu_id != only)
			continue;
		dev->gpu_id = (uint32_t)gpu_id;
		read_node(entry->d_name, dev);
		break;
	}
	closedir(dir);
	return dev->gpu_id ? 0 : -ENODEV;
}

static int open_gpu(struct kfd_device *dev, uint32_t only, uint32_t except)
{
	struct kfd_ioctl_acquire_vm_args vm = {};
	char path[64];
	int ret;

	memset(dev, 0, sizeof(*dev));
	dev->render_fd = -1;
	dev->kfd_fd = kfd_open();
	if (dev->kfd_fd < 0)
		return dev->kfd_fd;
	ret = find_gpu(dev, only, except);
	if (ret)
		goto fail;
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", dev->render_minor);
	dev->render_fd = open(path, O_RDWR | O_CLOEXEC);
	if (dev->render_fd < 0) {
		ret = -errno;
		goto fail;
	}
	vm.drm_fd = (uint32_t)dev->render_fd;
	vm.gpu_id = dev->gpu_id;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_ACQUIRE_VM, &vm);
	if (!ret)
		return 0;
fail:
	kfd_device_close(dev);
	return ret;
}

int kfd_device_open(struct kfd_device *dev)
{
	return open_gpu(dev, 0, 0);
}

int kfd_device_open_second(struct kfd_device *dev, const struct kfd_device *first)
{
	return open_gpu(dev, 0, first->gpu_id);
}

int kfd_device_open_gpu(struct kfd_device *dev, uint32_t gpu_id)
{
	return open_gpu(dev, gpu_id, 0);
}

void kfd_device_close(struct kfd_device *dev)
{
	if (dev->hdp_flush)
		munmap((void *)dev->hdp_flush, PAGE_BYTES);
	dev->hdp_flush = NULL;
	if (dev->render_fd >= 0)
		close(dev->render_fd);
	if (dev->kfd_fd >= 0)
		close(dev->kfd_fd);
	dev->render_fd = -1;
	dev->kfd_fd = -1;
}

static uint32_t placement_flags(enum kfd_placement placement)
{
	uint32_t flags = (uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;

	switch (placement) {
	case KFD_IN_SYSTEM:
		/* CP reads packets from here, so as libhsakmt: executable */
		return flags | KFD_IOC_ALLOC_MEM_FLAGS_GTT |
		       KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
		       KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
	case KFD_IN_VRAM_EXEC:
		flags |= KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE;
		break;
	case KFD_IN_VRAM:
		break;
	}
	return flags | KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
}

/* Reserves an address for both and gives the GPU memory there. */
static int alloc_for_gpu(struct kfd_device *dev, uint32_t flags, size_t bytes,
			 struct kfd_buffer *buf, uint64_t *mmap_offset)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {};
	struct kfd_ioctl_map_memory_to_gpu_args map = {};
	int ret;

	buf->bytes = align_up(bytes, PAGE_BYTES);
	buf->addr = mmap(NULL, buf->bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buf->addr == MAP_FAILED)
		return -errno;

	alloc.va_addr = (uintptr_t)buf->addr;
	alloc.size = buf->bytes;
	alloc.gpu_id = dev->gpu_id;
	alloc.flags = flags;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &alloc);
	if (ret)
		goto unmap;
	buf->handle = alloc.handle;
	*mmap_offset = alloc.mmap_offset;

	map.handle = alloc.handle;
	map.device_ids_array_ptr = (uintptr_t)&dev->gpu_id;
	map.n_devices = 1;
	ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);
	if (!ret)
		return 0;
	kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU,
		  &(struct kfd_ioctl_free_memory_of_gpu_args){ .handle = alloc.handle });
unmap:
	munmap(buf->addr, buf->bytes);
	buf->addr = NULL;
	return ret;
}

int kfd_buffer_alloc(struct kfd_device *dev, enum kfd_placement placement,
		     size_t bytes, struct kfd_buffer *buf)
{
	uint64_t mmap_offset;
	int ret = alloc_for_gpu(dev, placement_flags(placement), bytes, buf, &mmap_offset);

	if (ret)
		return ret;
	if (mmap(buf->addr, buf->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 dev->render_fd, (off_t)mmap_offset) == MAP_FAILED) {
		ret = -errno;
		kfd_buffer_free(dev, buf);
		return ret;
	}
	/* System memory comes as zeros; to write them would fault in each page of a save area. */
	if (placement != KFD_IN_SYSTEM) {
		memset(buf->addr, 0, buf->bytes);
		kfd_hdp_flush(dev);
	}
	return 0;
}

int kfd_hdp_map(struct kfd_device *dev)
{
	struct kfd_buffer page = {};
	uint64_t mmap_offset;
	int ret = alloc_for_gpu(dev, (uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
				KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
				KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP |
				KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE, PAGE_BYTES, &page,
				&mmap_offset);

	if (ret)
		return ret;
	if (mmap(page.addr, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dev->kfd_fd,
		 (off_t)mmap_offset) == MAP_FAILED) {
		ret = -errno;
		kfd_buffer_free(dev, &page);
		return ret;
	}
	/* KFD frees what belongs to the page with the process. */
	dev->hdp_flush = (volatile uint32_t *)((char *)page.addr +
					       KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL);
	return 0;
}

void kfd_hdp_flush(struct kfd_device *dev)
{
	if (dev->hdp_flush)
		*dev->hdp_flush = 1;
}

int kfd_doorbells_alloc(struct kfd_device *dev, struct kfd_buffer *buf)
{
	uint64_t mmap_offset;

	return alloc_for_gpu(dev, (uint32_t)KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			     KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL |
			     KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE, DOORBELL_BYTES, buf,
			     &mmap_offset);
}

void kfd_buffer_free(struct kfd_device *dev, struct kfd_buffer *buf)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {};
	struct kfd_ioctl_free_memory_of_gpu_args release = {};

	if (!buf->addr)
		return;
	unmap.handle = buf->handle;
	unmap.device_ids_array_ptr = (uintptr_t)&dev->gpu_id;
	unmap.n_devices = 1;
	kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap);
	munmap(buf->addr, buf->bytes);
	release.handle = buf->handle;
	kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &release);
	buf->addr = NULL;
}

/* Aligned to its size, so that a doorbell tells where the mapping begins. */
int kfd_doorbell_map(struct kfd_device *dev, uint64_t offset, volatile uint64_t **doorbell)
{
	const size_t room = 2 * DOORBELL_BYTES;
	char *start, *pages;

	start = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return -errno;
	pages = start + (-(uintptr_t)start & (DOORBELL_BYTES - 1));
	if (mmap(pages, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dev->kfd_fd,
		 (off_t)(offset & ~(DOORBELL_BYTES - 1))) == MAP_FAILED) {
		int ret = -errno;

		munmap(start, room);
		return ret;
	}
	if (pages > start)
		munmap(start, (size_t)(pages - start));
	munmap(pages + DOORBELL_BYTES, room - DOORBELL_BYTES - (size_t)(pages - start));
	*doorbell = (volatile uint64_t *)(pages + (offset & (DOORBELL_BYTES - 1)));
	return 0;
}

void kfd_doorbell_unmap(volatile uint64_t **doorbell)
{
	if (*doorbell)
		munmap((void *)((uintptr_t)*doorbell & ~(DOORBELL_BYTES - 1)), DOORBELL_BYTES);
	*doorbell = NULL;
}
