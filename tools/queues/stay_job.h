/* SPDX-License-Identifier: GPL-2.0-only */
/* A job whose waves stay where they are: what a stop saves of it is as large as one wants. */
#ifndef SELFTESTS_STAY_JOB_H
#define SELFTESTS_STAY_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "aql_queue.h"
#include "gpu_program.h"

#define STAY_GROUP_SIZE 512u			/* work items: 8 waves */
#define STAY_WAVES_A_GROUP (STAY_GROUP_SIZE / 64u)
/* Two workgroups fill a CU of 512 VGPRs a lane and 64 KiB of LDS. */
#define STAY_LDS_BYTES 32768u

struct stay_job {
	struct kfd_device *dev;
	struct gpu_program program;
	struct kfd_buffer shared;	/* arguments, signal, stop word, a word of each wave */
	uint32_t num_workgroups;
};

/* 0 or a negative errno. */
int stay_job_start(struct stay_job *job, struct aql_queue *queue, uint32_t num_workgroups);

/* All waves are on the GPU, with their registers filled; false when they aren't in time. */
bool stay_job_wait_resident(const struct stay_job *job, unsigned int timeout_ms);

/* Returns the number of waves that are on the GPU. */
uint32_t stay_job_resident(const struct stay_job *job);

/* Tells the waves to end, and waits for them; false when they don't in time. */
bool stay_job_end(struct stay_job *job, unsigned int timeout_ms);

/* Returns the number of waves that found other registers or LDS; the job must have ended. */
uint32_t stay_job_errors(const struct stay_job *job);

void stay_job_free(struct stay_job *job);

#endif
