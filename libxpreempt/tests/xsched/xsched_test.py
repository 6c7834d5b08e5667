#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""XSched's HIP examples in the ROCm guest: by XSched itself with our adapter, and by our own library instead of both.

An example has two tasks of different priority, each of a hundred kernels, again and again. Counted is what the GPU
does from when both have ended a task until the low one has ended LOW_TASKS more. EXAMPLE_SIZE is -small, or empty.
"""

import os
from pathlib import Path

from daemon import DaemonTest
from guest import Program
from runner.testing.commands import cases

HERE = Path("/opt/kfd-preempt/bin")
XSCHED, OURS = HERE / "xsched", HERE / "compat"
SIZE = os.environ.get("EXAMPLE_SIZE", "-small")
LOW_TASKS = int(os.environ.get("LOW_TASKS") or 1)
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

    def measure(self, what: str, low: tuple[Program, str], high: tuple[Program, str]) -> dict[str, int]:
        """What the GPU counts, and how many tasks each of the two has ended meanwhile."""
        alive = lambda: low[0].is_alive() and high[0].is_alive()  # noqa: E731
        self.soon(lambda: not alive() or (self.tasks(*low) and self.tasks(*high)), "both end a task")
        before = {**self.counters(), "low": self.tasks(*low), "high": self.tasks(*high)}
        self.soon(lambda: not alive() or self.tasks(*low) >= before["low"] + LOW_TASKS, "the low one ends more tasks")
        self.assertTrue(alive(), "both still run")
        after = {**self.counters(), "low": self.tasks(*low), "high": self.tasks(*high)}
        counted = {name: after[name] - before[name] for name in after}
        texts = [program.output.read_text(errors="replace") for program in {low[0], high[0]}]
        sums = [line for text in texts for line in text.splitlines() if line.startswith("sums: ")]
        print(f"# {what}: {', '.join(f'{name} {number}' for name, number in counted.items())}; {len(sums)} tasks checked", flush=True)
        self.assertEqual([line for line in sums if not line.startswith("sums: 0 of ")], [], "each sum is right")
        self.assertGreater(len(sums), 1)
        return counted

    def assert_level(self, level: int, counted: dict[str, int]) -> None:
        """Level 1 saves no wave, 2 and 3 those of the low task, and the high one is first."""
        if level == 1:
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

    @cases(*((f"example 1 under xserver at {name}", level) for name, level in LEVELS))
    def transparent(self, level):
        self.start_server_of_xsched()
        words = {"XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_LEVEL": level}
        low = {"XSCHED_AUTO_XQUEUE_PRIORITY": 0, "XSCHED_AUTO_XQUEUE_THRESHOLD": 4, "XSCHED_AUTO_XQUEUE_BATCH_SIZE": 2}
        high = {"XSCHED_AUTO_XQUEUE_PRIORITY": 1, "XSCHED_AUTO_XQUEUE_THRESHOLD": 16, "XSCHED_AUTO_XQUEUE_BATCH_SIZE": 8}
        first = self.start_example("low", level, example="app", **words, **low)
        second = self.start_example("high", level, example="app", **words, **high)
        self.assert_level(level, self.measure(f"XSched, example 1, level {level}", (first, "Task "), (second, "Task ")))

    @cases(*((f"example 2 under xserver at {name}", level) for name, level in LEVELS))
    def hints(self, level):
        self.start_server_of_xsched()
        low = self.start_example("low", level, 0, example="app_with_hints", XSCHED_SCHEDULER="GLB")
        high = self.start_example("high", level, 1, example="app_with_hints", XSCHED_SCHEDULER="GLB")
        self.assert_level(level, self.measure(f"XSched, example 2, level {level}", (low, "Task "), (high, "Task ")))

    @cases(*((f"example 3 at {name}", level) for name, level in LEVELS))
    def concurrent(self, level):
        both = self.start_example("app_concurrent", level)
        self.assert_level(level, self.measure(f"XSched, example 3, level {level}", *((both, words) for words in CONCURRENT)))

    @cases(*((f"example 4 at {name}", level) for name, level in LEVELS))
    def manual(self, level):
        both = self.start_example("app_sched", level)
        self.assert_level(level, self.measure(f"XSched, example 4, level {level}", *((both, words) for words in MANUAL)))


class Ours(ExampleTest):
    """libxpreempt with its libpreempt, libhalhip and hook, and xpreemptd. The same programs."""

    libraries = OURS
    preload = ("libxpreempt-hook.so",)

    def test_example_1_under_xpreemptd(self):
        self.start_daemon("")
        words = {"XSCHED_SCHEDULER": "GLB", "XSCHED_AUTO_XQUEUE": "ON", "XSCHED_AUTO_XQUEUE_LEVEL": 3}
        low = self.start_example("low", 3, example="app", **words, XSCHED_AUTO_XQUEUE_PRIORITY=0)
        high = self.start_example("high", 3, example="app", **words, XSCHED_AUTO_XQUEUE_PRIORITY=1)
        self.assert_level(3, self.measure("ours, example 1, xpreemptd", (low, "Task "), (high, "Task ")))

    def test_example_2_under_xpreemptd(self):
        self.start_daemon("")
        low = self.start_example("low", 3, 0, example="app_with_hints", XSCHED_SCHEDULER="GLB")
        high = self.start_example("high", 3, 1, example="app_with_hints", XSCHED_SCHEDULER="GLB")
        self.assert_level(3, self.measure("ours, example 2, xpreemptd", (low, "Task "), (high, "Task ")))

    @cases(*((f"example 3 at {name}", level) for name, level in LEVELS))
    def concurrent(self, level):
        both = self.start_example("app_concurrent", level)
        self.assert_level(level, self.measure(f"ours, example 3, level {level}", *((both, words) for words in CONCURRENT)))

    @cases(*((f"example 4 at {name}", level) for name, level in LEVELS))
    def manual(self, level):
        both = self.start_example("app_sched", level)
        self.assert_level(level, self.measure(f"ours, example 4, level {level}", *((both, words) for words in MANUAL)))
