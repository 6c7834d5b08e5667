# SPDX-License-Identifier: MIT
"""The costs of the parts of a run, compared with the budget or written as the new one."""

from pathlib import Path
from statistics import mean
from typing import Iterable

from . import budget
from .budget import Budget, Cost
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

    def cost(self, process: Process) -> Cost:
        factor = self.yardstick.factor(process.began, process.began + process.wall_s)
        return budget.cost_of(process, factor, self.logs)

    def judges(self) -> bool:
        return not self.measures and not self.budget.is_empty()

    def to_repeat(self, processes: Iterable[Process]) -> list[str]:
        """Parts that took too many CPU seconds. A build cannot be repeated: it is there then."""
        if not self.judges():
            return []
        return [
            process.job.name
            for process in ran(processes)
            if not process.job.is_build
            and all(result.passed for result in process.job.reader.results)  # a failure must not be repeated away
            and process.job.name in self.budget.parts
            and self.cost(process).cpu_s > self.budget.parts[process.job.name].allowed("cpu_s")
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
        costs = {process.job.name: (process, self.cost(process)) for process in ran(processes)}
        self.sum_s = sum(cost.cpu_s for _, cost in costs.values())
        if self.measures:
            self.measured(costs)
            return []
        if not self.judges():
            return []
        names = [name for name in costs if not name.startswith(ROTATION)]
        results = [each for name in names for each in self.budget.judge(name, costs[name][1])]
        return [*self.budget.judge_counts(self.counts), *results, *self.budget.judge_sum(self.sum_s)]

    def measured(self, costs: dict[str, tuple[Process, Cost]]) -> None:
        """Writes the budget. Of a build the larger value stays: most runs find it in the cache."""
        new = self.budget
        new.yardstick_s = self.yardstick.reference_s
        new.counts |= self.counts
        for name, (process, cost) in costs.items():
            if name.startswith(ROTATION) or not all(result.passed for result in process.job.reader.results):
                continue
            before = new.parts.get(name)
            if process.job.is_build and before and before.cpu_s > cost.cpu_s:
                continue
            new.parts[name] = cost
        new.sum_s = sum(cost.cpu_s for cost in new.parts.values())
        new.write()
        print(f"written: {budget.FILE}")

    def text(self, process: Process) -> str:
        return "" if process.before else self.budget.text(process.job.name, self.cost(process))

    def lines(self) -> list[str]:
        """Used and allowed, of the run as a whole."""
        if not self.judges():
            return []
        counts = [f"{count} of {self.budget.counts.get(name, 0)} {name}" for name, count in self.counts.items()]
        return [f"{self.sum_s:.0f} of {self.budget.sum_s * budget.CPU_ROOM:.0f} CPU s", *counts]


def ran(processes: Iterable[Process]) -> list[Process]:
    """Those whose result was not kept."""
    return [process for process in processes if not process.before]
