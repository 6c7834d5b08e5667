#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""HIP programs in the ROCm guest: alone, while their queues are stopped at random, with the hook, as the batch job of
xpreemptd.

SEED and COUNT are of the storms, STOPS of Scheduled. PROGRAMS are run instead of all, and each gets COUNT stops.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from daemon import DaemonTest, rules
from guest import SEED
from runner.testing.commands import fails, matches

COUNT = int(os.environ.get("COUNT") or 100)
STOPS = int(os.environ.get("STOPS") or 10)
# The GPU by its version in KFD's topology, and what it runs besides. Firmware of the older ones, ROCr says, cannot
# give scratch back.
GPUS = {90402: ("gfx942", "reclaim"), 90010: ("gfx90a", ""), 90008: ("gfx908", "")}
NODES = [*Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties")]
VERSION = max(int(re.search(r"^gfx_target_version (\d+)", node.read_text(), re.MULTILINE)[1]) for node in NODES)
TARGET, RECLAIM = GPUS[VERSION]
# Workgroups that wait for each other take GWS, which KFD gives to no process without the HWS.
HAS_HWS = Path("/sys/module/amdgpu/parameters/sched_policy").read_text().strip() != "2"
OTHERS = (
    f"vadd reduce ledger tally scratch scratch_O0 {RECLAIM} streams device_printf graph pool managed sort_scan wheel"
    f" cu_mask models loaders captures all_reduce {'cooperative' if HAS_HWS else ''}"
)


def programs(names: str) -> list[str]:
    """Those of a list that are run without a choice, or those of PROGRAMS that are chosen of it."""
    chosen = os.environ.get("PROGRAMS", "").split()
    return [name for name in names.split() if not chosen or name in chosen]


# PROGRAMS may have others, of libraries. Copies are short, and a batch job may be one that ends by itself.
COPIES, REPLACING, ENDING = programs("roundtrip"), programs("turnover"), programs("batch")
CHOSEN = [name for name in os.environ.get("PROGRAMS", "").split() if name not in (*COPIES, *REPLACING, *ENDING)]
OFTEN = CHOSEN or programs("matmul histogram nbody")
# Programs with many streams, threads and processes.
HOOKED = CHOSEN or programs("models loaders captures all_reduce")
SELDOM = [] if os.environ.get("PROGRAMS") else programs(OTHERS)
HOOK = {
    "LD_PRELOAD": "/opt/kfd-preempt/bin/libxpreempt-hook.so",
    "XSCHED_AUTO_XQUEUE": "ON",
    "XSCHED_AUTO_XQUEUE_LEVEL": "3",
    "XSCHED_AUTO_XQUEUE_TIMESLICE": "5000",
    "XSCHED_POLICY": "RR",
}
# HIP compiles its own copy kernels whenever a program starts, and rocFFT others; once is enough here.
CACHE = tempfile.mkdtemp()
# The results of programs that have run alone.
DIGESTS: dict[str, str] = {}


def setUpModule():
    info = subprocess.run(["rocminfo"], check=True, text=True, capture_output=True).stdout
    if f"{TARGET}:sramecc+" not in info:
        raise LookupError(f"rocminfo shows no {TARGET} whose SRAM has ECC:\n{info}")
    print(f"# seed {SEED}, {COUNT} stops of running waves for: {' '.join(OFTEN)}")


def tearDownModule():
    shutil.rmtree(CACHE)


def rounds(program):
    return len(re.findall("round [0-9]+ done", program.output.read_text(errors="replace")))


class for_each:  # pylint: disable=invalid-name # a decorator
    """Makes a test of each program: {} in the name stands for it."""

    def __init__(self, name: str, names: list[str], *arguments):
        self.name, self.names, self.arguments = name, names, arguments

    def __call__(self, method):
        self.method = method
        return self

    def __set_name__(self, owner, _):
        for program in self.names:
            name = "test_" + self.name.format(program).replace(" ", "_")
            setattr(owner, name, lambda test, given=(program, *self.arguments): self.method(test, *given))


class HipTest(DaemonTest):
    # HIP programs begin slowly on a software GPU.
    PATIENCE_S = 900

    def setUp(self):
        super().setUp()
        self.environment |= {
            "AMD_COMGR_CACHE": "1",
            "AMD_COMGR_CACHE_DIR": f"{CACHE}/comgr",
            "ROCFFT_RTC_CACHE_PATH": f"{CACHE}/rocfft.db",
            # Pools of HIP 7 map memory in a way that amdgpu has no care for (README.md). HIP 6 knows no such word.
            "DEBUG_HIP_MEM_POOL_VMHEAP": "0",
        }

    def start(self, name, *command, **options):
        return super().start(name, *command, **{"env": self.environment, **options})

    def run_alone(self, program):
        printed = self.succeeds(program).output
        if digest := re.search(r"digest ([0-9a-f]+)$", printed, re.MULTILINE):
            DIGESTS[program] = digest[1]
        return printed

    def assert_as_alone(self, program, printed):
        """Where it has run alone; a program has checked itself anyway."""
        if program in DIGESTS:
            self.assertRegex(printed, f"(?m)digest {DIGESTS[program]}$")

    def start_rounds(self, program, variables=None):
        """In the background, so that its rounds can be counted."""
        environment = self.environment | (variables or {})
        started = self.start(program, program, "--until-told", "--verbose", env=environment)
        self.soon(lambda: rounds(started) or not started.is_alive(), f"{program} begins")
        self.assertTrue(started.is_alive(), f"{program} ended at once")
        return started

    def end_told(self, program):
        """Ends a program that runs until it is told, and checks its result."""
        program.process.send_signal(signal.SIGRTMIN)
        self.assertEqual(program.process.wait(600), 0, f"{program.name} ends right")
        self.assert_as_alone(program.name, program.output.read_text(errors="replace"))

    def assert_continues_and_ends_right(self, program):
        before = rounds(program)
        self.soon(lambda: rounds(program) >= before + 2 or not program.is_alive(), f"{program.name} continues")
        self.end_told(program)

    def print_lines(self, pattern, text):
        print("\n".join(f"# {line.strip()}" for line in text.splitlines() if matches(pattern, line)), flush=True)


class Plain(HipTest):
    @for_each("{} is right alone", [*OFTEN, *SELDOM, *COPIES, *REPLACING])
    def alone(self, program):
        self.print_lines(r"^\w+: right:", self.run_alone(program))


class Storm(HipTest):
    FEW, MANY = min(20, (COUNT + 4) // 5), max(20, min(200, COUNT * 2))

    # Copies are short: few stops meet a running wave, many a queue with work. SDMA queues are stopped where the driver
    # has preempt_sdma=1.
    @for_each("{} is right when its waves are stopped at random", SELDOM, FEW, "--busy")
    def seldom(self, program, stops, *options):
        self.stopped(program, stops, *options)

    @for_each("{} is right when its waves are often stopped at random", OFTEN, COUNT, "--busy")
    def often(self, program, stops, *options):
        self.stopped(program, stops, *options)

    @for_each("{} is right when its queues are stopped at random", COPIES, MANY)
    def copies(self, program, stops, *options):
        self.stopped(program, stops, *options)

    @for_each("{} is right when its SDMA queues are stopped at random", COPIES, MANY, "--sdma")
    def sdma(self, program, stops, *options):
        self.stopped(program, stops, *options)

    def stopped(self, program, stops, *options):
        """Until so many stops are made, then the last round and its check."""
        command = ["preempt_storm", "--seed", SEED, "--count", stops, "--end", *options, "--", program, "--until-told"]
        printed = self.succeeds(*command, timeout=900 + 4 * stops).output
        self.assert_as_alone(program, printed)
        self.print_lines("^preempt_storm: seed.*stops", printed)


class Models(HipTest):
    @for_each("result of layer {} is found when it is wrong", ["mlp:0", "resnet18:12", "decoder:27"])
    def wrong(self, layer):
        self.environment["MODELS_WRONG"] = layer
        model, _, number = layer.partition(":")
        self.meets(fails(1, f"models: {model}: the result of layer {number} of [0-9]* .* is wrong"), "models")


class Hooked(HipTest):
    """The streams of a program take turns, under the scheduler of the library that the hook brings."""

    def assert_hooked(self, printed):
        self.assertNotIn("cannot be preloaded", printed, "the boot adds the hook and the library")

    @for_each("{} is right when its streams take turns", HOOKED)
    def turns(self, program):
        started = self.start_rounds(program, HOOK)
        self.assert_hooked(started.output.read_text(errors="replace"))
        self.soon(lambda: "HELD" in self.states(started) or not started.is_alive(), f"a queue of {program} is held")
        self.assert_continues_and_ends_right(started)

    @for_each("{} is right when its streams take turns and its queues are stopped at random", HOOKED)
    def stopped(self, program):
        options = ["--seed", SEED, "--count", min(COUNT, 20), "--busy", "--end"]
        hooked = ["env", *(f"{name}={value}" for name, value in HOOK.items()), program, "--until-told"]
        printed = self.succeeds("preempt_storm", *options, "--", *hooked, timeout=1800).output
        self.assert_hooked(printed)
        self.assert_as_alone(program, printed)
        self.print_lines("^preempt_storm: seed.*stops", printed)


class Replaced(HipTest):
    def test_process_that_replaces_its_queues_while_a_storm_holds_them_is_right(self):
        """How many stops that takes depends on the load, so the storm is repeated until it has counted one."""
        turnover, storms = self.start_rounds("turnover"), []
        while len(storms) < 10 and not matches("times ESTALE", "".join(storms)):
            options = ["--seed", SEED + len(storms), "--count", 40, "--hold-us", "20000..400000"]
            storms.append(self.succeeds("preempt_storm", *options, "--pid", turnover.pid, timeout=240).output)
        self.print_lines("^preempt_storm: seed.*stops", storms[-1])
        self.assertRegex(storms[-1], "times ESTALE", "queues that are replaced while they are held")
        self.assert_continues_and_ends_right(turnover)


class Pairs(HipTest):
    def test_process_runs_right_while_another_one_is_suspended(self):
        first = self.start_rounds("nbody")
        self.check(f"kfd-preempt suspend {first.pid}")
        time.sleep(0.5)  # the program may not have printed yet that a round has ended
        before = rounds(first)
        self.succeeds("matmul", timeout=120)
        time.sleep(1)
        self.assertEqual(rounds(first), before, "the suspended process made progress")
        self.check(f"kfd-preempt resume {first.pid}")
        self.assert_continues_and_ends_right(first)

    def test_storm_that_is_killed_in_a_hold_leaves_the_process_running(self):
        program = self.start_rounds("nbody")
        minutes = "300000000..300000000"
        command = ["preempt_storm", "--seed", SEED, "--all", "--hold-us", minutes, "--pid", program.pid]
        storm = self.start("storm", *command)
        self.soon(lambda: "HELD" in self.states(program) or not storm.is_alive(), "the storm holds a queue")
        self.assertTrue(storm.is_alive())
        storm.kill()
        self.assert_continues_and_ends_right(program)

    def test_process_that_is_killed_while_suspended_leaves_KFD_and_the_next_one_computes(self):
        program = self.start_rounds("matmul")
        self.check(f"kfd-preempt suspend {program.pid}")
        program.kill()
        process = Path("/sys/class/kfd/kfd/proc") / str(program.pid)
        self.soon(lambda: not process.exists(), "the process leaves KFD")
        self.succeeds("matmul", timeout=120)


class Verified(HipTest):
    @for_each("verify finds {} right under stops", ["matmul", "streams"])
    def verify(self, program):
        """As a stranger lets verify try a program of his own."""
        command = f"kfd-preempt verify --yes -o {self.work}/report --stage program -- {program}"
        printed = self.succeeds(*command.split(), timeout=300).output
        self.print_lines("^ *[0-9]* stops: ", printed)


class Scheduled(HipTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(rules("0%", 'resume_grace = "5ms"'))
        self.server, self.made = self.start_requests("signal", progress=2), 0

    def is_stopped_often(self, batch):
        """Makes a request if the batch job runs.

        With requests at fixed intervals the job would hardly run on a slow software GPU, because the daemon waits five
        times the cost of a stop before it resumes a job.
        """
        if self.states(batch) == {"RUNNING"}:
            self.server.process.send_signal(signal.SIGUSR1)
        self.made = self.job(batch).get("preemptions", self.made)
        return self.made >= STOPS

    @for_each("{} is right as the batch job of xpreemptd", [*OFTEN, *SELDOM, *COPIES, *REPLACING, *ENDING])
    def batch(self, program):
        if program not in DIGESTS:
            self.run_alone(program)
        batch = self.start(program, "kfd-preempt", "run", "--band", "idle", "--", program, "--until-told")
        self.soon(lambda: self.is_stopped_often(batch) or not batch.is_alive(), f"{STOPS} stops of {program}")
        print(f"# {program}: {self.made} stops, {int(self.server.progress()[0])} requests")
        self.end_told(batch)
        self.assertGreaterEqual(self.made, STOPS)
        self.assert_end_right(self.server)
        self.assertIsNone(self.policy()["ejected"])
        self.assert_end_right(self.daemon)
