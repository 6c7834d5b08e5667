/* SPDX-License-Identifier: GPL-2.0-only */
/* The queues of an owner in fuzz_ioctls, what runs on them, and how it must end. */
#ifndef KFD_PREEMPT_FUZZ_OWNER_H
#define KFD_PREEMPT_FUZZ_OWNER_H

#include <pthread.h>
#include <signal.h>

#include "fuzz_good.h"
#include "jobs.h"
#include "sdma_queue.h"
#include "wait.h"

#define LONG_MS 120000u
#define THREADS 2u
#define COPY_BYTES 16384u
#define JOBS 3u
#define JOB_ITERATIONS 50000u	/* to look at more of them takes long */

/* Queue i is that of thread i % THREADS. CHURN comes and goes in the memory of IDLE. */
enum { FIRST_JOB, COPIES, DRAINED, THIRD_JOB, CHURN, IDLE };

struct owner {
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct sdma_queue sdma;
	struct job job[JOBS];
	bool ending[JOBS];	/* was told to */
	struct kfd_buffer from, back, flags;
	uint32_t passes;	/* of copies */
	bool churn_lives;
};

static const uint32_t job_queue[JOBS] = { FIRST_JOB, DRAINED, THIRD_JOB };

static inline volatile uint32_t *fence_of(const struct owner *owner)
{
	return owner->flags.addr;
}

static inline int publish(struct world *world, const struct owner *owner, uint32_t slot,
			  uint32_t index, uint32_t id, enum queue_kind kind)
{
	struct world_queue *queue = &world->owner[slot].queue[index];
	struct kfd_ioctl_preempt_status_args status;
	int ret = preempt_status(owner->dev.kfd_fd, 0, id, &status);

	*queue = (struct world_queue){ .id = id, .kind = kind, .sdma = index == COPIES,
				       .uid = status.queue_uid };
	return ret;
}

static inline int set_up_queues(struct world *world, struct owner *owner, uint32_t slot)
{
	struct kfd_device *dev = &owner->dev;
	uint32_t i, index;
	int ret = kfd_device_open(dev);

	for (i = 0; !ret && i < JOBS; i++) {
		index = job_queue[i];
		ret = busy_queue_create(dev, &owner->queue[index], &owner->job[i], 2, LONG_MS);
		if (!ret)
			ret = publish(world, owner, slot, index, owner->queue[index].id,
				      index == DRAINED && world->facts.sched_mode ==
				      KFD_PREEMPT_SCHED_NO_HWS ? QUEUE_APART : QUEUE_EXACT);
	}
	if (!ret)
		ret = sdma_queue_create(dev, &owner->sdma);
	if (!ret)
		ret = publish(world, owner, slot, COPIES, owner->sdma.id, QUEUE_EXACT);
	if (!ret)
		ret = aql_queue_create(dev, &owner->queue[IDLE]);
	if (!ret)
		ret = publish(world, owner, slot, IDLE, owner->queue[IDLE].id, QUEUE_EXACT);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, COPY_BYTES, &owner->from);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_VRAM, COPY_BYTES, &owner->back);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &owner->flags);
	world->owner[slot].queue[CHURN] = (struct world_queue){ .id = NO_QUEUE,
								.kind = QUEUE_LOOSE };
	world->owner[slot].num_queues = QUEUES;
	return ret;
}

/* Each pass copies other words; the next begins when the last has arrived. False: wrong words. */
static inline bool copy_on(struct owner *owner)
{
	uint32_t *words = owner->from.addr, i;

	if (*fence_of(owner) != owner->passes)
		return true;
	if (owner->passes && memcmp(owner->from.addr, owner->back.addr, COPY_BYTES))
		return false;
	owner->passes++;
	for (i = 0; i < COPY_BYTES / sizeof(*words); i++)
		words[i] = i * 2654435761u + owner->passes;
	sdma_copy(&owner->sdma, owner->from.addr, owner->back.addr, COPY_BYTES);
	sdma_fence(&owner->sdma, fence_of(owner), owner->passes);
	sdma_submit(&owner->sdma);
	return true;
}

static inline int set_percentage(struct owner *owner, uint32_t index, uint32_t percentage)
{
	return index == COPIES ? sdma_queue_set_percentage(&owner->sdma, percentage) :
				 aql_queue_set_percentage(&owner->queue[index], percentage);
}

static inline int churn(struct worker *w, struct owner *owner)
{
	uint32_t *id = &w->world->owner[w->slot].queue[CHURN].id;
	int ret;

	if (owner->churn_lives) {
		ret = aql_queue_destroy_idle(&owner->queue[CHURN]);
	} else {
		ret = aql_queue_create_idle(&owner->queue[IDLE], &owner->queue[CHURN]);
		__atomic_store_n(id, owner->queue[CHURN].id, __ATOMIC_RELEASE);
	}
	if (!ret)
		owner->churn_lives = !owner->churn_lives;
	return ret;
}

/*
 * The next job on the queue of one that has ended. Without signals: on a slow machine the next one
 * would come before a call for memory is done, which then never is.
 */
static inline int begin_anew(struct owner *owner, uint32_t i)
{
	sigset_t alarm, before;
	int ret;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, &before);
	job_free(&owner->job[i]);
	ret = checksum_job_start(&owner->job[i], &owner->queue[job_queue[i]], 2, 2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	owner->ending[i] = false;
	return ret;
}

/* A job that has done enough is ended, looked at and begun anew, without waiting for it. */
static inline void renew_job(struct worker *w, struct owner *owner, uint32_t i)
{
	struct job *job = &owner->job[i];
	int ret;

	if (!owner->ending[i] && job_progress(job, 0) > JOB_ITERATIONS) {
		job_stop(job);
		owner->ending[i] = true;
	}
	if (!owner->ending[i] || !job_done(job))
		return;
	if (job_errors(job))
		fail(w->world, w->name, "job %u did not end right", i);
	ret = begin_anew(owner, i);
	if (ret)
		fail(w->world, w->name, "the next job %u: %d", i, ret);
}

/*
 * NO_HWS: a DRAIN that lasts as long as the kernel does. In the meantime nothing else can stop the
 * queue, so there must be no eviction.
 */
static inline void drain(struct worker *w, struct owner *owner)
{
	struct job *job = &owner->job[1];	/* on DRAINED */
	int late, ret;

	if (!no_hws(w) || w->thread != DRAINED % THREADS)
		return;
	ret = set_percentage(owner, DRAINED, 100);
	if (ret)
		fail(w->world, w->name, "100 percent of the queue to drain: %d", ret);
	do {
		late = call_v0(w, CALL_PREEMPT, DRAINED, KFD_PREEMPT_TYPE_DRAIN,
			       1 + random_below(&w->random, 3), MAY(OK) | MAY(ETIME));
	} while (late == -EINTR);
	if (late == -ETIME && random_one_in(&w->random, 2))
		call_v0(w, CALL_RESUME, DRAINED, 0, 0, MAY(EBUSY));
	job_stop(job);
	if (late == -ETIME) {
		if (!job_wait(job, LONG_MS))
			fail(w->world, w->name, "the drained job does not end");
		do {
			ret = call_v0(w, CALL_PREEMPT, DRAINED, KFD_PREEMPT_TYPE_SAVE, 50000,
				      MAY(OK));
		} while (ret == -EINTR);
	}
	do {
		ret = call_v0(w, CALL_RESUME, DRAINED, 0, 0, MAY(OK));
	} while (ret == -EINTR);
	if (!job_wait(job, LONG_MS) || job_errors(job))
		fail(w->world, w->name, "the drained job did not end right");
	ret = begin_anew(owner, 1);
	if (ret)
		fail(w->world, w->name, "the next job to drain: %d", ret);
}

/* Ends what holds a queue now that no other process does. False when something keeps it held. */
static inline bool ends_holds(const struct owner *owner, uint32_t id,
		       struct kfd_ioctl_preempt_status_args *status)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;
	int fd = owner->dev.kfd_fd;

	do {
		if (preempt_status(fd, 0, id, status))
			return false;
		if (status->state == KFD_PREEMPT_STATE_RUNNING)
			return true;
		if (status->state == KFD_PREEMPT_STATE_PENDING)
			preempt_queue_type(fd, id, KFD_PREEMPT_TYPE_SAVE, 5000);
		if (status->holds & KFD_PREEMPT_HOLD_SELF)
			resume_queue(fd, id);
		else
			sleep_us(5000);
	} while (now_ns() < end);
	return false;
}

/* After the storm: no hold is left, and what ran was done once and right. */
static inline void check_owner(struct world *world, struct owner *owner, uint32_t slot,
			       const char *name)
{
	struct kfd_ioctl_preempt_status_args status = {};
	uint32_t i;

	if (!owner->churn_lives)
		world->owner[slot].queue[CHURN].id = NO_QUEUE;
	for (i = 0; i < QUEUES; i++) {
		uint32_t id = world->owner[slot].queue[i].id;
		int ret = i == CHURN ? 0 : set_percentage(owner, i, 100);

		if (ret)
			fail(world, name, "100 percent of queue %u: %d", id, ret);
		if (id != NO_QUEUE && !ends_holds(owner, id, &status))
			fail(world, name, "queue %u is left in state %u, holds %#x, status %#x", id,
			     status.state, status.holds, status.status);
		else if (id != NO_QUEUE &&
			 !counts_are_sane(&status, i == CHURN && slot == FORCED_OWNER))
			fail(world, name, "queue %u: %llu stops, %llu starts", id,
			     (unsigned long long)status.preempts,
			     (unsigned long long)status.resumes);
	}
	for (i = 0; i < JOBS; i++)
		if (owner->ending[i] ? !job_wait(&owner->job[i], LONG_MS) ||
				       job_errors(&owner->job[i]) :
				       !job_ends_right(&owner->job[i], LONG_MS))
			fail(world, name, "the job of queue %u did not end right",
			     owner->queue[job_queue[i]].id);
	fflush(stdout);
	for (i = 0; i < LONG_MS && *fence_of(owner) != owner->passes; i++)
		sleep_us(1000);
	if (*fence_of(owner) != owner->passes || !copy_on(owner))
		fail(world, name, "copy %u is wrong or did not end", owner->passes);
}

static inline void destroy_queues(struct world *world, struct owner *owner, const char *name)
{
	uint32_t i;
	int ret = owner->churn_lives ? aql_queue_destroy_idle(&owner->queue[CHURN]) : 0;

	ret = ret ? ret : aql_queue_destroy(&owner->queue[IDLE]);
	ret = ret ? ret : sdma_queue_destroy(&owner->sdma);
	for (i = 0; i < JOBS; i++)
		ret = ret ? ret : aql_queue_destroy(&owner->queue[job_queue[i]]);
	if (ret)
		fail(world, name, "destroying the queues: %d", ret);
}

#endif
