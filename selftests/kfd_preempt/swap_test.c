// SPDX-License-Identifier: GPL-2.0-only
/*
 * Saved waves may lie in pages of the process, which the kernel can swap out while the queue is held. Where the driver
 * has SVM, ROCr allocates the CWSR area so, and this test does, too; else the test uses userptr. Without retry faults
 * of the GPU the area must be mapped whenever the queue runs. Needs swap space and root; takes COUNT (of rounds, 20) from the
 * environment.
 */
#include <inttypes.h>

#include "evict.h"
#include "kselftest_harness.h"
#include "svm.h"
#include "target.h"

#define LONG_MS 60000u
#define PAGE_BYTES 4096u
#define SWAPPED (1ull << 62)	/* in /proc/PID/pagemap */

struct saver {
	struct kfd_device dev;
	struct kfd_buffer area;
	struct aql_queue queue;
	struct job job;
	bool svm;
};

static int saver_create(struct saver *saver)
{
	int ret = kfd_device_open(&saver->dev);
	size_t bytes = aql_save_area_bytes(&saver->dev);

	if (ret)
		return ret;
	saver->svm = svm_is_there(&saver->dev);
	ret = saver->svm ? svm_create(&saver->dev, bytes, &saver->area) :
			   userptr_create(&saver->dev, bytes, &saver->area);
	if (!ret)
		ret = aql_queue_create_with_area(&saver->dev, saver->area.addr, &saver->queue);
	if (!ret)
		ret = checksum_job_start(&saver->job, &saver->queue, 2, 2);
	if (!ret && !job_wait_progress(&saver->job, 2, LONG_MS))
		ret = -ETIME;
	return ret;
}

static bool saver_destroy(struct saver *saver)
{
	if (aql_queue_destroy(&saver->queue))
		return false;
	if (saver->svm)
		svm_free(&saver->area);
	else
		kfd_buffer_free(&saver->dev, &saver->area);
	kfd_device_close(&saver->dev);
	return true;
}

/* Pages of the area in swap space, or -1. */
static int pages_away(const struct kfd_buffer *area)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), away = 0;
	uint64_t word;
	size_t i;

	for (i = 0; fd >= 0 && away >= 0 && i < area->bytes / PAGE_BYTES; i++) {
		off_t place = (off_t)(((uintptr_t)area->addr / PAGE_BYTES + i) * sizeof(word));

		if (pread(fd, &word, sizeof(word), place) == sizeof(word))
			away += !!(word & SWAPPED);
		else
			away = -1;
	}
	close(fd);
	return fd < 0 ? -1 : away;
}

/* Pages that the kernel has swapped in, for whatever process. */
static uint64_t pages_swapped(const char *direction)
{
	FILE *file = fopen("/proc/vmstat", "re");
	uint64_t value, found = 0;
	char name[64];

	while (file && fscanf(file, "%63s %" SCNu64, name, &value) == 2)
		if (!strcmp(name, direction))
			found = value;
	if (file)
		fclose(file);
	return found;
}

static uint64_t out_before, in_before;

static void count_from_now(void)
{
	out_before = pages_swapped("pswpout");
	in_before = pages_swapped("pswpin");
}

static void print_pages(const char *what, const struct saver *saver)
{
	printf("# %s: %s of %zu pages; %" PRIu64 " pages swapped out, %" PRIu64 " in\n", what,
	       saver->svm ? "SVM" : "userptr", saver->area.bytes / PAGE_BYTES,
	       pages_swapped("pswpout") - out_before, pages_swapped("pswpin") - in_before);
}

static int page_out(const struct kfd_buffer *area)
{
	return madvise(area->addr, area->bytes, MADV_PAGEOUT) ? -errno : 0;
}

FIXTURE(swap)
{
	struct saver saver;
	unsigned int rounds;
};

FIXTURE_SETUP(swap)
{
	const char *count = getenv("COUNT");

	self->rounds = count ? (unsigned int)atoi(count) : 20;
	ASSERT_EQ(0, saver_create(&self->saver));
	count_from_now();
}

FIXTURE_TEARDOWN(swap)
{
	EXPECT_TRUE(saver_destroy(&self->saver));
}

TEST_F_TIMEOUT(swap, held_queue_whose_save_area_was_swapped_out_resumes_right, 900)
{
	struct saver *saver = &self->saver;
	unsigned int i;

	for (i = 0; i < self->rounds; i++) {
		ASSERT_EQ(0, preempt_queue(saver->dev.kfd_fd, saver->queue.id));
		ASSERT_EQ(0, page_out(&saver->area));
		/* At once, or once the driver has restored the area, or in between. */
		sleep_us(i % 4 * 2000);
		ASSERT_EQ(0, resume_queue(saver->dev.kfd_fd, saver->queue.id));
		ASSERT_TRUE(job_wait_progress(&saver->job, 1, LONG_MS));
	}
	print_pages("held", saver);
	EXPECT_LE(out_before + self->rounds, pages_swapped("pswpout"));
	EXPECT_TRUE(job_ends_right(&saver->job, LONG_MS));
}

TEST_F_TIMEOUT(swap, queue_whose_save_area_is_swapped_out_while_it_runs_is_right, 900)
{
	struct saver *saver = &self->saver;
	unsigned int i;

	for (i = 0; i < self->rounds; i++) {
		ASSERT_EQ(0, page_out(&saver->area));
		sleep_us(i % 4 * 1000);
		ASSERT_EQ(0, preempt_queue(saver->dev.kfd_fd, saver->queue.id));
		EXPECT_TRUE(job_stands_still(&saver->job, 5));
		ASSERT_EQ(0, resume_queue(saver->dev.kfd_fd, saver->queue.id));
		ASSERT_TRUE(job_wait_progress(&saver->job, 1, LONG_MS));
	}
	print_pages("runs", saver);
	EXPECT_LT(out_before, pages_swapped("pswpout"));
	EXPECT_TRUE(job_ends_right(&saver->job, LONG_MS));
}

/* How long the area of a held queue stays away: KFD maps it again, though nothing needs it. */
TEST_F_TIMEOUT(swap, save_area_of_a_held_queue_returns_before_its_resume, 900)
{
	struct kfd_ioctl_preempt_status_args status = {};
	struct saver *saver = &self->saver;
	uint64_t start, end;
	int away, first;

	ASSERT_EQ(0, preempt_queue(saver->dev.kfd_fd, saver->queue.id));
	start = now_ns();
	ASSERT_EQ(0, page_out(&saver->area));
	end = now_ns();
	first = pages_away(&saver->area);
	ASSERT_EQ(0, preempt_status(saver->dev.kfd_fd, 0, saver->queue.id, &status));
	printf("# %u us to swap out; then %d pages are away, status %x\n",
	       (unsigned int)((end - start) / 1000), first, status.status);
	do {
		sleep_us(1000);
		away = pages_away(&saver->area);
		ASSERT_EQ(0, preempt_status(saver->dev.kfd_fd, 0, saver->queue.id, &status));
	} while ((away || status.status & KFD_PREEMPT_STATUS_EVICTED) &&
		 now_ns() - end < LONG_MS * 1000000ull);
	printf("# %u us later %d pages are away, status %x\n", (unsigned int)((now_ns() - end) / 1000), away,
	       status.status);
	print_pages("waits", saver);
	EXPECT_LT(out_before, pages_swapped("pswpout"));
	EXPECT_EQ(0, away);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_FALSE(status.status & KFD_PREEMPT_STATUS_EVICTED);
	EXPECT_TRUE(job_stands_still(&saver->job, 20));
	ASSERT_EQ(0, resume_queue(saver->dev.kfd_fd, saver->queue.id));
	EXPECT_TRUE(job_ends_right(&saver->job, LONG_MS));
}

static struct saver other;

/* At each order to preempt itself it swaps its area out instead. */
static void run_other(struct target_shared *shared)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (saver_create(&other))
		_exit(1);
	shared->queue_id = other.queue.id;
	shared->kfd_fd = other.dev.kfd_fd;
	shared_set(&shared->ready, 1);
	for (;;) {
		shared_set(&shared->progress, job_progress(&other.job, 0));
		shared_set(&shared->updates, shared->updates + 1);
		switch (shared_get(&shared->order)) {
		case TARGET_PREEMPT:
			shared->result = page_out(&other.area);
			shared_set(&shared->order, TARGET_IDLE);
			break;
		case TARGET_FINISH:
			_exit(target_finish_job(&other.job) ? 1 : 0);
		}
		sleep_us(500);
	}
}

TEST_F_TIMEOUT(swap, process_of_an_operator_with_swapped_save_area_resumes_right, 900)
{
	struct target target = {};
	unsigned int i;

	ASSERT_EQ(0, target_start_as(&target, run_other));
	for (i = 0; i < self->rounds; i++) {
		ASSERT_EQ(0, switch_preempt(self->saver.dev.kfd_fd, target.pid, 0, target.queue_id));
		ASSERT_EQ(0, target_order(&target, TARGET_PREEMPT));
		sleep_us(i % 4 * 2000);
		EXPECT_TRUE(target_stands_still(&target, 5));
		ASSERT_EQ(0, switch_resume(self->saver.dev.kfd_fd, target.pid, 0, target.queue_id));
		ASSERT_TRUE(target_moves(&target));
	}
	print_pages("operator", &self->saver);
	EXPECT_LE(out_before + self->rounds, pages_swapped("pswpout"));
	EXPECT_TRUE(target_finish(&target));
	target_kill(&target);
	EXPECT_TRUE(job_ends_right(&self->saver.job, LONG_MS));
}

TEST_HARNESS_MAIN
