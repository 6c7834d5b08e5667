/* SPDX-License-Identifier: MIT */
/*
 * Holds of a whole process: no queue of it runs while it is held, also not one that is created
 * meanwhile, and each runs again once nobody holds it.
 *
 * The process creates queues and holds itself. An operator holds it, and resumes it or closes its
 * file; a worker releases what the closed file held. Names are those of kfd_preempt_process.c,
 * kfd_preempt_operators.c and kfd_preempt_release.c. A step under hold_lock or record_lock is atomic.
 * A call of the operator has a reference to its file, so it does not overlap with the close.
 */
#define QUEUES 2
#define SELF 1
#define OPERATOR 2

byte queues;			/* created */
byte holds[QUEUES];		/* preempt_holds */
bool record[QUEUES];		/* of the operator's file */
bool runs[QUEUES];
byte process_holds;		/* kfd_preempt_p.holds: owners of the hold of queues to come */
bool locked;			/* kfd_process.mutex */
bool closed;			/* the file, with records that the worker has to release */
bool pending;			/* the work */

/* Holds that have returned to their callers. */
bool self_held, operator_held;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* The scheduler updates a queue under the dqm lock. */
inline update(q)
{
	runs[q] = holds[q] == 0;
	assert(!runs[q] || (!self_held && !operator_held))
}

inline hold_process(owner)
{
	lock();
	for (i : 0 .. QUEUES - 1) {
		if
		:: i < queues ->
			d_step {
				holds[i] = holds[i] | owner;
				record[i] = record[i] || owner == OPERATOR;
				update(i)
			}
		:: else
		fi
	}
#ifdef MUTANT_HOLDS_AFTER_UNLOCK
	unlock();
#endif
#ifndef MUTANT_ONLY_QUEUES_OF_NOW
	process_holds = process_holds | owner;	/* set_holds() */
#endif
#ifndef MUTANT_HOLDS_AFTER_UNLOCK
	unlock()
#endif
}

inline resume_process(owner)
{
	lock();
	for (i : 0 .. QUEUES - 1) {
		if
		:: i < queues && (holds[i] & owner) ->
			d_step {
#ifdef MUTANT_RESUME_ENDS_ALL
				holds[i] = 0;
#else
				holds[i] = holds[i] & ~owner;
#endif
				record[i] = record[i] && owner != OPERATOR;
				update(i)
			}
		:: else
		fi
	}
#ifndef MUTANT_RESUME_FORGETS_PROCESS
	process_holds = process_holds & ~owner;	/* end_holds() */
#endif
	unlock()
}

/* pqm_create_queue() with kfd_preempt_queue_born() */
inline create_queue()
{
	lock();
#ifdef MUTANT_BORN_RUNNING
	d_step { holds[queues] = 0; update(queues) };
#endif
#ifdef MUTANT_RECORD_LINKED_LATER
	d_step { holds[queues] = process_holds };
	record[queues] = (holds[queues] & OPERATOR) != 0;
#else
	d_step {
		holds[queues] = process_holds;
		record[queues] = (process_holds & OPERATOR) != 0
	};
#endif
	d_step { update(queues); queues++ };
	unlock()
}

active proctype process()
{
	byte i;

	do
	:: queues < QUEUES -> create_queue()
	:: break
	od;
	hold_process(SELF);
	self_held = true;
	do
	:: queues < QUEUES -> create_queue()
	:: break
	od;
	self_held = false;
	resume_process(SELF);
	do
	:: queues < QUEUES -> create_queue()
	:: queues == QUEUES -> break
	od
}

active proctype operator()
{
	byte i;

	hold_process(OPERATOR);
	operator_held = true;
	if
	:: true -> operator_held = false; resume_process(OPERATOR)
	:: true -> operator_held = false
	fi;
	/* Its file is closed; kfd_release() takes no mutex of the process. */
#ifdef MUTANT_RECORDS_CLOSED_FIRST
	atomic { closed = record[0] || record[1]; pending = closed };
	process_holds = process_holds & ~OPERATOR
#else
	process_holds = process_holds & ~OPERATOR;	/* kfd_preempt_process_file_release() */
	atomic { closed = record[0] || record[1]; pending = closed }
#endif
}

active proctype release_worker()
{
	byte i;

end:
	do
	:: atomic { pending -> pending = false };
		lock();
		for (i : 0 .. QUEUES - 1) {
			if
			:: i < queues && record[i] ->
				d_step {
					record[i] = false;
					holds[i] = holds[i] & ~OPERATOR;
					update(i)
				}
			:: else
			fi
		}
		unlock()
	od
}

active proctype outcome()
{
	timeout;
	assert(queues == QUEUES && !locked);
	assert(runs[0] && runs[1])
}
