// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The expected effect of each event on a queue in each state, under each scheduler.
 * The table is independent of the driver, which must match it.
 */

#define NO_HWS BIT(KFD_PREEMPT_SCHED_NO_HWS)
#define HWS BIT(KFD_PREEMPT_SCHED_HWS)
#define MES BIT(KFD_PREEMPT_SCHED_MES)
#define FIRMWARE (HWS | MES)
#define ALL (NO_HWS | FIRMWARE)

/* Conditions of the queue or its scheduler, besides the holds. */
enum table_state {
	EVICTED = BIT(0),
	SUSPENDED = BIT(1), /* by the debugger */
	DESTROYED = BIT(2), /* a thread waits to destroy it */
	NO_PERCENT = BIT(3), /* UPDATE_QUEUE with percentage 0 */
	PENDING = BIT(4), /* a dequeue is outstanding */
	LATE = BIT(5), /* and the hardware does not answer yet */
	HALTED = BIT(6),
	STOPPED = BIT(7),
	RESETTING = BIT(8),
	NO_SAVE_AREA = BIT(9),
	NO_CWSR = BIT(10),
	SDMA = BIT(11),
	XGMI = BIT(12),
	GWS = BIT(13),
	RESET_ALLOWED = BIT(14),
};

enum table_event {
	PREEMPT_SELF,
	PREEMPT_DRAIN,
	PREEMPT_RESET,
	RESUME_SELF,
	PREEMPT_OPERATOR,
	RESUME_OPERATOR,
	RESET_OPERATOR,
	PREEMPT_STICKY,
	RESUME_STICKY,
	RESUME_FORCE,
	EVICT,
	RESTORE,
};

/*
 * Before: @holds and @state. After @event: @err, @holds_after, whether the
 * queue is @active, how often the hardware was asked to stop it and to start it.
 */
struct table_row {
	u32 scheds;
	u32 holds;
	u32 state;
	enum table_event event;
	int err;
	u32 holds_after;
	bool active;
	u8 preempts;
	u8 resumes;
	const char *name;
};

static const struct table_row table[] = {
	{ ALL, 0, 0, PREEMPT_SELF, 0, SELF, false, 1, 0, "preempt" },
	{ ALL, SELF, 0, RESUME_SELF, 0, 0, true, 0, 1, "resume" },
	{ ALL, SELF, 0, PREEMPT_SELF, -EALREADY, SELF, false, 0, 0, "preempt twice" },
	{ ALL, 0, 0, RESUME_SELF, -EALREADY, 0, true, 0, 0, "resume a running queue" },
	{ ALL, OPERATOR, 0, RESUME_SELF, -EALREADY, OPERATOR, false, 0, 0,
	  "resume what another one holds" },
	{ ALL, OPERATOR, 0, PREEMPT_SELF, 0, SELF | OPERATOR, false, 0, 0,
	  "preempt what an operator holds" },
	{ ALL, SELF, 0, PREEMPT_OPERATOR, 0, SELF | OPERATOR, false, 0, 0,
	  "operator preempts what its process holds" },
	{ ALL, 0, 0, PREEMPT_OPERATOR, 0, OPERATOR, false, 1, 0, "operator preempts" },
	{ ALL, OPERATOR, 0, RESUME_OPERATOR, 0, 0, true, 0, 1, "operator resumes" },
	{ ALL, SELF | OPERATOR, 0, RESUME_SELF, 0, OPERATOR, false, 0, 0,
	  "resume with another hold left" },
	{ ALL, SELF | OPERATOR, 0, RESUME_OPERATOR, 0, SELF, false, 0, 0,
	  "operator resumes with another hold left" },
	{ ALL, OPERATOR | STICKY, 0, RESUME_OPERATOR, 0, STICKY, false, 0, 0,
	  "operator resumes with a sticky hold left" },
	{ ALL, OPERATOR, 0, PREEMPT_OPERATOR, -EALREADY, OPERATOR, false, 0, 0,
	  "operator preempts twice" },
	{ ALL, SELF, 0, RESUME_OPERATOR, -EALREADY, SELF, false, 0, 0,
	  "operator resumes what it does not hold" },
	{ ALL, OPERATOR, 0, PREEMPT_STICKY, 0, OPERATOR | STICKY, false, 0, 0,
	  "sticky preempt of a held queue" },
	{ ALL, 0, 0, PREEMPT_STICKY, 0, STICKY, false, 1, 0, "sticky preempt" },
	{ ALL, STICKY, 0, PREEMPT_STICKY, -EALREADY, STICKY, false, 0, 0,
	  "sticky preempt twice" },
	{ ALL, STICKY, 0, RESUME_STICKY, 0, 0, true, 0, 1, "sticky resume" },
	{ ALL, OPERATOR, 0, RESUME_STICKY, -EALREADY, OPERATOR, false, 0, 0,
	  "sticky resume of another hold" },
	{ ALL, STICKY, 0, RESUME_SELF, -EALREADY, STICKY, false, 0, 0,
	  "resume what is sticky" },
	{ ALL, OPERATOR | STICKY, 0, RESUME_FORCE, 0, 0, true, 0, 1, "forced resume" },
	{ ALL, SELF | OPERATOR, 0, RESUME_FORCE, 0, SELF, false, 0, 0,
	  "forced resume leaves the own hold" },
	{ ALL, SELF, 0, RESUME_FORCE, -EALREADY, SELF, false, 0, 0,
	  "forced resume without an operator" },
	{ ALL, 0, RESET_ALLOWED, RESET_OPERATOR, -EPERM, 0, true, 0, 0, "operator resets" },

	{ ALL, 0, 0, EVICT, 0, 0, false, 1, 0, "evict" },
	{ ALL, SELF, 0, EVICT, 0, SELF, false, 0, 0, "evict while held" },
	{ ALL, 0, EVICTED, PREEMPT_SELF, 0, SELF, false, 0, 0, "preempt while evicted" },
	{ ALL, SELF, EVICTED, RESUME_SELF, 0, 0, false, 0, 0, "resume while evicted" },
	{ ALL, SELF, EVICTED, RESTORE, 0, SELF, false, 0, 0, "restore while held" },
	{ ALL, 0, EVICTED, RESTORE, 0, 0, true, 0, 1, "restore" },
	{ ALL, OPERATOR, EVICTED, RESUME_OPERATOR, 0, 0, false, 0, 0,
	  "operator resumes while evicted" },

	{ ALL, 0, SUSPENDED, PREEMPT_SELF, 0, SELF, false, 0, 0,
	  "preempt what the debugger suspended" },
	{ ALL, SELF, SUSPENDED, RESUME_SELF, 0, 0, false, 0, 0,
	  "resume what the debugger suspended" },
	{ ALL, 0, NO_PERCENT, PREEMPT_SELF, 0, SELF, false, 0, 0,
	  "preempt what UPDATE_QUEUE stopped" },
	{ ALL, SELF, NO_PERCENT, RESUME_SELF, 0, 0, false, 0, 0,
	  "resume what UPDATE_QUEUE stopped" },
	{ ALL, 0, DESTROYED, PREEMPT_SELF, -EBUSY, 0, true, 0, 0,
	  "preempt while destroy waits" },
	{ ALL, SELF, DESTROYED | SUSPENDED, RESUME_SELF, 0, 0, false, 0, 0,
	  "resume while destroy waits" },

	{ ALL, DEAD, 0, PREEMPT_SELF, -EIO, DEAD, false, 0, 0, "preempt a lost queue" },
	{ ALL, SELF | DEAD, 0, RESUME_SELF, -EIO, SELF | DEAD, false, 0, 0,
	  "resume a lost queue" },
	{ ALL, OPERATOR | DEAD, 0, RESUME_OPERATOR, -EIO, OPERATOR | DEAD, false, 0, 0,
	  "operator resumes a lost queue" },
	{ ALL, DEAD, EVICTED, RESTORE, 0, DEAD, false, 0, 0, "restore a lost queue" },
	{ ALL, 0, RESETTING, PREEMPT_SELF, -EBUSY, 0, true, 0, 0, "preempt in a GPU reset" },
	{ ALL, SELF, RESETTING, RESUME_SELF, -EBUSY, SELF, false, 0, 0,
	  "resume in a GPU reset" },

	{ FIRMWARE, 0, HALTED, PREEMPT_SELF, 0, SELF, false, 0, 0,
	  "preempt while scheduling is halted" },
	{ FIRMWARE, SELF, HALTED, RESUME_SELF, 0, 0, true, 0, 0,
	  "resume while scheduling is halted" },
	{ FIRMWARE, 0, STOPPED, PREEMPT_SELF, 0, SELF, false, 0, 0,
	  "preempt while scheduling is stopped" },
	{ FIRMWARE, SELF, STOPPED, RESUME_SELF, 0, 0, true, 0, 0,
	  "resume while scheduling is stopped" },
	/* Stopping evicts first. */
	{ NO_HWS, 0, STOPPED | EVICTED, PREEMPT_SELF, 0, SELF, false, 0, 0,
	  "preempt while scheduling is stopped" },
	{ NO_HWS, SELF, STOPPED | EVICTED, RESUME_SELF, 0, 0, false, 0, 0,
	  "resume while scheduling is stopped" },

	{ NO_HWS, 0, LATE, PREEMPT_SELF, -ETIME, SELF, true, 1, 0, "preempt, answered late" },
	{ NO_HWS, SELF, PENDING, PREEMPT_SELF, 0, SELF, false, 1, 0, "preempt again, answered" },
	{ NO_HWS, SELF, PENDING | LATE, PREEMPT_SELF, -ETIME, SELF, true, 1, 0,
	  "preempt again, not answered yet" },
	{ NO_HWS, SELF, PENDING, PREEMPT_OPERATOR, 0, SELF | OPERATOR, false, 1, 0,
	  "operator preempts what is pending" },
	{ NO_HWS, SELF, PENDING, RESUME_SELF, 0, 0, true, 1, 1, "resume what was pending" },
	{ NO_HWS, SELF, PENDING | LATE, RESUME_SELF, -EBUSY, SELF, true, 1, 0,
	  "resume what is pending" },
	{ NO_HWS, SELF | OPERATOR, PENDING | LATE, RESUME_OPERATOR, -EBUSY, SELF | OPERATOR,
	  true, 1, 0, "operator resumes what is pending" },
	{ NO_HWS, SELF, PENDING, EVICT, 0, SELF, false, 1, 0, "evict what is pending" },
	{ NO_HWS, SELF, PENDING | EVICTED, RESTORE, 0, SELF, false, 0, 0,
	  "restore what was pending" },

	{ NO_HWS, 0, 0, PREEMPT_DRAIN, 0, SELF, false, 1, 0, "drain" },
	{ FIRMWARE, 0, 0, PREEMPT_DRAIN, -EOPNOTSUPP, 0, true, 0, 0, "drain" },
	{ NO_HWS, 0, 0, PREEMPT_RESET, -EPERM, 0, true, 0, 0, "reset" },
	{ NO_HWS, 0, RESET_ALLOWED, PREEMPT_RESET, 0, SELF | DEAD, false, 1, 0, "reset, allowed" },
	{ FIRMWARE, 0, RESET_ALLOWED, PREEMPT_RESET, -EOPNOTSUPP, 0, true, 0, 0, "reset, allowed" },
	{ ALL, 0, NO_SAVE_AREA, PREEMPT_SELF, -EOPNOTSUPP, 0, true, 0, 0,
	  "preempt without a save area" },
	{ ALL, 0, NO_CWSR, PREEMPT_SELF, -EOPNOTSUPP, 0, true, 0, 0, "preempt without CWSR" },
	{ ALL, 0, SDMA, PREEMPT_SELF, 0, SELF, false, 1, 0, "preempt SDMA" },
	{ ALL, SELF, SDMA, RESUME_SELF, 0, 0, true, 0, 1, "resume SDMA" },
	{ ALL, 0, SDMA | RESET_ALLOWED, PREEMPT_RESET, -EOPNOTSUPP, 0, true, 0, 0, "reset SDMA" },
	{ NO_HWS | HWS, 0, SDMA | XGMI, PREEMPT_SELF, 0, SELF, false, 1, 0, "preempt XGMI SDMA" },
	{ MES, 0, SDMA | XGMI, PREEMPT_SELF, -EOPNOTSUPP, 0, true, 0, 0, "preempt XGMI SDMA" },
	{ ALL, 0, GWS, PREEMPT_SELF, 0, SELF, false, 1, 0, "preempt with GWS" },
	{ ALL, SELF, GWS, RESUME_SELF, 0, 0, true, 0, 1, "resume with GWS" },
};

/* A row under one of its schedulers. */
struct table_case {
	const struct table_row *row;
	u32 sched;
};

static struct table_case table_cases[3 * ARRAY_SIZE(table)];

static const void *table_next(const void *prev, char *desc)
{
	static const char * const names[] = { "HWS", "", "NO_HWS", "MES" };
	struct table_case *c = table_cases;
	unsigned int i, sched;

	if (!prev) {
		for (i = 0; i < ARRAY_SIZE(table); i++)
			for (sched = 0; sched <= KFD_PREEMPT_SCHED_MES; sched++)
				if (table[i].scheds & BIT(sched))
					*c++ = (struct table_case){ &table[i], sched };
		c = table_cases;
	} else {
		c = (struct table_case *)prev + 1;
	}
	if (c == table_cases + ARRAY_SIZE(table_cases) || !c->row)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s", names[c->sched], c->row->name);
	return c;
}

static void table_deactivate(struct queue *q)
{
	kfd_preempt_hw_set_active(fake->dqm, q, false);
	fake->on_hw[q->queue] = false;
}

static void table_set_sched(u32 state)
{
	if (state & (HALTED | STOPPED)) {
		fake->dqm->sched_halt = state & HALTED;
		fake->dqm->sched_running = !(state & STOPPED);
		fake->dqm->active_runlist = false;
	}
	if (state & RESETTING)
		down_write(&fake->adev->reset_domain->sem);
	if (state & NO_CWSR)
		fake->kfd->cwsr_enabled = false;
	if (state & LATE)
		fake_fails(FAKE_WAIT, 0, -ETIME);
	kfd_preempt_allow_reset = !!(state & RESET_ALLOWED);
}

static void table_set_queue(struct queue *q, u32 state)
{
	struct queue_properties *props = &q->properties;

	if (state & EVICTED) {
		fake->pdd->qpd.evicted = 1;
		props->is_evicted = true;
	}
	props->is_suspended = state & SUSPENDED;
	props->is_being_destroyed = state & DESTROYED;
	if (state & NO_PERCENT)
		props->queue_percent = 0;
	if (state & NO_SAVE_AREA)
		props->ctx_save_restore_area_address = 0;
	if (state & PENDING) {
		q->preempt.hw_pending = true;
		q->preempt.pending_type = KFD_PREEMPT_TYPE_SAVE;
	}
	if (state & (SDMA | GWS)) {
		/* Counted by what they are. */
		kfd_preempt_hw_set_active(fake->dqm, q, false);
		if (state & SDMA)
			props->type = state & XGMI ? KFD_QUEUE_TYPE_SDMA_XGMI :
						     KFD_QUEUE_TYPE_SDMA;
		props->is_gws = state & GWS;
		kfd_preempt_hw_set_active(fake->dqm, q, true);
	}
}

static void table_hold(struct kunit *test, struct queue *q, u32 holds)
{
	struct kfd_preempt_record *rec;

	q->properties.preempt_holds = holds;
	if (!(holds & OPERATOR))
		return;
	rec = kfd_preempt_record_alloc(caller->file, q, KFD_PREEMPT_BY_CAPABILITY);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	kfd_preempt_record_link(rec);
}

/* Only the queue of the row: its neighbours must stay as they are. */
static int table_evict(struct queue *q, bool evict)
{
	struct qcm_process_device *qpd = &fake->pdd->qpd;
	LIST_HEAD(others);
	int err, i;

	for (i = 0; i < FAKE_QUEUES; i++)
		if (fake->queues[i] != q)
			list_move(&fake->queues[i]->list, &others);
	if (fake->sched == KFD_PREEMPT_SCHED_NO_HWS)
		err = evict ? evict_process_queues_nocpsch(fake->dqm, qpd) :
			      restore_process_queues_nocpsch(fake->dqm, qpd);
	else
		err = evict ? evict_process_queues_cpsch(fake->dqm, qpd) :
			      restore_process_queues_cpsch(fake->dqm, qpd);
	list_splice_tail(&others, &qpd->queues_list);
	/* Nor were they in the runlist meanwhile. */
	for (i = 0; fake->sched == KFD_PREEMPT_SCHED_HWS && i < FAKE_QUEUES; i++)
		if (fake->queues[i] != q)
			fake->on_hw[i] = fake->queues[i]->properties.is_active;
	return err;
}

static int table_do(struct queue *q, enum table_event event)
{
	switch (event) {
	case PREEMPT_SELF:
		return fake_preempt(q->queue, KFD_PREEMPT_TYPE_SAVE);
	case PREEMPT_DRAIN:
		return fake_preempt(q->queue, KFD_PREEMPT_TYPE_DRAIN);
	case PREEMPT_RESET:
		return fake_preempt(q->queue, KFD_PREEMPT_TYPE_RESET);
	case RESUME_SELF:
		return fake_resume(q->queue);
	case PREEMPT_OPERATOR:
		return operator_preempt(q->queue, 0);
	case RESUME_OPERATOR:
		return operator_resume(q->queue, 0);
	case RESET_OPERATOR:
		return call_operator(q->queue, KFD_PREEMPT_OP_PREEMPT,
				     KFD_PREEMPT_TYPE_RESET, 0);
	case PREEMPT_STICKY:
		return operator_preempt(q->queue, KFD_PREEMPT_SWITCH_STICKY);
	case RESUME_STICKY:
		return operator_resume(q->queue, KFD_PREEMPT_SWITCH_STICKY);
	case RESUME_FORCE:
		return operator_resume(q->queue, KFD_PREEMPT_SWITCH_FORCE);
	case EVICT:
		return table_evict(q, true);
	case RESTORE:
		return table_evict(q, false);
	}
	return -EINVAL;
}

/*
 * How often the hardware got requests; under the HWS the runlist has the queues
 * that run.
 */
static void table_expect_calls(struct kunit *test, const struct table_row *row)
{
	unsigned int preempts = 0, resumes = 0;

	switch (fake->sched) {
	case KFD_PREEMPT_SCHED_HWS:
		/* Eviction updates the runlist whatever it finds. */
		if (row->event >= EVICT)
			return;
		preempts = fake_count(FAKE_UNMAP);
		resumes = fake_count(FAKE_RUNLIST);
		/* One update for either. */
		KUNIT_EXPECT_EQ(test, preempts, row->preempts | row->resumes);
		KUNIT_EXPECT_EQ(test, resumes, row->preempts | row->resumes);
		return;
	case KFD_PREEMPT_SCHED_NO_HWS:
		preempts = fake_count(FAKE_WAIT) + fake_count(FAKE_DESTROY);
		resumes = fake_count(FAKE_LOAD);
		/* A dequeue that is already latched is not requested again. */
		if (row->state & PENDING)
			KUNIT_EXPECT_EQ(test, fake_count(FAKE_REQUEST), 0);
		break;
	default:
		preempts = fake_count(FAKE_REMOVE);
		resumes = fake_count(FAKE_ADD);
	}
	KUNIT_EXPECT_EQ(test, preempts, row->preempts);
	KUNIT_EXPECT_EQ(test, resumes, row->resumes);
}

static void table_test(struct kunit *test)
{
	const struct table_case *c = test->param_value;
	const struct table_row *row = c->row;
	struct queue *q;
	int err;

	fake_init(test, c->sched);
	caller_init(test);
	q = fake->queues[1];
	table_set_queue(q, row->state);
	table_hold(test, q, row->holds);
	if (!QUEUE_IS_ACTIVE(q->properties) &&
	    (!q->preempt.hw_pending || q->properties.is_evicted))
		table_deactivate(q);
	table_set_sched(row->state);

	err = table_do(q, row->event);

	if (row->state & RESETTING)
		up_write(&fake->adev->reset_domain->sem);
	KUNIT_EXPECT_EQ(test, err, row->err);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, row->holds_after);
	KUNIT_EXPECT_EQ(test, q->properties.is_active, row->active);
	table_expect_calls(test, row);
	KUNIT_EXPECT_EQ(test, fake->resets, 0);
	/* A record as long as there is the hold. */
	KUNIT_EXPECT_EQ(test, !hlist_empty(&q->preempt.records),
			!!(row->holds_after & OPERATOR));
	/* EVICT and RESTORE leave it to the next stop. */
	if (row->event < EVICT)
		KUNIT_EXPECT_EQ(test, q->preempt.hw_pending, row->err == -ETIME ||
				(row->err == -EBUSY && row->state & PENDING));
	fake_check(test);
}

static void table_exit(struct kunit *test)
{
	kfd_preempt_allow_reset = 0;
	caller_exit(test);
}

static struct kunit_case table_kunit_cases[] = {
	KUNIT_CASE_PARAM(table_test, table_next),
	{}
};

static struct kunit_suite kfd_preempt_table_suite = {
	.name = "kfd_preempt_table",
	.exit = table_exit,
	.test_cases = table_kunit_cases,
};
