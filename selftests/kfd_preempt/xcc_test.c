// SPDX-License-Identifier: GPL-2.0-only
/* One queue on all XCCs of the GPU: who runs what, and stopping all of them. */
#include <stdio.h>
#include <string.h>

#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "random.h"
#include "wait.h"

#define LONG_MS 30000u
#define WORKGROUPS 64u		/* of whereabouts.s: a multiple of every number of XCCs */
#define JOB_WORKGROUPS 16u	/* of a checksum job */

struct where {
	uint64_t words_address;		/* argument of the kernel */
	struct aql_signal signal;
};

FIXTURE(xcc)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct gpu_program program;
	struct kfd_buffer shared, vram;
	struct where *where;
	uint32_t *words;		/* in VRAM: atomics reach it without PCIe */
	uint32_t xccs;
	int fd;
};

FIXTURE_SETUP(xcc)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	self->xccs = self->dev.num_xcc;
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(0, gpu_program_load(&self->dev, &gpu_image_whereabouts, &self->program));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, sizeof(struct where),
				      &self->shared));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, WORKGROUPS * sizeof(uint32_t),
				      &self->vram));
	self->where = self->shared.addr;
	self->words = self->vram.addr;
	self->where->words_address = (uintptr_t)self->words;
}

FIXTURE_TEARDOWN(xcc)
{
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_buffer_free(&self->dev, &self->vram);
	kfd_buffer_free(&self->dev, &self->shared);
	gpu_program_free(&self->dev, &self->program);
	kfd_device_close(&self->dev);
}

static void dispatch(struct where *where, struct aql_queue *queue,
		     const struct gpu_program *program, uint32_t workgroups)
{
	struct aql_dispatch packet = {
		.kernel_object = program->kernel_object,
		.kernarg = where,
		.workgroup_size = 64,
		.num_workgroups = workgroups,
		.signal = &where->signal,
	};

	where->signal.kind = 1;
	aql_queue_dispatch(queue, &packet);
}

/* The GPU may write the read index later than the signal of the last packet. */
static bool all_read(const struct aql_queue *queue, uint64_t packets)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	while (__atomic_load_n(queue->read_index, __ATOMIC_ACQUIRE) < packets && now_ns() < end)
		sleep_us(500);
	return __atomic_load_n(queue->read_index, __ATOMIC_ACQUIRE) == packets;
}

TEST_F(xcc, workgroups_go_to_the_xccs_in_turn)
{
	struct where *where = self->where;
	uint32_t seen = 0, i;

	where->signal.value = 1;
	dispatch(where, &self->queue, &self->program, WORKGROUPS);
	ASSERT_TRUE(aql_signal_wait(&where->signal, LONG_MS));
	for (i = 0; i < WORKGROUPS; i++) {
		ASSERT_EQ(1, self->words[i] >> 16) {
			TH_LOG("workgroup %u", i);
		}
		seen |= 1u << (self->words[i] & 0xffff);
		EXPECT_EQ(self->words[i % self->xccs], self->words[i]);
	}
	EXPECT_EQ((1u << self->xccs) - 1, seen);
}

/* Packets behind each other, some with fewer workgroups than there are XCCs. */
TEST_F(xcc, every_workgroup_of_many_small_dispatches_runs_once)
{
	struct where *where = self->where;
	/* 10 packets each with 1, 2 and 3 workgroups, 9 each with 4 and 5 */
	const uint32_t runs[5] = { 48, 38, 28, 18, 9 };
	const uint32_t packets = 48;
	uint32_t i;

	where->signal.value = packets;
	for (i = 0; i < packets; i++)
		dispatch(where, &self->queue, &self->program, 1 + i % 5);
	ASSERT_TRUE(aql_signal_wait(&where->signal, LONG_MS));
	EXPECT_TRUE(all_read(&self->queue, packets));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(runs[i], self->words[i] >> 16);
}

TEST_F_TIMEOUT(xcc, checksum_on_all_xccs_survives_random_preempts, 600)
{
	unsigned int seed = (unsigned int)number_from_environment("KFD_PREEMPT_SEED", now_ns());
	unsigned int rounds = (unsigned int)number_from_environment("KFD_PREEMPT_ROUNDS", 50);
	struct job job;
	unsigned int round;

	printf("# KFD_PREEMPT_ROUNDS=%u KFD_PREEMPT_SEED=%u\n", rounds, seed);
	fflush(stdout);
	ASSERT_EQ(0, checksum_job_start(&job, &self->queue, JOB_WORKGROUPS, 2));
	ASSERT_TRUE(job_wait_progress(&job, 1, LONG_MS));
	for (round = 0; round < rounds; round++) {
		sleep_us((unsigned int)rand_r(&seed) % 5000);
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
		ASSERT_TRUE(job_stands_still(&job, (unsigned int)rand_r(&seed) % 4)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	}
	EXPECT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	job_stop(&job);
	ASSERT_TRUE(job_wait(&job, LONG_MS));
	EXPECT_EQ(0, job_errors(&job));
	job_free(&job);
}

/* The queue is saved and loaded while packets begin and end on all XCCs. */
TEST_F_TIMEOUT(xcc, packets_complete_once_however_often_the_queue_is_stopped, 600)
{
	unsigned int seed = (unsigned int)now_ns(), round, sent = 0, i;
	struct where *where = self->where;

	for (round = 0; round < 20; round++) {
		where->signal.value = 8;
		for (i = 0; i < 8; i++)
			dispatch(where, &self->queue, &self->program, WORKGROUPS);
		sent += 8;
		while (rand_r(&seed) % 4) {
			ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
			ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
		}
		ASSERT_TRUE(aql_signal_wait(&where->signal, LONG_MS)) {
			TH_LOG("round %u: signal %lld", round, (long long)where->signal.value);
		}
	}
	EXPECT_TRUE(all_read(&self->queue, sent));
	for (i = 0; i < WORKGROUPS; i++)
		EXPECT_EQ(sent, self->words[i] >> 16);
}

TEST_HARNESS_MAIN
