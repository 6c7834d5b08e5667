// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ARM: unmaps doorbells, then checks whether their queues have work. */

#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd_preempt_watch.h"

/* Where the indexes of a queue are in the memory of its process. */
struct indexes {
	unsigned long read_ptr;
	unsigned long write_ptr;
	u32 gpu_index;
};

/* The queues of a process, copied: their indexes are read under mmap_lock. */
static struct indexes *copy_indexes(struct kfd_preempt_p *pp, unsigned int *num)
{
	struct indexes *copy = NULL;
	unsigned int room = 0;
	struct queue *q;

	spin_lock(&pp->lock);
	while (room < pp->num_queues) {
		room = pp->num_queues;
		spin_unlock(&pp->lock);
		kvfree(copy);
		copy = kvmalloc_array(room, sizeof(*copy), GFP_KERNEL);
		if (!copy)
			return ERR_PTR(-ENOMEM);
		spin_lock(&pp->lock);
	}
	*num = 0;
	list_for_each_entry(q, &pp->queues, preempt.process_node)
		copy[(*num)++] = (struct indexes){
			.read_ptr = (unsigned long)q->properties.read_ptr,
			.write_ptr = (__force unsigned long)q->properties.write_ptr,
			.gpu_index = q->preempt.gpu_index,
		};
	spin_unlock(&pp->lock);
	return copy;
}

static int look(struct kfd_process *p, struct kfd_preempt_watch_arm_entry *entry)
{
	unsigned int num, i;
	struct indexes *queues = copy_indexes(&p->preempt, &num);
	struct mm_struct *mm;
	u64 read, write;

	if (IS_ERR(queues))
		return PTR_ERR(queues);
	mm = kfd_preempt_indexes_lock(p);
	for (i = 0; i < num; i++) {
		if (kfd_preempt_indexes_read(mm, queues[i].read_ptr, queues[i].write_ptr,
					     &read, &write) && read == write)
			continue;
		entry->queues_busy++;
		entry->gpus_busy |= BIT_ULL(queues[i].gpu_index);
	}
	kfd_preempt_indexes_unlock(mm);
	kvfree(queues);
	if (entry->queues_busy)
		entry->state |= KFD_PREEMPT_WATCH_STATE_BUSY;
	return 0;
}

static void note_state(const struct kfd_process *p, u32 *state)
{
	u32 i;

	for (i = 0; i < p->n_pdds; i++) {
		if (READ_ONCE(p->pdds[i]->qpd.evicted))
			*state |= KFD_PREEMPT_WATCH_STATE_EVICTED;
		if (READ_ONCE(p->pdds[i]->preempt.blind))
			*state |= KFD_PREEMPT_WATCH_STATE_BLIND;
	}
}

static void disarm(struct kfd_preempt_watch_target *target, struct kfd_process *p)
{
	/*
	 * kfd_preempt_p.armed stays set: the next fault finds no armed target.
	 */
	spin_lock(&p->preempt.lock);
	target->armed = 0;
	spin_unlock(&p->preempt.lock);
}

static void arm(struct kfd_preempt_watch_target *target, struct kfd_process *p)
{
	if (!target->num_gpus)
		return;
	spin_lock(&p->preempt.lock);
	target->armed = GENMASK_ULL(target->num_gpus - 1, 0);
	WRITE_ONCE(p->preempt.armed, p->preempt.armed | target->armed);
	spin_unlock(&p->preempt.lock);
	/* Set armed before the unmap; pairs with kfd_preempt_watch_rang(). */
	smp_mb();
	kfd_preempt_doorbells_unmap(p);
}

static int arm_entry(struct kfd_preempt_watch *watch, u32 flags,
		     struct kfd_preempt_watch_arm_entry *entry)
{
	struct kfd_preempt_watch_target *target = xa_load(&watch->targets, entry->id);
	struct kfd_process *p;
	int ret = 0;

	if (!target)
		return -ENOENT;
	p = kfd_preempt_watch_process(target);
	if (!p)
		return -ESRCH;
	if (flags & KFD_PREEMPT_WATCH_DISARM)
		disarm(target, p);
	else
		arm(target, p);
	/* Read indexes last: later work rings an unmapped page, an event. */
	if (!(flags & KFD_PREEMPT_WATCH_NO_LOOK))
		ret = look(p, entry);
	note_state(p, &entry->state);
	kfd_unref_process(p);
	return ret;
}

/**
 * kfd_preempt_watch_arm - ARM: arm targets and read the indexes of their queues
 * @watch: the watch, whose mutex the caller holds
 * @args: validated here
 *
 * Return: 0 or a negative errno, see kfd_preempt_uapi.h.
 */
long kfd_preempt_watch_arm(struct kfd_preempt_watch *watch,
			   struct kfd_preempt_watch_arm *args)
{
	const u32 known = KFD_PREEMPT_WATCH_NO_LOOK | KFD_PREEMPT_WATCH_DISARM;
	struct kfd_preempt_watch_arm_entry __user *uentries = u64_to_user_ptr(args->entries_ptr);
	struct kfd_preempt_watch_arm_entry entry;
	u32 i;

	if (args->flags & ~known || args->reserved || !args->num_entries)
		return -EINVAL;
	if (args->num_entries > KFD_PREEMPT_MAX_BATCH)
		return -E2BIG;
	args->num_armed = 0;
	args->num_busy = 0;
	for (i = 0; i < args->num_entries; i++) {
		if (copy_from_user(&entry, &uentries[i], sizeof(entry)))
			return -EFAULT;
		entry.state = 0;
		entry.queues_busy = 0;
		entry.gpus_busy = 0;
		entry.result = entry.reserved ? -EINVAL :
			       arm_entry(watch, args->flags, &entry);
		args->num_armed += !entry.result;
		args->num_busy += !!(entry.state & KFD_PREEMPT_WATCH_STATE_BUSY);
		if (copy_to_user(&uentries[i], &entry, sizeof(entry)))
			return -EFAULT;
	}
	return 0;
}
