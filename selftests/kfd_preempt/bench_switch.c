// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long one SWITCH of many queues of many processes holds its locks, as the driver's own events
 * tell. Needs root and tracefs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "many_queues.h"
#include "text_file.h"
#include "verify.h"

#define PROCESSES_MAX 16u
#define ROUNDS_MAX 999u
/* A buffer of our own: what others trace is neither read nor stopped. */
#define INSTANCE "/sys/kernel/tracing/instances/kfd_preempt_bench"

/* Times of one call, in ns. */
struct times {
	uint64_t call;	/* kfd_preempt_switch_end: the processes are locked for most of it */
	uint64_t node;	/* kfd_preempt_node: under the lock of the scheduler */
	uint64_t hw;	/* of that at the hardware */
};

struct bench {
	struct many_queues many[PROCESSES_MAX];
	struct kfd_preempt_switch_entry entry[KFD_PREEMPT_MAX_BATCH];
	unsigned int processes, queues, rounds;
	struct times times[2][ROUNDS_MAX];	/* of PREEMPT and of RESUME */
	int fd;
};

static const char *const op_names[] = { "PREEMPT", "RESUME" };

static uint64_t field(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoull(at + strlen(key), NULL, 0) : 0;
}

static int read_times(struct times *times)
{
	FILE *file = fopen(INSTANCE "/trace", "re");
	char line[1024];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, ": kfd_preempt_node:")) {
			times->node += field(line, " ns=");
			times->hw += field(line, " hw_ns=");
		} else if (strstr(line, ": kfd_preempt_switch_end:")) {
			times->call += field(line, " ns=");
		}
	}
	fclose(file);
	return times->call && times->node ? 0 : -ENODATA;
}

static int switch_all(struct bench *bench, unsigned int op, struct times *times)
{
	struct kfd_ioctl_preempt_switch_args args = {
		.entries_ptr = (uintptr_t)bench->entry,
		.num_entries = bench->queues,
	};
	unsigned int i, each = bench->queues / bench->processes;
	int ret = text_file_write(INSTANCE "/trace", "");

	for (i = 0; i < bench->queues; i++)
		bench->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = bench->many[i / each].shared->id[i % each],
			.target_pid = bench->many[i / each].target.pid,
			.op = op ? KFD_PREEMPT_OP_RESUME : KFD_PREEMPT_OP_PREEMPT,
			.preempt_type = op ? 0 : KFD_PREEMPT_TYPE_SAVE,
		};
	if (!ret)
		ret = kfd_ioctl(bench->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);
	if (!ret && args.num_done != bench->queues)
		ret = -EIO;
	return ret ? ret : read_times(times);
}

static int run(struct bench *bench)
{
	unsigned int i, op;
	int ret = 0;

	for (i = 0; i < bench->processes && !ret; i++)
		ret = many_queues_start(&bench->many[i], bench->queues / bench->processes,
					aql_queue_create_idle);
	if (!ret && mkdir(INSTANCE, 0700))
		ret = -errno;
	for (op = 0; op < 2 && !ret; op++)
		ret = text_file_write(op ? INSTANCE "/events/kfd_preempt/kfd_preempt_node/enable" :
					   INSTANCE "/events/kfd_preempt/kfd_preempt_switch_end/enable",
				      "1");
	for (i = 0; i < bench->rounds && !ret; i++)
		for (op = 0; op < 2 && !ret; op++)
			ret = switch_all(bench, op, &bench->times[op][i]);
	rmdir(INSTANCE);
	for (i = 0; i < bench->processes; i++)
		target_kill(&bench->many[i].target);
	return ret;
}

static int by_call(const void *a, const void *b)
{
	const struct times *left = a, *right = b;

	return (left->call > right->call) - (left->call < right->call);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	bool verified;
	unsigned int op;
	int ret;

	if (argc == 4) {
		bench.processes = (unsigned int)atoi(argv[1]);
		bench.queues = (unsigned int)atoi(argv[2]);
		bench.rounds = (unsigned int)atoi(argv[3]);
	}
	if (!bench.processes || bench.processes > PROCESSES_MAX || !bench.rounds ||
	    bench.rounds > ROUNDS_MAX || !bench.queues || bench.queues > KFD_PREEMPT_MAX_BATCH ||
	    bench.queues % bench.processes ||
	    bench.queues / bench.processes > MANY_QUEUES_MAX) {
		fprintf(stderr, "usage: bench_switch PROCESSES(1..%u) QUEUES ROUNDS(1..%u)\n",
			PROCESSES_MAX, ROUNDS_MAX);
		return 2;
	}
	printf("TAP version 13\n1..1\n");
	bench.fd = kfd_open();
	verified = verify_turn(false);
	ret = bench.fd < 0 ? bench.fd : run(&bench);
	verify_turn(verified);
	if (ret) {
		printf("not ok 1 bench_switch: %s\n", strerror(-ret));
		return EXIT_FAILURE;
	}
	for (op = 0; op < 2; op++) {
		struct times *times = bench.times[op], *median = &times[bench.rounds / 2],
			     *worst = &times[bench.rounds - 1];

		qsort(times, bench.rounds, sizeof(*times), by_call);
		printf("# %s of %u queues of %u processes, us: call %" PRIu64 " (at most %" PRIu64
		       "), lock of the scheduler %" PRIu64 " (%" PRIu64 "), of it hardware %" PRIu64
		       " (%" PRIu64 ")\n",
		       op_names[op], bench.queues, bench.processes, median->call / 1000,
		       worst->call / 1000, median->node / 1000, worst->node / 1000,
		       median->hw / 1000, worst->hw / 1000);
	}
	printf("ok 1 bench_switch\n");
	return EXIT_SUCCESS;
}
