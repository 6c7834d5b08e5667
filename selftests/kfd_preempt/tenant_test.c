// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds of an operator of the host on a queue of a tenant. The tenant acts on its own process by the
 * right that operator_mode gives it: in mode 1 CAP_SYS_PTRACE in its user namespace, in mode 2 a
 * file of the target, in mode 3 the uid of the target. Needs root, and one test kfd_probes.ko and two
 * CPUs.
 */
#include "kselftest_harness.h"
#include "probes.h"
#include "target.h"
#include "users.h"

#define STICKY KFD_PREEMPT_SWITCH_STICKY
#define FORCE KFD_PREEMPT_SWITCH_FORCE

/* Shared with a process of the tenant, which makes one call at a time. */
struct tenant_shared {
	uint32_t ready;
	uint32_t order;		/* KFD_PREEMPT_OP_*, back to 0 when done */
	uint32_t flags;
	int32_t result;
};

struct tenant {
	pid_t pid;
	struct tenant_shared *shared;
};

FIXTURE(tenant)
{
	struct target target;
	struct tenant tenant[2];
	int target_fd;
	pid_t pid;
	uint32_t id;
	int fd;		/* of the operator of the host */
	bool by_fd;	/* the tenant names the target by its file in each mode */
};

static void run_target(struct target_shared *shared)
{
	if (operator_mode() == 1 ? enter_new_user_namespace() : become_user())
		target_run(shared);
	_exit(1);
}

static int call_of_tenant(const FIXTURE_DATA(tenant) *self, int fd, uint16_t op, uint32_t flags)
{
	bool by_fd = operator_mode() == 2 || self->by_fd;
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->id,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = flags | (by_fd ? KFD_PREEMPT_SWITCH_TARGET_FD :
					  KFD_PREEMPT_SWITCH_TARGET_PID),
		.target_fd = by_fd ? self->target_fd : 0,
		.target_pid = by_fd ? 0 : self->pid,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	int ret = kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);

	return ret ? ret : entry.result;
}

static void run_tenant(const FIXTURE_DATA(tenant) *self, struct tenant_shared *shared)
{
	bool entered = operator_mode() == 1 ? enter_user_namespace_of(self->pid) : become_user();
	uint32_t op;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Opened with the tenant's credentials. */
	fd = kfd_open();
	if (!entered || fd < 0)
		_exit(1);
	shared_set(&shared->ready, 1);
	for (;;) {
		op = shared_get(&shared->order);
		if (op) {
			shared->result = call_of_tenant(self, fd, (uint16_t)op, shared->flags);
			shared_set(&shared->order, 0);
		}
		sleep_us(1000);
	}
}

static bool tenant_is_ready(const void *shared)
{
	return shared_get(&((const struct tenant_shared *)shared)->ready);
}

static bool tenant_is_idle(const void *shared)
{
	return !shared_get(&((const struct tenant_shared *)shared)->order);
}

static int tenant_start(const FIXTURE_DATA(tenant) *self, struct tenant *tenant)
{
	tenant->shared = mmap(NULL, sizeof(*tenant->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tenant->shared == MAP_FAILED)
		return -errno;
	tenant->pid = fork();
	if (tenant->pid < 0)
		return -errno;
	if (!tenant->pid)
		run_tenant(self, tenant->shared);
	return wait_until(tenant_is_ready, tenant->shared, TARGET_TIMEOUT_MS) ? 0 : -ETIME;
}

static int tenant_call(struct tenant *tenant, uint32_t op, uint32_t flags)
{
	tenant->shared->flags = flags;
	shared_set(&tenant->shared->order, op);
	if (!wait_until(tenant_is_idle, tenant->shared, TARGET_TIMEOUT_MS))
		return -ETIME;
	return tenant->shared->result;
}

static int tenant_preempt(struct tenant *tenant, uint32_t flags)
{
	return tenant_call(tenant, KFD_PREEMPT_OP_PREEMPT, flags);
}

static int tenant_resume(struct tenant *tenant, uint32_t flags)
{
	return tenant_call(tenant, KFD_PREEMPT_OP_RESUME, flags);
}

FIXTURE_SETUP(tenant)
{
	unsigned int i;

	ASSERT_LT(0, operator_mode());
	ASSERT_EQ(0, target_start_as(&self->target, run_target));
	self->pid = self->target.pid;
	self->id = self->target.queue_id;
	self->target_fd = target_file(&self->target);
	ASSERT_LE(0, self->target_fd);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, tenant_start(self, &self->tenant[i]));
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(tenant)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (self->tenant[i].pid <= 0)
			continue;
		kill(self->tenant[i].pid, SIGKILL);
		waitpid(self->tenant[i].pid, NULL, 0);
	}
	target_kill(&self->target);
	close(self->target_fd);
	close(self->fd);
}

static int host_preempt(const FIXTURE_DATA(tenant) *self, uint32_t flags)
{
	return switch_preempt(self->fd, self->pid, flags, self->id);
}

static int host_resume(const FIXTURE_DATA(tenant) *self, uint32_t flags)
{
	return switch_resume(self->fd, self->pid, flags, self->id);
}

#define EXPECT_HOLDS(want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, self->pid, self->id, &now)); \
		EXPECT_EQ(want_holds, now.holds); \
		EXPECT_EQ((want_holds) ? KFD_PREEMPT_STATE_HELD : KFD_PREEMPT_STATE_RUNNING, \
			  now.state); \
	} while (0)

#define EXPECT_STOPPED(want_holds) \
	do { \
		EXPECT_HOLDS(want_holds); \
		EXPECT_TRUE(target_stands_still(&self->target, 50)); \
	} while (0)

#define EXPECT_RUNS() \
	do { \
		EXPECT_HOLDS(0); \
		EXPECT_TRUE(target_moves(&self->target)); \
	} while (0)

TEST_F(tenant, force_of_the_tenant_leaves_a_hold_of_the_host)
{
	ASSERT_EQ(0, host_preempt(self, 0));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], FORCE));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_OPERATOR);
	EXPECT_EQ(0, host_resume(self, 0));
	EXPECT_RUNS();
}

TEST_F(tenant, force_of_the_tenant_leaves_a_sticky_hold_of_the_host)
{
	ASSERT_EQ(0, host_preempt(self, STICKY));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], FORCE));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_STICKY);
	EXPECT_EQ(0, host_resume(self, STICKY));
	EXPECT_RUNS();
}

TEST_F(tenant, tenant_does_not_clear_a_sticky_hold_of_the_host)
{
	ASSERT_EQ(0, host_preempt(self, STICKY));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], STICKY));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_STICKY);
	EXPECT_EQ(0, host_resume(self, STICKY));
	EXPECT_RUNS();
}

/* Like runc between setns() and exec(). */
static void run_entered(struct target_shared *shared)
{
	if (!enter_new_user_namespace() || prctl(PR_SET_DUMPABLE, 0))
		_exit(1);
	target_run(shared);
}

TEST(process_of_the_host_in_a_namespace_of_the_tenant_is_not_the_tenants)
{
	FIXTURE_DATA(tenant) self = {};
	struct tenant tenant = {};
	struct target target = {};

	ASSERT_EQ(0, target_start_as(&target, run_entered));
	self.pid = target.pid;
	self.id = target.queue_id;
	self.target_fd = target_file(&target);
	ASSERT_LE(0, self.target_fd);
	ASSERT_EQ(0, tenant_start(&self, &tenant));
	/* In the other modes a file of it, or its user, is enough. */
	EXPECT_EQ(operator_mode() == 1 ? -EPERM : 0, tenant_preempt(&tenant, 0));
	child_kill(&tenant.pid);
	target_kill(&target);
	close(self.target_fd);
}

static void exec_sleep(int number)
{
	(void)number;
	execl("/bin/busybox", "sleep", "1000", NULL);
	_exit(1);
}

/* A process of its own that has the same memory. */
static int keep_memory(void *unused)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return unused != NULL;
}

/* At SIGUSR1 it calls exec, and its memory and queue stay. */
static void run_until_exec(struct target_shared *shared)
{
	static char stack[16384] __attribute__((aligned(16)));

	if (!enter_new_user_namespace() || prctl(PR_SET_DUMPABLE, 0) ||
	    clone(keep_memory, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0 ||
	    signal(SIGUSR1, exec_sleep) == SIG_ERR)
		_exit(1);
	target_run(shared);
}

static bool has_called_exec(const void *pid)
{
	char path[64], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", *(const pid_t *)pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%15s", name) != 1)
		name[0] = 0;
	if (file)
		fclose(file);
	return !strcmp(name, "sleep") || !strcmp(name, "busybox");
}

/* The credentials are those of the program that it has become, the memory of the queue is still the host's. */
TEST(process_of_the_host_is_not_the_tenants_after_exec)
{
	FIXTURE_DATA(tenant) self = { .by_fd = true };
	struct tenant tenant = {};
	struct target target = {};

	ASSERT_EQ(0, target_start_as(&target, run_until_exec));
	self.pid = target.pid;
	self.id = target.queue_id;
	self.target_fd = target_file(&target);
	ASSERT_LE(0, self.target_fd);
	ASSERT_EQ(0, kill(target.pid, SIGUSR1));
	ASSERT_TRUE(wait_until(has_called_exec, &target.pid, TARGET_TIMEOUT_MS));
	ASSERT_EQ(0, tenant_start(&self, &tenant));
	/* In the other modes a file of it is enough. */
	EXPECT_EQ(operator_mode() == 1 ? -ESRCH : 0, tenant_preempt(&tenant, 0));
	child_kill(&tenant.pid);
	target_kill(&target);
	close(self.target_fd);
}

#define PROBE "hold_mm"

/* As the probe says it. */
enum { FOR_THE_NEXT = 1, WAITS = 2, GO_ON = 3 };

static bool tenant_waits(const void *unused)
{
	(void)unused;
	return probes_get(PROBE) == WAITS;
}

/*
 * Between two steps of the tenant's call. Newer kernels keep the right over memory with the task: exec replaces
 * it, the memory of the queue stays the host's.
 */
TEST(process_of_the_host_that_calls_exec_meanwhile_is_not_the_tenants)
{
	FIXTURE_DATA(tenant) self = { .by_fd = true };
	struct tenant tenant = {};
	struct target target = {};

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, target_start_as(&target, run_until_exec));
	self.pid = target.pid;
	self.id = target.queue_id;
	self.target_fd = target_file(&target);
	ASSERT_LE(0, self.target_fd);
	ASSERT_EQ(0, tenant_start(&self, &tenant));
	ASSERT_EQ(0, probes_set(PROBE, FOR_THE_NEXT));
	shared_set(&tenant.shared->order, KFD_PREEMPT_OP_PREEMPT);
	ASSERT_TRUE(wait_until(tenant_waits, NULL, TARGET_TIMEOUT_MS));
	ASSERT_EQ(0, kill(target.pid, SIGUSR1));
	ASSERT_TRUE(wait_until(has_called_exec, &target.pid, TARGET_TIMEOUT_MS));
	EXPECT_EQ(WAITS, probes_get(PROBE));
	ASSERT_EQ(0, probes_set(PROBE, GO_ON));
	ASSERT_TRUE(wait_until(tenant_is_idle, tenant.shared, TARGET_TIMEOUT_MS));
	EXPECT_EQ(-EPERM, tenant.shared->result);
	child_kill(&tenant.pid);
	target_kill(&target);
	close(self.target_fd);
	probes_unload();
}

TEST_F(tenant, tenant_sets_and_drops_its_own_hold)
{
	EXPECT_EQ(0, tenant_preempt(&self->tenant[0], 0));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_OPERATOR);
	EXPECT_EQ(0, tenant_resume(&self->tenant[0], 0));
	EXPECT_RUNS();
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(tenant, tenant_drops_its_own_hold_beside_one_of_the_host)
{
	ASSERT_EQ(0, host_preempt(self, 0));
	EXPECT_EQ(0, tenant_preempt(&self->tenant[0], 0));
	EXPECT_EQ(0, tenant_resume(&self->tenant[0], 0));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_OPERATOR);
	EXPECT_EQ(0, host_resume(self, 0));
	EXPECT_RUNS();
}

/* FORCE drops all holds or none. */
TEST_F(tenant, refused_force_leaves_the_hold_of_the_tenant)
{
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], 0));
	ASSERT_EQ(0, host_preempt(self, 0));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], FORCE));
	EXPECT_EQ(0, host_resume(self, 0));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_OPERATOR);
	EXPECT_EQ(0, tenant_resume(&self->tenant[0], 0));
	EXPECT_RUNS();
}

TEST_F(tenant, host_forces_holds_of_the_tenant_and_of_another_host_operator)
{
	int other = kfd_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], 0));
	ASSERT_EQ(0, tenant_preempt(&self->tenant[1], 0));
	ASSERT_EQ(0, switch_preempt(other, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_preempt(other, self->pid, STICKY, self->id));
	EXPECT_EQ(0, host_resume(self, FORCE));
	EXPECT_RUNS();
	EXPECT_EQ(-EALREADY, tenant_resume(&self->tenant[0], 0));
	close(other);
}

/* Or it would take off, as its own, what the host believes to hold. */
TEST_F(tenant, host_takes_a_sticky_hold_of_the_tenant_over)
{
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], STICKY));
	EXPECT_EQ(-EALREADY, host_preempt(self, STICKY));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], STICKY));
	EXPECT_EQ(-EPERM, tenant_resume(&self->tenant[0], FORCE));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_STICKY);
	EXPECT_EQ(0, host_resume(self, STICKY));
	EXPECT_RUNS();
}

TEST_F(tenant, host_clears_a_sticky_hold_of_the_tenant)
{
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], STICKY));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_STICKY);
	EXPECT_EQ(0, host_resume(self, STICKY));
	EXPECT_RUNS();
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], STICKY));
	EXPECT_EQ(0, host_resume(self, FORCE));
	EXPECT_RUNS();
}

/* Not in mode 2: two processes that have a file of the target need not belong together. */
TEST_F(tenant, another_process_of_the_tenant_drops_its_holds)
{
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], 0));
	ASSERT_EQ(0, tenant_preempt(&self->tenant[0], STICKY));
	EXPECT_EQ(0, tenant_resume(&self->tenant[1], STICKY));
	EXPECT_STOPPED(KFD_PREEMPT_HOLD_OPERATOR);
	EXPECT_EQ(0, tenant_resume(&self->tenant[1], FORCE));
	EXPECT_RUNS();
}

TEST_HARNESS_MAIN
