// SPDX-License-Identifier: GPL-2.0-only
/* With kfd_preempt=0 none of the calls exist and KFD works as without us. */
#include <fcntl.h>
#include <unistd.h>

#include "calls.h"
#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "queue_file.h"

TEST(every_call_is_unknown_whatever_its_arguments)
{
	struct call_bytes call;
	enum call which;
	int fd = kfd_open();
	int unknown = kfd_answer_to_unknown(fd);

	ASSERT_LE(0, fd);
	ASSERT_TRUE(unknown == -ENOTTY || unknown == -EINVAL);
	for (which = 0; which < NUM_CALLS; which++) {
		call_init(&call, which);
		EXPECT_EQ(unknown, call_issue(fd, which, &call)) {
			TH_LOG("%s", call_facts[which].name);
		}
		EXPECT_EQ(unknown, kfd_ioctl(fd, call_facts[which].cmd, NULL));
		EXPECT_EQ(unknown, kfd_ioctl(fd, call_cmd_sized(which, 4), call.bytes));
		EXPECT_EQ(unknown, kfd_ioctl(fd, call_cmd_sized(which, 2048), call.bytes));
	}
	close(fd);
}

static bool queue_has_file(uint32_t queue_id, const char *name)
{
	int fd = queue_file_open(getpid(), queue_id, name, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

TEST(update_queue_still_stops_and_starts_a_kernel)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;

	ASSERT_EQ(0, kfd_device_open(&dev));
	ASSERT_EQ(0, aql_queue_create(&dev, &queue));
	/* Not even a file of ours next to those of KFD. */
	EXPECT_TRUE(queue_has_file(queue.id, "gpuid"));
	EXPECT_FALSE(queue_has_file(queue.id, "preempt_state"));
	ASSERT_EQ(0, checksum_job_start(&job, &queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, 30000));
	ASSERT_EQ(0, aql_queue_set_percentage(&queue, 0));
	EXPECT_TRUE(job_stands_still(&job, 100));
	ASSERT_EQ(0, aql_queue_set_percentage(&queue, 100));
	EXPECT_TRUE(job_wait_progress(&job, 2, 30000));
	job_stop(&job);
	ASSERT_TRUE(job_wait(&job, 30000));
	EXPECT_EQ(0, job_errors(&job));
	EXPECT_EQ(0, aql_queue_destroy(&queue));
	job_free(&job);
	kfd_device_close(&dev);
}

TEST_HARNESS_MAIN
