/* SPDX-License-Identifier: MIT */
/*
 * The watch: nobody misses that an idle process begins to submit work.
 *
 * Two threads of a process ring, each by a mapping of its own of the same doorbells; a watcher arms,
 * looks at the ring, and sleeps for an event where it saw no work; another one arms and disarms the
 * same process and closes its watch; the process may exit. Names are those of kfd_preempt_doorbell.c
 * and kfd_preempt_watch_*.c.
 *
 * Checked: work that was submitted is seen by ARM or is an event before everything stands still;
 * after DISARM or close() no event comes; EXITED does come; a target is not used once it is freed.
 *
 * Every step is seen by all at once: the barriers of the driver are not part of the model.
 */
#define RINGERS 2
#define RINGS 2		/* of the second; the first rings once */
#define WATCHES 2	/* 0 waits, 1 comes and goes */

bool mapped[RINGERS];	/* the PTE of each mapping; the first store ever faults */
byte work;		/* write index of the ring */
byte seen;		/* of it, by the watcher */

/* Under kfd_preempt_p.lock: what is done with it is one step. */
bool armed_any;		/* kfd_preempt_p.armed */
bool armed[WATCHES];	/* kfd_preempt_watch_target.armed */
bool linked[WATCHES] = true;

bool rang[WATCHES];	/* events that were not read */
bool exited[WATCHES];
bool freed[WATCHES];
bool gone;		/* the process */
bool asleep;		/* the watcher, until there is an event */
byte ended;		/* ringers that have */
bool disarmed;		/* watch 1 was told that no event comes */

inline use(target) { assert(!freed[target]) }

/* kfd_preempt_watch_rang() */
inline report()
{
	if
	:: armed_any ->
		d_step {
			armed_any = false;
			w = 0;
			do
			:: w == WATCHES -> break
			:: w < WATCHES && linked[w] && armed[w] ->
				armed[w] = false;
				use(w);
				rang[w] = true;
				w++
			:: w < WATCHES && !(linked[w] && armed[w]) -> w++
			od;
			w = 0
		}
	:: else
	fi
}

/* doorbell_fault() */
inline fault(me)
{
#ifdef MUTANT_REPORT_FIRST
	report();
	mapped[me] = true
#else
	mapped[me] = true;
	report()
#endif
}

proctype ringer(byte me)
{
	byte rings, w;

	do
	:: rings < RINGS - 1 + me && !gone ->
		work++;
		/* The store faults until it finds the page, which another ARM may have taken meanwhile. */
		do
		:: atomic { mapped[me] -> break }
		:: atomic { !mapped[me] -> skip }; fault(me)
		:: gone -> break
		od;
		rings++
	:: rings == RINGS - 1 + me || gone -> break
	od;
	ended++
}

inline set_armed(target)
{
	d_step {
		armed[target] = linked[target];
		armed_any = armed_any || armed[target]
	}
}

inline unmap()
{
	mapped[0] = false;
#ifndef MUTANT_UNMAP_ONE_MAPPING
	mapped[1] = false
#endif
}

inline arm(target)
{
#ifdef MUTANT_UNMAP_FIRST
	unmap();
	set_armed(target)
#else
	set_armed(target);
	unmap()
#endif
}

/* As xpreemptd waits for an idle job: ARM; nothing to do: sleep. */
active proctype watcher()
{
	byte now;

again:
#ifdef MUTANT_LOOK_FIRST
	now = work;
	arm(0);
#else
	arm(0);
	now = work;
#endif
	if
	:: now != seen -> seen = now; goto again
	:: else
	fi;
	asleep = true;
end:
	if
	:: atomic { rang[0] -> rang[0] = false; asleep = false }; goto again
	:: atomic { exited[0] -> asleep = false }
	fi
}

/* Another watch of the same process: DISARM, then close(). */
active proctype passer_by()
{
	arm(1);
	d_step {
		armed[1] = false;
#ifdef MUTANT_DISARM_ALL
		armed_any = false;
#endif
		disarmed = !rang[1]
	}
	assert(!disarmed || !rang[1]);
	arm(1);
#ifndef MUTANT_FREE_LINKED
	linked[1] = false;
#endif
	freed[1] = true
}

/* kfd_preempt_process_gone(), at any time or never. */
active proctype exit()
{
	byte w;

	if
	:: true ->
		gone = true;
		d_step {
			armed_any = false;
			do
			:: w == WATCHES -> break
			:: w < WATCHES && linked[w] ->
				linked[w] = false;
				armed[w] = false;
				use(w);
				exited[w] = true;
				w++
			:: w < WATCHES && !linked[w] -> w++
			od
		}
	:: true
	fi
}

init
{
	atomic {
		run ringer(0);
		run ringer(1)
	}
}

/* When nobody can do anything any more. */
active proctype outcome()
{
	timeout ->
	assert(ended == RINGERS);
	assert(!asleep || seen == work);
	assert(!gone || exited[0])
}
