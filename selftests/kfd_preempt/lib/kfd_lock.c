// SPDX-License-Identifier: GPL-2.0-only
/* Keeps the mutex of this process in KFD locked, as any process can for as long as it likes. */
#include "kfd_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096ul
#define FAULT_TIMEOUT_MS 30000

/* Registers the first page of the buffer, where the driver writes first. */
static int catch_faults(struct kfd_lock *lock)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)lock->buffer, .len = PAGE_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	lock->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (lock->uffd < 0)
		return -errno;
	if (ioctl(lock->uffd, UFFDIO_API, &api) || ioctl(lock->uffd, UFFDIO_REGISTER, &range)) {
		int ret = -errno;

		close(lock->uffd);
		return ret;
	}
	return 0;
}

static void *read_wave_state(void *arg)
{
	struct kfd_lock *lock = arg;
	struct kfd_ioctl_get_queue_wave_state_args args = {
		.queue_id = lock->queue.id,
		.ctl_stack_address = (uintptr_t)lock->buffer,
	};

	kfd_ioctl(lock->queue.dev->kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args);
	return NULL;
}

static int wait_for_fault(const struct kfd_lock *lock)
{
	struct pollfd wait = { .fd = lock->uffd, .events = POLLIN };
	struct uffd_msg message;

	if (poll(&wait, 1, FAULT_TIMEOUT_MS) != 1)
		return -ETIME;
	if (read(lock->uffd, &message, sizeof(message)) != sizeof(message))
		return -EIO;
	return message.event == UFFD_EVENT_PAGEFAULT ? 0 : -EIO;
}

static int resolve_fault(const struct kfd_lock *lock)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)lock->buffer, .len = PAGE_BYTES },
	};

	return ioctl(lock->uffd, UFFDIO_ZEROPAGE, &zero) ? -errno : 0;
}

static int create_queue(struct kfd_device *dev, struct kfd_lock *lock)
{
	int ret = aql_queue_create(dev, &lock->queue);

	if (ret)
		return ret;
	ret = aql_queue_set_percentage(&lock->queue, 0);
	if (ret)
		aql_queue_destroy(&lock->queue);
	return ret;
}

static int start_thread(struct kfd_lock *lock)
{
	int ret = -pthread_create(&lock->thread, NULL, read_wave_state, lock);

	if (ret)
		return ret;
	ret = wait_for_fault(lock);
	if (ret) {
		resolve_fault(lock);
		pthread_join(lock->thread, NULL);
	}
	return ret;
}

int kfd_lock_take(struct kfd_device *dev, struct kfd_lock *lock)
{
	int ret;

	memset(lock, 0, sizeof(*lock));
	ret = create_queue(dev, lock);
	if (ret)
		return ret;
	lock->bytes = dev->ctl_stack_bytes + PAGE_BYTES;
	lock->buffer = mmap(NULL, lock->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (lock->buffer == MAP_FAILED) {
		ret = -errno;
		goto destroy;
	}
	ret = catch_faults(lock);
	if (ret)
		goto unmap;
	ret = start_thread(lock);
	if (!ret)
		return 0;
	close(lock->uffd);
unmap:
	munmap(lock->buffer, lock->bytes);
destroy:
	aql_queue_destroy(&lock->queue);
	return ret;
}

static int end_thread(struct kfd_lock *lock)
{
	int ret = resolve_fault(lock);

	if (!ret)
		pthread_join(lock->thread, NULL);
	return ret;
}

int kfd_lock_retake(struct kfd_lock *lock)
{
	int ret = end_thread(lock);

	if (ret)
		return ret;
	if (madvise(lock->buffer, PAGE_BYTES, MADV_DONTNEED))
		return -errno;
	return start_thread(lock);
}

int kfd_lock_release(struct kfd_lock *lock)
{
	int ret = end_thread(lock);

	if (ret)
		return ret;
	close(lock->uffd);
	munmap(lock->buffer, lock->bytes);
	return aql_queue_destroy(&lock->queue);
}
