/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes KFD evict the queues of a process; KFD restores them later. */
#ifndef SELFTESTS_EVICT_H
#define SELFTESTS_EVICT_H

#include "kfd_device.h"

/* Moves everything out of "vram" or "gtt", of all processes. Needs root and debugfs. */
int evict_all(const char *what);

/* Anonymous memory of this process that the GPU maps; kfd_buffer_free() frees it. */
int userptr_create(struct kfd_device *dev, size_t bytes, struct kfd_buffer *buf);

/* Some of it, whose pages can go. */
int evict_userptr_create(struct kfd_device *dev, struct kfd_buffer *buf);

/* Its pages go: KFD stops the queues of this process until it has mapped new ones. */
int evict_userptr(const struct kfd_buffer *buf);

#endif
