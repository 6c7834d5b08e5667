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
#define MAP_FAILURES 2

#define HOLD_SELF 1
#define HOLD_OPERATOR 2
#define HOLD_DEAD 4

mtype = { OK, EIO, ENOMEM, EBUSY, EALREADY };

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
byte was_holds;			/* before the call that has the lock */
bool was_active, was_mapped;
mtype ignored;			/* what KFD is answered: it goes on */
bool was_in_reset;		/* a call has found the lock of a GPU reset taken */

/* What others were promised. */
bool owner_stopped;
bool operator_stopped;
bool debugger_stopped;
bool memory_moves;

#ifdef TRACE
/* Each call: what it found, what became of its unmap and map, what it did. See transitions. */
byte op, caller, unmapped, answered;
bool was_remap;
byte was_map_failures;

#define ERRNO (answer == OK -> 0 : (answer == EIO -> 5 : (answer == ENOMEM -> 12 : \
	(answer == EBUSY -> 16 : 114))))
#define TRACE_BEGIN was_remap = remap; was_map_failures = map_failures;
/* 1 answered, or there was none to unmap; 2 the fence stayed away; 3 a GPU reset has the lock */
#define TRACE_UNMAP unmapped = (answer != EIO -> 1 : (hang -> 2 : 3));
#define TRACE_END(which, who) op = which; caller = who; answered = ERRNO; \
	c_code { printf("@ %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", now.op, now.caller, \
		now.was_holds, now.evicted, now.suspended, now.was_active, now.was_mapped, \
		now.was_remap, now.unmapped, now.map_failures > now.was_map_failures, \
		now.answered, now.holds[0], now.is_active[0], now.runlist, now.remap); }; \
	op = 0; caller = 0; unmapped = 0; answered = 0; was_remap = false; was_map_failures = 0;
#else
#define TRACE_BEGIN
#define TRACE_UNMAP
#define TRACE_END(which, who)
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
		ignored = 0;
		locked = false
	}
}

/* map_queues_cpsch(), which may find no room for the runlist. */
inline map(may_fail, answer)
{
	if
	:: runlist || !any_active
	:: may_fail && !runlist && any_active && map_failures < MAP_FAILURES ->
		map_failures++; answer = ENOMEM
	:: !runlist && any_active ->
		atomic { on_list[0] = is_active[0]; on_list[1] = is_active[1]; runlist = true }
	fi
}

/* unmap_queues_cpsch(): a fence that does not come ends in kfd_hws_hang(). */
inline unmap(answer)
{
	answer = OK;
	if
	:: hang -> answer = EIO
	:: !hang && !runlist
	:: !hang && runlist ->
		unmap_asked = true;
#ifndef MUTANT_DOES_NOT_WAIT_FOR_FENCE
		if
		:: fence -> fence = false; runlist = false
		:: atomic { !fence && unmap_asked ->
			hang = true; unmap_asked = false; answer = EIO;
			mapped[0] = false; mapped[1] = false;
			on_list[0] = false; on_list[1] = false;
			holds[0] = holds[0] | HOLD_DEAD; holds[1] = holds[1] | HOLD_DEAD }
		fi
#else
		runlist = false
#endif
	fi
}

/* execute_queues_cpsch(): nothing is sent while a GPU reset has its lock, which happens once. */
inline execute(may_fail, answer)
{
	if
	:: may_fail && !hang && !was_in_reset -> was_in_reset = true; answer = EIO
	:: unmap(answer);
		if
		:: answer == OK -> map(may_fail, answer)
		:: else
		fi
	fi
}

/* preempt_settle(), and what preempt_execute() makes of a map that failed. */
inline settle(answer)
{
	if
	:: answer == ENOMEM && was_mapped -> /* done, but everybody is down */
#ifndef MUTANT_NOBODY_MAPS_AGAIN
		remap = true;
#endif
		answer = OK
	:: answer != OK && !(answer == ENOMEM && was_mapped) && !(holds[0] & HOLD_DEAD) ->
#ifndef MUTANT_NO_ROLL_BACK
		holds[0] = was_holds; is_active[0] = was_active;
#endif
		answer = (answer == EIO -> EBUSY : answer)
	:: else
	fi
}

/*
 * kfd_preempt_hw_switch_cpsch() of one queue. What only who has the lock looks at changes in one step:
 * nobody can see more of it.
 */
inline change(which, who, already, new_holds, answer)
{
	atomic {
		!locked -> locked = true;
		was_holds = holds[0]; was_active = is_active[0]; was_mapped = runlist;
		TRACE_BEGIN
		answer = OK;
		if
		:: holds[0] & HOLD_DEAD -> answer = EIO
		:: !(holds[0] & HOLD_DEAD) && already -> answer = EALREADY
		:: else -> holds[0] = new_holds; is_active[0] = wanted_by_preempt
		fi
	};
	if
	:: is_active[0] != was_active ->
		execute(true, answer);
		atomic { TRACE_UNMAP settle(answer) }
	:: else
	fi;
	atomic {
		TRACE_END(which, who)
		was_holds = 0; was_active = false; was_mapped = false;
		unlock()
	}
}

inline preempt(who, answer) { change(1, who, (holds[0] & who), (holds[0] | who), answer) }
inline resume(who, answer) { change(2, who, !(holds[0] & who), (holds[0] & ~who), answer) }

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

	preempt(HOLD_SELF, answer);
	owner_stopped = (answer == OK);
	assert(answer != OK || !mapped[0]);
	d_step { owner_stopped = false; answer = 0 };
	do
	:: resume(HOLD_SELF, answer);
		if :: answer == EBUSY || answer == ENOMEM :: else -> break fi
	od
}

/* It may die: then the worker resumes in its place, see release_queues(). */
active proctype operator()
{
	mtype answer;

	preempt(HOLD_OPERATOR, answer);
	operator_stopped = (answer == OK);
	d_step { operator_stopped = false; answer = 0 };
	do
	:: resume(HOLD_OPERATOR, answer);
#ifdef MUTANT_WORKER_GIVES_UP_WITHOUT_MEMORY
		if :: answer == EBUSY :: else -> break fi
#else
		if :: answer == EBUSY || answer == ENOMEM :: else -> break fi
#endif
	od
}

/* suspend_queues() and resume_queues(): a bit of its own. */
active proctype debugger()
{
	lock();
	if
	:: holds[0] & HOLD_DEAD || hang -> unlock(); goto done
	:: else
	fi;
	suspended = true;
	if
	:: is_active[0] -> is_active[0] = false; execute(false, ignored)
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
	:: wanted(0) && !is_active[0] -> is_active[0] = true; execute(false, ignored)
	:: else
	fi;
	unlock();
done:
	skip
}

/* evict_process_queues_cpsch(), TTM, restore_process_queues_cpsch(). */
active proctype eviction()
{
	lock();
	evicted = true;
	if
	:: is_active[0] -> is_active[0] = false; execute(false, ignored)
	:: else
	fi;
	unlock();
	memory_moves = true;
	assert(!mapped[0]);
	memory_moves = false;
	lock();
	evicted = false;
	if
	:: wanted(0) && !is_active[0] -> is_active[0] = true; execute(false, ignored)
	:: else
	fi;
	unlock()
}

/* update_queue() of a process of which another queue was reset: -EACCES, after the unmap. */
active proctype update_of_queue_1()
{
	lock();
	unmap(ignored);
#ifndef MUTANT_UPDATE_QUEUE_WITHOUT_FIX
	if
	:: ignored == OK -> map(false, ignored)
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
		:: else -> map(true, ignored); remap = !runlist && any_active
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
