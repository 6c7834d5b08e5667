#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""The property of each policy of xpreemptd.

Shares are of the daemon's accounts, so the speed of the GPU does not matter. RR, CFS, UP, PUP, SPUP and MLFQ need a
clock that no load of the host changes: selftests/vm/run --icount.
"""

import os

from daemon import DaemonTest

# While nothing has the focus all jobs run under AWF, so that they can start. Turns are long beside a switch, which is
# slow on a software GPU.
RULES = """
[limits]
max_hold = "600s"

[policy]
name = "AWF"
BAND.floor = "0%"
RR.quantum = "500ms"
CFS.slice = "500ms"
UP.slice = "500ms"
PUP.slice = "500ms"
SPUP.slice = "500ms"
MLFQ = { slice = "1s", levels = 2, promote_after = "3600s" }
PARK.park_after = "200ms"

[[rule]]
executable = "*/first"
band = "high"
weight = 300
priority = 5
utilization = 60
deadline = "1s"

[[rule]]
executable = "*/second"
weight = 100
priority = -5
utilization = 20
deadline = "3600s"
lax = "3600s"

[[rule]]
executable = "*/served"
utilization = 20
"""


class PolicyTest(DaemonTest):
    """Two jobs that compute until they are told to end, and one that works when it is asked to."""

    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(RULES)
        self.first, self.second = self.start_jobs("first", "second")
        self.served = self.start_asked("served")
        self.soon(lambda: self.job(self.served), "the daemon knows the third job")

    def tearDown(self):
        self.assertIsNone(self.policy()["ejected"], "the policy was ejected")
        # The first job runs alone, then the second: two that run end slowly with a counted clock.
        self.use("BAND")
        self.assert_end_right(self.first, self.second)
        self.assert_asked_end_right(self.served)
        self.assert_end_right(self.daemon)
        super().tearDown()

    def use(self, policy):
        self.asked("policy", policy)

    def renice(self, job, *values):
        self.asked("renice", job.pid, *values)

    def assert_runs_alone(self, job):
        other = self.second if job is self.first else self.first
        self.assert_soon_held(other)
        self.assert_stopped(other, beside=job)

    def assert_both_run(self):
        self.assert_soon_running(self.first, self.second)
        self.assert_progress(self.first, self.second)

    def assert_works(self):
        self.assert_done(self.served, "work")

    def begin(self):
        self.began = self.accounts()

    def accounts(self):
        """Seconds that the first job ran and was held, and the second, of one report."""
        return [job[key] / 1e9 for job in self.jobs(self.first, self.second) for key in ("run_ns", "held_ns")]

    def have_run(self, seconds):
        """Whether both together have run that long since begin(); `since` has their accounts."""
        self.since = [now - then for now, then in zip(self.accounts(), self.began, strict=True)]
        return self.since[0] + self.since[2] >= seconds

    def assert_run(self, seconds):
        self.soon(lambda: self.have_run(seconds), f"both together run for {seconds} s")


class Order(PolicyTest):
    def test_BAND_runs_the_higher_band(self):
        self.use("BAND")
        self.assert_runs_alone(self.first)

    def test_HPF_runs_the_higher_priority(self):
        self.use("HPF")
        self.assert_runs_alone(self.first)
        self.renice(self.first, "--priority", -6)
        self.assert_runs_alone(self.second)

    def test_HHPF_runs_the_higher_priority(self):
        self.use("HHPF")
        self.assert_runs_alone(self.first)

    def test_CHPF_runs_the_higher_CPU_priority(self):
        self.use("CHPF")
        self.assert_both_run()
        os.setpriority(os.PRIO_PROCESS, self.second.pid, 10)
        self.assert_runs_alone(self.first)
        os.setpriority(os.PRIO_PROCESS, self.first.pid, 19)
        self.assert_runs_alone(self.second)
        for job in (self.first, self.second):
            os.setpriority(os.PRIO_PROCESS, job.pid, 0)
        self.assert_both_run()

    def test_AWF_runs_the_job_with_the_focus(self):
        self.use("AWF")
        self.assert_both_run()
        for job in (self.first, self.second):
            self.asked("focus", job.pid)
            self.assert_runs_alone(job)
        self.asked("focus", "none")
        self.assert_both_run()

    def test_K_EDF_runs_the_earlier_deadline(self):
        self.use("K-EDF")
        self.assert_runs_alone(self.first)
        self.renice(self.first, "--deadline", "3600s")
        self.renice(self.second, "--deadline", "1s")
        self.assert_runs_alone(self.second)

    def test_LAX_runs_a_job_alone_that_has_no_time_left(self):
        self.use("LAX")
        self.assert_both_run()
        self.renice(self.second, "--lax", "1ms")
        self.assert_runs_alone(self.second)
        self.renice(self.second, "--lax", "3600s")
        self.assert_both_run()

    def test_PARK_holds_a_job_without_work_until_its_doorbell_rings(self):
        self.use("PARK")
        self.assert_soon_held(self.served)
        self.assert_both_run()
        self.assert_works()
        self.assert_soon_held(self.served)
        edges = self.job(self.served)["ready_edges"]
        self.assert_works()
        self.assertGreater(self.job(self.served)["ready_edges"], edges, "rings that the daemon has seen")

    def test_FIFO_runs_the_job_that_has_had_work_for_longer(self):
        self.use("FIFO")
        self.assert_runs_alone(self.first)
        self.begin()
        self.assert_run(2)
        self.assertLess(self.since[2], 0.001, "the second job runs beside the first one")
        self.assert_end_right(self.first)
        self.assert_soon_running(self.second)
        self.assert_progress(self.second)
        progress = self.work / "later.progress"
        later = self.first = self.start("later", self.copied("queue_owner", "later"), 1, progress)
        self.assert_soon_held(later)
        self.assert_progress(self.second)
        self.use("AWF")
        self.soon(later.progress, "it runs under another policy")


class Shares(PolicyTest):
    def assert_between(self, least, part, whole, most):
        self.assertTrue(least <= 100 * part / whole <= most, f"{part} of {whole} s, expected {least} to {most} %")

    def assert_share_of_first(self, policy, least, most):
        """Percent of the time in which either ran."""
        self.use(policy)
        self.begin()
        self.assert_run(6)
        first, _, second, _ = self.since
        self.assert_between(least, first, first + second, most)

    def test_RR_gives_equal_shares(self):
        self.assert_share_of_first("RR", 45, 55)

    def test_CFS_shares_as_the_weights(self):
        self.assert_share_of_first("CFS", 70, 80)

    def test_UP_shares_as_the_utilization(self):
        self.assert_share_of_first("UP", 70, 80)

    def test_PUP_shares_as_the_utilization(self):
        self.assert_share_of_first("PUP", 70, 80)

    def test_SPUP_leaves_the_share_of_an_idle_job_idle(self):
        self.use("SPUP")
        self.begin()
        self.assert_run(6)
        first, first_held, second, second_held = self.since
        self.assert_between(55, first, first + first_held, 65)
        self.assert_between(15, second, second + second_held, 25)

    def test_MLFQ_runs_a_short_request_before_long_jobs(self):
        self.use("MLFQ")
        self.begin()
        self.soon(lambda: self.have_run(2) and min(self.since[::2]) > 1.1, "long jobs use up their first slice")
        waited = self.job(self.served)["added_wait_ns"]
        self.assert_works()
        self.assertEqual(self.job(self.served)["added_wait_ns"], waited, "the request waits for long jobs")
        self.begin()
        self.assert_run(1)
