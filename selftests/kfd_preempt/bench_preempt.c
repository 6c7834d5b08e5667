// SPDX-License-Identifier: GPL-2.0-only
/* Pairs of PREEMPT and RESUME of one busy queue among several, for counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aql_queue.h"
#include "jobs.h"
#include "preempt.h"
#include "sched_mode.h"
#include "wait.h"

#define QUEUES_MAX 8u
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
	struct aql_queue queue[QUEUES_MAX];
	struct job job[QUEUES_MAX];
	unsigned int queues;
	unsigned int pairs;
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

static int run_pairs(struct bench *bench)
{
	uint32_t id = bench->queue[0].id;
	unsigned int i;
	int ret;

	for (i = 0; i < bench->pairs; i++) {
		/* So that each stop finds running waves. */
		if (!job_wait_progress(&bench->job[0], 1, LONG_MS))
			return -ETIME;
		ret = preempt_queue(bench->dev.kfd_fd, id);
		if (!ret)
			ret = resume_queue(bench->dev.kfd_fd, id);
		if (ret)
			return ret;
	}
	return 0;
}

static int start(struct bench *bench)
{
	unsigned int i;
	int ret = kfd_device_open(&bench->dev);

	if (!ret)
		ret = kfd_buffer_alloc(&bench->dev, KFD_IN_SYSTEM, 4096, &bench->signal);
	if (!ret)
		ret = aql_queue_create(&bench->dev, &bench->marker);
	for (i = 0; !ret && i < bench->queues; i++) {
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

	for (i = 0; i < bench->queues; i++) {
		job_stop(&bench->job[i]);
		errors += job_wait(&bench->job[i], LONG_MS) ? job_errors(&bench->job[i]) : 1;
	}
	return errors;
}

static void report(const struct bench *bench, const struct kfd_ioctl_preempt_status_args *status)
{
	printf("# scheduler=%s busy_queues=%u pairs=%u snapshots=%u,%u\n",
	       sched_names[driver_facts(bench->dev.kfd_fd).sched_mode & 3], bench->queues,
	       bench->pairs, LABEL_BEFORE(bench), LABEL_AFTER(bench));
	printf("# driver time on an emulated GPU, not a latency: "
	       "last stop %llu us, longest %llu us, last start %llu us\n",
	       status->last_preempt_ns / 1000, status->max_preempt_ns / 1000,
	       status->last_resume_ns / 1000);
}

int main(int argc, char **argv)
{
	struct kfd_ioctl_preempt_status_args status;
	struct bench bench = {};
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
	printf("TAP version 13\n1..1\n");
	ret = start(&bench);
	if (ret)
		return fail("cannot start the kernels", ret);
	ret = mark(&bench, LABEL_BEFORE(&bench));
	if (!ret)
		ret = run_pairs(&bench);
	if (!ret)
		ret = mark(&bench, LABEL_AFTER(&bench));
	if (!ret)
		ret = preempt_status(bench.dev.kfd_fd, 0, bench.queue[0].id, &status);
	if (ret)
		return fail("a call of a pair failed", ret);
	report(&bench, &status);
	if (finish(&bench))
		return fail("a kernel did not end with the right result", -EIO);
	printf("ok 1 %u pairs among %u busy queues leave all results right\n", bench.pairs,
	       bench.queues);
	return EXIT_SUCCESS;
}
