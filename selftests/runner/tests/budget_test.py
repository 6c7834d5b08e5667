# SPDX-License-Identifier: MIT
"""The ceilings of selftests/budget.toml."""

import contextlib
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from runner import boots, budget
from runner.budget import Budget
from runner.costs import Costs
from runner.engine import Engine
from runner.errors import Refusal
from runner.jobs import Job
from runner.keeper import Keeper
from runner.passed import Store
from runner.paths import REPO
from runner.progress import Display
from runner.results import BootReader, Result, TapReader
from runner.yardstick import Yardstick

# Half a second of CPU time.
BURN = f"{sys.executable} -c 'sum(range(25_000_000))'"


class OwnFile(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.directory / "budget.toml"
        self.enterContext(mock.patch.object(budget, "FILE", self.file))


class Budgets(OwnFile):
    def names(self, results) -> list[str]:
        self.assertFalse(any(each.passed for each in results))
        return [each.name for each in results]

    def test_what_is_written_is_read(self):
        written = Budget(1.25, {"boots": 2, "C++ and C objects": 90}, 100, {"vm/a": 10, "lint": 3})
        written.write()
        self.assertEqual(Budget.read(), written)
        self.assertTrue(self.file.read_text().startswith("# SPDX"))

    def test_the_budget_of_the_tree(self):
        Budget.read(REPO / "selftests/budget.toml")

    def test_wrong_files_are_named(self):
        for text in ("[parts", '[parts]\n"a" = { cpu_s = 1 }', '[parts]\n"a" = "much"'):
            self.file.write_text(text)
            with self.subTest(text), self.assertRaisesRegex(Refusal, "budget.toml"):
                Budget.read()

    def test_counts_have_no_room(self):
        known = Budget(counts={"boots": 48})
        self.assertEqual(known.judge_counts({"boots": 48}), [])
        self.assertEqual(self.names(known.judge_counts({"boots": 49})), ["no more than 48 boots"])
        self.assertEqual(self.names(known.judge_counts({"links": 1})), ["the number of links has a budget"])

    def test_seconds_have_half_of_room(self):
        known = Budget(parts={"a": 100})
        self.assertEqual(known.judge("a", 150), [])
        (result,) = known.judge("a", 151)
        self.assertEqual(result.name, "a stays within 150 CPU s")
        self.assertEqual(result.why, "it took 151 of the reference machine")

    def test_a_part_without_a_budget(self):
        (result,) = Budget(parts={"a": 1}).judge("b", 1)
        self.assertEqual((result.name, result.why), ("part b has a budget", "run selftests/run --budget"))

    def test_the_sum(self):
        known = Budget(sum_s=100)
        self.assertEqual(known.judge_sum(150), [])
        self.assertEqual(self.names(known.judge_sum(151)), ["all parts together stay within 150 CPU s"])

    def test_what_a_build_counts(self):
        ninja = (
            "build a.o: CXX_COMPILER__a_unscanned_Debug ../a.cpp\nbuild b.o: C_COMPILER__b_Debug ../b.c\n"
            "build a: CXX_EXECUTABLE_LINKER__a_Debug a.o\nbuild l.so: C_SHARED_LIBRARY_LINKER__l_Debug b.o\n"
            "build l.a: CXX_STATIC_LIBRARY_LINKER__l_Debug b.o\nbuild x: CUSTOM_COMMAND\n"
        )
        (self.directory / "build.ninja").write_text(ninja)
        (self.directory / "driver.log").write_text("module: Debian's amdgpu.ko 6.12 with 74 objects of ours; more\n")
        rocm = replace(boots.empty("a"), rocm=True, run=["env PROGRAMS='vadd matmul' hip_test.py Storm"])
        boot = Job("vm/a", [], BootReader("a", []), Path("log"), rocm=("forky", rocm))
        counts = budget.counts([boot, Job("lint", [], TapReader(), Path("log"))], self.directory, self.directory)
        names = ("boots", "C++ and C objects", "links", "HIP programs", "objects of the test module")
        self.assertEqual([counts[name] for name in names], [1, 2, 2, 2, 74])
        self.assertLess(20, counts["packages of the demo"])
        self.assertLess(counts["packages of the demo"], counts["packages"])

    def test_names_of_packages_are_printed_without_installing(self):
        ran = subprocess.run([REPO / "ci/deps", "--names"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("cmake", ran.stdout.splitlines())


class Runs(OwnFile):
    """Parts that use CPU time."""

    def costs(self, measures: bool = False) -> tuple[Costs, Engine]:
        costs = Costs(self.directory, measures)
        count = self.directory / "count"
        script = f"echo >>{count}; [ $(wc -l <{count}) -gt ${{CHEAP_AFTER:-9}} ] || " + BURN
        job = Job("burn", ["/bin/sh", "-c", script + "; echo ok 1 - b"], TapReader(), self.directory / "log")
        engine = Engine([job], 1, Display(), yardstick=costs.yardstick)
        engine.keeper = Keeper(Store(self.directory / "passed"))
        with contextlib.redirect_stdout(io.StringIO()):
            engine.run()
        return costs, engine

    def judge(self, costs: Costs, engine: Engine) -> list[str]:
        with mock.patch.object(budget, "counts", lambda jobs, build, logs: {}):
            return [result.name for result in costs.judge(engine.done.values(), [], self.directory)]

    def repeat(self, costs: Costs, engine: Engine) -> list[str]:
        some = costs.to_repeat(engine.done.values())
        with contextlib.redirect_stdout(io.StringIO()):
            costs.alone(engine, some)
        return some

    def runs(self) -> int:
        return len((self.directory / "count").read_text().splitlines())

    def tight(self):
        known = Budget(1, {}, 0, {"burn": 0.01})
        self.enterContext(mock.patch.object(Budget, "read", classmethod(lambda cls: known)))
        self.enterContext(mock.patch.object(budget, "LEAST_ROOM_S", 0.03))

    def test_a_part_above_its_budget_runs_once_more_and_fails(self):
        self.tight()
        costs, engine = self.costs()
        self.assertEqual(self.repeat(costs, engine), ["burn"])
        self.assertEqual(self.runs(), 2)
        self.assertEqual(self.judge(costs, engine), ["burn stays within 0 CPU s"])

    def test_a_part_that_is_cheap_when_it_runs_alone(self):
        self.tight()
        with mock.patch.dict(os.environ, {"CHEAP_AFTER": "1"}):
            costs, engine = self.costs()
            self.assertEqual(self.repeat(costs, engine), ["burn"])
        self.assertEqual(self.judge(costs, engine), [])

    def test_boots_that_are_others_each_day_have_no_budget(self):
        self.tight()
        costs, engine = self.costs()
        engine.done["burn"].job = replace(engine.done["burn"].job, name="rotation/burn")
        self.assertEqual(self.judge(costs, engine), [])

    def test_a_failed_part_is_not_repeated(self):
        self.tight()
        costs, engine = self.costs()
        engine.done["burn"].job.reader.results.append(Result("c", False))
        self.assertEqual(costs.to_repeat(engine.done.values()), [])

    def test_a_kept_result_is_not_judged(self):
        self.tight()
        costs, engine = self.costs()
        engine.done["burn"].before = time.time()
        self.assertEqual(costs.to_repeat(engine.done.values()), [])
        self.assertEqual(self.judge(costs, engine), [])

    def test_without_any_budget_each_part_fails(self):
        costs, engine = self.costs()
        self.assertEqual(costs.to_repeat(engine.done.values()), [])
        self.assertEqual(self.judge(costs, engine), ["part burn has a budget"])

    def test_measured_costs_are_written(self):
        costs, engine = self.costs(measures=True)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.judge(costs, engine)
        self.assertIn("written: ", said.getvalue())
        known = Budget.read()
        self.assertGreaterEqual(known.parts["burn"], 1)  # more beside work that slows the CPU
        self.assertGreater(known.yardstick_s, 0)
        costs, engine = self.costs()
        self.assertEqual(self.judge(costs, engine), [])

    def test_a_build_keeps_its_larger_budget(self):
        Budget(1, {}, 0, {"burn": 900}).write()
        costs, engine = self.costs(measures=True)
        engine.done["burn"].job.is_build = True
        with contextlib.redirect_stdout(io.StringIO()):
            self.judge(costs, engine)
        self.assertEqual(Budget.read().parts["burn"], 900)


class Yardsticks(unittest.TestCase):
    def test_a_slow_machine_has_larger_seconds(self):
        yardstick = Yardstick(2.0)
        yardstick.samples = [(100, 2.0), (400, 4.0), (700, 2.0)]
        self.assertEqual(yardstick.factor(350, 450), 2)
        self.assertEqual(yardstick.factor(90, 410), 1.5)
        self.assertEqual(yardstick.factor(650, 660), 1)
        self.assertEqual(yardstick.factor(300, 320), 2)

    def test_a_short_part_is_measured_by_the_samples_around_it(self):
        yardstick = Yardstick(2.0)
        yardstick.samples = [(100, 2.0), (160, 4.0), (300, 8.0)]
        self.assertEqual(yardstick.factor(130, 131), 1.5)

    def test_its_work_takes_pages_and_starts_programs(self):
        """Not arithmetic alone, which says nothing of either."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        Yardstick(1.0).measure()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertGreater(after.ru_minflt - before.ru_minflt, 20 * 4096 + 300 * 50)

    def test_without_a_sample(self):
        self.assertEqual(Yardstick(2.0).factor(0, 1), 1)

    def test_it_measures_beside_the_parts(self):
        yardstick = Yardstick(1.0)
        deadline = time.monotonic() + 60
        while not yardstick.samples and time.monotonic() < deadline:
            yardstick.tick()
            time.sleep(0.05)
        self.assertEqual(len(yardstick.samples), 1)
        self.assertGreater(yardstick.samples[0][1], 0.1)
        yardstick.tick()
        self.assertIsNone(yardstick.child)  # the next one is a minute away

    def test_nothing_is_measured_without_a_reference(self):
        yardstick = Yardstick(0)
        yardstick.tick()
        self.assertIsNone(yardstick.child)
