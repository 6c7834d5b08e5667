// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Eight XCCs of plain memory that answer at once, behind the real MQD manager
 * and register code of GC 9.4.3: what a stop and a start cost, and that one XCC
 * which does not answer neither keeps the others running nor is loaded over.
 */
#include <linux/sort.h>

#include "amdgpu_amdkfd_gfx_v9.h"
#include "v9_structs.h"
#include "gc/gc_9_4_3_offset.h"
#include "gc/gc_9_4_3_sh_mask.h"

#define XCCS 8
#define XCC_ROUNDS 1000
/* Registers of one XCC, in both of its apertures. */
#define XCC_REGS 0x10000
#define XCC_APERTURE 0x8000
#define XCC_PIPE 1
#define XCC_QUEUE 5

/**
 * struct xcc_device - registers, and what was done to them
 * @regs: of each XCC
 * @bases: of the apertures of each XCC, in dwords
 * @stuck: XCCs that take a dequeue request and never serve it
 * @reads: of any register
 * @writes: to any register
 * @requests: dequeue requests
 * @loads: activations
 * @early_looks: reads of ACTIVE before all XCCs were asked
 * @unselected: accesses to an HQD while another one was selected
 */
struct xcc_device {
	u32 *regs;
	u32 bases[XCCS][2];
	u32 stuck;
	unsigned int reads;
	unsigned int writes;
	unsigned int requests;
	unsigned int loads;
	unsigned int early_looks;
	unsigned int unselected;
};

static struct xcc_device *xcc;

static u32 *xcc_reg(u32 inst, u32 reg)
{
	return &xcc->regs[inst * XCC_REGS + reg];
}

/* HQD registers are banked: those of the queue that GRBM_GFX_CNTL selects. */
static void xcc_check_selected(u32 inst, u32 reg)
{
	u32 select = *xcc_reg(inst, regGRBM_GFX_CNTL);

	if (reg < regCP_MQD_BASE_ADDR || reg > regCP_HQD_AQL_DISPATCH_ID_HI)
		return;
	if (REG_GET_FIELD(select, GRBM_GFX_CNTL, MEID) != 1 ||
	    REG_GET_FIELD(select, GRBM_GFX_CNTL, PIPEID) != XCC_PIPE ||
	    REG_GET_FIELD(select, GRBM_GFX_CNTL, QUEUEID) != XCC_QUEUE)
		xcc->unselected++;
}

static u32 xcc_read(struct amdgpu_device *adev, u32 offset)
{
	u32 inst = offset / 4 / XCC_REGS, reg = offset / 4 % XCC_REGS;

	xcc->reads++;
	xcc_check_selected(inst, reg);
	if (reg == regCP_HQD_ACTIVE && xcc->requests % XCCS)
		xcc->early_looks++;
	return *xcc_reg(inst, reg);
}

static void xcc_write(struct amdgpu_device *adev, u32 offset, u32 value)
{
	u32 inst = offset / 4 / XCC_REGS, reg = offset / 4 % XCC_REGS;

	xcc->writes++;
	xcc_check_selected(inst, reg);
	*xcc_reg(inst, reg) = value;
	if (reg == regCP_HQD_DEQUEUE_REQUEST && value) {
		xcc->requests++;
		if (!(xcc->stuck & BIT(inst)))
			*xcc_reg(inst, regCP_HQD_ACTIVE) = 0;
	}
	/* The MQD has it as well, with ACTIVE still 0: see hqd_load(). */
	if (reg == regCP_HQD_ACTIVE && value)
		xcc->loads++;
}

static u32 xcc_active(void)
{
	u32 inst, mask = 0;

	for (inst = 0; inst < XCCS; inst++)
		if (*xcc_reg(inst, regCP_HQD_ACTIVE))
			mask |= BIT(inst);
	return mask;
}

static void xcc_forget(void)
{
	xcc->reads = 0;
	xcc->writes = 0;
	xcc->requests = 0;
	xcc->loads = 0;
	xcc->early_looks = 0;
}

static void xcc_init_queue(struct kunit *test, struct queue *q)
{
	struct queue_properties *props = &q->properties;
	u64 stride;
	int inst;

	props->ctl_stack_size = PAGE_SIZE;
	props->write_ptr = (void __user *)0x300000;
	q->pipe = XCC_PIPE;
	q->queue = XCC_QUEUE;
	stride = fake->mqd_mgr->mqd_stride(fake->mqd_mgr, props);
	q->mqd = fake_zalloc(test, XCCS * stride);
	for (inst = 0; inst < XCCS; inst++) {
		struct v9_mqd *m = q->mqd + inst * stride;

		m->cp_mqd_stride_size = stride;
		m->cp_hqd_vmid = 8;
		*xcc_reg(inst, regCP_HQD_ACTIVE) = 1;
	}
}

KUNIT_DEFINE_ACTION_WRAPPER(xcc_free_mqd_mgr, kfree, void *);

static int xcc_init(struct kunit *test)
{
	struct amdgpu_device *adev;
	struct kfd_dev *kfd;
	int inst;

	fake_init(test, KFD_PREEMPT_SCHED_NO_HWS);
	xcc = fake_zalloc(test, sizeof(*xcc));
	xcc->regs = fake_zalloc(test, XCCS * XCC_REGS * sizeof(u32));

	/* Without a BAR every register is beyond it: reached by these. */
	adev = fake->adev;
	adev->rmmio_size = 0;
	adev->pcie_rreg = xcc_read;
	adev->pcie_wreg = xcc_write;
	adev->gfx.mec.num_pipe_per_mec = 4;
	adev->gfx.mec.num_queue_per_pipe = 8;
	for (inst = 0; inst < XCCS; inst++) {
		xcc->bases[inst][0] = inst * XCC_REGS;
		xcc->bases[inst][1] = inst * XCC_REGS + XCC_APERTURE;
		adev->reg_offset[GC_HWIP][inst] = xcc->bases[inst];
	}

	adev->ip_versions[SDMA0_HWIP][0] = IP_VERSION(4, 4, 2);
	kfd = kgd2kfd_probe(adev, false);
	KUNIT_ASSERT_NOT_NULL(test, kfd);
	fake->node->kfd2kgd = kfd->kfd2kgd;
	kfree(kfd);
	fake->node->xcc_mask = BIT(XCCS) - 1;
	fake->mqd_mgr = mqd_manager_init_v9(KFD_MQD_TYPE_CP, fake->node);
	KUNIT_ASSERT_NOT_NULL(test, fake->mqd_mgr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, xcc_free_mqd_mgr,
							   fake->mqd_mgr));
	fake->dqm->mqd_mgrs[KFD_MQD_TYPE_CP] = fake->mqd_mgr;
	xcc_init_queue(test, fake->queues[1]);
	return 0;
}

static void xcc_exit(struct kunit *test)
{
	fake_exit(test);
	xcc = NULL;
}

/* The same as in the table of kernel/README.md: one read, 74 writes an XCC. */
static void xcc_cost_test(struct kunit *test)
{
	/* Select and deselect; the registers of the HQD; doorbell, wptr (5), EOP, ACTIVE. */
	const unsigned int load =
		2 + regCP_HQD_AQL_DISPATCH_ID_HI - regCP_MQD_BASE_ADDR + 1 + 1 + 5 + 1 + 1;
	unsigned long sleeps = current->nvcsw;

	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), 0);
	KUNIT_EXPECT_EQ(test, xcc_active(), 0);
	KUNIT_EXPECT_EQ(test, xcc->reads, XCCS);
	/* Request and look, each with its select and deselect. */
	KUNIT_EXPECT_EQ(test, xcc->writes, XCCS * (3 + 2));
	KUNIT_EXPECT_EQ(test, xcc->requests, XCCS);
	KUNIT_EXPECT_EQ(test, xcc->early_looks, 0);
	xcc_forget();
	KUNIT_EXPECT_EQ(test, fake_resume(1), 0);
	KUNIT_EXPECT_EQ(test, xcc_active(), BIT(XCCS) - 1);
	KUNIT_EXPECT_EQ(test, xcc->reads, 0);
	KUNIT_EXPECT_EQ(test, xcc->writes, XCCS * load);
	KUNIT_EXPECT_EQ(test, xcc->loads, XCCS);
	KUNIT_EXPECT_EQ(test, xcc->unselected, 0);
	KUNIT_EXPECT_EQ_MSG(test, current->nvcsw, sleeps, "slept");
}

static int xcc_compare(const void *a, const void *b)
{
	const s64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void xcc_time_test(struct kunit *test)
{
	s64 *ns = fake_zalloc(test, XCC_ROUNDS * sizeof(*ns));
	unsigned int i, failed = 0;
	ktime_t start;

	for (i = 0; i < XCC_ROUNDS; i++) {
		start = ktime_get();
		failed += !!fake_preempt(1, KFD_PREEMPT_TYPE_SAVE);
		failed += !!fake_resume(1);
		ns[i] = ktime_to_ns(ktime_sub(ktime_get(), start));
	}
	sort(ns, XCC_ROUNDS, sizeof(*ns), xcc_compare, NULL);
	KUNIT_EXPECT_EQ(test, failed, 0);
	KUNIT_EXPECT_EQ(test, xcc->reads, XCC_ROUNDS * XCCS);
	kunit_info(test, "one PREEMPT and RESUME on %u XCCs: best %lld.%lld us, median %lld.%lld us of %u",
		   XCCS, ns[0] / 1000, ns[0] % 1000 / 100, ns[XCC_ROUNDS / 2] / 1000,
		   ns[XCC_ROUNDS / 2] % 1000 / 100, XCC_ROUNDS);
}

static void xcc_stuck_test(struct kunit *test)
{
	struct queue *q = fake->queues[1];

	xcc->stuck = BIT(2);
	KUNIT_EXPECT_EQ(test, fake_preempt_ms(1, KFD_PREEMPT_TYPE_SAVE, 5), -ETIME);
	KUNIT_EXPECT_EQ(test, xcc->requests, XCCS);
	KUNIT_EXPECT_EQ(test, xcc_active(), BIT(2));
	KUNIT_EXPECT_TRUE(test, q->preempt.hw_pending);
	KUNIT_EXPECT_TRUE(test, q->properties.is_active);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, SELF);

	/* It may serve the request at any time. */
	KUNIT_EXPECT_EQ(test, fake_resume(1), -EBUSY);
	KUNIT_EXPECT_EQ(test, xcc->loads, 0);
	KUNIT_EXPECT_EQ(test, xcc->requests, XCCS);
	KUNIT_EXPECT_EQ(test, q->properties.preempt_holds, SELF);

	*xcc_reg(2, regCP_HQD_ACTIVE) = 0;
	KUNIT_EXPECT_EQ(test, fake_resume(1), 0);
	KUNIT_EXPECT_EQ(test, xcc->loads, XCCS);
	KUNIT_EXPECT_EQ(test, xcc_active(), BIT(XCCS) - 1);
	KUNIT_EXPECT_FALSE(test, q->preempt.hw_pending);
	KUNIT_EXPECT_EQ(test, xcc->unselected, 0);
}

/*
 * As eviction stops it: each XCC gets a request, even if another one does not
 * respond.
 */
static void xcc_destroy_test(struct kunit *test)
{
	struct queue *q = fake->queues[1];
	int err;

	xcc->stuck = BIT(0) | BIT(4);
	err = fake->mqd_mgr->destroy_mqd(fake->mqd_mgr, q->mqd,
					 KFD_PREEMPT_TYPE_WAVEFRONT_SAVE, 5,
					 q->pipe, q->queue);
	KUNIT_EXPECT_EQ(test, err, -ETIME);
	KUNIT_EXPECT_EQ(test, xcc->requests, XCCS);
	KUNIT_EXPECT_EQ(test, xcc->early_looks, 0);
	KUNIT_EXPECT_EQ(test, xcc_active(), xcc->stuck);
}

/*
 * Other threads need banked registers as well, so the driver must not sleep
 * with srbm_mutex.
 */
static void xcc_lock_test(struct kunit *test)
{
	xcc->stuck = BIT(7);
	KUNIT_EXPECT_EQ(test, fake_preempt_ms(1, KFD_PREEMPT_TYPE_SAVE, 5), -ETIME);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&fake->adev->srbm_mutex));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&fake->dqm->lock_hidden));
	KUNIT_EXPECT_FALSE(test, rwsem_is_locked(&fake->adev->reset_domain->sem));
}

static void xcc_reset_test(struct kunit *test)
{
	atomic_set(&fake->adev->reset_domain->in_gpu_reset, 1);
	KUNIT_EXPECT_EQ(test, fake_preempt(1, KFD_PREEMPT_TYPE_SAVE), -EIO);
	KUNIT_EXPECT_EQ(test, xcc->writes, 0);
	KUNIT_EXPECT_EQ(test, fake->queues[1]->properties.preempt_holds, 0);
	KUNIT_EXPECT_TRUE(test, fake->queues[1]->properties.is_active);
}

static struct kunit_case xcc_kunit_cases[] = {
	KUNIT_CASE(xcc_cost_test),
	KUNIT_CASE(xcc_time_test),
	KUNIT_CASE(xcc_stuck_test),
	KUNIT_CASE(xcc_destroy_test),
	KUNIT_CASE(xcc_lock_test),
	KUNIT_CASE(xcc_reset_test),
	{}
};

static struct kunit_suite kfd_preempt_xcc_suite = {
	.name = "kfd_preempt_xcc",
	.init = xcc_init,
	.exit = xcc_exit,
	.test_cases = xcc_kunit_cases,
};
