// SPDX-License-Identifier: GPL-2.0-only
/* KFD's other calls on a held queue, and two threads on one queue. Needs root for CRIU's. */
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u

FIXTURE(held)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(held)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 8, LONG_MS));
	self->id = self->queue.id;
}

/* After each test the GPU kernel must still run, and end with the right result. */
FIXTURE_TEARDOWN(held)
{
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

#define EXPECT_HELD() \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &now)); \
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, now.state); \
		EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, now.holds); \
		EXPECT_TRUE(job_stands_still(&self->job, 50)); \
	} while (0)

/* Words of struct v9_mqd that enable the CUs of a shader engine. */
static const unsigned int cu_words[] = { 23, 24, 26, 27 };
#define MQD_WORDS 32u

/* Enabled CUs in the MQD of the queue of this process on the first XCC, as debugfs has it; or -1. */
static int cus_in_mqd(void)
{
	uint32_t words[MQD_WORDS], offset = 0, i;
	FILE *file = fopen("/sys/kernel/debug/kfd/mqds", "re");
	char line[256], mine[32];
	bool found = false;
	int cus = 0;

	if (!file)
		return -1;
	snprintf(mine, sizeof(mine), "Process %d ", getpid());
	while (offset < MQD_WORDS && fgets(line, sizeof(line), file)) {
		uint32_t *word = words + offset;

		found |= !strncmp(line, mine, strlen(mine));
		if (found && sscanf(line, " %*x: %x %x %x %x %x %x %x %x", word, word + 1, word + 2,
				    word + 3, word + 4, word + 5, word + 6, word + 7) == 8)
			offset += 8;
	}
	fclose(file);
	for (i = 0; offset == MQD_WORDS && i < ARRAY_SIZE(cu_words); i++)
		cus += __builtin_popcount(words[cu_words[i]]);
	return offset == MQD_WORDS ? cus : -1;
}

TEST_F(held, set_cu_mask_takes_effect_and_starts_nothing)
{
	/* Bits are dealt to the XCCs in turn: two CUs of each, which is half of the software GPU's. */
	const int half = 2;
	uint32_t mask = (1u << half * self->dev.num_xcc) - 1;
	struct kfd_ioctl_set_cu_mask_args args = {
		.queue_id = self->id,
		.num_cu_mask = 32,
		.cu_mask_ptr = (uintptr_t)&mask,
	};
	struct kfd_ioctl_preempt_status_args status;

	EXPECT_LT(half, cus_in_mqd());
	ASSERT_EQ(0, switch_preempt(self->fd, 0, KFD_PREEMPT_SWITCH_CHECKPOINT, self->id));
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_SET_CU_MASK, &args));
	EXPECT_EQ(half, cus_in_mqd());
	EXPECT_HELD();
	/* A copy from before would undo it. */
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_FALSE(status.status & KFD_PREEMPT_STATUS_CHECKPOINTED);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_EQ(half, cus_in_mqd());
}

TEST_F(held, wave_state_is_there_while_held_and_not_while_running)
{
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.queue_id = self->id,
		.ctl_stack_address = (uintptr_t)self->queue.cwsr.addr,
	};

	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args));
	EXPECT_LT(0, args.ctl_stack_used_size);
	EXPECT_LT(0, args.save_area_used_size);
	EXPECT_HELD();
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

static int set_gws(int fd, uint32_t queue_id, uint32_t num)
{
	struct kfd_ioctl_alloc_queue_gws_args args = { .queue_id = queue_id, .num_gws = num };

	return kfd_ioctl(fd, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args);
}

/* KFD has GWS under firmware scheduling only. */
TEST_F(held, gws_comes_and_goes_and_starts_nothing)
{
	int want = driver_has_no_hws(self->fd) ? -ENODEV : 0;

	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(want, set_gws(self->fd, self->id, 1));
	EXPECT_HELD();
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	/* Now it has GWS when it is stopped, and none when it is started. */
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(want, set_gws(self->fd, self->id, 0));
	EXPECT_HELD();
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

static int criu(int fd, uint32_t op)
{
	struct kfd_ioctl_criu_args args = { .op = op };

	return kfd_ioctl(fd, AMDKFD_IOC_CRIU_OP, &args);
}

TEST_F(held, hold_survives_the_pause_for_an_image)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_PROCESS_INFO));
	EXPECT_TRUE(job_stands_still(&self->job, 20));
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_UNPAUSE));
	EXPECT_HELD();
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_F(held, hold_taken_in_the_pause_lasts_when_it_ends)
{
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_PROCESS_INFO));
	EXPECT_TRUE(job_stands_still(&self->job, 20));
	EXPECT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_UNPAUSE));
	EXPECT_HELD();
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_F(held, hold_dropped_in_the_pause_starts_at_its_end)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_PROCESS_INFO));
	EXPECT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 50));
	ASSERT_EQ(0, criu(self->fd, KFD_CRIU_OP_UNPAUSE));
}

struct racer {
	int fd;
	uint32_t id;
	unsigned int stops, starts;
	int wrong;	/* an error that no lost race explains */
};

static void *race(void *arg)
{
	struct racer *racer = arg;
	unsigned int i;
	int ret;

	for (i = 0; i < 50 && !racer->wrong; i++) {
		ret = preempt_queue(racer->fd, racer->id);
		racer->stops += !ret;
		if (ret && ret != -EALREADY)
			racer->wrong = ret;
		ret = resume_queue(racer->fd, racer->id);
		racer->starts += !ret;
		if (ret && ret != -EALREADY)
			racer->wrong = ret;
	}
	return NULL;
}

/* One of two gets each hold, the other EALREADY. */
TEST_F_TIMEOUT(held, two_threads_share_one_hold, 120)
{
	struct kfd_ioctl_preempt_status_args status;
	struct racer racer[2] = {};
	pthread_t thread[2];
	unsigned int i;
	int ret;

	for (i = 0; i < 2; i++) {
		racer[i] = (struct racer){ .fd = self->fd, .id = self->id };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, race, &racer[i]));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, racer[i].wrong);
	}
	ret = resume_queue(self->fd, self->id);
	EXPECT_EQ(-EALREADY, ret);
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(0, status.holds);
	EXPECT_EQ(racer[0].stops + racer[1].stops, status.preempts);
	EXPECT_EQ(racer[0].starts + racer[1].starts, status.resumes);
	EXPECT_EQ(status.preempts, status.resumes);
}

TEST_HARNESS_MAIN
