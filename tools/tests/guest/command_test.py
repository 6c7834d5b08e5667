#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt on the driver with its defaults. FirmwareScheduler needs the HWS."""

import re
from pathlib import Path

from guest import GuestTest, Queue
from runner.testing.commands import Expected, cases, fails, matches, prints


class OneOwner(GuestTest):
    def setUp(self):
        super().setUp()
        self.start_owner()

    def start_owner(self):
        self.owner = self.queue_owner("owner", queues=2)
        self.pid, (self.q0, self.q1) = self.owner.pid, self.queue_ids(self.owner)
        self.first, self.second = Queue(self.owner, 0), Queue(self.owner, 1)

    def start_other(self):
        """Another process, which runs while the owner is stopped."""
        self.other = self.queue_owner("other")

    def assert_runs_to_its_end(self):
        self.assert_progress(self.owner)
        self.assert_end_right(self.owner)


class Reading(OneOwner):
    def test_list_has_the_queues_of_a_process(self):
        self.check(f"kfd-preempt list {self.pid}", prints(f"^{self.pid} +queue_owner +{self.q0} +[0-9]+ +compute "))
        self.check(f"kfd-preempt list {self.pid}", prints(f"^{self.pid} +queue_owner +{self.q1} .* RUNNING +-"))
        listed = self.check("kfd-preempt list").stdout.splitlines()
        self.assertEqual(len(listed), 3, f"a heading, and two queues, none of them kfd-preempt's: {listed}")
        self.assertEqual({queue["state"] for queue in self.queues_of(self.owner)}, {"RUNNING"})
        self.check(f"kfd-preempt status {self.pid} {self.q0}", prints(f"^{self.q0} +compute +RUNNING +- +- +0 +0 +0 "))
        self.assert_runs_to_its_end()

    def test_pid_namespace_has_no_processes_of_others(self):
        command = "unshare -m -p -f -- sh -c 'mount -t proc proc /proc && exec kfd-preempt list'"
        self.check(command, prints("^no process has a queue$"))
        self.assert_runs_to_its_end()


class Machine(GuestTest):
    def test_doctor_finds_a_working_machine(self):
        found = self.check("kfd-preempt doctor", prints("^ok    gpu .* stops by .*SAVE", alone=False)).stdout
        self.assertNotRegex(found, "(?m)^fail")

    def test_doctor_tells_another_user_to_be_root(self):
        self.as_user("kfd-preempt doctor", prints("^      [$] sudo kfd-preempt doctor$", alone=False))

    def test_version_has_the_ABI_of_the_driver(self):
        self.check("kfd-preempt version", prints(r"speaks ABI 1\."))


class Suspend(OneOwner):
    def test_one_queue_is_stopped_and_resumed(self):
        queue = f"{self.pid} {self.q0}"
        self.check(
            f"kfd-preempt suspend {queue}", prints(rf"^queue {self.q0} of pid {self.pid} \(queue_owner\): suspended")
        )
        self.assert_stopped(self.first, beside=self.second)
        self.check(f"kfd-preempt list {self.pid}", prints(f"^{self.pid} +queue_owner +{self.q0} .* HELD +STICKY"))
        self.check(f"kfd-preempt suspend {queue}", prints("already suspended"))
        self.check(f"kfd-preempt -j status {queue}", prints('"preempts": 1,'))
        self.check(f"kfd-preempt resume {queue}")
        self.assert_progress(self.first)
        self.check(f"kfd-preempt resume {queue}", prints("not suspended, nothing to do"))
        self.assert_runs_to_its_end()

    def test_process_is_stopped_and_resumed_by_force(self):
        self.start_other()
        self.check(f"kfd-preempt -j suspend {self.pid}", prints('"outcome": "suspended"'))
        self.assert_stopped(self.owner, beside=self.other)
        self.check(f"kfd-preempt resume --force {self.pid}")
        self.assert_runs_to_its_end()

    def test_suspended_process_is_killed_and_leaves_no_queue(self):
        self.check(f"kfd-preempt suspend {self.pid}")
        self.owner.kill()
        self.assertNotRegex(self.check("kfd-preempt list").stdout, f"(?m)^{self.pid} ")
        self.start_owner()
        self.assert_runs_to_its_end()


class FirmwareScheduler(OneOwner):
    def test_all_or_nothing_stops_all_queues(self):
        self.start_other()
        self.check(f"kfd-preempt suspend --all-or-nothing --timeout 5000 {self.pid}")
        self.assert_stopped(self.owner, beside=self.other)
        self.check(f"kfd-preempt resume {self.pid} {self.q0}")
        self.assert_stopped(self.second, beside=self.first)
        # One that is suspended already is no obstacle.
        self.check(f"kfd-preempt suspend --all-or-nothing {self.pid}")
        self.assert_stopped(self.owner, beside=self.other)
        self.check(f"kfd-preempt resume {self.pid}")
        self.assert_runs_to_its_end()

    @cases(
        ("HWS cannot drain", "--drain", "cannot drain running waves, nothing changed: .*sched_policy=2"),
        ("HWS cannot kill", "--kill", "cannot kill running waves, .*allow_reset=1"),
    )
    def refused(self, option, message):
        self.check(f"kfd-preempt suspend {option} {self.pid} {self.q0}", fails(3, message))
        self.assert_runs_to_its_end()


class Measure(OneOwner):
    def preempts(self):
        """How often the first queue was stopped."""
        status = self.check(f"kfd-preempt -j status {self.pid} {self.q0}").stdout
        return int(re.search('"preempts": ([0-9]+)', status)[1])

    def start_measuring(self):
        """kfd-preempt measure without end, once it has stopped the queue 20 times."""
        before = self.preempts()
        measuring = self.start("measure", *f"kfd-preempt measure {self.pid} --count 1000000 --interval 0".split())
        self.soon(lambda: self.preempts() >= before + 20, "measure stops the queue")
        return measuring

    def is_not_held(self):
        status = self.ran("kfd-preempt", "status", self.pid)
        return status.status == 0 and matches(f"^{self.q0} +compute +RUNNING +- ", status.stdout)

    def assert_not_held(self):
        self.assertTrue(self.is_not_held(), "no hold is left")
        self.assert_runs_to_its_end()

    def test_measure_prints_how_long_stops_and_resumes_take(self):
        printed = self.check(f"kfd-preempt measure {self.pid} --count 20").stdout
        rounds = rf"^pid {self.pid} \(queue_owner\): 20 of 20 rounds, 2 compute queues"
        stop, resume = r"^stop: driver, slowest queue +[0-9.]+ [num]?s .* 20$", "^resume: call +[0-9.]+ [num]?s "
        for pattern in (rounds, stop, resume):
            self.assertRegex(printed, f"(?m){pattern}")
        self.assert_not_held()

    def test_signal_ends_measure_with_the_figures_so_far(self):
        measuring = self.start_measuring()
        self.assert_end_right(measuring)
        self.assertTrue(measuring.says("^stop: call +[0-9]"), "it prints the figures so far")
        self.assert_not_held()

    def test_killed_measure_leaves_the_queues_running(self):
        self.start_measuring().kill()
        # The driver releases its holds after its end, and keeps the owner of the queues locked meanwhile.
        self.soon(self.is_not_held, "its holds end")
        self.assert_runs_to_its_end()


class Errors(GuestTest):
    def test_error_names_a_process_that_uses_no_GPU(self):
        idle = self.start("sleep", "sleep", 1000).pid
        self.check(f"kfd-preempt suspend {idle}", fails(1, rf"pid {idle} \(.*\): does not use a GPU"))

    def test_error_names_a_pid_without_a_process(self):
        self.check("kfd-preempt suspend 4194304", fails(1, "pid 4194304: there is no such process"))

    def test_error_names_a_process_that_has_ended(self):
        owner = self.queue_owner("owner")
        self.assert_end_right(owner)
        self.check(f"kfd-preempt status {owner.pid}", fails(1, f"pid {owner.pid}: there is no such process"))


class NoSuchQueue(OneOwner):
    def test_error_names_the_queues_that_a_process_has(self):
        there_are = f"has no queue 77: it has {self.q0}, {self.q1}"
        self.check(f"kfd-preempt suspend {self.pid} 77", fails(1, there_are))
        self.check(f"kfd-preempt -j resume {self.pid} 77", prints('"errno": "ENOENT"', 1))
        self.assert_runs_to_its_end()


class Permission(OneOwner):
    def test_another_user_may_not_change_or_see_queues(self):
        queue, refused = f"{self.pid} {self.q0}", fails(4, "not allowed to .* queues of uid 0: CAP_SYS_PTRACE")
        self.as_user(f"kfd-preempt suspend {queue}", fails(4, "not allowed to suspend queues of uid 0: CAP_SYS_PTRACE"))
        self.assert_progress(self.first)
        self.check(f"kfd-preempt suspend {queue}")
        for command in (f"resume {queue}", f"resume --force {queue}", f"status {self.pid}"):
            self.as_user(f"kfd-preempt {command}", refused)
        self.assert_stopped(self.first, beside=self.second)
        self.as_user(f"kfd-preempt list {self.pid}", Expected(0, "stderr", "not yours", alone=False))
        self.check(f"kfd-preempt resume {queue}")
        self.assert_runs_to_its_end()

    def test_error_names_a_closed_device(self):
        device = Path("/dev/kfd")
        self.addCleanup(device.chmod, 0o660)
        device.chmod(0o600)
        self.as_user(f"kfd-preempt suspend {self.pid}", fails(4, "/dev/kfd: not allowed to open it"))
        self.assert_runs_to_its_end()
