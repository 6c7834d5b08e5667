# SPDX-License-Identifier: MIT
"""Two instances of follow-freezer, in a tree that looks like cgroup v2; a stub stands for kfd-preempt."""

import signal
import subprocess

from runner.paths import REPO
from runner.testing.commands import CommandTest


class Freezer(CommandTest):
    def setUp(self):
        super().setUp()
        self.calls = self.write("calls")
        self.fake_command("kfd-preempt", f'echo "$*" >>"{self.calls}"')
        self.environment["KFD_PREEMPT_SYSTEM_ROOT"] = str(self.work / "root")
        self.cgroups = self.work / "root/sys/fs/cgroup"
        for name in "a.slice", "a.slice/job", "a.slice/other", "b.slice", "b.slice/job", "b.slice/other":
            self.write(self.cgroups / name / "cgroup.controllers", "memory\n")
            self.set_frozen(name, 0)

    def set_frozen(self, cgroup, frozen):
        """The state of the CPU's freezer."""
        self.write(self.cgroups / cgroup / "cgroup.events", f"populated 1\nfrozen {frozen}\n")
        self.write(self.cgroups / cgroup / "cgroup.freeze", f"{frozen}\n")

    def calls_of(self, verb, cgroup):
        return self.calls.read_text().splitlines().count(f"{verb} --cgroup /{cgroup}")

    def calls_soon(self, verb, cgroup):
        self.soon(lambda: self.calls_of(verb, cgroup), f"{verb} of {cgroup}")

    def follow(self, cgroup):
        command = [REPO / "tools/freezer/follow-freezer", "--interval", "0.05", cgroup]
        errors = self.enterContext(open(self.work / "stderr", "ab"))
        process = self.enterContext(subprocess.Popen(command, env=self.environment, stderr=errors))
        self.addCleanup(process.kill)
        return process

    def wait_for_a_pass(self):
        """Each instance sees a change of another cgroup, so it has made a pass since."""
        for cgroup in "a.slice/other", "b.slice/other":
            self.set_frozen(cgroup, 1)
            self.calls_soon("freeze", cgroup)
            self.set_frozen(cgroup, 0)
            self.calls_soon("thaw", cgroup)

    def test_two_instances_follow_their_own_cgroups(self):
        first, second = self.follow("a.slice"), self.follow("b.slice")
        for cgroup in "a.slice/job", "b.slice/job":
            self.set_frozen(cgroup, 1)
        for cgroup in "a.slice/job", "b.slice/job":
            self.calls_soon("freeze", cgroup)
        self.wait_for_a_pass()
        for cgroup in "a.slice/job", "b.slice/job":
            self.assertEqual((self.calls_of("freeze", cgroup), self.calls_of("thaw", cgroup)), (1, 0), cgroup)
        first.kill()
        first.wait()
        self.set_frozen("b.slice/job", 0)
        self.calls_soon("thaw", "b.slice/job")
        self.assertEqual(self.calls_of("thaw", "a.slice/job"), 0, "the second instance thawed a cgroup of the killed one")
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(60), 0)
        self.set_frozen("a.slice/job", 0)
        self.follow("a.slice")
        self.calls_soon("thaw", "a.slice/job")
        self.assertEqual((self.work / "stderr").read_text(), "")
