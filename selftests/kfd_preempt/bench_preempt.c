// SPDX-License-Identifier: GPL-2.0-only
/* Pairs of PREEMPT and RESUME of one busy queue among others, for counting. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "aql_queue.h"
#include "jobs.h"
#include "preempt.h"
#include "sched_mode.h"
#include "wait.h"
#include "verify.h"

#define QUEUES_MAX 1000u
/* KFD gives a process 255 (pqm_create_queue()), and the marker is one. */
#define QUEUES_OF_PROCESS 250u
/* The others are idle: the GPU of the tests holds 24 queues at a time, and the guest has 2 GiB. */
#define BUSY_MAX 16u
#define LONG_MS 60000u

#define PAIRS_MAX 9999u

/*
 * The counters of the software GPU are marked before and after the pairs, by
 * packets on one more queue that is idle otherwise. pair_counts.py reads what
 * was measured out of the labels: queues, four digits of pairs, 0 or 1.
 */
#define LABEL_BEFORE(bench) ((bench)->queues * 100000 + (bench)->pairs * 10)
#define LABEL_AFTER(bench) (LABEL_BEFORE(bench) + 1)

struct bench {
	struct kfd_device dev;
	struct aql_queue marker;
	struct kfd_buffer signal;
	struct aql_queue queue[QUEUES_OF_PROCESS];
	struct job job[BUSY_MAX];
	unsigned int queues;	/* of all processes */
	unsigned int own;
	unsigned int busy;
	unsigned int pairs;
	struct times *times;	/* of each pair */
};

/* Times of both calls of a pair, added up. */
struct times {
	uint64_t cpu_ns;	/* of this thread */
	uint64_t wall_ns;
	uint64_t hw_ns;		/* of that at the hardware, as SWITCH reports */
};

static const char *const sched_names[] = { "HWS", "HWS_NO_OVERSUB", "NO_HWS", "MES" };

static int fail(const char *what, int ret)
{
	printf("not ok 1 %s: %s\n", what, strerror(-ret));
	return EXIT_FAILURE;
}

static int mark(struct bench *bench, uint32_t label)
{
	struct aql_signal *signal = bench->signal.addr;

	signal->kind = 1;
	signal->value = 1;
	aql_queue_mark(&bench->marker, label, signal);
	return aql_signal_wait(signal, LONG_MS) ? 0 : -ETIME;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A SWITCH of the first queue, added to what the pair took so far. */
static int timed_switch(struct bench *bench, uint16_t op, struct times *times)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = bench->queue[0].id,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC);
	int ret = kfd_ioctl(bench->dev.kfd_fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);

	times->wall_ns += clock_ns(CLOCK_MONOTONIC) - wall;
	times->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	times->hw_ns += args.hw_ns;
	return ret ? ret : entry.result;
}

static int run_pairs(struct bench *bench)
{
	unsigned int i;
	int ret;

	for (i = 0; i < bench->pairs; i++) {
		/* So that each stop finds running waves. */
		if (!job_wait_progress(&bench->job[0], 1, LONG_MS))
			return -ETIME;
		ret = timed_switch(bench, KFD_PREEMPT_OP_PREEMPT, &bench->times[i]);
		if (!ret)
			ret = timed_switch(bench, KFD_PREEMPT_OP_RESUME, &bench->times[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* In a process of its own: queues that are there and idle until the bench ends. */
static void keep_idle_queues(unsigned int num, int ready)
{
	static struct aql_queue queue[QUEUES_OF_PROCESS];
	struct kfd_device dev;
	unsigned int i;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = kfd_device_open(&dev);
	if (!ret)
		ret = aql_queue_create(&dev, &queue[0]);
	for (i = 1; !ret && i < num; i++)
		ret = aql_queue_create_idle(&queue[0], &queue[i]);
	if (write(ready, &ret, sizeof(ret)) != sizeof(ret) || ret)
		_exit(1);
	for (;;)
		pause();
}

/* Before this process has a queue, which the others would share the file of. */
static int start_others(const struct bench *bench)
{
	unsigned int left = bench->queues - bench->own, num;
	int ready[2], ret = 0;
	pid_t pid;

	if (pipe(ready))
		return -errno;
	for (; !ret && left; left -= num) {
		num = left < QUEUES_OF_PROCESS ? left : QUEUES_OF_PROCESS;
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			keep_idle_queues(num, ready[1]);
		if (read(ready[0], &ret, sizeof(ret)) != sizeof(ret))
			ret = -EIO;
	}
	close(ready[0]);
	close(ready[1]);
	return ret;
}

static int start(struct bench *bench)
{
	unsigned int i;
	int ret = start_others(bench);

	if (!ret)
		ret = kfd_device_open(&bench->dev);
	if (!ret)
		ret = kfd_buffer_alloc(&bench->dev, KFD_IN_SYSTEM, 4096, &bench->signal);
	if (!ret)
		ret = aql_queue_create(&bench->dev, &bench->marker);
	for (i = bench->busy; !ret && i < bench->own; i++)
		ret = aql_queue_create_idle(&bench->marker, &bench->queue[i]);
	for (i = 0; !ret && i < bench->busy; i++) {
		ret = aql_queue_create(&bench->dev, &bench->queue[i]);
		if (!ret)
			ret = checksum_job_start(&bench->job[i], &bench->queue[i], 2, 2);
		if (!ret && !job_wait_progress(&bench->job[i], 1, LONG_MS))
			ret = -ETIME;
	}
	return ret;
}

static uint32_t finish(struct bench *bench)
{
	uint32_t errors = 0;
	unsigned int i;

	for (i = 0; i < bench->busy; i++) {
		job_stop(&bench->job[i]);
		errors += job_wait(&bench->job[i], LONG_MS) ? job_errors(&bench->job[i]) : 1;
	}
	return errors;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* In microseconds, of the times at `offset` in struct times, less those at `less`, unless equal. */
static double median_us(const struct bench *bench, size_t offset, size_t less)
{
	uint64_t *values = calloc(bench->pairs, sizeof(*values)), median;
	unsigned int i;

	if (!values)
		return 0;
	for (i = 0; i < bench->pairs; i++) {
		const char *times = (const char *)&bench->times[i];

		values[i] = *(const uint64_t *)(times + offset);
		if (less != offset)
			values[i] -= *(const uint64_t *)(times + less);
	}
	qsort(values, bench->pairs, sizeof(*values), by_value);
	median = values[bench->pairs / 2];
	free(values);
	return (double)median / 1000;
}

static void report(const struct bench *bench)
{
	const size_t cpu = offsetof(struct times, cpu_ns), hw = offsetof(struct times, hw_ns),
		     wall = offsetof(struct times, wall_ns);

	printf("# scheduler=%s queues=%u busy=%u pairs=%u snapshots=%u,%u\n",
	       sched_names[driver_facts(bench->dev.kfd_fd).sched_mode & 3], bench->queues,
	       bench->busy, bench->pairs, LABEL_BEFORE(bench), LABEL_AFTER(bench));
	printf("# emulator: median of a pair: %.1f us of CPU time in both calls; they took %.1f us, "
	       "%.1f us of it at the hardware, %.1f us in the driver alone\n",
	       median_us(bench, cpu, cpu), median_us(bench, wall, wall), median_us(bench, hw, hw),
	       median_us(bench, wall, hw));
}

static void verify_again(void)
{
	verify_turn(true);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	int ret;

	if (argc == 3) {
		bench.queues = (unsigned int)atoi(argv[1]);
		bench.pairs = (unsigned int)atoi(argv[2]);
	}
	if (!bench.queues || bench.queues > QUEUES_MAX || !bench.pairs || bench.pairs > PAIRS_MAX) {
		fprintf(stderr, "usage: bench_preempt QUEUES PAIRS (1 to %u queues, 1 to %u pairs)\n",
			QUEUES_MAX, PAIRS_MAX);
		return 64;
	}
	bench.own = bench.queues < QUEUES_OF_PROCESS ? bench.queues : QUEUES_OF_PROCESS;
	bench.busy = bench.own < BUSY_MAX ? bench.own : BUSY_MAX;
	bench.times = calloc(bench.pairs, sizeof(*bench.times));
	if (!bench.times)
		return fail("no memory", -ENOMEM);
	printf("TAP version 13\n1..1\n");
	if (verify_turn(false))
		atexit(verify_again);
	ret = start(&bench);
	if (ret)
		return fail("cannot start the kernels", ret);
	ret = mark(&bench, LABEL_BEFORE(&bench));
	if (!ret)
		ret = run_pairs(&bench);
	if (!ret)
		ret = mark(&bench, LABEL_AFTER(&bench));
	if (ret)
		return fail("a call of a pair failed", ret);
	report(&bench);
	if (finish(&bench))
		return fail("a kernel did not end with the right result", -EIO);
	printf("ok 1 %u pairs among %u queues, %u of them busy, leave all results right\n",
	       bench.pairs, bench.queues, bench.busy);
	return EXIT_SUCCESS;
}
