// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The file of a watch, which reports when idle processes begin to submit work.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd_preempt_target.h"
#include "kfd_preempt_watch.h"

/* The process cannot find the target any more. */
static void free_target(struct kfd_preempt_watch_target *target)
{
	spin_lock(&target->watch->lock);
	list_del(&target->pending_node);
	spin_unlock(&target->watch->lock);
	target->watch->num_targets--;
	kfree(target);
}

static int add_process(struct kfd_preempt_watch *watch, struct kfd_process *p,
		       bool self, struct kfd_preempt_watch_add *args)
{
	struct kfd_preempt_watch_target *target;
	int ret;

	if (watch->num_targets >= KFD_PREEMPT_MAX_TARGETS)
		return -ENOMEM;
	target = kzalloc(struct_size(target, gpus, p->n_pdds), GFP_KERNEL_ACCOUNT);
	if (!target)
		return -ENOMEM;
	target->watch = watch;
	target->gives = args->flags & KFD_PREEMPT_WATCH_GIVE_MEMORY;
	target->max_owners = kfd_preempt_max_owners(self);
	target->cookie = args->cookie;
	target->num_gpus = p->n_pdds;
	INIT_LIST_HEAD(&target->node);
	INIT_LIST_HEAD(&target->pending_node);
	watch->num_targets++;
	ret = xa_alloc(&watch->targets, &args->id, target, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret) {
		free_target(target);
		return -ENOMEM;
	}
	ret = kfd_preempt_watch_link(target, p);
	if (ret) {
		xa_erase(&watch->targets, args->id);
		free_target(target);
	}
	return ret;
}

static long do_add(struct kfd_preempt_watch *watch, struct kfd_preempt_watch_add *args)
{
	u32 by = args->flags & ~KFD_PREEMPT_WATCH_GIVE_MEMORY;
	struct kfd_preempt_target one = {}, *target;
	struct kfd_preempt_targets targets = {
		.self = kfd_preempt_current_process(),
		.fops = watch->fops,
		.list = &one,
	};
	long ret;

	if ((by != KFD_PREEMPT_SWITCH_TARGET_FD && by != KFD_PREEMPT_SWITCH_TARGET_PID) ||
	    args->pad || args->reserved) {
		ret = -EINVAL;
		goto put_self;
	}
	target = kfd_preempt_target_add(&targets, by, args->target, args->target);
	if (IS_ERR(target)) {
		ret = PTR_ERR(target);
		goto put_self;
	}
	target->preempts = true;
	kfd_preempt_target_authorize(&targets, target);
	ret = target->err;
	if (!ret)
		ret = add_process(watch, target->p, target->p == targets.self, args);
	kfd_preempt_targets_put(&targets);
put_self:
	if (targets.self)
		kfd_unref_process(targets.self);
	return ret;
}

static long do_remove(struct kfd_preempt_watch *watch, u32 id)
{
	struct kfd_preempt_watch_target *target = xa_erase(&watch->targets, id);

	if (!target)
		return -ENOENT;
	kfd_preempt_watch_unlink(target);
	free_target(target);
	return 0;
}

static long do_answer(struct kfd_preempt_watch *watch,
		      const struct kfd_preempt_watch_answer *args)
{
	struct kfd_preempt_watch_target *target = xa_load(&watch->targets, args->id);

	if (args->flags & ~KFD_PREEMPT_WATCH_NO_ROOM)
		return -EINVAL;
	if (!target)
		return -ENOENT;
	return kfd_preempt_watch_answer(target, args->flags & KFD_PREEMPT_WATCH_NO_ROOM);
}

union watch_args {
	struct kfd_preempt_watch_add add;
	struct kfd_preempt_watch_remove remove;
	struct kfd_preempt_watch_arm arm;
	struct kfd_preempt_watch_answer answer;
};

static const unsigned int watch_cmds[] = {
	KFD_PREEMPT_WATCH_ADD,
	KFD_PREEMPT_WATCH_REMOVE,
	KFD_PREEMPT_WATCH_ARM,
	KFD_PREEMPT_WATCH_ANSWER,
};

/* Structs may grow at the end. Returns 0 for a call that does not exist. */
static unsigned int find_cmd(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(watch_cmds); i++)
		if (_IOC_TYPE(cmd) == _IOC_TYPE(watch_cmds[i]) &&
		    _IOC_NR(cmd) == _IOC_NR(watch_cmds[i]))
			return watch_cmds[i];
	return 0;
}

static long call(struct kfd_preempt_watch *watch, unsigned int cmd, union watch_args *args)
{
	switch (cmd) {
	case KFD_PREEMPT_WATCH_ADD:
		return do_add(watch, &args->add);
	case KFD_PREEMPT_WATCH_REMOVE:
		return args->remove.pad ? -EINVAL : do_remove(watch, args->remove.id);
	case KFD_PREEMPT_WATCH_ARM:
		return kfd_preempt_watch_arm(watch, &args->arm);
	}
	return do_answer(watch, &args->answer);
}

static long watch_ioctl(struct file *filep, unsigned int ucmd, unsigned long arg)
{
	struct kfd_preempt_watch *watch = filep->private_data;
	unsigned int cmd = find_cmd(ucmd);
	void __user *uarg = (void __user *)arg;
	union watch_args args = {};
	long ret;

	if (!cmd)
		return -ENOTTY;
	if (_IOC_SIZE(ucmd) < _IOC_SIZE(cmd))
		return -EINVAL;
	ret = copy_struct_from_user(&args, _IOC_SIZE(cmd), uarg, _IOC_SIZE(ucmd));
	if (ret)
		return ret;

	if (mutex_lock_interruptible(&watch->mutex))
		return -EINTR;
	ret = call(watch, cmd, &args);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(uarg, &args, _IOC_SIZE(cmd))) {
		ret = -EFAULT;
		/* The caller did not get the id of this target. */
		if (cmd == KFD_PREEMPT_WATCH_ADD)
			do_remove(watch, args.add.id);
	}
	mutex_unlock(&watch->mutex);
	return ret;
}

static ssize_t watch_read(struct file *filep, char __user *buf, size_t len, loff_t *pos)
{
	struct kfd_preempt_watch *watch = filep->private_data;
	struct kfd_preempt_watch_event event;
	size_t done = 0;

	if (len < sizeof(event))
		return -EINVAL;
	while (len - done >= sizeof(event)) {
		if (kfd_preempt_watch_next(watch, &event)) {
			/*
			 * An event that cannot be copied to the reader is lost,
			 * like a signal.
			 */
			if (copy_to_user(buf + done, &event, sizeof(event)))
				return done ? done : -EFAULT;
			done += sizeof(event);
			continue;
		}
		if (done)
			break;
		if (filep->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(watch->wait,
					     !list_empty_careful(&watch->pending)))
			return -ERESTARTSYS;
	}
	return done;
}

static __poll_t watch_poll(struct file *filep, poll_table *wait)
{
	struct kfd_preempt_watch *watch = filep->private_data;

	poll_wait(filep, &watch->wait, wait);
	return list_empty_careful(&watch->pending) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static void free_watch(struct kfd_preempt_watch *watch)
{
	xa_destroy(&watch->targets);
	mutex_destroy(&watch->mutex);
	kfree(watch);
}

static int watch_release(struct inode *inode, struct file *filep)
{
	struct kfd_preempt_watch *watch = filep->private_data;
	struct kfd_preempt_watch_target *target;
	unsigned long id;

	xa_for_each(&watch->targets, id, target) {
		kfd_preempt_watch_unlink(target);
		free_target(target);
	}
	free_watch(watch);
	return 0;
}

static const struct file_operations watch_fops = {
	.owner = THIS_MODULE,
	.release = watch_release,
	.unlocked_ioctl = watch_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = watch_read,
	.poll = watch_poll,
	.llseek = noop_llseek,
};

/**
 * kfd_preempt_do_watch - WATCH: make the file of a watch
 * @filep: file of /dev/kfd
 * @args: validated here
 * @made: the file, which the caller installs at @args->fd, or drops both
 *
 * Return: 0 or a negative errno, see kfd_preempt_uapi.h.
 */
int kfd_preempt_do_watch(struct file *filep, struct kfd_ioctl_preempt_watch_args *args,
			 struct file **made)
{
	struct kfd_preempt_watch *watch;
	struct file *file;
	int fd;

	if (args->flags || args->reserved[0] || args->reserved[1] || args->reserved[2])
		return -EINVAL;
	watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);
	if (!watch)
		return -ENOMEM;
	mutex_init(&watch->mutex);
	xa_init_flags(&watch->targets, XA_FLAGS_ALLOC1);
	watch->fops = filep->f_op;
	spin_lock_init(&watch->lock);
	INIT_LIST_HEAD(&watch->pending);
	init_waitqueue_head(&watch->wait);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		free_watch(watch);
		return fd;
	}
	file = anon_inode_getfile("[kfd-watch]", &watch_fops, watch, O_RDWR);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		free_watch(watch);
		return PTR_ERR(file);
	}
	args->fd = fd;
	*made = file;
	return 0;
}
