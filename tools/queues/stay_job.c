// SPDX-License-Identifier: GPL-2.0-only
/* A job whose waves stay where they are: what a stop saves of it is as large as one wants. */
#include "stay_job.h"

#include <errno.h>
#include <string.h>

#include "wait.h"

/* Words of a wave, see kernels/stay.s. */
#define WAVE_RESIDENT 1u
#define WAVE_RIGHT 2u

struct stay_args {
	uint64_t waves;
	uint64_t stop;
};

struct stay_shared {
	struct stay_args args;
	struct aql_signal signal;
	uint32_t stop;
	uint32_t pad[15];
	uint32_t waves[];
};

static struct stay_shared *shared_of(const struct stay_job *job)
{
	return job->shared.addr;
}

static uint32_t num_waves(const struct stay_job *job)
{
	return job->num_workgroups * STAY_WAVES_A_GROUP;
}

int stay_job_start(struct stay_job *job, struct aql_queue *queue, uint32_t num_workgroups)
{
	struct aql_dispatch dispatch = {
		.group_segment_bytes = STAY_LDS_BYTES,
		.workgroup_size = STAY_GROUP_SIZE,
		.num_workgroups = num_workgroups,
	};
	struct stay_shared *shared;
	int ret;

	memset(job, 0, sizeof(*job));
	job->dev = queue->dev;
	job->num_workgroups = num_workgroups;
	ret = gpu_program_load(job->dev, &gpu_image_stay, &job->program);
	if (!ret)
		ret = kfd_buffer_alloc(job->dev, KFD_IN_SYSTEM,
				       sizeof(*shared) + num_waves(job) * sizeof(uint32_t),
				       &job->shared);
	if (ret) {
		stay_job_free(job);
		return ret;
	}
	shared = shared_of(job);
	shared->args.waves = (uintptr_t)shared->waves;
	shared->args.stop = (uintptr_t)&shared->stop;
	shared->signal.kind = 1;
	shared->signal.value = 1;
	dispatch.kernel_object = job->program.kernel_object;
	dispatch.kernarg = &shared->args;
	dispatch.signal = &shared->signal;
	aql_queue_dispatch(queue, &dispatch);
	return 0;
}

static uint32_t count_waves(const struct stay_job *job, uint32_t word)
{
	uint32_t i, count = 0;

	for (i = 0; i < num_waves(job); i++)
		count += __atomic_load_n(&shared_of(job)->waves[i], __ATOMIC_ACQUIRE) == word;
	return count;
}

uint32_t stay_job_resident(const struct stay_job *job)
{
	return count_waves(job, WAVE_RESIDENT);
}

static bool all_resident(const void *job)
{
	return stay_job_resident(job) == num_waves(job);
}

bool stay_job_wait_resident(const struct stay_job *job, unsigned int timeout_ms)
{
	return wait_until(all_resident, job, timeout_ms);
}

bool stay_job_end(struct stay_job *job, unsigned int timeout_ms)
{
	__atomic_store_n(&shared_of(job)->stop, 1, __ATOMIC_RELEASE);
	return aql_signal_wait(&shared_of(job)->signal, timeout_ms);
}

uint32_t stay_job_errors(const struct stay_job *job)
{
	return num_waves(job) - count_waves(job, WAVE_RIGHT);
}

void stay_job_free(struct stay_job *job)
{
	gpu_program_free(job->dev, &job->program);
	kfd_buffer_free(job->dev, &job->shared);
}
