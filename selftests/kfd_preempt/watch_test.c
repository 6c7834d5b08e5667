// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch: an event for each end of an idle time, none else, and none lost. The own process is a
 * target like any other. Needs root, for the other ones.
 */
#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "sdma_queue.h"
#include "sched_mode.h"
#include "target.h"
#include "users.h"
#include "watch_fixture.h"

#define NONE_MS 100u
#define PAGE 4096ul
#define DISARM KFD_PREEMPT_WATCH_DISARM

static bool run_packet(struct aql_queue *queue, struct aql_signal *signal)
{
	__atomic_store_n(&signal->value, 1, __ATOMIC_RELEASE);
	aql_queue_barrier(queue, signal);
	return aql_signal_wait(signal, LONG_MS);
}

static struct kfd_ioctl_preempt_status_args status_of(const FIXTURE_DATA(watch) *self)
{
	struct kfd_ioctl_preempt_status_args status;

	if (preempt_status(self->dev.kfd_fd, 0, self->queue.id, &status))
		memset(&status, 0xff, sizeof(status));
	return status;
}

#define EXPECT_RANG() \
	do { \
		ASSERT_TRUE(NEXT(LONG_MS)); \
		EXPECT_EQ(KFD_PREEMPT_WATCH_RANG, self->event.type); \
		EXPECT_EQ(COOKIE, self->event.cookie); \
		EXPECT_EQ(self->dev.gpu_id, self->event.gpu_id); \
	} while (0)

TEST_F(watch, first_ring_of_an_armed_target_is_one_event)
{
	uint64_t before;

	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.queues_busy);
	EXPECT_EQ(0, self->entry.state);
	EXPECT_FALSE(NEXT(NONE_MS));
	before = now_ns();
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	EXPECT_LE(before, self->event.ns);
	EXPECT_GE(now_ns(), self->event.ns);
	EXPECT_EQ(1, self->event.count);
	EXPECT_EQ(status_of(self).doorbell, self->event.doorbell);
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_FALSE(NEXT(NONE_MS));
}

TEST_F(watch, each_arm_has_its_event)
{
	unsigned int i;

	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_FALSE(NEXT(NONE_MS));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, ARM(0));
		ASSERT_EQ(0, self->entry.queues_busy);
		ASSERT_TRUE(run_packet(&self->queue, self->signal));
		EXPECT_RANG();
		ASSERT_TRUE(run_packet(&self->queue, self->signal));
	}
	EXPECT_FALSE(NEXT(NONE_MS));
}

TEST_F(watch, busy_target_is_told_by_arm)
{
	struct kfd_ioctl_preempt_status_args status;
	struct job job;

	ASSERT_EQ(0, checksum_job_start(&job, &self->queue, 1, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(1, self->entry.queues_busy);
	EXPECT_EQ(KFD_PREEMPT_WATCH_STATE_BUSY, self->entry.state);
	EXPECT_EQ(1, self->entry.gpus_busy);
	ASSERT_EQ(0, ARM(KFD_PREEMPT_WATCH_NO_LOOK));
	EXPECT_EQ(0, self->entry.queues_busy);
	status = status_of(self);
	EXPECT_TRUE(status.valid & KFD_PREEMPT_VALID_INDEXES);
	EXPECT_EQ(*self->queue.write_index, status.write_index);
	EXPECT_EQ(1, status.write_index - status.read_index);
	EXPECT_TRUE(job_ends_right(&job, LONG_MS));
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.queues_busy);
	job_free(&job);
}

/* A packet processor takes a packet before the packet is done. */
TEST_F(watch, status_has_the_signal_of_the_last_packet)
{
	const uint32_t both = KFD_PREEMPT_VALID_INDEXES | KFD_PREEMPT_VALID_SIGNAL;
	struct kfd_ioctl_preempt_status_args status = status_of(self);

	EXPECT_EQ(KFD_PREEMPT_VALID_INDEXES, status.valid);
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	status = status_of(self);
	EXPECT_EQ(both, status.valid);
	EXPECT_EQ(0, status.last_signal);
	__atomic_store_n(&self->signal->value, -7, __ATOMIC_RELEASE);
	EXPECT_EQ(-7, status_of(self).last_signal);
	/* The program has freed it: the memory is another thing's, or a signal no more. */
	self->signal->kind = 0;
	EXPECT_EQ(KFD_PREEMPT_VALID_INDEXES, status_of(self).valid);
	self->signal->kind = (intptr_t)self->signal;
	EXPECT_EQ(KFD_PREEMPT_VALID_INDEXES, status_of(self).valid);
	self->signal->kind = 1;
	EXPECT_EQ(both, status_of(self).valid);
	aql_queue_barrier(&self->queue, NULL);
	EXPECT_EQ(KFD_PREEMPT_VALID_INDEXES, status_of(self).valid);
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
}

TEST_F(watch, held_queue_with_packets_is_busy)
{
	ASSERT_EQ(0, preempt_queue(self->dev.kfd_fd, self->queue.id));
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.queues_busy);
	self->signal->value = 1;
	aql_queue_barrier(&self->queue, self->signal);
	EXPECT_RANG();
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(1, self->entry.queues_busy);
	ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue.id));
	EXPECT_TRUE(aql_signal_wait(self->signal, LONG_MS));
}

TEST_F(watch, disarmed_target_has_no_event)
{
	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, ARM(DISARM));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_FALSE(NEXT(NONE_MS));
	ASSERT_EQ(0, ARM(0));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
}

TEST_F(watch, two_watches_have_an_event_each)
{
	struct kfd_preempt_watch_arm_entry entry;
	int other = watch_open(self->dev.kfd_fd);
	int id = watch_add_fd(other, self->dev.kfd_fd, 2);

	ASSERT_LT(0, id);
	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, watch_arm(other, (uint32_t)id, 0, &entry));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	ASSERT_TRUE(watch_next(other, LONG_MS, &self->event));
	EXPECT_EQ(2, self->event.cookie);
	/* One that goes takes nothing from the other. */
	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, watch_arm(other, (uint32_t)id, 0, &entry));
	close(other);
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
}

TEST_F(watch, removed_target_has_no_event)
{
	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, watch_remove(self->fd, self->id));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_FALSE(NEXT(NONE_MS));
	EXPECT_EQ(-ENOENT, ARM(0));
	EXPECT_EQ(-ENOENT, watch_remove(self->fd, self->id));
}

TEST_F(watch, queues_that_come_and_go_are_events)
{
	struct aql_queue idle[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, aql_queue_create_idle(&self->queue, &idle[i]));
	ASSERT_TRUE(NEXT(LONG_MS));
	EXPECT_EQ(KFD_PREEMPT_WATCH_QUEUE_CREATED, self->event.type);
	EXPECT_EQ(3, self->event.count);
	EXPECT_EQ(idle[2].id, self->event.doorbell);
	EXPECT_EQ(self->dev.gpu_id, self->event.gpu_id);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, aql_queue_destroy_idle(&idle[i]));
	ASSERT_TRUE(NEXT(LONG_MS));
	EXPECT_EQ(KFD_PREEMPT_WATCH_QUEUE_DESTROYED, self->event.type);
	EXPECT_EQ(3, self->event.count);
	EXPECT_EQ(idle[2].id, self->event.doorbell);
	EXPECT_FALSE(NEXT(NONE_MS));
}

/* An SDMA queue has its doorbell in another page than a compute queue may have. */
TEST_F(watch, sdma_queue_rings_as_well)
{
	struct kfd_ioctl_preempt_status_args status;
	struct sdma_queue sdma;
	volatile uint32_t *word = (uint32_t *)(self->signal + 1);

	ASSERT_EQ(0, sdma_queue_create(&self->dev, &sdma));
	ASSERT_TRUE(NEXT(LONG_MS));
	ASSERT_EQ(0, preempt_status(self->dev.kfd_fd, 0, sdma.id, &status));
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.queues_busy);
	sdma_fence(&sdma, word, 7);
	sdma_submit(&sdma);
	EXPECT_RANG();
	EXPECT_EQ(status.doorbell, self->event.doorbell);
	EXPECT_EQ(0, sdma_queue_destroy(&sdma));
}

/* ROCm maps them once, but a program may do as it likes. */
TEST_F(watch, every_mapping_of_the_doorbells_is_taken_away)
{
	void *page = (void *)((uintptr_t)self->queue.doorbell & ~4095ul);
	struct aql_queue second;

	ASSERT_EQ(0, aql_queue_create(&self->dev, &second)); /* maps them again */
	ASSERT_TRUE(NEXT(LONG_MS));
	ASSERT_EQ(0, ARM(0));
	ASSERT_TRUE(run_packet(&second, self->signal));
	EXPECT_RANG();
	ASSERT_EQ(0, ARM(0));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	EXPECT_EQ(0, aql_queue_destroy(&second));
	ASSERT_TRUE(NEXT(LONG_MS));
	/* Half of it read only for a while: the mapping is split. */
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ | PROT_WRITE));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	EXPECT_EQ(0, self->entry.state);
}

TEST_F(watch, mapping_that_moves_or_loses_a_part_is_taken_away)
{
	const uintptr_t slice = WATCH_DOORBELL_BYTES;
	volatile uint64_t *doorbell = self->queue.doorbell;
	uintptr_t offset = (uintptr_t)doorbell & (slice - 1);
	void *old = (void *)((uintptr_t)doorbell - offset), *new;

	ASSERT_EQ(0, ARM(0));
	new = mmap(NULL, slice, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, new);
	ASSERT_EQ(new, mremap(old, slice, slice, MREMAP_MAYMOVE | MREMAP_FIXED, new));
	self->queue.doorbell = (void *)((uintptr_t)new + offset);
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	EXPECT_EQ(status_of(self).doorbell, self->event.doorbell);
	/* The half without the doorbell goes, and what stays has another first page. */
	ASSERT_EQ(0, munmap((void *)((uintptr_t)new + (offset < PAGE ? PAGE : 0)), PAGE));
	ASSERT_EQ(0, ARM(0));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
	EXPECT_EQ(status_of(self).doorbell, self->event.doorbell);
	/* Back to where the queue's end looks for it. */
	munmap(new, slice);
	self->queue.doorbell = doorbell;
}

TEST_F(watch, child_has_no_doorbells_and_makes_no_event)
{
	int status = 0;
	pid_t pid;

	ASSERT_EQ(0, ARM(0));
	pid = fork();
	if (!pid)
		_exit(watch_store_to(self->queue.doorbell) == SIGSEGV ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_FALSE(NEXT(NONE_MS));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	EXPECT_RANG();
}

/* KFD takes such a mapping for one of the child, in which it isn't found. From 7.2 on KFD refuses it. */
TEST_F(watch, mapping_by_the_file_of_another_process_makes_a_target_blind)
{
	struct kfd_preempt_watch_arm_entry entry;
	int status = 0, id;
	pid_t pid = fork();

	if (!pid) {
		int own = kfd_open();
		int watch = watch_open(own);
		bool refused;

		id = watch_add_fd(watch, own, 0);
		if (id <= 0 || watch_arm(watch, (uint32_t)id, 0, &entry) || entry.state)
			_exit(1);
		refused = watch_map_doorbells(self->dev.kfd_fd, self->dev.gpu_id, MAP_SHARED) == MAP_FAILED;
		if (refused && errno != EBADF)
			_exit(2);
		if (watch_arm(watch, (uint32_t)id, 0, &entry))
			_exit(3);
		_exit(entry.state == (refused ? 0 : KFD_PREEMPT_WATCH_STATE_BLIND) ? 0 : 4);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, ARM(0));
	EXPECT_FALSE(self->entry.state & KFD_PREEMPT_WATCH_STATE_BLIND);
}

TEST_F(watch, private_mapping_makes_a_target_blind)
{
	volatile uint64_t *doorbells = watch_map_doorbells(self->dev.kfd_fd, self->dev.gpu_id,
							   MAP_PRIVATE);

	ASSERT_EQ(0, ARM(0));
	if (doorbells == MAP_FAILED) {
		EXPECT_EQ(0, self->entry.state);
		return;
	}
	EXPECT_EQ(KFD_PREEMPT_WATCH_STATE_BLIND, self->entry.state);
	munmap((void *)doorbells, WATCH_DOORBELL_BYTES);
}

/* Memory where every access waits for ever. */
static int map_for_ever(void *addr, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)addr, .len = bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		return -1;
	return fd;
}

/* A process must not be able to stop the scheduler of all. */
TEST_F(watch, indexes_in_memory_that_waits_for_ever_count_as_busy)
{
	struct kfd_ioctl_preempt_status_args status;
	int fd = map_for_ever(self->queue.pointers.addr, self->queue.pointers.bytes);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(1, self->entry.queues_busy);
	status = status_of(self);
	EXPECT_EQ(self->queue.id, status.queue_id);
	EXPECT_EQ(0, status.valid);
	close(fd);
}

/* The pause for CRIU's image evicts a process until it ends. */
TEST_F(watch, arm_tells_of_an_evicted_process)
{
	struct kfd_ioctl_criu_args criu = { .op = KFD_CRIU_OP_PROCESS_INFO };

	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.state);
	ASSERT_EQ(0, kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_CRIU_OP, &criu));
	EXPECT_EQ(0, ARM(0));
	EXPECT_EQ(KFD_PREEMPT_WATCH_STATE_EVICTED, self->entry.state);
	criu = (struct kfd_ioctl_criu_args){ .op = KFD_CRIU_OP_UNPAUSE };
	ASSERT_EQ(0, kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_CRIU_OP, &criu));
	EXPECT_EQ(0, ARM(0));
	EXPECT_EQ(0, self->entry.state);
}

TEST_F(watch, one_read_takes_as_many_events_as_fit)
{
	struct kfd_preempt_watch_event events[4];
	struct aql_queue idle;

	ASSERT_EQ(0, ARM(0));
	ASSERT_EQ(0, aql_queue_create_idle(&self->queue, &idle));
	ASSERT_EQ(0, aql_queue_destroy_idle(&idle));
	ASSERT_TRUE(run_packet(&self->queue, self->signal));
	ASSERT_EQ(2 * sizeof(events[0]),
		  (size_t)read(self->fd, events, 3 * sizeof(events[0]) - 1));
	ASSERT_TRUE(NEXT(LONG_MS));
	EXPECT_FALSE(NEXT(NONE_MS));
	EXPECT_EQ(COOKIE, events[0].cookie);
	EXPECT_NE(events[0].type, events[1].type);
	EXPECT_NE(events[1].type, self->event.type);
}

TEST_F(watch, wrong_calls_are_refused)
{
	struct kfd_ioctl_preempt_watch_args make = { .flags = 1 };
	struct kfd_preempt_watch_add add = { .target = getpid() };
	struct kfd_preempt_watch_remove remove = { .id = self->id, .pad = 1 };
	struct kfd_preempt_watch_arm arm = { .num_entries = 1, .flags = 4 };
	char small[16];

	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_PREEMPT_WATCH, &make));
	make = (struct kfd_ioctl_preempt_watch_args){ .reserved = { 0, 0, 1 } };
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->dev.kfd_fd, AMDKFD_IOC_PREEMPT_WATCH, &make));
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ADD, &add));
	add.flags = KFD_PREEMPT_SWITCH_TARGET_PID | KFD_PREEMPT_SWITCH_TARGET_FD;
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ADD, &add));
	add = (struct kfd_preempt_watch_add){ .flags = KFD_PREEMPT_SWITCH_TARGET_PID,
					      .target = getpid(), .reserved = 1 };
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ADD, &add));
	EXPECT_EQ(-ESRCH, watch_add(self->fd, 1, 0));
	EXPECT_EQ(-EBADF, watch_add_fd(self->fd, 0, 0));
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_REMOVE, &remove));
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ARM, &arm));
	arm.flags = 0;
	EXPECT_EQ(-EFAULT, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ARM, &arm));
	arm.num_entries = 0;
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ARM, &arm));
	arm.num_entries = KFD_PREEMPT_MAX_BATCH + 1;
	EXPECT_EQ(-E2BIG, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ARM, &arm));
	EXPECT_EQ(-ENOTTY, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_QUERY, &arm));
	self->entry.id = self->id;
	self->entry.reserved = 1;
	arm = (struct kfd_preempt_watch_arm){ .entries_ptr = (uintptr_t)&self->entry,
					      .num_entries = 1 };
	EXPECT_EQ(0, kfd_ioctl(self->fd, KFD_PREEMPT_WATCH_ARM, &arm));
	EXPECT_EQ(-EINVAL, self->entry.result);
	EXPECT_EQ(0, arm.num_armed);
	EXPECT_EQ(-1, read(self->fd, small, sizeof(small)));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-1, read(self->fd, &self->event, sizeof(self->event)));
	EXPECT_EQ(EAGAIN, errno);
}

/* A program that was built before STATUS grew. */
TEST_F(watch, status_of_the_first_version_has_its_size)
{
	const size_t size = offsetof(struct kfd_ioctl_preempt_status_args, write_index);
	struct kfd_ioctl_preempt_status_args args = {
		.queue_id = self->queue.id,
		.write_index = 0x5a5a,
	};

	ASSERT_EQ(0, kfd_ioctl(self->dev.kfd_fd, _IOC(_IOC_READ | _IOC_WRITE, 'K', 0xf2, size), &args));
	EXPECT_NE(0, args.queue_uid);
	EXPECT_EQ(0x5a5a, args.write_index);
	EXPECT_EQ(-EINVAL, kfd_ioctl(self->dev.kfd_fd,
				     _IOC(_IOC_READ | _IOC_WRITE, 'K', 0xf2, size - 8), &args));
}

FIXTURE(other)
{
	struct kfd_device dev;
	struct target target;
	struct kfd_preempt_watch_event event;
	struct kfd_preempt_watch_arm_entry entry;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(other)
{
	int id;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, target_start(&self->target));
	self->fd = watch_open(self->dev.kfd_fd);
	ASSERT_LE(0, self->fd);
	id = watch_add(self->fd, self->target.pid, COOKIE);
	ASSERT_LT(0, id);
	self->id = (uint32_t)id;
}

FIXTURE_TEARDOWN(other)
{
	target_kill(&self->target);
	close(self->fd);
	kfd_device_close(&self->dev);
}

TEST_F(other, process_that_is_killed_is_an_event)
{
	ASSERT_EQ(0, ARM(0));
	EXPECT_EQ(1, self->entry.queues_busy);
	kill(self->target.pid, SIGKILL);
	/* Its queue goes first. */
	do {
		ASSERT_TRUE(NEXT(LONG_MS));
	} while (self->event.type != KFD_PREEMPT_WATCH_EXITED);
	EXPECT_EQ(COOKIE, self->event.cookie);
	EXPECT_EQ(-ESRCH, ARM(0));
	EXPECT_EQ(0, watch_remove(self->fd, self->id));
}

TEST_F(other, watch_that_is_closed_leaves_the_process_alone)
{
	ASSERT_EQ(0, ARM(0));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

/* The right to preempt its queues, checked at ADD. */
TEST_F(other, user_may_not_watch_another_process)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int fd = become_user() ? watch_open(kfd_open()) : -1;

		_exit(fd >= 0 && watch_add(fd, self->target.pid, 0) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static void *exec_once_told(void *arg)
{
	int *told = arg;
	char byte;

	if (read(told[0], &byte, 1) == 1) {
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		execl("/proc/self/exe", "watch_test", "-l", (char *)NULL);
	}
	_exit(1);
}

/* The new program may open /dev/kfd for itself: it is another target. */
TEST(process_that_calls_exec_is_an_event)
{
	struct kfd_preempt_watch_arm_entry entry;
	struct kfd_preempt_watch_event event;
	int told[2], ready[2], fd, id;
	char byte = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe(told));
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		if (kfd_open() < 0 || write(ready[1], &byte, 1) != 1)
			_exit(1);
		exec_once_told(told);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	fd = watch_open(kfd_open());
	id = watch_add(fd, pid, COOKIE);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, watch_arm(fd, (uint32_t)id, 0, &entry));
	ASSERT_EQ(1, write(told[1], &byte, 1));
	ASSERT_TRUE(watch_next(fd, LONG_MS, &event));
	EXPECT_EQ(KFD_PREEMPT_WATCH_EXITED, event.type);
	EXPECT_EQ(COOKIE, event.cookie);
	EXPECT_EQ(-ESRCH, watch_arm(fd, (uint32_t)id, 0, &entry));
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
