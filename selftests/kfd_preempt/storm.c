// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stops and starts of queues that work, in the middle of evictions, of moves of VRAM and of kill -9
 * of their owners and operators. SEED and COUNT (of stops) in the environment. Needs root and debugfs.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evict.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "storm_operator.h"

#define WORKGROUPS 4u
#define TURN 300u	/* calls until an owner looks at the results of its jobs */
#define KILL_STOPS 150u	/* from one kill to the next, on average */
#define EVICT_MS 500u
#define VRAM_BYTES (1u << 20)

struct owner {
	struct storm_shared *shared;
	uint32_t slot;
	struct random random;
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct job job[QUEUES];
	struct kfd_buffer user_memory, vram;
	bool copies;	/* the driver has CHECKPOINT */
	bool held[QUEUES];
	uint32_t stood[QUEUES][WORKGROUPS];	/* progress when it was stopped */
};

/* A stop has returned: from now on nothing is counted. */
static void note_stop(struct owner *owner, uint32_t i)
{
	uint32_t group;

	for (group = 0; group < WORKGROUPS; group++)
		owner->stood[i][group] = job_progress(&owner->job[i], group);
	owner->held[i] = true;
	add(&owner->shared->stops, 1);
}

static void note_start(struct owner *owner, uint32_t i)
{
	owner->held[i] = false;
	add(&owner->shared->starts, 1);
}

/* Before a start: however long it was held, it has made no progress. */
static void look_at_held(struct owner *owner, uint32_t i)
{
	uint32_t group, more;

	for (group = 0; owner->held[i] && group < WORKGROUPS; group++) {
		more = job_progress(&owner->job[i], group) - owner->stood[i][group];
		if (more)
			fail(owner->shared, "a held queue runs, of owner", owner->slot, (int)more);
	}
}

/* One thread makes all calls on its own queues: it knows what each of them answers. */
static void toggle(struct owner *owner, uint32_t i)
{
	int fd = owner->dev.kfd_fd, want = 0, ret;
	bool stop = !owner->held[i];
	uint32_t id = owner->queue[i].id;

	if (random_one_in(&owner->random, 16)) {	/* what is so already */
		stop = !stop;
		want = -EALREADY;
	}
	look_at_held(owner, i);
	ret = stop ? preempt_queue(fd, id) : resume_queue(fd, id);
	if (ret != want) {
		fail(owner->shared, stop ? "PREEMPT by owner" : "RESUME by owner", owner->slot, ret);
		return;
	}
	if (ret)
		return;
	if (!stop) {
		note_start(owner, i);
		return;
	}
	note_stop(owner, i);
	/* A GPU that is busy with saves needs time to show that the stop was none. */
	if (random_one_in(&owner->random, 8))
		sleep_us(2000 + random_below(&owner->random, 10000));
}

static void toggle_both(struct owner *owner)
{
	struct kfd_preempt_switch_entry entry[QUEUES] = {};
	uint32_t flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, i;
	int ret;

	if (owner->copies && random_one_in(&owner->random, 2))
		flags |= KFD_PREEMPT_SWITCH_CHECKPOINT;

	for (i = 0; i < QUEUES; i++) {
		look_at_held(owner, i);
		entry[i].queue_id = owner->queue[i].id;
		entry[i].op = owner->held[i] ? KFD_PREEMPT_OP_RESUME : KFD_PREEMPT_OP_PREEMPT;
		entry[i].preempt_type = owner->held[i] ? 0 : KFD_PREEMPT_TYPE_SAVE;
	}
	ret = preempt_switch(owner->dev.kfd_fd, 0, flags, entry, QUEUES);
	for (i = 0; !ret && i < QUEUES; i++)
		ret = entry[i].result;
	if (ret) {
		fail(owner->shared, "SWITCH of the queues of owner", owner->slot, ret);
		return;
	}
	for (i = 0; i < QUEUES; i++) {
		if (owner->held[i])
			note_start(owner, i);
		else
			note_stop(owner, i);
	}
}

static void drop_own_holds(struct owner *owner)
{
	uint32_t i;
	int ret;

	for (i = 0; i < QUEUES; i++) {
		if (!owner->held[i])
			continue;
		look_at_held(owner, i);
		ret = resume_queue(owner->dev.kfd_fd, owner->queue[i].id);
		if (ret)
			fail(owner->shared, "last RESUME of owner", owner->slot, ret);
		else
			note_start(owner, i);
	}
}

static uint32_t word_of_vram(const struct owner *owner, uint32_t i)
{
	return (i + 1) * 2654435761u ^ owner->slot;
}

static void fill_vram(struct owner *owner)
{
	uint32_t *word = owner->vram.addr, i;

	for (i = 0; i < VRAM_BYTES / sizeof(*word); i++)
		word[i] = word_of_vram(owner, i);
}

/* Wherever it is, and however often it moved. */
static void check_vram(struct owner *owner)
{
	const volatile uint32_t *word = owner->vram.addr;
	uint32_t i;

	/* A word of each line: all of them take the CPU of the emulator too long. */
	for (i = 0; i < VRAM_BYTES / sizeof(*word); i += 16)
		if (word[i] != word_of_vram(owner, i)) {
			fail(owner->shared, "lost VRAM of owner", owner->slot, (int)i);
			return;
		}
}

/* Ends the jobs, looks at their results. */
static void check_jobs(struct owner *owner)
{
	uint32_t i;

	check_vram(owner);
	for (i = 0; i < QUEUES; i++) {
		struct job *job = &owner->job[i];

		if (!job_ends_right(job, LONG_MS)) {
			fail(owner->shared, "lost or repeated work of owner", owner->slot, (int)i);
			continue;
		}
		add(&owner->shared->jobs, 1);
		add(&owner->shared->iterations, (uint64_t)job_progress(job, 0) * WORKGROUPS);
	}
	fflush(stdout);
}

static void renew_jobs(struct owner *owner)
{
	uint32_t i;
	int ret;

	for (i = 0; i < QUEUES; i++) {
		job_free(&owner->job[i]);
		ret = checksum_job_start(&owner->job[i], &owner->queue[i], WORKGROUPS, 2);
		if (ret)
			fail(owner->shared, "a new job of owner", owner->slot, ret);
	}
}

static void set_up_owner(struct owner *owner)
{
	struct kfd_ioctl_preempt_query_args query = {};
	struct storm_shared *shared = owner->shared;
	uint32_t i;
	int ret = kfd_device_open(&owner->dev);

	for (i = 0; !ret && i < QUEUES; i++)
		ret = busy_queue_create(&owner->dev, &owner->queue[i], &owner->job[i], WORKGROUPS,
					LONG_MS);
	if (!ret)
		ret = evict_userptr_create(&owner->dev, &owner->user_memory);
	if (!ret)
		ret = kfd_buffer_alloc(&owner->dev, KFD_IN_VRAM, VRAM_BYTES, &owner->vram);
	if (!ret)
		fill_vram(owner);
	if (!ret)
		ret = preempt_query(owner->dev.kfd_fd, owner->dev.gpu_id, &query);
	if (ret)
		fail(shared, "set up of owner", owner->slot, ret);
	owner->copies = query.caps & KFD_PREEMPT_CAP_CHECKPOINT;
	for (i = 0; i < QUEUES; i++)
		shared->owner[owner->slot].queue_id[i] = owner->queue[i].id;
	shared->owner[owner->slot].kfd_fd = owner->dev.kfd_fd;
	__atomic_store_n(&shared->owner[owner->slot].ready, (uint32_t)getpid(), __ATOMIC_RELEASE);
}

/* Its own memory goes away under its queues. */
static void lose_memory(struct owner *owner)
{
	int ret = evict_userptr(&owner->user_memory);

	if (ret)
		fail(owner->shared, "eviction by owner", owner->slot, ret);
	add(&owner->shared->evictions, 1);
}

/* After the storm nothing holds a queue any more, and the jobs end right. */
static void rest(struct owner *owner)
{
	struct kfd_ioctl_preempt_status_args status = {};
	uint32_t i, ms;
	int ret;

	for (i = 0; i < QUEUES; i++) {
		for (ms = 0; ms < LONG_MS; ms += 5) {
			ret = preempt_status(owner->dev.kfd_fd, 0, owner->queue[i].id, &status);
			if (ret || (!status.holds && status.state == KFD_PREEMPT_STATE_RUNNING))
				break;
			sleep_us(5000);
		}
		if (ret || status.holds || status.state != KFD_PREEMPT_STATE_RUNNING)
			fail(owner->shared, "a queue stays held, of owner", owner->slot,
			     ret ? ret : (int)status.holds);
		if (status.failures || status.preempts != status.resumes)
			fail(owner->shared, "stops and starts do not match, of owner", owner->slot,
			     (int)status.failures);
	}
	check_jobs(owner);
	for (i = 0; i < QUEUES; i++)
		if (aql_queue_destroy(&owner->queue[i]))
			fail(owner->shared, "a queue cannot be destroyed, of owner", owner->slot, 0);
}

static void run_owner(struct storm_shared *shared, uint32_t slot, uint32_t stream)
{
	static struct owner owner;
	uint32_t calls;

	owner.shared = shared;
	owner.slot = slot;
	random_init(&owner.random, shared->seed, stream);
	set_up_owner(&owner);
	for (calls = 1; !get(&shared->ending); calls++) {
		if (random_one_in(&owner.random, 4))
			toggle_both(&owner);
		else
			toggle(&owner, random_below(&owner.random, QUEUES));
		if (random_one_in(&owner.random, 100))
			lose_memory(&owner);
		if (random_one_in(&owner.random, 8))
			sleep_us(random_below(&owner.random, 3000));
		if (calls % TURN)
			continue;
		drop_own_holds(&owner);
		check_jobs(&owner);
		renew_jobs(&owner);
	}
	drop_own_holds(&owner);
	while (get(&shared->ending) < 2)
		sleep_us(5000);
	rest(&owner);
	_exit(0);
}

/*
 * Moves all memory of all of them, in the second half of the storm: on a slow machine that lasts as
 * long as there is somebody who is restored, and then no queue runs any more.
 */
static void run_evictor(struct storm_shared *shared, uint32_t stream)
{
	struct random random;
	uint64_t begin, end;
	int ret;

	random_init(&random, shared->seed, stream);
	while (!get(&shared->ending)) {
		if (__atomic_load_n(&shared->stops, __ATOMIC_ACQUIRE) < shared->count / 2) {
			sleep_us(10000);
			continue;
		}
		begin = now_ns();
		ret = evict_all(random_one_in(&random, 4) ? "gtt" : "vram");
		if (ret)
			fail(shared, "eviction", 0, ret);
		add(&shared->evictions, 1);
		/* so that queues run most of the time */
		end = now_ns() + random_below(&random, 2 * EVICT_MS) * 1000000ull +
		      (now_ns() - begin) * 4;
		while (now_ns() < end && !get(&shared->ending))
			sleep_us(10000);
	}
	_exit(0);
}

FIXTURE(storm)
{
	struct storm_shared *shared;
	pid_t process[PROCESSES];
	uint32_t streams;
	struct random random;
};

static pid_t start_process(FIXTURE_DATA(storm) *self, uint32_t i)
{
	uint32_t stream = ++self->streams;
	pid_t pid;

	if (i < OWNERS)
		self->shared->owner[i].ready = 0;
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (i < OWNERS)
		run_owner(self->shared, i, stream);
	if (i == EVICTOR)
		run_evictor(self->shared, stream);
	run_operator(self->shared, i - OWNERS, stream);
	_exit(1);
}

FIXTURE_SETUP(storm)
{
	uint32_t i;

	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	self->shared->seed = number_from_environment("SEED", now_ns());
	self->shared->count = number_from_environment("COUNT", 1000);
	random_init(&self->random, self->shared->seed, 0);
	printf("# SEED=%llu COUNT=%llu\n", (unsigned long long)self->shared->seed,
	       (unsigned long long)self->shared->count);
	fflush(stdout);
	for (i = 0; i < PROCESSES; i++) {
		self->process[i] = start_process(self, i);
		ASSERT_LT(0, self->process[i]);
	}
}

FIXTURE_TEARDOWN(storm)
{
	uint32_t i;

	for (i = 0; i < PROCESSES; i++) {
		if (self->process[i] <= 0)
			continue;
		kill(self->process[i], SIGKILL);
		waitpid(self->process[i], NULL, 0);
	}
	munmap(self->shared, sizeof(*self->shared));
}

static void print_progress(const struct storm_shared *shared, uint64_t begin)
{
	dprintf(STDOUT_FILENO, "# %llu s: %llu stops (%llu with a yield), %llu starts, %llu evictions, "
		"%llu kills, %llu jobs of %llu iterations right, %u failures\n",
		(unsigned long long)((now_ns() - begin) / 1000000000),
		(unsigned long long)shared->stops, (unsigned long long)shared->yields,
		(unsigned long long)shared->starts, (unsigned long long)shared->evictions,
		(unsigned long long)shared->kills, (unsigned long long)shared->jobs,
		(unsigned long long)shared->iterations, shared->failures);
}

/* Kills one of the processes and puts another one in its place. */
static bool replace_one(FIXTURE_DATA(storm) *self)
{
	uint32_t i = random_below(&self->random, EVICTOR);
	int status;

	/* One that is killed while it sets up proves nothing. */
	if (i < OWNERS && !get(&self->shared->owner[i].ready))
		return true;
	kill(self->process[i], SIGKILL);
	if (waitpid(self->process[i], &status, 0) != self->process[i] || !WIFSIGNALED(status))
		return false;
	add(&self->shared->kills, 1);
	self->process[i] = start_process(self, i);
	return self->process[i] > 0;
}

/* Until enough stops were made; false when a process ended by itself or nothing moves. */
static bool storm_passes(FIXTURE_DATA(storm) *self, uint64_t begin)
{
	uint64_t told = begin, moved = begin, now, stops = 0;
	uint64_t next_kill = 0;
	struct storm_shared *shared = self->shared;

	while (__atomic_load_n(&shared->stops, __ATOMIC_ACQUIRE) < shared->count &&
	       !get(&shared->failures)) {
		sleep_us(10000);
		now = now_ns();
		if (stops != shared->stops)
			moved = now;
		stops = shared->stops;
		if (now - moved > LONG_MS * 1000000ull)
			return false;
		if (stops >= next_kill) {
			if (!replace_one(self))
				return false;
			next_kill = stops + random_below(&self->random, 2 * KILL_STOPS);
		}
		if (now - told > 20000000000ull) {
			print_progress(shared, begin);
			told = now;
		}
	}
	print_progress(shared, begin);
	return true;
}

/* Processes `from` to `to` end by themselves and are content. */
static bool all_end(FIXTURE_DATA(storm) *self, uint32_t from, uint32_t to)
{
	bool good = true;
	uint32_t i;
	int status;

	for (i = from; i <= to; i++) {
		good &= waitpid(self->process[i], &status, 0) == self->process[i] && !status;
		self->process[i] = 0;
	}
	return good;
}

TEST_F_TIMEOUT(storm, evictions_and_kills_lose_no_work_and_leave_no_hold, 86400)
{
	struct storm_shared *shared = self->shared;
	uint64_t begin = now_ns();
	uint32_t i, j;
	int fd;

	EXPECT_TRUE(storm_passes(self, begin));
	__atomic_store_n(&shared->ending, 1, __ATOMIC_RELEASE);
	EXPECT_TRUE(all_end(self, OWNERS, EVICTOR - 1));
	/* STICKY outlives its operators. An owner that is not ready has not been held. */
	fd = kfd_open();
	for (i = 0; i < OWNERS; i++)
		for (j = 0; j < QUEUES && get(&shared->owner[i].ready); j++)
			EXPECT_EQ(0, switch_end_sticky(fd, self->process[i],
						       shared->owner[i].queue_id[j], LONG_MS));
	__atomic_store_n(&shared->ending, 2, __ATOMIC_RELEASE);
	EXPECT_TRUE(all_end(self, 0, OWNERS - 1));
	/* Last, because what it does may not end before. */
	EXPECT_TRUE(all_end(self, EVICTOR, EVICTOR));
	close(fd);
	print_progress(shared, begin);
	EXPECT_EQ(0, shared->failures);
	EXPECT_LT(0, shared->evictions);
	EXPECT_LT(0, shared->kills);
}

TEST_HARNESS_MAIN
