/* SPDX-License-Identifier: GPL-2.0-only */
/* Two jobs for a queue: one that counts, one that computes a checksum. */
#ifndef SELFTESTS_JOBS_H
#define SELFTESTS_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "aql_queue.h"
#include "gpu_program.h"

/*
 * A job runs until job_stop() or for JOB_ITERATIONS_MAX iterations, whichever
 * comes first: tests place their calls while it runs however slow the GPU is,
 * and a job whose host died still ends.
 */
#define JOB_ITERATIONS_MAX 0x3fffffffu

struct job {
	struct kfd_device *dev;
	struct gpu_program program;
	struct kfd_buffer shared;	/* arguments, signal, what both sides poll */
	struct kfd_buffer ledger;
	uint32_t num_workgroups;
	uint32_t workgroup_size;
	bool checks_sum;
};

/* One wave in each workgroup, each with a counter. */
int count_job_start(struct job *job, struct aql_queue *queue, uint32_t num_workgroups);

/* Workgroups of waves * 64 work items; waves is even, at most 8. */
int checksum_job_start(struct job *job, struct aql_queue *queue, uint32_t num_workgroups,
		       uint32_t waves);

/*
 * The same without a queue: the caller dispatches job->program with job_kernarg() and sets the
 * value of job_signal() to 0 at its end.
 */
int checksum_job_prepare(struct job *job, struct kfd_device *dev, uint32_t num_workgroups,
			 uint32_t waves);
const void *job_kernarg(const struct job *job);
struct aql_signal *job_signal(const struct job *job);

/*
 * A new queue with a checksum job of two waves a workgroup, all of which have made
 * two iterations. 0 or a negative errno; -ETIME: the job doesn't begin.
 */
int busy_queue_create(struct kfd_device *dev, struct aql_queue *queue, struct job *job,
		      uint32_t num_workgroups, unsigned int timeout_ms);

/* The same with a job that never sleeps: there is no moment at which its waves do nothing. */
int restless_queue_create(struct kfd_device *dev, struct aql_queue *queue, struct job *job,
			  uint32_t num_workgroups, unsigned int timeout_ms);

/* Iterations that a workgroup has counted in memory. */
uint32_t job_progress(const struct job *job, uint32_t workgroup);
/* Where it counts: words 64 bytes apart. */
const void *job_progress_address(const struct job *job, uint32_t workgroup);

/* Waits until every workgroup has made at least `more` iterations from now. */
bool job_wait_progress(const struct job *job, uint32_t more, unsigned int timeout_ms);

/* True when no counter moves while it is read `polls` times, 1 ms apart. */
bool job_stands_still(const struct job *job, unsigned int polls);

/* Tells the job to end; it does at its next iteration. */
void job_stop(struct job *job);
bool job_wait(const struct job *job, unsigned int timeout_ms);
bool job_done(const struct job *job);

/*
 * Wrong words of a finished job: 0 means that every iteration was done exactly
 * once with the right registers. The first wrong one is told on stdout (KTAP
 * comment).
 */
uint32_t job_errors(const struct job *job);

/* It continues, ends on request, and has no errors; problems are printed to stdout. */
bool job_ends_right(struct job *job, unsigned int timeout_ms);

void job_free(struct job *job);

#endif
