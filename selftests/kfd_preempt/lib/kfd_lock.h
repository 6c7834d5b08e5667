/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps the mutex of this process in KFD locked, as any process can for as long as it likes. */
#ifndef SELFTESTS_KFD_LOCK_H
#define SELFTESTS_KFD_LOCK_H

#include <pthread.h>
#include <stddef.h>

#include "aql_queue.h"

struct kfd_lock {
	struct aql_queue queue;	/* at 0 percent: its wave state can be read */
	pthread_t thread;	/* blocked in GET_QUEUE_WAVE_STATE */
	char *buffer;
	size_t bytes;
	int uffd;
};

/*
 * A thread of this process reads the wave state of a new queue into a page whose fault nothing
 * resolves. Returns 0 once the thread holds the mutex, or a negative errno. Needs root:
 * userfaultfd then catches faults of the kernel as well.
 */
int kfd_lock_take(struct kfd_device *dev, struct kfd_lock *lock);

/* Resolves the fault and causes the next one: other threads get the mutex in between. */
int kfd_lock_retake(struct kfd_lock *lock);

/* Resolves the fault; the mutex is free on return. */
int kfd_lock_release(struct kfd_lock *lock);

#endif
