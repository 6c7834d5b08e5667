#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd when much goes wrong at once: crowds, SIGKILL at any moment, users and operators who want something else.

SEED is of the kills, PROCESSES of the crowd.
"""

import json
import os
import signal
import time

from daemon import HAS_HWS, BatchJob, DaemonTest, rules
from guest import CGROUPS, RANDOM, cgroup
from runner.testing.commands import cases, fails

PROCESSES = int(os.environ.get("PROCESSES") or 500)
# Without the HWS each has a slot of the GPU, and the other jobs need some.
QUEUES = 250 if HAS_HWS else 12
PLUGIN = """
[limits]
max_hold = "200ms"
[policy]
plugin = "{}"
[[rule]]
executable = "*/batch"
band = "idle"
"""


class Crowd(DaemonTest):
    def assert_counted(self, job, wanted):
        """The daemon finds the processes one by one, and slowly where the machine is."""
        counted = None
        while counted != wanted:
            before, message = counted, f"'{counted}' of {wanted} processes"
            self.soon(lambda: self.job(job).get("processes") != before, message)
            counted = self.job(job).get("processes")

    def test_crowd_of_processes_is_one_job(self):
        # Without a floor: each of its turns saves and restores the queues of the whole node, which takes the
        # software GPU up to a second.
        daemon = self.start_daemon(rules("0%"))
        server = self.start_server()
        crowd = self.start_queues("crowd", "crowd", PROCESSES, 8)
        self.assertTrue(daemon.is_alive(), f"the daemon ended while {PROCESSES} processes came")
        self.assert_counted(crowd, PROCESSES + 1)
        self.assert_soon_held(crowd)
        self.assert_progress(server)
        self.assert_end_right(server)
        self.assert_soon_running(crowd)
        self.assert_progress(crowd)
        self.assert_end_right(crowd)
        self.assert_forgotten(crowd)
        self.assert_end_right(daemon)


class Kills(DaemonTest):
    def held_queues(self):
        """Of all processes. What an xpreemptd has stopped must not stay stopped without one."""
        listed = self.report("kfd-preempt -j list")["processes"]
        return [queue for process in listed for queue in process["queues"] if queue["state"] == "HELD"]

    def assert_soon_none_held(self):
        self.soon(lambda: not self.held_queues(), "no queue is held without a daemon")

    def test_daemon_that_is_killed_without_jobs_leaves_no_obstacle_to_the_next_one(self):
        self.start_daemon(rules("0%")).kill()
        self.assert_end_right(self.start_daemon())

    def test_daemon_that_is_killed_while_a_job_runs_leaves_it_running(self):
        daemon = self.start_daemon(rules("0%"))
        batch = self.queue_owner("batch", queues=2)
        batch.process.send_signal(signal.SIGSTOP)  # its kernel continues
        daemon.kill()
        self.assertEqual(self.held_queues(), [])
        batch.process.send_signal(signal.SIGCONT)
        daemon = self.start_daemon()
        server = self.start_server()
        self.assert_soon_held(batch)
        self.assert_end_right(server, batch, daemon)

    def test_daemon_that_is_killed_while_it_holds_a_job_leaves_it_running(self):
        daemon = self.start_daemon(rules("0%"))
        batch, server = self.queue_owner("batch", queues=2), self.start_server()
        self.assert_soon_held(batch)
        daemon.kill()
        self.assert_soon_running(batch)
        self.assert_progress(batch)
        self.assert_end_right(server, batch)

    def test_daemon_that_is_killed_at_any_moment_of_stops_and_resumes_leaves_no_queue_held(self):
        self.write("rules.toml", rules("0%"))
        batch, requests = self.queue_owner("batch", queues=2), self.start_requests(20)
        for number in range(10):
            daemon = self.start_daemon()
            time.sleep(RANDOM.uniform(0, 0.4))
            self.assertTrue(daemon.is_alive(), f"the daemon ended in round {number}")
            daemon.kill()
            self.assert_soon_none_held()
        daemon = self.start_daemon()
        self.assert_progress(requests)
        self.assert_end_right(requests, batch, daemon)


class Exits(BatchJob):
    FLOOR = "10%"

    def test_held_job_exits_with_its_queues_as_they_are(self):
        server = self.start_server()
        self.assert_soon_held(self.batch)
        self.assertEqual(self.job(self.batch)["processes"], 1)
        self.batch.process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.batch.process.wait(600), 0, "the held job exits")
        self.assert_forgotten(self.batch)
        self.batch = self.queue_owner("next", queues=2)
        self.assert_soon_held(self.batch)
        self.assert_end_right(server)
        self.assert_soon_running(self.batch)
        self.assert_all_end_right()


class Cgroup(DaemonTest):
    def test_held_job_keeps_its_name_when_its_cgroup_is_removed(self):
        """A cgroup of version 2 cannot be renamed; it can be removed once its processes are elsewhere."""
        daemon = self.start_daemon(rules("0%"))
        service = cgroup("batch.service")
        batch = self.queue_owner("batch", queues=2, group=service)
        server = self.start_server()
        self.assert_soon_held(batch)
        with self.assertRaises(OSError):
            service.rename(CGROUPS / "other")
        (CGROUPS / "cgroup.procs").write_text(str(batch.pid))
        service.rmdir()
        time.sleep(0.3)  # a scan
        self.assertEqual(self.states(batch), {"HELD"})
        self.assertIn("batch.service", self.job(batch)["name"])
        self.assert_end_right(server)
        self.assert_soon_running(batch)
        self.assert_end_right(batch, daemon)


class Second(BatchJob):
    def test_second_daemon_is_refused_and_the_first_one_keeps_its_hold(self):
        server = self.start_server()
        self.assert_soon_held(self.batch)
        message = rf"another xpreemptd runs \(pid {self.daemon.pid}\)"
        self.check(f"xpreemptd --config {self.work}/rules.toml", fails(1, message))
        self.assertEqual(self.states(self.batch), {"HELD"})
        self.assert_end_right(self.daemon)
        self.assert_soon_running(self.batch)
        self.assert_end_right(server, self.batch)


class Starves(DaemonTest):
    def test_policy_that_holds_a_job_beside_none_is_ejected(self):
        """BAND holds a job for its grace after the work of another, the plug-in for ever; both may for 200 ms."""
        plugin = self.copied("crashing.so", "crashing.so")
        daemon = self.start_daemon(rules("0%", 'resume_grace = "1s"') + PLUGIN.format(plugin))
        batch = self.queue_owner("batch", queues=2, program=self.copied("queue_owner", "batch"))
        requests = self.start_requests(3000)
        self.assert_soon_held(batch)
        self.assert_soon_running(batch)
        self.assertIsNone(self.policy()["ejected"], "BAND was ejected for its grace")
        self.assert_end_right(requests)
        server = self.start_server()
        self.assert_soon_held(batch)
        self.asked("policy", "CRASHING")
        self.assertEqual(self.states(batch), {"HELD"}, "the plug-in holds the job")
        self.assert_end_right(server)
        self.assert_soon_running(batch)
        self.assertRegex(self.policy()["ejected"], "CRASHING held job .* for 0.2 s while nothing else")
        server = self.start_server()
        self.assert_progress(batch)
        self.assertEqual(self.states(batch), {"RUNNING"}, "a job is stopped without a policy")
        self.asked("policy", "RR")
        self.assert_soon_held(batch)
        self.assert_end_right(server, batch, daemon)


class Clients(BatchJob):
    def test_990_clients_with_requests_and_garbage_are_answered_and_requests_served(self):
        requests = self.start_requests(200)
        # A thousand are allowed, and the checks need a few.
        clients = self.start("clients", "daemon_clients", 990, 20)
        self.soon(lambda: clients.says("connected") or not clients.is_alive(), "990 clients connect")
        for _ in range(3):
            self.assert_progress(requests)
        self.assertEqual(clients.process.wait(600), 0, "each client is answered")
        self.assertTrue(self.daemon.is_alive())
        # A thousand that leave are a thousand requests, and all clients together have a small share of a CPU.
        self.soon(lambda: self.ran("kfd-preempt", "jobs").status == 0, "the daemon answers after them")
        self.assert_all_end_right(requests)


class Beside(BatchJob):
    @cases(
        # Calls about that process wait in the driver.
        ("jobs are scheduled beside one that locks its mutex in KFD", 1, "lock_holder"),
        ("jobs are scheduled beside processes that flap", 1, "restless", "processes"),
        ("jobs are scheduled beside one with many idle queues", QUEUES, "restless", "queues", QUEUES),
    )
    def other(self, begun, *program):
        requests = self.start_requests(200)
        other = self.start_queues("other", *program)
        while int(other.progress()[0]) < begun:
            self.assert_progress(other)
        for number in range(3):
            with self.subTest(round=number):
                self.succeeds("kfd-preempt", "jobs", timeout=60)
                stops = self.job(self.batch)["preemptions"]
                self.soon(lambda: self.job(self.batch)["preemptions"] > stops, "requests stop the batch job")
                self.assert_progress(requests)
        # First: on a slow machine they leave the other no time for its work.
        self.assert_end_right(requests)
        self.assert_end_right(other)
        self.assert_forgotten(other)
        self.assert_all_end_right()


class Clock(BatchJob):
    def set_clock(self, to):
        time.clock_settime(time.CLOCK_REALTIME, to)

    def test_clock_that_is_set_a_day_ahead_and_back_changes_no_account(self):
        requests, now = self.start_requests(100), time.time()
        self.addCleanup(self.set_clock, now)
        self.assert_progress(requests)
        self.set_clock(now + 86400)
        self.assert_progress(requests)
        self.set_clock(now - 86400)
        self.assert_progress(requests, self.batch)
        self.set_clock(now + 10)
        server = self.start_server()
        self.assert_soon_held(self.batch)
        jobs = json.loads(self.asked("-j", "jobs").stdout)["jobs"]
        self.assertLess(max(job["held_ns"] for job in jobs), 3600e9)
        self.assertIsNone(self.policy()["ejected"])
        self.assert_all_end_right(server, requests)


class Raise(DaemonTest):
    def test_user_lowers_a_job_and_neither_raises_it_nor_changes_others(self):
        daemon = self.start_daemon(rules("0%"))
        progress = self.write("theirs.progress", mode=0o666)
        program = self.copied("queue_owner", "theirs")
        theirs = self.start("theirs", "su", "user", "-c", f"exec {program} 1 {progress}")
        self.soon(theirs.progress, "the job of the user begins")
        server = self.start_server()
        self.assert_soon_held(theirs)
        message = "highest that a rule lets you choose"
        self.as_user(f"kfd-preempt renice --band high {theirs.pid}", fails(4, message))
        self.as_user("kfd-preempt policy RR", fails(4, ""))
        self.as_user(f"kfd-preempt renice --band idle {server.pid}", fails(4, ""))
        self.as_user("kfd-preempt run --band high -- true", fails(125, ""))
        self.assertEqual(self.states(theirs), {"HELD"})
        self.as_user(f"kfd-preempt renice --band idle {theirs.pid}")
        self.assert_end_right(server)
        self.assert_soon_running(theirs)
        self.assert_end_right(theirs, daemon)


class Fight(BatchJob):
    def test_operator_stops_and_resumes_by_force_a_job_that_the_daemon_schedules(self):
        """Both stop and resume the same queues, as fast as they can."""
        requests = self.start_requests(50)
        for _ in range(20):
            self.check(f"kfd-preempt suspend {self.batch.pid}")
            self.check(f"kfd-preempt resume --force {self.batch.pid}")
        self.assertTrue(self.daemon.is_alive())
        self.assert_progress(requests, self.batch)
        self.assert_end_right(requests)
        self.assert_soon_running(self.batch)
        self.assert_all_end_right()
