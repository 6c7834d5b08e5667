#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""XSched's HIP examples in the ROCm guest: by XSched itself with our adapter, and by our own library instead of both.

An example has two tasks of different priority, each of a hundred kernels, again and again. Counted is what the GPU
does from when both have ended a task until the low one has ended LOW_TASKS more, and the high one some. Of two processes
the high one is killed after HIGH_TASKS more, and the low one has to end its task. EXAMPLE_SIZE is -small, or empty.
"""

import os
from pathlib import Path

from daemon import HAS_HWS, DaemonTest
from guest import Program
from runner.testing.commands import cases

HERE = Path("/opt/kfd-preempt/bin")
XSCHED, OURS = HERE / "xsched", HERE / "compat"
SIZE = os.environ.get("EXAMPLE_SIZE", "-small")
# Wave instructions in a millisecond of the guest: a kernel lasts longer than XSched takes to stop it, whatever the load.
PACE = 4000
LOW_TASKS = int(os.environ.get("LOW_TASKS") or 1)
HIGH_TASKS = int(os.environ.get("HIGH_TASKS") or 10)
# A stop that comes between two kernels of the low one saves nothing: of those of several tasks one comes in a kernel.
FEWEST_HIGH_TASKS = 4
COUNTERS = ("sq.waves_saved", "sq.waves_restored", "queue_saves", "dispatches")
LEVELS = [(f"level {level}", level) for level in (1, 2, 3)]
# The threads of one process write to one file; a process of two has the prefix of its own.
CONCURRENT = ("Prio 1 Task", "Prio 2 Task")
MANUAL = ("low  prio Task", "high prio Task")


def setUpModule():
    print(f"# XSched {(XSCHED / 'commit').read_text().strip()}")


class ExampleTest(DaemonTest):
    PATIENCE_S = int(os.environ.get("PATIENCE_S") or 1200)

    def setUp(self):
        super().setUp()
        cache = {"AMD_COMGR_CACHE": "1", "AMD_COMGR_CACHE_DIR": "/tmp/comgr"}
        self.environment |= {**cache, "XLOG_LEVEL": "WARN", "XSCHED_HIP_COMGR_LIB": str(XSCHED / "comgr.so")}

    def start_example(self, name: str, level: int, *arguments: object, example: str = "", **variables: object) -> Program:
        """With libraries of `libraries`; the environment of an XQueue that XSched makes by itself is in variables."""
        text = {key: str(value) for key, value in variables.items()}
        library_path = f"{self.libraries}:{HERE}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        preload = ":".join(map(str, [XSCHED / "probe.so", *self.preload]))
        environment = {**self.environment, "LD_LIBRARY_PATH": library_path, "LD_PRELOAD": preload, "PROBE_LEVEL": str(level)}
        return self.start(name, XSCHED / f"{example or name}{SIZE}", *arguments, env=environment | text)

    def tasks(self, program: Program, words: str) -> int:
        return program.output.read_text(errors="replace").count(words)

    def counters(self) -> dict[str, int]:
        return {name: int(self.succeeds("vgpu-fault", "counter", name).stdout or 0) for name in COUNTERS}

    def start_both(self, level: int, low: dict, high: dict) -> list[tuple[Program, str]]:
        """Two processes, of which the low one has ended a task when the other one begins."""
        programs = [self.start_example("low", level, *low.pop("arguments", ()), **low)]
        self.soon(lambda: not programs[0].is_alive() or self.tasks(programs[0], "Task "), "the low one ends a task")
        programs.append(self.start_example("high", level, *high.pop("arguments", ()), **high))
        return [(program, "Task ") for program in programs]

    def measure(self, what: str, low: tuple[Program, str], high: tuple[Program, str]) -> dict[str, int]:
        """What the GPU counts, and how many tasks each of the two has ended meanwhile."""
        alive = lambda: low[0].is_alive() and high[0].is_alive()  # noqa: E731
        self.soon(lambda: not alive() or (self.tasks(*low) and self.tasks(*high)), "both end a task")
        self.succeeds("vgpu-fault", "pace", PACE)
        self.addCleanup(self.succeeds, "vgpu-fault", "pace", 0)
        before = {**self.counters(), "low": self.tasks(*low), "high": self.tasks(*high)}
        of_two = low[0] is not high[0]

        def ended() -> bool:
            high_tasks = self.tasks(*high) - before["high"]
            low_ended = self.tasks(*low) >= before["low"] + LOW_TASKS and high_tasks >= FEWEST_HIGH_TASKS
            return low_ended or (of_two and high_tasks >= HIGH_TASKS)

        self.soon(lambda: not alive() or ended(), "more tasks end")
        self.assertTrue(alive(), "both still run")
        after = {**self.counters(), "low": self.tasks(*low), "high": self.tasks(*high)}
        if of_two:
            # Its kernels that were stopped end.
            high[0].kill()
            self.soon(lambda: not low[0].is_alive() or self.tasks(*low) > after["low"], "the low one ends its task alone")
        counted = {name: after[name] - before[name] for name in after}
        texts = [program.output.read_text(errors="replace") for program in {low[0], high[0]}]
        sums = [line for text in texts for line in text.splitlines() if line.startswith("sums: ")]
        print(f"# {what}: {', '.join(f'{name} {number}' for name, number in counted.items())}; {len(sums)} tasks checked", flush=True)
        warnings = {line for text in texts for line in text.splitlines() if "xpreempt: " in line}
        print("".join(f"# {line}\n" for line in sorted(warnings)), end="", flush=True)
        self.assertEqual([line for line in sums if not line.startswith("sums: 0 of ")], [], "each sum is right")
        self.assertGreater(len(sums), 1)
        return counted

    def assert_level(self, level: int, counted: dict[str, int], saving: int = 2) -> None:
        """Levels from `saving` save waves of the low task, others none, and the high task is first."""
        if level < saving:
            self.assertEqual(counted["sq.waves_saved"], 0, "no wave is saved")
        else:
            self.assertGreater(counted["sq.waves_saved"], 0, "running waves are saved")
        self.assertGreater(counted["high"], counted["low"], "the high one ends more tasks")


class XSched(ExampleTest):
    """libshimhip, libhalhip, libpreempt and xserver of XSched, with the adapter."""

    libraries = XSCHED
    preload = (XSCHED / "libshimhip.so", XSCHED / "libxpreempt_xsched_adapter.so", "libxpreempt-hook.so")

    def start_server_of_xsched(self) -> None:
        server = self.start("xserver", XSCHED / "xserver", "HPF", 50000)
        self.soon(lambda: server.says("events receiver started") or not server.is_alive(), "xserver begins")

    @cases(*((f"XSched example 1 under xserver at {name}", level) for name, level in LEVELS))
    def transparent(self, level):
        self.start_server_of_xsched()
        words = {"example": "app", "XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_LEVEL": level}
        low = {"XSCHED_AUTO_XQUEUE_PRIORITY": 0, "XSCHED_AUTO_XQUEUE_THRESHOLD": 4, "XSCHED_AUTO_XQUEUE_BATCH_SIZE": 2}
        high = {"XSCHED_AUTO_XQUEUE_PRIORITY": 1, "XSCHED_AUTO_XQUEUE_THRESHOLD": 16, "XSCHED_AUTO_XQUEUE_BATCH_SIZE": 8}
        both = self.start_both(level, {**words, **low}, {**words, **high})
        self.assert_level(level, self.measure(f"XSched, example 1, level {level}", *both))

    @cases(*((f"XSched example 2 under xserver at {name}", level) for name, level in LEVELS))
    def hints(self, level):
        self.start_server_of_xsched()
        words = {"example": "app_with_hints", "XSCHED_SCHEDULER": "GLB"}
        both = self.start_both(level, {**words, "arguments": [0]}, {**words, "arguments": [1]})
        self.assert_level(level, self.measure(f"XSched, example 2, level {level}", *both))

    @cases(*((f"XSched example 3 at {name}", level) for name, level in LEVELS))
    def concurrent(self, level):
        both = self.start_example("app_concurrent", level)
        self.assert_level(level, self.measure(f"XSched, example 3, level {level}", *((both, words) for words in CONCURRENT)))

    @cases(*((f"XSched example 4 at {name}", level) for name, level in LEVELS))
    def manual(self, level):
        both = self.start_example("app_sched", level)
        self.assert_level(level, self.measure(f"XSched, example 4, level {level}", *((both, words) for words in MANUAL)))


class Ours(ExampleTest):
    """libxpreempt with its libpreempt, libhalhip and hook, and xpreemptd. The same programs."""

    libraries = OURS
    preload = ("libxpreempt-hook.so",)
    # Without the HWS the driver can drain a queue, and level 2 does.
    SAVING = 2 if HAS_HWS else 3

    def test_our_example_1_under_xpreemptd(self):
        self.start_daemon("")
        words = {"example": "app", "XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_LEVEL": 3}
        both = self.start_both(3, {**words, "XSCHED_AUTO_XQUEUE_PRIORITY": 0}, {**words, "XSCHED_AUTO_XQUEUE_PRIORITY": 1})
        self.assert_level(3, self.measure("ours, example 1, xpreemptd", *both))

    def test_our_example_2_under_xpreemptd(self):
        self.start_daemon("")
        words = {"example": "app_with_hints", "XSCHED_SCHEDULER": "GLB"}
        both = self.start_both(3, {**words, "arguments": [0]}, {**words, "arguments": [1]})
        self.assert_level(3, self.measure("ours, example 2, xpreemptd", *both))

    @cases(*((f"our example 3 at {name}", level) for name, level in LEVELS))
    def concurrent(self, level):
        both = self.start_example("app_concurrent", level)
        counted = self.measure(f"ours, example 3, level {level}", *((both, words) for words in CONCURRENT))
        if level == 1:
            # A launch by the thread that has suspended stops the queue at each level, see xpreempt-xsched(7).
            self.assertLess(counted["queue_saves"], counted["high"] / 2, "few stops")
            self.assertGreater(counted["high"], counted["low"], "the high one ends more tasks")
        else:
            self.assert_level(level, counted, self.SAVING)

    @cases(*((f"our example 4 at {name}", level) for name, level in LEVELS))
    def manual(self, level):
        both = self.start_example("app_sched", level)
        counted = self.measure(f"ours, example 4, level {level}", *((both, words) for words in MANUAL))
        self.assert_level(level, counted, self.SAVING)
