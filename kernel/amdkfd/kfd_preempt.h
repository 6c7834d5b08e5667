/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Preempts and resumes user queues: state in each queue, calls between the parts. */
#ifndef KFD_PREEMPT_H
#define KFD_PREEMPT_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "kfd_preempt_uapi.h"

/*
 * Locks, outermost first:
 *
 *	kfd_process.mutex of the targets: that of the caller is waited for while none
 *	    is held, others are trylocked until a deadline. Until then, calls of those
 *	    processes wait in kfd_preempt_wait_for_operators(), with no lock held
 *	amdkfd_process_info.lock (trylock until a deadline), then a buffer and the
 *	    page tables that map it: while memory moves, taken for each buffer
 *	device_queue_manager lock (never of two nodes), not under the one above
 *	reset_domain->sem (trylock only)
 *	the lock of holds in kfd_preempt_process.c
 *	the operator record lock in kfd_preempt_operators.c
 *	the lock in kfd_preempt_schedule.c (leaf)
 *
 * and of a watch, none of which is held with any of those above, except that ARM
 * runs the MMU notifiers of the target under the first two, which take the lock of
 * a device queue manager if a userptr overlaps the doorbells:
 *
 *	kfd_preempt_watch.mutex
 *	i_mmap_rwsem of the doorbells of a process; mmap_lock, the buffers of a target
 *	    and reset_domain->sem (trylock only): of ARM, and of STATUS with nothing
 *	    else held
 *	the lock of processes in kfd_preempt_watch_events.c
 *	kfd_preempt_p.lock, also in a fault (mmap_lock or the lock of a VMA), when a
 *	    queue is created or destroyed (kfd_process.mutex), and in the worker that
 *	    puts evicted memory back
 *	kfd_preempt_watch.lock (leaf)
 *
 * queue_properties.preempt_holds is written under kfd_process.mutex and the lock
 * of the device queue manager; a reset sets KFD_PREEMPT_HOLD_DEAD under the
 * latter alone. sysfs reads without a lock, so everything that it reads is
 * written by WRITE_ONCE().
 */

struct amdgpu_device;
struct attribute;
struct device_queue_manager;
struct drm_device;
struct kfd_process;
struct kfd_process_device;
struct kgd_mem;
struct mm_struct;
struct mqd_manager;
struct queue;
struct user_namespace;
struct vm_area_struct;

/**
 * struct kfd_preempt_checkpoint - copy of what the CP saved of a queue
 * @valid: the MQD was not updated since, so the copy may be restored (dqm lock)
 * @mqd_size: bytes of the MQDs of all XCCs
 * @ctl_stack_size: bytes of the control stacks of all XCCs, behind the MQDs
 * @data: both
 */
struct kfd_preempt_checkpoint {
	bool valid;
	u32 mqd_size;
	u32 ctl_stack_size;
	u8 data[];
};

/* Holds of other processes than the owner of the queue. */
#define KFD_PREEMPT_OPERATOR_HOLDS (KFD_PREEMPT_HOLD_OPERATOR | KFD_PREEMPT_HOLD_STICKY)

/* Watches of a process, or operator records of a queue; no sensible setup has more. */
#define KFD_PREEMPT_MAX_OWNERS 64
#define KFD_PREEMPT_RESERVED_OWNERS 16	/* of these, for operators of the host */

/* Why a caller may act on another process. */
enum kfd_preempt_right {
	KFD_PREEMPT_BY_CAPABILITY,	/* CAP_SYS_PTRACE in its user namespace */
	KFD_PREEMPT_BY_FILE,		/* operator_mode=2: it has a file of it */
	KFD_PREEMPT_BY_USER,		/* operator_mode=3: the same user */
};

/**
 * struct kfd_preempt_setter - the owner of a hold
 * @user_ns: user namespace of the setter, referenced; NULL without a hold
 * @uid: effective user of the setter
 * @right: what allowed it to set the hold
 */
struct kfd_preempt_setter {
	struct user_namespace *user_ns;
	kuid_t uid;
	enum kfd_preempt_right right;
};

/**
 * struct kfd_preempt_q - what kfd_preempt keeps in a queue; all zero is valid
 * @records: operator records of this queue (record lock)
 * @num_records: how many (record lock)
 * @sticky: whose STICKY hold it is (p->mutex)
 * @uid: identity that is never reused, 0 until first asked for (p->mutex)
 * @process_node: in kfd_preempt_p.queues (its lock)
 * @gpu_index: of its GPU in kfd_process.pdds
 * @recheck_node: in the list of queues to recheck
 * @recheck: it is in that list (dqm lock, as the next five)
 * @recheck_at: time of the recheck
 * @indexes_known: the next two are valid: they were read since the queue was
 *	preempted or resumed
 * @read_index: its read index at that time
 * @write_index: its write index at that time
 * @hw_pending: a dequeue was requested and is not known to be complete. The HQD
 *	must not be loaded. NO_HWS only; is_active stays true, so that eviction
 *	and destruction request it again (dqm lock)
 * @pending_type: preempt_type of that request (dqm lock)
 * @checkpoint: copy taken after the save, or NULL (dqm lock)
 * @preempts: confirmed preemptions (dqm lock, as everything below)
 * @resumes: resumes
 * @failures: preemptions that failed or were not confirmed in time
 * @held_ns: total time held, without the present hold
 * @held_since: start of the present hold
 * @last_preempt_ns: driver time of the last confirmed stop
 * @last_resume_ns: driver time of the last start
 * @max_preempt_ns: longest confirmed stop
 */
struct kfd_preempt_q {
	struct hlist_head records;
	unsigned int num_records;
	struct kfd_preempt_setter sticky;
	u64 uid;
	struct list_head process_node;
	u32 gpu_index;
	struct list_head recheck_node;
	bool recheck;
	ktime_t recheck_at;
	bool indexes_known;
	u64 read_index;
	u64 write_index;
	bool hw_pending;
	u32 pending_type;
	struct kfd_preempt_checkpoint *checkpoint;
	u64 preempts;
	u64 resumes;
	u64 failures;
	u64 held_ns;
	ktime_t held_since;
	u64 last_preempt_ns;
	u64 last_resume_ns;
	u64 max_preempt_ns;
};

/**
 * struct kfd_preempt_p - what kfd_preempt keeps in a kfd_process
 * @lock: what is below; taken in page faults
 * @armed: GPUs that an armed target waits for, by index of kfd_process.pdds; a
 *	bit may stay when the last one is disarmed
 * @targets: targets of watches
 * @num_targets: how many
 * @queues: user queues
 * @num_queues: how many
 * @drm: by index of kfd_process.pdds, referenced: devices whose doorbells it
 *	maps (mmap_lock)
 * @inode: its address space has the mappings of this process; NULL without memory
 * @restore_waits: evicted memory is restored after the hold of an operator
 * @gone: no work may be queued for it
 * @num_givers: number of @targets that make room for its allocations
 * @answers: number of answers of such targets
 * @no_room: the latest answer: there is no room
 * @waiters: operators that wait for p->mutex
 * @room: allocations that wait for an answer, calls that wait for operators
 * @opened: time of its open of /dev/kfd, in jiffies
 * @holds: holds of queues to come (the lock of holds; additions p->mutex, too)
 * @release: resumes the queues that only closed files hold; while it is queued or
 *	running it has a reference to the process
 * @retry_node: in the list of releases to retry (lock of kfd_preempt_schedule.c, as
 *	the next one)
 * @retry_ms: delay of the next retry
 */
struct kfd_preempt_p {
	spinlock_t lock;	/* what is below; taken in page faults */
	u64 armed;
	struct list_head targets;
	unsigned int num_targets;
	struct list_head queues;
	unsigned int num_queues;
	struct drm_device *drm[MAX_GPU_INSTANCE];
	struct inode *inode;
	bool restore_waits;
	bool gone;
	unsigned int num_givers;
	u32 answers;
	bool no_room;
	atomic_t waiters;
	wait_queue_head_t room;
	unsigned long opened;
	struct hlist_head holds;
	struct delayed_work release;
	struct list_head retry_node;
	unsigned int retry_ms;
};

/**
 * struct kfd_preempt_move - memory of a process on a GPU that a call moves (p->mutex)
 * @node: in kfd_preempt_batch.moves
 * @leaves: it leaves VRAM, otherwise it returns
 * @evicted: its queues are evicted while it moves
 * @bytes: how much moves
 * @result: 0 or negative errno
 */
struct kfd_preempt_move {
	struct llist_node node;
	bool leaves;
	bool evicted;
	u64 bytes;
	int result;
};

/* Whether there is something to move, as far as is known. */
static inline bool kfd_preempt_must_move(const struct kfd_preempt_move *move)
{
	return !move->result && (!move->leaves || move->bytes);
}

/**
 * struct kfd_preempt_pdd - what kfd_preempt keeps for a process on a GPU
 * @pfn: first page of its doorbells
 * @blind: a mapping of its doorbells cannot be unmapped
 * @yielded: memory was yielded and has not returned (p->mutex, as the next two)
 * @yield_ns: time of the latest move to system memory
 * @reclaim_ns: time of the latest return
 * @move: the present move
 */
struct kfd_preempt_pdd {
	unsigned long pfn;
	bool blind;
	bool yielded;
	u64 yield_ns;
	u64 reclaim_ns;
	struct kfd_preempt_move move;
};

/**
 * enum kfd_preempt_place - where a buffer of VRAM is, in kgd_mem (written under kfd_process.mutex)
 * @KFD_PREEMPT_IN_VRAM: where it was allocated
 * @KFD_PREEMPT_LEAVING: as above, and also charged as system memory
 * @KFD_PREEMPT_YIELDED: in system memory, and charged as such
 * @KFD_PREEMPT_RETURNING: as above, and also charged as VRAM
 */
enum kfd_preempt_place {
	KFD_PREEMPT_IN_VRAM,
	KFD_PREEMPT_LEAVING,
	KFD_PREEMPT_YIELDED,
	KFD_PREEMPT_RETURNING,
};

/**
 * struct kfd_preempt_memory - buffers of VRAM of a process on a GPU, in bytes
 * @resident: those in VRAM
 * @yielded: those that were yielded
 * @pinned: of @resident, what cannot move because it is pinned
 * @shared: ... because others may use it
 * @peer: ... because another GPU of the process maps it
 */
struct kfd_preempt_memory {
	u64 resident;
	u64 yielded;
	u64 pinned;
	u64 shared;
	u64 peer;
};

/**
 * struct kfd_preempt_req - one queue of a batch
 * @q: the queue, or NULL if there is none
 * @skip: nothing is to be done to it
 * @mm: address space of its process, for load_mqd
 * @set: hold bits to set (stop)
 * @clear: hold bits to clear (start)
 * @type: preempt_type of a stop
 * @result: 0 or negative errno
 * @old_holds: holds before the batch, for roll back
 * @old_state: KFD_PREEMPT_STATE_* before the batch
 * @was_active: is_active before the batch, for roll back
 * @was_pending: hw_pending before the batch
 * @applied: holds were edited
 * @moves: the process whose memory leaves VRAM after a stop, also if the queue is held
 *	already, or returns before a start
 * @memory_result: result of that; 0 or negative errno
 * @latency_ns: time from the start of the batch to the confirmed stop
 * @checkpoint: for a stop, memory for a copy, or NULL; after the batch, memory
 *	to free
 */
struct kfd_preempt_req {
	struct queue *q;
	bool skip;
	struct mm_struct *mm;
	u32 set;
	u32 clear;
	u32 type;
	int result;
	u32 old_holds;
	u32 old_state;
	bool was_active;
	bool was_pending;
	bool applied;
	struct kfd_process_device *moves;
	int memory_result;
	u64 latency_ns;
	struct kfd_preempt_checkpoint *checkpoint;
};

/**
 * struct kfd_preempt_batch - queues that are stopped and started together
 * @reqs: the queues, in the caller's order
 * @num: how many
 * @timeout_ms: bound of all hardware waits on a node under NO_HWS, 0 for the default
 * @all_or_nothing: if one request fails, the others fail with it
 * @fast: stop with the shortest grace period
 * @moves: processes whose memory moves: the first kfd_preempt_move.node, or NULL
 * @evicts: their queues are evicted after the stops, otherwise restored before the
 *	starts
 * @start: when the call began
 * @pass_start: when the present node began to preempt, then to resume
 * @in_reset: a reset has the hardware of the present node; NO_HWS only (dqm lock)
 * @hw_ns: time spent on the hardware
 */
struct kfd_preempt_batch {
	struct kfd_preempt_req *reqs;
	unsigned int num;
	u32 timeout_ms;
	bool all_or_nothing;
	bool fast;
	struct llist_node *moves;
	bool evicts;
	ktime_t start;
	ktime_t pass_start;
	bool in_reset;
	u64 hw_ns;
};

#define kfd_preempt_for_each_move(pdd, batch) \
	llist_for_each_entry(pdd, (batch)->moves, preempt.move.node)

/* The requests of a batch to one node. */
#define kfd_preempt_for_each_req(req, batch, dqm)	\
	for (req = kfd_preempt_next_req(batch, dqm, (batch)->reqs); req;	\
	     req = kfd_preempt_next_req(batch, dqm, req + 1))

/**
 * struct kfd_preempt_node - what kfd_preempt keeps in a device_queue_manager
 * @list: in the list of nodes of kfd_preempt_nodes.c
 * @remap: maps the runlist again after that has failed
 * @recheck: rechecks the queues of @recheck_list
 * @recheck_list: queues that were preempted or resumed, oldest first (dqm lock)
 * @batch: the runlist is being sent for it, or NULL (dqm lock)
 * @degraded: KFD_PREEMPT_DEGRADED_* (dqm lock)
 * @late_fences: unmaps that were late or failed (dqm lock, as the next one)
 * @late_since: time of the first of them
 * @misses_packets: a queue that was mapped had not seen its packets (dqm lock)
 * @grace_checked: whether FAST reaches every XCC is known (dqm lock)
 * @hqd_regs: registers of each XCC, at most 16; 0 until they are known (dqm lock)
 */
struct kfd_preempt_node {
	struct list_head list;
	struct delayed_work remap;
	struct delayed_work recheck;
	struct list_head recheck_list;
	const struct kfd_preempt_batch *batch;
	u32 degraded;
	unsigned int late_fences;
	ktime_t late_since;
	bool misses_packets;
	bool grace_checked;
	struct {
		u32 mqd, wptr;
	} hqd_regs[16];
};

/* Hooks for the rest of amdkfd. */
bool kfd_preempt_cmd(unsigned int cmd);
long kfd_preempt_ioctl(struct file *filep, unsigned int cmd, unsigned long arg);
typedef int kfd_preempt_handler(struct file *filep, struct kfd_process *p, void *data);
int kfd_preempt_call(unsigned int cmd, kfd_preempt_handler *func, struct file *filep,
		     struct kfd_process *p, void *data);
struct device_queue_manager *kfd_preempt_dqm_init(struct device_queue_manager *dqm);
void kfd_preempt_dqm_fini(struct device_queue_manager *dqm);
bool kfd_preempt_sdma_has_hang(struct device_queue_manager *dqm);
void kfd_preempt_file_open(struct file *filep);
void kfd_preempt_file_release(struct file *filep);
void kfd_preempt_process_init(struct kfd_process *p);
void kfd_preempt_process_gone(struct kfd_process *p);
void kfd_preempt_process_fini(struct kfd_process *p);
bool kfd_preempt_doorbell_mmap(struct kfd_process_device *pdd,
			       struct vm_area_struct *vma, phys_addr_t address);
int kfd_preempt_doorbell_remap(struct kfd_process_device *pdd, phys_addr_t address,
			       struct vm_area_struct *vma, unsigned long start,
			       unsigned long pfn, unsigned long size, pgprot_t prot);
int kfd_preempt_queue_born(struct queue *q);
void kfd_preempt_queue_created(struct queue *q);
void kfd_preempt_queue_fini(struct queue *q);
void kfd_preempt_queue_lost(struct queue *q);
void kfd_preempt_node_add(struct device_queue_manager *dqm);
void kfd_preempt_node_lost(struct device_queue_manager *dqm);
void kfd_preempt_queue_updated(struct queue *q);
void kfd_preempt_pre_reset(void);
void kfd_preempt_suspended(struct amdgpu_device *adev);
void kfd_preempt_exit(void);
void kfd_preempt_queue_add_sysfs(struct queue *q);
ssize_t kfd_preempt_queue_show(const struct queue *q,
			       const struct attribute *attr, char *buf);

/* kfd_preempt_params.c */
extern int kfd_preempt_operator_mode;
extern int kfd_preempt_allow_reset;
extern int kfd_preempt_checkpoint_mode;
extern bool kfd_preempt_verify;
extern bool kfd_preempt_mes;
extern bool kfd_preempt_sdma;
extern bool kfd_preempt_by_doorbell;

bool kfd_preempt_enabled(void);

/* kfd_preempt_nodes.c */
u32 kfd_preempt_gpu_index(const struct kfd_process_device *pdd);
void kfd_preempt_node_remove(struct device_queue_manager *dqm);
void
kfd_preempt_nodes_visit(void (*visit)(struct device_queue_manager *dqm, void *data),
			void *data);

/* kfd_preempt_hw_recheck.c */
void kfd_preempt_recheck_cancel(struct queue *q);

/* kfd_preempt_degrade.c */
void kfd_preempt_degrade(struct device_queue_manager *dqm, u32 bit);
void kfd_preempt_count_fence(struct device_queue_manager *dqm,
			     const struct kfd_preempt_batch *batch, ktime_t start,
			     ktime_t end, bool failed);
bool kfd_preempt_is_given_up(const struct device_queue_manager *dqm);

/* kfd_preempt_caps.c */
u32 kfd_preempt_sched_mode(const struct device_queue_manager *dqm);
u32 kfd_preempt_type_mask(const struct device_queue_manager *dqm);
u64 kfd_preempt_node_caps(const struct device_queue_manager *dqm);
u64 kfd_preempt_any_caps(const struct kfd_process *p);
int kfd_preempt_do_query(struct file *filep, struct kfd_process *p, void *data);

/* kfd_preempt_batch.c */
struct kfd_preempt_req *kfd_preempt_next_req(const struct kfd_preempt_batch *batch,
					     const struct device_queue_manager *dqm,
					     const struct kfd_preempt_req *first);
void kfd_preempt_run(struct kfd_preempt_batch *batch);

/* kfd_preempt_bos.inc */
int kfd_preempt_bo_move(struct kgd_mem *mem, u32 domain, bool *mapped);

/* kfd_preempt_bos.c */
void kfd_preempt_bos_count(const struct kfd_process_device *pdd,
			   struct kfd_preempt_memory *memory);
int kfd_preempt_bos_charge(struct kfd_process_device *pdd, bool leave, u64 *bytes);
int kfd_preempt_bos_move(struct kfd_process_device *pdd, bool leave, u64 *moved,
			 bool *mapped);
void kfd_preempt_bos_settle(struct kfd_process_device *pdd);
bool kfd_preempt_bos_are_away(const struct kfd_process_device *pdd);
u32 kfd_preempt_bo_domain(const struct kgd_mem *mem);
u32 kfd_preempt_bo_charged(const struct kgd_mem *mem);

/* kfd_preempt_restore.inc */
bool kfd_preempt_restore_now(struct kfd_process *p);

/* kfd_preempt_memory.c */
bool kfd_preempt_memory_plan(struct kfd_preempt_batch *batch);
void kfd_preempt_memory_cancel(struct kfd_preempt_batch *batch);
void kfd_preempt_memory_move(struct kfd_preempt_batch *batch);
void kfd_preempt_memory_results(struct kfd_preempt_batch *batch);
void kfd_preempt_memory_return(struct kfd_preempt_batch *batch);
bool kfd_preempt_memory_waits(struct kfd_process *p);
void kfd_preempt_memory_look(struct kfd_process *p);
void kfd_preempt_memory_gone(struct kfd_process *p);
void kfd_preempt_memory_queue_created(struct queue *q);
void kfd_preempt_memory_status(const struct kfd_process_device *pdd,
			       struct kfd_ioctl_preempt_status_args *args);

/* kfd_preempt_switch.c */
int kfd_preempt_do_own_queue(struct file *filep, struct kfd_process *p, u32 op,
			     const struct kfd_ioctl_preempt_queue_args *args);
int kfd_preempt_do_switch(struct file *filep, struct kfd_process *p, void *data);

/* kfd_preempt_status.c */
u64 kfd_preempt_queue_uid(struct queue *q);
u32 kfd_preempt_queue_state(const struct queue *q);
u64 kfd_preempt_held_ns(const struct queue *q);
int kfd_preempt_do_status(struct file *filep, struct kfd_process *p, void *data);

/* kfd_preempt_doorbell.c */
void kfd_preempt_doorbell_file_release(struct file *filep);
void kfd_preempt_doorbells_unmap(struct kfd_process *p);
void kfd_preempt_doorbells_fini(struct kfd_process *p);

/* kfd_preempt_watch.c */
int kfd_preempt_do_watch(struct file *filep, struct kfd_ioctl_preempt_watch_args *args,
			 struct file **made);

/* kfd_preempt_watch_events.c */
void kfd_preempt_watch_rang(struct kfd_process_device *pdd, u32 doorbell);
void kfd_preempt_watch_process_gone(struct kfd_process *p);
void kfd_preempt_watch_queue_created(struct queue *q, const struct kfd_process_device *pdd);
void kfd_preempt_watch_queue_destroyed(struct queue *q);

/* kfd_preempt_indexes.c */
struct mm_struct *kfd_preempt_indexes_lock(const struct kfd_process *p);
void kfd_preempt_indexes_unlock(struct mm_struct *mm);
bool kfd_preempt_indexes_read(struct mm_struct *mm, unsigned long read_ptr,
			      unsigned long write_ptr, u64 *read, u64 *write);
u32 kfd_preempt_signal_read(struct mm_struct *mm, unsigned long ring, u64 bytes,
			    u64 write, s64 *value);

/* kfd_preempt_target.c */
void kfd_preempt_wait_for_operators(struct kfd_process *p);
unsigned int kfd_preempt_max_owners(bool self);
bool kfd_preempt_needs_mm(const struct kfd_process *p);
struct mm_struct *kfd_preempt_get_mm(const struct kfd_process *p);

/* kfd_preempt_process.c */
void kfd_preempt_process_file_release(struct file *filep);
void kfd_preempt_process_holds_fini(struct kfd_process *p);

/* kfd_preempt_checkpoint.c */
struct kfd_preempt_checkpoint *kfd_preempt_checkpoint_alloc(struct queue *q);
void kfd_preempt_checkpoint_take(struct mqd_manager *mqd_mgr,
				 struct kfd_preempt_req *req);
void kfd_preempt_checkpoint_restore(struct mqd_manager *mqd_mgr, struct queue *q);
void kfd_preempt_checkpoint_drop(struct kfd_preempt_req *req);

/* kfd_preempt_operators.c */
struct kfd_preempt_record;

void kfd_preempt_setter_init(struct kfd_preempt_setter *setter,
			     enum kfd_preempt_right right);
void kfd_preempt_setter_copy(struct kfd_preempt_setter *to,
			     const struct kfd_preempt_setter *from);
void kfd_preempt_setter_fini(struct kfd_preempt_setter *setter);
bool kfd_preempt_may_overrule(const struct kfd_preempt_setter *setter,
			      enum kfd_preempt_right right);
struct kfd_preempt_record *kfd_preempt_record_alloc(struct file *filep,
						    struct queue *q,
						    enum kfd_preempt_right right);
void kfd_preempt_record_free(struct kfd_preempt_record *rec);
void kfd_preempt_record_link(struct kfd_preempt_record *rec);
bool kfd_preempt_record_alloc_born(struct queue *q, struct hlist_head *records);
void kfd_preempt_record_link_born(struct hlist_head *records, struct file *filep,
				  const struct kfd_preempt_setter *setter);
void kfd_preempt_record_free_born(struct hlist_head *records);
bool kfd_preempt_record_exists(struct file *filep, struct queue *q);
bool kfd_preempt_record_is_last(struct file *filep, struct queue *q);
bool kfd_preempt_records_closed(struct queue *q);
bool kfd_preempt_records_overrulable(struct file *filep, struct queue *q,
				     enum kfd_preempt_right right);
void kfd_preempt_record_drop(struct file *filep, struct queue *q);
void kfd_preempt_record_drop_all(struct queue *q);
void kfd_preempt_operator_close(struct file *filep);

/* kfd_preempt_release.c */
void kfd_preempt_release_worker(struct work_struct *work);

/* kfd_preempt_schedule.c */
extern struct workqueue_struct *kfd_preempt_wq;

void kfd_preempt_release_schedule(struct kfd_process *p);
void kfd_preempt_vram_freed(void);
void kfd_preempt_release_begins(struct kfd_process *p);
void kfd_preempt_release_ended(struct kfd_process *p, bool again);
void kfd_preempt_release_init(struct kfd_process *p);
void kfd_preempt_release_cancel(struct kfd_process *p);

#endif /* KFD_PREEMPT_H */
