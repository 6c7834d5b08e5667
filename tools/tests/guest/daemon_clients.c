// SPDX-License-Identifier: GPL-2.0-only
// Many clients of xpreemptd that send requests and garbage, and read what they get. The first sends
// without pause, the others wait for each reply. At the end each must be answered.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "wait.h"

#define SOCKET "/run/xpreempt/xpreemptd.sock"
#define REPLY_MAX 65536
#define REPLY_S 60

static const char *const requests[] = {
	"{\"do\":\"status\"}", "{\"do\":\"jobs\"}", "{\"do\":", "garbage",
	"{\"do\":\"set\",\"pid\":1,\"weight\":1}",
};
#define NUM_REQUESTS (sizeof(requests) / sizeof(requests[0]))

static char reply[REPLY_MAX];

static int connect_one(void)
{
	const struct timeval limit = { .tv_sec = REPLY_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return -1;
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		if (errno != EAGAIN) /* the queue of connections is full */
			return -1;
		sleep_us(1000);
	}
	return fd;
}

/* Returns the replies, or -1 when one was disconnected. */
static long flood(const int *fds, unsigned int *waits, unsigned int n, unsigned int seconds,
		  unsigned long *sent)
{
	const uint64_t end = now_ns() + seconds * 1000000000ull;
	long replies = 0;

	while (now_ns() < end) {
		for (unsigned int i = 0; i < n; i++) {
			const char *request = requests[(i + *sent) % NUM_REQUESTS];
			ssize_t length;

			if ((i == 0 || !waits[i]) &&
			    send(fds[i], request, strlen(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
				waits[i]++;
				++*sent;
			}
			while ((length = recv(fds[i], reply, sizeof(reply), MSG_DONTWAIT)) > 0) {
				waits[i]--;
				++replies;
			}
			if (!length || errno != EAGAIN)
				return -1;
		}
	}
	return replies;
}

/* The last one has the answer to this request: one to each is what the protocol promises. */
static bool is_answered(int fd, unsigned long *replies)
{
	static const char ask[] = "{\"do\":\"policy\",\"name\":\"last\"}";

	if (send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0)
		return false;
	for (;;) {
		ssize_t length = recv(fd, reply, sizeof(reply) - 1, 0);

		if (length <= 0)
			return false;
		reply[length] = 0;
		++*replies;
		if (strstr(reply, "no policy 'last'"))
			return true;
	}
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int seconds = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;
	const struct rlimit limit = { n + 16, n + 16 };
	unsigned long sent = 0, replies = 0;
	unsigned int *waits;
	long flooded;
	int *fds;

	if (!n || !seconds) {
		fprintf(stderr, "usage: daemon_clients CLIENTS SECONDS\n");
		return 2;
	}
	fds = calloc(n, sizeof(*fds));
	waits = calloc(n, sizeof(*waits));
	if (!fds || !waits || setrlimit(RLIMIT_NOFILE, &limit)) {
		perror("daemon_clients");
		return 1;
	}
	for (unsigned int i = 0; i < n; i++) {
		fds[i] = connect_one();
		if (fds[i] < 0) {
			fprintf(stderr, "daemon_clients: client %u: %s\n", i, strerror(errno));
			return 1;
		}
	}
	printf("connected\n");
	fflush(stdout);
	flooded = flood(fds, waits, n, seconds, &sent);
	if (flooded < 0) {
		fprintf(stderr, "daemon_clients: one was disconnected\n");
		return 1;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (!is_answered(fds[i], &replies)) {
			fprintf(stderr, "daemon_clients: client %u has no answer\n", i);
			return 1;
		}
	}
	printf("%lu requests, %lu replies\n", sent + n, (unsigned long)flooded + replies);
	return sent + n == (unsigned long)flooded + replies ? 0 : 1;
}
