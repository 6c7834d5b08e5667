#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd on good days and bad ones."""

import errno
import os
import shutil
import signal
from pathlib import Path

from daemon import SOCKET, BatchJob, DaemonTest, rules
from guest import Owner
from runner.testing.commands import cases, matches

STATE = Path("/run/xpreempt/state")


class GoodDays(BatchJob):
    FLOOR = "10%"

    def test_GPU_cannot_be_partitioned_beside_the_daemon(self):
        # LIMITS of xpreemptd(8). A GPU with one XCC has no other mode.
        (gpu,) = Path("/sys/bus/pci/drivers/amdgpu").glob("*:*/current_compute_partition")
        nodes = Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties")
        has_modes = any(matches("^num_xcc [2-9]", node.read_text()) for node in nodes)
        with self.assertRaises(OSError) as refused:
            gpu.write_text("CPX")
        self.assertEqual(refused.exception.errno, errno.EBUSY if has_modes else errno.EINVAL)

    def test_important_job_stops_the_other_one_but_for_its_floor(self):
        self.assert_progress(self.batch)
        server = self.start_server()
        self.assert_soon_held(self.batch)
        self.assert_progress(server, self.batch)
        self.assert_end_right(server)
        self.assert_soon_running(self.batch)
        self.assert_progress(self.batch)
        self.assert_all_end_right()

    def test_killed_daemon_leaves_no_job_stopped_and_the_next_one_knows_them(self):
        server = self.start_server()
        self.assert_soon_held(self.batch)
        self.daemon.kill()
        # A stopped program rings no doorbell, but its kernel continues.
        self.assert_soon_running(self.batch)
        self.assert_progress(self.batch)
        self.daemon = self.start_daemon()
        self.assert_soon_held(self.batch)
        self.assert_all_end_right(server)

    def test_server_that_is_idle_at_times_and_another_job_both_get_further(self):
        server = self.start_requests(300)
        for job in (server, self.batch, server):
            self.assert_progress(job)
        self.assert_all_end_right(server)

    def test_job_that_comes_later_is_stopped_and_can_be_killed(self):
        server = self.start_server()
        self.assert_soon_held(self.batch)
        second = self.queue_owner("second")
        self.assert_soon_held(second)
        second.kill()
        self.assert_all_end_right(server)

    def test_operator_overrules_the_daemon(self):
        server = self.start_server()
        # Without a floor: a job that runs in its turn is not held, and there is nothing to overrule.
        self.reload(self.daemon, rules("0%"))
        self.assert_soon_held(self.batch)
        self.check(f"kfd-preempt resume --force {self.batch.pid}")
        self.soon(lambda: self.is_noted(self.batch, state="running"), "the daemon notes it")
        decisions = self.policy()["decisions"]
        self.soon(lambda: self.policy()["decisions"] >= decisions + 3, "the daemon decides three times")
        self.assertEqual(self.states(self.batch), {"RUNNING"}, "the daemon fights the operator")
        self.check(f"kfd-preempt suspend {self.batch.pid}")
        self.assert_end_right(server)
        self.soon(lambda: not self.job(server), "the daemon notes the end of the server")
        self.soon(lambda: self.is_noted(self.batch, state="held_by_others"), "the daemon notes the operator's hold")
        self.assertEqual(self.states(self.batch), {"HELD"}, "the hold of the operator ends with the server")
        self.check(f"kfd-preempt resume {self.batch.pid}")
        self.assert_progress(self.batch)
        self.assert_all_end_right()

    def test_job_in_a_pid_namespace_is_stopped(self):
        # Pids differ there; sysfs has those of the first namespace.
        before = set(os.listdir("/sys/class/kfd/kfd/proc"))
        parent = self.start_queues("parent", "unshare", "-p", "-f", "queue_owner", 1)
        (pid,) = set(os.listdir("/sys/class/kfd/kfd/proc")) - before
        boxed = Owner("boxed", int(pid), parent.progress_file)
        server = self.start_server()
        self.assert_soon_held(boxed)
        self.assert_end_right(server)
        self.assert_soon_running(boxed)
        os.kill(boxed.pid, signal.SIGTERM)
        self.assertEqual(parent.process.wait(600), 0, "the job ends right")
        self.assert_all_end_right()


class Log(BatchJob):
    def unread_pipe(self):
        os.mkfifo(self.work / "unread")
        pipe = os.open(self.work / "unread", os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, pipe)
        os.write(pipe, bytes(65536))
        return self.work / "unread"

    @cases(
        ("daemon whose disk is full schedules its jobs", lambda _: "/dev/full"),
        ("daemon whose log no program reads schedules its jobs", unread_pipe),
    )
    def log(self, path):
        """The lines for each stop and resume cannot be written."""
        self.assert_end_right(self.daemon)
        with open(path(self), "r+b", buffering=0) as log:
            self.daemon = self.start_daemon(stdout=log, stderr=log)
        self.soon(lambda: self.job(self.batch), "the daemon finds the job")
        server = self.start_server()
        self.assert_soon_held(self.batch)
        self.assert_end_right(server)
        self.assert_soon_running(self.batch)
        self.assert_all_end_right()


class Runs(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(rules("0%"))

    def start_run(self):
        run = self.start_queues("run", *"kfd-preempt run --band idle --weight 7 -- queue_owner 1".split())
        self.assert_known(run)
        self.assert_kept(run)
        return run

    def assert_known(self, run):
        known = {"name": f"run {run.pid}", "band": "idle", "weight": 7}
        self.soon(lambda: self.is_noted(run, **known), f"the daemon knows {known}")

    def assert_kept(self, run):
        """What the daemon knows of a run is in a file within seconds."""
        self.soon(lambda: STATE.exists() and matches(f"^run {run.pid} ", STATE.read_text()), f"{STATE} has the run")

    def test_run_has_its_band_and_weight_under_the_next_daemon(self):
        run = self.start_run()
        self.daemon.kill()
        self.daemon = self.start_daemon()
        self.assert_known(run)
        self.assert_end_right(run, self.daemon)

    def test_daemon_makes_its_files_again_when_a_program_has_removed_them(self):
        run = self.start_run()
        shutil.rmtree(SOCKET.parent)
        self.soon(SOCKET.exists, "there is a new socket")
        self.assert_known(run)
        self.assert_kept(run)
        self.assert_end_right(run, self.daemon)

    def test_process_that_a_run_leaves_behind_has_its_band(self):
        """It uses the GPU only after its ancestors have ended."""
        script = f"echo $$ >{self.work}/pid; until [ -e {self.work}/go ]; do sleep 0.1; done"
        self.write("orphan", f"{script}; exec queue_owner 1 {self.work}/orphan.progress")
        left_behind = f"setsid sh {self.work}/orphan >{self.work}/orphan.out 2>&1 &"
        self.check(f"kfd-preempt run --band idle -- setsid sh -c 'echo $$ >{self.work}/left; {left_behind}'")
        left, orphan = self.pid_in("left"), self.pid_in("pid")
        self.addCleanup(self.end_of, orphan)
        self.soon(lambda: not Path(f"/proc/{left}").exists(), "the command of the run ends")
        self.write("go")
        job = Owner("orphan", orphan, self.work / "orphan.progress")
        self.soon(lambda: self.is_noted(job, name=f"run {left}", band="idle"), "it has the band of the run")
        self.assert_end_right(self.daemon)

    def pid_in(self, name):
        path = self.work / name
        self.soon(lambda: path.exists() and path.read_text().endswith("\n"), f"{name} has a pid")
        return int(path.read_text())

    def end_of(self, pid):
        os.kill(pid, signal.SIGKILL)
        self.soon(lambda: not Path(f"/proc/{pid}").exists(), f"pid {pid} ends")
