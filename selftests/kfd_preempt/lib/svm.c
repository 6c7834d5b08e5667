// SPDX-License-Identifier: GPL-2.0-only
/* Shared virtual memory. */
#include "svm.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/mman.h>

#define LOCATION_SYSTEM 0u
#define GRANULARITY_ALL 0xffu
#define NUM_ATTRIBUTES 4u

struct svm_call {
	struct kfd_ioctl_svm_args args;
	struct kfd_ioctl_svm_attribute attribute[NUM_ATTRIBUTES];
};

static int set_attributes(const struct kfd_device *dev, const struct kfd_buffer *buf)
{
	struct svm_call call = {
		.args = {
			.start_addr = (uintptr_t)buf->addr,
			.size = buf->bytes,
			.op = KFD_IOCTL_SVM_OP_SET_ATTR,
			.nattr = NUM_ATTRIBUTES,
		},
		.attribute = {
			{ KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, LOCATION_SYSTEM },
			{ KFD_IOCTL_SVM_ATTR_SET_FLAGS,
			  KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT |
			  KFD_IOCTL_SVM_FLAG_GPU_EXEC | KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED },
			{ KFD_IOCTL_SVM_ATTR_ACCESS, dev->gpu_id },
			{ KFD_IOCTL_SVM_ATTR_GRANULARITY, GRANULARITY_ALL },
		},
	};

	/* The size in the command counts the attributes. */
	return kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_SVM + (sizeof(call.attribute) << _IOC_SIZESHIFT), &call);
}

int svm_create(struct kfd_device *dev, size_t bytes, struct kfd_buffer *buf)
{
	int ret;

	buf->bytes = bytes;
	buf->handle = 0;
	buf->addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf->addr == MAP_FAILED)
		return -errno;
	memset(buf->addr, 0, bytes);
	ret = set_attributes(dev, buf);
	if (ret)
		svm_free(buf);
	return ret;
}

void svm_free(struct kfd_buffer *buf)
{
	if (buf->addr)
		munmap(buf->addr, buf->bytes);
	buf->addr = NULL;
}

bool svm_is_there(const struct kfd_device *dev)
{
	struct kfd_buffer none = {};

	/* Without a size: EINVAL from a driver that has it, EPERM or ENOTTY from others. */
	return set_attributes(dev, &none) == -EINVAL;
}
