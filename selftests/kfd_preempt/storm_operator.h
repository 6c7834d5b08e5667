/* SPDX-License-Identifier: GPL-2.0-only */
/* The operators of storm: they stop and start queues of others, who may be dead. */
#ifndef KFD_PREEMPT_STORM_OPERATOR_H
#define KFD_PREEMPT_STORM_OPERATOR_H

#include <errno.h>
#include <sys/syscall.h>

#include "kfd_device.h"
#include "preempt.h"
#include "queue_file.h"
#include "random.h"
#include "storm_shared.h"
#include "wait.h"

struct operator {
	struct storm_shared *shared;
	uint32_t slot;
	struct random random;
	int file;	/* of /dev/kfd: its holds end with it */
	int borrowed;	/* a file of an owner who may be dead by now, or -1 */
	uint32_t yield;	/* KFD_PREEMPT_SWITCH_YIELD_MEMORY, or 0 */
};

/* Results of a call on a queue whose owner may be dead, not started yet, or busy for a long time. */
static inline bool is_answer(int ret)
{
	return !ret || ret == -EALREADY || ret == -ESRCH || ret == -ENOENT || ret == -EBUSY;
}

static inline void check(struct operator *op, const char *what, bool stop, uint32_t kind, int ret)
{
	if (!ret && kind & KFD_PREEMPT_SWITCH_YIELD_MEMORY)
		add(&op->shared->yields, 1);
	if (!ret)
		add(stop ? &op->shared->stops : &op->shared->starts, 1);
	else if (!is_answer(ret))
		fail(op->shared, what, op->slot, ret);
}

static inline uint32_t fill_entry(const struct operator *op, struct kfd_preempt_switch_entry *entry,
			   uint32_t target, uint32_t queue, bool stop)
{
	*entry = (struct kfd_preempt_switch_entry){
		.queue_id = op->shared->owner[target].queue_id[queue],
		.op = stop ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME,
		.preempt_type = stop ? KFD_PREEMPT_TYPE_SAVE : 0,
	};
	return get(&op->shared->owner[target].ready);
}

static inline void switch_by_pid(struct operator *op, uint32_t target, uint32_t queue, bool stop,
			  uint32_t kind)
{
	struct kfd_preempt_switch_entry entry;
	pid_t pid = (pid_t)fill_entry(op, &entry, target, queue, stop);
	int ret;

	if (!pid)
		return;
	ret = preempt_switch(op->file, pid, kind, &entry, 1);
	check(op, "SWITCH by pid of operator", stop, kind, ret ? ret : entry.result);
}

/* The file outlives its owner. */
static inline void switch_by_file(struct operator *op, uint32_t queue, bool stop, uint32_t kind)
{
	struct kfd_preempt_switch_entry entry;
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = kind | KFD_PREEMPT_SWITCH_TARGET_FD,
		.target_fd = op->borrowed,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	int ret;

	fill_entry(op, &entry, op->slot % OWNERS, queue, stop);
	ret = kfd_ioctl(op->file, AMDKFD_IOC_PREEMPT_SWITCH, &args);
	check(op, "SWITCH by file of operator", stop, kind, ret ? ret : entry.result);
}

/* All queues of all owners in one call, as a freeze does it. */
static inline void switch_all(struct operator *op, bool stop, uint32_t kind)
{
	bool all = random_one_in(&op->random, 2);
	struct kfd_preempt_switch_entry entry[OWNERS * QUEUES];
	uint32_t i, num = 0, pid;
	int ret;

	for (i = 0; i < OWNERS * QUEUES; i++) {
		pid = fill_entry(op, &entry[num], i / QUEUES, i % QUEUES, stop);
		entry[num].target_pid = (pid_t)pid;
		num += pid != 0;
	}
	if (!num)
		return;
	ret = preempt_switch(op->file, 0, kind | (all ? KFD_PREEMPT_SWITCH_ALL_OR_NOTHING : 0),
			     entry, num);
	if (ret)
		fail(op->shared, "SWITCH of all queues by operator", op->slot, ret);
	for (i = 0; !ret && i < num; i++)
		if (!all || entry[i].result != -EBUSY)
			check(op, "entry of SWITCH of all queues by operator", stop, kind,
			      entry[i].result);
}

static inline void borrow_file(struct operator *op)
{
	pid_t pid = (pid_t)get(&op->shared->owner[op->slot % OWNERS].ready);
	int pidfd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (op->borrowed >= 0)
		close(op->borrowed);
	op->borrowed = -1;
	if (pidfd < 0)
		return;
	op->borrowed = (int)syscall(SYS_pidfd_getfd, pidfd,
				    op->shared->owner[op->slot % OWNERS].kfd_fd, 0);
	close(pidfd);
}

/* While others stop and start the queue, or it goes. */
static inline void read_files(struct operator *op)
{
	uint32_t target = random_below(&op->random, OWNERS);
	uint32_t queue = random_below(&op->random, QUEUES), i;
	char text[QUEUE_FILE_BYTES];
	int ret;

	for (i = 0; i < NUM_QUEUE_FILES; i++) {
		ret = queue_file_read((pid_t)get(&op->shared->owner[target].ready),
				      op->shared->owner[target].queue_id[queue], queue_files[i].name,
				      text);
		if (ret && ret != -ENOENT && ret != -ENODEV)
			fail(op->shared, "file of a queue, read by operator", op->slot, ret);
	}
}

static inline void hold_something(struct operator *op)
{
	static const uint32_t kinds[] = { 0, 0, 0, KFD_PREEMPT_SWITCH_STICKY,
					  KFD_PREEMPT_SWITCH_FORCE };
	uint32_t kind = kinds[random_below(&op->random, 5)];
	uint32_t target = random_below(&op->random, OWNERS);
	uint32_t queue = random_below(&op->random, QUEUES), way = random_below(&op->random, 4);
	uint32_t yield = random_one_in(&op->random, 4) ? op->yield : 0;
	struct kfd_ioctl_preempt_status_args status;
	int stop, ret;

	for (stop = 1; stop >= 0; stop--) {
		if (way == 0)
			switch_all(op, stop, stop ? kind | yield : kind);
		else if (way == 1 && op->borrowed >= 0)
			switch_by_file(op, queue, stop, stop ? kind | yield : kind);
		else
			switch_by_pid(op, target, queue, stop, stop ? kind | yield : kind);
		/* so that queues work as well */
		if (random_one_in(&op->random, 4))
			read_files(op);
		else
			sleep_us(random_below(&op->random, 4000));
	}
	ret = preempt_status(op->file, (pid_t)get(&op->shared->owner[target].ready), 0, &status);
	if (!is_answer(ret))
		fail(op->shared, "STATUS by operator", op->slot, ret);
}

/* Stops and starts others' queues, who may be gone, in every way there is. */
static inline void run_operator(struct storm_shared *shared, uint32_t slot, uint32_t stream)
{
	struct operator op = { .shared = shared, .slot = slot, .file = kfd_open(), .borrowed = -1 };
	struct kfd_ioctl_preempt_query_args query = {};

	random_init(&op.random, shared->seed, stream);
	if (!preempt_query(op.file, 0, &query) && query.caps & KFD_PREEMPT_CAP_YIELD_MEMORY)
		op.yield = KFD_PREEMPT_SWITCH_YIELD_MEMORY;
	while (!get(&shared->ending)) {
		hold_something(&op);
		if (random_one_in(&op.random, 20)) {
			close(op.file);
			op.file = kfd_open();
		}
		if (random_one_in(&op.random, 20))
			borrow_file(&op);
	}
	_exit(0);
}

#endif
