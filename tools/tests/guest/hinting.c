// SPDX-License-Identifier: GPL-2.0-only
// A GPU program that does what each line of its standard input says: work, or a request to
// xpreemptd. Its answers are lines of a file: of "work", and of "begin" and "end" for work that lasts
// that long, the word itself when the result is right.
// usage: hinting SOCKET FILE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "jobs.h"
#include "wait.h"

#define WAIT_MS 60000u
#define PROGRESS 20u

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int begin(struct aql_queue *queue, struct job *job)
{
	return checksum_job_start(job, queue, 1, 2);
}

static int end(struct job *job)
{
	int wrong;

	job_stop(job);
	wrong = !job_wait(job, WAIT_MS) || job_errors(job);
	job_free(job);
	return wrong;
}

/* One kernel that runs until it made some progress. */
static int work(struct aql_queue *queue)
{
	struct job job;
	int wrong;

	if (begin(queue, &job))
		return 1;
	wrong = !job_wait_progress(&job, PROGRESS, WAIT_MS);
	return end(&job) || wrong;
}

/* The reply, or why there is none. */
static void ask(int *fd, const char *path, const char *request, char *reply, size_t size)
{
	ssize_t length;

	if (*fd < 0)
		*fd = connect_to(path);
	length = send(*fd, request, strlen(request), MSG_NOSIGNAL);
	if (length > 0)
		length = recv(*fd, reply, size - 1, 0);
	if (length <= 0) {
		close(*fd);
		*fd = -1;
		length = snprintf(reply, size, "no reply");
	}
	reply[length] = '\0';
}

int main(int argc, char **argv)
{
	char line[1024], reply[65536];
	struct aql_queue queue;
	struct kfd_device dev;
	struct job job;
	int fd = -1, wrong = 0;
	FILE *file;

	if (argc != 3) {
		fprintf(stderr, "usage: hinting SOCKET FILE\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file = fopen(argv[2], "w");
	if (!file || kfd_device_open(&dev) || aql_queue_create(&dev, &queue)) {
		fprintf(stderr, "hinting: cannot create a queue or %s\n", argv[2]);
		return 1;
	}
	fprintf(file, "ready\n");
	fflush(file);
	while (!wrong && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "work") == 0 || strcmp(line, "begin") == 0 || strcmp(line, "end") == 0) {
			wrong = line[0] == 'w' ? work(&queue) : line[0] == 'b' ? begin(&queue, &job) : end(&job);
			fprintf(file, "%s\n", wrong ? "wrong" : line);
		} else {
			ask(&fd, argv[1], line, reply, sizeof(reply));
			fprintf(file, "%s\n", reply);
		}
		fflush(file);
	}
	aql_queue_destroy(&queue);
	kfd_device_close(&dev);
	return wrong;
}
