// SPDX-License-Identifier: GPL-2.0-only
// Changes all the time what is on the GPU: processes that start work and are killed at any moment, or idle queues of
// which there are as many as asked for at a time. The number of them so far is in a file. SIGTERM ends it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "wait.h"

#define WAIT_MS 60000u
#define MAX_QUEUES 250u		/* KFD gives a process 255 (pqm_create_queue()) */

static volatile sig_atomic_t asked_to_end;

static void on_term(int signal)
{
	(void)signal;
	asked_to_end = 1;
}

static void note(FILE *progress, unsigned int number)
{
	rewind(progress);
	fprintf(progress, "%10u\n", number);
	fflush(progress);
}

/* Its queue and its job are there until it is killed. */
static void be_short(void)
{
	struct aql_queue queue;
	struct kfd_device dev;
	struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	if (kfd_device_open(&dev) || busy_queue_create(&dev, &queue, &job, 1, WAIT_MS))
		_exit(1);
	for (;;)
		pause();
}

static int come_and_go(FILE *progress)
{
	unsigned int seed = 1;

	for (unsigned int number = 1; !asked_to_end; number++) {
		int status;
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (!pid)
			be_short();
		sleep_us(1000u * (1 + (unsigned int)rand_r(&seed) % 300));
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid)
			return -errno;
		/* It ended by itself: the GPU was not there for it. */
		if (WIFEXITED(status))
			return -ECHILD;
		note(progress, number);
	}
	return 0;
}

/* The queues are at 0 percent: the scheduler of the GPU does not map them, and KFD and the daemon know each. */
static int change_queues(FILE *progress, unsigned int num)
{
	static struct aql_queue like, queues[MAX_QUEUES];
	unsigned int number = 0;
	struct kfd_device dev;
	struct job job;
	int ret = kfd_device_open(&dev);

	if (!ret)
		ret = busy_queue_create(&dev, &like, &job, 1, WAIT_MS);
	for (; !ret && number < num; note(progress, ++number))
		ret = aql_queue_create_off(&like, &queues[number]);
	if (ret)
		return ret;
	for (; !ret && !asked_to_end; note(progress, ++number)) {
		struct aql_queue *queue = &queues[number % num];

		ret = aql_queue_destroy_idle(queue);
		if (!ret)
			ret = aql_queue_create_off(&like, queue);
	}
	job_stop(&job);
	if (!ret && (!job_wait(&job, WAIT_MS) || job_errors(&job)))
		ret = -EILSEQ;
	return ret;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[argc - 1] : "";
	unsigned long num = 0;
	FILE *progress;
	int ret;

	if (argc == 4 && !strcmp(argv[1], "queues"))
		num = strtoul(argv[2], NULL, 10);
	if (num > MAX_QUEUES || (!num && (argc != 3 || strcmp(argv[1], "processes")))) {
		fprintf(stderr, "usage: restless processes PROGRESS_FILE | queues NUMBER PROGRESS_FILE, at most %u queues\n", MAX_QUEUES);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_term);
	progress = fopen(path, "w");
	if (!progress) {
		perror(path);
		return 1;
	}
	ret = num ? change_queues(progress, (unsigned int)num) : come_and_go(progress);
	if (ret)
		fprintf(stderr, "restless: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
