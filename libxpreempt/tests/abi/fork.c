// SPDX-License-Identifier: MIT
// A launcher without HIP that asks what there is, and forks workers: they may use the library. The
// children of a process that uses it may not.
#include <xpreempt/xpreempt.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int probe(void)
{
	struct xp_probe_info info = {.sz = sizeof info};

	return xp_probe(&info);
}

/* Two errors of one thread have two details. */
static int probe_after_other_error(void)
{
	char other[256];
	int error;

	snprintf(other, sizeof other, "%s", xp_last_detail());
	error = probe();
	return error == -EBADF && strcmp(other, xp_last_detail()) == 0 ? -EPROTO : error;
}

/* The worker's answer is 0 or the errno of its first call that failed. */
static int in_child(int (*worker)(void))
{
	int status = 0;
	const pid_t child = fork();

	if (child == 0)
		_exit(-worker());
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

static int probe_in_child(void)
{
	return in_child(probe);
}

static int start_and_stop(void)
{
	const int error = xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST);

	return error != 0 ? error : xp_sched_stop();
}

static uint64_t run_all(const struct xp_sched_source *sources, size_t count, uint64_t now_ns,
			uint8_t *suspend, void *argument)
{
	(void)sources, (void)count, (void)now_ns, (void)suspend, (void)argument;
	return UINT64_MAX;
}

/* The scheduler's thread is in the launcher only. */
static int probe_beside_scheduler(void)
{
	int error = xp_sched_start_policy(run_all, NULL);

	if (error == 0)
		error = in_child(probe);
	return error;
}

/* In front of the C library's: the library asks by it in its first call. */
static atomic_int first_call = 0, asked, answered;

char *secure_getenv(const char *name)
{
	if (atomic_exchange(&first_call, 0)) {
		asked = 1;
		while (!answered)
			usleep(1000);
	}
	return getenv(name);
}

static void *probe_in_thread(void *argument)
{
	*(int *)argument = probe();
	return NULL;
}

static int probe_or_end(void)
{
	alarm(60); /* the failure is a child that never ends */
	return probe();
}

/* Probes in a child that is made while the thread, once it has set `inside`, waits in the library. */
static int probe_beside(atomic_int *inside, void *(*in_thread)(void *), int *argument)
{
	pthread_t thread;
	int error;

	answered = 0;
	if (pthread_create(&thread, NULL, in_thread, argument))
		return -EAGAIN;
	while (!*inside)
		usleep(1000);
	error = in_child(probe_or_end);
	answered = 1;
	pthread_join(thread, NULL);
	return error;
}

static int probe_beside_first_call(int *first)
{
	first_call = 1;
	return probe_beside(&asked, probe_in_thread, first);
}

/* The log's function of the program, with the lock of the log. */
static atomic_int in_log = 0;

static void keep_in_log(uint32_t level, const char *message, void *process)
{
	(void)level, (void)message;
	in_log = 1;
	while (!answered && getpid() == *(pid_t *)process)
		usleep(1000);
}

static void *fail_in_thread(void *argument)
{
	*(int *)argument = xp_sched_start(0);
	return NULL;
}

static int probe_beside_message(int *failed)
{
	pid_t process = getpid();
	int error = xp_set_log_fn(keep_in_log, XP_LOG_DEBUG, &process);

	if (error == 0)
		error = probe_beside(&in_log, fail_in_thread, failed);
	return error != 0 ? error : xp_set_log_fn(NULL, XP_LOG_NONE, NULL);
}

/* Locks the table of hints most of the time. */
static atomic_int hints_end = 0;

static void *close_hints(void *argument)
{
	while (!hints_end)
		xp_hint_close((xp_hint_t){0});
	return argument;
}

static int open_hint_or_end(void)
{
	xp_hint_t hint;
	int error;

	alarm(60);
	error = xp_hint_open("/nonexistent", &hint);
	return error != 0 ? error : xp_hint_close(hint);
}

static int open_hints_beside_others(void)
{
	pthread_t thread;
	int error = 0, i;

	if (pthread_create(&thread, NULL, close_hints, NULL))
		return -EAGAIN;
	for (i = 0; i < 500 && error == 0; i++)
		error = in_child(open_hint_or_end);
	hints_end = 1;
	pthread_join(thread, NULL);
	return error;
}

static int expect(const char *what, int wanted, int got)
{
	if (got == wanted)
		return 0;
	printf("%s: %d, and not %d\n", what, got, wanted);
	return 1;
}

int main(void)
{
	int wrong = 0, first = 1, failed = 0;

	wrong += expect("probe in a child of a first call", -EBADF, probe_beside_first_call(&first));
	wrong += expect("the first call", 0, first);
	wrong += expect("probe", 0, probe());
	wrong += expect("probe in a child", 0, in_child(probe));
	wrong += expect("probe in a child's child", 0, in_child(probe_in_child));
	wrong += expect("probe in a child beside a message", 0, probe_beside_message(&failed));
	wrong += expect("the call with the message", -EOPNOTSUPP, failed);
	wrong += expect("hints in children beside those of the parent", 0, open_hints_beside_others());
	wrong += expect("a scheduler in a child", 0, in_child(start_and_stop));
	wrong += expect("probe in a child of a scheduler's process", -EBADF,
			in_child(probe_beside_scheduler));
	wrong += expect("a scheduler", 0, start_and_stop());
	wrong += expect("probe in a child of a user", -EBADF, in_child(probe));
	wrong += expect("a bad policy", -EOPNOTSUPP, xp_sched_start(0));
	wrong += expect("the detail in a child", -EBADF, in_child(probe_after_other_error));
	return wrong;
}
