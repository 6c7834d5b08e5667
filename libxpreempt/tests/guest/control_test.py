#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""Streams of a HIP program, which kfd-preempt lists, suspends and resumes.

SEED is of the kills, ROUNDS their number: 50 if it is not set.
"""

import os
import time

from guest import RANDOM, GuestTest, Queue
from runner.testing.commands import matches, prints

ROUNDS = int(os.environ.get("ROUNDS") or 50)


class StreamTest(GuestTest):
    def setUp(self):
        super().setUp()
        # The control socket is there.
        self.work.chmod(0o700)
        self.environment |= {"XPREEMPT_CONTROL": "1", "XDG_RUNTIME_DIR": str(self.work)}

    def start_streams(self, program="control_streams", **variables):
        """A program with a long kernel on the stream low, and short ones on high."""
        for name in ("progress", "stop"):
            (self.work / name).unlink(missing_ok=True)
        environment = {**self.environment, "LD_PRELOAD": "libxpreempt-hook.so", **variables}
        self.streams = self.start(program, f"./{program}", self.work, env=environment)
        self.streams.progress_file = self.work / "progress"
        self.low, self.high = Queue(self.streams, 0), Queue(self.streams, 1)
        begun = lambda: all(int(number) for number in self.streams.progress()) and self.streams.progress()  # noqa: E731
        self.soon(lambda: begun() or not self.streams.is_alive(), "both streams begin")
        self.assertTrue(self.streams.is_alive(), "the program ended at once")
        self.pid = self.streams.pid

    def end_streams(self):
        """Each value of both is right."""
        self.write("stop")
        self.assertEqual(self.streams.process.wait(600), 0, "each value of both streams is right")

    def attach(self):
        """kfd-preempt, which suspends the stream low as long as it runs."""
        return self.start("attached", "kfd-preempt", "suspend", "--attach", self.pid, "stream", "low", env=self.environment)

    def assert_listed(self, pattern):
        self.check(f"kfd-preempt list {self.pid}", prints(pattern, alone=False))

    def assert_suspended(self, stream):
        self.check(f"kfd-preempt suspend {self.pid} stream {stream}")
        self.assert_stopped(self.low, beside=self.high)

    def assert_resumed(self, stream):
        self.check(f"kfd-preempt resume {self.pid} stream {stream}")
        self.assert_progress(self.low)


class Streams(StreamTest):
    def test_one_stream_is_suspended_and_the_other_one_continues(self):
        self.start_streams()
        self.assert_listed(rf"^{self.pid} +control_streams +low +0x[0-9a-f]+ +[0-9]+ +[0-9]+ +1 +3 +RUNNING")
        self.assert_listed(f"^{self.pid} +control_streams +high +0x")
        self.assert_suspended("low")
        self.assert_listed(f"^{self.pid} .* low .* HELD +1 +1")
        self.assert_resumed("low")
        self.end_streams()

    def test_stream_continues_when_the_command_that_holds_it_is_killed(self):
        self.start_streams()
        attached = self.attach()
        self.soon(lambda: attached.says("as long as"), "the command holds the stream")
        self.assert_stopped(self.low, beside=self.high)
        attached.kill()
        self.assert_progress(self.low)
        self.end_streams()

    def test_doctor_and_top_show_the_streams(self):
        self.start_streams()
        level = "^[0-9]+ +[0-9]+ +compute +interrupt +kfd-preempt"
        self.assertTrue(matches(level, self.ran("kfd-preempt", "doctor", self.pid).stdout), "how far queues can be stopped")
        shown = self.check("kfd-preempt top --once").stdout.splitlines()
        self.assertEqual(sum(matches(" (low|high) ", line) for line in shown), 2, shown)
        self.end_streams()

    def test_program_that_knows_nothing_of_the_library_is_suspended(self):
        """The hook alone is loaded; the library comes by the environment."""
        automatic = {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_LEVEL": "3", "XSCHED_POLICY": "HPF"}
        self.start_streams("unmodified", **automatic)
        self.assert_listed(f"^{self.pid} +unmodified +.* +RUNNING")
        found = self.ran("kfd-preempt", "-j", "doctor", self.pid).stdout
        self.assertTrue(matches("unmodified.*: [0-9]+ KFD queue.*the hook saw packets", found), found)
        self.assertNotIn("blind", found)
        (long,) = [line.split()[1] for line in self.streams.output.read_text().splitlines() if line.startswith("stream ")]
        self.assert_suspended(long)
        self.assert_resumed(long)
        self.end_streams()


class Kills(StreamTest):
    def has_queue(self, pid):
        return matches(f"^{pid} ", self.ran("kfd-preempt", "list").stdout)

    def test_no_queue_stays_held_when_program_or_command_are_killed(self):
        self.start_streams()
        for number in range(ROUNDS):
            attached = self.attach()
            time.sleep(RANDOM.uniform(0, 0.4))
            if RANDOM.randrange(3) == 0:
                gone = self.streams
                gone.kill()
                attached.kill()
                self.soon(lambda: not self.has_queue(gone.pid), f"round {number}: no queue is left")  # noqa: B023
                self.start_streams()
            else:
                attached.kill()
            self.assert_progress(self.low)
        self.end_streams()
