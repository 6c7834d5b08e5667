#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt freeze and thaw, and follow-freezer, on the driver: two programs in a cgroup, one outside."""

import time
from pathlib import Path

from guest import CGROUPS, RANDOM, GuestTest, cgroup, saved_queues
from runner.testing.commands import cases, fails, prints


class ProgramsOfACgroup(GuestTest):
    def setUp(self):
        super().setUp()
        self.job, self.step = cgroup("job"), cgroup("job/step")
        self.outside = self.queue_owner("outside", group=cgroup("other"))
        self.first = self.queue_owner("first", queues=2, group=self.job)
        self.second = self.queue_owner("second", queues=2, group=self.step)
        self.addCleanup(self.ran, "kfd-preempt", "thaw", "--cgroup", "job")

    def freeze_cpu(self, group, on):
        (group / "cgroup.freeze").write_text(str(int(on)))
        self.addCleanup((group / "cgroup.freeze").write_text, "0")

    def assert_all_run(self):
        self.assertEqual(self.suspended(self.first, self.second), [0, 0])
        self.assert_progress(self.first, self.second)
        self.assert_end_right(self.first, self.second, self.outside)


class Freeze(ProgramsOfACgroup):
    def test_frozen_cgroup_is_stopped_in_its_kernels_and_continues_after_thaw(self):
        frozen = self.report(f"kfd-preempt -j freeze --cgroup {self.job}")
        self.assertEqual((frozen["frozen"], frozen["calls"]), (True, 2), "a SWITCH for queues, one for processes")
        self.assert_stopped(self.first, self.second, beside=self.outside)
        self.assertEqual(self.suspended(self.first, self.second), [2, 2])
        self.assertEqual([saved_queues(self.first), saved_queues(self.second)], [2, 2])
        already = rf"^queue [0-9]+ of pid {self.first.pid} \(queue_owner\): already frozen"
        self.check("kfd-preempt freeze --cgroup job", prints(already))
        thawed = self.report("kfd-preempt -j thaw --cgroup /job")
        self.assertEqual(thawed["calls"], 2, "a SWITCH for queues, one for processes")
        self.assertEqual(self.suspended(self.first, self.second), [0, 0])
        self.check("kfd-preempt thaw --cgroup job", prints("^cgroup /job: is not frozen, nothing to do"))
        self.assert_all_run()

    def test_thaw_keeps_what_is_suspended_by_hand_or_frozen_with_another_cgroup(self):
        first, second = self.first.pid, self.second.pid
        queue = self.queues_of(self.first)[0]["queue"]
        self.check(f"kfd-preempt suspend {first} {queue}")
        self.check("kfd-preempt freeze --cgroup job/step")
        frozen = self.check("kfd-preempt freeze --cgroup job").stdout
        self.assertRegex(frozen, f"queue {queue} of pid {first} .* already suspended")
        self.assertRegex(frozen, f"pid {second} .* already frozen with cgroup /job/step")
        self.check("kfd-preempt thaw --cgroup job", prints(f"pid {second} .* stays frozen with cgroup /job/step"))
        self.assert_stopped(self.second, beside=self.outside)
        self.assertEqual(self.suspended(self.first), [1])
        self.check("kfd-preempt thaw --cgroup job/step")
        self.check(f"kfd-preempt resume {first} {queue}")
        self.assert_all_run()

    def test_thaw_releases_the_queues_that_a_killed_freeze_has_stopped(self):
        began = time.monotonic()
        self.check("kfd-preempt freeze --cgroup job")
        duration = time.monotonic() - began
        self.check("kfd-preempt thaw --cgroup job")
        rounds = stopped = 0
        while rounds < 5 or not stopped and rounds < 50:
            self.kill_freeze(duration, after_record=rounds >= 2)
            stopped += self.suspended(self.first, self.second) != [0, 0]
            self.check("kfd-preempt thaw --cgroup job")
            self.assertEqual(self.suspended(self.first, self.second), [0, 0])
            self.assert_progress(self.first, self.second)
            rounds += 1
        print(f"# a freeze takes {duration:.3f} s; {stopped} of {rounds} that were killed had stopped queues")
        self.assertGreater(stopped, 0)
        self.assert_all_run()

    def kill_freeze(self, duration, after_record):
        """At a random moment, or shortly after the record: freeze writes it last before it stops the queues."""
        record = Path("/run/kfd-preempt/frozen.json")
        record.unlink(missing_ok=True)
        freeze = self.start("freeze", "kfd-preempt", "freeze", "--cgroup", "job")
        if after_record:
            self.soon(lambda: record.exists() or freeze.process.poll() is not None)
        time.sleep(RANDOM.uniform(0, duration / 10 if after_record else duration))
        freeze.kill()

    def test_cgroup_that_the_CPU_freezer_has_stopped_can_be_frozen(self):
        self.freeze_cpu(self.job, True)
        self.check("kfd-preempt freeze --cgroup job")
        self.assertEqual(saved_queues(self.first), 2)
        self.freeze_cpu(self.job, False)
        self.assert_stopped(self.first, self.second, beside=self.outside)
        self.check("kfd-preempt thaw --cgroup job")
        self.assert_all_run()

    def test_thaw_resumes_the_others_when_a_frozen_program_was_killed(self):
        self.check("kfd-preempt freeze --cgroup job")
        self.second.kill()
        self.check("kfd-preempt thaw --cgroup job")
        self.assert_progress(self.first)
        self.assert_end_right(self.first, self.outside)

    def test_another_user_may_not_freeze(self):
        self.as_user("kfd-preempt freeze --cgroup job", fails(4, "run kfd-preempt as root"))
        self.assert_all_run()


class Follower(ProgramsOfACgroup):
    def follow(self):
        follower = self.start("follower", "follow-freezer", "--interval", "0.2", "/")
        self.addCleanup(lambda: self.assertEqual(follower.output.read_text(), "", "follow-freezer complains"))
        return follower

    def assert_soon_suspended(self, *wanted):
        self.soon(lambda: self.suspended(self.first, self.second) == [*wanted], f"not suspended: {wanted}")

    def test_follow_freezer_holds_what_the_CPU_freezer_has_stopped(self):
        follower = self.follow()
        self.freeze_cpu(self.step, True)
        self.assert_soon_suspended(0, 2)
        self.assert_stopped(self.second, beside=self.outside)
        self.freeze_cpu(self.job, True)
        self.assert_soon_suspended(2, 2)
        self.freeze_cpu(self.job, False)
        self.assert_soon_suspended(0, 2)
        follower.kill()
        self.freeze_cpu(self.step, False)
        follower = self.follow()
        self.assert_soon_suspended(0, 0)
        self.freeze_cpu(self.job, True)
        self.assert_soon_suspended(2, 2)
        self.assert_end_right(follower)
        self.assertEqual(self.suspended(self.first, self.second), [0, 0])
        self.freeze_cpu(self.job, False)
        self.assert_all_run()


class Cgroups(GuestTest):
    @cases(
        ("absent cgroup cannot be frozen", "freeze --cgroup absent", "cgroup /absent: there is no such cgroup"),
        ("absent cgroup cannot be thawed", "thaw --cgroup absent", "cgroup /absent: there is no such cgroup"),
        ("cgroup without processes cannot be frozen", "freeze --cgroup empty", "cgroup /empty: has no process"),
        ("root cgroup cannot be frozen", f"freeze --cgroup {CGROUPS}", "the whole machine"),
    )
    def refused(self, words, message):
        cgroup("empty")
        self.check(f"kfd-preempt {words}", fails(1, message))

    def test_processes_without_a_GPU_are_frozen(self):
        shell = cgroup("shell")
        self.start("sleep", "sleep", 1000, group=shell)
        self.check("kfd-preempt freeze --cgroup shell", prints("frozen: 0 of 0 queues, 1 processes"))
