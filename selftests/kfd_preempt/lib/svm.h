/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared virtual memory: a range of the process that the GPU maps, as ROCr gives it the save area of a queue. */
#ifndef SELFTESTS_SVM_H
#define SELFTESTS_SVM_H

#include <stdbool.h>

#include "kfd_device.h"

/* Whether the kernel has it (CONFIG_HSA_AMD_SVM). */
bool svm_is_there(const struct kfd_device *dev);

/* A range that is always mapped, in system memory. */
int svm_create(struct kfd_device *dev, size_t bytes, struct kfd_buffer *buf);
void svm_free(struct kfd_buffer *buf);

#endif
