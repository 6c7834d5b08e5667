#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt and a container as engines make it: a pid and a mount namespace, and a cgroup that has its id."""

import json
from pathlib import Path

from guest import GuestTest, Owner, cgroup
from runner.testing.commands import fails, prints

ID = "0123456789abcdef" * 4
SHORT = ID[:12]
SCOPE = f"system.slice/docker-{ID}.scope"
# Two programs; the first process waits for them, as an engine's init does.
INIT = """
mount -t proc proc /proc
queue_owner 2 "$0/first.progress" &
queue_owner 1 "$0/second.progress" &
wait
"""


class Container(GuestTest):
    def setUp(self):
        super().setUp()
        self.group = cgroup(f"{SCOPE}/inner")
        self.outside = self.queue_owner("outside")
        command = ["unshare", "-m", "-p", "-f", "--", "sh", "-c", INIT, self.work]
        self.container = self.start("container", *command, group=self.group)
        for name in ("first", "second"):
            progress = self.work / f"{name}.progress"
            self.soon(lambda: progress.exists() and progress.read_text(), f"{name} begins")  # pylint: disable=W0640
        self.first, self.second = (self.program(name, queues) for name, queues in (("first", 2), ("second", 1)))
        self.in_namespaces = f"nsenter -t {self.first.pid} -m -p --"

    def listed(self):
        """The processes in the container, as kfd-preempt lists them."""
        processes = self.report("kfd-preempt -j list")["processes"]
        return [process for process in processes if process["container"]]

    def program(self, name, queues):
        """One of the two programs, by the number of its queues."""
        (process,) = [process for process in self.listed() if len(process["queues"]) == queues]
        program = Owner(name, process["pid"], self.work / f"{name}.progress")
        program.inside = process["ns_pid"]
        return program

    def tearDown(self):
        """Every job ends right, and then the container has no process."""
        for program in (self.first, self.second):
            self.check(f"kill -TERM {program.pid}")
        self.assert_end_right(self.outside)
        self.assertEqual(self.container.process.wait(600), 0, "the container ends right")
        none = fails(1, f"no process is in a container with the id {SHORT}")
        self.check(f"kfd-preempt list --container {SHORT}", none)
        super().tearDown()


class Host(Container):
    def test_list_has_the_id_of_the_container_and_the_pids_inside(self):
        (row,) = {tuple(process["container"].items()) for process in self.listed()}
        self.assertIn(ID, dict(row).values())
        inside = rf"^{self.first.pid} +queue_owner .* RUNNING +- +{self.first.inside} +{SHORT}$"
        self.check("kfd-preempt list", prints(inside))
        # A process outside of containers has a dash for the pid inside and for the container.
        self.check("kfd-preempt list", prints(f"^{self.outside.pid} +queue_owner .* RUNNING +- +- +-$"))
        self.assertNotEqual(self.first.pid, self.first.inside)

    def test_container_is_listed_suspended_and_resumed_as_one(self):
        listed = self.report(f"kfd-preempt -j list --container {SHORT}")["processes"]
        self.assertEqual({process["pid"] for process in listed}, {self.first.pid, self.second.pid})
        suspended = self.check(f"kfd-preempt suspend --container {SHORT}").stdout
        for program in (self.first, self.second):
            self.assertRegex(suspended, rf"(?m)^queue [0-9]+ of pid {program.pid} \(queue_owner\): suspended")
        self.assert_stopped(self.first, self.second, beside=self.outside)
        # A table of each process, with its heading.
        self.check(f"kfd-preempt status --container {ID}", prints(rf"^pid {self.second.pid} \(queue_owner\):$"))
        self.check(f"kfd-preempt resume --container {SHORT}")
        self.assert_progress(self.first, self.second)

    def test_container_is_frozen_and_thawed_by_its_cgroup(self):
        frozen = prints(f"^cgroup /{SCOPE}: frozen: 3 of 3 queues")
        self.check(f"kfd-preempt freeze --container {SHORT}", frozen)
        self.assert_stopped(self.first, self.second, beside=self.outside)
        self.check(f"kfd-preempt thaw --container {SHORT}")
        self.assert_progress(self.first, self.second)

    def test_top_counts_only_processes_of_the_container(self):
        self.check(f"kfd-preempt top --once --container {SHORT}", prints("^2 processes, 3 queues, 0 held$"))

    def test_name_of_a_container_without_an_engine_is_refused(self):
        self.check("kfd-preempt suspend --container web", fails(1, "no container 'web': .* give the id"))

    def test_wait_ends_with_a_new_program(self):
        waiting = self.start("wait", *"kfd-preempt wait --new -t 120".split())
        # It knows by then which programs are not new.
        sleeps = Path(f"/proc/{waiting.pid}/wchan")
        self.soon(lambda: "nanosleep" in sleeps.read_text(), "kfd-preempt waits")
        new = self.queue_owner("new")
        self.assertEqual(waiting.process.wait(600), 0)
        self.assertEqual(waiting.output.read_text().split(), [str(new.pid)])
        self.check(f"kfd-preempt wait {new.pid}")
        self.assert_end_right(new)


class Inside(Container):
    """As docker exec: the namespaces of the container, and its /proc."""

    def test_list_has_the_pids_inside_and_no_process_outside(self):
        listed = json.loads(self.check(f"{self.in_namespaces} kfd-preempt -j list").stdout)["processes"]
        self.assertEqual({process["pid"] for process in listed}, {self.first.inside, self.second.inside})

    def test_suspend_and_resume_take_the_pid_inside(self):
        command = f"{self.in_namespaces} kfd-preempt"
        self.check(f"{command} suspend {self.first.inside}")
        self.assert_stopped(self.first, beside=self.outside)
        self.check(f"kfd-preempt list {self.first.pid}", prints(f"^{self.first.pid} +.* HELD +STICKY"))
        self.assert_progress(self.second)
        self.check(f"{command} status {self.first.inside}", prints(" HELD +STICKY"))
        self.check(f"{command} resume {self.first.inside}")
        self.assert_progress(self.first)

    def test_pid_of_the_host_is_unknown(self):
        message = f"pid {self.outside.pid}: there is no such process"
        self.check(f"{self.in_namespaces} kfd-preempt suspend {self.outside.pid}", fails(1, message))

    def test_doctor_says_how_pids_are_matched(self):
        found = self.ran(*f"{self.in_namespaces} kfd-preempt doctor".split())
        self.assertRegex(found.stdout, "(?m)^ok    pids  .*PASID")
