// SPDX-License-Identifier: GPL-2.0-only
// Kills programs with queues, operators and the command at random points: nothing may stay held.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

#define WAIT_MS 30000u
#define COMMAND "kfd-preempt"

enum kind {
	KILL_OPERATOR,		/* while it stops and starts the app's queue */
	KILL_STICKY_OPERATOR,	/* the same with STICKY holds, which it leaves behind */
	KILL_COMMAND,		/* kfd-preempt suspend, somewhere between exec and exit */
	KILL_APP,		/* while an operator stops and starts its queue */
	KILL_APP_IN_OWN_CALL,	/* while it stops and starts its queue itself */
	KILL_BOTH,
	NUM_KINDS,
};

static const char *const names[NUM_KINDS] = {
	"operator killed", "operator with sticky holds killed", "command killed",
	"app killed under an operator", "app killed in its own call", "app and operator killed",
};

/*
 * How many of 25 rounds are of each kind: an app takes the guest longer to start than an operator
 * does, and whatever is killed, the app is what could stay held.
 */
static const unsigned int shares[NUM_KINDS] = { 9, 6, 5, 2, 2, 1 };

struct world {
	unsigned int seed;
	unsigned int round;
	struct target app;
	int fd;			/* ours, holds nothing */
	unsigned int rounds[NUM_KINDS];
	unsigned int held[NUM_KINDS];	/* rounds whose victim left a hold behind */
};

static unsigned int below(struct world *world, unsigned int bound)
{
	return (unsigned int)rand_r(&world->seed) % bound;
}

static bool complain(const struct world *world, const char *what, int value)
{
	printf("# round %u: %s (%d)\n", world->round, what, value);
	return false;
}

/* Stops and starts the queue until it is gone: the exit of an operator whose app was killed. */
static void operate(pid_t pid, uint32_t queue_id, uint32_t flags, unsigned int pause_us)
{
	int fd = kfd_open(), ret = fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (ret >= 0 || ret == -EBUSY) {
		ret = switch_preempt(fd, pid, flags, queue_id);
		sleep_us(pause_us);
		if (!ret || ret == -EBUSY)
			ret = switch_resume(fd, pid, flags, queue_id);
		sleep_us(pause_us);
	}
	_exit(ret == -ESRCH || ret == -ENOENT ? 0 : -ret);
}

static pid_t start_operator(struct world *world, uint32_t flags)
{
	unsigned int pause_us = below(world, 3) * 300;
	pid_t pid = fork();

	if (!pid)
		operate(world->app.pid, world->app.queue_id, flags, pause_us);
	return pid;
}

static pid_t start_command(struct world *world)
{
	char app[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(app, sizeof(app), "%d", world->app.pid);
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	execlp(COMMAND, COMMAND, "suspend", app, NULL);
	_exit(127);
}

static void kill_and_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct holds {
	const struct world *world;
	uint32_t wanted;
};

static bool holds_are(const void *arg)
{
	const struct holds *holds = arg;
	const struct target *app = &holds->world->app;
	struct kfd_ioctl_preempt_status_args status;

	return !preempt_status(holds->world->fd, app->pid, app->queue_id, &status) &&
	       status.holds == holds->wanted &&
	       status.state == (holds->wanted ? KFD_PREEMPT_STATE_HELD : KFD_PREEMPT_STATE_RUNNING);
}

/* The driver says that nobody holds it, and the GPU runs it: its waves count on. */
static bool app_runs(struct world *world)
{
	struct holds holds = { world, 0 };

	if (!wait_until(holds_are, &holds, WAIT_MS))
		return complain(world, "the queue is still held", 0);
	if (!target_moves(&world->app))
		return complain(world, "nobody holds the queue and its waves stand still", 0);
	return true;
}

/* A killed sticky operator leaves no hold or its sticky hold, which stays until it is dropped. */
static bool sticky_stays(struct world *world, enum kind kind)
{
	struct holds sticky = { world, KFD_PREEMPT_HOLD_STICKY };
	int ret = switch_resume(world->fd, world->app.pid, 0, world->app.queue_id);

	if (ret != -EALREADY)
		return complain(world, "an operator without a hold could resume", ret);
	if (!holds_are(&sticky))
		return true; /* app_runs() judges it */
	world->held[kind]++;
	if (!target_stands_still(&world->app, 2) || !holds_are(&sticky))
		return complain(world, "a sticky hold did not outlive its operator", 0);
	ret = switch_resume(world->fd, world->app.pid, KFD_PREEMPT_SWITCH_STICKY,
			    world->app.queue_id);
	return ret ? complain(world, "the sticky hold cannot be dropped", ret) : true;
}

static bool is_gone(const void *arg)
{
	const struct world *world = arg;
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", world->app.pid);
	return access(path, F_OK) != 0;
}

/* After the app was killed and reaped: neither driver nor sysfs know it, and a new one runs. */
static bool app_left_nothing(struct world *world, pid_t operator)
{
	struct kfd_ioctl_preempt_status_args status;
	int end = 0, ret;

	if (operator && (waitpid(operator, &end, 0) != operator || end))
		return complain(world, "the operator did not see that the app is gone", end);
	if (!wait_until(is_gone, world, WAIT_MS))
		return complain(world, "the killed app is still in sysfs", world->app.pid);
	ret = preempt_status(world->fd, world->app.pid, world->app.queue_id, &status);
	if (ret != -ESRCH)
		return complain(world, "the driver still knows the killed app", ret);
	munmap(world->app.shared, sizeof(*world->app.shared));
	ret = target_start(&world->app);
	return ret ? complain(world, "no new app can start", ret) : app_runs(world);
}

static void app_calls_itself(struct world *world, unsigned int us)
{
	unsigned int calls = below(world, 4);

	for (unsigned int i = 0; i < calls; i++)
		target_order(&world->app, i % 2 ? TARGET_RESUME : TARGET_PREEMPT);
	shared_set(&world->app.shared->order, calls % 2 ? TARGET_RESUME : TARGET_PREEMPT);
	sleep_us(us);
}

static bool kill_operator(struct world *world, enum kind kind, unsigned int us)
{
	uint32_t flags = kind == KILL_STICKY_OPERATOR ? KFD_PREEMPT_SWITCH_STICKY : 0;
	pid_t operator = start_operator(world, flags);

	sleep_us(us);
	kill_and_reap(operator);
	return (!flags || sticky_stays(world, kind)) && app_runs(world);
}

static bool kill_command(struct world *world, unsigned int us)
{
	pid_t command = start_command(world);
	int end = 0;

	sleep_us(us * 10);	/* it has a program to load first */
	kill(command, SIGKILL);
	waitpid(command, &end, 0);
	if (WIFEXITED(end) && WEXITSTATUS(end))
		return complain(world, COMMAND " suspend failed", WEXITSTATUS(end));
	return sticky_stays(world, KILL_COMMAND) && app_runs(world);
}

static bool kill_app(struct world *world, enum kind kind, unsigned int us)
{
	pid_t operator = 0, app = world->app.pid;

	if (kind == KILL_APP_IN_OWN_CALL) {
		app_calls_itself(world, us);
	} else {
		operator = start_operator(world, below(world, 2) ? KFD_PREEMPT_SWITCH_STICKY : 0);
		sleep_us(us);
	}
	if (kind == KILL_BOTH) {
		kill(below(world, 2) ? operator : app, SIGKILL);
		kill_and_reap(operator);
		operator = 0;
	}
	kill_and_reap(app);
	return app_left_nothing(world, operator);
}

static bool one_round(struct world *world)
{
	unsigned int share = below(world, 25), us = below(world, 6000);
	enum kind kind = 0;

	/* Each kind once, then by chance. */
	if (world->round <= NUM_KINDS)
		kind = (enum kind)(world->round - 1);
	while (world->round > NUM_KINDS && share >= shares[kind])
		share -= shares[kind++];
	world->rounds[kind]++;
	switch (kind) {
	case KILL_OPERATOR:
	case KILL_STICKY_OPERATOR: return kill_operator(world, kind, us);
	case KILL_COMMAND: return kill_command(world, us);
	default: return kill_app(world, kind, us);
	}
}

/*
 * The counterexample: a file that leaked into a child of the operator keeps the hold when the
 * operator is killed, until the child ends too. Also shows that app_runs()'s question can be
 * answered with no.
 */
static bool leaked_file_keeps_the_hold(struct world *world)
{
	struct holds operator_hold = { world, KFD_PREEMPT_HOLD_OPERATOR };
	int ends[2];
	pid_t heir = -1, operator;

	if (pipe(ends))
		return complain(world, "pipe", errno);
	operator = fork();
	if (!operator) {
		int fd = kfd_open();

		if (switch_preempt(fd, world->app.pid, 0, world->app.queue_id))
			_exit(1);
		heir = fork();	/* has the file as well, O_CLOEXEC is for exec only */
		if (!heir)
			prctl(PR_SET_PDEATHSIG, 0);
		else if (write(ends[1], &heir, sizeof(heir)) != sizeof(heir))
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (read(ends[0], &heir, sizeof(heir)) != sizeof(heir))
		heir = -1;
	close(ends[0]);
	kill_and_reap(operator);
	if (heir <= 0)
		return complain(world, "no child with the file", heir);
	if (!holds_are(&operator_hold) || !target_stands_still(&world->app, 50))
		return complain(world, "the hold ended though a file was left", 0);
	kill(heir, SIGKILL);
	return app_runs(world);
}

static bool result(unsigned int number, bool good, const char *text)
{
	printf("%sok %u - %s\n", good ? "" : "not ", number, text);
	fflush(stdout);
	return good;
}

static int report(struct world *world, bool good, uint64_t begin_ns)
{
	unsigned int number = 0, bad = 0;
	char text[128];

	for (enum kind kind = 0; kind < NUM_KINDS; kind++) {
		/* A kind that never came, or a sticky one that never left its hold, tested nothing. */
		bool tested = world->rounds[kind] &&
			      (kind != KILL_STICKY_OPERATOR || world->held[kind]);

		snprintf(text, sizeof(text), "%s: %u rounds, %u left a sticky hold", names[kind],
			 world->rounds[kind], world->held[kind]);
		bad += !result(++number, good && tested, text);
	}
	bad += !result(++number, good && leaked_file_keeps_the_hold(world),
		       "a file leaked to a child keeps the hold until the child ends");
	bad += !result(++number, target_finish(&world->app), "the last app ends with the right result");
	printf("1..%u\n# %u rounds in %.1f s\n", number, world->round,
	       (double)(now_ns() - begin_ns) / 1e9);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 500;
	struct world world = { .fd = kfd_open() };
	uint64_t begin_ns = now_ns();
	bool good = true;

	world.seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : (unsigned int)begin_ns;
	if (argc > 3 || !count) {
		fprintf(stderr, "usage: crash_rounds [ROUNDS(500)] [SEED(the clock)]\n");
		return 2;
	}
	printf("TAP version 13\n# seed %u\n", world.seed);
	fflush(stdout);
	if (world.fd < 0 || target_start(&world.app)) {
		printf("Bail out! no GPU program can start\n");
		return 1;
	}
	while (good && world.round < count) {
		world.round++;
		good = one_round(&world);
	}
	return report(&world, good, begin_ns);
}
