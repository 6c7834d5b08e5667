// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is freed while a signal comes, as in kill -9 of a program that ends: the call has done
 * nothing, and the next one, or the end of the process, frees it, whoever has it locked meanwhile.
 * Needs root and kfd_probes.ko.
 */
#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aql_queue.h"
#include "kselftest_harness.h"
#include "probes.h"

#define PROBE "fail_reserve"
#define PROBE_AT_EXIT "fail_lock_at_exit"

FIXTURE(free)
{
	int unused;
};

FIXTURE_SETUP(free)
{
	ASSERT_EQ(0, probes_load());
}

FIXTURE_TEARDOWN(free)
{
	probes_unload();
}

/* Not kfd_ioctl(), which makes an interrupted call again. */
static int free_memory(const struct kfd_device *dev, const struct kfd_buffer *buf)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = { .handle = buf->handle };

	return ioctl(dev->kfd_fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args) ? -errno : 0;
}

/* A buffer that isn't mapped any more, which a signal didn't let go. */
static void free_interrupted(struct __test_metadata *_metadata, struct kfd_device *dev,
			     struct kfd_buffer *buf)
{
	struct kfd_ioctl_unmap_memory_from_gpu_args unmap = {
		.device_ids_array_ptr = (uintptr_t)&dev->gpu_id,
		.n_devices = 1,
	};

	ASSERT_EQ(0, kfd_device_open(dev));
	ASSERT_EQ(0, kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, buf));
	unmap.handle = buf->handle;
	ASSERT_EQ(0, kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap));
	ASSERT_EQ(0, probes_set(PROBE, 1));
	ASSERT_EQ(-EINTR, free_memory(dev, buf));
	ASSERT_EQ(0, probes_get(PROBE));
}

TEST_F(free, call_that_a_signal_interrupted_is_made_again)
{
	struct kfd_device dev;
	struct kfd_buffer buf;

	free_interrupted(_metadata, &dev, &buf);
	EXPECT_EQ(0, free_memory(&dev, &buf));
	EXPECT_EQ(-EINVAL, free_memory(&dev, &buf));
	kfd_device_close(&dev);
}

/* A defect of this path is reported in the kernel log. */
TEST_F(free, process_ends_with_memory_that_a_signal_did_not_let_go)
{
	struct kfd_device dev;
	struct kfd_buffer buf;
	int status;
	pid_t child = fork();

	ASSERT_LE(0, child);
	if (!child) {
		free_interrupted(_metadata, &dev, &buf);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, kfd_device_open(&dev));
	ASSERT_EQ(0, kfd_buffer_alloc(&dev, KFD_IN_SYSTEM, 4096, &buf));
	kfd_buffer_free(&dev, &buf);
	kfd_device_close(&dev);
}

/*
 * From 7.2 on it does so itself, with the signal pending. Buffers that it leaves behind count as used
 * by a queue when nobody is left to say that they aren't.
 */
TEST_F(free, killed_process_lets_go_of_the_buffers_of_its_queue)
{
	struct kfd_device dev;
	struct aql_queue queue;
	int status;
	pid_t child;

	ASSERT_EQ(0, probes_set(PROBE_AT_EXIT, 1));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		if (!kfd_device_open(&dev) && !aql_queue_create(&dev, &queue))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(1, probes_get(PROBE_AT_EXIT)) {
		TH_LOG("a lock was not waited for, because a signal was pending");
	}
}

TEST_HARNESS_MAIN
