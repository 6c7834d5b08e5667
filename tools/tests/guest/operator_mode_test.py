#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt with operator_mode=0 (Nobody): not even root may suspend or freeze. With 2 (ByFile) a user may, too."""

from guest import GuestTest, cgroup
from runner.testing.commands import fails, prints


class Nobody(GuestTest):
    def setUp(self):
        super().setUp()
        self.owner = self.queue_owner("owner", queues=2, group=cgroup("job"))

    def assert_runs_to_its_end(self):
        self.assert_progress(self.owner)
        self.assert_end_right(self.owner)

    def test_root_may_not_freeze(self):
        self.check("kfd-preempt freeze --cgroup job", fails(4, "amdgpu.operator_mode=0"))
        self.check("kfd-preempt thaw --cgroup job", prints("is not frozen"))
        self.assert_runs_to_its_end()

    def test_root_may_not_suspend_but_resume_and_read(self):
        self.check(f"kfd-preempt suspend {self.owner.pid}", fails(4, "amdgpu.operator_mode=0"))
        self.assert_progress(self.owner)
        self.check(f"kfd-preempt resume {self.owner.pid}")
        self.check(f"kfd-preempt status {self.owner.pid}")
        self.assert_runs_to_its_end()

    def test_doctor_warns_and_says_what_to_set(self):
        found = self.check("kfd-preempt doctor").stdout
        self.assertRegex(found, "(?m)^      [$] grep -r operator_mode= ")
        self.assertRegex(found, "set operator_mode=1")
        self.assert_runs_to_its_end()


class ByFile(GuestTest):
    def test_user_suspends_and_resumes_own_processes_without_a_capability(self):
        progress = self.write("theirs.progress", mode=0o666)
        theirs = self.start("theirs", "su", "user", "-c", f"exec queue_owner 2 {progress}")
        self.soon(theirs.progress, "the queues of the user begin")
        self.as_user(f"kfd-preempt suspend {theirs.pid}")
        self.assertEqual(self.suspended(theirs), [2])
        self.as_user(f"kfd-preempt resume {theirs.pid}")
        self.assertEqual(self.suspended(theirs), [0])
        self.assert_progress(theirs)
        self.assert_end_right(theirs)

    def test_user_does_not_suspend_processes_of_root(self):
        owner = self.queue_owner("owner", queues=1)
        self.as_user(f"kfd-preempt suspend {owner.pid}", fails(4, "CAP_SYS_PTRACE"))
        self.as_user("kfd-preempt doctor", prints("rights +may suspend and resume processes of this user"))
        self.assert_progress(owner)
        self.assert_end_right(owner)
