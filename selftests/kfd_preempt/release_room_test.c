// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of an operator whose process cannot return to VRAM, because others have filled it: other
 * processes are released at once, the release is retried less and less often, and again when VRAM
 * is freed. Times are those of the guest, so the boot counts instructions. Needs root, a small VRAM
 * (vramlimit=128), tracefs and /sys/power/pm_test; the test of frozen tasks needs a second CPU instead.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "many_queues.h"
#include "text_file.h"
#include "yield.h"

#define QUEUES 200u
#define SMALL_BUFFERS_OF_QUEUE 10u
#define FILLERS_MAX 64u
#define SOON_MS 1000u
#define LONG_MS 60000u
/* The delays 20, 40, 80, 160, 320, 640, 1000 ms are over by then. */
#define UNTIL_SLOWEST_US 2500000u

#define INSTANCE "/sys/kernel/tracing/instances/release_room_test"
#define RELEASE INSTANCE "/events/kfd_preempt/kfd_preempt_release/enable"
#define SUSPEND INSTANCE "/events/power/suspend_resume/enable"

static int trace_begin(void)
{
	int ret;

	if (mkdir(INSTANCE, 0700) && errno != EEXIST)
		return -errno;
	ret = text_file_write(SUSPEND, "1");
	return ret ? ret : text_file_write(RELEASE, "1");
}

static void trace_end(void)
{
	text_file_write(RELEASE, "0");
	text_file_write(SUSPEND, "0");
	rmdir(INSTANCE);
}

struct passes {
	unsigned int freezes, frozen, all;
};

/* How often tasks were frozen, and the queues of a process were to be released: then, and in all. */
static struct passes count_passes(pid_t pid)
{
	FILE *file = fopen(INSTANCE "/trace", "re");
	struct passes passes = {};
	char line[512], text[64];
	bool frozen = false;

	snprintf(text, sizeof(text), "kfd_preempt_release: pid=%d ", pid);
	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, "freeze_processes[0] end")) {
			frozen = true;
			passes.freezes++;
		} else if (strstr(line, "thaw_processes[0] begin")) {
			frozen = false;
		} else if (strstr(line, text)) {
			passes.all++;
			passes.frozen += frozen;
		}
	}
	if (file)
		fclose(file);
	return passes;
}

/* The VRAM that the test has taken. */
static struct {
	struct kfd_buffer buffer[FILLERS_MAX];
	unsigned int num;
} fill;

/* Leaves room for less than two buffers. */
static bool fill_vram(struct kfd_device *dev)
{
	fill.num = 0;
	while (fill.num < FILLERS_MAX &&
	       !kfd_buffer_alloc(dev, KFD_IN_VRAM, BUFFER_BYTES, &fill.buffer[fill.num]))
		fill.num++;
	if (fill.num < 2 || fill.num == FILLERS_MAX)
		return false;
	kfd_buffer_free(dev, &fill.buffer[--fill.num]);
	return true;
}

static void free_vram(struct kfd_device *dev)
{
	while (fill.num)
		kfd_buffer_free(dev, &fill.buffer[--fill.num]);
}

static uint64_t large_bytes;	/* of the last buffer of the next many_queues */
static unsigned int queues_left;

static int create_with_buffers(struct aql_queue *like, struct aql_queue *queue)
{
	struct kfd_buffer buffer;
	unsigned int i;
	int ret = aql_queue_create_idle(like, queue);

	for (i = 0; !ret && i < SMALL_BUFFERS_OF_QUEUE; i++)
		ret = kfd_buffer_alloc(like->dev, KFD_IN_VRAM, 4096, &buffer);
	if (!ret && !--queues_left)
		ret = kfd_buffer_alloc(like->dev, KFD_IN_VRAM, large_bytes, &buffer);
	return ret;
}

/* Another process holds these queues, yields their memory, and waits to be killed. Its pid or -1. */
static pid_t operator_yield(pid_t pid, const uint32_t *id, uint32_t num)
{
	struct kfd_preempt_switch_entry entry[QUEUES + 1] = {};
	int report[2], ret, done = 0;
	pid_t child;
	uint32_t i;

	for (i = 0; i < num; i++)
		entry[i] = (struct kfd_preempt_switch_entry) {
			.queue_id = id[i],
			.op = KFD_PREEMPT_OP_PREEMPT,
			.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		};
	if (pipe(report))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ret = preempt_switch(kfd_open(), pid, YIELD, entry, num);
		for (i = 0; i < num && !ret; i++)
			ret = entry[i].result;
		if (write(report[1], &ret, sizeof(ret)) != sizeof(ret))
			_exit(1);
		for (;;)
			pause();
	}
	close(report[1]);
	done = read(report[0], &ret, sizeof(ret)) == sizeof(ret) && !ret;
	close(report[0]);
	return done ? child : -1;
}

TEST_F_TIMEOUT(yield, process_without_room_delays_the_release_of_no_other, 900)
{
	uint32_t id[QUEUES + 1];
	struct many_queues many = {};
	struct target other = {};
	pid_t yielder, holder;

	ASSERT_EQ(0, target_start(&other));
	large_bytes = MOST * BUFFER_BYTES;
	queues_left = QUEUES - 1;
	ASSERT_EQ(0, many_queues_start(&many, QUEUES, create_with_buffers));
	memcpy(id, many.shared->id, QUEUES * sizeof(*id));
	id[QUEUES] = many.target.queue_id;
	yielder = operator_yield(many.target.pid, id, QUEUES + 1);
	ASSERT_LT(0, yielder);
	holder = operator_start(&other, 1, 0);
	ASSERT_LT(0, holder);
	ASSERT_TRUE(fill_vram(&self->dev));

	child_kill(&yielder);
	sleep_us(100000);
	child_kill(&holder);
	EXPECT_TRUE(target_moves_within(&other, SOON_MS));

	free_vram(&self->dev);
	EXPECT_TRUE(target_moves_within(&many.target, LONG_MS));
	EXPECT_TRUE(target_finish(&other));
	EXPECT_TRUE(target_finish(&many.target));
}

/* The owner of a hold is gone, and its process waits for room. */
static bool begin_to_wait(FIXTURE_DATA(yield) *self)
{
	pid_t operator;

	if (trace_begin() || hoard_start(&self->a, MOST, BUFFER_BYTES))
		return false;
	operator = operator_yield(self->a.pid, &self->a.queue_id, 1);
	if (operator < 0 || !fill_vram(&self->dev))
		return false;
	child_kill(&operator);
	sleep_us(UNTIL_SLOWEST_US);
	return true;
}

static bool is_released(FIXTURE_DATA(yield) *self)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	while (status_of(&self->dev, &self->a).holds && now_ns() < end)
		sleep_us(1000);
	return now_ns() < end;
}

TEST_F_TIMEOUT(yield, release_without_room_is_retried_seldom_and_when_vram_is_freed, 900)
{
	unsigned int tried, ms;
	uint64_t begin;

	ASSERT_TRUE(begin_to_wait(self));
	tried = count_passes(self->a.pid).all;
	printf("# tried %u times in %u ms\n", tried, UNTIL_SLOWEST_US / 1000);
	EXPECT_LT(3, tried);
	EXPECT_GT(10, tried);

	/* Without a notice the next retry would come a second after this one. */
	while (count_passes(self->a.pid).all == tried)
		sleep_us(1000);
	begin = now_ns();
	free_vram(&self->dev);
	EXPECT_TRUE(is_released(self));
	ms = (unsigned int)((now_ns() - begin - status_of(&self->dev, &self->a).reclaim_ns) / 1000000);
	printf("# released %u ms after VRAM was freed, without the time of the move\n", ms);
	EXPECT_GT(SOON_MS / 2, ms);
	trace_end();
	EXPECT_TRUE(hoard_finish(&self->a));
}

/*
 * Memory that moves while the GPU is being suspended would be lost. The kernel spins on one CPU while tasks are
 * frozen, so a worker needs another one.
 */
TEST_F_TIMEOUT(yield, release_waits_while_tasks_are_frozen, 900)
{
	struct passes passes;

	ASSERT_LE(2, sysconf(_SC_NPROCESSORS_ONLN));
	ASSERT_TRUE(begin_to_wait(self));
	ASSERT_EQ(0, text_file_write("/sys/module/suspend/parameters/pm_test_delay", "5"));
	ASSERT_EQ(0, text_file_write("/sys/power/pm_test", "freezer"));
	EXPECT_EQ(0, text_file_write("/sys/power/state", "mem"));
	text_file_write("/sys/power/pm_test", "none");
	passes = count_passes(self->a.pid);
	printf("# tried %u times, %u of them in 5 s without tasks\n", passes.all, passes.frozen);
	EXPECT_EQ(1, passes.freezes);
	EXPECT_LT(0, passes.all);
	EXPECT_EQ(0, passes.frozen);
	free_vram(&self->dev);
	EXPECT_TRUE(is_released(self));
	trace_end();
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_HARNESS_MAIN
