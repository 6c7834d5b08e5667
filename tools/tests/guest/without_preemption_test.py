#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt on a driver that stops no queues: the kernel's own, or ours with kfd_preempt=0."""

from guest import GuestTest
from runner.testing.commands import Expected, cases, fails, prints


class WithoutPreemption(GuestTest):
    @cases(
        ("stock driver stops no queues", "^      [$] .* install kfd-preempt-dkms$"),
        ("driver with kfd_preempt off stops no queues", "^      fix: remove amdgpu.kfd_preempt=0"),
    )
    def refused(self, mend):
        owner = self.queue_owner("owner", queues=2)
        self.check("kfd-preempt doctor", Expected(3, "stdout", mend, alone=False))
        self.check(f"kfd-preempt suspend {owner.pid}", fails(3, "no queue preemption"))
        self.assert_progress(owner)
        unknown = prints(rf"^{owner.pid} +queue_owner +[0-9]+ .* \? +\?", alone=False)
        self.check(f"kfd-preempt list {owner.pid}", unknown)
        self.assert_end_right(owner)
