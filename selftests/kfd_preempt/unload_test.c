// SPDX-License-Identifier: GPL-2.0-only
/* The module goes when no file of /dev/kfd is open, and not before. Needs root, no GPU. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "kselftest_harness.h"

static int unload(void)
{
	return syscall(SYS_delete_module, "amdgpu", O_NONBLOCK) ? -errno : 0;
}

/* The last test of its boot. */
TEST(an_open_file_keeps_the_module_and_its_last_reference_lets_it_go)
{
	struct call_bytes call;
	int fd = kfd_open(), copy;

	ASSERT_LE(0, fd);
	copy = dup(fd);
	ASSERT_LE(0, copy);
	call_init(&call, CALL_QUERY);
	EXPECT_EQ(0, call_issue(fd, CALL_QUERY, &call));
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(fd);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	call_init(&call, CALL_QUERY);
	EXPECT_EQ(0, call_issue(copy, CALL_QUERY, &call));
	close(copy);
	ASSERT_EQ(0, unload());
	EXPECT_EQ(-ENOENT, kfd_open());
}

TEST_HARNESS_MAIN
