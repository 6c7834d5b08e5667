/* SPDX-License-Identifier: MIT */
/* A consumer in plain C11, without HIP and without the hook: everything degrades, nothing crashes. */
#include <xpreempt/xpreempt.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void check(int good, const char *what)
{
	printf("%s - %s\n", good ? "ok" : "not ok", what);
	failures += !good;
}

int main(void)
{
	struct xp_probe_info probe = { .sz = sizeof(probe) };
	struct xp_stream_info info = { .sz = sizeof(info) };
	xp_xqueue_t xqueue = { 0 };
	xp_queue_t queue = { 3, 1 };
	int stream;

	check(strcmp(xp_version(), "0.1.0") == 0, "the version is that of the build");
	check(xp_probe(&probe) == 0 && !probe.hook_loaded && !probe.hip_loaded,
	      "probe tells that neither hook nor HIP is there");
	check(probe.transport != XP_TRANSPORT_NONE || probe.reason[0] != '\0',
	      "no transport comes with a reason");
	check(xp_stream_query(&stream, &info) == -ENOSYS, "without the hook no stream is mapped");
	check(xp_queue_of_id(3, &queue) == -ENOSYS, "without the hook no queue is found");
	check(xp_queue_hold(queue, 0, 0) == -ENOSYS, "without the hook no queue is held");
	check(strstr(xp_last_detail(), "libxpreempt-hook.so") != NULL, "the last error names the hook");
	check(xp_queue_release(queue) == -ENOSYS, "without the hook no queue is released");
	check(xp_xqueue_create(&stream, NULL, &xqueue) == -ENOENT, "without HIP there is no xqueue");
	check(strstr(xp_last_detail(), "HIP") != NULL, "the last error names HIP");
	check(xp_xqueue_destroy(xqueue) == -EBADF, "a zeroed handle is stale");
	return failures != 0;
}
