// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The driver does what the models of selftests/model do: each call that they
 * make, in each state in which they make it, with each answer of the hardware.
 */
#include "kfd_preempt_model_test.h"

/* DEAD of the model. */
#define MODEL_DEAD 4

static u32 model_holds(u8 holds)
{
	return (holds & (SELF | OPERATOR)) | (holds & MODEL_DEAD ? DEAD : 0);
}

static void model_index(char *desc, unsigned int i)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", i);
}

static void model_no_hws_desc(const struct model_no_hws_row *row, char *desc)
{
	model_index(desc, row - model_no_hws);
}

KUNIT_ARRAY_PARAM(model_no_hws, model_no_hws, model_no_hws_desc);

static int model_do(u8 op, u8 who)
{
	if (op == KFD_PREEMPT_OP_PREEMPT)
		return who == SELF ? fake_preempt(1, KFD_PREEMPT_TYPE_SAVE) :
				     operator_preempt(1, 0);
	return who == SELF ? fake_resume(1) : operator_resume(1, 0);
}

static void model_set_active(struct queue *q, bool active)
{
	kfd_preempt_hw_set_active(fake->dqm, q, active);
	fake->on_hw[q->queue] = active;
}

static void model_no_hws_test(struct kunit *test)
{
	const struct model_no_hws_row *row = test->param_value;
	struct queue *q;

	fake_init(test, KFD_PREEMPT_SCHED_NO_HWS);
	caller_init(test);
	q = fake->queues[1];
	table_hold(test, q, model_holds(row->holds));
	q->properties.is_evicted = row->evicted;
	q->preempt.hw_pending = row->pending;
	q->preempt.pending_type = KFD_PREEMPT_TYPE_SAVE;
	model_set_active(q, row->active);
	if (row->late)
		fake_fails(FAKE_WAIT, 0, -ETIME);

	KUNIT_EXPECT_EQ(test, model_do(row->op, row->who), -row->err);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, model_holds(row->holds_after));
	KUNIT_EXPECT_EQ(test, q->properties.is_active, row->active_after);
	KUNIT_EXPECT_EQ(test, q->preempt.hw_pending, row->pending_after);
	KUNIT_EXPECT_EQ(test, fake_count(FAKE_WAIT), row->asked);
	KUNIT_EXPECT_EQ(test, fake_count(FAKE_LOAD), row->loaded);
}

/* Outcome of the unmap of a row. */
enum model_unmap {
	MODEL_NOT_ASKED,
	MODEL_UNMAPPED, /* or nothing was mapped */
	MODEL_HANGS,
	MODEL_IN_RESET,
};

/* The worker of a row must not run before the test checks for it. */
#define MODEL_REMAP_LATE (3600 * HZ)
#define MODEL_REMAP_TRIES 10

static void model_hws_desc(const struct model_hws_row *row, char *desc)
{
	model_index(desc, row - model_hws);
}

KUNIT_ARRAY_PARAM(model_hws, model_hws, model_hws_desc);

static void model_hws_find(struct kunit *test, const struct model_hws_row *row,
			   struct queue *q)
{
	struct device_queue_manager *dqm = fake->dqm;

	table_hold(test, q, model_holds(row->holds));
	table_set_queue(q, (row->evicted ? EVICTED : 0) | (row->suspended ? SUSPENDED : 0));
	model_set_active(q, row->active);
	if (row->holds & MODEL_DEAD) {
		dqm_lock(dqm);
		kfd_preempt_node_lost(dqm);
		dqm_unlock(dqm);
	}
	if (!row->runlist) {
		dqm->active_runlist = false;
		memset(fake->on_hw, 0, sizeof(fake->on_hw));
	}
	if (row->remap)
		schedule_delayed_work(&dqm->preempt.remap, MODEL_REMAP_LATE);
}

static int model_hws_do(const struct model_hws_row *row)
{
	struct rw_semaphore *reset = &fake->adev->reset_domain->sem;
	int was_ms = queue_preemption_timeout_ms;
	int err;

	if (row->map_failed)
		fake_fails(FAKE_RUNLIST, 0, -ENOMEM);
	if (row->unmap == MODEL_HANGS) {
		fake_fails(FAKE_FENCE, 0, -ETIME);
		queue_preemption_timeout_ms = 1;
	}
	if (row->unmap == MODEL_IN_RESET)
		down_write(reset);
	err = model_do(row->op, row->who);
	if (row->unmap == MODEL_IN_RESET)
		up_write(reset);
	queue_preemption_timeout_ms = was_ms;
	return err;
}

/* The others are those of the bystander: they run, unless they are lost as well. */
static void model_hws_expect_others(struct kunit *test, const struct queue *q, u8 holds)
{
	unsigned int i;

	for (i = 0; i < FAKE_QUEUES; i++) {
		if (fake->queues[i] == q)
			continue;
		KUNIT_EXPECT_TRUE(test, fake->queues[i]->properties.is_active);
		KUNIT_EXPECT_EQ(test, fake->queues[i]->properties.preempt_holds,
				model_holds(holds & MODEL_DEAD));
	}
}

static void model_hws_expect_calls(struct kunit *test, const struct model_hws_row *row)
{
	bool sent = row->unmap == MODEL_UNMAPPED || row->unmap == MODEL_HANGS;

	KUNIT_EXPECT_EQ(test, fake_count(FAKE_UNMAP), sent && row->runlist);
	KUNIT_EXPECT_EQ(test, fake_count(FAKE_FENCE), sent && row->runlist);
	/* A failed map is retried. */
	if (!row->map_failed)
		KUNIT_EXPECT_EQ(test, fake_count(FAKE_RUNLIST), row->unmap == MODEL_UNMAPPED);
	flush_work(&fake->dqm->hw_exception_work);
	KUNIT_EXPECT_EQ(test, fake->resets, row->unmap == MODEL_HANGS);
}

/*
 * Whether a worker will map the runlist; runs it. As long as the map fails the
 * worker is queued again, so it cannot be over before this check.
 */
static bool model_hws_remap(void)
{
	struct delayed_work *remap = &fake->dqm->preempt.remap;
	bool scheduled = work_busy(&remap->work);
	unsigned int i;

	fake_forget();
	for (i = 0; i < MODEL_REMAP_TRIES && work_busy(&remap->work); i++)
		flush_delayed_work(remap);
	return scheduled;
}

static void model_hws_test(struct kunit *test)
{
	const struct model_hws_row *row = test->param_value;
	struct queue *q;

	fake_init(test, KFD_PREEMPT_SCHED_HWS);
	caller_init(test);
	q = fake->queues[1];
	model_hws_find(test, row, q);

	KUNIT_EXPECT_EQ(test, model_hws_do(row), -row->err);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, model_holds(row->holds_after));
	KUNIT_EXPECT_EQ(test, q->properties.is_active, row->active_after);
	KUNIT_EXPECT_EQ(test, fake->dqm->active_runlist, row->runlist_after);
	model_hws_expect_others(test, q, row->holds_after);
	model_hws_expect_calls(test, row);

	KUNIT_EXPECT_EQ(test, model_hws_remap(), row->remap_after);
	/* The runlist is mapped again, with the queues that are active. */
	KUNIT_EXPECT_TRUE(test, fake->dqm->active_runlist);
	if (!(row->holds_after & MODEL_DEAD))
		fake_check(test);
}

static struct kunit_case model_kunit_cases[] = {
	KUNIT_CASE_PARAM(model_no_hws_test, model_no_hws_gen_params),
	KUNIT_CASE_PARAM(model_hws_test, model_hws_gen_params),
	{}
};

static struct kunit_suite kfd_preempt_model_suite = {
	.name = "kfd_preempt_model",
	.exit = caller_exit,
	.test_cases = model_kunit_cases,
};
