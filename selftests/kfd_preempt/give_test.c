// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations for which VRAM has no room wait for a watch that makes some. Needs a small VRAM
 * (vramlimit=128 or 256).
 */
#include "users.h"
#include "watch.h"
#include "yield.h"

#define GIVE KFD_PREEMPT_WATCH_GIVE_MEMORY
#define NO_ROOM KFD_PREEMPT_WATCH_NO_ROOM
#define COOKIE 7u
#define LONG_MS 30000u
#define SOON_MS 300u	/* less than a new process waits to become a target */

/* One that has most of VRAM, one that wants as much, and a watch of it. */
FIXTURE(give)
{
	struct kfd_device dev;
	struct hoard has, wants;
	struct kfd_preempt_watch_event event;
	struct ledger before;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(give)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->before = ledger_read(&self->dev);
	ASSERT_EQ(0, hoard_start(&self->has, MOST, BUFFER_BYTES));
	self->fd = watch_open(self->dev.kfd_fd);
	ASSERT_LE(0, self->fd);
	/* There is a giver. */
	ASSERT_LE(0, watch_add_flags(self->fd, self->has.pid, 1, GIVE));
}

FIXTURE_TEARDOWN(give)
{
	hoard_kill(&self->has);
	hoard_kill(&self->wants);
	close(self->fd);
	EXPECT_TRUE(is_as_before(&self->dev, &self->before));
	kfd_device_close(&self->dev);
}

#define BEGIN(flags) \
	do { \
		ASSERT_EQ(0, hoard_begin(&self->wants, MOST, BUFFER_BYTES)); \
		ASSERT_LT(0, add_soon(self->fd, self->wants.pid, flags, &self->id)); \
	} while (0)
#define EXPECT_WANTS() \
	do { \
		ASSERT_TRUE(next_of_kind(self->fd, KFD_PREEMPT_WATCH_WANTS_MEMORY, LONG_MS, \
					 &self->event)); \
		EXPECT_EQ(COOKIE, self->event.cookie); \
		EXPECT_EQ(self->dev.gpu_id, self->event.gpu_id); \
		EXPECT_EQ(BUFFER_BYTES / MIB, self->event.doorbell); \
		ASSERT_TRUE(wait_until(is_asleep, &self->wants.pid, LONG_MS)); \
	} while (0)

/* The event comes before the wait. */
static bool is_asleep(const void *pid)
{
	return process_state(*(const pid_t *)pid) == 'S';
}

/* Once it has opened /dev/kfd, and then some time later. */
static int add_soon(int fd, pid_t pid, uint32_t flags, uint32_t *id)
{
	int ret = -ESRCH;

	while (ret == -ESRCH) {
		sleep_us(1000);
		ret = watch_add_flags(fd, pid, COOKIE, flags);
	}
	if (ret > 0)
		*id = (uint32_t)ret;
	return ret;
}

/* Queues come, too. */
static bool next_of_kind(int fd, uint32_t type, unsigned int timeout_ms,
			 struct kfd_preempt_watch_event *event)
{
	do {
		if (!watch_next(fd, timeout_ms, event))
			return false;
	} while (event->type != type);
	return true;
}

static bool is_told(const FIXTURE_DATA(give) *self)
{
	struct kfd_preempt_watch_event event;

	return next_of_kind(self->fd, KFD_PREEMPT_WATCH_WANTS_MEMORY, SOON_MS, &event);
}

TEST_F_TIMEOUT(give, an_allocation_waits_until_there_is_room, 120)
{
	BEGIN(GIVE);
	EXPECT_WANTS();
	EXPECT_FALSE(is_told(self));
	EXPECT_EQ(0, self->wants.shared->ready);
	ASSERT_EQ(0, stop(&self->dev, &self->has, YIELD));
	ASSERT_EQ(0, watch_answer(self->fd, self->id, 0));
	ASSERT_EQ(0, hoard_wait(&self->wants));
	EXPECT_TRUE(hoard_finish(&self->wants));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, &self->has));
	EXPECT_TRUE(hoard_finish(&self->has));
}

TEST_F_TIMEOUT(give, it_asks_again_if_it_still_does_not_fit, 120)
{
	BEGIN(GIVE);
	EXPECT_WANTS();
	ASSERT_EQ(0, watch_answer(self->fd, self->id, 0));
	EXPECT_WANTS();
	ASSERT_EQ(0, stop(&self->dev, &self->has, YIELD));
	ASSERT_EQ(0, watch_answer(self->fd, self->id, 0));
	EXPECT_EQ(0, hoard_wait(&self->wants));
}

TEST_F_TIMEOUT(give, no_room_lets_it_fail, 120)
{
	BEGIN(GIVE);
	EXPECT_WANTS();
	ASSERT_EQ(0, watch_answer(self->fd, self->id, NO_ROOM));
	EXPECT_EQ(-ENOMEM, hoard_wait(&self->wants));
	EXPECT_EQ(-ESRCH, watch_answer(self->fd, self->id, 0));
}

/* The answer before concerns what waited then. */
TEST_F_TIMEOUT(give, an_answer_that_nobody_waits_for_is_no_answer, 120)
{
	BEGIN(GIVE);
	(void)watch_answer(self->fd, self->id, NO_ROOM);
	EXPECT_WANTS();
	ASSERT_EQ(0, stop(&self->dev, &self->has, YIELD));
	ASSERT_EQ(0, watch_answer(self->fd, self->id, 0));
	EXPECT_EQ(0, hoard_wait(&self->wants));
}

TEST_F_TIMEOUT(give, it_fails_when_the_target_is_removed, 120)
{
	BEGIN(GIVE);
	EXPECT_WANTS();
	ASSERT_EQ(0, watch_remove(self->fd, self->id));
	EXPECT_EQ(-ENOMEM, hoard_wait(&self->wants));
}

TEST_F_TIMEOUT(give, it_fails_when_the_watch_is_closed, 120)
{
	int fd;

	/* A watch that the process doesn't inherit. */
	ASSERT_EQ(0, hoard_begin(&self->wants, MOST, BUFFER_BYTES));
	fd = watch_open(self->dev.kfd_fd);
	ASSERT_LE(0, fd);
	ASSERT_LT(0, add_soon(fd, self->wants.pid, GIVE, &self->id));
	ASSERT_TRUE(next_of_kind(fd, KFD_PREEMPT_WATCH_WANTS_MEMORY, LONG_MS, &self->event));
	ASSERT_TRUE(wait_until(is_asleep, &self->wants.pid, LONG_MS));
	close(fd);
	EXPECT_EQ(-ENOMEM, hoard_wait(&self->wants));
}

TEST_F_TIMEOUT(give, a_target_without_the_flag_fails_at_once, 120)
{
	BEGIN(0);
	EXPECT_FALSE(is_told(self));
	EXPECT_EQ(-ENOMEM, hoard_wait(&self->wants));
}

/* Long after the allocation, not long after the process has come. */
TEST_F_TIMEOUT(give, a_new_process_waits_to_be_found, 120)
{
	ASSERT_EQ(0, hoard_begin(&self->wants, MOST, BUFFER_BYTES));
	sleep_us(SOON_MS * 1000);
	EXPECT_EQ(0, self->wants.shared->ready);
	ASSERT_LT(0, add_soon(self->fd, self->wants.pid, GIVE, &self->id));
	EXPECT_WANTS();
	ASSERT_EQ(0, stop(&self->dev, &self->has, YIELD));
	ASSERT_EQ(0, watch_answer(self->fd, self->id, 0));
	EXPECT_EQ(0, hoard_wait(&self->wants));
}

/* The times of a process that nobody finds, whose last allocation has no room. */
struct unfound {
	uint64_t opened_ns, asked_ns, failed_ns;
	int32_t result;
};

static void run_unfound(struct unfound *unfound)
{
	struct kfd_buffer buffer;
	struct kfd_device dev;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	unfound->opened_ns = now_ns();
	ret = kfd_device_open(&dev);
	while (!ret) {
		unfound->asked_ns = now_ns();
		ret = kfd_buffer_alloc(&dev, KFD_IN_VRAM, BUFFER_BYTES, &buffer);
	}
	unfound->failed_ns = now_ns();
	unfound->result = ret;
	_exit(0);
}

TEST_F_TIMEOUT(give, a_new_process_that_nobody_finds_fails_after_two_seconds, 120)
{
	const uint64_t wait_ns = 2000000000ull, late_ns = 1000000000ull, tick_ns = 10000000;
	struct unfound *unfound = mmap(NULL, sizeof(*unfound), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t due_ns;
	pid_t pid;
	int status;

	ASSERT_NE(MAP_FAILED, unfound);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		run_unfound(unfound);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(-ENOMEM, unfound->result);
	/* On a slow machine the two seconds may be over before there is no room. */
	due_ns = unfound->opened_ns + wait_ns;
	EXPECT_LE(due_ns - tick_ns, unfound->failed_ns);
	if (due_ns < unfound->asked_ns)
		due_ns = unfound->asked_ns;
	EXPECT_GT(due_ns + late_ns, unfound->failed_ns) {
		TH_LOG("it failed %llu ms late",
		       (unsigned long long)(unfound->failed_ns - due_ns) / 1000000);
	}
	munmap(unfound, sizeof(*unfound));
}

TEST_F_TIMEOUT(give, a_process_that_waits_can_be_killed, 120)
{
	BEGIN(GIVE);
	EXPECT_WANTS();
	hoard_kill(&self->wants);
	EXPECT_TRUE(next_of_kind(self->fd, KFD_PREEMPT_WATCH_EXITED, LONG_MS, &self->event));
	EXPECT_EQ(COOKIE, self->event.cookie);
}

TEST_F(give, bad_arguments)
{
	const int mine = watch_add_flags(self->fd, getpid(), COOKIE, GIVE);

	ASSERT_LT(0, mine);
	EXPECT_EQ(0, watch_answer(self->fd, (uint32_t)mine, NO_ROOM));
	EXPECT_EQ(-EINVAL, watch_answer(self->fd, (uint32_t)mine, 2));
	EXPECT_EQ(-ENOENT, watch_answer(self->fd, 12345, 0));
	EXPECT_EQ(-EINVAL, watch_add_flags(self->fd, getpid(), COOKIE, GIVE << 1));
	/* An allocation that fits asks no giver. */
	EXPECT_FALSE(is_told(self));
}

/* Without any permission, a process makes itself one that gets room. */
static void give_itself(int report)
{
	int fd, ret = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = become_user() ? kfd_open() : -1;
	if (fd >= 0)
		ret = watch_add_flags(watch_open(fd), getpid(), 0, GIVE);
	if (write(report, &ret, sizeof(ret)) != sizeof(ret))
		_exit(1);
	for (;;)
		pause();
}

/* A new process allocates more than there is. 1: that failed while the process was still new. */
static int fails_at_once(void)
{
	uint64_t begin = now_ns();
	struct kfd_device dev;
	struct kfd_buffer buf;

	if (kfd_device_open(&dev) || kfd_buffer_alloc(&dev, KFD_IN_VRAM, 1ul << 30, &buf) != -ENOMEM)
		return 2;
	return now_ns() - begin < 1900000000ull;
}

/* On a busy machine even a process that does not wait may be too late, so try it some times. */
TEST(process_that_gives_to_itself_delays_no_other)
{
	int ret = 0, report[2], status = 0;
	unsigned int i;
	pid_t giver, child;

	ASSERT_EQ(0, pipe(report));
	giver = fork();
	ASSERT_LE(0, giver);
	if (!giver)
		give_itself(report[1]);
	ASSERT_EQ(sizeof(ret), read(report[0], &ret, sizeof(ret)));
	ASSERT_LT(0, ret);
	for (i = 0; i < 8 && status != 1; i++) {
		child = fork();
		ASSERT_LE(0, child);
		if (!child)
			_exit(fails_at_once());
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		status = WEXITSTATUS(status);
	}
	EXPECT_EQ(1, status);
	child_kill(&giver);
}

TEST_HARNESS_MAIN
