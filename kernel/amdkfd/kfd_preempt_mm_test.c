// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The address space of a process that dies while its queues are restored: its
 * last reference must not be dropped with the dqm lock held, for the MMU
 * notifiers that this calls evict queues.
 */
#include <linux/completion.h>
#include <linux/mmu_notifier.h>

static struct mmu_notifier mm_notifier;
static struct mm_struct *mm_dying;
static DECLARE_COMPLETION(mm_released);
static bool mm_locked_then;

static void mm_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	/* KFD's notifiers take this lock. In this test only the restore holds it. */
	mm_locked_then = mutex_is_locked(&fake->dqm->lock_hidden);
	complete(&mm_released);
}

static const struct mmu_notifier_ops mm_notifier_ops = {
	.release = mm_release,
};

/* The process exits while its queue is being loaded. */
static int mm_load_mqd(struct mqd_manager *mm, void *mqd, u32 pipe, u32 queue,
		       struct queue_properties *p, struct mm_struct *mms)
{
	struct mm_struct *dying = mm_dying;

	mm_dying = NULL;
	if (dying)
		mmput(dying);
	return fake_load_mqd(mm, mqd, pipe, queue, p, mms);
}

static void mm_restore_test(struct kunit *test)
{
	struct mm_struct *mm;

	fake_init(test, KFD_PREEMPT_SCHED_NO_HWS);
	KUNIT_ASSERT_EQ(test, evict_process_queues_nocpsch(fake->dqm, &fake->pdd->qpd), 0);

	reinit_completion(&mm_released);
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	mm_notifier.ops = &mm_notifier_ops;
	KUNIT_ASSERT_EQ(test, mmu_notifier_register(&mm_notifier, mm), 0);
	mm_dying = mm;
	fake->task->mm = mm;
	fake->p->mm = mm;
	fake->mqd_mgr->load_mqd = mm_load_mqd;

	KUNIT_EXPECT_EQ(test, restore_process_queues_nocpsch(fake->dqm, &fake->pdd->qpd), 0);
	KUNIT_EXPECT_NULL(test, mm_dying);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&mm_released, 10 * HZ), 0);
	KUNIT_EXPECT_FALSE(test, mm_locked_then);
	mmu_notifier_unregister(&mm_notifier, mm);
	fake->p->mm = current->mm;
	fake_check(test);
}

static struct kunit_case mm_kunit_cases[] = {
	KUNIT_CASE(mm_restore_test),
	{}
};

static struct kunit_suite kfd_preempt_mm_suite = {
	.name = "kfd_preempt_mm",
	.exit = fake_exit,
	.test_cases = mm_kunit_cases,
};
