// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory pressure: a client of DRM takes the VRAM of a process whose queues run. KFD evicts the
 * process, the driver moves its buffers out and back, and SDMA runs the client's commands under a
 * VMID of the memory hub. Needs a small VRAM (vramlimit=256).
 */
#include <inttypes.h>
#include <sys/wait.h>

#include "gem_client.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "wait.h"

#define LONG_MS 60000u
#define MIB (1ul << 20)

/* Together more than 256 MiB of VRAM. */
#define OWN_BUFFERS 12u
#define OWN_BYTES (8 * MIB)
#define CLIENT_BUFFERS 15u
#define CLIENT_BYTES (16 * MIB)
#define STEP_BYTES 4096u	/* one word in each page is checked */

enum { RUNS, IS_HELD, QUEUES };

FIXTURE(pressure)
{
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct job job[QUEUES];
	struct kfd_buffer memory[OWN_BUFFERS];
};

FIXTURE_SETUP(pressure)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	for (i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
	for (i = 0; i < OWN_BUFFERS; i++) {
		ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, OWN_BYTES,
					      &self->memory[i]));
		memset(self->memory[i].addr, (int)(i + 1), OWN_BYTES);
	}
}

FIXTURE_TEARDOWN(pressure)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
}

/* How long KFD has kept this process evicted. */
static uint64_t evicted_ms(uint32_t gpu_id)
{
	char path[128];
	uint64_t ms = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/stats_%u/evicted_ms", getpid(),
		 gpu_id);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%" SCNu64, &ms) != 1)
		ms = 0;
	if (file)
		fclose(file);
	return ms;
}

static int check_words(const uint32_t *words, uint64_t bytes, uint32_t want)
{
	uint64_t i;

	for (i = 0; i < bytes / sizeof(*words); i += STEP_BYTES / sizeof(*words))
		if (words[i] != want)
			return -EILSEQ;
	return 0;
}

/* Takes nearly all of the VRAM, fills it, and reads it back. 0 or a negative errno. */
static int press(uint32_t render_minor)
{
	static struct gem_buffer memory[CLIENT_BUFFERS];
	struct gem_buffer back;
	struct gem_client client;
	const char *step = "open";
	uint32_t i;
	int ret = gem_client_open(render_minor, &client);

	if (!ret)
		ret = gem_buffer_alloc(&client, GEM_IN_SYSTEM, CLIENT_BYTES, &back);
	for (i = 0; !ret && i < CLIENT_BUFFERS; i++) {
		step = "fill";
		ret = gem_buffer_alloc(&client, GEM_IN_VRAM, CLIENT_BYTES, &memory[i]);
		if (!ret)
			ret = gem_fill(&client, &memory[i], 0xabcd0000u + i);
	}
	for (i = 0; !ret && i < CLIENT_BUFFERS; i++) {
		step = "read back";
		ret = gem_copy(&client, &memory[i], &back);
		if (!ret)
			ret = check_words(back.addr, CLIENT_BYTES, 0xabcd0000u + i);
	}
	if (ret)
		printf("# client of DRM: %s: %s\n", step, strerror(-ret));
	fflush(stdout);
	return ret;
}

TEST_F_TIMEOUT(pressure, queues_of_an_evicted_process_lose_no_work, 900)
{
	unsigned int i, k, wrong = 0;
	int status;
	pid_t client;

	ASSERT_EQ(0, preempt_queue(self->dev.kfd_fd, self->queue[IS_HELD].id));
	/* A process evicts no KFD buffer of its own (amdgpu_ttm_bo_eviction_valuable()). */
	client = fork();
	if (!client)
		_exit(press(self->dev.render_minor) ? 1 : 0);
	ASSERT_LT(0, client);
	ASSERT_EQ(client, waitpid(client, &status, 0));
	/* After a GPU reset the queues are dead. */
	ASSERT_EQ(0, status);

	EXPECT_TRUE(job_wait_progress(&self->job[RUNS], 2, LONG_MS));
	EXPECT_LT(0, evicted_ms(self->dev.gpu_id)) {
		TH_LOG("no eviction: is the VRAM larger than 256 MiB?");
	}
	EXPECT_TRUE(job_stands_still(&self->job[IS_HELD], 50));
	EXPECT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue[IS_HELD].id));
	for (i = 0; i < QUEUES; i++)
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
	for (i = 0; i < OWN_BUFFERS; i++)
		for (k = 0; k < OWN_BYTES; k += STEP_BYTES)
			wrong += ((const uint8_t *)self->memory[i].addr)[k] != i + 1;
	EXPECT_EQ(0, wrong);
}

TEST_HARNESS_MAIN
