// SPDX-License-Identifier: GPL-2.0-only
// A GPU program for the command to act on: N queues that compute, progress in a file. SIGTERM ends it
// when its results are right, SIGUSR1 at once. With GPUS=both in the environment every other queue is on the
// second GPU, with GPUS=second all are.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "jobs.h"
#include "wait.h"

#define QUEUES_MAX 4
#define WAIT_MS 60000u

static volatile sig_atomic_t asked_to_end;

static void on_term(int signal)
{
	(void)signal;
	asked_to_end = 1;
}

/* Leaves its queues to the kernel, also those that are stopped. */
static void on_usr1(int signal)
{
	(void)signal;
	_exit(0);
}

/* One number for each queue, in lines of one length, so that a reader never sees half of one. */
static void write_progress(int fd, const struct job *jobs, unsigned int n)
{
	char line[QUEUES_MAX * 11 + 1];
	int used = 0;

	for (unsigned int i = 0; i < n; i++)
		used += snprintf(line + used, sizeof(line) - (size_t)used, "%10u ",
				 job_progress(&jobs[i], 0));
	line[used - 1] = '\n';
	if (pwrite(fd, line, (size_t)used, 0) != used)
		perror("queue_owner: progress");
}

/* Opens the GPUs of the environment: the one of queue i is devs[i % 2]. 0 or a negative errno. */
static int open_gpus(struct kfd_device *devs)
{
	const char *which = getenv("GPUS");
	int ret = kfd_device_open(&devs[0]);

	devs[1] = devs[0];
	if (ret || !which)
		return ret;
	ret = kfd_device_open_second(&devs[1], &devs[0]);
	if (!strcmp(which, "second"))
		devs[0] = devs[1];
	return ret;
}

/* 0 or a negative errno; -ETIME when a job doesn't begin. */
static int start(struct kfd_device *devs, struct aql_queue *queues, struct job *jobs,
		 unsigned int n)
{
	int ret = open_gpus(devs);

	for (unsigned int i = 0; !ret && i < n; i++) {
		ret = aql_queue_create(&devs[i % 2], &queues[i]);
		if (!ret)
			ret = checksum_job_start(&jobs[i], &queues[i], 2, 2);
		if (!ret && !job_wait_progress(&jobs[i], 2, WAIT_MS))
			ret = -ETIME;
	}
	return ret;
}

/* 0 when every iteration of every job was done exactly once. */
static int finish(struct job *jobs, unsigned int n)
{
	int wrong = 0;

	for (unsigned int i = 0; i < n; i++)
		job_stop(&jobs[i]);
	for (unsigned int i = 0; i < n; i++) {
		if (!job_wait(&jobs[i], WAIT_MS)) {
			fprintf(stderr, "queue_owner: the job of queue %u does not end\n", i);
			wrong = 1;
		} else if (job_errors(&jobs[i])) {
			fprintf(stderr, "queue_owner: the job of queue %u has a wrong result\n", i);
			wrong = 1;
		}
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static struct aql_queue queues[QUEUES_MAX];
	static struct job jobs[QUEUES_MAX];
	struct kfd_device devs[2];
	unsigned int n = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;
	FILE *file;
	int ret;

	if (n < 1 || n > QUEUES_MAX) {
		fprintf(stderr, "usage: queue_owner QUEUES(1..%d) PROGRESS_FILE\n", QUEUES_MAX);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_usr1);
	ret = start(devs, queues, jobs, n);
	if (ret) {
		fprintf(stderr, "queue_owner: cannot start a job on the GPU: %s\n",
			strerror(-ret));
		return 1;
	}
	file = fopen(argv[2], "w");
	if (!file) {
		perror(argv[2]);
		return 1;
	}
	while (!asked_to_end) {
		write_progress(fileno(file), jobs, n);
		sleep_us(10000);
	}
	ret = finish(jobs, n);
	/*
	 * Not left to the exit: KFD frees what a process leaves behind in a work item, and the guest
	 * may be switched off before that ran.
	 */
	for (unsigned int i = 0; i < n; i++) {
		aql_queue_destroy(&queues[i]);
		job_free(&jobs[i]);
	}
	kfd_device_close(&devs[0]);
	return ret;
}
