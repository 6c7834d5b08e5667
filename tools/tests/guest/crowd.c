// SPDX-License-Identifier: GPL-2.0-only
// A GPU program of many processes, as the workers of a training job are: one computes, the others
// have opened the GPU, and some of them have a queue without packets. Progress in a file, which is
// there once all have begun.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "wait.h"

#define WAIT_MS 60000u
#define BEGIN_MS 300000u

static volatile sig_atomic_t asked_to_end;

/* Written by the children. */
struct crowd {
	uint32_t begun;
	uint32_t failed;
	uint32_t wanted;
};

static void on_term(int signal)
{
	(void)signal;
	asked_to_end = 1;
}

static void be_one(struct crowd *crowd, bool with_queue)
{
	struct aql_queue queue;
	struct kfd_device dev;
	sigset_t term, before;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	ret = kfd_device_open(&dev);
	if (!ret && with_queue)
		ret = aql_queue_create(&dev, &queue);
	if (ret) {
		fprintf(stderr, "crowd: cannot open the GPU or create a queue: %s\n",
			strerror(-ret));
		__atomic_fetch_add(&crowd->failed, 1, __ATOMIC_RELEASE);
		_exit(1);
	}
	__atomic_fetch_add(&crowd->begun, 1, __ATOMIC_RELEASE);
	while (!asked_to_end)
		sigsuspend(&before);
	/* Not left to the exit: see queue_owner.c. */
	if (with_queue)
		aql_queue_destroy(&queue);
	kfd_device_close(&dev);
	_exit(0);
}

static bool all_have_begun(const void *arg)
{
	const struct crowd *crowd = arg;

	return __atomic_load_n(&crowd->begun, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&crowd->failed, __ATOMIC_ACQUIRE) == crowd->wanted;
}

/* Forks before it computes: a fork copies what the parent has mapped. */
static int start(struct crowd *crowd, unsigned int queues, pid_t *pids)
{
	for (unsigned int i = 0; i < crowd->wanted; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return -errno;
		if (!pids[i])
			be_one(crowd, i < queues);
	}
	if (!wait_until(all_have_begun, crowd, BEGIN_MS))
		return -ETIME;
	return crowd->failed ? -ECHILD : 0;
}

static int compute(struct job *job, FILE *progress)
{
	while (!asked_to_end) {
		rewind(progress);
		fprintf(progress, "%10u\n", job_progress(job, 0));
		fflush(progress);
		sleep_us(10000);
	}
	job_stop(job);
	if (job_wait(job, WAIT_MS) && !job_errors(job))
		return 0;
	fprintf(stderr, "crowd: the job has a wrong result or does not end\n");
	return 1;
}

static void end_all(const pid_t *pids, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGTERM);
	for (unsigned int i = 0; i < n; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 4 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int queues = argc == 4 ? (unsigned int)atoi(argv[2]) : 0;
	struct aql_queue queue;
	struct kfd_device dev;
	struct crowd *crowd;
	struct job job;
	FILE *progress;
	pid_t *pids;
	int ret;

	if (n < 1 || queues > n) {
		fprintf(stderr, "usage: crowd PROCESSES QUEUES PROGRESS_FILE\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_term);
	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	pids = calloc(n, sizeof(*pids));
	if (crowd == MAP_FAILED || !pids)
		return 1;
	crowd->wanted = n;
	ret = kfd_device_open(&dev);
	if (!ret)
		ret = aql_queue_create(&dev, &queue);
	if (!ret)
		ret = start(crowd, queues, pids);
	if (!ret)
		ret = checksum_job_start(&job, &queue, 2, 2);
	if (ret) {
		fprintf(stderr, "crowd: %u of %u have begun: %s\n", crowd->begun, n, strerror(-ret));
		end_all(pids, n);
		return 1;
	}
	progress = fopen(argv[3], "w");
	if (!progress) {
		perror(argv[3]);
		end_all(pids, n);
		return 1;
	}
	ret = compute(&job, progress);
	end_all(pids, n);
	aql_queue_destroy(&queue);
	job_free(&job);
	kfd_device_close(&dev);
	return ret;
}
