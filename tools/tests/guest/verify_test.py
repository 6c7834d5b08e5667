#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""kfd-preempt verify on the software GPU: it passes, and it fails where the GPU or the driver is at fault.

The classes are for drivers: with the HWS and without, with two GPUs, and one that restores an old MQD.
"""

import json
import os
import re
import shlex
import signal
from pathlib import Path

from daemon import DaemonTest, rules
from guest import cgroup
from runner.testing.commands import Expected, cases, fails, prints

STAGES = 16
DEGRADED = Path("/sys/module/amdgpu/parameters/preempt_degraded")
# A GPU program under stops.
PROGRAM = 'queue_owner 2 "$0" & p=$!; sleep 4; kill -TERM $p; wait $p'
SHORT_PROGRAM = 'queue_owner 1 "$0" & p=$!; sleep 1; kill -TERM $p; wait $p'


class Verify(DaemonTest):
    def setUp(self):
        super().setUp()
        self.folder = self.work / "report"
        self.addCleanup(DEGRADED.write_text, "0")
        self.addCleanup(self.ran, "vgpu-fault", "disarm", "all")

    def verify(self, options, expected=None):
        """Of --stage, with a report."""
        return self.check(f"kfd-preempt verify --yes -o {self.folder} {options}", expected)

    def stage(self, rounds, stage, expected):
        """Where it fails it need not wait long for what does not come."""
        return self.verify(f"--patience 10 --rounds {rounds} --stage {stage}", expected)

    def assert_in_report(self, pattern):
        self.assertRegex((self.folder / "report.txt").read_text(), f"(?m){pattern}")

    def assert_passes(self, *skipped):
        """Every stage runs but these."""
        cgroup("")
        summary = f"PASS: {STAGES - len(skipped)} stages passed, 0 failed, {len(skipped)} skipped"
        self.verify("--rounds 5 --all-gpus", prints(f"^{summary}$", alone=False))
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["summary"], summary)
        self.assertEqual([stage["stage"] for stage in report["stages"] if stage["verdict"] == "skip"], [*skipped])
        page = (self.folder / "report.txt").read_text()
        self.assertEqual(len(re.findall(r"^[a-z-]+ \([0-9.]+ s\): ", page, re.MULTILINE)), STAGES)
        self.check(f"tar -tzf {self.folder}.tar.gz")
        self.assert_in_order(self.data("priorities"), 5)
        self.assertIn("high p50", page)
        timed = {stage["stage"] for stage in report["stages"] if not stage["preempt_verify"]}
        self.assertEqual(timed, {"priorities", "latency", "fast"}, "the driver looks into the HQDs in the others' stops")
        machine = report["machine"]
        self.assertEqual(machine["kernel"], os.uname().release)
        self.assertRegex(machine["driver"], r"^[0-9.]+ linux-[0-9.]+$", "ours")
        self.assertTrue(all(gpu["compute_partition"] for gpu in machine["gpus"]) and machine["gpus"], machine)
        picture = (self.folder / "latency.svg").read_text()
        self.assertGreaterEqual(picture.count("<circle"), 15, "points in the picture, one of each stop")
        self.assertIn(">Lv3, interrupt<", (self.folder / "priorities.svg").read_text())
        parameter = Path("/sys/module/amdgpu/parameters/preempt_verify").read_text()
        self.assertRegex(parameter, "[Y1]", "preempt_verify is as it was")

    def data(self, stage):
        """Its figures in the report."""
        report = json.loads((self.folder / "report.json").read_text())
        return next(each["data"] for each in report["stages"] if each["stage"] == stage)

    def assert_in_order(self, data, requests):
        """By what the low program does during requests of the high one, once it has been held back."""
        self.assertEqual(data["unit"], "iterations")
        modes = {mode["mode"].partition(",")[0]: mode for mode in data["modes"] if "busy" not in mode["mode"]}
        ran = {name: mode["low_iterations_in_requests"] for name, mode in modes.items()}
        self.assertEqual((ran["Lv2"], ran["Lv3"]), (0, 0))
        self.assertTrue(ran["together"] >= ran["Lv1"] > 0, ran)
        self.assertEqual(modes["Lv1"]["low_launches_in_requests"], 0)
        self.assertEqual(modes["Lv3"]["stops"], requests)

    def arm(self, fault):
        self.check(f"vgpu-fault arm {fault}")

    def assert_detected(self, fault, rounds, stage, pattern):
        self.arm(fault)
        self.stage(rounds, stage, prints("^FAIL", 1, alone=False))
        self.assert_in_report(pattern)


class Refusals:
    """Of both schedulers."""

    def test_GPU_in_use_is_refused_by_the_pid(self):
        owner = self.queue_owner("owner")
        self.stage(1, "probe", Expected(1, "stderr", f"pid {owner.pid}, 1 queues on GPU", alone=False))
        self.verify("--beside-others --stage probe")
        self.assert_end_right(owner)

    def test_command_without_a_terminal_needs_yes(self):
        self.check("kfd-preempt verify", fails(2, ""))

    @cases(
        ("unknown stage is named with the others", 2, "--stage nothing", "'nothing' is not a stage; .* probe, one-queue"),
        ("unknown GPU is named", 3, "--gpu 1", "cannot open GPU 1"),
    )
    def refused(self, status, options, message):
        self.check(f"kfd-preempt verify -y {options}", Expected(status, "stderr", message, alone=False))


class OfHws(Refusals, Verify):
    def test_all_stages_pass(self):
        self.assert_passes("xnack", "gpus", "program")

    def test_xpreemptd_stops_the_low_program_for_requests(self):
        daemon = self.start_daemon(rules("0%"))
        self.verify("--rounds 5 --stage priorities", prints("^ +by xpreemptd .* [3-9]$", alone=False))
        data = self.data("priorities")
        self.assertEqual((data["policy"], data["modes"][-1]["mode"]), ("BAND", "by xpreemptd"))
        self.refuses_overhead("xpreemptd runs, which this stage starts and ends itself", "true")
        self.assert_end_right(daemon)

    def refuses_overhead(self, why, *program):
        self.verify(f"--rounds 1 --stage overhead -- {shlex.join(program)}", Expected(1, "stdout", why, alone=False))

    def test_overhead_of_a_program_is_measured_in_each_way(self):
        job = ["sh", "-c", SHORT_PROGRAM, f"{self.work}/progress"]
        self.verify(f"--rounds 2 --stage overhead -- {shlex.join(job)}")
        ways = {way["way"]: way for way in self.data("overhead")["ways"]}
        self.assertEqual([len(way["ns"]) for way in ways.values()], [2, 0, 0, 0, 2, 0, 2, 2], "there is no hook here")
        self.assertEqual(ways["beside it, under xpreemptd"]["compared_with"], "bare")
        self.assertNotIn("interval_percent", ways["under an idle xpreemptd"], "two runs have no interval")
        self.check("kfd-preempt policy", fails(1, "is not running"))

    def test_overhead_of_a_program_that_tells_nothing_is_refused(self):
        self.refuses_overhead("no program was given")
        self.refuses_overhead("skip +alone it ends with exit status 3", "sh", "-c", "exit 3")
        self.refuses_overhead("skip +cannot start a=b: No such file or directory", "a=b")
        self.refuses_overhead("FAIL +xpreemptd stops the low program beside it, on GPU [0-9]+: 0 times", "true")

    def test_daemon_of_another_policy_gets_no_row(self):
        daemon = self.start_daemon('[policy]\nname = "HPF"')
        self.stage(3, "priorities", prints("there is no row of xpreemptd: its policy is HPF", alone=False))
        self.assertNotIn("by xpreemptd", [mode["mode"] for mode in self.data("priorities")["modes"]])
        self.assert_end_right(daemon)

    def test_what_it_starts_ends_with_it(self):
        pid = self.work / "pid"
        job = ["sh", "-c", f"echo $$ >{pid}; exec sleep 1000"]
        verify = self.start("verify", "kfd-preempt", *"verify --yes --stage overhead --".split(), *job)
        self.soon(lambda: pid.exists() and pid.read_text().strip(), "its program runs")
        process = Path("/proc", pid.read_text().strip())
        self.assertTrue(process.exists())
        verify.kill()
        self.soon(lambda: not process.exists(), "its program has ended")

    def test_end_of_the_session_is_ignored_under_nohup(self):
        words = f"verify --yes --rounds 5 -o {self.folder} --stage one-queue".split()
        ignored = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
        verify = self.start("verify", "kfd-preempt", *words, **ignored)
        self.soon(lambda: verify.says("one-queue: "), "the stage begins")
        os.kill(verify.pid, signal.SIGHUP)
        self.assertEqual(verify.process.wait(600), 0)
        self.assert_in_report("^PASS: 1 stages passed, 0 failed, 0 skipped$")

    def test_interrupt_ends_it_after_the_stage(self):
        verify = self.start("verify", "kfd-preempt", *f"verify --yes --rounds 5 -o {self.folder} --stage one-queue".split())
        self.soon(lambda: verify.says("one-queue: "), "the stage begins")
        self.assertEqual(verify.end(), 1)
        self.assert_in_report("^INCOMPLETE: 1 stages passed, 0 failed, 0 skipped, then interrupted$")

    @cases(
        ("help into a full disk fails", "--help"),
        ("list into a full disk fails", "--list"),
        ("probe into a full disk fails", "--yes --stage probe"),
    )
    def full_disk(self, options):
        command = f"kfd-preempt verify {options} -o {self.folder} >/dev/full"
        self.check(f"sh -c {shlex.quote(command)}", fails(1, "No space left on device"))

    def test_program_under_stops_ends_as_it_does_alone(self):
        command = f"--stage program -- sh -c {shlex.quote(PROGRAM)} {self.work}/progress"
        self.verify(command, prints("^ +([2-9]|[0-9]{2,}) stops: p50 ", alone=False))
        self.assert_in_report("ends with exit status 0 as it does alone")

    @cases(
        ("program that fails alone is reported", "sh -c 'echo no GPU here; exit 3'", "alone it ends with exit status 3"),
        ("program without queues says nothing of stops", "true", "had no compute queue"),
        ("program that is not there is named", "nothing", "cannot start nothing: No such file or directory .ENOENT."),
    )
    def bad_program(self, command, pattern):
        ran = self.verify(f"--stage program -- {command}", prints("", 1, alone=False))
        self.assert_in_report(pattern)
        if "echo" in command:
            self.assertIn("it printed: no GPU here", ran.stdout)

    @cases(
        ("late unmaps are detected", "slow-fence:ms=5000,count=3", 5, "one-queue", "unmaps were late"),
        ("skipped unmap is detected", "unmap-skipped:count=1", 5, "one-queue", "in an HQD after its unmap|its counters moved"),
        ("doorbell that is lost twice is detected", "doorbell-lost:count=2", 5, "submissions", "the GPU lost the first one"),
        ("lost grace is detected", "grace-lost:xcc=1", 3, "fast", "does not reach every XCC"),
        ("unmap that never ends is detected", "unmap-never:count=1", 2, "one-queue", "no queue was reset: see the kernel log"),
    )
    def fault(self, *row):
        self.assert_detected(*row)

    def test_unmap_and_queue_reset_that_never_end_are_detected(self):
        self.arm("queue-reset-never:count=8")
        self.assert_detected("unmap-never:count=1", 2, "one-queue", "the GPU was not reset: see the kernel log")

    def test_missed_packet_that_the_driver_mends_is_reported(self):
        self.arm("doorbell-lost:count=1")
        self.stage(5, "submissions", prints("the GPU missed 1 of 5", alone=False))
        self.assertEqual([*Path("/sys/kernel/tracing/instances").iterdir()], [], "it leaves nothing in tracefs")


class Hip(Verify):
    """With ROCm and libxpreempt."""

    def test_levels_HPF_and_xpreemptd_order_programs_on_HIP(self):
        daemon = self.start_daemon(rules("0%"))
        self.verify("--rounds 3 --stage priorities", prints("^ +HPF in the process ", alone=False))
        data = self.data("priorities")["hip"]
        self.assertRegex(data["hip_version"], r"^[5-7]\.[0-9]+\.[0-9]+$")
        names = ["high alone", "low alone", "together", "Lv1, block", "Lv2, drain", "Lv3, interrupt"]
        self.assertEqual([mode["mode"] for mode in data["modes"]], [*names, "HPF in the process", "by xpreemptd"])
        self.assert_in_order(data, 3)
        self.assert_end_right(daemon)

    def test_overhead_is_measured_in_each_way(self):
        tell = f'echo "$LD_PRELOAD $XSCHED_AUTO_XQUEUE $XSCHED_POLICY $XSCHED_SCHEDULER" >>{self.work}/ways'
        job = ["sh", "-c", f"{SHORT_PROGRAM}; status=$?; {tell}; exit $status", f"{self.work}/progress"]
        self.environment |= {"XSCHED_POLICY": "CFS", "LD_PRELOAD": "libc.so.6"}
        self.verify(f"--rounds 1 --stage overhead -- {shlex.join(job)}")
        ways = self.data("overhead")["ways"]
        self.assertEqual([len(way["ns"]) for way in ways], [1] * 8)
        hook = "libxpreempt-hook.so:libc.so.6"
        alone, *lines = (self.work / "ways").read_text().splitlines()
        self.assertEqual(alone, "libc.so.6  CFS ")
        self.assertEqual(lines, ["libc.so.6   ", f"{hook}   ", f"{hook} ON  ", f"{hook} ON HPF ", "libc.so.6   ", f"{hook} ON  GLB", *["libc.so.6   "] * 2])


class WithoutHws(Refusals, Verify):
    def test_all_stages_pass(self):
        self.assert_passes("fast", "xnack", "gpus", "program")

    def test_slow_dequeues_are_no_failure(self):
        self.arm("dequeue-late:ms=2000,count=2")
        self.stage(2, "one-queue", None)
        self.check("vgpu-fault list", prints("dequeue-late:.* hits=2 left=0"))


class TwoGPUs(Verify):
    def test_all_stages_pass(self):
        self.assert_passes("xnack", "program")
        self.assert_in_report("queues of 2 GPUs stopped and resumed together 5 times")


class NaiveOrder(Verify):
    def test_restored_old_MQD_is_detected(self):
        self.stage(30, "one-queue", prints("^FAIL", 1, alone=False))
        self.assert_in_report("FAIL  .*(right results|after a resume)")
