// SPDX-License-Identifier: GPL-2.0-only
/* The states of one process's own queues, and what happens to a held one. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aql_queue.h"
#include "evict.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
#define AFTER_EXEC "--after-exec"

FIXTURE(queue)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(queue)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	self->fd = self->dev.kfd_fd;
	self->id = self->queue.id;
}

FIXTURE_TEARDOWN(queue)
{
	if (self->queue.ring.addr)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

#define EXPECT_STATE(want_state, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
	} while (0)

#define START_JOB() \
	do { \
		ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2)); \
		ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS)); \
	} while (0)

#define FINISH_JOB() \
	do { \
		job_stop(&self->job); \
		ASSERT_TRUE(job_wait(&self->job, LONG_MS)); \
		EXPECT_EQ(0, job_errors(&self->job)); \
		job_free(&self->job); \
	} while (0)

/* A queue of this process works: create, run, stop, resume, check, destroy. */
static int new_queue_works(struct kfd_device *dev)
{
	struct aql_queue queue;
	struct job job;
	int ret = aql_queue_create(dev, &queue);

	if (ret)
		return ret;
	ret = checksum_job_start(&job, &queue, 2, 2);
	if (!ret && !job_wait_progress(&job, 2, LONG_MS))
		ret = -ETIME;
	if (!ret)
		ret = preempt_queue(dev->kfd_fd, queue.id);
	if (!ret && !job_stands_still(&job, 20))
		ret = -EBUSY;
	if (!ret)
		ret = resume_queue(dev->kfd_fd, queue.id);
	if (!ret) {
		job_stop(&job);
		ret = job_wait(&job, LONG_MS) ? 0 : -ETIME;
	}
	if (!ret && job_errors(&job))
		ret = -EIO;
	aql_queue_destroy(&queue);
	job_free(&job);
	return ret;
}

/* A driver that shows no size accepts the computed one alone; this one shows it. */
TEST_F(queue, save_area_is_computed_as_large_as_the_driver_shows_it)
{
	EXPECT_EQ(self->dev.cwsr_bytes, self->dev.computed_cwsr_bytes);
	EXPECT_EQ(self->dev.ctl_stack_bytes, self->dev.computed_ctl_stack_bytes);
}

TEST_F(queue, preempting_a_held_queue_is_EALREADY)
{
	START_JOB();
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-EALREADY, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-EALREADY, switch_preempt(self->fd, 0, 0, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	/* One hold, not three: one resume starts it. */
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, resuming_a_running_queue_is_EALREADY)
{
	START_JOB();
	EXPECT_EQ(-EALREADY, resume_queue(self->fd, self->id));
	EXPECT_EQ(-EALREADY, switch_resume(self->fd, 0, 0, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, work_submitted_to_a_held_queue_waits_for_resume)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, count_job_start(&self->job, &self->queue, 1));
	EXPECT_TRUE(job_stands_still(&self->job, 200));
	EXPECT_EQ(0, job_progress(&self->job, 0));
	EXPECT_EQ(0, *self->queue.read_index);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 5, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, held_queue_can_be_destroyed_in_mid_kernel)
{
	struct kfd_ioctl_preempt_status_args status;

	START_JOB();
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, aql_queue_destroy(&self->queue));
	EXPECT_EQ(-ENOENT, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(-ENOENT, resume_queue(self->fd, self->id));
	EXPECT_EQ(0, new_queue_works(&self->dev));
}

TEST_F(queue, hold_belongs_to_the_process_not_to_its_file)
{
	int second = kfd_open();

	ASSERT_LE(0, second);
	START_JOB();
	ASSERT_EQ(0, preempt_queue(second, self->id));
	close(second);
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
}

TEST_F(queue, status_counts_stops_starts_and_time)
{
	struct kfd_ioctl_preempt_status_args status;
	uint64_t uid, begin, elapsed;
	unsigned int i;

	START_JOB();
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	uid = status.queue_uid;
	EXPECT_NE(0, uid);
	EXPECT_EQ(0, status.preempts);
	EXPECT_EQ(0, status.resumes);
	EXPECT_EQ(0, status.held_ns);
	begin = now_ns();
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		sleep_us(20000);
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	elapsed = now_ns() - begin;
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(3, status.preempts);
	EXPECT_EQ(3, status.resumes);
	EXPECT_EQ(0, status.failures);
	EXPECT_EQ(uid, status.queue_uid);
	EXPECT_LE(3 * 20000000ull, status.held_ns);
	EXPECT_GE(elapsed, status.held_ns);
	EXPECT_LT(0, status.last_preempt_ns);
	EXPECT_GE(status.max_preempt_ns, status.last_preempt_ns);
	EXPECT_GE(elapsed, status.max_preempt_ns);
	EXPECT_EQ(0, status.pad);
	FINISH_JOB();
}

TEST_F(queue, failed_calls_count_as_neither_stop_nor_start)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-EALREADY, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_EQ(-EALREADY, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(1, status.preempts);
	EXPECT_EQ(1, status.resumes);
	EXPECT_EQ(0, status.failures);
}

static int preempt_with_uid(int fd, uint32_t id, uint64_t uid)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		.queue_uid = uid,
	};
	int ret = preempt_switch(fd, 0, KFD_PREEMPT_SWITCH_MATCH_UID, &entry, 1);

	return ret ? ret : entry.result;
}

TEST_F(queue, reused_queue_id_is_ESTALE_for_the_old_uid)
{
	struct kfd_ioctl_preempt_status_args old, new;

	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &old));
	EXPECT_EQ(-ESTALE, preempt_with_uid(self->fd, self->id, old.queue_uid + 1));
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);

	ASSERT_EQ(0, aql_queue_destroy(&self->queue));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(self->id, self->queue.id);
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &new));
	EXPECT_NE(old.queue_uid, new.queue_uid);
	EXPECT_EQ(-ESTALE, preempt_with_uid(self->fd, self->id, old.queue_uid));
	EXPECT_EQ(0, preempt_with_uid(self->fd, self->id, new.queue_uid));
	EXPECT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_F(queue, results_that_cannot_be_written_are_EFAULT_and_resume_still_works)
{
	struct kfd_ioctl_preempt_status_args status;
	struct kfd_preempt_switch_entry *entry;
	long page = sysconf(_SC_PAGESIZE);

	START_JOB();
	entry = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, entry);
	entry->queue_id = self->id;
	entry->op = KFD_PREEMPT_OP_PREEMPT;
	entry->preempt_type = KFD_PREEMPT_TYPE_SAVE;
	ASSERT_EQ(0, mprotect(entry, page, PROT_READ));
	EXPECT_EQ(-EFAULT, preempt_switch(self->fd, 0, 0, entry, 1));
	/* The stop itself may have been done by then: STATUS tells. */
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	if (status.holds)
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
	munmap(entry, page);
}

TEST_F(queue, update_queue_does_not_start_a_held_queue)
{
	START_JOB();
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	EXPECT_TRUE(job_stands_still(&self->job, 50));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, resume_does_not_start_a_queue_of_0_percent)
{
	START_JOB();
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	EXPECT_STATE(KFD_PREEMPT_STATE_INACTIVE, 0);
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_INACTIVE, 0);
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, reset_is_refused)
{
	int ret;

	START_JOB();
	ret = preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_RESET, 0);
	if (driver_has_no_hws(self->fd)) {
		EXPECT_EQ(-EPERM, ret);
	} else {
		EXPECT_EQ(-EOPNOTSUPP, ret);
	}
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

static void *stop_job_soon(void *job)
{
	sleep_us(100000);
	job_stop(job);
	return NULL;
}

TEST_F(queue, drain_lets_the_kernel_end_first)
{
	pthread_t thread;

	START_JOB();
	if (!driver_can(self->fd, KFD_PREEMPT_TYPE_DRAIN)) {
		/* firmware scheduling can only save */
		EXPECT_EQ(-EOPNOTSUPP, preempt_queue_type(self->fd, self->id,
							  KFD_PREEMPT_TYPE_DRAIN, 0));
		EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
		FINISH_JOB();
		return;
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, stop_job_soon, &self->job));
	EXPECT_EQ(0, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_DRAIN, 4000));
	EXPECT_TRUE(job_done(&self->job));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
	EXPECT_EQ(0, new_queue_works(&self->dev));
}

TEST_F_TIMEOUT(queue, drain_of_an_endless_kernel_is_PENDING_until_it_ends, 60)
{
	struct kfd_ioctl_preempt_status_args status;

	if (!driver_can(self->fd, KFD_PREEMPT_TYPE_DRAIN)) {
		EXPECT_EQ(-EOPNOTSUPP, preempt_queue_type(self->fd, self->id,
							  KFD_PREEMPT_TYPE_DRAIN, 200));
		return;
	}
	START_JOB();
	EXPECT_EQ(-ETIME, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_DRAIN, 200));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_PENDING, status.state);
	EXPECT_TRUE(status.status & KFD_PREEMPT_STATUS_HW_PENDING);
	EXPECT_EQ(1, status.failures);
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	job_stop(&self->job);
	ASSERT_TRUE(job_wait(&self->job, LONG_MS));
	EXPECT_EQ(0, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_DRAIN, 4000));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	EXPECT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
}

TEST_F(queue, eviction_and_restore_leave_a_held_queue_held)
{
	struct kfd_ioctl_preempt_status_args status;

	START_JOB();
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, evict_all("vram"));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_TRUE(status.status & KFD_PREEMPT_STATUS_EVICTED);
	/* KFD restores evicted processes after 100 ms and then retries. */
	EXPECT_TRUE(job_stands_still(&self->job, 1000));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	FINISH_JOB();
}

TEST_F(queue, preempt_and_resume_while_evicted_wait_for_the_restore)
{
	unsigned int i;

	START_JOB();
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, evict_all("vram"));
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		EXPECT_TRUE(job_stands_still(&self->job, 10));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
		EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	}
	FINISH_JOB();
}

/* A process with a running kernel on a queue, held or not; tells its pid's id. */
static pid_t start_child(int report, bool held)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	pid_t child = fork();
	int ret;

	if (child)
		return child;
	ret = kfd_device_open(&dev);
	if (!ret)
		ret = aql_queue_create(&dev, &queue);
	if (!ret)
		ret = checksum_job_start(&job, &queue, 2, 2);
	if (!ret && !job_wait_progress(&job, 2, LONG_MS))
		ret = -ETIME;
	if (!ret && held)
		ret = preempt_queue(dev.kfd_fd, queue.id);
	if (write(report, &ret, sizeof(ret)) != sizeof(ret))
		_exit(1);
	for (;;)
		pause();
}

static bool kfd_forgot(const void *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", *(const pid_t *)pid);
	return access(path, F_OK) && errno == ENOENT;
}

static void kill_child_and_look(struct __test_metadata *_metadata, FIXTURE_DATA(queue) *self,
				bool held)
{
	int report[2], ret = 1;
	pid_t child;

	START_JOB();
	ASSERT_EQ(0, pipe(report));
	child = start_child(report[1], held);
	ASSERT_LT(0, child);
	ASSERT_EQ(sizeof(ret), read(report[0], &ret, sizeof(ret)));
	ASSERT_EQ(0, ret);
	ASSERT_FALSE(kfd_forgot(&child));

	ASSERT_EQ(0, kill(child, SIGKILL));
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	EXPECT_TRUE(wait_until(kfd_forgot, &child, LONG_MS));
	/* The neighbour continued, and new queues work. */
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	EXPECT_EQ(0, new_queue_works(&self->dev));
	FINISH_JOB();
	close(report[0]);
	close(report[1]);
}

TEST_F(queue, process_killed_while_held_leaves_nothing)
{
	kill_child_and_look(_metadata, self, true);
}

TEST_F(queue, process_killed_while_running_leaves_nothing)
{
	kill_child_and_look(_metadata, self, false);
}

TEST_F(queue, exec_takes_the_held_queue_along)
{
	int status;
	pid_t child = fork();

	ASSERT_LE(0, child);
	if (!child) {
		struct kfd_device dev;
		struct aql_queue queue;
		struct job job;
		char fd_text[16], id_text[16];
		char *argv[] = { "state_test", AFTER_EXEC, fd_text, id_text, NULL };

		if (kfd_device_open(&dev) || aql_queue_create(&dev, &queue) ||
		    checksum_job_start(&job, &queue, 2, 2) || preempt_queue(dev.kfd_fd, queue.id))
			_exit(100);
		fcntl(dev.kfd_fd, F_SETFD, 0);
		snprintf(fd_text, sizeof(fd_text), "%d", dev.kfd_fd);
		snprintf(id_text, sizeof(id_text), "%u", queue.id);
		execv("/proc/self/exe", argv);
		_exit(101);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(ESRCH, WEXITSTATUS(status));
	EXPECT_EQ(0, new_queue_works(&self->dev));
}

/* The other half of the test above: the file is still there, the process not. */
static int resume_after_exec(const char *fd, const char *id)
{
	return -resume_queue(atoi(fd), (uint32_t)atoi(id));
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], AFTER_EXEC))
		return resume_after_exec(argv[2], argv[3]);
	return test_harness_run(argc, argv);
}
