// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The MES: the calls that it gets, their order, and the effects of a failed
 * one.
 */

static int mes_init(struct kunit *test)
{
	fake_init(test, KFD_PREEMPT_SCHED_MES);
	return 0;
}

static void mes_expect_call(struct kunit *test, unsigned int n, enum fake_op op,
			    int queue)
{
	KUNIT_ASSERT_LT(test, n, fake->num_calls);
	KUNIT_EXPECT_EQ_MSG(test, fake->calls[n].op, op, "call %u", n);
	KUNIT_EXPECT_EQ_MSG(test, fake->calls[n].queue, queue, "call %u", n);
}

/* Preempts @preempts and resumes @resumes, bit masks of queues. */
static void mes_run(struct kfd_preempt_req *reqs, u32 preempts, u32 resumes,
		    bool all_or_nothing)
{
	struct kfd_preempt_batch batch = {
		.reqs = reqs,
		.all_or_nothing = all_or_nothing,
	};
	unsigned int i;

	memset(reqs, 0, FAKE_QUEUES * sizeof(*reqs));
	for (i = 0; i < FAKE_QUEUES; i++) {
		struct kfd_preempt_req *req = &reqs[batch.num];

		if (!((preempts | resumes) & BIT(i)))
			continue;
		req->q = fake->queues[i];
		req->mm = current->mm;
		req->type = KFD_PREEMPT_TYPE_SAVE;
		if (preempts & BIT(i))
			req->set = SELF;
		else
			req->clear = SELF;
		batch.num++;
	}
	kfd_preempt_run(&batch);
}

static void mes_query_test(struct kunit *test)
{
	u64 caps = kfd_preempt_node_caps(fake->dqm);

	KUNIT_EXPECT_EQ(test, kfd_preempt_sched_mode(fake->dqm), KFD_PREEMPT_SCHED_MES);
	KUNIT_EXPECT_EQ(test, kfd_preempt_type_mask(fake->dqm), BIT(KFD_PREEMPT_TYPE_SAVE));
	KUNIT_EXPECT_TRUE(test, caps & KFD_PREEMPT_CAP_SAVE);
	KUNIT_EXPECT_TRUE(test, caps & KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE);
	KUNIT_EXPECT_FALSE(test, caps & (KFD_PREEMPT_CAP_DRAIN | KFD_PREEMPT_CAP_RESET |
					 KFD_PREEMPT_CAP_FAST | KFD_PREEMPT_CAP_CHECKPOINT |
					 KFD_PREEMPT_CAP_RESUME_IS_ASYNC |
					 KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP));
}

/* The MES gets no call unless that is enabled, and none after a failed one. */
static void mes_off_test(struct kunit *test)
{
	kfd_preempt_mes = false;
	KUNIT_EXPECT_EQ(test, kfd_preempt_type_mask(fake->dqm), 0);
	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), -EOPNOTSUPP);
	kfd_preempt_mes = true;
	dqm_lock(fake->dqm);
	kfd_preempt_degrade(fake->dqm, KFD_PREEMPT_DEGRADED_MES);
	dqm_unlock(fake->dqm);
	KUNIT_EXPECT_EQ(test, kfd_preempt_type_mask(fake->dqm), 0);
	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
	fake_check(test);
}

static void mes_batch_test(struct kunit *test)
{
	struct kfd_preempt_req reqs[FAKE_QUEUES];
	int i;

	mes_run(reqs, BIT(2), 0, false);
	fake_forget();
	/* Stops come first, whatever the order of the batch. */
	mes_run(reqs, BIT(1) | BIT(3), BIT(2), false);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 3);
	mes_expect_call(test, 0, FAKE_REMOVE, 1);
	mes_expect_call(test, 1, FAKE_REMOVE, 3);
	mes_expect_call(test, 2, FAKE_ADD, 2);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, reqs[i].result, 0);
	KUNIT_EXPECT_EQ(test, fake->dqm->active_queue_count, 2);
	fake_check(test);

	fake_forget();
	mes_run(reqs, BIT(1), BIT(2), false);
	KUNIT_EXPECT_EQ_MSG(test, fake->num_calls, 0, "nothing changes");
	fake_check(test);
}

/* The device is lost: no other call follows the failed one. */
static void mes_remove_fails_test(struct kunit *test)
{
	struct kfd_preempt_req reqs[FAKE_QUEUES];
	int i;

	fake_fails(FAKE_REMOVE, 1, -ETIMEDOUT);
	mes_run(reqs, BIT(0) | BIT(1) | BIT(2), 0, false);
	flush_work(&fake->dqm->hw_exception_work);
	KUNIT_EXPECT_EQ(test, fake->resets, 1);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 2);
	mes_expect_call(test, 0, FAKE_REMOVE, 0);
	mes_expect_call(test, 1, FAKE_REMOVE, 1);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, reqs[i].result, -EIO);
	for (i = 0; i < FAKE_QUEUES; i++)
		KUNIT_EXPECT_TRUE(test, fake->queues[i]->properties.preempt_holds & DEAD);
	KUNIT_EXPECT_EQ(test, fake->queues[1]->properties.preempt_holds, SELF | DEAD);
	KUNIT_EXPECT_FALSE(test, fake->queues[1]->properties.is_active);
	KUNIT_EXPECT_EQ(test, fake->queues[1]->preempt.failures, 1);
	KUNIT_EXPECT_EQ(test, fake->dqm->preempt.degraded, KFD_PREEMPT_DEGRADED_MES);
	/* KFD gives up the queues that were not part of the call. */
	KUNIT_EXPECT_EQ(test, fake->dqm->active_queue_count, 2);

	fake_forget();
	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), -EIO);
	KUNIT_EXPECT_EQ(test, fake_resume(1), -EIO);
	KUNIT_EXPECT_EQ(test, table_evict(fake->queues[1], true), 0);
	KUNIT_EXPECT_EQ(test, table_evict(fake->queues[1], false), 0);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
}

static void mes_add_fails_test(struct kunit *test)
{
	struct queue *q = fake->queues[1];

	KUNIT_ASSERT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), 0);
	fake_forget();
	fake_fails(FAKE_ADD, 0, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, fake_resume(1), -EIO);
	flush_work(&fake->dqm->hw_exception_work);
	KUNIT_EXPECT_EQ(test, fake->resets, 1);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 1);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, SELF | DEAD);
	KUNIT_EXPECT_FALSE(test, q->properties.is_active);
	KUNIT_EXPECT_EQ(test, q->preempt.resumes, 0);
	KUNIT_EXPECT_EQ(test, fake->dqm->active_queue_count, FAKE_QUEUES - 1);

	fake_forget();
	KUNIT_EXPECT_EQ(test, fake_resume(1), -EIO);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
}

/* A refused stop undoes those that were made. */
static void mes_all_or_nothing_test(struct kunit *test)
{
	struct kfd_preempt_req reqs[FAKE_QUEUES];
	int i;

	mes_run(reqs, BIT(3), 0, false);
	fake_forget();
	fake->queues[2]->properties.is_being_destroyed = true;
	mes_run(reqs, BIT(0) | BIT(1) | BIT(2), BIT(3), true);
	for (i = 0; i < FAKE_QUEUES; i++) {
		KUNIT_EXPECT_EQ(test, reqs[i].result, -EBUSY);
		KUNIT_EXPECT_EQ(test, fake->queues[i]->properties.preempt_holds,
				i == 3 ? SELF : 0);
	}
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
	fake_check(test);
}

/*
 * A reset that begins between two calls waits for the first one to end, and no
 * further call is made. A queue that was stopped stays held, with result 0; the
 * reset will mark it.
 */
static struct task_struct *mes_reset_thread;

static int mes_reset(void *data)
{
	struct rw_semaphore *sem = data;

	down_write(sem);
	up_write(sem);
	return 0;
}

static int mes_remove_meets_reset(struct amdgpu_mes *mes,
				  struct mes_remove_queue_input *input)
{
	struct rw_semaphore *sem = &fake->adev->reset_domain->sem;

	if (!mes_reset_thread) {
		mes_reset_thread = kthread_run(mes_reset, sem, "mes_reset");
		if (IS_ERR(mes_reset_thread))
			return PTR_ERR(mes_reset_thread);
		while (!rwsem_is_contended(sem))
			usleep_range(100, 200);
	}
	return fake_remove_hw_queue(mes, input);
}

static void mes_reset_between_test(struct kunit *test)
{
	static const struct amdgpu_mes_funcs funcs = {
		.add_hw_queue = fake_add_hw_queue,
		.remove_hw_queue = mes_remove_meets_reset,
	};
	struct kfd_preempt_req reqs[FAKE_QUEUES];

	mes_reset_thread = NULL;
	fake->adev->mes.funcs = &funcs;
	mes_run(reqs, BIT(0) | BIT(1), 0, true);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 1);
	KUNIT_EXPECT_EQ(test, reqs[0].result, 0);
	KUNIT_EXPECT_EQ(test, fake->queues[0]->properties.preempt_holds, SELF);
	KUNIT_EXPECT_EQ(test, reqs[1].result, -EBUSY);
	KUNIT_EXPECT_EQ(test, fake->queues[1]->properties.preempt_holds, 0);
	fake_check(test);
	/* The thread may still be on its way out of the semaphore. */
	down_write(&fake->adev->reset_domain->sem);
	up_write(&fake->adev->reset_domain->sem);
	KUNIT_EXPECT_EQ(test, fake->resets, 0);
}

/* Counters of STATUS. */
static void mes_status_test(struct kunit *test)
{
	struct kfd_preempt_q *pq = &fake->queues[1]->preempt;

	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), 0);
	KUNIT_EXPECT_EQ(test, pq->preempts, 1);
	KUNIT_EXPECT_EQ(test, pq->resumes, 0);
	KUNIT_EXPECT_EQ(test, fake_resume(1), 0);
	KUNIT_EXPECT_EQ(test, pq->preempts, 1);
	KUNIT_EXPECT_EQ(test, pq->resumes, 1);
	KUNIT_EXPECT_EQ(test, pq->failures, 0);
}

static struct kunit_case mes_kunit_cases[] = {
	KUNIT_CASE(mes_query_test),
	KUNIT_CASE(mes_off_test),
	KUNIT_CASE(mes_batch_test),
	KUNIT_CASE(mes_remove_fails_test),
	KUNIT_CASE(mes_add_fails_test),
	KUNIT_CASE(mes_all_or_nothing_test),
	KUNIT_CASE(mes_reset_between_test),
	KUNIT_CASE(mes_status_test),
	{}
};

static struct kunit_suite kfd_preempt_mes_suite = {
	.name = "kfd_preempt_mes",
	.init = mes_init,
	.exit = fake_exit,
	.test_cases = mes_kunit_cases,
};
