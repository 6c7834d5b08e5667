// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A GPU of plain memory for the KUnit suites of kfd_preempt: one node with a
 * scheduler of either kind, one process, a few queues. It answers the driver's
 * requests to the hardware and records them in order.
 */
#include <kunit/test.h>
#include <linux/dma-resv.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "kfd_kernel_queue.h"

#define SELF KFD_PREEMPT_HOLD_SELF
#define OPERATOR KFD_PREEMPT_HOLD_OPERATOR
#define STICKY KFD_PREEMPT_HOLD_STICKY
#define DEAD KFD_PREEMPT_HOLD_DEAD

#define FAKE_QUEUES 4
#define FAKE_CALLS 64
#define FAKE_RING_BYTES 4096

enum fake_op {
	FAKE_ADD, /* to the MES */
	FAKE_REMOVE, /* from the MES */
	FAKE_LOAD, /* an HQD */
	FAKE_REQUEST, /* a dequeue, without waiting */
	FAKE_WAIT, /* for a dequeue */
	FAKE_DESTROY, /* both, as eviction does */
	FAKE_UNMAP, /* UNMAP_QUEUES on the HIQ */
	FAKE_FENCE, /* QUERY_STATUS on the HIQ */
	FAKE_MAP, /* a queue into a runlist */
	FAKE_RUNLIST, /* RUN_LIST on the HIQ */
	FAKE_GRACE, /* WRITE_DATA of the grace period on the HIQ */
	FAKE_OPS
};

/**
 * struct fake_call - one request to the hardware
 * @op: FAKE_*
 * @queue: index of the queue, or -1
 */
struct fake_call {
	enum fake_op op;
	int queue;
};

/**
 * struct fake_gpu - all state of the fake GPU
 * @sched: KFD_PREEMPT_SCHED_*
 * @on_hw: the hardware has the queue
 * @listed: the runlist of the last RUN_LIST has the queue
 * @unmaps: a fence now says that no queue is mapped
 * @fail_op: the request that fails
 * @fail_after: number of them that succeed before
 * @fail_err: with this, 0 for nothing
 * @calls: the requests
 * @num_calls: their number
 * @resets: GPU resets that were requested
 */
struct fake_gpu {
	u32 sched;
	struct amdgpu_device *adev;
	struct kfd_dev *kfd;
	struct kfd_node *node;
	struct device_queue_manager *dqm;
	struct kfd_process *p;
	struct kfd_process_device *pdd;
	struct device_process_node *dpn;
	struct task_struct *task;
	struct mqd_manager *mqd_mgr;
	struct mqd_manager *hiq_mgr;
	struct queue *queues[FAKE_QUEUES];
	struct process_queue_node *pqns[FAKE_QUEUES];
	struct amdgpu_bo *bo;
	struct kernel_queue *hiq;
	u64 fence;
	u64 doorbell;
	u32 hiq_rptr;
	u64 hiq_wptr;

	bool on_hw[FAKE_QUEUES];
	bool listed[FAKE_QUEUES];
	bool unmaps;
	enum fake_op fail_op;
	unsigned int fail_after;
	int fail_err;
	struct fake_call calls[FAKE_CALLS];
	unsigned int num_calls;
	unsigned int resets;
};

/* KUnit runs one test at a time, but the driver calls from workers as well. */
static struct fake_gpu *fake;

/* A wait is made in slices, and noted once. */
static void fake_note(enum fake_op op, int queue)
{
	unsigned int n = fake->num_calls;
	struct fake_call *last = n && n <= FAKE_CALLS ? &fake->calls[n - 1] : NULL;

	if (op == FAKE_WAIT && last && last->op == op && last->queue == queue)
		return;
	if (n < FAKE_CALLS)
		fake->calls[n] = (struct fake_call){ .op = op, .queue = queue };
	fake->num_calls++;
}

static int fake_called(enum fake_op op, int queue)
{
	fake_note(op, queue);
	if (!fake->fail_err || fake->fail_op != op)
		return 0;
	if (fake->fail_after) {
		fake->fail_after--;
		return 0;
	}
	return fake->fail_err;
}

static void fake_fails(enum fake_op op, unsigned int after, int err)
{
	fake->fail_op = op;
	fake->fail_after = after;
	fake->fail_err = err;
}

static unsigned int fake_count(enum fake_op op)
{
	unsigned int i, n = 0;

	for (i = 0; i < min_t(unsigned int, fake->num_calls, FAKE_CALLS); i++)
		n += fake->calls[i].op == op;
	return n;
}

static void fake_forget(void)
{
	fake->num_calls = 0;
	fake->fail_err = 0;
}

/* The MES. */

static int fake_add_hw_queue(struct amdgpu_mes *mes,
			     struct mes_add_queue_input *input)
{
	int i = input->doorbell_offset;
	int err = fake_called(FAKE_ADD, i);

	/* A queue that it already has would be scheduled twice. */
	if (fake->on_hw[i])
		return -EEXIST;
	if (!err)
		fake->on_hw[i] = true;
	return err;
}

static int fake_remove_hw_queue(struct amdgpu_mes *mes,
				struct mes_remove_queue_input *input)
{
	int i = input->doorbell_offset;
	int err = fake_called(FAKE_REMOVE, i);

	if (!fake->on_hw[i] || input->gang_context_addr != 0x1000 * (i + 1))
		return -ENOENT;
	if (!err)
		fake->on_hw[i] = false;
	return err;
}

static const struct amdgpu_mes_funcs fake_mes_funcs = {
	.add_hw_queue = fake_add_hw_queue,
	.remove_hw_queue = fake_remove_hw_queue,
};

/* HQDs, one for each queue. */

static int fake_load_mqd(struct mqd_manager *mm, void *mqd, u32 pipe, u32 queue,
			 struct queue_properties *p, struct mm_struct *mms)
{
	int err = fake_called(FAKE_LOAD, queue);

	if (!err)
		fake->on_hw[queue] = true;
	return err;
}

static int fake_request_dequeue(struct mqd_manager *mm, void *mqd,
				enum kfd_preempt_type type, u32 pipe, u32 queue)
{
	return fake_called(FAKE_REQUEST, queue);
}

static int fake_wait_dequeue(struct mqd_manager *mm, ktime_t start,
			     unsigned int timeout, u32 pipe, u32 queue)
{
	int err = fake_called(FAKE_WAIT, queue);

	if (!err)
		fake->on_hw[queue] = false;
	return err;
}

static int fake_destroy_mqd(struct mqd_manager *mm, void *mqd,
			    enum kfd_preempt_type type, unsigned int timeout,
			    u32 pipe, u32 queue)
{
	int err = fake_called(FAKE_DESTROY, queue);

	if (!err)
		fake->on_hw[queue] = false;
	return err;
}

static void fake_set_page_table_base(struct amdgpu_device *adev, u32 vmid,
				     u64 page_table_base)
{
}

static const struct kfd2kgd_calls fake_kfd2kgd = {
	.set_vm_context_page_table_base = fake_set_page_table_base,
};

/* The firmware behind the HIQ: it does at once what a packet says. */

static int fake_map_process(struct packet_manager *pm, u32 *buffer,
			    struct qcm_process_device *qpd)
{
	memset(fake->listed, 0, sizeof(fake->listed));
	return 0;
}

static int fake_map_queues(struct packet_manager *pm, u32 *buffer,
			   struct queue *q, bool is_static)
{
	int err = fake_called(FAKE_MAP, q->queue);

	if (!err)
		fake->listed[q->queue] = true;
	return err;
}

static int fake_runlist(struct packet_manager *pm, u32 *buffer, u64 ib,
			size_t ib_size_in_dwords, bool chain)
{
	int err = fake_called(FAKE_RUNLIST, -1);
	int i;

	/* A queue that was not unmapped stays. */
	for (i = 0; !err && i < FAKE_QUEUES; i++)
		fake->on_hw[i] |= fake->listed[i];
	return err;
}

static int fake_unmap_queues(struct packet_manager *pm, u32 *buffer,
			     enum kfd_unmap_queues_filter mode, u32 filter_param,
			     bool reset)
{
	int err = fake_called(FAKE_UNMAP, -1);

	/* Another filter leaves queues mapped, and a reset loses their waves. */
	fake->unmaps = !err && mode == KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES &&
		       !filter_param && !reset;
	return err;
}

static int fake_query_status(struct packet_manager *pm, u32 *buffer,
			     u64 fence_address, u64 fence_value)
{
	if (fake_called(FAKE_FENCE, -1))
		return 0; /* never answered */
	if (fake->unmaps)
		memset(fake->on_hw, 0, sizeof(fake->on_hw));
	fake->unmaps = false;
	fake->fence = fence_value;
	return 0;
}

static int fake_set_grace_period(struct packet_manager *pm, u32 *buffer,
				 u32 grace_period)
{
	return fake_called(FAKE_GRACE, -1);
}

static const struct packet_manager_funcs fake_pm_funcs = {
	.map_process = fake_map_process,
	.map_queues = fake_map_queues,
	.runlist = fake_runlist,
	.unmap_queues = fake_unmap_queues,
	.query_status = fake_query_status,
	.set_grace_period = fake_set_grace_period,
	.map_process_size = 16,
	.map_queues_size = 16,
	.runlist_size = 16,
	.unmap_queues_size = 16,
	.query_status_size = 16,
	.set_grace_period_size = 16,
};

static bool fake_check_preemption_failed(struct mqd_manager *mm, void *mqd)
{
	return false;
}

static void fake_gpu_reset(struct work_struct *work)
{
	fake->resets++;
}

KUNIT_DEFINE_ACTION_WRAPPER(fake_free, kvfree, void *);

/* Memory that the test gets back by itself; the larger structs are too large for kmalloc. */
static void *fake_zalloc(struct kunit *test, size_t size)
{
	void *mem = kvzalloc(size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fake_free, mem));
	return mem;
}

static void fake_init_adev(struct kunit *test)
{
	struct amdgpu_device *adev = fake_zalloc(test, sizeof(*adev));

	fake->adev = adev;
	adev->pdev = fake_zalloc(test, sizeof(*adev->pdev));
	adev->asic_type = CHIP_IP_DISCOVERY;
	adev->reset_domain = fake_zalloc(test, sizeof(*adev->reset_domain));
	init_rwsem(&adev->reset_domain->sem);
	mutex_init(&adev->srbm_mutex);
	mutex_init(&adev->mes.mutex_hidden);
	adev->mes.funcs = &fake_mes_funcs;
	adev->ip_versions[GC_HWIP][0] =
		fake->sched == KFD_PREEMPT_SCHED_MES ? IP_VERSION(11, 0, 0) :
						       IP_VERSION(9, 4, 3);
}

/* The VM of the process: as much of it as eviction and the MES look at. */
static void fake_init_vm(struct kunit *test)
{
	struct ttm_resource *resource = fake_zalloc(test, sizeof(*resource));
	struct amdgpu_fpriv *fpriv = fake_zalloc(test, sizeof(*fpriv));
	struct dma_fence *fence = fake_zalloc(test, sizeof(*fence));
	struct drm_file *drm = fake_zalloc(test, sizeof(*drm));
	struct amdgpu_bo *bo = fake_zalloc(test, sizeof(*bo));

	resource->mem_type = TTM_PL_VRAM;
	bo->flags = AMDGPU_GEM_CREATE_VRAM_CONTIGUOUS;
	bo->tbo.type = ttm_bo_type_kernel;
	bo->tbo.bdev = &fake->adev->mman.bdev;
	bo->tbo.resource = resource;
	bo->tbo.base.resv = &bo->tbo.base._resv;
	dma_resv_init(bo->tbo.base.resv);
	fake->bo = bo;

	fence->lock = fake_zalloc(test, sizeof(*fence->lock));
	spin_lock_init(fence->lock);
	fpriv->vm.last_tlb_flush = fence;
	fpriv->vm.is_compute_context = true;
	fpriv->vm.root.bo = bo;
	drm->driver_priv = fpriv;
	fake->pdd->drm_priv = drm;
}

static void fake_init_hiq(struct kunit *test)
{
	struct packet_manager *pm = &fake->dqm->packet_mgr;

	fake->hiq = fake_zalloc(test, sizeof(*fake->hiq));
	fake->hiq->dev = fake->node;
	fake->hiq->queue = fake_zalloc(test, sizeof(*fake->hiq->queue));
	fake->hiq->queue->properties.queue_size = FAKE_RING_BYTES;
	fake->hiq->queue->properties.doorbell_ptr = (void __iomem __force *)&fake->doorbell;
	fake->hiq->pq_kernel_addr = fake_zalloc(test, FAKE_RING_BYTES);
	fake->hiq->rptr_kernel = &fake->hiq_rptr;
	fake->hiq->wptr64_kernel = &fake->hiq_wptr;

	pm->dqm = fake->dqm;
	pm->priv_queue = fake->hiq;
	pm->pmf = &fake_pm_funcs;
	mutex_init(&pm->lock);
	fake->dqm->fence_addr = &fake->fence;
	fake->dqm->fence_gpu_addr = 0x1000;
	fake->hiq_mgr = fake_zalloc(test, sizeof(*fake->hiq_mgr));
	fake->hiq_mgr->check_preemption_failed = fake_check_preemption_failed;
	fake->dqm->mqd_mgrs[KFD_MQD_TYPE_HIQ] = fake->hiq_mgr;

	/* Where runlists are put. */
	fake->kfd->gtt_sa_chunk_size = 512;
	fake->kfd->gtt_sa_num_of_chunks = 8;
	fake->kfd->gtt_sa_bitmap = fake_zalloc(test, sizeof(long));
	fake->kfd->gtt_start_cpu_ptr = fake_zalloc(test, 8 * 512);
	mutex_init(&fake->kfd->gtt_sa_lock);
}

static void fake_init_node(struct kunit *test)
{
	struct kfd_dev *kfd = fake_zalloc(test, sizeof(*kfd));
	struct kfd_node *node = fake_zalloc(test, sizeof(*node));

	fake->kfd = kfd;
	fake->node = node;
	kfd->adev = fake->adev;
	kfd->num_nodes = 1;
	kfd->nodes[0] = node;
	kfd->cwsr_enabled = true;
	kfd->device_info.doorbell_size = 8;
	kfd->shared_resources.enable_mes = fake->sched == KFD_PREEMPT_SCHED_MES;
	/* Two slots, for the scheduler that must not have more queues. */
	bitmap_fill(kfd->shared_resources.cp_queue_bitmap, 2);
	node->adev = fake->adev;
	node->kfd = kfd;
	node->kfd2kgd = &fake_kfd2kgd;
	node->xcc_mask = 1;
	node->id = 4711;
}

static void fake_init_dqm(struct kunit *test)
{
	struct device_queue_manager *dqm = fake_zalloc(test, sizeof(*dqm));

	fake->dqm = dqm;
	fake->node->dqm = dqm;
	dqm->dev = fake->node;
	switch (fake->sched) {
	case KFD_PREEMPT_SCHED_NO_HWS:
		dqm->sched_policy = KFD_SCHED_POLICY_NO_HWS;
		break;
	case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB:
		dqm->sched_policy = KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION;
		break;
	default:
		dqm->sched_policy = KFD_SCHED_POLICY_HWS;
		break;
	}
	mutex_init(&dqm->lock_hidden);
	INIT_LIST_HEAD(&dqm->queues);
	INIT_WORK(&dqm->hw_exception_work, fake_gpu_reset);
	dqm->sched_running = true;
	dqm->active_runlist = true;
	fake->mqd_mgr = fake_zalloc(test, sizeof(*fake->mqd_mgr));
	fake->mqd_mgr->dev = fake->node;
	fake->mqd_mgr->load_mqd = fake_load_mqd;
	fake->mqd_mgr->request_dequeue = fake_request_dequeue;
	fake->mqd_mgr->wait_dequeue = fake_wait_dequeue;
	fake->mqd_mgr->destroy_mqd = fake_destroy_mqd;
	dqm->mqd_mgrs[KFD_MQD_TYPE_CP] = fake->mqd_mgr;
	dqm->mqd_mgrs[KFD_MQD_TYPE_SDMA] = fake->mqd_mgr;
	kfd_preempt_dqm_init(dqm);
	kfd_preempt_node_add(dqm);
}

static void fake_init_process(struct kunit *test)
{
	struct kfd_process *p = fake_zalloc(test, sizeof(*p));
	struct kfd_process_device *pdd = fake_zalloc(test, sizeof(*pdd));

	fake->p = p;
	fake->pdd = pdd;
	fake->task = fake_zalloc(test, sizeof(*fake->task));
	fake->task->signal = fake_zalloc(test, sizeof(*fake->task->signal));
	INIT_LIST_HEAD(&fake->task->signal->thread_head);
	list_add_tail(&fake->task->thread_node, &fake->task->signal->thread_head);
	spin_lock_init(&fake->task->alloc_lock);
	rcu_assign_pointer(fake->task->real_cred, current_cred());
	kref_init(&p->ref);
	mutex_init(&p->mutex);
	kfd_preempt_process_init(p);
	p->lead_thread = fake->task;
	p->pdds[0] = pdd;
	p->n_pdds = 1;
	p->pqm.process = p;
	INIT_LIST_HEAD(&p->pqm.queues);
	pdd->dev = fake->node;
	pdd->process = p;
	pdd->qpd.dqm = fake->dqm;
	pdd->qpd.pqm = &p->pqm;
	INIT_LIST_HEAD(&pdd->qpd.queues_list);
	INIT_LIST_HEAD(&pdd->qpd.priv_queue_list);
	fake->dpn = fake_zalloc(test, sizeof(*fake->dpn));
	fake->dpn->qpd = &pdd->qpd;
	list_add(&fake->dpn->list, &fake->dqm->queues);
	fake->dqm->processes_count = 1;
}

static void fake_init_queue(struct kunit *test, int i)
{
	struct queue *q = fake_zalloc(test, sizeof(*q));

	fake->queues[i] = q;
	q->process = fake->p;
	q->device = fake->node;
	q->queue = i;
	q->mqd = q;
	q->gang_ctx_gpu_addr = 0x1000 * (i + 1);
	q->properties.type = KFD_QUEUE_TYPE_COMPUTE;
	q->properties.format = KFD_QUEUE_FORMAT_AQL;
	q->properties.queue_id = i;
	q->properties.queue_size = 4096;
	q->properties.queue_address = 0x100000 + 0x10000 * i;
	q->properties.queue_percent = 100;
	q->properties.doorbell_off = i;
	q->properties.ctx_save_restore_area_address = 0x200000;
	q->properties.wptr_bo = fake->bo;
	q->properties.is_active = true;
	list_add_tail(&q->list, &fake->pdd->qpd.queues_list);
	increment_queue_count(fake->dqm, &fake->pdd->qpd, q);
	fake->on_hw[i] = true;
	fake->pqns[i] = fake_zalloc(test, sizeof(*fake->pqns[i]));
	fake->pqns[i]->q = q;
	list_add_tail(&fake->pqns[i]->process_queue_list, &fake->p->pqm.queues);
}

/* A process has an address space; this borrows that of the test. */
static void fake_init_mm(struct kunit *test)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_NOT_NULL(test, current->mm);
	fake->task->mm = current->mm;
	/* The thread of the test ends before workers and fake_exit() do. */
	mmget(current->mm);
	fake->p->mm = current->mm;
}

/* All queues run. */
static void fake_init(struct kunit *test, u32 sched)
{
	int i;

	fake = fake_zalloc(test, sizeof(*fake));
	fake->sched = sched;
	kfd_preempt_mes = true;
	kfd_preempt_sdma = true;
	fake_init_adev(test);
	fake_init_node(test);
	fake_init_dqm(test);
	fake_init_process(test);
	fake_init_vm(test);
	fake_init_hiq(test);
	for (i = 0; i < FAKE_QUEUES; i++)
		fake_init_queue(test, i);
	fake_init_mm(test);
}

static void fake_exit(struct kunit *test)
{
	int i;

	if (!fake)
		return;
	kfd_preempt_dqm_fini(fake->dqm);
	flush_work(&fake->dqm->hw_exception_work);
	for (i = 0; i < FAKE_QUEUES; i++)
		if (fake->queues[i])
			kfd_preempt_queue_fini(fake->queues[i]);
	pm_release_ib(&fake->dqm->packet_mgr);
	if (fake->p->mm)
		mmput(fake->p->mm);
	fake = NULL;
}

/* Checks the invariants that hold while the dqm lock is free. */
static void fake_check(struct kunit *test)
{
	unsigned int i, active = 0, cp = 0, gws = 0;

	for (i = 0; i < FAKE_QUEUES; i++) {
		struct queue *q = fake->queues[i];
		struct queue_properties *props = &q->properties;

		active += props->is_active;
		cp += props->is_active && props->type == KFD_QUEUE_TYPE_COMPUTE;
		gws += props->is_active && props->is_gws;
		/* A pending queue stays active until an eviction waits for it. */
		if (!q->preempt.hw_pending)
			KUNIT_EXPECT_EQ_MSG(test, props->is_active,
					    QUEUE_IS_ACTIVE(*props),
					    "queue %u is_active", i);
		if (fake->dqm->sched_running && !fake->dqm->sched_halt && !fake->resets)
			KUNIT_EXPECT_EQ_MSG(test, fake->on_hw[i], props->is_active,
					    "queue %u on hardware", i);
	}
	KUNIT_EXPECT_EQ(test, fake->dqm->active_queue_count, active);
	KUNIT_EXPECT_EQ(test, fake->dqm->active_cp_queue_count, cp);
	KUNIT_EXPECT_EQ(test, fake->dqm->gws_queue_count, gws);
}
