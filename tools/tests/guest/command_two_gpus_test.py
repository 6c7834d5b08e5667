#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt with two GPUs."""

from guest import GuestTest, Queue
from runner.testing.commands import fails


class TwoGPUs(GuestTest):
    """A process with a queue on each GPU, and another one on the second."""

    def setUp(self):
        super().setUp()
        self.owner = self.queue_owner("owner", queues=2, env={**self.environment, "GPUS": "both"})
        self.other = self.queue_owner("other", env={**self.environment, "GPUS": "second"})
        self.first, self.second = Queue(self.owner, 0), Queue(self.owner, 1)

    def assert_all_run(self):
        self.assert_progress(self.owner, self.other)
        self.assert_end_right(self.owner, self.other)

    def test_doctor_and_list_have_both_GPUs(self):
        gpus = [line for line in self.check("kfd-preempt doctor").stdout.splitlines() if line.startswith("ok    gpu")]
        self.assertEqual(["stops by" in line and "SAVE" in line for line in gpus], [True, True], gpus)
        self.assertEqual(len({queue["gpu_id"] for queue in self.queues_of(self.owner)}), 2)
        self.assert_all_run()

    def test_queue_on_one_GPU_is_stopped_and_that_on_the_other_one_runs(self):
        self.check(f"kfd-preempt suspend {self.owner.pid} {self.queue_ids(self.owner)[0]}")
        self.assert_stopped(self.first, beside=self.second)
        # All or nothing is for one GPU.
        message = "its queues are on several GPUs, nothing changed"
        self.check(f"kfd-preempt suspend --all-or-nothing {self.owner.pid}", fails(1, message))
        self.check(f"kfd-preempt suspend {self.owner.pid}")
        self.assert_stopped(self.owner, beside=self.other)
        self.check(f"kfd-preempt resume {self.owner.pid}")
        self.assert_all_run()

    def test_process_of_one_GPU_is_stopped_and_the_other_one_computes_on_both(self):
        self.check(f"kfd-preempt suspend {self.other.pid}")
        self.assert_stopped(self.other, beside=self.first)
        self.assert_progress(self.owner)
        self.check(f"kfd-preempt resume {self.other.pid}")
        self.assert_all_run()
