/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of amdgpu in debugfs, of the first GPU that has them. Needs root. */
#ifndef SELFTESTS_GPU_DEBUGFS_H
#define SELFTESTS_GPU_DEBUGFS_H

#include <stddef.h>

/* Both return 0 or a negative errno. */

/* A file that does something when it is read: returns when that is done. */
int gpu_debugfs_read(const char *name);

/* Reads as much of a file as fits into text, and appends a zero byte. */
int gpu_debugfs_text(const char *name, char *text, size_t bytes);

#endif
