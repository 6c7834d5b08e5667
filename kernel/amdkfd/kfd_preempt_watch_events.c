// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Sends the events of processes to the watches that have them as targets. */

#include <linux/poll.h>

#include "kfd_preempt_watch.h"

/* Guards kfd_preempt_watch_target.p; outside the locks of processes. */
static DEFINE_SPINLOCK(processes_lock);

/* Targets that make room, of all processes, in watches that may find any new one. */
static atomic_t givers = ATOMIC_INIT(0);

/*
 * An allocation that waits for an answer checks whether another giver is left.
 */
static void forget_giver(struct kfd_preempt_watch_target *target, struct kfd_preempt_p *pp)
{
	lockdep_assert_held(&pp->lock);
	if (!target->gives)
		return;
	WRITE_ONCE(pp->num_givers, pp->num_givers - 1);
	if (target->max_owners == KFD_PREEMPT_MAX_OWNERS)
		atomic_dec(&givers);
	wake_up_all(&pp->room);
}

static void put_event(struct kfd_preempt_watch_target *target, struct kfd_preempt_watch_slot *event,
		      u32 gpu_id, u32 doorbell)
{
	struct kfd_preempt_watch *watch = target->watch;

	spin_lock(&watch->lock);
	event->ns = ktime_get_ns();
	event->gpu_id = gpu_id;
	event->doorbell = doorbell;
	event->count++;
	if (list_empty(&target->pending_node))
		list_add_tail(&target->pending_node, &watch->pending);
	spin_unlock(&watch->lock);
	wake_up_interruptible_poll(&watch->wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * kfd_preempt_watch_rang - a process has touched its doorbells, which are mapped again
 * @pdd: process and GPU
 * @doorbell: byte offset of the doorbell
 */
void kfd_preempt_watch_rang(struct kfd_process_device *pdd, u32 doorbell)
{
	struct kfd_preempt_p *pp = &pdd->process->preempt;
	struct kfd_preempt_watch_target *target;
	u32 index = kfd_preempt_gpu_index(pdd);
	u64 bit = BIT_ULL(index);

	/*
	 * Read it after the pages are mapped; pairs with the barrier in arm().
	 */
	smp_mb();
	if (!(READ_ONCE(pp->armed) & bit))
		return;
	spin_lock(&pp->lock);
	WRITE_ONCE(pp->armed, pp->armed & ~bit);
	list_for_each_entry(target, &pp->targets, node) {
		if (!(target->armed & bit))
			continue;
		target->armed &= ~bit;
		put_event(target, &target->gpus[index].rang, pdd->user_gpu_id, doorbell);
	}
	spin_unlock(&pp->lock);
}

/**
 * kfd_preempt_watch_process_gone - a process exits or has called exec
 * @p: the process, whose mm is NULL by now
 */
void kfd_preempt_watch_process_gone(struct kfd_process *p)
{
	struct kfd_preempt_watch_target *target, *next;

	spin_lock(&processes_lock);
	spin_lock(&p->preempt.lock);
	WRITE_ONCE(p->preempt.armed, 0);
	list_for_each_entry_safe(target, next, &p->preempt.targets, node) {
		list_del_init(&target->node);
		forget_giver(target, &p->preempt);
		target->armed = 0;
		target->p = NULL;
		put_event(target, &target->exited, 0, 0);
	}
	p->preempt.num_targets = 0;
	spin_unlock(&p->preempt.lock);
	spin_unlock(&processes_lock);
}

/**
 * kfd_preempt_watch_queue_created - a new queue can be found from now on
 * @q: a user queue
 * @pdd: its process on its GPU
 */
void kfd_preempt_watch_queue_created(struct queue *q, const struct kfd_process_device *pdd)
{
	struct kfd_preempt_p *pp = &pdd->process->preempt;
	struct kfd_preempt_watch_target *target;

	q->preempt.gpu_index = kfd_preempt_gpu_index(pdd);
	spin_lock(&pp->lock);
	list_add_tail(&q->preempt.process_node, &pp->queues);
	pp->num_queues++;
	list_for_each_entry(target, &pp->targets, node)
		put_event(target, &target->gpus[q->preempt.gpu_index].created,
			  pdd->user_gpu_id, q->properties.queue_id);
	spin_unlock(&pp->lock);
}

/**
 * kfd_preempt_watch_queue_destroyed - a queue is about to be freed
 * @q: a queue that kfd_preempt_watch_queue_created() has added
 */
void kfd_preempt_watch_queue_destroyed(struct queue *q)
{
	struct kfd_preempt_p *pp = &q->process->preempt;
	struct kfd_preempt_watch_target *target;
	u32 index = q->preempt.gpu_index;

	spin_lock(&pp->lock);
	list_del(&q->preempt.process_node);
	pp->num_queues--;
	list_for_each_entry(target, &pp->targets, node)
		put_event(target, &target->gpus[index].destroyed,
			  q->process->pdds[index]->user_gpu_id, q->properties.queue_id);
	spin_unlock(&pp->lock);
}

/**
 * kfd_preempt_watch_link - let a process report events to a target
 * @target: a target that is linked to no process
 * @p: the process
 *
 * Return: 0, -ESRCH when the process has exited meanwhile, or -ENOMEM if too
 * many watches have it as a target.
 */
int kfd_preempt_watch_link(struct kfd_preempt_watch_target *target, struct kfd_process *p)
{
	int ret = 0;

	spin_lock(&processes_lock);
	spin_lock(&p->preempt.lock);
	if (!READ_ONCE(p->mm)) {
		ret = -ESRCH;
	} else if (p->preempt.num_targets >= target->max_owners) {
		ret = -ENOMEM;
	} else {
		target->p = p;
		list_add(&target->node, &p->preempt.targets);
		p->preempt.num_targets++;
		if (target->gives) {
			WRITE_ONCE(p->preempt.num_givers, p->preempt.num_givers + 1);
			if (target->max_owners == KFD_PREEMPT_MAX_OWNERS)
				atomic_inc(&givers);
			wake_up_all(&p->preempt.room);
		}
	}
	spin_unlock(&p->preempt.lock);
	spin_unlock(&processes_lock);
	return ret;
}

void kfd_preempt_watch_unlink(struct kfd_preempt_watch_target *target)
{
	struct kfd_process *p;

	spin_lock(&processes_lock);
	p = target->p;
	if (p) {
		spin_lock(&p->preempt.lock);
		list_del_init(&target->node);
		p->preempt.num_targets--;
		forget_giver(target, &p->preempt);
		spin_unlock(&p->preempt.lock);
		target->p = NULL;
	}
	spin_unlock(&processes_lock);
}

/* The process of a target, referenced, or NULL when it is gone. */
struct kfd_process *kfd_preempt_watch_process(struct kfd_preempt_watch_target *target)
{
	struct kfd_process *p;

	spin_lock(&processes_lock);
	p = target->p;
	if (p && !kref_get_unless_zero(&p->ref))
		p = NULL;
	spin_unlock(&processes_lock);
	return p;
}

/**
 * kfd_preempt_watch_has_givers - whether a watch makes room for any process
 *
 * Return: true if a new process may get a giver soon.
 */
bool kfd_preempt_watch_has_givers(void)
{
	return atomic_read(&givers);
}

/**
 * kfd_preempt_watch_wants - request room for an allocation
 * @pdd: process and GPU
 * @mib: its size
 * @answers: out: number of answers for the process until now
 *
 * Return: true if a watch will answer.
 */
bool kfd_preempt_watch_wants(struct kfd_process_device *pdd, u32 mib, u32 *answers)
{
	struct kfd_preempt_p *pp = &pdd->process->preempt;
	u32 index = kfd_preempt_gpu_index(pdd);
	struct kfd_preempt_watch_target *target;
	bool any;

	spin_lock(&pp->lock);
	*answers = pp->answers;
	any = pp->num_givers;
	list_for_each_entry(target, &pp->targets, node)
		if (target->gives)
			put_event(target, &target->gpus[index].wants, pdd->user_gpu_id, mib);
	spin_unlock(&pp->lock);
	return any;
}

/**
 * kfd_preempt_watch_answer - let allocations that wait try again
 * @target: their process
 * @no_room: the allocations must not request room again
 *
 * Return: 0, or -ESRCH if the process is gone.
 */
int kfd_preempt_watch_answer(struct kfd_preempt_watch_target *target, bool no_room)
{
	struct kfd_process *p;

	spin_lock(&processes_lock);
	p = target->p;
	if (p) {
		spin_lock(&p->preempt.lock);
		p->preempt.no_room = no_room;
		WRITE_ONCE(p->preempt.answers, p->preempt.answers + 1);
		wake_up_all(&p->preempt.room);
		spin_unlock(&p->preempt.lock);
	}
	spin_unlock(&processes_lock);
	return p ? 0 : -ESRCH;
}

static bool take(struct kfd_preempt_watch_slot *event, u32 type,
		 const struct kfd_preempt_watch_target *target,
		 struct kfd_preempt_watch_event *out)
{
	if (!event->count)
		return false;
	*out = (struct kfd_preempt_watch_event){
		.cookie = target->cookie,
		.ns = event->ns,
		.type = type,
		.gpu_id = event->gpu_id,
		.doorbell = event->doorbell,
		.count = event->count,
	};
	event->count = 0;
	return true;
}

/* EXITED is the last event of a target. */
static bool take_any(struct kfd_preempt_watch_target *target,
		     struct kfd_preempt_watch_event *out)
{
	struct kfd_preempt_watch_gpu *gpu;
	u32 i;

	for (i = 0; i < target->num_gpus; i++) {
		gpu = &target->gpus[i];
		if (take(&gpu->created, KFD_PREEMPT_WATCH_QUEUE_CREATED, target, out) ||
		    take(&gpu->rang, KFD_PREEMPT_WATCH_RANG, target, out) ||
		    take(&gpu->destroyed, KFD_PREEMPT_WATCH_QUEUE_DESTROYED, target, out) ||
		    take(&gpu->wants, KFD_PREEMPT_WATCH_WANTS_MEMORY, target, out))
			return true;
	}
	return take(&target->exited, KFD_PREEMPT_WATCH_EXITED, target, out);
}

/* A target is in the list of its watch only as long as it has an event. */
static bool has_any(const struct kfd_preempt_watch_target *target)
{
	u32 i;

	for (i = 0; i < target->num_gpus; i++)
		if (target->gpus[i].created.count || target->gpus[i].rang.count ||
		    target->gpus[i].destroyed.count || target->gpus[i].wants.count)
			return true;
	return target->exited.count;
}

/**
 * kfd_preempt_watch_next - take the oldest event
 * @watch: the watch
 * @out: the event
 *
 * Return: false when there is none.
 */
bool kfd_preempt_watch_next(struct kfd_preempt_watch *watch,
			    struct kfd_preempt_watch_event *out)
{
	struct kfd_preempt_watch_target *target;
	bool found = false;

	spin_lock(&watch->lock);
	if (!list_empty(&watch->pending)) {
		target = list_first_entry(&watch->pending, struct kfd_preempt_watch_target,
					  pending_node);
		found = take_any(target, out);
		/* Its other events wait behind those of others. */
		if (has_any(target))
			list_move_tail(&target->pending_node, &watch->pending);
		else
			list_del_init(&target->pending_node);
	}
	spin_unlock(&watch->lock);
	return found;
}
