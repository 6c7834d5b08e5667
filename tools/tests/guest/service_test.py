#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd within the limits of its unit: the watchdog while a GPU hangs, and a machine that runs out of memory.

The guest has no systemd: the tests read the unit and do what systemd does.
"""

import os
import re
import signal
import socket
import time
from pathlib import Path

from daemon import DaemonTest, rules
from guest import CGROUPS, cgroup

UNIT = Path("/usr/share/xpreemptd.service")


def setting(key: str) -> int:
    return int(re.search(rf"^{key}=(-?\d+)$", UNIT.read_text(), re.MULTILINE)[1])


class Service(DaemonTest):
    def setUp(self):
        super().setUp()
        # The unit limits no memory; a cgroup that does stands for the machine.
        self.machine = cgroup("machine")
        (CGROUPS / "cgroup.subtree_control").write_text("+memory")
        self.manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.bind(str(self.work / "notify"))
        self.watchdog_s = setting("WatchdogSec")
        self.daemon = self.start_service()

    def start_service(self):
        service = {"NOTIFY_SOCKET": str(self.work / "notify"), "WATCHDOG_USEC": str(self.watchdog_s * 1_000_000)}
        daemon = self.start_daemon(rules("0%"), group=self.machine, env={**os.environ, **service})
        Path(f"/proc/{daemon.pid}/oom_score_adj").write_text(str(setting("OOMScoreAdjust")))
        self.assertTrue(self.is_told("READY=1", self.PATIENCE_S))
        return daemon

    def is_told(self, state, seconds):
        """Whether the daemon says so within this time; what it says before that is dropped."""
        end = time.monotonic() + seconds
        said = None
        while said != state:
            self.manager.settimeout(max(end - time.monotonic(), 0.001))
            try:
                said = self.manager.recv(4096).decode()
            except TimeoutError:
                return False
        return True

    def set_memory(self, limit):
        (self.machine / "memory.max").write_text(str(limit))
        self.addCleanup((self.machine / "memory.max").write_text, "max")

    def assert_schedules(self):
        batch, server = self.queue_owner("batch", queues=2), self.start_server()
        self.assert_soon_held(batch)
        self.assert_progress(server)
        self.assert_end_right(server)
        self.assert_soon_running(batch)
        self.assert_end_right(batch)

    def test_watchdog_waits_for_longer_than_the_driver_waits_for_a_hung_GPU(self):
        batch, requests = self.queue_owner("batch", queues=2), self.start_requests("signal")
        self.assert_soon_running(batch)
        while self.is_told("WATCHDOG=1", 0.001):
            pass
        self.assertTrue(self.is_told("WATCHDOG=1", self.watchdog_s))
        # The next sign of life is due during the call.
        time.sleep(0.4 * self.watchdog_s)
        self.check("vgpu-fault arm drop-fence")
        began = time.monotonic()
        requests.process.send_signal(signal.SIGUSR1)
        self.assertTrue(self.is_told("WATCHDOG=1", 0.6 * self.watchdog_s), "systemd ends the daemon")
        self.assertGreater(time.monotonic() - began, 8, "the stop of the job waits for the firmware")
        self.assertRegex(self.check("vgpu-fault list").stdout, "drop-fence .*hits=1")
        requests.kill()
        batch.kill()
        self.assert_schedules()
        self.assert_end_right(self.daemon)

    def test_programs_that_are_smaller_are_killed_for_memory_before_the_daemon(self):
        self.set_memory(32 << 20)
        os.mkfifo(self.work / "unread")
        self.addCleanup(os.close, os.open(self.work / "unread", os.O_RDWR))
        command = f"dd if=/dev/zero of={self.work}/unread bs=2M count=1".split()
        greedy = [self.start(f"greedy-{number}", *command, group=self.machine) for number in range(20)]
        self.soon(lambda: not all(program.is_alive() for program in greedy), "there is not enough memory for all")
        self.assertEqual({program.process.returncode for program in greedy} - {None}, {-signal.SIGKILL})
        self.assertTrue(self.daemon.is_alive(), "the daemon is killed")
        for program in greedy:
            program.kill()
        self.assert_schedules()
        self.assert_end_right(self.daemon)

    def test_daemon_that_is_killed_for_memory_leaves_no_job_stopped_and_the_next_one_holds_it(self):
        batch, server = self.queue_owner("batch", queues=2), self.start_server()
        self.assert_soon_held(batch)
        self.set_memory(0)
        self.assertEqual(self.daemon.process.wait(600), -signal.SIGKILL)
        self.assert_soon_running(batch)
        self.assert_progress(batch)
        self.set_memory("max")
        self.daemon = self.start_service()
        self.assert_soon_held(batch)
        self.assert_end_right(server, batch, self.daemon)
