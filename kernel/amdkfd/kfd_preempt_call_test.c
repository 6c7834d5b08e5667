// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Calls as processes make them: errors, results of batches, permissions on
 * other processes, and the end of an operator.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/fdtable.h>

#include "kfd_preempt_target.h"

/**
 * struct caller - an operator, and its way to the process of fake_gpu
 * @p: its own process
 * @file: its file of /dev/kfd
 * @target_fd: a descriptor of a file of the other one
 * @entries: user memory
 */
struct caller {
	struct kfd_process *p;
	struct file *file;
	int target_fd;
	struct kfd_preempt_switch_entry __user *entries;
};

static struct caller *caller;

static int call_release(struct inode *inode, struct file *filep)
{
	kfd_preempt_file_release(filep);
	return 0;
}

static const struct file_operations call_fops = {
	.release = call_release,
};

static struct file *call_open(struct kunit *test, struct kfd_process *p)
{
	struct file *file = anon_inode_getfile("[kfd]", &call_fops, p, O_RDWR);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	return file;
}

static void caller_init(struct kunit *test)
{
	unsigned long addr;

	caller = fake_zalloc(test, sizeof(*caller));
	caller->target_fd = -1;
	caller->p = fake_zalloc(test, sizeof(*caller->p));
	kref_init(&caller->p->ref);
	mutex_init(&caller->p->mutex);
	caller->p->lead_thread = current;
	caller->file = call_open(test, caller->p);
	/* 0 would be no target. */
	caller->target_fd = get_unused_fd_flags(O_CLOEXEC);
	KUNIT_ASSERT_GE(test, caller->target_fd, 0);
	fd_install(caller->target_fd, call_open(test, fake->p));
	addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	caller->entries = (void __user *)addr;
}

/* Runs delayed fput() work before the memory is freed. */
static void caller_exit(struct kunit *test)
{
	if (caller && caller->target_fd >= 0)
		close_fd(caller->target_fd);
	if (caller && !IS_ERR_OR_NULL(caller->file))
		fput(caller->file);
	flush_delayed_fput();
	cancel_delayed_work_sync(&fake->p->preempt.release);
	/* One that is to be retried is in the list of the driver. */
	kfd_preempt_release_cancel(fake->p);
	fake_exit(test);
	caller = NULL;
}

static int call_switch(u32 flags, struct kfd_preempt_switch_entry *entries, u32 num)
{
	bool self = !(flags & KFD_PREEMPT_SWITCH_TARGET_FD);
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = flags,
		.target_fd = self ? 0 : caller->target_fd,
		.entries_ptr = (uintptr_t)caller->entries,
		.num_entries = num,
	};
	int ret;

	if (copy_to_user(caller->entries, entries, num * sizeof(*entries)))
		return -EFAULT;
	ret = kfd_preempt_do_switch(caller->file, self ? fake->p : caller->p, &args);
	if (copy_from_user(entries, caller->entries, num * sizeof(*entries)))
		return -EFAULT;
	return ret;
}

/* PREEMPT_QUEUE and RESUME_QUEUE of the process itself. */
static int fake_preempt_ms(int queue, u32 type, u32 timeout_ms)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = queue,
		.preempt_type = type,
		.timeout_ms = timeout_ms,
	};

	return kfd_preempt_do_own_queue(NULL, fake->p, KFD_PREEMPT_OP_PREEMPT, &args);
}

static int fake_preempt(int queue, u32 type)
{
	return fake_preempt_ms(queue, type, 0);
}

static int fake_resume(int queue)
{
	struct kfd_ioctl_preempt_queue_args args = { .queue_id = queue };

	return kfd_preempt_do_own_queue(NULL, fake->p, KFD_PREEMPT_OP_RESUME, &args);
}

/* One queue of the other process; the result of the call, or of its entry. */
static int call_operator(int queue, u16 op, u16 type, u32 flags)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = queue,
		.op = op,
		.preempt_type = type,
	};
	int ret = call_switch(flags | KFD_PREEMPT_SWITCH_TARGET_FD, &entry, 1);

	return ret ? ret : entry.result;
}

static int operator_preempt(int queue, u32 flags)
{
	return call_operator(queue, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE, flags);
}

static int operator_resume(int queue, u32 flags)
{
	return call_operator(queue, KFD_PREEMPT_OP_RESUME, 0, flags);
}

static void call_entry(struct kfd_preempt_switch_entry *e, int queue, u16 op)
{
	memset(e, 0, sizeof(*e));
	e->queue_id = queue;
	e->op = op;
	if (op == KFD_PREEMPT_OP_PREEMPT)
		e->preempt_type = KFD_PREEMPT_TYPE_SAVE;
}

static const u32 call_scheds[] = {
	KFD_PREEMPT_SCHED_HWS,
	KFD_PREEMPT_SCHED_NO_HWS,
	KFD_PREEMPT_SCHED_MES,
};

static void call_sched_desc(const u32 *sched, char *desc)
{
	static const char * const names[] = { "HWS", "", "NO_HWS", "MES" };

	strscpy(desc, names[*sched], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(call_sched, call_scheds, call_sched_desc);

static int call_init(struct kunit *test)
{
	const u32 *sched = test->param_value;

	fake_init(test, sched ? *sched : KFD_PREEMPT_SCHED_HWS);
	caller_init(test);
	return 0;
}

static void call_all_or_nothing_test(struct kunit *test)
{
	struct kfd_preempt_switch_entry e[3];
	int i;

	call_entry(&e[0], 2, KFD_PREEMPT_OP_PREEMPT);
	KUNIT_ASSERT_EQ(test, call_switch(0, e, 1), 0);
	fake_forget();
	/* Refused with the lock held: the plan of the call has no objection. */
	fake->queues[1]->properties.is_being_destroyed = true;
	call_entry(&e[0], 0, KFD_PREEMPT_OP_PREEMPT);
	call_entry(&e[1], 1, KFD_PREEMPT_OP_PREEMPT);
	call_entry(&e[2], 2, KFD_PREEMPT_OP_RESUME);
	KUNIT_EXPECT_EQ(test, call_switch(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, e, 3), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, e[i].result, -EBUSY);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
	KUNIT_EXPECT_EQ(test, fake->queues[0]->properties.preempt_holds, 0);
	KUNIT_EXPECT_EQ(test, fake->queues[2]->properties.preempt_holds, SELF);
	fake_check(test);

	/* Refused by the plan. */
	fake->queues[1]->properties.is_being_destroyed = false;
	call_entry(&e[0], 0, KFD_PREEMPT_OP_PREEMPT);
	call_entry(&e[1], 77, KFD_PREEMPT_OP_PREEMPT);
	KUNIT_EXPECT_EQ(test, call_switch(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, e, 2), 0);
	KUNIT_EXPECT_EQ(test, e[0].result, -EBUSY);
	KUNIT_EXPECT_EQ(test, e[1].result, -ENOENT);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
	fake_check(test);
}

static void call_close(void)
{
	fput(caller->file);
	caller->file = NULL;
	flush_delayed_fput();
}

/* Waits until the worker has resumed all that an operator held. */
static void call_expect_released(struct kunit *test)
{
	unsigned int i, tries;
	u32 held = OPERATOR;

	for (tries = 0; tries < 500 && held & OPERATOR; tries++) {
		msleep(20);
		for (i = 0, held = 0; i < FAKE_QUEUES; i++)
			held |= READ_ONCE(fake->queues[i]->properties.preempt_holds);
	}
	/* It may be about to unlock the process. */
	flush_delayed_work(&fake->p->preempt.release);
	KUNIT_EXPECT_FALSE(test, held & OPERATOR);
}

/* The end of an operator's file: its hold goes, a sticky one stays. */
static void call_close_test(struct kunit *test)
{
	struct queue_properties *props = &fake->queues[1]->properties;

	KUNIT_EXPECT_EQ(test, operator_preempt(1, 0), 0);
	KUNIT_EXPECT_EQ(test, operator_preempt(2, KFD_PREEMPT_SWITCH_STICKY), 0);
	call_close();
	call_expect_released(test);
	KUNIT_EXPECT_EQ(test, props->preempt_holds, 0);
	KUNIT_EXPECT_TRUE(test, props->is_active);
	KUNIT_EXPECT_EQ(test, fake->queues[2]->properties.preempt_holds, STICKY);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&fake->queues[1]->preempt.records));
	fake_check(test);
}

/* Its queues start again even if they cannot at once, for any reason. */
static void call_close_fails_test(struct kunit *test)
{
	enum fake_op start = fake->sched == KFD_PREEMPT_SCHED_HWS ? FAKE_RUNLIST : FAKE_LOAD;
	unsigned int i, tries;

	if (fake->sched == KFD_PREEMPT_SCHED_MES)
		return; /* which never fails without losing the GPU */
	/* All of them, so that there is no runlist any more. */
	for (i = 0; i < FAKE_QUEUES; i++)
		KUNIT_EXPECT_EQ(test, operator_preempt(i, 0), 0);
	fake_forget();
	fake_fails(start, 0, -ENOMEM);
	call_close();
	for (tries = 0; tries < 500 && fake_count(start) < FAKE_QUEUES; tries++)
		msleep(20);
	fake_forget();
	call_expect_released(test);
	fake_check(test);
}

/* A lost queue: its records go with it, the operator's file outlives them. */
static void call_destroy_test(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, operator_preempt(1, 0), 0);
	KUNIT_EXPECT_FALSE(test, hlist_empty(&fake->queues[1]->preempt.records));
	kfd_preempt_queue_fini(fake->queues[1]);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&fake->queues[1]->preempt.records));
	kfd_preempt_queue_fini(NULL);
}

/* Properties of the caller; a combination of them is a bit number below. */
#define CALL_CAPABLE BIT(0)
#define CALL_BY_FD BIT(1)
#define CALL_SAME_USER BIT(2)
#define CALL_WHO 8

/* By operator_mode: bit n is set if a caller with combination n is allowed. */
static const u8 call_may_stop[] = { 0x00, 0xaa, 0xee, 0xfe };
static const u8 call_may_look[] = { 0xaa, 0xaa, 0xee, 0xfe };

static const struct cred *call_cred(struct kunit *test, u32 uid, bool capable)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->uid = KUIDT_INIT(uid);
	cred->euid = cred->uid;
	cred->suid = cred->uid;
	cap_clear(cred->cap_effective);
	if (capable)
		cap_raise(cred->cap_effective, CAP_SYS_PTRACE);
	return cred;
}

static void call_authorize(struct kunit *test, u32 who, bool preempts, bool expected)
{
	struct kfd_preempt_target target = {
		.p = fake->p,
		.by_fd = who & CALL_BY_FD,
		.preempts = preempts,
	};
	struct kfd_preempt_targets targets = { .self = caller->p };
	const struct cred *mine, *theirs, *old;

	mine = call_cred(test, 1000, who & CALL_CAPABLE);
	theirs = call_cred(test, who & CALL_SAME_USER ? 1000 : 2000, false);
	rcu_assign_pointer(fake->task->real_cred, theirs);
	old = override_creds(mine);
	kfd_preempt_target_authorize(&targets, &target);
	revert_creds(old);
	KUNIT_EXPECT_EQ_MSG(test, target.err, expected ? 0 : -EPERM,
			    "operator_mode %d, who %u, %s", kfd_preempt_operator_mode, who,
			    preempts ? "preempts" : "looks");
	rcu_assign_pointer(fake->task->real_cred, current_cred());
	put_cred(mine);
	put_cred(theirs);
}

static void call_permission_test(struct kunit *test)
{
	struct kfd_preempt_targets targets = { .self = fake->p };
	struct kfd_preempt_target own = { .p = fake->p, .preempts = true };
	int was_mode = kfd_preempt_operator_mode;
	u32 mode, who;

	for (mode = 0; mode < ARRAY_SIZE(call_may_stop); mode++) {
		kfd_preempt_operator_mode = mode;
		for (who = 0; who < CALL_WHO; who++) {
			call_authorize(test, who, true, call_may_stop[mode] & BIT(who));
			call_authorize(test, who, false, call_may_look[mode] & BIT(who));
		}
	}
	/* One's own process is always one's own. */
	kfd_preempt_operator_mode = 0;
	kfd_preempt_target_authorize(&targets, &own);
	KUNIT_EXPECT_EQ(test, own.err, 0);
	KUNIT_EXPECT_EQ(test, operator_preempt(1, 0), -EPERM);
	kfd_preempt_operator_mode = was_mode;
}

static int call_count(struct file *filep, struct kfd_process *p, void *count)
{
	++*(int *)count;
	return 0;
}

/* Calls of a process wait for its operators, a second at most; WAIT_EVENTS does not. */
static void call_waits_test(struct kunit *test)
{
	struct kfd_preempt_p *pp = &fake->p->preempt;
	ktime_t start = ktime_get();
	int count = 0;

	KUNIT_EXPECT_EQ(test, kfd_preempt_call(0, call_count, NULL, fake->p, &count), 0);
	atomic_inc(&pp->waiters);
	KUNIT_EXPECT_EQ(test, kfd_preempt_call(AMDKFD_IOC_WAIT_EVENTS, call_count, NULL,
					       fake->p, &count), 0);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 900LL);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, kfd_preempt_call(0, call_count, NULL, fake->p, &count), 0);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 900LL);
	KUNIT_EXPECT_EQ(test, count, 3);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), 0);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 900LL);
	atomic_dec(&pp->waiters);

	/* An operator that has waited is counted no longer. */
	mutex_lock(&fake->p->mutex);
	KUNIT_EXPECT_EQ(test, operator_preempt(2, 0), -EBUSY);
	mutex_unlock(&fake->p->mutex);
	KUNIT_EXPECT_EQ(test, atomic_read(&pp->waiters), 0);
	fake_check(test);
}

static struct kunit_case call_kunit_cases[] = {
	KUNIT_CASE_PARAM(call_all_or_nothing_test, call_sched_gen_params),
	KUNIT_CASE_PARAM(call_close_test, call_sched_gen_params),
	KUNIT_CASE_PARAM(call_close_fails_test, call_sched_gen_params),
	KUNIT_CASE_PARAM(call_destroy_test, call_sched_gen_params),
	KUNIT_CASE(call_permission_test),
	KUNIT_CASE(call_waits_test),
	{}
};

static struct kunit_suite kfd_preempt_call_suite = {
	.name = "kfd_preempt_call",
	.init = call_init,
	.exit = caller_exit,
	.test_cases = call_kunit_cases,
};
