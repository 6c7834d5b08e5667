// SPDX-License-Identifier: GPL-2.0-only
/* Every malformed call of the interface and its one error; needs no queue. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "calls.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "text_file.h"

#define LAST_SIZE(which) _IOC_SIZE(call_facts[which].cmd)
/* Size of the arguments in ABI 1.0. */
#define FIRST_SIZE(which) \
	((which) == CALL_STATUS ? offsetof(struct kfd_ioctl_preempt_status_args, write_index) : \
				  LAST_SIZE(which))

FIXTURE(driver)
{
	int fd;
	int unknown;	/* kfd_answer_to_unknown() */
	struct kfd_ioctl_preempt_query_args query;
};

FIXTURE_SETUP(driver)
{
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, preempt_query(self->fd, 0, &self->query));
	self->unknown = kfd_answer_to_unknown(self->fd);
	ASSERT_TRUE(self->unknown == -ENOTTY || self->unknown == -EINVAL);
}

FIXTURE_TEARDOWN(driver)
{
	close(self->fd);
}

TEST_F(driver, query_tells_version_scheduler_and_limits)
{
	const struct kfd_ioctl_preempt_query_args *query = &self->query;
	/* Without a GPU the driver knows the calls, but there is nothing it can stop. */
	bool has_gpu = access("/dev/dri/renderD128", F_OK) == 0;

	EXPECT_EQ(KFD_PREEMPT_ABI_MAJOR, query->abi_major);
	EXPECT_EQ(KFD_PREEMPT_ABI_MINOR, query->abi_minor);
	/* The numbers of sched_mode are those of the parameter, without MES. */
	EXPECT_EQ(text_file_number("/sys/module/amdgpu/parameters/sched_policy"), (int)query->sched_mode);
	EXPECT_EQ(KFD_PREEMPT_MAX_BATCH, query->max_batch);
	EXPECT_EQ(KFD_PREEMPT_MAX_TIMEOUT_MS, query->max_timeout_ms);
	EXPECT_EQ(0, query->num_xcc);
	EXPECT_EQ(0, query->flags);
	EXPECT_EQ(0, query->reserved[0]);
	EXPECT_EQ(0, query->reserved[1]);
	EXPECT_EQ(has_gpu, !!(query->type_mask & (1u << KFD_PREEMPT_TYPE_SAVE)));
	EXPECT_EQ(driver_caps_wanted(self->fd, has_gpu, true), query->caps);
}

TEST_F(driver, caps_and_type_mask_agree)
{
	uint64_t caps = self->query.caps;
	uint32_t mask = self->query.type_mask;

	EXPECT_EQ(!!(caps & KFD_PREEMPT_CAP_SAVE), !!(mask & (1u << KFD_PREEMPT_TYPE_SAVE)));
	EXPECT_EQ(!!(caps & KFD_PREEMPT_CAP_DRAIN), !!(mask & (1u << KFD_PREEMPT_TYPE_DRAIN)));
	EXPECT_EQ(!!(caps & KFD_PREEMPT_CAP_RESET), !!(mask & (1u << KFD_PREEMPT_TYPE_RESET)));
	EXPECT_EQ(0, mask >> 3);
}

TEST_F(driver, query_of_an_unknown_gpu_fails)
{
	struct kfd_ioctl_preempt_query_args query;

	EXPECT_GT(0, preempt_query(self->fd, 0xffffffffu, &query));
}

TEST_F(driver, well_formed_calls_on_no_queue_find_none)
{
	struct call_bytes call;
	enum call which;

	for (which = 0; which < NUM_CALLS; which++) {
		call_init(&call, which);
		EXPECT_EQ(call_facts[which].answer, call_issue(self->fd, which, &call)) {
			TH_LOG("%s", call_facts[which].name);
		}
		if (which == CALL_SWITCH) {
			EXPECT_EQ(-ENOENT, call.entry[0].result);
			EXPECT_EQ(0, call.batch.num_done);
		}
	}
}

TEST_F(driver, shorter_struct_than_the_first_version_is_EINVAL)
{
	enum call which;
	struct call_bytes call;
	unsigned int i;

	for (which = CALL_QUERY; which < NUM_CALLS; which++) {
		const unsigned int sizes[] = { 0, 1, 8, FIRST_SIZE(which) - 8,
					       FIRST_SIZE(which) - 1 };

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			call_init(&call, which);
			EXPECT_EQ(-EINVAL, kfd_ioctl(self->fd, call_cmd_sized(which, sizes[i]),
						     call.bytes)) {
				TH_LOG("%s of %u bytes", call_facts[which].name, sizes[i]);
			}
		}
	}
}

TEST_F(driver, longer_struct_must_be_zero_past_the_end)
{
	enum call which;
	struct call_bytes call;
	unsigned int i;

	for (which = CALL_QUERY; which < NUM_CALLS; which++) {
		const unsigned int end = LAST_SIZE(which);
		const unsigned int sizes[] = { end + 1, end + 8, 2048,
					       (1 << _IOC_SIZEBITS) - 1 };

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			unsigned long cmd = call_cmd_sized(which, sizes[i]);

			call_init(&call, which);
			EXPECT_EQ(call_facts[which].answer,
				  kfd_ioctl(self->fd, cmd, call.bytes)) {
				TH_LOG("%s of %u bytes", call_facts[which].name, sizes[i]);
			}
			call_init(&call, which);
			call.bytes[end] = 1;
			EXPECT_EQ(-E2BIG, kfd_ioctl(self->fd, cmd, call.bytes));
			call_init(&call, which);
			call.bytes[sizes[i] - 1] = 0x80;
			EXPECT_EQ(-E2BIG, kfd_ioctl(self->fd, cmd, call.bytes));
		}
	}
}

TEST_F(driver, v0_numbers_with_another_size_are_not_ours)
{
	const unsigned int sizes[] = { 0, 8, 15, 17, 40 };
	struct call_bytes call;
	unsigned int i;

	/* 40 bytes at 0x87: what another tree of this driver uses it for */
	ASSERT_EQ(0xc0284b87ul, call_cmd_sized(CALL_PREEMPT, 40));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		call_init(&call, CALL_PREEMPT);
		EXPECT_EQ(self->unknown,
			  kfd_ioctl(self->fd, call_cmd_sized(CALL_PREEMPT, sizes[i]), call.bytes));
		call_init(&call, CALL_RESUME);
		EXPECT_EQ(self->unknown,
			  kfd_ioctl(self->fd, call_cmd_sized(CALL_RESUME, sizes[i]), call.bytes));
	}
}

TEST_F(driver, same_numbers_with_another_direction_are_not_ours)
{
	enum call which;
	struct call_bytes call;

	for (which = 0; which < NUM_CALLS; which++) {
		unsigned int nr = _IOC_NR(call_facts[which].cmd), size = FIRST_SIZE(which);

		call_init(&call, which);
		EXPECT_EQ(self->unknown, kfd_ioctl(self->fd, _IOC(_IOC_READ, 'K', nr, size), &call));
		EXPECT_EQ(self->unknown, kfd_ioctl(self->fd, _IOC(_IOC_WRITE, 'K', nr, size), &call));
		EXPECT_EQ(self->unknown, kfd_ioctl(self->fd, _IOC(_IOC_NONE, 'K', nr, size), &call));
	}
}

TEST_F(driver, unknown_numbers_get_one_answer)
{
	const unsigned int numbers[] = { 0x7f, 0x86, 0x89, 0xef, 0xf4 };
	struct call_bytes call;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		memset(&call, 0, sizeof(call));
		EXPECT_EQ(self->unknown,
			  kfd_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'K', numbers[i], 16),
				    &call));
	}
}

/* One field of a well-formed call set to one value. */
struct poke {
	enum call which;
	int in_entry;
	unsigned int offset;
	unsigned int bytes;
	uint64_t value;
	int want;
	const char *what;
};

#define ARGS(which, type, field, val, want) \
	{ which, 0, offsetof(struct type, field), sizeof(((struct type *)0)->field), val, want, \
	  #field " = " #val }
#define ENTRY(field, val, want) \
	{ CALL_SWITCH, 1, offsetof(struct kfd_preempt_switch_entry, field), \
	  sizeof(((struct kfd_preempt_switch_entry *)0)->field), val, want, \
	  "entry " #field " = " #val }

#define PREEMPT(field, val, want) \
	ARGS(CALL_PREEMPT, kfd_ioctl_preempt_queue_args, field, val, want)
#define RESUME(field, val, want) \
	ARGS(CALL_RESUME, kfd_ioctl_resume_queue_args, field, val, want)
#define QUERY(field, val, want) \
	ARGS(CALL_QUERY, kfd_ioctl_preempt_query_args, field, val, want)
#define SWITCH(field, val, want) \
	ARGS(CALL_SWITCH, kfd_ioctl_preempt_switch_args, field, val, want)
#define STATUS(field, val, want) \
	ARGS(CALL_STATUS, kfd_ioctl_preempt_status_args, field, val, want)

static const struct poke pokes[] = {
	PREEMPT(preempt_type, 3, -EINVAL),
	PREEMPT(preempt_type, 0xffffffff, -EINVAL),
	PREEMPT(timeout_ms, 60000, -ENOENT),
	PREEMPT(timeout_ms, 60001, -EINVAL),
	PREEMPT(timeout_ms, 0xffffffff, -EINVAL),
	PREEMPT(queue_id, 0xffffffff, -ENOENT),
	PREEMPT(flags, 4, -EINVAL),
	PREEMPT(flags, 0x80000000, -EINVAL),
	RESUME(queue_id, 0xffffffff, -ENOENT),
	RESUME(flags, 1, -EINVAL),
	RESUME(flags, 0x80000000, -EINVAL),
	RESUME(pad[0], 1, -EINVAL),
	RESUME(pad[1], 0x80000000, -EINVAL),
	QUERY(flags, 1, -EINVAL),
	QUERY(flags, 0x80000000, -EINVAL),
	QUERY(reserved[0], 1, -EINVAL),
	QUERY(reserved[1], 1ull << 63, -EINVAL),
	SWITCH(flags, 0x200, -EINVAL),
	SWITCH(flags, 0x80000000, -EINVAL),
	SWITCH(target_fd, 1, -EINVAL),
	SWITCH(flags, KFD_PREEMPT_SWITCH_TARGET_PID, -ESRCH),
	SWITCH(flags, KFD_PREEMPT_SWITCH_TARGET_FD | KFD_PREEMPT_SWITCH_TARGET_PID, -EINVAL),
	SWITCH(flags, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, 0),
	SWITCH(flags, KFD_PREEMPT_SWITCH_FORCE, -EINVAL),
	SWITCH(target_pid, 1, -EINVAL),
	SWITCH(timeout_ms, 60000, 0),
	SWITCH(timeout_ms, 60001, -EINVAL),
	SWITCH(num_entries, 0, -EINVAL),
	SWITCH(num_entries, KFD_PREEMPT_MAX_BATCH + 1, -E2BIG),
	SWITCH(num_entries, 0xffffffff, -E2BIG),
	SWITCH(entries_ptr, 0, -EFAULT),
	SWITCH(entries_ptr, 0x1000, -EFAULT),
	SWITCH(entries_ptr, 0xffff888000000000, -EFAULT),
	SWITCH(reserved, 1, -EINVAL),
	ENTRY(op, 0, -EINVAL),
	ENTRY(op, 3, -EINVAL),
	ENTRY(op, 0xffff, -EINVAL),
	ENTRY(preempt_type, 3, -EINVAL),
	ENTRY(preempt_type, 0xffff, -EINVAL),
	ENTRY(gpu_id, 1, -EINVAL),
	ENTRY(reserved, 1, -EINVAL),
	STATUS(queue_id, 0xffffffff, -ENOENT),
	STATUS(flags, 1, -EINVAL),
	STATUS(flags, KFD_PREEMPT_SWITCH_TARGET_PID, -ESRCH),
	STATUS(flags, KFD_PREEMPT_SWITCH_TARGET_FD | KFD_PREEMPT_SWITCH_TARGET_PID, -EINVAL),
	STATUS(flags, 0x80000000, -EINVAL),
	STATUS(pad, 1, -EINVAL),
	STATUS(target_pid, 1, -EINVAL),
	STATUS(target_fd, 1, -EINVAL),
};

TEST_F(driver, each_malformed_field_has_its_error)
{
	struct call_bytes call;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pokes); i++) {
		const struct poke *poke = &pokes[i];

		call_init(&call, poke->which);
		memcpy((poke->in_entry ? (unsigned char *)call.entry : call.bytes) + poke->offset,
		       &poke->value, poke->bytes);
		EXPECT_EQ(poke->want, call_issue(self->fd, poke->which, &call)) {
			TH_LOG("%s: %s", call_facts[poke->which].name, poke->what);
		}
	}
}

struct flag_cap {
	enum call which;
	uint32_t flag;
	uint64_t cap;
};

static const struct flag_cap flag_caps[] = {
	{ CALL_PREEMPT, KFD_PREEMPT_FLAG_FAST, KFD_PREEMPT_CAP_FAST },
	{ CALL_PREEMPT, KFD_PREEMPT_FLAG_CHECKPOINT, KFD_PREEMPT_CAP_CHECKPOINT },
	{ CALL_SWITCH, KFD_PREEMPT_SWITCH_FAST, KFD_PREEMPT_CAP_FAST },
	{ CALL_SWITCH, KFD_PREEMPT_SWITCH_CHECKPOINT, KFD_PREEMPT_CAP_CHECKPOINT },
	{ CALL_SWITCH, KFD_PREEMPT_SWITCH_TARGET_FD, KFD_PREEMPT_CAP_OPERATOR_FD },
};

TEST_F(driver, flag_that_is_not_advertised_is_EINVAL)
{
	struct call_bytes call;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flag_caps); i++) {
		const struct flag_cap *row = &flag_caps[i];
		int ret;

		call_init(&call, row->which);
		if (row->which == CALL_PREEMPT)
			call.preempt.flags = row->flag;
		else
			call.batch.flags = row->flag;
		ret = call_issue(self->fd, row->which, &call);
		if (self->query.caps & row->cap) {
			EXPECT_NE(-EINVAL, ret);
		} else {
			EXPECT_EQ(-EINVAL, ret);
		}
	}
}

TEST_F(driver, sticky_on_oneself_is_EINVAL)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.batch.flags = KFD_PREEMPT_SWITCH_STICKY;
	EXPECT_EQ(-EINVAL, call_issue(self->fd, CALL_SWITCH, &call));
}

TEST_F(driver, resume_entry_with_a_preempt_type_is_EINVAL)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.entry[0].op = KFD_PREEMPT_OP_RESUME;
	EXPECT_EQ(-EINVAL, call_issue(self->fd, CALL_SWITCH, &call));
}

TEST_F(driver, same_queue_twice_is_EINVAL)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.entry[1] = call.entry[0];
	call.batch.num_entries = 2;
	EXPECT_EQ(-EINVAL, call_issue(self->fd, CALL_SWITCH, &call));
	/* also when one stops it and the other starts it */
	call_init(&call, CALL_SWITCH);
	call.entry[1] = call.entry[0];
	call.entry[1].op = KFD_PREEMPT_OP_RESUME;
	call.entry[1].preempt_type = 0;
	call.batch.num_entries = 2;
	EXPECT_EQ(-EINVAL, call_issue(self->fd, CALL_SWITCH, &call));
}

TEST_F(driver, full_batch_is_looked_at_entry_by_entry)
{
	static struct kfd_preempt_switch_entry entries[KFD_PREEMPT_MAX_BATCH];
	unsigned int i;

	for (i = 0; i < KFD_PREEMPT_MAX_BATCH; i++) {
		entries[i].queue_id = NO_QUEUE - i;
		entries[i].op = KFD_PREEMPT_OP_RESUME;
	}
	ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, entries, KFD_PREEMPT_MAX_BATCH));
	for (i = 0; i < KFD_PREEMPT_MAX_BATCH; i++)
		EXPECT_EQ(-ENOENT, entries[i].result);
}

TEST_F(driver, bad_argument_pointers_are_EFAULT)
{
	void *const pointers[] = { NULL, (void *)0x1000, (void *)0xffff888000000000ul };
	enum call which;
	unsigned int i;

	for (which = 0; which < NUM_CALLS; which++) {
		for (i = 0; i < ARRAY_SIZE(pointers); i++) {
			EXPECT_EQ(-EFAULT, kfd_ioctl(self->fd, call_facts[which].cmd,
						     pointers[i])) {
				TH_LOG("%s at %p", call_facts[which].name, pointers[i]);
			}
		}
	}
}

TEST_F(driver, arguments_that_end_in_an_unmapped_page_are_EFAULT)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	enum call which;

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, munmap(pages + page, page));
	for (which = 0; which < NUM_CALLS; which++)
		EXPECT_EQ(-EFAULT, kfd_ioctl(self->fd, call_facts[which].cmd, pages + page - 8));
	munmap(pages, page);
}

TEST_F(driver, read_only_results_are_EFAULT)
{
	struct kfd_ioctl_preempt_query_args *query;

	query = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, query);
	EXPECT_EQ(-EFAULT, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_QUERY, query));
}

TEST_F(driver, file_inherited_over_fork_is_EBADF)
{
	struct call_bytes call;
	enum call which;
	int status;
	pid_t child = fork();

	ASSERT_LE(0, child);
	if (!child) {
		for (which = 0; which < NUM_CALLS; which++) {
			call_init(&call, which);
			if (call_issue(self->fd, which, &call) != -EBADF)
				_exit(1 + which);
		}
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status)) {
		TH_LOG("call %d of the child was not refused", WEXITSTATUS(status) - 1);
	}
	/* and the parent's file still works */
	call_init(&call, CALL_QUERY);
	EXPECT_EQ(0, call_issue(self->fd, CALL_QUERY, &call));
}

static void *query_from_thread(void *arg)
{
	struct kfd_ioctl_preempt_query_args query;

	return (void *)(long)preempt_query(*(int *)arg, 0, &query);
}

TEST_F(driver, another_thread_may_call)
{
	pthread_t thread;
	void *ret = (void *)1;

	ASSERT_EQ(0, pthread_create(&thread, NULL, query_from_thread, &self->fd));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(NULL, ret);
}

TEST_F(driver, second_file_answers_the_same)
{
	struct kfd_ioctl_preempt_query_args query;
	int second = kfd_open();

	ASSERT_LE(0, second);
	EXPECT_EQ(0, preempt_query(second, 0, &query));
	EXPECT_EQ(0, memcmp(&query, &self->query, sizeof(query)));
	EXPECT_EQ(-ENOENT, preempt_queue(second, NO_QUEUE));
	close(second);
}

static int switch_by_fd(int fd, int target_fd)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.batch.flags = KFD_PREEMPT_SWITCH_TARGET_FD;
	call.batch.target_fd = target_fd;
	return call_issue(fd, CALL_SWITCH, &call);
}

static int status_by_fd(int fd, int target_fd)
{
	struct call_bytes call;

	call_init(&call, CALL_STATUS);
	call.status.flags = KFD_PREEMPT_SWITCH_TARGET_FD;
	call.status.target_fd = target_fd;
	return call_issue(fd, CALL_STATUS, &call);
}

TEST_F(driver, target_fd_of_no_kfd_file_is_EBADF)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), second = kfd_open();
	const int wrong[] = { -1, 1000, null };
	unsigned int i;

	ASSERT_LE(0, null);
	ASSERT_LE(0, second);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EBADF, switch_by_fd(self->fd, wrong[i]));
		EXPECT_EQ(-EBADF, status_by_fd(self->fd, wrong[i]));
	}
	/* An own file is oneself. */
	EXPECT_EQ(0, switch_by_fd(self->fd, second));
	EXPECT_EQ(-ENOENT, status_by_fd(self->fd, second));
	close(null);
	close(second);
}

TEST_F(driver, unknown_pid_of_an_entry_is_the_entry_s_ESRCH)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.entry[1] = call.entry[0];
	call.entry[0].target_pid = 1;
	call.batch.num_entries = 2;
	ASSERT_EQ(0, call_issue(self->fd, CALL_SWITCH, &call));
	EXPECT_EQ(-ESRCH, call.entry[0].result);
	EXPECT_EQ(-ENOENT, call.entry[1].result);
	call.entry[0].target_pid = -1;
	ASSERT_EQ(0, call_issue(self->fd, CALL_SWITCH, &call));
	EXPECT_EQ(-ESRCH, call.entry[0].result);
}

TEST_F(driver, uid_is_ignored_without_MATCH_UID)
{
	struct call_bytes call;

	call_init(&call, CALL_SWITCH);
	call.entry[0].queue_uid = ~0ull;
	ASSERT_EQ(0, call_issue(self->fd, CALL_SWITCH, &call));
	EXPECT_EQ(-ENOENT, call.entry[0].result);
	EXPECT_EQ(0, call.entry[0].queue_uid);
}

TEST_F(driver, target_without_kfd_is_ESRCH)
{
	struct kfd_ioctl_preempt_status_args status;

	EXPECT_EQ(-ESRCH, switch_preempt(self->fd, 1, 0, 0));
	EXPECT_EQ(-ESRCH, preempt_status(self->fd, 1, 0, &status));
	/* above PID_MAX_LIMIT: no process has it */
	EXPECT_EQ(-ESRCH, switch_preempt(self->fd, 0x400001, 0, 0));
	EXPECT_EQ(-ESRCH, preempt_status(self->fd, 0x400001, 0, &status));
}

TEST_HARNESS_MAIN
