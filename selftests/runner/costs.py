# SPDX-License-Identifier: MIT
"""The costs of the parts of a run, compared with the budget or written as the new one."""

from pathlib import Path
from statistics import mean
from typing import Iterable

from . import budget
from .budget import Budget
from .engine import Engine
from .jobs import Job, Process
from .results import Result
from .yardstick import Yardstick


# The suite that has other boots each day: none of them has a budget of its own.
ROTATION = "rotation/"


class Costs:
    def __init__(self, logs: Path, measures: bool):
        """measures: the costs become the budget, and nothing is judged."""
        self.logs, self.measures = logs, measures
        self.budget = Budget.read()
        self.yardstick = Yardstick(self.budget.yardstick_s or (1 if measures else 0))
        self.counts: dict[str, int] = {}
        self.sum_s = 0.0

    def used_s(self, process: Process) -> float:
        """CPU seconds of the reference machine."""
        return process.cpu_s / self.yardstick.factor(process.began, process.began + process.wall_s)

    def to_repeat(self, processes: Iterable[Process]) -> list[str]:
        """Parts that took too many CPU seconds. A build cannot be repeated: it is there then."""
        if self.measures:
            return []
        return [
            process.job.name
            for process in ran(processes)
            if not process.job.is_build
            and all(result.passed for result in process.job.reader.results)  # a failure must not be repeated away
            and process.job.name in self.budget.parts
            and self.used_s(process) > self.budget.allowed_s(process.job.name)
        ]

    def alone(self, engine: Engine, names: list[str]) -> None:
        """One after the other, each beside nothing but a yardstick before and after it."""
        for name in names:
            self.yardstick.measure()
            engine.again([name], 1)
            self.yardstick.measure()

    def judge(self, processes: Iterable[Process], every: list[Job], build: Path) -> list[Result]:
        """The costs above the budget, as failures. With `measures` there are none, and the budget is written."""
        if self.measures and not self.budget.yardstick_s:
            # The first measurement makes this machine the reference.
            self.yardstick.reference_s = mean(seconds for _, seconds in self.yardstick.samples)
        self.counts = budget.counts([job for job in every if not job.name.startswith(ROTATION)], build, self.logs)
        costs = {process.job.name: (process, self.used_s(process)) for process in ran(processes)}
        self.sum_s = sum(used_s for _, used_s in costs.values())
        if self.measures:
            self.measured(costs)
            return []
        names = [name for name in costs if not name.startswith(ROTATION)]
        results = [each for name in names for each in self.budget.judge(name, costs[name][1])]
        return [*self.budget.judge_counts(self.counts), *results, *self.budget.judge_sum(self.sum_s)]

    def measured(self, costs: dict[str, tuple[Process, float]]) -> None:
        """Writes the budget. Of a build the larger value stays: most runs find it in the cache."""
        new = self.budget
        new.yardstick_s = self.yardstick.reference_s
        new.counts |= self.counts
        for name, (process, used_s) in costs.items():
            if name.startswith(ROTATION) or not all(result.passed for result in process.job.reader.results):
                continue
            if process.job.is_build and new.parts.get(name, 0) > used_s:
                continue
            new.parts[name] = used_s
        new.sum_s = sum(new.parts.values())
        new.write()
        print(f"written: {budget.FILE}")

    def text(self, process: Process) -> str:
        return "" if process.before else self.budget.text(process.job.name, self.used_s(process))

    def lines(self) -> list[str]:
        """Used and allowed, of the run as a whole."""
        if self.measures:
            return []
        counts = [f"{count} of {self.budget.counts.get(name, 0)} {name}" for name, count in self.counts.items()]
        return [f"{self.sum_s:.0f} of {self.budget.sum_s * budget.ROOM:.0f} CPU s", *counts]


def ran(processes: Iterable[Process]) -> list[Process]:
    """Those whose result was not kept."""
    return [process for process in processes if not process.before]
