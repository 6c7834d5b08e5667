#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""suspend, resume, freeze and follow-freezer with --yield-memory: two programs that do not fit into VRAM together.

Needs a small VRAM: vramlimit is 128 or 256.
"""

import json
import re
from pathlib import Path

from guest import GuestTest, cgroup
from runner.testing.commands import fails, prints

LIMIT_MIB = int(Path("/sys/module/amdgpu/parameters/vramlimit").read_text())


def vram_used_mib():
    return sum(int(path.read_text()) for path in Path("/sys/class/drm").glob("card*/device/mem_info_vram_used")) >> 20


class Memory(GuestTest):
    def setUp(self):
        super().setUp()
        self.group = cgroup("job")
        # A worker of the driver frees the VRAM of a process after its exit.
        self.soon(lambda: vram_used_mib() < LIMIT_MIB / 4, "VRAM is free")

    def job(self, name, **options):
        """A program with three quarters of the free VRAM."""
        return self.vram_job(name, "75", **options)

    def mib(self, job):
        return int(re.search("^ready: .*MiB=([0-9]+)", job.output.read_text(), re.MULTILINE)[1])

    def yielded_mib(self, job):
        # While memory moves, the queue is busy and the status is 1.
        memory = json.loads(self.ran("kfd-preempt", "-j", "status", job.pid).stdout)["memory"]
        return sum(gpu["yielded_bytes"] for process in memory for gpu in process["gpus"]) >> 20

    def assert_away(self, job):
        self.assertGreaterEqual(self.yielded_mib(job), self.mib(job), f"all memory of {job.name} is away")

    def assert_as_much_as(self, first):
        second = self.job("second")
        self.assertGreaterEqual(self.mib(second), self.mib(first), "another job gets as much")
        return second

    def freeze_cpu(self, on):
        (self.group / "cgroup.freeze").write_text(str(int(on)))

    def test_suspended_jobs_take_turns(self):
        first = self.job("first")
        yields = rf"^pid {first.pid} \(vram_job\), GPU [0-9]+: .* of VRAM yielded "
        self.check(f"kfd-preempt suspend --yield-memory {first.pid}", prints(f"{yields}in "))
        self.assert_away(first)
        self.check(f"kfd-preempt suspend --yield-memory {first.pid}", prints(f"{yields}before"))
        self.check(f"kfd-preempt status {first.pid}", prints("HELD .*YIELDED"))
        self.check(f"kfd-preempt status {first.pid}", prints("^GPU +VRAM +YIELDED"))
        self.check("kfd-preempt list", prints("HOLDS +YIELDED"))

        second = self.assert_as_much_as(first)
        no_room = rf"no room in VRAM of GPU .*yielded, .* are free; pid {second.pid} \(vram_job\) has .*; it stays held"
        self.check(f"kfd-preempt resume {first.pid}", fails(1, no_room))
        self.assert_away(first)
        self.check(f"kfd-preempt suspend --yield-memory {second.pid}")
        back = rf"^pid {first.pid} \(vram_job\), GPU [0-9]+: .* back in VRAM in "
        self.check(f"kfd-preempt resume {first.pid}", prints(back))
        self.assert_words_right(first)
        self.soon(lambda: self.ran("kfd-preempt", "resume", second.pid).status == 0, "the second job has room")
        self.assert_words_right(second)

    def test_frozen_jobs_take_turns(self):
        first = self.job("first", group=self.group)
        self.check("kfd-preempt freeze --yield-memory --cgroup job", prints("of VRAM yielded in "))
        self.check("kfd-preempt thaw --cgroup job")
        self.assertEqual(self.yielded_mib(first), 0, "thaw brings all memory back")

        follower = self.start("follower", "follow-freezer", "--yield-memory", "--interval", "0.2", "/")
        self.freeze_cpu(True)
        self.soon(lambda: self.yielded_mib(first) >= self.mib(first), "the memory of a job leaves by the freezer")
        second = self.assert_as_much_as(first)
        self.freeze_cpu(False)
        self.soon(lambda: follower.says("no room in VRAM"), "follow-freezer has tried to thaw the job")
        self.assert_away(first)
        self.assert_words_right(second)
        self.soon(lambda: self.yielded_mib(first) == 0, "the first job comes back by itself")
        self.assert_words_right(first)
        self.assert_end_right(follower)
