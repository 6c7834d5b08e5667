// SPDX-License-Identifier: GPL-2.0-only
/* PM4 queues of users: dispatches by registers, and being preempted in them and between packets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "kfd_event.h"
#include "kselftest_harness.h"
#include "pm4_queue.h"
#include "preempt.h"
#include "target.h"
#include "wait.h"

#define LONG_MS 30000u
#define WORKGROUPS 16u		/* of whereabouts.s */
#define JOB_WORKGROUPS 8u	/* of a checksum job, of two waves each */
#define IB_DISPATCHES 16u

/* In system memory: what GPU and host tell each other. */
struct shared {
	uint64_t words_address;		/* argument of whereabouts.s */
	uint32_t dimensions[3];
	volatile uint32_t flag;
	volatile uint32_t gate;
	struct aql_signal done;
	uint32_t indirect_buffer[1024];
};

FIXTURE(pm4)
{
	struct kfd_device dev;
	struct pm4_queue queue;
	struct gpu_program program;
	struct kfd_buffer memory, vram;
	struct shared *shared;
	uint32_t *words;		/* in VRAM: atomics reach it without PCIe */
	struct job job;
	int fd;
};

FIXTURE_SETUP(pm4)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, pm4_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(0, gpu_program_load(&self->dev, &gpu_image_whereabouts, &self->program));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, sizeof(struct shared),
				      &self->memory));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, WORKGROUPS * sizeof(uint32_t),
				      &self->vram));
	self->shared = self->memory.addr;
	self->words = self->vram.addr;
	self->shared->words_address = (uintptr_t)self->words;
	self->shared->done.value = 1;
}

FIXTURE_TEARDOWN(pm4)
{
	EXPECT_EQ(0, pm4_queue_destroy(&self->queue));
	if (self->job.dev)
		job_free(&self->job);
	kfd_buffer_free(&self->dev, &self->vram);
	kfd_buffer_free(&self->dev, &self->memory);
	gpu_program_free(&self->dev, &self->program);
	kfd_device_close(&self->dev);
}

/* Registers for whereabouts.s, which adds 65536 to the word of each workgroup. */
static void set_whereabouts(struct pm4_stream *stream, const FIXTURE_DATA(pm4) *self)
{
	const struct pm4_dispatch dispatch = {
		.kernel_object = self->program.code.addr,
		.kernarg = self->shared,
		.workgroup_size = 64,
	};

	pm4_set_dispatch(stream, &dispatch);
}

static void set_job(struct pm4_stream *stream, const struct job *job)
{
	const struct pm4_dispatch dispatch = {
		.kernel_object = job->program.code.addr,
		.kernarg = job_kernarg(job),
		.workgroup_size = job->workgroup_size,
		.group_segment_bytes = job->program.group_segment_bytes,
	};

	pm4_set_dispatch(stream, &dispatch);
}

static void release(struct pm4_stream *stream, const struct aql_signal *signal)
{
	pm4_release_mem(stream, (uintptr_t)&signal->value, 0, PM4_NO_INTERRUPT, 0);
}

/* Whether each workgroup ran this often, all of them on one XCC. */
static bool ran_times(const FIXTURE_DATA(pm4) *self, uint32_t times)
{
	uint32_t i;

	for (i = 0; i < WORKGROUPS; i++) {
		if (self->words[i] >> 16 != times || self->words[i] != self->words[0]) {
			printf("# workgroup %u: 0x%x after %u dispatches\n", i, self->words[i], times);
			return false;
		}
	}
	return true;
}

static bool flag_is_set(const void *shared)
{
	return ((const struct shared *)shared)->flag;
}

static unsigned int start_random(void)
{
	const char *text = getenv("KFD_PREEMPT_SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : (unsigned int)now_ns();

	printf("# KFD_PREEMPT_SEED=%u\n", seed);
	fflush(stdout);
	return seed;
}

TEST_F(pm4, dispatch_runs_what_the_registers_say)
{
	struct pm4_stream *ring = &self->queue.stream;

	set_whereabouts(ring, self);
	pm4_dispatch_direct(ring, WORKGROUPS);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_TRUE(ran_times(self, 1));
	EXPECT_TRUE(pm4_wait_consumed(&self->queue, LONG_MS));
}

TEST_F(pm4, registers_stay_for_the_next_dispatch)
{
	struct pm4_stream *ring = &self->queue.stream;

	self->shared->dimensions[0] = WORKGROUPS;
	self->shared->dimensions[1] = 1;
	self->shared->dimensions[2] = 1;
	set_whereabouts(ring, self);
	pm4_dispatch_direct(ring, WORKGROUPS);
	pm4_dispatch_direct(ring, WORKGROUPS);
	pm4_dispatch_indirect(ring, self->shared->dimensions);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_TRUE(ran_times(self, 3));
}

/* A packet that doesn't wait runs beside the dispatch, CS_PARTIAL_FLUSH and RELEASE_MEM behind it. */
TEST_F(pm4, flush_and_release_wait_for_the_dispatch)
{
	struct pm4_stream *ring = &self->queue.stream;

	ASSERT_EQ(0, checksum_job_prepare(&self->job, &self->dev, JOB_WORKGROUPS, 2));
	set_job(ring, &self->job);
	pm4_dispatch_direct(ring, JOB_WORKGROUPS);
	pm4_write_data(ring, &self->shared->gate, 1);
	pm4_partial_flush(ring);
	pm4_write_data(ring, &self->shared->flag, 1);
	release(ring, job_signal(&self->job));
	pm4_submit(&self->queue);
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	EXPECT_EQ(1, self->shared->gate);
	EXPECT_EQ(0, self->shared->flag);
	EXPECT_FALSE(job_done(&self->job));
	job_stop(&self->job);
	ASSERT_TRUE(job_wait(&self->job, LONG_MS));
	EXPECT_EQ(1, self->shared->flag);
	EXPECT_EQ(0, job_errors(&self->job));
}

TEST_F(pm4, interrupt_comes_when_the_packet_asks_for_it)
{
	struct pm4_stream *ring = &self->queue.stream;
	struct kfd_event_page page;
	struct kfd_event first, second;

	ASSERT_EQ(0, kfd_event_page_create(&self->dev, &page));
	ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &first));
	ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &second));
	pm4_release_mem(ring, first.mailbox, first.id, PM4_NO_INTERRUPT, first.id);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &first, 50, NULL));
	pm4_release_mem(ring, second.mailbox, second.id, PM4_INTERRUPT, second.id);
	pm4_submit(&self->queue);
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &second, LONG_MS, NULL));
}

TEST_F_TIMEOUT(pm4, running_dispatch_survives_random_preempts, 600)
{
	struct pm4_stream *ring = &self->queue.stream;
	unsigned int seed = start_random(), round;

	ASSERT_EQ(0, checksum_job_prepare(&self->job, &self->dev, JOB_WORKGROUPS, 2));
	set_job(ring, &self->job);
	pm4_dispatch_direct(ring, JOB_WORKGROUPS);
	release(ring, job_signal(&self->job));
	pm4_submit(&self->queue);
	ASSERT_TRUE(job_wait_progress(&self->job, 1, LONG_MS));
	for (round = 0; round < 50; round++) {
		sleep_us((unsigned int)rand_r(&seed) % 5000);
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
		ASSERT_TRUE(job_stands_still(&self->job, (unsigned int)rand_r(&seed) % 4)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	}
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_TRUE(pm4_wait_consumed(&self->queue, LONG_MS));
}

/*
 * The registers are set before the stop and used after it. With the HWS, the process that came
 * meanwhile is first in the runlist and has the VMID that was ours.
 */
TEST_F_TIMEOUT(pm4, registers_survive_a_preempt_between_packets, 120)
{
	struct pm4_stream *ring = &self->queue.stream;
	struct target other;

	set_whereabouts(ring, self);
	pm4_submit(&self->queue);
	ASSERT_TRUE(pm4_wait_consumed(&self->queue, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
	ASSERT_EQ(0, target_start(&other));
	pm4_dispatch_direct(ring, WORKGROUPS);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	sleep_us(50000);
	EXPECT_TRUE(ran_times(self, 0));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_TRUE(ran_times(self, 1));
	EXPECT_TRUE(target_finish(&other));
}

/* Stopped in mid-kernel, in another VMID afterwards. */
TEST_F_TIMEOUT(pm4, running_dispatch_survives_other_processes, 120)
{
	struct pm4_stream *ring = &self->queue.stream;
	struct target other[2];

	ASSERT_EQ(0, checksum_job_prepare(&self->job, &self->dev, JOB_WORKGROUPS, 2));
	set_job(ring, &self->job);
	pm4_dispatch_direct(ring, JOB_WORKGROUPS);
	release(ring, job_signal(&self->job));
	pm4_submit(&self->queue);
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
	ASSERT_EQ(0, target_start(&other[0]));
	ASSERT_EQ(0, target_start(&other[1]));
	ASSERT_TRUE(job_stands_still(&self->job, 5));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_TRUE(target_finish(&other[0]));
	EXPECT_TRUE(target_finish(&other[1]));
}

/* A stop in an indirect buffer that waits: what was done isn't done again, the rest follows. */
TEST_F(pm4, indirect_buffer_goes_on_where_it_was)
{
	struct pm4_stream buffer = { self->shared->indirect_buffer, 1024, 0 };
	struct pm4_stream *ring = &self->queue.stream;

	set_whereabouts(&buffer, self);
	pm4_dispatch_direct(&buffer, WORKGROUPS);
	pm4_write_data(&buffer, &self->shared->flag, 1);
	pm4_wait_equal(&buffer, &self->shared->gate, 1);
	pm4_dispatch_direct(&buffer, WORKGROUPS);
	pm4_indirect_buffer(ring, &buffer);
	pm4_dispatch_direct(ring, WORKGROUPS);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	ASSERT_TRUE(wait_until(flag_is_set, self->shared, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
	self->shared->flag = 0;
	self->shared->gate = 1;
	sleep_us(50000);
	EXPECT_EQ(1, self->shared->done.value);
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_EQ(0, self->shared->flag);
	EXPECT_TRUE(ran_times(self, 3));
}

/* Each packet once, wherever the queue is stopped; the ring wraps. */
TEST_F_TIMEOUT(pm4, each_packet_runs_once_however_often_the_queue_is_stopped, 600)
{
	struct pm4_stream buffer = { self->shared->indirect_buffer, 1024, 0 };
	struct pm4_stream *ring = &self->queue.stream;
	unsigned int seed = start_random(), round, i;
	uint32_t dispatches = 0;

	for (i = 0; i < IB_DISPATCHES; i++) {
		set_whereabouts(&buffer, self);
		pm4_dispatch_direct(&buffer, WORKGROUPS);
		if (i % 4 == 3)
			pm4_partial_flush(&buffer);
	}
	for (round = 0; round < 40; round++) {
		self->shared->done.value = 1;
		pm4_indirect_buffer(ring, &buffer);
		set_whereabouts(ring, self);
		pm4_dispatch_direct(ring, WORKGROUPS);
		release(ring, &self->shared->done);
		pm4_submit(&self->queue);
		dispatches += IB_DISPATCHES + 1;
		while (rand_r(&seed) % 4) {
			ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
			ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
		}
		ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS)) {
			TH_LOG("round %u", round);
		}
		ASSERT_TRUE(ran_times(self, dispatches)) {
			TH_LOG("round %u", round);
		}
	}
}

/* The driver's stock way of taking a queue off writes its MQD anew. */
TEST_F(pm4, update_queue_changes_nothing_that_the_packets_set)
{
	struct pm4_stream buffer = { self->shared->indirect_buffer, 1024, 0 };
	struct pm4_stream *ring = &self->queue.stream;

	set_whereabouts(&buffer, self);
	pm4_write_data(&buffer, &self->shared->flag, 1);
	pm4_wait_equal(&buffer, &self->shared->gate, 1);
	pm4_dispatch_direct(&buffer, WORKGROUPS);
	pm4_indirect_buffer(ring, &buffer);
	release(ring, &self->shared->done);
	pm4_submit(&self->queue);
	ASSERT_TRUE(wait_until(flag_is_set, self->shared, LONG_MS));
	ASSERT_EQ(0, pm4_queue_set_percentage(&self->queue, 0));
	self->shared->flag = 0;
	self->shared->gate = 1;
	ASSERT_EQ(0, pm4_queue_set_percentage(&self->queue, 100));
	ASSERT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_EQ(0, self->shared->flag);
	EXPECT_TRUE(ran_times(self, 1));
}

/* A queue whose doorbell the CPU never writes, with a dispatch in its ring. */
struct waiting {
	struct pm4_queue queue;
	struct kfd_buffer doorbells;
	volatile uint64_t *doorbell;	/* for the GPU */
};

static int waiting_create(struct waiting *waiting, FIXTURE_DATA(pm4) *self)
{
	struct pm4_queue *queue = &waiting->queue;
	int ret = pm4_queue_create(&self->dev, queue);

	if (!ret)
		ret = kfd_doorbells_alloc(&self->dev, &waiting->doorbells);
	if (ret)
		return ret;
	waiting->doorbell = (volatile uint64_t *)((char *)waiting->doorbells.addr +
		(uintptr_t)queue->doorbell % waiting->doorbells.bytes);
	set_whereabouts(&queue->stream, self);
	pm4_dispatch_direct(&queue->stream, WORKGROUPS);
	release(&queue->stream, &self->shared->done);
	return 0;
}

static void waiting_destroy(struct __test_metadata *_metadata, struct waiting *waiting)
{
	struct kfd_device *dev = waiting->queue.dev;

	EXPECT_EQ(0, pm4_queue_destroy(&waiting->queue));
	kfd_buffer_free(dev, &waiting->doorbells);
}

TEST_F(pm4, packet_rings_the_doorbell_of_another_queue)
{
	struct pm4_stream *ring = &self->queue.stream;
	struct waiting waiting;

	ASSERT_EQ(0, waiting_create(&waiting, self));
	sleep_us(50000);
	EXPECT_TRUE(ran_times(self, 0));
	pm4_write_data(ring, (volatile uint32_t *)waiting.doorbell,
		       (uint32_t)waiting.queue.stream.written);
	pm4_submit(&self->queue);
	EXPECT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_TRUE(ran_times(self, 1));
	waiting_destroy(_metadata, &waiting);
}

/* count.s ends with a store of its iterations: as many as the other queue has dwords. */
TEST_F(pm4, wave_rings_the_doorbell_of_another_queue)
{
	struct {
		uint64_t counters, results, stop;
		uint32_t iterations_max;
	} *args = (void *)&self->shared->indirect_buffer[0];
	struct pm4_stream *ring = &self->queue.stream;
	struct gpu_program count;
	struct waiting waiting;

	ASSERT_EQ(0, waiting_create(&waiting, self));
	ASSERT_EQ(0, gpu_program_load(&self->dev, &gpu_image_count, &count));
	args->counters = (uintptr_t)&self->shared->indirect_buffer[64];
	args->results = (uintptr_t)waiting.doorbell;
	args->stop = (uintptr_t)&self->shared->gate;
	args->iterations_max = (uint32_t)waiting.queue.stream.written;
	pm4_set_dispatch(ring, &(struct pm4_dispatch){
		.kernel_object = count.code.addr,
		.kernarg = args,
		.workgroup_size = 64,
	});
	pm4_dispatch_direct(ring, 1);
	pm4_submit(&self->queue);
	EXPECT_TRUE(aql_signal_wait(&self->shared->done, LONG_MS));
	EXPECT_TRUE(ran_times(self, 1));
	waiting_destroy(_metadata, &waiting);
	gpu_program_free(&self->dev, &count);
}

TEST_HARNESS_MAIN
