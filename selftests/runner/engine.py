# SPDX-License-Identifier: MIT
"""Runs jobs: as many beside each other as there is room for, each after what it needs."""

import selectors
from typing import Iterable

from . import interrupts
from .jobs import Job, Process, stop
from .progress import Display
from .results import Result


class Engine:
    def __init__(self, jobs: Iterable[Job], slots: int, display: Display):
        self.waiting = list(jobs)
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
                self.start()
                self.read(timeout_s=0.2)
                self.reap()
                self.display.draw(self.running)
        finally:
            self.display.clear()
            stop(self.running)
            for process in self.running:
                process.close()

    def start(self) -> None:
        for job in list(self.waiting):
            if len(self.running) >= self.slots:
                return
            if job.needs <= self.done.keys():
                self.waiting.remove(job)
                process = Process(job)
                self.running.append(process)
                self.selector.register(process.pipe, selectors.EVENT_READ, process)

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
            self.done[job.name] = process
            self.display.ended(process, status)
            if job.is_build and any(not result.passed for result in job.reader.results):
                self.failed_build = job

    def results(self) -> list[Result]:
        return [result for process in self.done.values() for result in process.job.reader.results]
