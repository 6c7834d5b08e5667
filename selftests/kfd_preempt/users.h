/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that aren't root: another user, a user namespace of its own. */
#ifndef KFD_PREEMPT_USERS_H
#define KFD_PREEMPT_USERS_H

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A user who may open the GPU (selftests/vm/build). */
#define USER 1000
#define RENDER 106

/* The parameter of the driver, or -1. */
static inline int operator_mode(void)
{
	FILE *file = fopen("/sys/module/amdgpu/parameters/operator_mode", "re");
	int mode = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &mode) != 1)
		mode = -1;
	fclose(file);
	return mode;
}

static inline bool keep_render_group(void)
{
	const gid_t groups[] = { RENDER };

	return !setgroups(1, groups);
}

static inline bool become_user(void)
{
	return keep_render_group() && !setresgid(USER, USER, USER) && !setresuid(USER, USER, USER);
}

static inline bool write_id_map(pid_t pid, const char *name)
{
	const char text[] = "0 1000 1\n";	/* USER */
	char path[64];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* Like a program of the namespace, which has its memory from exec. */
static inline bool become_root_of_namespace(void)
{
	return !setresgid(0, 0, 0) && !setresuid(0, 0, 0) && !prctl(PR_SET_DUMPABLE, 1);
}

/*
 * Makes the caller, which must be root, root of a new user namespace and USER outside of it. A child
 * that stays outside writes the maps.
 */
static inline bool enter_new_user_namespace(void)
{
	pid_t self = getpid(), child;
	int ready[2], status;
	char byte = 0;

	if (!keep_render_group() || pipe(ready))
		return false;
	child = fork();
	if (!child) {
		if (read(ready[0], &byte, 1) != 1)
			_exit(1);
		_exit(write_id_map(self, "uid_map") && write_id_map(self, "gid_map") ? 0 : 1);
	}
	if (child < 0 || unshare(CLONE_NEWUSER) || write(ready[1], &byte, 1) != 1)
		return false;
	close(ready[0]);
	close(ready[1]);
	return waitpid(child, &status, 0) == child && !status && become_root_of_namespace();
}

/* Makes the caller, which must be root, root of the user namespace of a process. */
static inline bool enter_user_namespace_of(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !keep_render_group() || setns(fd, CLONE_NEWUSER))
		return false;
	close(fd);
	return become_root_of_namespace();
}

#endif
