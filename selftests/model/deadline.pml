/* SPDX-License-Identifier: MIT */
/*
 * The locks of a call on several processes: every call ends, whatever the processes do with their
 * mutexes, and acts on a process only while it has that.
 *
 * Three calls name both processes: each process makes one, an operator makes the third. A thread of
 * the second process takes its mutex and may keep it for ever. Names are those of
 * kfd_preempt_target.c.
 *
 * A call waits for its own process without a bound, so only that thread may keep it from its end.
 */
#define TARGETS 2
#define ROUNDS 2		/* until timeout_ms is over */
#define CALLS 3
#define NOBODY 0		/* callers are 1 to CALLS */
#define THREAD (CALLS + 1)

mtype = { NONE, EBUSY };

byte mutex[TARGETS];		/* who has it */
bool kept;			/* the thread never unlocks */
bool done[CALLS + 1];
bool waits_for_self[CALLS + 1];

#define has(t) (mutex[t] == me)
#define has_none (!has(0) && !has(1))

inline trylock(t)
{
	d_step {
		if
		:: mutex[t] == NOBODY -> mutex[t] = me
		:: else
		fi
	}
}

inline unlock_all()
{
	d_step {
		if :: has(0) -> mutex[0] = NOBODY :: else fi;
		if :: has(1) -> mutex[1] = NOBODY :: else fi
	}
}

/* mutex_lock_interruptible() */
inline lock_self()
{
	if
	:: self == TARGETS || has(self)
	:: self < TARGETS && !has(self) ->
		assert(has_none);
		waits_for_self[me] = true;
end_self:
		atomic { mutex[self] == NOBODY -> mutex[self] = me };
		waits_for_self[me] = false
	fi
}

/* Until all are locked, or the round is over. */
inline lock_round(all)
{
#ifdef MUTANT_SELF_LAST
	trylock(0);
	trylock(1);
#endif
	lock_self();
	trylock(0);
	trylock(1);
	/* Another attempt of the same round. */
	if
	:: !has(0) -> trylock(0)
	:: !has(1) -> trylock(1)
	:: true
	fi;
	all = has(0) && has(1)
}

proctype call(byte me, self)
{
	byte rounds, t;
	bool all, last, interrupted;
	mtype err[TARGETS] = NONE;

	do
	:: last = rounds == ROUNDS;
		lock_round(all);
		if
		:: all || last -> break
		:: else
		fi;
#ifndef MUTANT_KEEPS_BETWEEN_ROUNDS
		unlock_all();
#endif
		/* It sleeps, and no target waits for another one. */
		assert(has_none);
		if
		:: interrupted = true; break
		:: true
		fi;
#ifdef MUTANT_NO_DEADLINE
		/* The last round has no end. */
		if
		:: rounds == ROUNDS - 1 ->
			do
			:: !has(0) && mutex[0] == NOBODY -> trylock(0)
			:: !has(1) && mutex[1] == NOBODY -> trylock(1)
			:: has(0) && has(1) -> break
			od;
			break
		:: else
		fi;
#endif
		rounds++
	od;
	if
	:: interrupted ->
#ifdef MUTANT_INTERRUPTED_WITH_LOCKS
		trylock(0)
#endif
	:: else ->
#ifndef MUTANT_FORGETS_TO_GIVE_UP
		/* give_up() */
		d_step {
			if :: !has(0) -> err[0] = EBUSY :: else fi;
			if :: !has(1) -> err[1] = EBUSY :: else fi
		};
#endif
		/* A call that ends before its deadline has all. */
		assert(last || (err[0] == NONE && err[1] == NONE));
		/* Its own process is never busy. */
		assert(self == TARGETS || err[self] == NONE);
		for (t : 0 .. TARGETS - 1) {
			if
			:: err[t] == NONE -> assert(has(t))
			:: else
			fi
		}
		unlock_all()
	fi;
	done[me] = true
}

/* An ioctl of the second process that waits in user memory, or for a drain. */
active proctype thread()
{
	do
	:: atomic { mutex[1] == NOBODY -> mutex[1] = THREAD };
		if
		:: kept = true; break
		:: mutex[1] = NOBODY
		fi;
		break
	:: break
	od
}

init
{
	byte i;

	atomic {
		run call(1, 0);
		run call(2, 1);
		run call(3, TARGETS)
	};
	timeout;
	for (i : 1 .. CALLS) {
		assert(done[i] || (kept && i == 2 && waits_for_self[i]))
	}
	assert(mutex[0] == NOBODY);
	assert(mutex[1] == NOBODY || (kept && mutex[1] == THREAD))
}
