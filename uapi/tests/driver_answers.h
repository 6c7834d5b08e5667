/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The driver's answers to calls on a queue, by the state of the queue. Each row is checked on the driver, by
 * tools/tests/guest/driver_answers.c, and on the fakes that stand for it in unit tests, so that a
 * fake cannot be more lenient than the driver.
 */
#ifndef KFD_PREEMPT_DRIVER_ANSWERS_H
#define KFD_PREEMPT_DRIVER_ANSWERS_H

#include <errno.h>
#include <kfd_preempt.h>

enum driver_call {
	CALL_PREEMPT, /* PREEMPT_QUEUE of the caller's own queue, with type, timeout_ms and flags */
	CALL_RESUME, /* RESUME_QUEUE of it, with flags and pad */
	CALL_STATUS, /* PREEMPT_STATUS of it, with flags */
	CALL_OWN_STOP, /* SWITCH of it: PREEMPT, with type, timeout_ms and flags */
	CALL_OWN_START, /* the same: RESUME */
	CALL_STOP, /* SWITCH with MATCH_UID by an operator: PREEMPT, with SAVE */
	CALL_START, /* the same: RESUME */
};

enum driver_state {
	QUEUE_RUNS,
	QUEUE_STOPS_LATE, /* it runs, and a stop is not confirmed in time */
	QUEUE_HELD, /* by the caller */
	QUEUE_HELD_BY_OTHER, /* by another operator */
	QUEUE_HELD_BY_BOTH,
	QUEUE_PENDING, /* the caller's stop was not confirmed in time, and still is not */
	QUEUE_UNKNOWN, /* no queue of that process has the id */
	QUEUE_REPLACED, /* the id is another queue's now */
	PROCESS_LOCKED, /* by a call of its own, for longer than the timeout */
	PROCESS_GONE,
};

enum driver_where {
	ANY_SCHEDULER,
	FIRMWARE_SCHEDULER, /* HWS, also what the fakes stand for */
	NO_FIRMWARE_SCHEDULER, /* where a stop can be late */
};

struct driver_answer {
	const char *name;
	enum driver_call call;
	enum driver_state state;
	int error; /* of the call, or of its entry; 0: it succeeds */
	int stopped; /* whether the queue is held or pending afterwards */
	__u32 type, timeout_ms, flags, pad;
	enum driver_where where;
};

#define SAVE KFD_PREEMPT_TYPE_SAVE
#define MOST_MS KFD_PREEMPT_MAX_TIMEOUT_MS

static const struct driver_answer driver_answers[] = {
	{ "preempt", CALL_PREEMPT, QUEUE_RUNS, 0, 1, SAVE, 0, 0, 0, ANY_SCHEDULER },
	{ "preempt of a held queue", CALL_PREEMPT, QUEUE_HELD, EALREADY, 1, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "preempt of an unknown queue", CALL_PREEMPT, QUEUE_UNKNOWN, ENOENT, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "preempt with the longest timeout", CALL_PREEMPT, QUEUE_RUNS, 0, 1, SAVE, MOST_MS, 0, 0,
	  ANY_SCHEDULER },
	{ "preempt with a longer timeout", CALL_PREEMPT, QUEUE_RUNS, EINVAL, 0, SAVE, MOST_MS + 1,
	  0, 0, ANY_SCHEDULER },
	{ "preempt with an unknown type", CALL_PREEMPT, QUEUE_RUNS, EINVAL, 0, SAVE + 1, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "preempt with an unknown flag", CALL_PREEMPT, QUEUE_RUNS, EINVAL, 0, SAVE, 0,
	  0x80000000u, 0, ANY_SCHEDULER },
	{ "an unknown flag for an unknown queue", CALL_PREEMPT, QUEUE_UNKNOWN, EINVAL, 0, SAVE, 0,
	  0x80000000u, 0, ANY_SCHEDULER },
	{ "drain", CALL_PREEMPT, QUEUE_RUNS, EOPNOTSUPP, 0, KFD_PREEMPT_TYPE_DRAIN, 0, 0, 0,
	  FIRMWARE_SCHEDULER },

	{ "resume", CALL_RESUME, QUEUE_HELD, 0, 0, 0, 0, 0, 0, ANY_SCHEDULER },
	{ "resume of a queue that runs", CALL_RESUME, QUEUE_RUNS, EALREADY, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "resume of an unknown queue", CALL_RESUME, QUEUE_UNKNOWN, ENOENT, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "resume with a flag", CALL_RESUME, QUEUE_HELD, EINVAL, 1, 0, 0, 1, 0, ANY_SCHEDULER },
	{ "resume with a pad", CALL_RESUME, QUEUE_HELD, EINVAL, 1, 0, 0, 0, 1, ANY_SCHEDULER },

	{ "status", CALL_STATUS, QUEUE_RUNS, 0, 0, 0, 0, 0, 0, ANY_SCHEDULER },
	{ "status of a held queue", CALL_STATUS, QUEUE_HELD, 0, 1, 0, 0, 0, 0, ANY_SCHEDULER },
	{ "status of an unknown queue", CALL_STATUS, QUEUE_UNKNOWN, ENOENT, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "status with an unknown flag", CALL_STATUS, QUEUE_RUNS, EINVAL, 0, 0, 0, 0x80000000u, 0,
	  ANY_SCHEDULER },

	{ "switch off", CALL_OWN_STOP, QUEUE_RUNS, 0, 1, SAVE, 0, 0, 0, ANY_SCHEDULER },
	{ "switch off of a held queue", CALL_OWN_STOP, QUEUE_HELD, EALREADY, 1, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "switch off of an unknown queue", CALL_OWN_STOP, QUEUE_UNKNOWN, ENOENT, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "switch off with too long a timeout", CALL_OWN_STOP, QUEUE_RUNS, EINVAL, 0, SAVE,
	  MOST_MS + 1, 0, 0, ANY_SCHEDULER },
	{ "switch off with an unknown type", CALL_OWN_STOP, QUEUE_RUNS, EINVAL, 0, SAVE + 1, 0, 0,
	  0, ANY_SCHEDULER },
	{ "switch off with an unknown flag", CALL_OWN_STOP, QUEUE_RUNS, EINVAL, 0, SAVE, 0,
	  0x80000000u, 0, ANY_SCHEDULER },
	{ "switch on", CALL_OWN_START, QUEUE_HELD, 0, 0, 0, 0, 0, 0, ANY_SCHEDULER },
	{ "switch on of a queue that runs", CALL_OWN_START, QUEUE_RUNS, EALREADY, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "switch on with a type", CALL_OWN_START, QUEUE_HELD, EINVAL, 1, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },

	{ "stop", CALL_STOP, QUEUE_RUNS, 0, 1, SAVE, 0, 0, 0, ANY_SCHEDULER },
	{ "stop of a held queue", CALL_STOP, QUEUE_HELD, EALREADY, 1, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop of another's held queue", CALL_STOP, QUEUE_HELD_BY_OTHER, 0, 1, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop of an unknown queue", CALL_STOP, QUEUE_UNKNOWN, ENOENT, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop of a replaced queue", CALL_STOP, QUEUE_REPLACED, ESTALE, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop in a process that is locked", CALL_STOP, PROCESS_LOCKED, EBUSY, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop in a process that is gone", CALL_STOP, PROCESS_GONE, ESRCH, 0, SAVE, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "stop that is late", CALL_STOP, QUEUE_STOPS_LATE, ETIME, 1, SAVE, 100, 0, 0,
	  NO_FIRMWARE_SCHEDULER },
	{ "stop of a pending queue", CALL_STOP, QUEUE_PENDING, 0, 1, SAVE, MOST_MS, 0, 0,
	  NO_FIRMWARE_SCHEDULER },

	{ "start", CALL_START, QUEUE_HELD, 0, 0, 0, 0, 0, 0, ANY_SCHEDULER },
	{ "start of a queue that runs", CALL_START, QUEUE_RUNS, EALREADY, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start of another's held queue", CALL_START, QUEUE_HELD_BY_OTHER, EALREADY, 1, 0, 0, 0,
	  0, ANY_SCHEDULER },
	{ "start of a queue that both hold", CALL_START, QUEUE_HELD_BY_BOTH, 0, 1, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start of an unknown queue", CALL_START, QUEUE_UNKNOWN, ENOENT, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start of a replaced queue", CALL_START, QUEUE_REPLACED, ESTALE, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start in a process that is locked", CALL_START, PROCESS_LOCKED, EBUSY, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start in a process that is gone", CALL_START, PROCESS_GONE, ESRCH, 0, 0, 0, 0, 0,
	  ANY_SCHEDULER },
	{ "start of a pending queue", CALL_START, QUEUE_PENDING, EBUSY, 1, 0, 0, 0, 0,
	  NO_FIRMWARE_SCHEDULER },
};

#undef SAVE
#undef MOST_MS

#endif /* KFD_PREEMPT_DRIVER_ANSWERS_H */
