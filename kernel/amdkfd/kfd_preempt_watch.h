/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Parts of a watch: kfd_preempt_watch.c has its file, _arm.c and _events.c its
 * targets.
 */
#ifndef KFD_PREEMPT_WATCH_H
#define KFD_PREEMPT_WATCH_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "kfd_preempt_compat.h"

/**
 * struct kfd_preempt_watch - an open file
 * @mutex: order of ADD, REMOVE and ARM
 * @targets: by id (mutex)
 * @num_targets: how many (mutex)
 * @fops: operations of a file of /dev/kfd, for TARGET_FD
 * @lock: what is below, and the events of all targets; a leaf
 * @pending: targets with events
 * @wait: readers and pollers
 */
struct kfd_preempt_watch {
	struct mutex mutex;	/* order of ADD, REMOVE and ARM */
	struct xarray targets;
	unsigned int num_targets;
	const struct file_operations *fops;
	spinlock_t lock;	/* what is below, and the events of all targets */
	struct list_head pending;
	wait_queue_head_t wait;
};

/* An unread event of one kind, of a target and GPU. */
struct kfd_preempt_watch_slot {
	u64 ns;
	u32 gpu_id;
	u32 doorbell;
	u32 count;
};

/* Events of one GPU. Each kind has its own slot, so none is lost. */
struct kfd_preempt_watch_gpu {
	struct kfd_preempt_watch_slot created;
	struct kfd_preempt_watch_slot rang;
	struct kfd_preempt_watch_slot destroyed;
	struct kfd_preempt_watch_slot wants;
};

/**
 * struct kfd_preempt_watch_target - a process in a watch
 * @watch: the watch, which it is a part of
 * @node: in kfd_preempt_p.targets (the process's lock)
 * @p: the process, or NULL once it is gone (the lock of processes)
 * @gives: its allocations wait for room that the watch makes
 * @max_owners: how many watches the process may have, this one included
 * @armed: GPUs whose next ring is an event, by index (the process's lock)
 * @pending_node: in kfd_preempt_watch.pending, as everything below (watch->lock)
 * @cookie: the caller's
 * @exited: of EXITED
 * @num_gpus: of @gpus
 * @gpus: all other events, by index of kfd_process.pdds
 */
struct kfd_preempt_watch_target {
	struct kfd_preempt_watch *watch;
	struct list_head node;
	struct kfd_process *p;
	bool gives;
	unsigned int max_owners;
	u64 armed;
	struct list_head pending_node;
	u64 cookie;
	struct kfd_preempt_watch_slot exited;
	u32 num_gpus;
	struct kfd_preempt_watch_gpu gpus[];
};

/* kfd_preempt_watch_events.c */
int kfd_preempt_watch_link(struct kfd_preempt_watch_target *target, struct kfd_process *p);
void kfd_preempt_watch_unlink(struct kfd_preempt_watch_target *target);
struct kfd_process *kfd_preempt_watch_process(struct kfd_preempt_watch_target *target);
int kfd_preempt_watch_answer(struct kfd_preempt_watch_target *target, bool no_room);
bool kfd_preempt_watch_has_givers(void);
bool kfd_preempt_watch_wants(struct kfd_process_device *pdd, u32 mib, u32 *answers);
bool kfd_preempt_watch_next(struct kfd_preempt_watch *watch,
			    struct kfd_preempt_watch_event *event);

/* kfd_preempt_watch_arm.c */
long kfd_preempt_watch_arm(struct kfd_preempt_watch *watch,
			   struct kfd_preempt_watch_arm *args);

#endif /* KFD_PREEMPT_WATCH_H */
