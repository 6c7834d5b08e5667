#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt with operator_mode=0: not even root may suspend or freeze."""

from guest import GuestTest, cgroup
from runner.testing.commands import fails, prints


class OperatorMode(GuestTest):
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
