/* SPDX-License-Identifier: MIT */
/*
 * The release of a process whose operators have closed their files: it happens once VRAM has room
 * for its memory, and nothing uses the process after its last reference.
 *
 * Two operators close their files. A worker releases what they held, unless another thread has the
 * mutex of the process or its memory has no room. Others lock that mutex and free VRAM. The process
 * may exit. Names are those of kfd_preempt_release.c and kfd_preempt_schedule.c; a step under
 * release_lock is atomic.
 *
 * VRAM is credited before the shortest delay is over. A retry that waits for room never comes by
 * its delay here, so freed VRAM must bring it.
 */
#define OPERATORS 2

byte closed;		/* records of closed files */
bool room;		/* in VRAM */
bool locked;		/* kfd_process.mutex */
bool has_mm = true;
bool gone;		/* kfd_preempt_p.gone */
bool retrying;		/* kfd_preempt_p.retry_node is in the list */
bool pending;		/* kfd_preempt_p.release */
bool slow;		/* its delay is long */
byte refs = 1;		/* that of the MMU notifier, then of the work */
bool freed;

inline get() { assert(refs > 0); refs++ }
inline put() { assert(refs > 0); refs-- }
inline use() { assert(!freed) }

inline queue_release(is_slow)
{
	if
#ifndef MUTANT_QUEUE_WHEN_GONE
	:: gone
	:: !gone ->
#else
	:: true ->
#endif
#ifndef MUTANT_NO_REFERENCE
		if
		:: pending
		:: else -> get()
		fi;
#endif
		pending = true;
		slow = is_slow
	fi
}

/* kfd_preempt_operator_close(); a record exists as long as its queue. */
active [OPERATORS] proctype operator()
{
	atomic {
		if
		:: !freed -> closed++; queue_release(false)
		:: else
		fi
	}
}

active proctype release_worker()
{
	bool again, no_room;
	byte found;

end:
	do
	:: atomic { pending && !slow -> pending = false };
		use();
#ifndef MUTANT_LISTED_TOO_LATE
		retrying = true;
#endif
		again = false;
		no_room = false;
		if
		:: atomic { locked -> again = true }
		:: atomic { !locked -> locked = true };
			found = closed;
			if
			:: !has_mm || found == 0
			:: has_mm && found && !room -> again = true; no_room = true
			:: has_mm && found && room -> d_step { closed = closed - found }
			fi;
			locked = false
		fi;
		use();
		atomic {
#ifdef MUTANT_LISTED_TOO_LATE
			retrying = true;
#endif
			if
			:: again -> queue_release(retrying && no_room)
			:: else
			fi;
			if
			:: !again || gone -> retrying = false
			:: else
			fi
		};
#ifndef MUTANT_NO_REFERENCE
		put()
#endif
	od
}

/* kfd_preempt_vram_freed(), twice */
active proctype other_process()
{
	byte times;

	do
	:: times < 2 ->
		room = times > 0;
		atomic {
			if
			:: retrying -> retrying = false; queue_release(false)
			:: else
			fi
		};
		times++
	:: times == 2 -> break
	od
}

active proctype other_thread()
{
	atomic { !locked -> locked = true };
	locked = false
}

/* kfd_process_notifier_release_internal() with kfd_preempt_release_cancel(), or never. */
active proctype exit()
{
	if
	:: true -> goto done
	:: true
	fi;
	has_mm = false;
	gone = true;
	atomic {
		retrying = false;
		if
		:: pending -> pending = false;
#ifndef MUTANT_NO_REFERENCE
			put()
#endif
		:: else
		fi
	};
	put();
	/* kfd_process_wq_release() */
	refs == 0;
	freed = true;
done:
	skip
}

active proctype outcome()
{
	timeout;
	assert(gone || closed == 0);
	assert(!gone || freed);
	assert(!freed || (!pending && !retrying))
}
