#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd with two GPUs."""

from daemon import DaemonTest, rules


class TwoGPUs(DaemonTest):
    def test_server_on_one_GPU_stops_all_of_a_job_on_both_and_no_job_of_the_other_GPU(self):
        daemon = self.start_daemon(rules("0%"))
        wide = self.queue_owner("wide", queues=2, env={**self.environment, "GPUS": "both"})
        second = self.queue_owner("second", env={**self.environment, "GPUS": "second"})
        self.assert_soon_running(wide)
        server = self.start_server()
        self.assert_soon_held(wide)
        self.assert_progress(server)
        self.assertEqual(self.states(second), {"RUNNING"}, "the job on the second GPU is stopped")
        self.assert_progress(second)
        self.assert_end_right(server)
        self.assert_soon_running(wide)
        self.assert_progress(wide)
        self.assert_end_right(wide, second, daemon)
