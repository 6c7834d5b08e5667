// SPDX-License-Identifier: GPL-2.0-only
// A GPU program that is busy and idle in turn, as a server is; counts its requests in a file. It is idle for
// a time, or until SIGUSR1.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "jobs.h"

#define WAIT_MS 60000u

/* True once the program is asked to end. @idle: NULL waits for SIGUSR1. */
static int be_idle(const sigset_t *signals, const struct timespec *idle)
{
	return sigtimedwait(signals, NULL, idle) == SIGTERM;
}

/* One request: a kernel that runs until it made some progress. 0 when its result is right. */
static int serve(struct aql_queue *queue, unsigned int progress)
{
	struct job job;
	int wrong;

	if (checksum_job_start(&job, queue, 1, 2))
		return 1;
	wrong = !job_wait_progress(&job, progress, WAIT_MS);
	job_stop(&job);
	wrong |= !job_wait(&job, WAIT_MS) || job_errors(&job);
	job_free(&job);
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned int progress, served = 0;
	struct timespec idle, *timeout;
	sigset_t signals;
	struct aql_queue queue;
	struct kfd_device dev;
	FILE *file;
	int wrong = 0, ends = 0, idle_ms;

	if (argc != 4) {
		fprintf(stderr, "usage: request_loop PROGRESS IDLE_MS|signal FILE\n");
		return 2;
	}
	progress = (unsigned int)atoi(argv[1]);
	idle_ms = atoi(argv[2]);
	idle = (struct timespec){ idle_ms / 1000, idle_ms % 1000 * 1000000L };
	timeout = strcmp(argv[2], "signal") ? &idle : NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	file = fopen(argv[3], "w");
	if (!file || kfd_device_open(&dev) || aql_queue_create(&dev, &queue)) {
		fprintf(stderr, "request_loop: cannot create a queue or %s\n", argv[3]);
		return 1;
	}
	while (!ends && !wrong) {
		wrong = serve(&queue, progress);
		rewind(file);
		fprintf(file, "%10u\n", ++served);
		fflush(file);
		ends = be_idle(&signals, timeout);
	}
	if (wrong)
		fprintf(stderr, "request_loop: request %u was not done right\n", served);
	aql_queue_destroy(&queue);
	kfd_device_close(&dev);
	return wrong;
}
