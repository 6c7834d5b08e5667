// SPDX-License-Identifier: GPL-2.0-only
// The driver gives each answer of uapi/tests/driver_answers.h, to which the fakes of the unit tests are
// held as well. Run as root in the guest. Prints TAP.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../uapi/tests/driver_answers.h"
#include "gpu_fault.h"
#include "jobs.h"
#include "kfd_device.h"
#include "preempt.h"
#include "sched_mode.h"
#include "target.h"

#define WAIT_MS 60000u
#define LATE_MS 3000 /* the confirmation of a stop, after a timeout of 100 ms */
#define UNKNOWN_QUEUE 77u

/* One queue of this process, one of another process, and two operators. */
struct world {
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	struct target target;
	uint64_t uid; /* of the target's queue */
	int fd, other_fd;
	pid_t gone;
};

static int error_of(int ret)
{
	return ret < 0 ? -ret : ret;
}

static int switch_own(const struct world *w, const struct driver_answer *row, uint32_t id)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = id,
		.op = row->call == CALL_OWN_STOP ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME,
		.preempt_type = (uint16_t)row->type,
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = row->flags,
		.timeout_ms = row->timeout_ms,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	int ret = kfd_ioctl(w->dev.kfd_fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);

	return error_of(ret ? ret : entry.result);
}

/* A SWITCH by the operator as xpreemptd makes it: the process and the uid are the entry's. */
static int switch_entry(const struct world *w, int fd, const struct driver_answer *row, uint16_t op)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = row->state == QUEUE_UNKNOWN ? UNKNOWN_QUEUE : w->target.queue_id,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		.target_pid = row->state == PROCESS_GONE ? w->gone : w->target.pid,
		.queue_uid = w->uid + (row->state == QUEUE_REPLACED ? 1 : 0),
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = KFD_PREEMPT_SWITCH_MATCH_UID,
		.timeout_ms = row->timeout_ms,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	int ret = kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);

	return error_of(ret ? ret : entry.result);
}

static int call_of(struct world *w, const struct driver_answer *row)
{
	uint32_t id = row->state == QUEUE_UNKNOWN ? UNKNOWN_QUEUE : w->queue.id;
	struct kfd_ioctl_preempt_queue_args preempt = { id, row->type, row->timeout_ms, row->flags };
	struct kfd_ioctl_resume_queue_args resume = { id, row->flags, { row->pad, 0 } };
	struct kfd_ioctl_preempt_status_args status = { .queue_id = id, .flags = row->flags };

	switch (row->call) {
	case CALL_PREEMPT:
		return error_of(kfd_ioctl(w->dev.kfd_fd, AMDKFD_IOC_PREEMPT_QUEUE, &preempt));
	case CALL_RESUME:
		return error_of(kfd_ioctl(w->dev.kfd_fd, AMDKFD_IOC_RESUME_QUEUE, &resume));
	case CALL_STATUS:
		return error_of(kfd_ioctl(w->dev.kfd_fd, AMDKFD_IOC_PREEMPT_STATUS, &status));
	case CALL_OWN_STOP:
	case CALL_OWN_START:
		return switch_own(w, row, id);
	case CALL_STOP:
		return switch_entry(w, w->fd, row, KFD_PREEMPT_OP_PREEMPT);
	case CALL_START:
		return switch_entry(w, w->fd, row, KFD_PREEMPT_OP_RESUME);
	}
	return -1;
}

static bool is_own(const struct driver_answer *row)
{
	return row->call < CALL_STOP;
}

/* Whether it is stopped; -1: its status cannot be read. */
static int stopped(const struct world *w, bool own)
{
	struct kfd_ioctl_preempt_status_args status;

	if (own ? preempt_status(w->dev.kfd_fd, 0, w->queue.id, &status) :
		  preempt_status(w->fd, w->target.pid, w->target.queue_id, &status))
		return -1;
	return status.state == KFD_PREEMPT_STATE_HELD || status.state == KFD_PREEMPT_STATE_PENDING;
}

/* Returns true if the queue is in that state. Before, it runs. */
static bool bring_to(struct world *w, const struct driver_answer *row)
{
	static const struct driver_answer late = { .timeout_ms = 100 };
	char fault[64];

	snprintf(fault, sizeof(fault), "dequeue-late:ms=%d,count=1", LATE_MS);
	switch (row->state) {
	case QUEUE_HELD:
		return is_own(row) ? !preempt_queue(w->dev.kfd_fd, w->queue.id) :
				     !switch_preempt(w->fd, w->target.pid, 0, w->target.queue_id);
	case QUEUE_HELD_BY_OTHER:
		return !switch_preempt(w->other_fd, w->target.pid, 0, w->target.queue_id);
	case QUEUE_HELD_BY_BOTH:
		return !switch_preempt(w->fd, w->target.pid, 0, w->target.queue_id) &&
		       !switch_preempt(w->other_fd, w->target.pid, 0, w->target.queue_id);
	case QUEUE_STOPS_LATE:
		return gpu_fault_arm(fault) >= 0;
	case QUEUE_PENDING:
		return gpu_fault_arm(fault) >= 0 &&
		       switch_entry(w, w->fd, &late, KFD_PREEMPT_OP_PREEMPT) == ETIME;
	case PROCESS_LOCKED:
		return !target_order(&w->target, TARGET_LOCK);
	default:
		return true;
	}
}

/* Drops all holds; those of the operators only once a late stop is confirmed. */
static bool let_all_run(struct world *w)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;
	int ret;

	gpu_fault_disarm_all();
	resume_queue(w->dev.kfd_fd, w->queue.id);
	switch_resume(w->other_fd, w->target.pid, 0, w->target.queue_id);
	do {
		ret = switch_resume(w->fd, w->target.pid, 0, w->target.queue_id);
	} while (ret == -EBUSY && now_ns() < end);
	return stopped(w, true) == 0 && stopped(w, false) == 0;
}

static bool check(struct world *w, const struct driver_answer *row)
{
	bool good = bring_to(w, row);
	int error = good ? call_of(w, row) : -1, is_stopped;

	if (row->state == PROCESS_LOCKED)
		good = !target_order(&w->target, TARGET_UNLOCK) && good;
	is_stopped = stopped(w, is_own(row));

	if (!good)
		printf("# the queue cannot be brought into that state\n");
	else if (error != row->error || is_stopped != row->stopped)
		printf("# it answers %d (%s), expected %d; stopped is %d, expected %d\n", error,
		       strerror(error), row->error, is_stopped, row->stopped);
	good = good && error == row->error && is_stopped == row->stopped;
	if (!let_all_run(w)) {
		printf("# afterwards the queues do not run\n");
		good = false;
	}
	return good;
}

static bool begin(struct world *w)
{
	struct kfd_ioctl_preempt_status_args status;

	if (target_start(&w->target) ||
	    kfd_device_open(&w->dev) ||
	    busy_queue_create(&w->dev, &w->queue, &w->job, 2, WAIT_MS))
		return false;
	w->fd = kfd_open();
	w->other_fd = kfd_open();
	w->gone = fork();
	if (!w->gone)
		_exit(0);
	if (w->fd < 0 || w->other_fd < 0 || waitpid(w->gone, NULL, 0) != w->gone ||
	    preempt_status(w->fd, w->target.pid, w->target.queue_id, &status))
		return false;
	w->uid = status.queue_uid;
	return true;
}

static bool end(struct world *w)
{
	bool good = job_ends_right(&w->job, WAIT_MS);

	good = target_finish(&w->target) && good;
	job_free(&w->job);
	good = !aql_queue_destroy(&w->queue) && good;
	kfd_device_close(&w->dev);
	return good;
}

int main(void)
{
	static struct world w;
	unsigned int count = 0, failed = 0;
	enum driver_where here;
	bool right;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!begin(&w)) {
		printf("Bail out! no queues on the GPU\n");
		return 1;
	}
	here = driver_has_no_hws(w.fd) ? NO_FIRMWARE_SCHEDULER : FIRMWARE_SCHEDULER;
	for (unsigned int i = 0; i < sizeof(driver_answers) / sizeof(driver_answers[0]); i++) {
		const struct driver_answer *row = &driver_answers[i];
		bool good;

		if (row->where != ANY_SCHEDULER && row->where != here)
			continue;
		good = check(&w, row);
		failed += !good;
		printf("%sok %u - %s\n", good ? "" : "not ", ++count, row->name);
	}
	right = end(&w);
	printf("%sok %u - both kernels end with the right results\n1..%u\n", right ? "" : "not ",
	       count + 1, count + 1);
	return failed || !right;
}
