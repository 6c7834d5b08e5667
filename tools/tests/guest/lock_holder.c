// SPDX-License-Identifier: GPL-2.0-only
// A GPU program that computes, and keeps its mutex in KFD locked meanwhile. Progress in a file. SIGTERM ends it.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "jobs.h"
#include "kfd_lock.h"
#include "wait.h"

#define WAIT_MS 60000u

static volatile sig_atomic_t asked_to_end;

static void on_term(int signal)
{
	(void)signal;
	asked_to_end = 1;
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "lock_holder: %s: %s\n", what, strerror(-error));
	return 1;
}

int main(int argc, char **argv)
{
	static struct aql_queue queue;
	static struct kfd_lock lock;
	static struct job job;
	struct kfd_device dev;
	int ret, wrong;
	FILE *file;

	if (argc != 2) {
		fprintf(stderr, "usage: lock_holder PROGRESS_FILE\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_term);
	ret = kfd_device_open(&dev);
	if (!ret)
		ret = busy_queue_create(&dev, &queue, &job, 1, WAIT_MS);
	if (ret)
		return fail("cannot start a job on the GPU", ret);
	ret = kfd_lock_take(&dev, &lock);
	if (ret)
		return fail("cannot keep the mutex locked", ret);
	file = fopen(argv[1], "w");
	if (!file)
		return fail(argv[1], -1);
	while (!asked_to_end) {
		rewind(file);
		fprintf(file, "%10u\n", job_progress(&job, 0));
		fflush(file);
		sleep_us(10000);
	}
	ret = kfd_lock_release(&lock);
	job_stop(&job);
	wrong = ret || !job_wait(&job, WAIT_MS) || job_errors(&job);
	aql_queue_destroy(&queue);
	job_free(&job);
	kfd_device_close(&dev);
	return wrong;
}
