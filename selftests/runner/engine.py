# SPDX-License-Identifier: MIT
"""Runs jobs: as many beside each other as there is room for, each after what it needs."""

import selectors
from copy import deepcopy
from dataclasses import replace
from typing import Iterable

from . import interrupts
from .jobs import Job, Process, stop
from .keeper import Keeper
from .progress import Display, Plan
from .results import Result
from .yardstick import Yardstick


class Engine:
    def __init__(self, jobs: Iterable[Job], slots: int, display: Display, keeper: Keeper | None = None, yardstick: Yardstick | None = None):
        self.waiting = list(jobs)
        self.jobs = {job.name: job for job in self.waiting}
        self.keeper, self.yardstick = keeper, yardstick
        self.slots = slots
        self.display = display
        self.running: list[Process] = []
        self.done: dict[str, Process] = {}
        self.failed_build: Job | None = None
        self.selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Until every job has ended, or a build has failed. Leaves no process behind."""
        known = {job.name for job in self.waiting}
        for job in self.waiting:
            job.needs &= known
        try:
            while (self.waiting or self.running) and not self.failed_build:
                interrupts.check()
                if self.yardstick:
                    self.yardstick.tick()
                self.start()
                self.read(timeout_s=0.2)
                self.reap()
                self.display.draw(self.running, self.plan())
        finally:
            self.display.clear()
            stop(self.running)
            if self.yardstick:
                self.yardstick.finish()
            for process in self.running:
                process.close()

    def again(self, names: Iterable[str], slots: int) -> None:
        """Runs parts once more; their new results replace the old ones."""
        self.waiting, self.slots = [replace(self.jobs[name], again=True) for name in names], slots
        self.run()

    def plan(self) -> Plan:
        costs = self.keeper.costs if self.keeper else {}
        return Plan.of(self.waiting, self.running, self.done, costs, self.slots)

    def start(self) -> None:
        for job in list(self.waiting):
            if len(self.running) >= self.slots:
                return
            if job.needs <= self.done.keys():
                self.waiting.remove(job)
                process = Process(self.prepared(job))
                self.running.append(process)
                self.selector.register(process.pipe, selectors.EVENT_READ, process)

    def prepared(self, job: Job) -> Job:
        """With a reader of its own, because it may run once more."""
        if not self.keeper:
            return job
        return self.keeper.begin(replace(job, reader=deepcopy(job.reader)))

    def read(self, timeout_s: float) -> None:
        for key, _ in self.selector.select(timeout_s):
            process: Process = key.data
            self.give(process, process.read())

    def give(self, process: Process, lines: list[str]) -> None:
        for line in lines:
            process.job.reader.line(line)
            if (shown := process.job.shown(line)) is not None:
                self.display.line(shown)

    def reap(self) -> None:
        for process in list(self.running):
            status = process.ended()
            if status is None:
                continue
            self.running.remove(process)
            self.selector.unregister(process.pipe)
            self.give(process, process.read())
            # End the processes that the job left behind.
            stop([process])
            self.give(process, process.close())
            job = process.job
            job.reader.end(status)
            if self.keeper and not self.keeper.end(process):
                self.display.say(f"{job.name}: the kept output does not pass now; it runs again")
                self.waiting.insert(0, replace(self.jobs[job.name], again=True))
                continue
            self.done[job.name] = process
            self.display.ended(process, status)
            if job.is_build and any(not result.passed for result in job.reader.results):
                self.failed_build = job

    def results(self) -> list[Result]:
        return [result for process in self.done.values() for result in process.job.reader.results]
