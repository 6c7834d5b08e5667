/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Shared by the files of the backend, kfd_preempt_hw*.c. */
#ifndef KFD_PREEMPT_HW_H
#define KFD_PREEMPT_HW_H

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/* Preempt first: that frees slots for the resumes. */
enum kfd_preempt_pass {
	KFD_PREEMPT_PASS_PREEMPT,
	KFD_PREEMPT_PASS_RESUME,
	KFD_PREEMPT_PASS_COUNT
};

static inline bool kfd_preempt_hw_in_pass(const struct kfd_preempt_req *req, int pass)
{
	return pass == (req->set ? KFD_PREEMPT_PASS_PREEMPT : KFD_PREEMPT_PASS_RESUME);
}

/* The queues on the hardware of a node, at the time of a scan. */
struct kfd_preempt_hqds {
	ktime_t scanned;
	unsigned int num;
	struct {
		u64 mqd;
		u32 wptr;
		u32 slot; /* of all pipes */
		int xcc;
	} hqd[];
};

/* kfd_preempt_dqm.inc: static functions of kfd_device_queue_manager.c. */
struct mqd_manager *kfd_preempt_mqd_mgr(const struct queue *q);
int kfd_preempt_execute(struct device_queue_manager *dqm, bool fast);
void kfd_preempt_hws_hang(struct device_queue_manager *dqm);
void kfd_preempt_count_active(struct device_queue_manager *dqm,
			      struct qcm_process_device *qpd, struct queue *q, bool active);
int kfd_preempt_call_mes(struct device_queue_manager *dqm, struct qcm_process_device *qpd,
			 struct queue *q, bool add);

/* kfd_preempt_hw.c */
int kfd_preempt_hw_check(struct device_queue_manager *dqm, const struct kfd_preempt_req *req);
void kfd_preempt_hw_begin(struct kfd_preempt_req *req);
void kfd_preempt_hw_edit_holds(struct kfd_preempt_req *req);
void kfd_preempt_hw_set_active(struct device_queue_manager *dqm, struct queue *q, bool active);
void kfd_preempt_hw_finish(struct kfd_preempt_req *req, ktime_t start);
bool kfd_preempt_hw_any_failed(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch);

/* kfd_preempt_hw_remap.c */
void kfd_preempt_hw_map_failed(struct device_queue_manager *dqm);
void kfd_preempt_hw_remap_worker(struct work_struct *work);

/* kfd_preempt_hw_cpsch.c, _nocpsch.c, _mes.c */
void kfd_preempt_hw_switch_cpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch);
void kfd_preempt_hw_switch_nocpsch(struct device_queue_manager *dqm,
				   struct kfd_preempt_batch *batch);
void kfd_preempt_hw_switch_mes(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch);

/* kfd_preempt_hw_doorbell.c */
int kfd_preempt_hw_by_doorbell(struct device_queue_manager *dqm,
			       const struct kfd_preempt_batch *batch);

/* kfd_preempt_hw_evict.c */
bool kfd_preempt_hw_evict_all(struct device_queue_manager *dqm,
			      struct kfd_preempt_batch *batch);
bool kfd_preempt_hw_restore_all(struct device_queue_manager *dqm,
				struct kfd_preempt_batch *batch);
void kfd_preempt_hw_evict_each(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch);
void kfd_preempt_hw_restore_each(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch);

/* kfd_preempt_hw_verify.c */
void kfd_preempt_hw_add_slots(const struct queue *q, unsigned long *slots);
struct kfd_preempt_hqds *kfd_preempt_hw_scan(struct device_queue_manager *dqm,
					     const unsigned long *slots);
unsigned int kfd_preempt_hw_find_hqd(const struct kfd_preempt_hqds *hqds, unsigned int i,
				     struct queue *q);
bool kfd_preempt_hw_can_read_hqds(const struct device_queue_manager *dqm,
				  const struct queue *q);
bool kfd_preempt_hw_still_active(struct device_queue_manager *dqm, struct queue *q,
				 const struct kfd_preempt_hqds *hqds);
void kfd_preempt_hw_verify(struct device_queue_manager *dqm,
			   struct kfd_preempt_batch *batch, bool stops);

/* kfd_preempt_hw_recheck.c */
void kfd_preempt_hw_recheck_later(struct device_queue_manager *dqm,
				  struct kfd_preempt_req *req);
void kfd_preempt_hw_recheck_worker(struct work_struct *work);

/* kfd_preempt_hw_grace.c */
void kfd_preempt_hw_check_grace(struct device_queue_manager *dqm);
void kfd_preempt_hw_restore_grace(struct device_queue_manager *dqm);

#endif /* KFD_PREEMPT_HW_H */
