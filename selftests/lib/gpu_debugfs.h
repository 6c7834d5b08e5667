/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of amdgpu in debugfs that do something when they are read. Needs root. */
#ifndef SELFTESTS_GPU_DEBUGFS_H
#define SELFTESTS_GPU_DEBUGFS_H

/* Of the first GPU that has the file. Returns when it is done: 0 or a negative errno. */
int gpu_debugfs_read(const char *name);

#endif
