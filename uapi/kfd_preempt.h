/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/* ioctls on /dev/kfd that stop a compute queue mid-kernel and start it again. */
#ifndef KFD_PREEMPT_UAPI_H
#define KFD_PREEMPT_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: Rules of the whole interface
 *
 * All calls go to a file descriptor of /dev/kfd. A queue is named by the u32
 * that AMDKFD_IOC_CREATE_QUEUE returned (the *KFD queue id*, unique in its
 * process); HSA queue ids and stream handles are something else.
 *
 * Presence: call &AMDKFD_IOC_PREEMPT_QUERY. -ENOTTY means that this driver has no
 * preemption (or was loaded with ``amdgpu.kfd_preempt=0``). Never probe with
 * &AMDKFD_IOC_PREEMPT_QUEUE: AMD's driver uses number 0x87 with another size (AIS_OP, 40
 * bytes). It also uses 0x88, with 80 bytes, on the files of its dispatch-log streams, which
 * are not files of /dev/kfd. Only an equal command (number, size and direction) would be a
 * conflict: a driver that has one leaves both calls of v0 out (CAP_SWITCH_ONLY). Use
 * SWITCH, which can do the same.
 *
 * Growth: v0 (PREEMPT_QUEUE, RESUME_QUEUE) is frozen. All others take their size from
 * the command: a struct shorter than that of the ABI that brought the call is -EINVAL,
 * a longer one than the driver knows must be zero past its end (-E2BIG).
 * Reserved fields must be zero on input and are zero on output. A flag that
 * &kfd_ioctl_preempt_query_args.caps advertises on no node of the caller is -EINVAL, one
 * that the node of a queue lacks is -EOPNOTSUPP.
 *
 * Holds: a stopped queue is *held*. Each hold has an owner (KFD_PREEMPT_HOLD_*)
 * and the queue runs only when none is left and KFD itself wants it to run
 * (it is not evicted, its percentage is not 0, no debugger suspended it).
 *
 * Rights: a hold belongs to the operator that has set it. Another operator ends
 * it (FORCE, or RESUME with STICKY) only with CAP_SYS_PTRACE over the user
 * namespace of the setter, or with the same right that the setter had: the same
 * user with operator_mode=3, a file of the process with operator_mode=2. So a
 * tenant cannot end the holds of the host. With CAP_SYS_PTRACE over the setter
 * of a STICKY hold, PREEMPT with STICKY takes the hold over (-EALREADY).
 *
 * FAST takes CAP_SYS_PTRACE in the initial user namespace, because the short grace
 * period is that of all processes on the node; without it the flag is ignored.
 *
 * Errors, one meaning each:
 *
 * ==========  ================================================================
 * EALREADY    the hold is already as requested
 * EBADF       not your file (inherited over fork), or target_fd is no open file
 *             of /dev/kfd
 * EBUSY       busy (GPU reset or destroy of the queue in progress, RESUME
 *             while the stop is PENDING, another entry of ALL_OR_NOTHING,
 *             YIELD_MEMORY with a queue of the process that is not held,
 *             another process that keeps itself locked); nothing changed
 * E2BIG       unknown non-zero tail, more entries than max_batch, or too many queues
 * EFAULT      bad user memory; the state change, if any, stays
 * EINTR       a signal arrived before anything changed, or while memory moved:
 *             the queue is held, and repeating the call moves the rest
 * EINVAL      malformed: unknown flag, type or op, reserved field not zero,
 *             timeout above 60000, a queue twice, ALL_OR_NOTHING on two nodes
 * EIO         the queue is dead (lost in a GPU reset, or when the driver was
 *             unbound from a GPU)
 * ENODEV      the GPU is gone
 * ENOENT      no such queue in that process
 * ENOMEM      out of memory, no room on the host for yielded memory, or too many
 *             operators of one queue or process or watches of one process (64, 16 of
 *             them for operators of the host); nothing changed. Or a move of memory
 *             failed after it began: the queue is held, and repeating the call
 *             moves the rest
 * ENOSPC      no hardware slot left to resume into, or no VRAM for the memory
 *             that was yielded; the queue stays held
 * ENOTTY      this driver does not know the call
 * EOPNOTSUPP  known, but impossible with this scheduler, queue or GPU
 * EPERM       not allowed on that process, or the hold of an operator with
 *             more rights would end
 * ESRCH       no process with that pid uses KFD, or it ends or has called exec
 * ESTALE      the queue id is now another queue (queue_uid differs)
 * ETIME       stop requested but not confirmed in time: state PENDING
 * ==========  ================================================================
 *
 * No call returns -EAGAIN: libhsakmt's ioctl wrapper would spin on it.
 *
 * Threads: any number of threads may call; calls for one process are serialized. A
 * process can keep itself locked. SWITCH waits for other processes until timeout_ms is
 * over (0: 100 ms), STATUS for 100 ms; then -EBUSY, in a SWITCH for the entries of
 * that process alone. While one waits, ioctls of that process on /dev/kfd but for
 * WAIT_EVENTS wait before they start, for a second at most. The calls of a process wait
 * for its own threads without a bound.
 */

/* Version of this interface, reported by &AMDKFD_IOC_PREEMPT_QUERY. */
#define KFD_PREEMPT_ABI_MAJOR 1
#define KFD_PREEMPT_ABI_MINOR 5

/*
 * preempt_type: what happens to running waves. These are not the encodings of
 * CP_HQD_DEQUEUE_REQUEST (which are 1, 2 and 3).
 *
 * DRAIN lets waves run to their end (no new ones are launched), RESET kills
 * them, SAVE stops them wherever they are and saves them (CWSR).
 */
#define KFD_PREEMPT_TYPE_DRAIN 0
#define KFD_PREEMPT_TYPE_RESET 1
#define KFD_PREEMPT_TYPE_SAVE 2

/* op of a &struct kfd_preempt_switch_entry. */
#define KFD_PREEMPT_OP_PREEMPT 1
#define KFD_PREEMPT_OP_RESUME 2

/* queue_id of a &struct kfd_preempt_switch_entry that names a process, since ABI 1.4. */
#define KFD_PREEMPT_ALL_QUEUES 0xffffffffu

/* sched_mode: what maps queues to the hardware. */
#define KFD_PREEMPT_SCHED_HWS 0 /* firmware scheduler, runlist */
#define KFD_PREEMPT_SCHED_HWS_NO_OVERSUB 1 /* same, queues limited to slots */
#define KFD_PREEMPT_SCHED_NO_HWS 2 /* the driver writes HQD registers */
#define KFD_PREEMPT_SCHED_MES 3 /* micro engine scheduler, gfx11 and newer */

/* state of a queue. */
#define KFD_PREEMPT_STATE_RUNNING 0 /* on hardware, or scheduled to be */
#define KFD_PREEMPT_STATE_HELD 1 /* stopped by us, waves saved */
#define KFD_PREEMPT_STATE_PENDING 2 /* stop requested, not yet confirmed */
#define KFD_PREEMPT_STATE_INACTIVE 3 /* off hardware for another reason */
#define KFD_PREEMPT_STATE_DEAD 4 /* lost in a reset; only destroy helps */

/* holds: the owners that keep a queue stopped (bits). */
#define KFD_PREEMPT_HOLD_SELF 0x00000001u /* its own process */
#define KFD_PREEMPT_HOLD_OPERATOR 0x00000002u /* at least one operator file */
#define KFD_PREEMPT_HOLD_STICKY 0x00000004u /* an operator, until resumed */
#define KFD_PREEMPT_HOLD_DEAD 0x80000000u /* lost: never runs again */

/* status: more properties of a queue (bits). */
#define KFD_PREEMPT_STATUS_EVICTED 0x00000001u
#define KFD_PREEMPT_STATUS_DBG_SUSPENDED 0x00000002u
#define KFD_PREEMPT_STATUS_HW_PENDING 0x00000004u
#define KFD_PREEMPT_STATUS_CHECKPOINTED 0x00000008u
#define KFD_PREEMPT_STATUS_DEGRADED 0x00000010u
#define KFD_PREEMPT_STATUS_YIELDED 0x00000020u /* since ABI 1.2 */

/* valid of a &struct kfd_ioctl_preempt_status_args (bits). */
#define KFD_PREEMPT_VALID_INDEXES 0x00000001u
#define KFD_PREEMPT_VALID_SIGNAL 0x00000002u /* that packet has a signal */
#define KFD_PREEMPT_VALID_MEMORY 0x00000004u /* since ABI 1.2 */
#define KFD_PREEMPT_UNREAD_SIGNAL 0x00000008u /* it may have one; since ABI 1.5 */

/* flags of &AMDKFD_IOC_PREEMPT_STATUS, beside TARGET_FD or TARGET_PID. */
#define KFD_PREEMPT_STATUS_COUNT_MEMORY 0x00000100u /* since ABI 1.2 */

/* flags of &AMDKFD_IOC_PREEMPT_QUEUE and &AMDKFD_IOC_RESUME_QUEUE. */
#define KFD_PREEMPT_FLAG_FAST 0x00000001u /* shortest grace period */
#define KFD_PREEMPT_FLAG_CHECKPOINT 0x00000002u /* keep a copy of the MQD */

/* flags of &AMDKFD_IOC_PREEMPT_SWITCH. */
#define KFD_PREEMPT_SWITCH_ALL_OR_NOTHING 0x00000001u
#define KFD_PREEMPT_SWITCH_MATCH_UID 0x00000002u /* check queue_uid */
#define KFD_PREEMPT_SWITCH_FAST 0x00000004u
#define KFD_PREEMPT_SWITCH_CHECKPOINT 0x00000008u
#define KFD_PREEMPT_SWITCH_TARGET_FD 0x00000010u /* target_fd is valid */
#define KFD_PREEMPT_SWITCH_TARGET_PID 0x00000020u /* target_pid is valid */
#define KFD_PREEMPT_SWITCH_STICKY 0x00000040u /* hold outlives this file */
#define KFD_PREEMPT_SWITCH_FORCE 0x00000080u /* RESUME drops all operators */
#define KFD_PREEMPT_SWITCH_YIELD_MEMORY 0x00000100u /* since ABI 1.2 */

/* caps: what this driver can do on the queried node (bits). */
#define KFD_PREEMPT_CAP_SAVE 0x0000000000000001ull
#define KFD_PREEMPT_CAP_DRAIN 0x0000000000000002ull
#define KFD_PREEMPT_CAP_RESET 0x0000000000000004ull
#define KFD_PREEMPT_CAP_CHECKPOINT 0x0000000000000008ull
#define KFD_PREEMPT_CAP_FAST 0x0000000000000010ull
#define KFD_PREEMPT_CAP_BATCH 0x0000000000000020ull /* SWITCH */
#define KFD_PREEMPT_CAP_OPERATOR 0x0000000000000040ull /* TARGET_PID */
#define KFD_PREEMPT_CAP_OPERATOR_FD 0x0000000000000080ull /* TARGET_FD */
#define KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE 0x0000000000000100ull
#define KFD_PREEMPT_CAP_RESUME_IS_ASYNC 0x0000000000000200ull
#define KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP 0x0000000000000400ull
/* 0x800 is not used. PREEMPT_QUEUE and RESUME_QUEUE are not there: */
#define KFD_PREEMPT_CAP_SWITCH_ONLY 0x0000000000001000ull
#define KFD_PREEMPT_CAP_WATCH 0x0000000000002000ull /* since ABI 1.1 */
#define KFD_PREEMPT_CAP_YIELD_MEMORY 0x0000000000004000ull /* since ABI 1.2 */
#define KFD_PREEMPT_CAP_GIVE_MEMORY 0x0000000000008000ull /* since ABI 1.3 */
#define KFD_PREEMPT_CAP_PROCESS 0x0000000000010000ull /* ALL_QUEUES, since ABI 1.4 */

/*
 * degraded: features that a node turned out not to have (bits). All but GRACE disable
 * every preempt_type, GRACE disables FAST; queues that are held can be resumed. It lasts
 * until the module is loaded again, or root writes 0 to the parameter preempt_degraded.
 * STATUS has KFD_PREEMPT_STATUS_DEGRADED for a queue of such a node, and while the
 * runlist of the node could not be mapped.
 */
#define KFD_PREEMPT_DEGRADED_FENCE 0x00000001u /* unmaps were late or failed */
#define KFD_PREEMPT_DEGRADED_STILL_ACTIVE 0x00000002u /* ... or did not unmap */
#define KFD_PREEMPT_DEGRADED_GRACE 0x00000004u /* FAST misses an XCC */
#define KFD_PREEMPT_DEGRADED_MES 0x00000008u /* a call of the MES failed */

/* Limits; the driver reports its own in &struct kfd_ioctl_preempt_query_args. */
#define KFD_PREEMPT_MAX_BATCH 256
#define KFD_PREEMPT_MAX_TIMEOUT_MS 60000
#define KFD_PREEMPT_MAX_TARGETS 4096 /* of one watch */

/**
 * struct kfd_ioctl_preempt_queue_args - stop one of the caller's own queues
 * @queue_id: in: KFD queue id
 * @preempt_type: in: KFD_PREEMPT_TYPE_*
 * @timeout_ms: in: bound of the wait, 0 for the driver's default. It bounds
 *	the stop only where CAP_TIMEOUT_BOUNDS_STOP is advertised; elsewhere
 *	the firmware wait is the driver's
 * @flags: in: KFD_PREEMPT_FLAG_*
 *
 * Returns 0 once every wave is saved and nothing of the queue runs. Sets the
 * SELF hold, which lasts until RESUME, destroy or exit.
 */
struct kfd_ioctl_preempt_queue_args {
	__u32 queue_id;
	__u32 preempt_type;
	__u32 timeout_ms;
	__u32 flags;
};

/**
 * struct kfd_ioctl_resume_queue_args - drop the SELF hold of an own queue
 * @queue_id: in: KFD queue id
 * @flags: in: must be 0
 * @pad: in: must be 0
 *
 * Returns 0 also when another hold keeps the queue stopped. Under
 * CAP_RESUME_IS_ASYNC it may return before the queue is on hardware.
 */
struct kfd_ioctl_resume_queue_args {
	__u32 queue_id;
	__u32 flags;
	__u32 pad[2];
};

/**
 * struct kfd_ioctl_preempt_query_args - what the driver can do
 * @gpu_id: in: KFD gpu_id, or 0 for the driver as a whole (the caps that hold
 *	on every node)
 * @flags: in: must be 0
 * @abi_major: out: KFD_PREEMPT_ABI_MAJOR of the driver
 * @abi_minor: out: KFD_PREEMPT_ABI_MINOR of the driver
 * @caps: out: KFD_PREEMPT_CAP_*
 * @sched_mode: out: KFD_PREEMPT_SCHED_*
 * @type_mask: out: bit n set when preempt_type n is possible
 * @num_xcc: out: XCCs of the node, 0 for the driver as a whole
 * @max_batch: out: entries that one SWITCH takes
 * @max_timeout_ms: out: largest timeout_ms that is accepted
 * @degraded: out: KFD_PREEMPT_DEGRADED_* of the node, or of any
 * @reserved: must be 0
 */
struct kfd_ioctl_preempt_query_args {
	__u32 gpu_id;
	__u32 flags;
	__u32 abi_major;
	__u32 abi_minor;
	__u64 caps;
	__u32 sched_mode;
	__u32 type_mask;
	__u32 num_xcc;
	__u32 max_batch;
	__u32 max_timeout_ms;
	__u32 degraded;
	__u64 reserved[2];
};

/**
 * struct kfd_preempt_switch_entry - one queue of a SWITCH, or one process
 * @queue_id: in: KFD queue id in the target process, or KFD_PREEMPT_ALL_QUEUES: see
 *	"Holds of a process"
 * @op: in: KFD_PREEMPT_OP_*
 * @preempt_type: in: KFD_PREEMPT_TYPE_* of a PREEMPT, 0 for a RESUME
 * @result: out: 0 or a negative errno of this entry
 * @state: out: KFD_PREEMPT_STATE_* after the call
 * @holds: out: KFD_PREEMPT_HOLD_* after the call
 * @target_pid: in: when not 0, a pid whose queue it is instead of the call's
 *	target; an error in finding it is the entry's alone
 * @queue_uid: in: expected uid with SWITCH_MATCH_UID, else ignored; out: the
 *	uid, 0 where no queue was found
 * @latency_ns: out: driver time from request to confirmed stop, 0 for RESUME
 * @gpu_id: in: with ALL_QUEUES the KFD gpu_id of the queues, 0: any; else 0. Since
 *	ABI 1.4
 * @reserved: must be 0
 */
struct kfd_preempt_switch_entry {
	__u32 queue_id;
	__u16 op;
	__u16 preempt_type;
	__s32 result;
	__u32 state;
	__u32 holds;
	__s32 target_pid;
	__u64 queue_uid;
	__u64 latency_ns;
	__u32 gpu_id;
	__u32 reserved;
};

/**
 * DOC: Holds of a process
 *
 * An entry with queue_id KFD_PREEMPT_ALL_QUEUES names a process: all its compute queues,
 * on the GPU that gpu_id names or on all. A PREEMPT also holds those that it creates
 * later: they are *born held*, and run for the first time when they are resumed. A RESUME
 * ends that, and resumes the queues that the same owner holds. The owners of such holds
 * are those of queues: the process itself, a file, or STICKY; and they end with their
 * file. SDMA queues are not held, and queues that are dead are left out.
 *
 * The entry has the first error of its queues, or 0, or EALREADY if nothing was to be
 * changed. Queues to come are held after result 0 or ETIME of a PREEMPT, and no longer
 * after result 0 of a RESUME. state is that of the queue that is stopped least, holds has
 * those that all queues have, latency_ns is that of the latest stop; without any queue
 * state is HELD or INACTIVE, and holds those of queues to come. queue_uid is ignored, and 0
 * on output. preempt_type is not RESET.
 *
 * A process cannot be named twice for the same GPU, or together with a queue of it
 * (EINVAL). All entries of a call may name 4096 queues (E2BIG).
 */

/**
 * struct kfd_ioctl_preempt_switch_args - stop some queues, start others
 * @flags: in: KFD_PREEMPT_SWITCH_*; 0 acts on the caller's own queues
 * @target_fd: in: with TARGET_FD, a /dev/kfd file of the target, else 0
 * @target_pid: in: with TARGET_PID, a pid in the caller's pid namespace, else 0
 * @timeout_ms: in: as in &struct kfd_ioctl_preempt_queue_args; bounds the wait for
 *	other processes, then the stops of all entries on a GPU together
 * @entries_ptr: in: user pointer to &struct kfd_preempt_switch_entry[]
 * @num_entries: in: 1 to max_batch
 * @num_done: out: entries with result 0
 * @hw_ns: out: driver time spent waiting for the hardware
 * @reserved: must be 0
 *
 * All stops and starts of one node reach the hardware together, in one runlist
 * update where there is a runlist. Returns 0 when every entry was processed;
 * each entry has its own result.
 *
 * ALL_OR_NOTHING: when an entry fails, those that could have succeeded are skipped or
 * undone and return EBUSY. An entry that cannot be undone stays in effect and its
 * result shows it: a stop that was not confirmed in time (ETIME, PENDING).
 *
 * FAST and CHECKPOINT apply to the stops of a call; its starts ignore them.
 *
 * YIELD_MEMORY: see "Memory of a held process".
 */
struct kfd_ioctl_preempt_switch_args {
	__u32 flags;
	__s32 target_fd;
	__s32 target_pid;
	__u32 timeout_ms;
	__u64 entries_ptr;
	__u32 num_entries;
	__u32 num_done;
	__u64 hw_ns;
	__u64 reserved;
};

/**
 * DOC: Memory of a held process
 *
 * A held process keeps its buffers in VRAM. With SWITCH_YIELD_MEMORY a PREEMPT also moves
 * them to system memory, those of the process of each such entry on the GPU of its queue,
 * and KFD counts them as system memory from then on. All compute queues of the process on
 * that GPU must be held, or be stopped by the same call (-EBUSY), and none of its queues
 * there may be dead (-EIO). Nothing moves after a stop that failed. Queues that are held
 * already do not return -EALREADY while there is memory to move. SDMA queues need not be
 * held: they run again when the memory has moved. The page tables always have the place
 * of the memory. A RESUME that lets a queue run moves all of it back first. If VRAM has
 * no room for all of it, the entry returns -ENOSPC and nothing has changed.
 *
 * In a call that moves memory the stops come first, then memory leaves, then memory
 * returns, then the starts are done. With ALL_OR_NOTHING no memory moves and no queue starts
 * if a stop fails. If memory cannot move, or has no room to return, no queue starts; the
 * stops stay, and memory that has moved.
 *
 * These buffers stay in VRAM, and STATUS counts them: *pinned* ones (for RDMA, say),
 * *shared* ones, which another process or driver maps, and those that another GPU of the
 * process maps. Page tables, memory of SVM, and buffers of others that the process has
 * imported stay, too, and are not counted.
 *
 * While an operator holds all compute queues of a process, with or without this flag,
 * memory that was evicted from VRAM is restored only when the hold ends.
 *
 * Saved waves are in the CWSR area, which may be pages of the process: ROCr allocates it so
 * where the driver has SVM. If the kernel swaps them out, KFD stops the queues of the
 * process (STATUS_EVICTED), swaps the pages in and maps them, also for a held queue.
 * A RESUME meanwhile returns 0, and the queue runs once they are mapped. In a memory
 * cgroup without room for them it stays EVICTED.
 */

/**
 * struct kfd_ioctl_preempt_status_args - state and counters of one queue
 * @target_fd: in: as in &struct kfd_ioctl_preempt_switch_args
 * @target_pid: in: as in &struct kfd_ioctl_preempt_switch_args
 * @queue_id: in: KFD queue id in the target process
 * @flags: in: TARGET_FD or TARGET_PID of KFD_PREEMPT_SWITCH_*, or 0; and
 *	KFD_PREEMPT_STATUS_COUNT_MEMORY, which visits each buffer of the process
 * @state: out: KFD_PREEMPT_STATE_*
 * @holds: out: KFD_PREEMPT_HOLD_*
 * @status: out: KFD_PREEMPT_STATUS_*
 * @pad: must be 0
 * @queue_uid: out: never reused while the driver is loaded
 * @preempts: out: stops that were confirmed
 * @resumes: out: starts
 * @failures: out: stops that were not confirmed in time, or failed
 * @held_ns: out: total time held, the present hold included
 * @last_preempt_ns: out: driver time of the last confirmed stop
 * @last_resume_ns: out: driver time of the last start
 * @max_preempt_ns: out: longest confirmed stop
 * @reserved: out: 0
 * @write_index: out: of the ring, as its process has written it; since ABI 1.1,
 *	like all below
 * @read_index: out: of the ring. The queue has packets where the two differ.
 *	Packets of an AQL queue, dwords or bytes of others; memory of the process,
 *	which can write anything there
 * @doorbell: out: byte offset of its doorbell among those of its process on
 *	that GPU, as in &struct kfd_preempt_watch_event
 * @valid: out: KFD_PREEMPT_VALID_*: the fields above and below that could be read.
 *	UNREAD_SIGNAL: whether that packet has a signal, or its value, could not be
 *	read, so its kernel may run. Without it and VALID_SIGNAL there is no signal.
 *	Before ABI 1.5 there is no such bit, and a ring in VRAM is not read
 * @last_signal: out: of an AQL queue, the value of the completion signal of the
 *	packet before write_index. The packet processor moves read_index when it
 *	takes a packet, so the last kernel may run while both indexes are equal;
 *	when it ends, it decrements the signal, which HSA programs set to 1. Then
 *	its process may free the signal: memory that is none any more is not read,
 *	but it may be another signal by now
 * @vram_bytes: out: with COUNT_MEMORY, as the next four, buffers that the process
 *	of the queue has allocated in VRAM of its GPU, without those yielded; since
 *	ABI 1.2, like all below
 * @yielded_bytes: out: those that it has yielded
 * @pinned_bytes: out: of vram_bytes, what YIELD_MEMORY leaves because it is pinned
 * @shared_bytes: out: ... because others may use it
 * @peer_bytes: out: ... because another GPU of the process maps it
 * @yield_ns: out: time of the latest YIELD_MEMORY of that process and GPU
 * @reclaim_ns: out: time of the latest return of its memory
 */
struct kfd_ioctl_preempt_status_args {
	__s32 target_fd;
	__s32 target_pid;
	__u32 queue_id;
	__u32 flags;
	__u32 state;
	__u32 holds;
	__u32 status;
	__u32 pad;
	__u64 queue_uid;
	__u64 preempts;
	__u64 resumes;
	__u64 failures;
	__u64 held_ns;
	__u64 last_preempt_ns;
	__u64 last_resume_ns;
	__u64 max_preempt_ns;
	__u64 reserved[2];
	__u64 write_index;
	__u64 read_index;
	__u32 doorbell;
	__u32 valid;
	__s64 last_signal;
	__u64 vram_bytes;
	__u64 yielded_bytes;
	__u64 pinned_bytes;
	__u64 shared_bytes;
	__u64 peer_bytes;
	__u64 yield_ns;
	__u64 reclaim_ns;
};

/**
 * DOC: The watch
 *
 * A watch reports when an idle process begins to submit work, without a thread
 * that polls and without any change of that process. &AMDKFD_IOC_PREEMPT_WATCH
 * returns a file for poll(2), read(2) and the three calls below, which are
 * made on that file.
 *
 * ADD names a process: a *target*. ARM unmaps the doorbell pages of targets; the next
 * store to a doorbell faults, maps the pages again and adds an event to the watch. The
 * event comes once: it disarms the target on that GPU, and rings cost nothing until the
 * next ARM.
 *
 * ARM scans the queues *after* the pages are unmapped. So every later submission of a
 * target that is armed and not busy is an event, and none is lost. Work from before the
 * ARM is in queues_busy.
 *
 * An event means that a doorbell page was accessed. The cause may be a ring without
 * new packets, or a debugger: check the queue (STATUS) before acting on it. Rings
 * that come from a GPU make no event.
 *
 * With GIVE_MEMORY an allocation of VRAM by the target that does not fit waits: event
 * WANTS_MEMORY. After an ANSWER it is retried. If it still does not fit, there is another
 * event; after NO_ROOM it fails as it would without a watch, and so it does when the
 * target is removed or the file is closed. A signal interrupts it. While any target of a
 * watch of the host has GIVE_MEMORY, a process that has opened /dev/kfd less than two
 * seconds ago first waits for the rest of that time to become a target.
 *
 * A target ends with its process, or when that calls exec: event EXITED, and
 * -ESRCH from then on. Close the file to remove all targets.
 */

/* type of a &struct kfd_preempt_watch_event. */
#define KFD_PREEMPT_WATCH_RANG 1 /* a doorbell of an armed target was rung */
#define KFD_PREEMPT_WATCH_EXITED 2 /* its process is gone */
#define KFD_PREEMPT_WATCH_QUEUE_CREATED 3
#define KFD_PREEMPT_WATCH_QUEUE_DESTROYED 4
#define KFD_PREEMPT_WATCH_WANTS_MEMORY 5 /* an allocation waits; since ABI 1.3 */

/* flags of &KFD_PREEMPT_WATCH_ADD, beside TARGET_FD or TARGET_PID. */
#define KFD_PREEMPT_WATCH_GIVE_MEMORY 0x00010000u /* since ABI 1.3 */

/* flags of &KFD_PREEMPT_WATCH_ANSWER. */
#define KFD_PREEMPT_WATCH_NO_ROOM 0x00000001u /* it fails if it still does not fit */

/* flags of &KFD_PREEMPT_WATCH_ARM. */
#define KFD_PREEMPT_WATCH_NO_LOOK 0x00000001u /* queues_busy stays 0 */
#define KFD_PREEMPT_WATCH_DISARM 0x00000002u /* no event of rings from now on */

/* state of a &struct kfd_preempt_watch_arm_entry (bits). */
#define KFD_PREEMPT_WATCH_STATE_BUSY 0x00000001u /* a queue has packets */
#define KFD_PREEMPT_WATCH_STATE_EVICTED 0x00000002u
/* It maps its doorbells in a way that cannot be watched: poll its queues. */
#define KFD_PREEMPT_WATCH_STATE_BLIND 0x00000004u

/**
 * struct kfd_preempt_watch_event - what read(2) returns, as many as fit
 * @cookie: that of ADD
 * @ns: when, CLOCK_MONOTONIC
 * @type: KFD_PREEMPT_WATCH_*
 * @gpu_id: KFD gpu_id, 0 of EXITED
 * @doorbell: of RANG: byte offset of the doorbell among those of the process on
 *	that GPU; of QUEUE_*: KFD queue id of the latest one; of WANTS_MEMORY: its MiB
 * @count: how many of them since the last such event was read
 *
 * Events of one kind of a target and GPU that were not yet read are one event,
 * so none is ever dropped.
 */
struct kfd_preempt_watch_event {
	__u64 cookie;
	__u64 ns;
	__u32 type;
	__u32 gpu_id;
	__u32 doorbell;
	__u32 count;
};

/**
 * struct kfd_ioctl_preempt_watch_args - make a watch
 * @flags: in: must be 0
 * @fd: out: its file, with O_CLOEXEC
 * @reserved: must be 0
 */
struct kfd_ioctl_preempt_watch_args {
	__u32 flags;
	__s32 fd;
	__u64 reserved[3];
};

/**
 * struct kfd_preempt_watch_add - add a process
 * @flags: in: TARGET_FD or TARGET_PID of KFD_PREEMPT_SWITCH_*, GIVE_MEMORY
 * @target: in: a /dev/kfd file of the process, or its pid in the caller's pid
 *	namespace
 * @cookie: in: comes back in each event
 * @id: out: names the target in ARM and REMOVE
 * @pad: must be 0
 * @reserved: must be 0
 *
 * Requires the right to preempt queues of that process, which is checked here only: the
 * file keeps its targets when another process gets it.
 */
struct kfd_preempt_watch_add {
	__u32 flags;
	__s32 target;
	__u64 cookie;
	__u32 id;
	__u32 pad;
	__u64 reserved;
};

/**
 * struct kfd_preempt_watch_remove - remove a target
 * @id: in: that of ADD. Its events that were not yet read are gone
 * @pad: must be 0
 */
struct kfd_preempt_watch_remove {
	__u32 id;
	__u32 pad;
};

/**
 * struct kfd_preempt_watch_answer - retry the allocations of a target (ABI 1.3)
 * @id: in: that of ADD; -ESRCH if its process is gone
 * @flags: in: KFD_PREEMPT_WATCH_NO_ROOM or 0
 */
struct kfd_preempt_watch_answer {
	__u32 id;
	__u32 flags;
};

/**
 * struct kfd_preempt_watch_arm_entry - one target of an ARM
 * @id: in: that of ADD
 * @result: out: 0, -ENOENT of an unknown id, -ESRCH of a process that is gone
 * @state: out: KFD_PREEMPT_WATCH_STATE_*
 * @queues_busy: out: queues that had packets once the target was armed, or
 *	whose indexes could not be read
 * @gpus_busy: out: bit n: such a queue is on the nth GPU of the process, in the
 *	order of its apertures
 * @reserved: must be 0
 */
struct kfd_preempt_watch_arm_entry {
	__u32 id;
	__s32 result;
	__u32 state;
	__u32 queues_busy;
	__u64 gpus_busy;
	__u64 reserved;
};

/**
 * struct kfd_preempt_watch_arm - arm targets
 * @entries_ptr: in: user pointer to &struct kfd_preempt_watch_arm_entry[]
 * @num_entries: in: 1 to max_batch
 * @flags: in: KFD_PREEMPT_WATCH_NO_LOOK, KFD_PREEMPT_WATCH_DISARM
 * @num_armed: out: entries with result 0
 * @num_busy: out: of these, how many are BUSY
 * @reserved: must be 0
 *
 * Returns 0 when every entry was processed; after -EFAULT any of them may be armed. It
 * may be called on targets that are armed already. It never waits for a process.
 */
struct kfd_preempt_watch_arm {
	__u64 entries_ptr;
	__u32 num_entries;
	__u32 flags;
	__u32 num_armed;
	__u32 num_busy;
	__u64 reserved;
};

#define AMDKFD_IOC_PREEMPT_QUEUE _IOWR('K', 0x87, struct kfd_ioctl_preempt_queue_args)
#define AMDKFD_IOC_RESUME_QUEUE _IOWR('K', 0x88, struct kfd_ioctl_resume_queue_args)
#define AMDKFD_IOC_PREEMPT_QUERY _IOWR('K', 0xf0, struct kfd_ioctl_preempt_query_args)
#define AMDKFD_IOC_PREEMPT_SWITCH _IOWR('K', 0xf1, struct kfd_ioctl_preempt_switch_args)
#define AMDKFD_IOC_PREEMPT_STATUS _IOWR('K', 0xf2, struct kfd_ioctl_preempt_status_args)
#define AMDKFD_IOC_PREEMPT_WATCH _IOWR('K', 0xf3, struct kfd_ioctl_preempt_watch_args)

/* On the file of a watch: */
#define KFD_PREEMPT_WATCH_ADD _IOWR('K', 0xf4, struct kfd_preempt_watch_add)
#define KFD_PREEMPT_WATCH_REMOVE _IOW('K', 0xf5, struct kfd_preempt_watch_remove)
#define KFD_PREEMPT_WATCH_ARM _IOWR('K', 0xf6, struct kfd_preempt_watch_arm)
#define KFD_PREEMPT_WATCH_ANSWER _IOW('K', 0xf7, struct kfd_preempt_watch_answer)

#endif /* KFD_PREEMPT_UAPI_H */
