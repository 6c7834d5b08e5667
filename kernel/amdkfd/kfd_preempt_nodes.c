// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The nodes that exist, and those of a process, which may outlive the GPUs that it has opened. */

#include <linux/rwsem.h>

#include "kfd_preempt_compat.h"

/*
 * KFD makes a kfd_process_device for each node when /dev/kfd is opened. Until
 * the process acquires a VM it holds no reference to the node, so its pointer
 * may only be compared with those of this list.
 */
static DECLARE_RWSEM(nodes_lock);
static LIST_HEAD(nodes);

/**
 * kfd_preempt_node_add - a node has been started
 * @dqm: its scheduler, whose packet manager exists from now on
 */
void kfd_preempt_node_add(struct device_queue_manager *dqm)
{
	down_write(&nodes_lock);
	list_add_tail(&dqm->preempt.list, &nodes);
	up_write(&nodes_lock);
}

/* From here on QUERY does not access the node. It may not have been added. */
void kfd_preempt_node_remove(struct device_queue_manager *dqm)
{
	down_write(&nodes_lock);
	list_del(&dqm->preempt.list);
	up_write(&nodes_lock);
}

/**
 * kfd_preempt_nodes_visit - call a function for each node
 * @visit: the function; the node is not freed while it runs
 * @data: for it
 */
void kfd_preempt_nodes_visit(void (*visit)(struct device_queue_manager *dqm, void *data),
			     void *data)
{
	struct kfd_preempt_node *node;

	down_read(&nodes_lock);
	list_for_each_entry(node, &nodes, list)
		visit(container_of(node, struct device_queue_manager, preempt), data);
	up_read(&nodes_lock);
}

/* Returns the index of the pdd in kfd_process.pdds. */
u32 kfd_preempt_gpu_index(const struct kfd_process_device *pdd)
{
	u32 i;

	for (i = 0; i < pdd->process->n_pdds; i++)
		if (pdd->process->pdds[i] == pdd)
			break;
	return i;
}
