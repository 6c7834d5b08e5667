/* SPDX-License-Identifier: MIT */
/*
 * The VRAM of a held process: it leaves, returns, is evicted and put back, in every order.
 *
 * One process with a compute queue, an SDMA queue that nobody holds, and two buffers; an operator that
 * stops it with YIELD_MEMORY and resumes it; TTM, which evicts what is in VRAM and has a worker put it
 * back; another process, which allocates VRAM when KFD's ledger lets it; the process may exit. Names are
 * those of kfd_preempt_memory.c, kfd_preempt_bos.inc and kfd_process.c.
 *
 * Checked: no queue runs while a buffer moves, or is elsewhere than page tables say; VRAM is never
 * promised twice; what the ledger has is what is there, once everything stands still; the queues then run,
 * unless the operator holds them; no work is queued for a process that is gone.
 *
 * A stop, an eviction and a look at a flag are one step each: the other models take them apart.
 */
#define BUFFERS 2
#define VRAM 2		/* buffers that fit */
#define TURNS 2		/* of the operator */
#define EVICTIONS 2

mtype = { IN_VRAM, LEAVING, YIELDED, RETURNING };	/* kgd_mem.preempt_place */
mtype = { VRAM_THERE, SYSTEM_THERE };

mtype place[BUFFERS] = IN_VRAM;
mtype is_in[BUFFERS] = VRAM_THERE;	/* its bytes */
mtype mapped[BUFFERS] = VRAM_THERE;	/* what page tables say */

byte charged_vram = BUFFERS;	/* kfd_dev.vram_used, of both processes */
byte other;			/* of that, the other process */
bool held;			/* the compute queue, by the operator */
byte evicted;			/* qcm_process_device.evicted */
bool fence = true;		/* the eviction fence is not signaled */
bool restore_queued, restore_runs, restore_waits, gone, freed;
bool operator_ended, ttm_ended;

bool mutex, info_lock;		/* kfd_process.mutex, amdkfd_process_info.lock */

inline lock(which) { atomic { !which -> which = true } }
inline unlock(which) { which = false }

#define COMPUTE_RUNS (!held && evicted == 0 && !gone)
#define SDMA_RUNS (evicted == 0 && !gone)
#define MAPPINGS_ARE_RIGHT (is_in[0] == mapped[0] && is_in[1] == mapped[1])

/* After each step that moves or maps memory, and each that lets a queue run. */
inline look_at_queues() { assert(MAPPINGS_ARE_RIGHT || !(COMPUTE_RUNS || SDMA_RUNS)) }

/* kfd_preempt_memory_look(), under kfd_preempt_p.lock */
inline memory_look()
{
	atomic {
		if
#ifdef MUTANT_KICK_THE_DEAD
		:: restore_waits && !held ->
#else
		:: restore_waits && !held && !gone ->
#endif
#ifndef MUTANT_NO_KICK
			restore_waits = false;
			restore_queued = true
#endif
		:: else
		fi
	}
}

/* kfd_preempt_bo_move(): the buffer and its page tables are reserved, so for others it is one step. */
inline move_bo(b, where, then)
{
	lock(info_lock);
	atomic {
		/* A word that is written meanwhile would be lost. */
		assert(!(COMPUTE_RUNS || SDMA_RUNS));
		is_in[b] = where;
#ifndef MUTANT_KEEP_PAGE_TABLES
		mapped[b] = where;
#endif
		place[b] = then;
		if
		:: then == YIELDED -> charged_vram--
		:: else
		fi
	}
	unlock(info_lock)
}

/* evict_active(): the SDMA queue is not held. */
inline evict_active()
{
#ifdef MUTANT_SDMA_RUNS_ON
	skip
#else
	evicted++
#endif
}

inline restore_active()
{
#ifdef MUTANT_SDMA_RUNS_ON
	skip
#else
	atomic {
		evicted--;
		look_at_queues()
	}
#endif
}

inline leave()
{
	evict_active();
	b = 0;
	do
	:: b < BUFFERS && place[b] == IN_VRAM ->
		place[b] = LEAVING;
		move_bo(b, SYSTEM_THERE, YIELDED);
		b++
	:: b < BUFFERS && place[b] != IN_VRAM -> b++
	:: b == BUFFERS -> break
	:: b == 1 -> break		/* a signal: EINTR */
	od;
	restore_active()
}

/* -ENOSPC, or all of it is back */
inline reclaim(done)
{
	atomic {
		need = (place[0] == YIELDED -> 1 : 0) + (place[1] == YIELDED -> 1 : 0);
#ifdef MUTANT_OVERCOMMIT
		done = true;
#else
		done = charged_vram + need <= VRAM;
#endif
		if
		:: done ->
			charged_vram = charged_vram + need;
			if
			:: place[0] == YIELDED -> place[0] = RETURNING
			:: else
			fi;
			if
			:: place[1] == YIELDED -> place[1] = RETURNING
			:: else
			fi
		:: else
		fi;
		assert(charged_vram <= VRAM)
	}
	if
	:: done && need > 0 ->
		evict_active();
		b = 0;
		do
		:: b < BUFFERS && place[b] == RETURNING ->
			move_bo(b, VRAM_THERE, IN_VRAM);
			b++
		:: b < BUFFERS && place[b] != RETURNING -> b++
		:: b == BUFFERS -> break
		od;
		restore_active()
	:: else
	fi
}

active proctype operator()
{
	byte turn, b, need;
	bool done;

	do
	:: turn < TURNS ->
		lock(mutex);
		if
		:: gone -> unlock(mutex); break
		:: else
		fi;
		held = true;
		if
		:: leave()
		:: skip			/* a hold without YIELD_MEMORY */
		fi;
		unlock(mutex);

		lock(mutex);
		if
		:: gone -> unlock(mutex); break
		:: else
		fi;
#ifdef MUTANT_START_FIRST
		atomic { held = false; need = 0 }
#endif
		reclaim(done);
		if
		:: done ->
			atomic {
				held = false;
#ifdef MUTANT_START_FIRST
				assert(need == 0);
#endif
				look_at_queues()
			}
		:: else			/* it stays held */
		fi;
		memory_look();
		unlock(mutex);
		turn++
	:: turn == TURNS -> break
	od;
	operator_ended = true
}

/* Another client presses, or amdgpu_evict_vram. */
active proctype ttm()
{
	byte times, b;

	do
	:: times < EVICTIONS && !gone ->
		/* evict_process_worker(): later moves find the fence signaled. */
		atomic {
			if
			:: fence && !gone ->
				evicted++;
				fence = false;
				restore_queued = true
			:: else
			fi
		}
		b = 0;
		do
		:: b < BUFFERS ->
			lock(info_lock);
			atomic {
				if
				:: is_in[b] == VRAM_THERE && !fence && !gone ->
					is_in[b] = SYSTEM_THERE;
					look_at_queues()
				:: else
				fi
			}
			unlock(info_lock);
			b++
		:: b == BUFFERS -> break
		od;
		times++
	:: times == EVICTIONS || gone -> break
	od;
	ttm_ended = true
}

/* restore_process_worker() */
active proctype restorer()
{
	byte b;
	bool waits, was_held;

end:	do
	:: atomic { restore_queued -> restore_queued = false; restore_runs = true }
		assert(!freed);
		atomic {
#ifdef MUTANT_PUT_BACK_AT_ONCE
			waits = false;
#else
			waits = held;
#endif
			restore_waits = waits;
			was_held = held
		}
		if
		:: !waits ->
			assert(!was_held);
			lock(info_lock);
			b = 0;
			do
			:: b < BUFFERS ->
				atomic {
#ifdef MUTANT_FORGET_WHERE
					is_in[b] = VRAM_THERE;
#else
					is_in[b] = (place[b] == YIELDED || place[b] == RETURNING ->
						    SYSTEM_THERE : VRAM_THERE);
#endif
					/* A buffer in VRAM is charged there. */
					assert(!(is_in[b] == VRAM_THERE && place[b] == YIELDED));
					mapped[b] = is_in[b];
					look_at_queues()
				}
				b++
			:: b == BUFFERS -> break
			od;
			atomic {
				fence = true;
				evicted--;
				look_at_queues()
			}
			unlock(info_lock)
		:: else
		fi;
		restore_runs = false
	od
}

active proctype neighbour()
{
	/* amdgpu_amdkfd_reserve_mem_limit() */
	atomic {
		if
		:: charged_vram < VRAM -> charged_vram++; other = 1
		:: skip
		fi
	}
	assert(charged_vram <= VRAM);
	if
	:: atomic { other == 1 -> other = 0; charged_vram-- }
	:: skip			/* it lives on */
	fi
}

/* cancel_delayed_work_sync() */
inline cancel_restore() { restore_queued = false; !restore_runs }

/* kfd_process_notifier_release_internal(), then the last reference */
active proctype exiter()
{
	if
	:: skip ->
		cancel_restore();
		gone = true;		/* kfd_preempt_memory_gone(), under kfd_preempt_p.lock */
		cancel_restore();
		lock(mutex);		/* no call is under way */
		freed = true;
		unlock(mutex)
	:: skip
	fi
}

active proctype judge()
{
	timeout;
	assert(operator_ended && ttm_ended);
	if
	:: gone
	:: else ->
		/* The ledger has what is in VRAM. */
		assert(charged_vram == other + (place[0] == IN_VRAM -> 1 : 0) + (place[1] == IN_VRAM -> 1 : 0));
		assert(place[0] != LEAVING && place[1] != LEAVING && place[0] != RETURNING && place[1] != RETURNING);
		/* It is not evicted for ever. */
		assert(evicted == 0 || (held && restore_waits));
		assert(held || MAPPINGS_ARE_RIGHT)
	fi
}
