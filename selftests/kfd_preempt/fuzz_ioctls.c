// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls, well formed and not, of several processes and threads at once, on queues that work.
 * SEED and COUNT in the environment, and SWITCHES, the percentage of calls that may stop or start a
 * queue, which is what takes time. Without a GPU the part that needs no queue.
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "fuzz_owner.h"
#include "fuzz_switch.h"
#include "kselftest_harness.h"

#define OPERATORS 2u
#define PROCESSES (OWNERS + OPERATORS)
#define WORKERS (OWNERS * (THREADS + 1) + OPERATORS)	/* each owner has an heir */
#define MOST_AHEAD 20u		/* calls */
#define USER 1000		/* the last owner and the last operator are his */
static void reopen(struct worker *w)
{
	uint32_t file = random_below(&w->random, FILES);

	close(w->file[file]);
	w->file[file] = kfd_open();
	memset(w->record[file], 0, sizeof(w->record[file]));
	if (w->file[file] < 0)
		fail(w->world, w->name, "open of /dev/kfd: %d", w->file[file]);
}

/* Changes queues and files between calls. `owner` is NULL for a mere operator. */
static void something_else(struct worker *w, struct owner *owner)
{
	static const uint32_t percentages[] = { 0, 100, 100, 50 };
	uint32_t what = random_below(&w->random, 4), index, i;
	int ret = 0;

	if (!what && !w->inherited)
		reopen(w);
	if (!what || !owner)
		return;
	for (i = 0; i < JOBS; i++)
		if (job_queue[i] % THREADS == w->thread)
			renew_job(w, owner, i);
	if (what == 1) {
		index = random_below(&w->random, CHURN);
		if (index % THREADS == w->thread)
			ret = set_percentage(owner, index,
					     percentages[random_below(&w->random, 4)]);
	} else if (w->thread == CHURN % THREADS) {
		ret = churn(w, owner);
	} else if (!copy_on(owner)) {
		fail(w->world, w->name, "copy %u arrived wrong", owner->passes);
	}
	if (ret)
		fail(w->world, w->name, "KFD's own call %u: %d", what, ret);
}

static void one_call(struct worker *w, struct owner *owner)
{
	uint32_t dice = random_below(&w->random, w->inherited ? 72 : 100), id = NO_QUEUE;
	struct fuzz_call *call = &w->call;

	call->fd = w->file[random_below(&w->random, FILES)];
	if (!w->inherited && random_below(&w->random, 100) < w->world->switches) {
		if (random_one_in(&w->random, 3))
			good_v0(w);
		else if (random_one_in(&w->random, 8))
			good_process(w);
		else
			good_switch(w);
	} else if (dice < 60) {
		break_once(call, &w->args_buffer, &w->entries_buffer, &w->random);
		make_call(w);
	} else if (dice < 72) {
		if (w->slot < OWNERS && !w->inherited)
			id = queue_id_of(w, w->slot, CHURN);
		break_often(call, &w->args_buffer, &w->entries_buffer, id, &w->random);
		call->may_be_born_held = w->slot == FORCED_OWNER;
		make_call(w);
	} else if (dice < 78) {
		good_query(w);
	} else if (dice < 96) {
		good_status(w);
	} else if (dice < 97) {
		if (owner && random_one_in(&w->random, 16))
			drain(w, owner);
	} else {
		something_else(w, owner);
	}
}

static void worker_init(struct worker *w, struct world *world, uint32_t slot, uint32_t thread,
			const char *what, uint32_t stream)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->world = world;
	w->slot = slot;
	w->thread = thread;
	snprintf(w->name, sizeof(w->name), "%s %u.%u", what, stream / THREADS, thread);
	random_init(&w->random, world->seed, stream);
	for (i = 0; i < FILES; i++)
		w->file[i] = kfd_open();
	if (fenced_buffer_make(&w->args_buffer) || fenced_buffer_make(&w->entries_buffer) ||
	    w->file[FILES - 1] < 0)
		fail(world, w->name, "no memory or no /dev/kfd");
}

struct thread {
	struct worker worker;
	struct owner *owner;
};

/* Rejected calls end at once: those who may do little would make nearly all calls. */
static bool is_ahead(const struct worker *w)
{
	uint64_t all = __atomic_load_n(&w->world->calls, __ATOMIC_RELAXED);

	return w->calls > all / WORKERS + MOST_AHEAD;
}

static void *storm(void *arg)
{
	struct thread *thread = arg;
	unsigned int i;

	while (!world_is_done(thread->worker.world)) {
		if (is_ahead(&thread->worker))
			sleep_us(1000);
		else
			one_call(&thread->worker, thread->owner);
	}
	for (i = 0; i < FILES && !thread->worker.inherited; i++)
		close(thread->worker.file[i]);
	return NULL;
}

static void ring(int signal)
{
	(void)signal;
}

/* Signals that come while calls wait for their turn. */
static void start_alarms(void)
{
	struct itimerval every = { .it_interval.tv_usec = 7000, .it_value.tv_usec = 7000 };
	struct sigaction action = { .sa_handler = ring };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_alarms(void)
{
	static const struct itimerval never;

	setitimer(ITIMER_REAL, &never, NULL);
}

static void become_user(void)
{
	struct stat node;
	gid_t group = stat("/dev/kfd", &node) ? USER : node.st_gid;

	if (setgroups(1, &group) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		_exit(100);
	/* so that others of the same user may take its files */
	prctl(PR_SET_DUMPABLE, 1);
}

static void wait_for_phase(const struct world *world, enum phase phase)
{
	while (world_get(&world->phase) < phase)
		sleep_us(5000);
}

/* A child with the parent's files, none of which is its own. */
static pid_t start_heir(const struct worker *parent)
{
	pid_t pid = fork();

	if (!pid) {
		static struct thread thread;
		unsigned int i;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		worker_init(&thread.worker, parent->world, parent->slot, 0, "heir",
			    100 + parent->slot);
		thread.worker.inherited = true;
		for (i = 0; i < FILES; i++) {
			close(thread.worker.file[i]);
			thread.worker.file[i] = parent->world->owner[parent->slot].kfd_fd;
		}
		storm(&thread);
		/* When a copy of the file of the GPU is closed, KFD evicts: not in the storm. */
		wait_for_phase(parent->world, PHASE_CHECK);
		_exit(0);
	}
	return pid;
}

/* An owner of queues, or a mere operator: an owner of none with one thread. */
static void run_process(struct world *world, uint32_t process)
{
	static struct thread thread[THREADS];
	static struct owner owner;
	uint32_t slot = process < OWNERS ? process : OWNERS, i, threads = 1;
	bool user = process == OWNERS - 1 || process == PROCESSES - 1;
	const char *what = slot < OWNERS ? "owner" : "operator";
	bool queues = slot < OWNERS && world->gpu_facts.gpu_id;
	pthread_t handle[THREADS];
	pid_t heir = 0;
	int ret = 0;

	if (user)
		become_user();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (queues)
		ret = set_up_queues(world, &owner, slot);
	else
		owner.dev.kfd_fd = kfd_open();
	if (ret)
		fail(world, what, "%u: set up: %d", process, ret);
	if (slot < OWNERS) {
		world->owner[slot].kfd_fd = owner.dev.kfd_fd;
		world->owner[slot].pid = getpid();
		threads = THREADS;
	}
	for (i = 0; i < threads; i++) {
		worker_init(&thread[i].worker, world, slot, i, what, process * THREADS + i);
		thread[i].worker.may_operate = !user;
		thread[i].owner = queues ? &owner : NULL;
	}
	if (slot < OWNERS)
		heir = start_heir(&thread[0].worker);
	world_add(&world->ready);
	wait_for_phase(world, PHASE_STORM);
	start_alarms();
	for (i = 0; i < threads; i++)
		pthread_create(&handle[i], NULL, storm, &thread[i]);
	for (i = 0; i < threads; i++)
		pthread_join(handle[i], NULL);
	stop_alarms();
	world_add(&world->resting);
	if (slot == OWNERS)
		_exit(0);
	wait_for_phase(world, PHASE_CHECK);
	if (waitpid(heir, &ret, 0) != heir || ret)
		fail(world, what, "%u: its child ended with %d", process, ret);
	if (queues) {
		check_owner(world, &owner, slot, thread[0].worker.name);
		destroy_queues(world, &owner, thread[0].worker.name);
	}
	_exit(0);
}

FIXTURE(fuzz)
{
	struct world *world;
	pid_t process[PROCESSES];
};

/* From a child, because whoever opens /dev/kfd becomes a process of KFD. */
static void find_facts(struct world *world)
{
	struct kfd_device dev;
	int fd = kfd_open(), ret;

	if (fd < 0 || preempt_query(fd, 0, &world->facts))
		_exit(1);
	world->unknown_may = kfd_answer_to_unknown(fd) == -EINVAL ? MAY(EINVAL) : MAY(ENOTTY);
	ret = kfd_device_open(&dev);
	if (ret)
		_exit(ret == -ENODEV && access("/dev/dri/renderD128", F_OK) ? 0 : 2);
	_exit(preempt_query(fd, dev.gpu_id, &world->gpu_facts) ? 3 : 0);
}

FIXTURE_SETUP(fuzz)
{
	int status = 1;
	pid_t pid;

	self->world = mmap(NULL, sizeof(*self->world), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->world);
	self->world->seed = number_from_environment("SEED", now_ns());
	self->world->count = number_from_environment("COUNT", 5000);
	self->world->switches = (uint32_t)number_from_environment("SWITCHES", 20);
	pid = fork();
	if (!pid)
		find_facts(self->world);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
}

FIXTURE_TEARDOWN(fuzz)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++) {
		if (self->process[i] <= 0)
			continue;
		kill(self->process[i], SIGKILL);
		waitpid(self->process[i], NULL, 0);
	}
	munmap(self->world, sizeof(*self->world));
}

/* Until all rest; false when no call was made for LONG_MS, or a process ended. */
static bool storm_passes(struct world *world, const pid_t *process)
{
	uint64_t begin = now_ns(), moved = begin, told = begin, calls = 0, now;
	unsigned int i;

	while (world_get(&world->resting) < PROCESSES) {
		sleep_us(100000);
		now = now_ns();
		if (calls != __atomic_load_n(&world->calls, __ATOMIC_RELAXED))
			moved = now;
		calls = __atomic_load_n(&world->calls, __ATOMIC_RELAXED);
		if (now - moved > LONG_MS * 1000000ull)
			return false;
		for (i = 0; i < OWNERS; i++)
			if (waitpid(process[i], NULL, WNOHANG) == process[i])
				return false;
		if (now - told < 20000000000ull)
			continue;
		told = now;
		dprintf(STDOUT_FILENO, "# %llu calls after %llu s, %u failures\n",
			(unsigned long long)calls, (unsigned long long)((now - begin) / 1000000000),
			world_get(&world->failures));
	}
	now = now_ns() - begin;
	dprintf(STDOUT_FILENO, "# %llu calls in %llu ms: %llu a second\n",
		(unsigned long long)world->calls, (unsigned long long)(now / 1000000),
		(unsigned long long)(world->calls * 1000000000 / now));
	return true;
}

/* STICKY outlives everybody. A queue that its owner has destroyed, or that is dead, is not held. */
static bool sticky_ends(int fd, pid_t pid, uint32_t queue_id)
{
	int ret = switch_end_sticky(fd, pid, queue_id, LONG_MS);
	bool ended = !ret || ret == -ENOENT || ret == -EIO;

	if (!ended)
		dprintf(STDOUT_FILENO, "# STICKY of queue %u of %d stays: %d\n", queue_id, pid, ret);
	return ended;
}

static bool release_sticky(const struct world *world)
{
	int fd = kfd_open();
	uint32_t owner, i;
	bool all;

	all = sticky_ends(fd, world->owner[FORCED_OWNER].pid, KFD_PREEMPT_ALL_QUEUES);
	for (owner = 0; owner < OWNERS; owner++)
		for (i = 0; i < world->owner[owner].num_queues; i++)
			all &= sticky_ends(fd, world->owner[owner].pid, world->owner[owner].queue[i].id);
	close(fd);
	return all;
}

static void tell_answers(const char *name, const uint64_t *answers)
{
	unsigned int i;

	printf("# %s:", name);
	for (i = 0; i < NUM_ANSWERS; i++)
		if (answers[i])
			printf(" %s %llu", answer_text[i], (unsigned long long)answers[i]);
	printf("\n");
}

/* Without a GPU there is no queue on which these could succeed. */
static bool must_succeed(const struct world *world, enum call which)
{
	return world->gpu_facts.gpu_id || which == CALL_QUERY || which == CALL_SWITCH;
}

TEST_F_TIMEOUT(fuzz, random_calls_of_many_processes_are_answered_as_documented, 86400)
{
	struct world *world = self->world;
	unsigned int i;
	int status;

	printf("# SEED=%llu COUNT=%llu SWITCHES=%u, %s\n", (unsigned long long)world->seed,
	       (unsigned long long)world->count, world->switches,
	       world->gpu_facts.gpu_id ? "with a GPU" : "no GPU");
	fflush(stdout);
	for (i = 0; i < PROCESSES; i++) {
		self->process[i] = fork();
		ASSERT_LE(0, self->process[i]);
		if (!self->process[i])
			run_process(world, i);
	}
	while (world_get(&world->ready) < PROCESSES && !world_get(&world->failures))
		sleep_us(10000);
	ASSERT_EQ(0, world->failures);
	__atomic_store_n(&world->phase, PHASE_STORM, __ATOMIC_RELEASE);
	ASSERT_TRUE(storm_passes(world, self->process));
	EXPECT_TRUE(!world->gpu_facts.gpu_id || release_sticky(world));
	__atomic_store_n(&world->phase, PHASE_CHECK, __ATOMIC_RELEASE);
	for (i = 0; i < PROCESSES; i++) {
		EXPECT_EQ(self->process[i], waitpid(self->process[i], &status, 0));
		EXPECT_EQ(0, status);
		self->process[i] = 0;
	}
	for (i = 0; i < NUM_CALLS; i++) {
		tell_answers(call_facts[i].name, world->answers[i]);
		EXPECT_EQ(must_succeed(world, i), world->answers[i][ANSWER_OK] > 0) {
			TH_LOG("%s", call_facts[i].name);
		}
	}
	tell_answers("entries", world->entry_answers);
	EXPECT_EQ(world->gpu_facts.gpu_id > 0, world->entry_answers[ANSWER_OK] > 0);
	EXPECT_EQ(0, world->failures);
}

TEST_HARNESS_MAIN
