// SPDX-License-Identifier: GPL-2.0-only
// A GPU program that is busy and idle in turn, as a server is; counts its requests in a file. It is idle for
// a time, or until SIGUSR1.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "jobs.h"
#include "wait.h"

#define WAIT_MS 60000u

static volatile sig_atomic_t asked_to_end;

static void on_term(int signal)
{
	(void)signal;
	asked_to_end = 1;
}

static void be_idle_until_signal(const sigset_t *signals)
{
	int signal;

	sigwait(signals, &signal);
	if (signal == SIGTERM)
		asked_to_end = 1;
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
	unsigned int progress, idle_ms, served = 0;
	sigset_t signals;
	struct aql_queue queue;
	struct kfd_device dev;
	FILE *file;
	int wrong = 0, by_signal;

	if (argc != 4) {
		fprintf(stderr, "usage: request_loop PROGRESS IDLE_MS|signal FILE\n");
		return 2;
	}
	progress = (unsigned int)atoi(argv[1]);
	by_signal = !strcmp(argv[2], "signal");
	idle_ms = (unsigned int)atoi(argv[2]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_term);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	if (by_signal)
		sigprocmask(SIG_BLOCK, &signals, NULL);
	file = fopen(argv[3], "w");
	if (!file || kfd_device_open(&dev) || aql_queue_create(&dev, &queue)) {
		fprintf(stderr, "request_loop: cannot create a queue or %s\n", argv[3]);
		return 1;
	}
	while (!asked_to_end && !wrong) {
		wrong = serve(&queue, progress);
		rewind(file);
		fprintf(file, "%10u\n", ++served);
		fflush(file);
		if (by_signal)
			be_idle_until_signal(&signals);
		else
			sleep_us(idle_ms * 1000);
	}
	if (wrong)
		fprintf(stderr, "request_loop: request %u was not done right\n", served);
	aql_queue_destroy(&queue);
	kfd_device_close(&dev);
	return wrong;
}
