/* SPDX-License-Identifier: MIT */
/*
 * With firmware scheduling: the driver says which queues are wanted, and one UNMAP_QUEUES with a
 * fence and one RUN_LIST without bring all of it to the hardware.
 *
 * Queue 0 is stopped and started, queue 1 belongs to a process that has nothing to do with it.
 * Processes: the firmware; owner, operator and debugger of queue 0; eviction of its process; an
 * UPDATE_QUEUE of queue 1 that KFD refuses after the unmap; the worker that maps a runlist again
 * which could not be mapped. At most one fence stays away, which is a GPU reset.
 *
 * Checked as without firmware scheduling (no_hws.pml), and that nobody's runlist stays down.
 */
#define QUEUES 2
#define ITEMS 1
#define MAP_FAILURES 1

#define HOLD_SELF 1
#define HOLD_OPERATOR 2
#define HOLD_DEAD 4

mtype = { OK, EIO, EBUSY, EALREADY };

/* The firmware and what it has. */
bool on_list[QUEUES] = true;	/* of the runlist it was given */
bool mapped[QUEUES];
bool unmap_asked;
bool fence;
byte live[QUEUES];
byte mqd[QUEUES];
byte ledger[QUEUES * ITEMS];

/* What the driver knows, under its lock. */
bool locked;
byte holds[QUEUES];
bool evicted;			/* of queue 0, as suspended */
bool suspended;			/* by the debugger */
bool is_active[QUEUES] = true;
bool runlist = true;		/* dqm->active_runlist */
bool hang;
bool remap;			/* the worker is scheduled */
byte map_failures;
bool was_in_reset;		/* once the lock of a GPU reset is taken: nothing is sent */

/* What others were promised. */
bool owner_stopped;
bool operator_stopped;
bool debugger_stopped;
bool memory_moves;

#ifdef TRACE
/* Each call: what it found, what became of its unmap and map, what it did. See transitions. */
byte op, caller, unmapped, answered;
byte was_all_holds, was_evicted, was_suspended, was_active_0, was_active_1, was_runlist, was_remap;
byte was_map_failures;

#define ERRNO (answer == OK -> 0 : (answer == EIO -> 5 : (answer == EBUSY -> 16 : 114)))
#define TRACE_BEGIN(which) atomic { \
	op = which; caller = who; unmapped = 0; was_all_holds = holds[0]; was_evicted = evicted; \
	was_suspended = suspended; was_active_0 = is_active[0]; was_active_1 = is_active[1]; \
	was_runlist = runlist; was_remap = remap; was_map_failures = map_failures }
/* 1 answered, 2 the fence stayed away, 3 not sent */
#define TRACE_UNMAP unmapped = (answer == OK -> 1 : (hang -> 2 : 3))
#define TRACE_END atomic { answered = ERRNO; \
	c_code { printf("@ %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", now.op, now.caller, \
		now.was_all_holds, now.was_evicted, now.was_suspended, now.was_active_0, \
		now.was_active_1, now.was_runlist, now.was_remap, now.unmapped, \
		now.map_failures > now.was_map_failures, \
		now.answered, now.holds[0], now.is_active[0], now.runlist, now.remap); }; \
	op = 0; caller = 0; unmapped = 0; answered = 0; was_all_holds = 0; was_evicted = 0; \
	was_suspended = 0; was_active_0 = 0; was_active_1 = 0; was_runlist = 0; was_remap = 0; \
	was_map_failures = 0 }
#else
#define TRACE_BEGIN(which)
#define TRACE_UNMAP
#define TRACE_END
#endif

#define any_active (is_active[0] || is_active[1])
#define wanted(q) (holds[q] == 0 && (q != 0 || !evicted && !suspended))
#ifdef MUTANT_RESUME_IGNORES_EVICTION
#define wanted_by_preempt (holds[0] == 0 && !suspended)
#else
#define wanted_by_preempt wanted(0)
#endif

inline lock() { atomic { !locked -> locked = true } }

inline unlock()
{
	d_step {
		assert(is_active[0] == wanted(0) || hang);
		assert(is_active[1] == wanted(1) || hang);
		/* Whoever leaves with the runlist down has somebody who will put it up. */
		assert(runlist || !any_active || remap || hang);
		locked = false
	}
}

/* map_queues_cpsch(), which may find no room for the runlist. */
inline map(may_fail)
{
	if
	:: runlist || !any_active
	:: may_fail && !runlist && any_active && map_failures < MAP_FAILURES -> map_failures++
	:: !runlist && any_active ->
		atomic { on_list[0] = is_active[0]; on_list[1] = is_active[1]; runlist = true }
	fi
}

/* unmap_queues_cpsch(): a fence that does not come ends in kfd_hws_hang(). */
inline unmap(may_fail, answer)
{
	answer = OK;
	if
	:: hang -> answer = EIO
	:: !hang && !runlist
	:: may_fail && !hang && runlist && !was_in_reset -> was_in_reset = true; answer = EIO
	:: !hang && runlist ->
		unmap_asked = true;
#ifndef MUTANT_DOES_NOT_WAIT_FOR_FENCE
		if
		:: fence -> fence = false
		:: atomic { !fence && unmap_asked ->
			hang = true; unmap_asked = false; answer = EIO;
			mapped[0] = false; mapped[1] = false;
			on_list[0] = false; on_list[1] = false;
			holds[0] = holds[0] | HOLD_DEAD; holds[1] = holds[1] | HOLD_DEAD }
		fi;
#endif
		runlist = false
	fi
}

inline execute(may_fail, answer)
{
	unmap(may_fail, answer);
	if
	:: answer == OK -> map(may_fail)
	:: else
	fi
}

inline edit(new_holds, answer)
{
	was_holds = holds[0]; was_active = is_active[0];
	holds[0] = new_holds;
	is_active[0] = wanted_by_preempt;
	if
	:: is_active[0] != was_active ->
		execute(true, answer);
		TRACE_UNMAP;
		if
		:: answer == OK && !runlist && any_active ->
#ifndef MUTANT_NOBODY_MAPS_AGAIN
			remap = true
#else
			skip
#endif
		:: answer != OK && !(holds[0] & HOLD_DEAD) ->
#ifndef MUTANT_NO_ROLL_BACK
			holds[0] = was_holds; is_active[0] = was_active;
#endif
			answer = EBUSY
		:: else
		fi
	:: else
	fi
}

inline preempt(who, answer)
{
	lock();
	TRACE_BEGIN(1);
	answer = OK;
	if
	:: holds[0] & HOLD_DEAD -> answer = EIO
	:: !(holds[0] & HOLD_DEAD) && (holds[0] & who) -> answer = EALREADY
	:: else -> edit(holds[0] | who, answer)
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
	:: holds[0] & HOLD_DEAD -> answer = EIO
	:: !(holds[0] & HOLD_DEAD) && !(holds[0] & who) -> answer = EALREADY
	:: else -> edit(holds[0] & ~who, answer)
	fi;
	TRACE_END;
	unlock()
}

active proctype firmware()
{
	byte q;

end:
	do
	/* In its own time, a queue of the runlist after the other. */
	:: atomic { on_list[0] && !mapped[0] && !unmap_asked -> mapped[0] = true; live[0] = mqd[0] }
	:: atomic { on_list[1] && !mapped[1] && !unmap_asked -> mapped[1] = true; live[1] = mqd[1] }
	:: atomic { mapped[0] && live[0] < ITEMS ->
		assert(!owner_stopped && !operator_stopped && !debugger_stopped);
		assert(!memory_moves);
		ledger[live[0]]++; assert(ledger[live[0]] == 1); live[0]++ }
	:: atomic { mapped[1] && live[1] < ITEMS ->
		ledger[ITEMS + live[1]]++; assert(ledger[ITEMS + live[1]] == 1); live[1]++ }
	:: atomic { unmap_asked ->
		q = 0;
		do
		:: q < QUEUES ->
			if :: mapped[q] -> mqd[q] = live[q]; mapped[q] = false :: else fi;
			on_list[q] = false; q++
		:: else -> break
		od;
		unmap_asked = false; fence = true }
	od
}

active proctype owner()
{
	mtype answer;
	byte was_holds;
	bool was_active;

	preempt(HOLD_SELF, answer);
	owner_stopped = (answer == OK);
	assert(answer != OK || !mapped[0]);
	owner_stopped = false;
	do
	:: resume(HOLD_SELF, answer);
		if :: answer == EBUSY :: else -> break fi
	od
}

/* It may die: then the worker resumes in its place. */
active proctype operator()
{
	mtype answer;
	byte was_holds;
	bool was_active;

	preempt(HOLD_OPERATOR, answer);
	operator_stopped = (answer == OK);
	operator_stopped = false;
	do
	:: resume(HOLD_OPERATOR, answer);
		if :: answer == EBUSY :: else -> break fi
	od
}

/* suspend_queues() and resume_queues(): a bit of its own. */
active proctype debugger()
{
	mtype answer;

	lock();
	if
	:: holds[0] & HOLD_DEAD || hang -> unlock(); goto done
	:: else
	fi;
	suspended = true;
	if
	:: is_active[0] -> is_active[0] = false; execute(false, answer)
	:: else
	fi;
	debugger_stopped = !hang;
	unlock();
	debugger_stopped = false;
	lock();
	suspended = false;
#ifdef MUTANT_ONE_BOOLEAN
	holds[0] = holds[0] & HOLD_DEAD;
#endif
	if
	:: wanted(0) && !is_active[0] -> is_active[0] = true; execute(false, answer)
	:: else
	fi;
	unlock();
done:
	skip
}

/* evict_process_queues_cpsch(), TTM, restore_process_queues_cpsch(). */
active proctype eviction()
{
	mtype answer;

	lock();
	evicted = true;
	if
	:: is_active[0] -> is_active[0] = false; execute(false, answer)
	:: else
	fi;
	unlock();
	memory_moves = true;
	assert(!mapped[0]);
	memory_moves = false;
	lock();
	evicted = false;
	if
	:: wanted(0) && !is_active[0] -> is_active[0] = true; execute(false, answer)
	:: else
	fi;
	unlock()
}

/* update_queue() of a process of which another queue was reset: -EACCES, after the unmap. */
active proctype update_of_queue_1()
{
	mtype answer;

	lock();
	unmap(false, answer);
#ifndef MUTANT_UPDATE_QUEUE_WITHOUT_FIX
	if
	:: answer == OK -> map(false)
	:: else
	fi;
#endif
	unlock()
}

active proctype remap_worker()
{
end:
	do
	:: remap ->
		lock();
		remap = false;
		if
		:: hang
		:: else -> map(true); remap = !runlist && any_active
		fi;
		unlock()
	od
}

/* When nobody can do anything any more. */
active proctype outcome()
{
	byte item;

	timeout ->
	if
	:: hang -> assert((holds[0] & HOLD_DEAD) && (holds[1] & HOLD_DEAD) && !mapped[0] && !mapped[1])
	:: else ->
		assert(holds[0] == 0);
		do
		:: item < QUEUES * ITEMS -> assert(ledger[item] == 1); item++
		:: else -> break
		od
	fi
}
