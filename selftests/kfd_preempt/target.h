/* SPDX-License-Identifier: GPL-2.0-only */
/* Another process with a queue and a running kernel, for operators to act on. */
#ifndef KFD_PREEMPT_TARGET_H
#define KFD_PREEMPT_TARGET_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aql_queue.h"
#include "jobs.h"
#include "kfd_lock.h"
#include "preempt.h"
#include "wait.h"

enum target_order {
	TARGET_IDLE,
	TARGET_PREEMPT,		/* its own queue */
	TARGET_RESUME,
	TARGET_PREEMPT_FAST,
	TARGET_LOCK,		/* its mutex in KFD, until TARGET_UNLOCK */
	TARGET_UNLOCK,
	TARGET_DESTROY,		/* its queue, in mid-kernel */
	TARGET_FINISH,		/* stop the job, check it, exit */
};

/* Shared between both processes; each word has one writer at a time. */
struct target_shared {
	uint32_t ready;
	uint32_t queue_id;
	int32_t kfd_fd;		/* of /dev/kfd, in that process */
	uint32_t progress;
	uint32_t updates;		/* times that progress was brought up to date */
	uint32_t order;		/* back to TARGET_IDLE when done */
	int32_t result;
};

struct target {
	pid_t pid;
	uint32_t queue_id;
	struct target_shared *shared;
};

#define TARGET_TIMEOUT_MS 30000u

static inline uint32_t shared_get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void shared_set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline int target_finish_job(struct job *job)
{
	job_stop(job);
	if (!job_wait(job, TARGET_TIMEOUT_MS))
		return -ETIME;
	return job_errors(job) ? -EIO : 0;
}

/* Calls `prepare`, unless NULL, with the queue before the target is ready. */
static inline void target_run_with(struct target_shared *shared,
				   void (*prepare)(struct aql_queue *))
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct kfd_lock lock;
	struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kfd_device_open(&dev) || aql_queue_create(&dev, &queue) ||
	    checksum_job_start(&job, &queue, 2, 2) ||
	    !job_wait_progress(&job, 2, TARGET_TIMEOUT_MS))
		_exit(1);
	if (prepare)
		prepare(&queue);
	shared->queue_id = queue.id;
	shared->kfd_fd = dev.kfd_fd;
	shared_set(&shared->ready, 1);
	for (;;) {
		enum target_order order = shared_get(&shared->order);

		shared_set(&shared->progress, job_progress(&job, 0));
		shared_set(&shared->updates, shared->updates + 1);
		switch (order) {
		case TARGET_IDLE:
			sleep_us(500);
			continue;
		case TARGET_PREEMPT:
			shared->result = preempt_queue(dev.kfd_fd, queue.id);
			break;
		case TARGET_RESUME:
			shared->result = resume_queue(dev.kfd_fd, queue.id);
			break;
		case TARGET_PREEMPT_FAST:
			shared->result = switch_preempt(dev.kfd_fd, 0, KFD_PREEMPT_SWITCH_FAST,
							queue.id);
			break;
		case TARGET_LOCK:
			shared->result = kfd_lock_take(&dev, &lock);
			break;
		case TARGET_UNLOCK:
			shared->result = kfd_lock_release(&lock);
			break;
		case TARGET_DESTROY:
			shared->result = aql_queue_destroy(&queue);
			break;
		case TARGET_FINISH:
			_exit(target_finish_job(&job) ? 1 : 0);
		}
		shared_set(&shared->order, TARGET_IDLE);
	}
}

static inline void target_run(struct target_shared *shared)
{
	target_run_with(shared, NULL);
}

static inline bool target_is_ready(const void *shared)
{
	return shared_get(&((const struct target_shared *)shared)->ready);
}

static inline bool target_is_idle(const void *shared)
{
	return shared_get(&((const struct target_shared *)shared)->order) == TARGET_IDLE;
}

/* The new process calls `run`, which doesn't return. Returns 0 or a negative errno. */
static inline int target_start_as(struct target *target, void (*run)(struct target_shared *))
{
	target->shared = mmap(NULL, sizeof(*target->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (target->shared == MAP_FAILED)
		return -errno;
	target->pid = fork();
	if (target->pid < 0)
		return -errno;
	if (!target->pid)
		run(target->shared);
	if (!wait_until(target_is_ready, target->shared, TARGET_TIMEOUT_MS))
		return -ETIME;
	target->queue_id = target->shared->queue_id;
	return 0;
}

static inline int target_start(struct target *target)
{
	return target_start_as(target, target_run);
}

/* Returns the result of the target's own call, or -ETIME if the call isn't over in time. */
static inline int target_order_within(struct target *target, enum target_order order,
				      unsigned int timeout_ms)
{
	shared_set(&target->shared->order, order);
	if (!wait_until(target_is_idle, target->shared, timeout_ms))
		return -ETIME;
	return target->shared->result;
}

static inline int target_order(struct target *target, enum target_order order)
{
	return target_order_within(target, order, TARGET_TIMEOUT_MS);
}

/* A copy of its file of /dev/kfd, or a negative errno. */
static inline int target_file(const struct target *target)
{
	int pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0), fd;

	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, target->shared->kfd_fd, 0);
	if (fd < 0)
		fd = -errno;
	close(pidfd);
	return fd;
}

/*
 * The target itself polls its counter and publishes it. The current value may be old; the second of
 * the next two polls began after this call. Returns false if the target no longer polls.
 */
static inline bool target_has_looked(const struct target *target)
{
	uint32_t before = shared_get(&target->shared->updates);
	unsigned int ms;

	for (ms = 0; ms < TARGET_TIMEOUT_MS; ms++) {
		if (shared_get(&target->shared->updates) - before >= 2)
			return true;
		sleep_us(1000);
	}
	return false;
}

static inline bool target_stands_still(const struct target *target, unsigned int ms)
{
	uint32_t before;

	if (!target_has_looked(target))
		return false;
	before = shared_get(&target->shared->progress);
	sleep_us(ms * 1000);
	return target_has_looked(target) && shared_get(&target->shared->progress) == before;
}

static inline bool target_moves_within(const struct target *target, unsigned int timeout_ms)
{
	uint32_t before = shared_get(&target->shared->progress);
	uint64_t end = now_ns() + timeout_ms * 1000000ull;

	while (now_ns() < end) {
		if (shared_get(&target->shared->progress) - before > 2)
			return true;
		sleep_us(1000);
	}
	return false;
}

static inline bool target_moves(const struct target *target)
{
	return target_moves_within(target, TARGET_TIMEOUT_MS);
}

/*
 * With several targets, stop all of them before waiting for one: to check its kernel, each repeats
 * on the CPU all that the kernel did until the stop.
 */
static inline void target_stop(struct target *target)
{
	shared_set(&target->shared->order, TARGET_FINISH);
}

/* Waits for the end of a child, and forgets its pid. True when its exit status is 0. */
static inline bool child_succeeds(pid_t *pid)
{
	int status;

	if (waitpid(*pid, &status, 0) != *pid)
		return false;
	*pid = 0;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static inline void child_kill(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

/* True when its kernel ended with the right result. */
static inline bool target_finish(struct target *target)
{
	target_stop(target);
	return child_succeeds(&target->pid);
}

static inline void target_kill(struct target *target)
{
	child_kill(&target->pid);
}

/* Another process holds all of these, one after the other, and waits to be killed. Its pid or -1. */
static inline pid_t operator_start(const struct target *targets, unsigned int n, uint32_t flags)
{
	int report[2], ret = -1, fd;
	unsigned int i;
	pid_t pid;

	if (pipe(report))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = kfd_open();
		for (i = 0, ret = 0; i < n && !ret; i++)
			ret = switch_preempt(fd, targets[i].pid, flags, targets[i].queue_id);
		if (write(report[1], &ret, sizeof(ret)) != sizeof(ret))
			_exit(1);
		for (;;)
			pause();
	}
	close(report[1]);
	if (read(report[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -EIO;
	close(report[0]);
	return ret ? -1 : pid;
}

#endif
