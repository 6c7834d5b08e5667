// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * When the queues are resumed that an operator held whose file is closed: at once,
 * after a delay, or when VRAM is freed.
 */

#include <linux/workqueue.h>

#include "kfd_preempt_compat.h"

/* A failed release is retried after a delay that doubles each time. */
#define RETRY_MIN_MS 20u
#define RETRY_MAX_MS 1000u

/*
 * Freezable, because memory must not move while devices suspend. A release may
 * sleep for seconds, and no other one waits for it.
 */
struct workqueue_struct *kfd_preempt_wq;

/*
 * Protects the list and the fields of processes below. Taken under the lock of
 * operator records.
 */
static DEFINE_SPINLOCK(release_lock);

/* Processes whose release is running or will be retried: freed VRAM may help. */
static LIST_HEAD(retrying);

/* A release that is queued holds a reference to its process. */
static void queue_release(struct kfd_process *p, unsigned int ms)
{
	lockdep_assert_held(&release_lock);
	if (READ_ONCE(p->preempt.gone))
		return;
	kref_get(&p->ref);
	if (mod_delayed_work(kfd_preempt_wq, &p->preempt.release, msecs_to_jiffies(ms)))
		kfd_unref_process(p);
}

/**
 * kfd_preempt_release_schedule - release the queues that closed files hold
 * @p: a process with such queues
 */
void kfd_preempt_release_schedule(struct kfd_process *p)
{
	spin_lock(&release_lock);
	queue_release(p, 0);
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_vram_freed - VRAM is being freed, so yielded memory may return
 *
 * A release that has failed is retried after the shortest delay: VRAM may be
 * freed in many pieces, each a little after this call.
 */
void kfd_preempt_vram_freed(void)
{
	struct kfd_preempt_p *pp;

	if (list_empty_careful(&retrying))
		return;
	spin_lock(&release_lock);
	while (!list_empty(&retrying)) {
		pp = list_first_entry(&retrying, struct kfd_preempt_p, retry_node);
		list_del_init(&pp->retry_node);
		queue_release(container_of(pp, struct kfd_process, preempt), RETRY_MIN_MS);
	}
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_release_begins - VRAM that is freed from now on may help a release
 * @p: its process
 */
void kfd_preempt_release_begins(struct kfd_process *p)
{
	spin_lock(&release_lock);
	list_move_tail(&p->preempt.retry_node, &retrying);
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_release_ended - a release is done, or has failed
 * @p: its process
 * @again: it has failed
 */
void kfd_preempt_release_ended(struct kfd_process *p, bool again)
{
	struct kfd_preempt_p *pp = &p->preempt;

	spin_lock(&release_lock);
	/* It is not in the list if VRAM was freed meanwhile. */
	if (!again || list_empty(&pp->retry_node))
		pp->retry_ms = RETRY_MIN_MS;
	if (again) {
		queue_release(p, pp->retry_ms);
		pp->retry_ms = min(2 * pp->retry_ms, RETRY_MAX_MS);
	}
	if (!again || READ_ONCE(pp->gone))
		list_del_init(&pp->retry_node);
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_release_init - prepare the release of the queues of a process
 * @p: a new process; the caller has serialized the creation of processes
 */
void kfd_preempt_release_init(struct kfd_process *p)
{
	if (!kfd_preempt_wq)
		kfd_preempt_wq = alloc_workqueue("kfd_preempt", WQ_FREEZABLE | WQ_UNBOUND,
						 WQ_MAX_ACTIVE) ?: system_freezable_wq;
	INIT_LIST_HEAD(&p->preempt.retry_node);
	p->preempt.retry_ms = RETRY_MIN_MS;
}

/**
 * kfd_preempt_release_cancel - the address space of a process is gone
 * @p: the process, whose queues will be destroyed
 *
 * Does not wait for a release that is running.
 */
void kfd_preempt_release_cancel(struct kfd_process *p)
{
	spin_lock(&release_lock);
	list_del_init(&p->preempt.retry_node);
	if (cancel_delayed_work(&p->preempt.release))
		kfd_unref_process(p);
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_exit - the module is unloaded; no file of /dev/kfd is open
 */
void kfd_preempt_exit(void)
{
	if (kfd_preempt_wq && kfd_preempt_wq != system_freezable_wq)
		destroy_workqueue(kfd_preempt_wq);
}
