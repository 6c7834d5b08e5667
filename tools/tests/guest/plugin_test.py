#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""Policies of plug-ins in xpreemptd: the example of the SDK, and one that crashes."""

from daemon import DaemonTest
from runner.testing.commands import fails


def rules(plugin, policy="AWF"):
    """Under AWF all jobs run, so that they can start."""
    return f'[policy]\nname = "{policy}"\nplugin = "{plugin}"\n[[rule]]\nexecutable = "*/second"\nband = "idle"\n'


class Plugins(DaemonTest):
    def setUp(self):
        super().setUp()
        self.example, self.crashing = (self.copied(name, name) for name in ("shortest_first.so", "crashing.so"))

    def start_two(self):
        self.daemon = self.start_daemon(rules(self.example))
        self.first, self.second = self.start_jobs("first", "second")

    def is_one_held(self):
        return {"HELD"} in (self.states(self.first), self.states(self.second))

    def assert_all_end_right(self):
        self.assert_end_right(self.first, self.second, self.daemon)

    def test_plugin_that_others_may_write_is_refused(self):
        self.example.chmod(0o666)
        self.write("rules.toml", rules(self.example))
        self.check(f"xpreemptd --config {self.work}/rules.toml --check", fails(1, "chmod"))

    def test_example_holds_one_of_two_jobs_in_turn(self):
        self.start_two()
        self.asked("policy", "SHORTEST-FIRST")
        self.assertEqual(self.policy()["policy"], "SHORTEST-FIRST")
        self.soon(self.is_one_held, "one job is held")
        self.assert_progress(self.first)
        self.assert_progress(self.second)
        self.asked("policy", "AWF")
        self.assert_soon_running(self.first, self.second)
        self.assert_all_end_right()

    def test_plugin_that_crashes_the_daemon_leaves_no_job_held_and_is_left_out_by_the_next_one(self):
        self.start_two()
        self.reload(self.daemon, rules(self.crashing))
        self.asked("policy", "CRASHING")
        self.assert_soon_held(self.second)
        self.ran("kfd-preempt", "renice", self.first.pid, "--priority", 66)
        self.soon(lambda: not self.daemon.is_alive(), "the plug-in crashes the daemon")
        self.assert_soon_running(self.first, self.second)
        self.assert_progress(self.second)
        self.daemon = self.start_daemon(rules(self.crashing, "CRASHING"))
        self.soon(lambda: "crashing.so was loading or in force" in str(self.policy()), "the next one says why")
        self.assertEqual(self.policy()["policy"], "BAND")
        self.assert_soon_held(self.second)
        self.assert_all_end_right()
