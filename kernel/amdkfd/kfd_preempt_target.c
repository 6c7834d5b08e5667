// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Finds, authorizes and locks the processes that a preemption call acts on. */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait.h>

#include "kfd_preempt_target.h"

/* Bound of the wait for other processes in a call that names none. */
#define LOCK_TIMEOUT_MS 100

/* Targets of a call are locked for no longer while others of it are missing. */
#define ROUND_US 1000

/* Bound of the wait of a call of a process for the operators of that process. */
#define OWN_CALL_TIMEOUT_MS 1000

/**
 * kfd_preempt_needs_mm - whether queues of a process are loaded by the driver
 * @p: the process; the caller holds its mutex
 *
 * load_mqd() reads the write pointer from user memory, which takes the address
 * space. Firmware reads it through the GPU's page tables.
 *
 * Return: true if a node of the process has no firmware scheduler.
 */
bool kfd_preempt_needs_mm(const struct kfd_process *p)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++)
		if (p->pdds[i]->drm_priv &&
		    p->pdds[i]->dev->dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS)
			return true;
	return false;
}

/**
 * kfd_preempt_get_mm - address space of a process
 * @p: the process
 *
 * Any thread will do: the leader has no mm after pthread_exit().
 *
 * Return: the mm, to be dropped by mmput_async(), or NULL if the process exits
 * or has called exec.
 */
struct mm_struct *kfd_preempt_get_mm(const struct kfd_process *p)
{
	struct mm_struct *mm = NULL;
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread(p->lead_thread, t) {
		mm = get_task_mm(t);
		if (mm)
			break;
	}
	rcu_read_unlock();
	if (mm && mm != p->mm) {
		mmput_async(mm);
		mm = NULL;
	}
	return mm;
}

/* KFD finds a process by the mm of a thread, so choose one that has an mm. */
static struct kfd_process *process_by_leader(struct task_struct *leader)
{
	struct kfd_process *p = NULL;
	struct task_struct *t;
	struct pid *pid;

	rcu_read_lock();
	for_each_thread(leader, t) {
		pid = task_pid(t);
		/* NULL would be the caller's own process. */
		if (pid && READ_ONCE(t->mm))
			p = kfd_lookup_process_by_pid(pid);
		if (p)
			break;
	}
	rcu_read_unlock();
	return p;
}

static struct kfd_process *process_by_pid(s32 pid)
{
	struct kfd_process *p = NULL;
	struct task_struct *leader;
	struct pid *spid;

	spid = find_get_pid(pid);
	if (!spid)
		return ERR_PTR(-ESRCH);
	leader = get_pid_task(spid, PIDTYPE_TGID);
	if (leader) {
		p = process_by_leader(leader);
		put_task_struct(leader);
	}
	/* A vfork child has the same mm, but is not the process. */
	if (p && task_pid(p->lead_thread) != spid) {
		kfd_unref_process(p);
		p = NULL;
	}
	put_pid(spid);
	return p ? p : ERR_PTR(-ESRCH);
}

static struct kfd_process *process_by_fd(const struct file_operations *fops, int fd)
{
	struct kfd_process *p = ERR_PTR(-EBADF);
	struct file *file = fget(fd);

	if (!file)
		return p;
	if (file->f_op == fops)
		p = kfd_preempt_get_process(file);
	fput(file);
	return p;
}

/**
 * kfd_preempt_target_add - find a process to act on
 * @targets: the list to which it is added, unless it is there already
 * @flags: TARGET_FD, TARGET_PID, or neither for the caller's own process
 * @fd: of a file of /dev/kfd
 * @pid: in the caller's pid namespace
 *
 * The reference lasts for one call: a longer one would keep the memory of a
 * dead process pinned.
 *
 * Return: the target, -EBADF or -ESRCH.
 */
struct kfd_preempt_target *
kfd_preempt_target_add(struct kfd_preempt_targets *targets, u32 flags, int fd,
		       s32 pid)
{
	bool by_fd = flags & KFD_PREEMPT_SWITCH_TARGET_FD;
	struct kfd_preempt_target *target;
	struct kfd_process *p = targets->self;
	unsigned int i;

	if (by_fd)
		p = process_by_fd(targets->fops, fd);
	else if (flags & KFD_PREEMPT_SWITCH_TARGET_PID)
		p = process_by_pid(pid);
	else
		kref_get(&p->ref);
	if (IS_ERR(p))
		return ERR_CAST(p);

	for (i = 0; i < targets->num; i++)
		if (targets->list[i].p == p)
			break;
	target = &targets->list[i];
	if (i < targets->num) {
		kfd_unref_process(p);
	} else {
		target->p = p;
		targets->num++;
	}
	target->by_fd |= by_fd;
	return target;
}

/* The rule of kill(2): real or effective uid equals real or saved uid. */
static bool same_user(const struct cred *cred, const struct cred *tcred)
{
	return uid_eq(cred->euid, tcred->suid) ||
	       uid_eq(cred->euid, tcred->uid) ||
	       uid_eq(cred->uid, tcred->suid) ||
	       uid_eq(cred->uid, tcred->uid);
}

/*
 * As ptrace_may_access() has it: a process of the host that has entered a
 * container's user namespace has that namespace's credentials, but until it
 * calls exec it has memory of the host.
 */
static int may_trace(const struct kfd_process *p, const struct cred *tcred)
{
	if (!ns_capable(tcred->user_ns, CAP_SYS_PTRACE))
		return -EPERM;
	return tcred->user_ns == &init_user_ns ? 0 : kfd_preempt_may_trace_memory(p);
}

/**
 * kfd_preempt_max_owners - how many watches or records the caller may let one
 * process or queue have
 * @self: the caller acts on its own process
 *
 * A tenant can give its processes and queues many of both. Some are reserved for
 * operators of the host. In modes 2 and 3 tenants trust each other.
 *
 * Return: the number.
 */
unsigned int kfd_preempt_max_owners(bool self)
{
	if (!self && (kfd_preempt_operator_mode > 1 || capable(CAP_SYS_PTRACE)))
		return KFD_PREEMPT_MAX_OWNERS;
	return KFD_PREEMPT_MAX_OWNERS - KFD_PREEMPT_RESERVED_OWNERS;
}

/**
 * kfd_preempt_target_authorize - decide whether the caller may act on a process
 * @targets: the call, with its caller
 * @target: that process, already found: its pid may have been reused, so the
 *	credentials of the process count. Sets @target->right, or @target->err
 *	to -EPERM, or to -ESRCH if the process is about to end or has called exec
 */
void kfd_preempt_target_authorize(const struct kfd_preempt_targets *targets,
				  struct kfd_preempt_target *target)
{
	const struct cred *tcred;
	int err = -EPERM;

	if (target->p == targets->self)
		return;
	tcred = get_task_cred(target->p->lead_thread);
	if (kfd_preempt_operator_mode > 0 || !target->preempts)
		err = may_trace(target->p, tcred);
	if (!err)
		target->right = KFD_PREEMPT_BY_CAPABILITY;
	else if (kfd_preempt_operator_mode >= 2 && target->by_fd)
		target->right = KFD_PREEMPT_BY_FILE;
	else if (kfd_preempt_operator_mode >= 3 && same_user(current_cred(), tcred))
		target->right = KFD_PREEMPT_BY_USER;
	else
		target->err = err;
	put_cred(tcred);
}

/* Checks that need the mutex of the process; gets its mm if the driver loads its queues. */
static void enter_target(const struct kfd_preempt_targets *targets,
			 struct kfd_preempt_target *target)
{
	/*
	 * exec has replaced the address space of the queues, or the process
	 * exits.
	 */
	if (!READ_ONCE(target->p->mm)) {
		target->err = -ESRCH;
		return;
	}
	if (!kfd_preempt_needs_mm(target->p))
		return;
	if (target->p == targets->self)
		target->mm = current->mm;
	else
		target->mm = kfd_preempt_get_mm(target->p);
	if (!target->mm || target->mm != target->p->mm)
		target->err = -ESRCH;
}

/* Try the targets that are not locked. Returns true once all are. */
static bool try_targets(struct kfd_preempt_targets *targets)
{
	struct kfd_preempt_target *target;
	bool all = true;
	unsigned int i;

	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		if (target->err || target->locked)
			continue;
		target->locked = mutex_trylock(&target->p->mutex);
		all &= target->locked;
	}
	return all;
}

static void unlock_all(struct kfd_preempt_targets *targets)
{
	struct kfd_preempt_target *target;
	unsigned int i;

	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		if (target->locked)
			mutex_unlock(&target->p->mutex);
		target->locked = false;
	}
}

/* The caller waits for its own threads without a bound, with nothing else held. */
static int lock_self(struct kfd_preempt_targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->num; i++) {
		if (targets->list[i].p != targets->self || targets->list[i].err)
			continue;
		if (mutex_lock_interruptible(&targets->self->mutex))
			return -EINTR;
		targets->list[i].locked = true;
	}
	return 0;
}

/*
 * Collects locks for at most ROUND_US, so that busy targets need not be free at
 * the same moment. Returns 1 once all are locked, 0, or -EINTR.
 */
static int lock_round(struct kfd_preempt_targets *targets)
{
	int ret = lock_self(targets);
	ktime_t end;

	if (ret)
		return ret;
	end = ktime_add_us(ktime_get(), ROUND_US);
	while (!try_targets(targets)) {
		if (ktime_after(ktime_get(), end))
			return 0;
		usleep_range(20, 50);
	}
	return 1;
}

/* Counts the caller among the operators that wait for a target, or no longer. */
static void set_waits(struct kfd_preempt_target *target, bool waits)
{
	struct kfd_preempt_p *pp = &target->p->preempt;

	if (target->waits == waits)
		return;
	target->waits = waits;
	if (waits)
		atomic_inc(&pp->waiters);
	else if (atomic_dec_and_test(&pp->waiters))
		wake_up_all(&pp->room);
}

/*
 * After a round that has failed: no call of a missing target starts. At first that
 * includes targets that were missing in an earlier round, or two of them could be
 * missing by turns. Later only the last one, because a target that keeps its own
 * mutex locked must not slow the others down for long.
 */
static void stop_calls_of_missing(struct kfd_preempt_targets *targets, bool late)
{
	struct kfd_preempt_target *target;
	unsigned int i, num = 0;
	bool missing;

	for (i = 0; i < targets->num; i++)
		num += !targets->list[i].err && !targets->list[i].locked;
	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		missing = !target->err && !target->locked;
		if (late)
			set_waits(target, missing && num == 1);
		else if (missing)
			set_waits(target, true);
	}
}

/**
 * kfd_preempt_wait_for_operators - let operators that wait for a process lock it first
 * @p: the process of the caller, which holds no lock
 *
 * Threads that sleep for a mutex hand it to each other. An operator only tries it,
 * and would never get that of a process whose threads call KFD without pause.
 *
 * Returns after at most a second, so that no stream of operators blocks the process,
 * and at once in a thread that is killed.
 */
void kfd_preempt_wait_for_operators(struct kfd_process *p)
{
	struct kfd_preempt_p *pp = &p->preempt;

	wait_event_killable_timeout(pp->room, !atomic_read(&pp->waiters),
				    msecs_to_jiffies(OWN_CALL_TIMEOUT_MS));
}

static void give_up(struct kfd_preempt_targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->num; i++)
		if (!targets->list[i].err && !targets->list[i].locked)
			targets->list[i].err = -EBUSY;
}

/**
 * kfd_preempt_targets_lock - lock all processes that can be acted on
 * @targets: those; one that is gone gets -ESRCH as its error
 * @timeout_ms: bound of the wait for other processes, 0 for 100 ms; one that is
 *	still locked then gets -EBUSY, and the others are locked
 *
 * A process can keep its own mutex locked without limit, and two that take
 * theirs in turns keep a caller from ever having both. Between rounds nothing is
 * held, so that no target waits for another one. Meanwhile calls of the missing
 * targets do not start, and neither does this one while an operator waits for its
 * own process: it waits before it lets others wait.
 *
 * Return: 0, or -EINTR with nothing locked.
 */
int kfd_preempt_targets_lock(struct kfd_preempt_targets *targets, u32 timeout_ms)
{
	ktime_t start, end;
	unsigned int i;
	bool last;
	int ret;

	for (i = 0; i < targets->num; i++)
		if (targets->list[i].p == targets->self)
			kfd_preempt_wait_for_operators(targets->self);
	start = ktime_get();
	end = ktime_add_ms(start, timeout_ms ?: LOCK_TIMEOUT_MS);
	for (;;) {
		last = ktime_after(ktime_get(), end);
		ret = lock_round(targets);
		if (ret || last)
			break;
		stop_calls_of_missing(targets,
				      ktime_ms_delta(ktime_get(), start) > LOCK_TIMEOUT_MS);
		unlock_all(targets);
		if (signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		usleep_range(500, 1000);
	}
	for (i = 0; i < targets->num; i++)
		set_waits(&targets->list[i], false);
	if (ret < 0) {
		unlock_all(targets);
		return ret;
	}
	give_up(targets);
	for (i = 0; i < targets->num; i++)
		if (targets->list[i].locked)
			enter_target(targets, &targets->list[i]);
	return 0;
}

/**
 * kfd_preempt_targets_unlock - undo kfd_preempt_targets_lock()
 * @targets: what was locked
 */
void kfd_preempt_targets_unlock(struct kfd_preempt_targets *targets)
{
	struct kfd_preempt_target *target;
	unsigned int i;

	unlock_all(targets);
	for (i = 0; i < targets->num; i++) {
		target = &targets->list[i];
		/* Not mmput(): the last one runs MMU notifiers, which sleep. */
		if (target->mm && target->p != targets->self)
			mmput_async(target->mm);
		target->mm = NULL;
	}
}

/**
 * kfd_preempt_targets_put - drop the references
 * @targets: not locked any more
 */
void kfd_preempt_targets_put(struct kfd_preempt_targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->num; i++)
		kfd_unref_process(targets->list[i].p);
	targets->num = 0;
}
