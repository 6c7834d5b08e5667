/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* State of one preemption call, shared by the files that run it. */
#ifndef KFD_PREEMPT_SWITCH_H
#define KFD_PREEMPT_SWITCH_H

#include "kfd_preempt_target.h"

/* The process of an entry, and the changes of its holds' owners. */
struct kfd_preempt_plan {
	struct kfd_preempt_target *target; /* NULL when there is none */
	struct kfd_preempt_req *req;
	struct kfd_preempt_record *add; /* allocated before anything changed */
	bool drop_own;
	bool drop_all;
	bool set_sticky;
	bool drop_sticky;
	bool whole; /* the entry names a process */
	struct queue *q; /* in an entry that was made of one that does; in that, any of them */
	struct hlist_head holds; /* to be added for queues to come */
	bool already; /* nothing was to be changed */
};

/*
 * One call: @entries and @plans run in parallel. In @batch.reqs the @num_stops stops
 * come first.
 */
struct kfd_preempt_call {
	u32 flags;
	u32 num_stops;
	struct kfd_preempt_switch_entry *entries;
	struct kfd_preempt_plan *plans;
	struct kfd_preempt_targets targets;
	struct kfd_preempt_target *common; /* of entries that name none */
	struct kfd_preempt_batch batch;
};

/* kfd_preempt_process.c */
int kfd_preempt_plan_holds(struct kfd_preempt_call *call, u32 i);
u32 kfd_preempt_finish_holds(struct kfd_preempt_call *call, u32 i);

/* kfd_preempt_whole.c */
struct kfd_preempt_whole;

bool kfd_preempt_overlap(const struct kfd_preempt_switch_entry *a,
			 const struct kfd_preempt_switch_entry *b);
int kfd_preempt_widen(struct kfd_preempt_call *call, struct kfd_preempt_whole **whole);
void kfd_preempt_narrow(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole, int err);

/* kfd_preempt_entries.c */
void kfd_preempt_take_over(struct kfd_preempt_setter *sticky, enum kfd_preempt_right right);
bool kfd_preempt_is_self(const struct kfd_preempt_call *call,
			 const struct kfd_preempt_target *target);
void kfd_preempt_plan_entry(struct kfd_preempt_call *call, u32 i);

#endif /* KFD_PREEMPT_SWITCH_H */
