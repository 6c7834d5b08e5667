/* SPDX-License-Identifier: MIT */
/*
 * Without firmware scheduling: the driver stops and starts one queue by the registers of its HQDs,
 * one an XCC, and the hardware answers late.
 *
 * Processes: two XCCs with work of the queue; its owner; an operator, which may die; KFD's eviction
 * and the worker that ends it; the worker that releases what a dead operator held.
 *
 * Checked: every item of work is done exactly once, whatever happens (the ledger); nothing runs
 * after a stop was confirmed; no HQD is loaded before its dequeue completed; no memory moves under a
 * running queue; the driver's own account of the queue is right at each unlock.
 *
 * MUTANT_* are wrong drivers, each of which must fail: see check.
 */
#define XCCS 2
#define ITEMS 2
#define ROUNDS 2

#define HOLD_SELF 1
#define HOLD_OPERATOR 2

mtype = { OK, ETIME, EBUSY, EALREADY };
mtype = { IDLE, ACTIVE, REQUESTED };

/* What the hardware has. A dequeue request stays latched until it is served. */
mtype hqd[XCCS] = ACTIVE;
byte live[XCCS];		/* next item, of a queue on the hardware */
byte mqd[XCCS];			/* next item, in memory: stale while the queue is on the hardware */
byte ledger[XCCS * ITEMS];	/* how often each item was done */

/* What the driver knows, under its lock. The queue has just been created. */
bool locked;
byte holds;
byte evicted;
bool is_active = true;
bool hw_pending;
byte active_count = 1;
#ifdef MUTANT_NAIVE_ORDER
byte copy[XCCS];
bool have_copy;
#endif

/* What others were promised. */
bool owner_stopped;		/* its PREEMPT returned, and not with ETIME */
bool operator_stopped;
bool memory_moves;
bool orphan;			/* the operator died and left its hold */

#ifdef TRACE
/* Each call: what it found, what the hardware answered, what it did. See transitions. */
byte op, caller, hardware, answered;
byte was_holds;
bool was_evicted, was_active, was_pending, loaded;

#define ERRNO (answer == OK -> 0 : (answer == ETIME -> 62 : (answer == EBUSY -> 16 : 114)))
#define TRACE_BEGIN(which) atomic { \
	op = which; caller = who; hardware = 0; loaded = false; was_holds = holds; \
	was_evicted = (evicted > 0); was_active = is_active; was_pending = hw_pending }
#define TRACE_WAIT hardware = (answer == OK -> 1 : 2)
#define TRACE_LOAD loaded = true
/* Not printf(), which a verifier leaves out of some of its steps. */
#define TRACE_END atomic { answered = ERRNO; \
	c_code { printf("@ %d %d %d %d %d %d %d %d %d %d %d %d\n", now.op, now.caller, \
		now.was_holds, now.was_evicted, now.was_active, now.was_pending, now.hardware, \
		now.answered, now.holds, now.is_active, now.hw_pending, now.loaded); }; \
	op = 0; caller = 0; hardware = 0; loaded = false; answered = 0; was_holds = 0; \
	was_evicted = false; was_active = false; was_pending = false }
#else
#define TRACE_BEGIN(which)
#define TRACE_WAIT
#define TRACE_LOAD
#define TRACE_END
#endif

#define all_idle (hqd[0] == IDLE && hqd[1] == IDLE)
#define none_unasked (hqd[0] != ACTIVE && hqd[1] != ACTIVE)
#define wanted (holds == 0 && evicted == 0)
#ifdef MUTANT_RESUME_IGNORES_EVICTION
#define wanted_by_resume (holds == 0)
#else
#define wanted_by_resume wanted
#endif

inline lock() { atomic { !locked -> locked = true } }

inline unlock()
{
	d_step {
		/* The count is what the runlist and the power profile are built on. */
		assert(active_count == is_active);
		/* Held means off the hardware, or not yet confirmed. */
		assert(holds == 0 || hw_pending || !is_active);
		/* Wanted means on it. */
		assert(!wanted || is_active);
		/* Whatever was not confirmed was at least asked for, everywhere. */
		assert(!hw_pending || none_unasked);
		assert(is_active || all_idle);
		locked = false
	}
}

inline set_active(value)
{
	if
	:: is_active != value -> is_active = value; active_count = active_count + (value -> 1 : -1)
	:: else
	fi
}

/* destroy_mqd(WAVEFRONT_SAVE): asks all XCCs, then waits for them, if bounded not for ever. */
inline dequeue(bounded, answer)
{
#ifdef MUTANT_NAIVE_ORDER
	d_step { copy[0] = mqd[0]; copy[1] = mqd[1]; have_copy = true };
#endif
#ifdef MUTANT_ONE_XCC_AFTER_THE_OTHER
	atomic { if :: hqd[0] == ACTIVE -> hqd[0] = REQUESTED :: else fi };
	if
	:: hqd[0] == IDLE ->
		atomic { if :: hqd[1] == ACTIVE -> hqd[1] = REQUESTED :: else fi };
		if
		:: all_idle -> answer = OK
		:: bounded && !all_idle -> answer = ETIME
		fi
	:: bounded && hqd[0] != IDLE -> answer = ETIME
	fi
#else
	atomic { if :: hqd[0] == ACTIVE -> hqd[0] = REQUESTED :: else fi };
	atomic { if :: hqd[1] == ACTIVE -> hqd[1] = REQUESTED :: else fi };
	if
	:: all_idle -> answer = OK
	:: bounded && !all_idle -> answer = ETIME
	fi
#endif
}

/* load_mqd(): the HQDs get what is in memory. */
inline load()
{
	d_step {
		assert(all_idle);
#ifdef MUTANT_NAIVE_ORDER
		if
		:: have_copy -> mqd[0] = copy[0]; mqd[1] = copy[1]; have_copy = false
		:: else
		fi;
#endif
		live[0] = mqd[0]; live[1] = mqd[1];
		hqd[0] = ACTIVE; hqd[1] = ACTIVE
	}
}

inline preempt(who, answer)
{
	lock();
	TRACE_BEGIN(1);
	if
	:: (holds & who) && !hw_pending -> answer = EALREADY
	:: else -> /* asking again is how one waits for a late stop */
		answer = OK;
		if
		:: is_active || hw_pending ->
			dequeue(true, answer);
			TRACE_WAIT;
			if
			:: answer == OK -> hw_pending = false; set_active(false)
			:: else ->
#ifdef MUTANT_FORGETS_LATE_DEQUEUE
				set_active(false)
#else
				hw_pending = true
#endif
			fi
		:: else
		fi;
		holds = holds | who
	fi;
	TRACE_END;
	unlock()
}

inline resume(who, answer)
{
	lock();
	TRACE_BEGIN(2);
	answer = OK;
	if
	:: !(holds & who) -> answer = EALREADY
	:: else ->
		if
		:: hw_pending ->
			dequeue(true, answer);
			TRACE_WAIT;
			if
			:: answer == OK -> hw_pending = false; set_active(false)
			:: else -> answer = EBUSY
			fi
		:: else
		fi;
		if
		:: answer == OK ->
#ifdef MUTANT_ONE_BOOLEAN
			holds = 0;
#else
			holds = holds & ~who;
#endif
			if
			:: wanted_by_resume && !is_active -> load(); TRACE_LOAD; set_active(true)
			:: else
			fi
		:: else
		fi
	fi;
	TRACE_END;
	unlock()
}

active [XCCS] proctype xcc()
{
	byte x = _pid;

end:
	do
	/* Work may be done until the request is served, also after it was made. */
	:: atomic { hqd[x] != IDLE && live[x] < ITEMS ->
		assert(!owner_stopped && !operator_stopped);
		assert(!memory_moves);
		ledger[x * ITEMS + live[x]]++;
		assert(ledger[x * ITEMS + live[x]] == 1);
		live[x]++ }
	:: atomic { hqd[x] == REQUESTED -> mqd[x] = live[x]; hqd[x] = IDLE }
	od
}

active proctype owner()
{
	mtype answer;
	byte round;

	do
	:: round < ROUNDS ->
		round++;
		preempt(HOLD_SELF, answer);
		do
		:: answer == ETIME -> preempt(HOLD_SELF, answer)
		:: break /* content, or tired of waiting */
		od;
		/* EALREADY: somebody else's call has seen the stop complete. */
		owner_stopped = (answer != ETIME);
		owner_stopped = false;
		do
		:: resume(HOLD_SELF, answer);
			if :: answer == EBUSY :: else -> break fi
		od
	:: break
	od
}

active proctype operator()
{
	mtype answer;

	do
	:: preempt(HOLD_OPERATOR, answer);
		operator_stopped = (answer == OK);
		if
		:: skip /* it goes on, and resumes */
		:: operator_stopped = false; orphan = true; break /* it dies */
		fi;
		operator_stopped = false;
		do
		:: resume(HOLD_OPERATOR, answer);
			if :: answer == EBUSY :: else -> break fi
		od;
		break
	:: break
	od
}

/* kfd_preempt_file_release() and its worker. */
active proctype release_worker()
{
	mtype answer;

end:
	orphan;
	do
	:: resume(HOLD_OPERATOR, answer);
#ifdef MUTANT_WORKER_GIVES_UP
		break
#else
		if :: answer == EBUSY :: else -> break fi
#endif
	od
}

/* evict_process_queues_nocpsch(), TTM, and the restore worker. KFD's own wait is long. */
active proctype eviction()
{
	byte round;
	mtype answer;

	do
	:: round < ROUNDS ->
		round++;
		lock();
		evicted++;
		if
		:: is_active -> dequeue(false, answer); set_active(false)
		:: else
		fi;
		unlock();
		memory_moves = true;
		assert(all_idle);
		memory_moves = false;
		lock();
		evicted--;
		if
		:: wanted && !is_active -> load(); set_active(true)
		:: else
		fi;
		unlock()
	:: break
	od
}

/* When nobody can do anything any more, the work is done. */
active proctype outcome()
{
	byte item;

	timeout ->
	assert(holds == 0 && !hw_pending);
	do
	:: item < XCCS * ITEMS -> assert(ledger[item] == 1); item++
	:: else -> break
	od
}
