// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls and stores after the driver was unbound from the GPU. A process that has opened /dev/kfd and
 * no GPU uses nothing that was freed: needs a kernel that finds accesses to freed memory, KASAN or
 * page_poison=1 slub_debug=P, which overwrites it. Needs root. The GPU is gone after each test.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "aql_queue.h"
#include "kfd_device.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "text_file.h"
#include "wait.h"
#include "watch.h"

#define LONG_MS 60000u
#define NO_QUEUE 0x7fffffffu

/* Shared with the process that makes the calls. */
struct caller_shared {
	uint32_t ready;
	uint32_t unbound;
	uint32_t done;
	uint32_t gpu_id;
	int32_t query, query_gpu, preempt;
	uint32_t mapped;
	int32_t first_store, store;	/* to a doorbell, before and after */
};

static void make_calls(struct caller_shared *shared)
{
	struct kfd_ioctl_preempt_query_args query;
	int fd = kfd_open();
	unsigned int waited_ms;

	if (fd < 0 || preempt_query(fd, shared->gpu_id, &query))
		_exit(1);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->unbound, __ATOMIC_ACQUIRE))
		sleep_us(1000);
	shared->query = preempt_query(fd, 0, &query);
	/* The end of the process that had its doorbells mapped frees the data. */
	for (waited_ms = 0; waited_ms < LONG_MS; waited_ms++) {
		shared->query_gpu = preempt_query(fd, shared->gpu_id, &query);
		if (shared->query_gpu)
			break;
		sleep_us(1000);
	}
	shared->preempt = preempt_queue(fd, NO_QUEUE);
	__atomic_store_n(&shared->done, 1, __ATOMIC_RELEASE);
	/* Must not exit: KFD's own teardown of the process uses the freed data, patched or not. */
	for (;;)
		pause();
}

/* Its mapping keeps the device; the GPU and its doorbells go nevertheless. */
static void ring(struct caller_shared *shared)
{
	volatile uint64_t *doorbells = watch_map_doorbells(kfd_open(), shared->gpu_id, MAP_SHARED);

	if (doorbells == MAP_FAILED)
		_exit(1);
	/* The page is mapped from now on. */
	shared->first_store = watch_store_to(doorbells);
	__atomic_store_n(&shared->mapped, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->unbound, __ATOMIC_ACQUIRE))
		sleep_us(1000);
	shared->store = watch_store_to(doorbells);
	_exit(0);
}

static bool is_mapped(const void *shared)
{
	return __atomic_load_n(&((const struct caller_shared *)shared)->mapped, __ATOMIC_ACQUIRE);
}

static bool is_ready(const void *shared)
{
	return __atomic_load_n(&((const struct caller_shared *)shared)->ready, __ATOMIC_ACQUIRE);
}

static bool is_done(const void *shared)
{
	return __atomic_load_n(&((const struct caller_shared *)shared)->done, __ATOMIC_ACQUIRE);
}

static int unbind_gpu(void)
{
	const char *address;
	glob_t found;
	int ret;

	if (glob("/sys/bus/pci/drivers/amdgpu/*:*:*.*", 0, NULL, &found))
		return -ENODEV;
	address = strrchr(found.gl_pathv[0], '/') + 1;
	ret = text_file_write("/sys/bus/pci/drivers/amdgpu/unbind", address);
	globfree(&found);
	return ret;
}

/* Bits that a report of the kernel sets: an oops, a warning, KASAN's. */
static unsigned long taints(void)
{
	const unsigned long reports = 1ul << 5 | 1ul << 7 | 1ul << 9;
	FILE *file = fopen("/proc/sys/kernel/tainted", "re");
	unsigned long value = ~0ul;

	if (!file)
		return value;
	if (fscanf(file, "%lu", &value) != 1)
		value = ~0ul;
	fclose(file);
	return value & reports;
}

/* Read from the topology: a process that acquires the VM of a GPU keeps its memory allocated. */
static uint32_t gpu_id(void)
{
	uint32_t id = 0;
	glob_t found;
	size_t i;

	if (glob("/sys/class/kfd/kfd/topology/nodes/*/gpu_id", 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc && !id; i++) {
		FILE *file = fopen(found.gl_pathv[i], "re");

		/* CPU nodes have 0. */
		if (file && fscanf(file, "%u", &id) != 1)
			id = 0;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return id;
}

TEST(after_the_gpu_was_unbound_nothing_of_it_is_used)
{
	struct caller_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long before;
	pid_t caller, ringer;
	int status = 0;

	ASSERT_NE(MAP_FAILED, shared);
	shared->gpu_id = gpu_id();
	ASSERT_NE(0, shared->gpu_id);
	caller = fork();
	ASSERT_LE(0, caller);
	if (!caller)
		make_calls(shared);
	ringer = fork();
	ASSERT_LE(0, ringer);
	if (!ringer)
		ring(shared);
	ASSERT_TRUE(wait_until(is_ready, shared, LONG_MS));
	ASSERT_TRUE(wait_until(is_mapped, shared, LONG_MS));
	ASSERT_EQ(0, unbind_gpu());
	before = taints();
	__atomic_store_n(&shared->unbound, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(ringer, waitpid(ringer, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, shared->first_store);
	EXPECT_EQ(SIGBUS, shared->store);
	EXPECT_TRUE(wait_until(is_done, shared, 2 * LONG_MS));
	EXPECT_EQ(before, taints());
	EXPECT_TRUE(shared->query == 0 || shared->query == -ENODEV);
	EXPECT_EQ(-ENODEV, shared->query_gpu);
	EXPECT_GT(0, shared->preempt);
}

/* A process with two queues, the first of which is held. Shared with the test. */
struct owner_shared {
	uint32_t ready;
	uint32_t unbound;
	uint32_t done;
	int32_t resume, preempt, status[2];
	uint32_t state[2];
};

static void own_queues(struct owner_shared *shared)
{
	struct kfd_ioctl_preempt_status_args status = {};
	struct aql_queue queue[2];
	struct kfd_device dev;
	unsigned int i;

	if (kfd_device_open(&dev) || aql_queue_create(&dev, &queue[0]) ||
	    aql_queue_create(&dev, &queue[1]) || preempt_queue(dev.kfd_fd, queue[0].id))
		_exit(1);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&shared->unbound, __ATOMIC_ACQUIRE))
		sleep_us(1000);
	shared->resume = resume_queue(dev.kfd_fd, queue[0].id);
	shared->preempt = preempt_queue(dev.kfd_fd, queue[1].id);
	for (i = 0; i < 2; i++) {
		shared->status[i] = preempt_status(dev.kfd_fd, 0, queue[i].id, &status);
		shared->state[i] = status.state;
	}
	__atomic_store_n(&shared->done, 1, __ATOMIC_RELEASE);
	/* Must not exit: KFD's own teardown uses its DRM client, which the unbind has freed. */
	for (;;)
		pause();
}

static bool owner_is_ready(const void *shared)
{
	return __atomic_load_n(&((const struct owner_shared *)shared)->ready, __ATOMIC_ACQUIRE);
}

static bool owner_is_done(const void *shared)
{
	return __atomic_load_n(&((const struct owner_shared *)shared)->done, __ATOMIC_ACQUIRE);
}

/* The open file of the GPU keeps the driver's data, so this test needs a boot of its own. */
TEST(queues_are_dead_after_the_gpu_was_unbound)
{
	struct owner_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	pid_t owner;

	ASSERT_NE(MAP_FAILED, shared);
	owner = fork();
	ASSERT_LE(0, owner);
	if (!owner)
		own_queues(shared);
	ASSERT_TRUE(wait_until(owner_is_ready, shared, LONG_MS));
	ASSERT_EQ(0, unbind_gpu());
	__atomic_store_n(&shared->unbound, 1, __ATOMIC_RELEASE);
	ASSERT_TRUE(wait_until(owner_is_done, shared, LONG_MS));
	EXPECT_EQ(-EIO, shared->resume);
	EXPECT_EQ(-EIO, shared->preempt);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, shared->status[i]);
		EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, shared->state[i]);
	}
}

TEST_HARNESS_MAIN
