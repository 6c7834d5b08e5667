// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Waits for the hardware: how long, and what follows from a late one. */

/* The longest of the waits that a call has made for one queue. */
static u32 wait_slice;

static int wait_dequeue_sliced(struct mqd_manager *mm, ktime_t start,
			       unsigned int timeout, u32 pipe, u32 queue)
{
	wait_slice = max(wait_slice, timeout);
	return fake_wait_dequeue(mm, start, timeout, pipe, queue);
}

/*
 * A wait is never longer than that of KFD itself, and is made in slices between
 * which other threads get the lock of the scheduler.
 */
static void wait_timeout_test(struct kunit *test)
{
	static const struct {
		u32 asked, given;
	} rows[] = {
		{ 0, 4050 },
		{ 1, 1 },
		{ 500, 500 },
		{ KFD_PREEMPT_MAX_TIMEOUT_MS, 9000 },
	};
	ktime_t start;
	unsigned int i;
	s64 ms;

	if (fake->sched != KFD_PREEMPT_SCHED_NO_HWS)
		return;
	KUNIT_ASSERT_EQ(test, queue_preemption_timeout_ms, 9000);
	fake->mqd_mgr->wait_dequeue = wait_dequeue_sliced;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		wait_slice = 0;
		fake_fails(FAKE_WAIT, 0, -ETIME);
		start = ktime_get();
		KUNIT_EXPECT_EQ(test, fake_preempt_ms(1, KFD_PREEMPT_TYPE_SAVE, rows[i].asked),
				-ETIME);
		ms = ktime_ms_delta(ktime_get(), start);
		KUNIT_EXPECT_GE(test, ms, (s64)rows[i].given);
		KUNIT_EXPECT_LT(test, ms, (s64)rows[i].given + 3000);
		KUNIT_EXPECT_LE(test, wait_slice, 2);
		fake_forget();
		KUNIT_EXPECT_EQ(test, fake_resume(1), 0);
	}
}

/*
 * UPDATE_QUEUE refuses a process with a reset queue before it unmaps anything.
 * Only firmware resets single queues.
 */
static void wait_update_test(struct kunit *test)
{
	struct queue *q = fake->queues[1];

	if (fake->sched == KFD_PREEMPT_SCHED_NO_HWS)
		return;
	fake->pdd->has_reset_queue = true;
	KUNIT_EXPECT_EQ(test, update_queue(fake->dqm, q, NULL), -EACCES);
	KUNIT_EXPECT_EQ(test, fake->num_calls, 0);
	KUNIT_EXPECT_TRUE(test, q->properties.is_active);
	fake->pdd->has_reset_queue = false;
	fake_check(test);
}

/* Three late unmaps within 10 minutes give a GPU up, unless the owner ordered one. */
static void wait_late_test(struct kunit *test)
{
	static const struct {
		s64 minutes;
		bool own, given_up;
	} late[] = {
		{ 1000 }, { 2440 }, { 3880 }, { 3880, true }, { 3880, true },
		{ 3885 }, { 3889, true }, { 3889, false, true },
	};
	struct kfd_preempt_req req = { .q = fake->queues[1], .applied = true };
	struct kfd_preempt_batch batch = { .reqs = &req, .num = 1 };
	struct kfd_preempt_node *node = &fake->dqm->preempt;
	ktime_t start;
	int i;

	for (i = 0; i < ARRAY_SIZE(late); i++) {
		start = ktime_set(late[i].minutes * 60, 0);
		req.set = late[i].own ? SELF : OPERATOR;
		kfd_preempt_count_fence(fake->dqm, &batch, start,
					ktime_add_ms(start, queue_preemption_timeout_ms - 1),
					false);
		KUNIT_EXPECT_EQ_MSG(test, !!node->degraded, late[i].given_up, "call %d", i);
	}
	node->degraded = 0;
}

static struct kunit_case wait_kunit_cases[] = {
	KUNIT_CASE_PARAM(wait_timeout_test, call_sched_gen_params),
	KUNIT_CASE_PARAM(wait_update_test, call_sched_gen_params),
	KUNIT_CASE_PARAM(wait_late_test, call_sched_gen_params),
	{}
};

static struct kunit_suite kfd_preempt_wait_suite = {
	.name = "kfd_preempt_wait",
	.init = call_init,
	.exit = caller_exit,
	.test_cases = wait_kunit_cases,
};
