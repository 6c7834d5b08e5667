// SPDX-License-Identifier: GPL-2.0-only
/* A GPU program that watches itself being stopped from outside and resumed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aql_queue.h"
#include "jobs.h"
#include "preempt.h"
#include "wait.h"

#define HOLD_SECONDS 2
#define WAIT_SECONDS 120
#define POLL_US 10000
#define REPORT_POLLS 50		/* twice a second */

static int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("FAIL: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	return EXIT_FAILURE;
}

/*
 * Polls the counter that the kernel keeps in memory until it has read the same
 * for HOLD_SECONDS while the driver says that the queue is held. False when
 * that doesn't come.
 */
static bool wait_for_stop(int fd, uint32_t queue_id, const struct job *job, uint32_t *stopped_at)
{
	struct kfd_ioctl_preempt_status_args status;
	uint64_t begin = now_ns(), since = begin;
	uint32_t last = job_progress(job, 0);
	unsigned int poll;

	for (poll = 0; now_ns() - begin < WAIT_SECONDS * 1000000000ull; poll++) {
		uint32_t now = job_progress(job, 0);

		if (now != last || preempt_status(fd, 0, queue_id, &status) ||
		    status.state != KFD_PREEMPT_STATE_HELD)
			since = now_ns();
		last = now;
		if (now_ns() - since >= HOLD_SECONDS * 1000000000ull) {
			*stopped_at = now;
			return true;
		}
		if (poll % REPORT_POLLS == 0)
			printf("iteration %u\n", now);
		sleep_us(POLL_US);
	}
	return false;
}

static int run(struct kfd_device *dev, struct aql_queue *queue, struct job *job)
{
	uint32_t stopped_at, errors;

	printf("pid=%d queue=%u\n", getpid(), queue->id);
	if (!job_wait_progress(job, 1, WAIT_SECONDS * 1000))
		return fail("the kernel does not run");
	if (!wait_for_stop(dev->kfd_fd, queue->id, job, &stopped_at))
		return fail("the queue was not stopped for %d s within %d s; try: kfd-preempt suspend %d",
			    HOLD_SECONDS, WAIT_SECONDS, getpid());
	printf("stopped at iteration %u, held %d s without progress\n", stopped_at, HOLD_SECONDS);

	if (!job_wait_progress(job, 10, WAIT_SECONDS * 1000))
		return fail("stopped at iteration %u and not resumed within %d s; try: kfd-preempt resume %d",
			    stopped_at, WAIT_SECONDS, getpid());
	printf("resumed, now at iteration %u\n", job_progress(job, 0));
	job_stop(job);
	if (!job_wait(job, WAIT_SECONDS * 1000))
		return fail("the kernel does not end after it was resumed");
	errors = job_errors(job);
	if (errors)
		return fail("stopped at iteration %u, resumed, and %u words of the result are wrong",
			    stopped_at, errors);
	printf("PASS: stopped at iteration %u, held %d s without progress, resumed, checksum ok\n",
	       stopped_at, HOLD_SECONDS);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct kfd_ioctl_preempt_query_args query;
	struct aql_queue queue;
	struct kfd_device dev;
	struct job job;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		fprintf(stderr, "%s takes no arguments: stop and resume it with kfd-preempt\n",
			argv[0]);
		return 64;
	}
	ret = kfd_device_open(&dev);
	if (ret)
		return fail("no KFD GPU to run on: %s", strerror(-ret));
	ret = preempt_query(dev.kfd_fd, 0, &query);
	if (ret)
		return fail("this amdgpu cannot stop queues (%s); kfd-preempt doctor says more",
			    strerror(-ret));
	ret = aql_queue_create(&dev, &queue);
	if (ret)
		return fail("no queue on gpu_id %u: %s", dev.gpu_id, strerror(-ret));
	ret = checksum_job_start(&job, &queue, 3, 4);
	if (ret)
		return fail("no memory for the kernel: %s", strerror(-ret));
	ret = run(&dev, &queue, &job);
	/* The end of the process frees everything, a held queue too. */
	return ret;
}
