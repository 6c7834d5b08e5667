// SPDX-License-Identifier: GPL-2.0-only
/* Two jobs for a queue: one that counts, one that computes a checksum. */
#include "jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait.h"

#define WAVE_SIZE 64u
#define GROUPS_MAX 16u
#define GROUP_SIZE_MAX 512u
#define ITEMS_MAX (GROUPS_MAX * GROUP_SIZE_MAX)

/* Word n of a slot array is alone in its cache line. */
struct slot {
	uint32_t value;
	uint32_t pad[15];
};

struct count_args {		/* kernels/count.s */
	uint64_t counters;
	uint64_t results;
	uint64_t stop;
	uint32_t iterations_max;
	uint32_t pad;
};

struct checksum_args {		/* kernels/checksum.s */
	uint64_t results;
	uint64_t ledger;
	uint64_t progress;
	uint64_t stop;
	uint64_t tickets;
	uint32_t iterations_max;
	uint32_t workgroup_size;
	uint32_t rest_mask;
	uint32_t pad;
};

/* A job rests after each 16 iterations, or after none. */
#define REST_MASK 15u
#define REST_NEVER 0xffffffffu

/* In system memory. */
struct job_shared {
	union {
		struct count_args count;
		struct checksum_args checksum;
		uint8_t args[128];
	};
	struct aql_signal signal;
	struct slot stop;
	struct slot progress[GROUPS_MAX];
	struct slot count_results[GROUPS_MAX];
	uint32_t results[ITEMS_MAX];
};

/* In VRAM: atomics reach it without PCIe. */
struct job_ledger {
	struct slot tickets[GROUPS_MAX];
	uint32_t items[ITEMS_MAX];
};

static struct job_shared *shared_of(const struct job *job)
{
	return job->shared.addr;
}

static struct job_ledger *ledger_of(const struct job *job)
{
	return job->ledger.addr;
}

static uint64_t gpu_address(const void *p)
{
	return (uintptr_t)p;
}

const void *job_kernarg(const struct job *job)
{
	return shared_of(job)->args;
}

struct aql_signal *job_signal(const struct job *job)
{
	return &shared_of(job)->signal;
}

static int job_init(struct job *job, struct kfd_device *dev, const struct gpu_image *image)
{
	int ret;

	job->dev = dev;
	ret = gpu_program_load(dev, image, &job->program);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, sizeof(struct job_shared), &job->shared);
	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_VRAM, sizeof(struct job_ledger), &job->ledger);
	if (ret) {
		job_free(job);
		return ret;
	}
	job_signal(job)->kind = 1;
	job_signal(job)->value = 1;
	return 0;
}

static void job_dispatch(struct job *job, struct aql_queue *queue)
{
	struct job_shared *shared = shared_of(job);
	struct aql_dispatch dispatch = {
		.kernel_object = job->program.kernel_object,
		.kernarg = shared->args,
		.group_segment_bytes = job->program.group_segment_bytes,
		.workgroup_size = (uint16_t)job->workgroup_size,
		.num_workgroups = job->num_workgroups,
		.signal = &shared->signal,
	};

	aql_queue_dispatch(queue, &dispatch);
}

int count_job_start(struct job *job, struct aql_queue *queue, uint32_t num_workgroups)
{
	struct job_shared *shared;
	int ret;

	memset(job, 0, sizeof(*job));
	if (num_workgroups > GROUPS_MAX)
		return -EINVAL;
	ret = job_init(job, queue->dev, &gpu_image_count);
	if (ret)
		return ret;
	job->num_workgroups = num_workgroups;
	job->workgroup_size = WAVE_SIZE;
	shared = shared_of(job);
	shared->count.counters = gpu_address(shared->progress);
	shared->count.results = gpu_address(shared->count_results);
	shared->count.stop = gpu_address(&shared->stop);
	shared->count.iterations_max = JOB_ITERATIONS_MAX;
	job_dispatch(job, queue);
	return 0;
}

int checksum_job_prepare(struct job *job, struct kfd_device *dev, uint32_t num_workgroups,
			 uint32_t waves)
{
	struct job_shared *shared;
	int ret;

	memset(job, 0, sizeof(*job));
	if (num_workgroups > GROUPS_MAX || waves % 2 || waves * WAVE_SIZE > GROUP_SIZE_MAX)
		return -EINVAL;
	ret = job_init(job, dev, &gpu_image_checksum);
	if (ret)
		return ret;
	job->num_workgroups = num_workgroups;
	job->workgroup_size = waves * WAVE_SIZE;
	job->checks_sum = true;
	shared = shared_of(job);
	shared->checksum.results = gpu_address(shared->results);
	shared->checksum.ledger = gpu_address(ledger_of(job)->items);
	shared->checksum.progress = gpu_address(shared->progress);
	shared->checksum.stop = gpu_address(&shared->stop);
	shared->checksum.tickets = gpu_address(ledger_of(job)->tickets);
	shared->checksum.iterations_max = JOB_ITERATIONS_MAX;
	shared->checksum.workgroup_size = job->workgroup_size;
	shared->checksum.rest_mask = REST_MASK;
	return 0;
}

int checksum_job_start(struct job *job, struct aql_queue *queue, uint32_t num_workgroups,
		       uint32_t waves)
{
	int ret = checksum_job_prepare(job, queue->dev, num_workgroups, waves);

	if (!ret)
		job_dispatch(job, queue);
	return ret;
}

static int queue_create(struct kfd_device *dev, struct aql_queue *queue, struct job *job,
			uint32_t num_workgroups, uint32_t rest_mask, unsigned int timeout_ms)
{
	int ret = aql_queue_create(dev, queue);

	if (!ret)
		ret = checksum_job_prepare(job, dev, num_workgroups, 2);
	if (ret)
		return ret;
	shared_of(job)->checksum.rest_mask = rest_mask;
	job_dispatch(job, queue);
	return job_wait_progress(job, 2, timeout_ms) ? 0 : -ETIME;
}

int busy_queue_create(struct kfd_device *dev, struct aql_queue *queue, struct job *job,
		      uint32_t num_workgroups, unsigned int timeout_ms)
{
	return queue_create(dev, queue, job, num_workgroups, REST_MASK, timeout_ms);
}

int restless_queue_create(struct kfd_device *dev, struct aql_queue *queue, struct job *job,
			  uint32_t num_workgroups, unsigned int timeout_ms)
{
	return queue_create(dev, queue, job, num_workgroups, REST_NEVER, timeout_ms);
}

uint32_t job_progress(const struct job *job, uint32_t workgroup)
{
	return __atomic_load_n(&shared_of(job)->progress[workgroup].value, __ATOMIC_ACQUIRE);
}

const void *job_progress_address(const struct job *job, uint32_t workgroup)
{
	return &shared_of(job)->progress[workgroup].value;
}

bool job_done(const struct job *job)
{
	return __atomic_load_n(&shared_of(job)->signal.value, __ATOMIC_ACQUIRE) == 0;
}

bool job_wait_progress(const struct job *job, uint32_t more, unsigned int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;
	uint32_t from[GROUPS_MAX];
	uint32_t i;

	for (i = 0; i < job->num_workgroups; i++)
		from[i] = job_progress(job, i);
	for (i = 0; i < job->num_workgroups; i++) {
		while (job_progress(job, i) - from[i] < more) {
			if (now_ns() > end)
				return false;
			sleep_us(500);
		}
	}
	return true;
}

bool job_stands_still(const struct job *job, unsigned int polls)
{
	uint32_t from[GROUPS_MAX];
	unsigned int poll;
	uint32_t i;

	for (i = 0; i < job->num_workgroups; i++)
		from[i] = job_progress(job, i);
	for (poll = 0; poll < polls; poll++) {
		sleep_us(1000);
		for (i = 0; i < job->num_workgroups; i++) {
			if (job_progress(job, i) != from[i])
				return false;
		}
	}
	return true;
}

void job_stop(struct job *job)
{
	__atomic_store_n(&shared_of(job)->stop.value, 1, __ATOMIC_RELEASE);
}

bool job_wait(const struct job *job, unsigned int timeout_ms)
{
	return aql_signal_wait(&shared_of(job)->signal, timeout_ms);
}

static uint32_t differs(const char *what, uint32_t index, uint32_t got, uint32_t want,
			uint32_t errors)
{
	if (got == want)
		return errors;
	if (!errors)
		printf("# %s %u: got 0x%08x, want 0x%08x\n", what, index, got, want);
	return errors + 1;
}

static uint32_t count_errors(const struct job *job)
{
	const struct job_shared *shared = shared_of(job);
	uint32_t i, errors = 0;

	for (i = 0; i < job->num_workgroups; i++)
		errors = differs("iterations counted in memory by workgroup", i,
				 shared->progress[i].value, shared->count_results[i].value, errors);
	return errors;
}

/* Reference model of one workgroup of kernels/checksum.s. */
struct model {
	uint32_t x0[GROUP_SIZE_MAX];
	uint32_t x[GROUP_SIZE_MAX];
	uint32_t a[GROUP_SIZE_MAX];
	uint32_t before[GROUP_SIZE_MAX];
	uint32_t ledger[GROUP_SIZE_MAX];
	uint32_t s0[GROUP_SIZE_MAX / WAVE_SIZE];
	uint32_t s[GROUP_SIZE_MAX / WAVE_SIZE];
	uint32_t m[GROUP_SIZE_MAX / WAVE_SIZE];
};

static void model_init(struct model *model, uint32_t base, uint32_t items)
{
	uint32_t i;

	for (i = 0; i < items; i++) {
		model->x0[i] = 0x9e3779b9u + base + i;
		model->x[i] = model->x0[i];
		model->a[i] = model->x0[i] ^ 0x5bd1e995u;
		model->ledger[i] = 0;
		if (i % WAVE_SIZE == 0) {
			model->s0[i / WAVE_SIZE] = base + i;
			model->s[i / WAVE_SIZE] = base + i;
			model->m[i / WAVE_SIZE] = base + i;
		}
	}
}

static void model_step(struct model *model, uint32_t items, uint32_t iteration)
{
	uint32_t i, wave;

	for (i = 0; i < items; i++) {
		model->before[i] = model->x[i] * 1664525u + model->s[i / WAVE_SIZE];
		model->a[i] = (model->a[i] ^ model->before[i]) + (model->before[i] >> 7);
	}
	for (wave = 0; wave < items / WAVE_SIZE; wave++) {
		model->s[wave] = model->s[wave] * 5 + iteration;
		model->m[wave] ^= model->s[wave];
	}
	for (i = 0; i < items; i++) {
		uint32_t x = model->before[i] + (model->before[i ^ WAVE_SIZE] ^ model->a[i]);

		if (x & 1)
			x ^= 0xa5a5a5a5u;
		model->x[i] = x;
		model->ledger[i] = model->ledger[i] * 3 + x;
	}
}

static uint32_t model_result(const struct model *model, uint32_t i)
{
	uint32_t x = model->x[i], n;

	for (n = 16; n < 32; n++)
		x = x * 1664525u + model->x0[i] + n;
	x = x * 1664525u + model->a[i];
	for (n = 1; n < 16; n++)
		x = x * 1664525u + (model->x0[i] ^ n);
	for (n = 40; n < 60; n++)
		x = x * 1664525u + model->s0[i / WAVE_SIZE] + n;
	x = x * 1664525u + model->s[i / WAVE_SIZE];
	return x * 1664525u + model->m[i / WAVE_SIZE];
}

static uint32_t checksum_errors(const struct job *job)
{
	const struct job_shared *shared = shared_of(job);
	const struct job_ledger *ledger = ledger_of(job);
	uint32_t items = job->workgroup_size, group, i, errors = 0;
	struct model *model = malloc(sizeof(*model));

	if (!model)
		return 1;
	for (group = 0; group < job->num_workgroups; group++) {
		uint32_t base = group * items, iterations = job_progress(job, group);

		model_init(model, base, items);
		for (i = 1; i <= iterations; i++)
			model_step(model, items, i);
		errors = differs("tickets drawn by workgroup", group, ledger->tickets[group].value,
				 iterations * (items / WAVE_SIZE), errors);
		for (i = 0; i < items; i++) {
			errors = differs("ledger of work item", base + i, ledger->items[base + i],
					 model->ledger[i], errors);
			errors = differs("checksum of work item", base + i,
					 shared->results[base + i], model_result(model, i), errors);
		}
	}
	free(model);
	return errors;
}

uint32_t job_errors(const struct job *job)
{
	return job->checks_sum ? checksum_errors(job) : count_errors(job);
}

bool job_ends_right(struct job *job, unsigned int timeout_ms)
{
	bool goes_on = job_wait_progress(job, 2, timeout_ms);

	if (!goes_on)
		printf("# the job does not go on\n");
	job_stop(job);
	if (!job_wait(job, timeout_ms)) {
		printf("# the job does not end\n");
		return false;
	}
	return !job_errors(job) && goes_on;
}

void job_free(struct job *job)
{
	struct kfd_device *dev = job->dev;

	gpu_program_free(dev, &job->program);
	kfd_buffer_free(dev, &job->shared);
	kfd_buffer_free(dev, &job->ledger);
}
