# SPDX-License-Identifier: MIT
"""How far a run is. A terminal gets one line that is rewritten, a log one line a minute."""

import os
import shutil
import sys
import time
from dataclasses import dataclass
from typing import Iterable, Mapping

from .jobs import Job, Process
from .passed import date
from .results import BootReader, Result


@dataclass
class Plan:
    """How far a run is: which of its boots runs, and how long the rest takes if that is known."""

    boots: int = 0
    boot: int = 0
    left_s: float | None = None

    @classmethod
    def of(
        cls,
        waiting: Iterable[Job],
        running: Iterable[Process],
        done: Mapping[str, Process],
        costs: Mapping[str, float],
        slots: int,
    ) -> "Plan":
        now = time.monotonic()
        begun = [*(process.job for process in running), *(process.job for process in done.values())]
        boot = sum(isinstance(job.reader, BootReader) for job in begun)
        later = [job for job in waiting if job.name not in done]
        boots = boot + sum(isinstance(job.reader, BootReader) for job in later)
        names = [job.name for job in later]
        if not all(name in costs for name in [*names, *(process.job.name for process in running)]):
            return cls(boots, boot)
        left = sum(costs[name] for name in names)
        left += sum(max(0.0, costs[process.job.name] - (now - process.began)) for process in running)
        return cls(boots, boot, left / slots)

    def __str__(self) -> str:
        words = [f"boot {self.boot} of {self.boots}"] if self.boot else []
        words += [f"about {self.left_s / 60:.0f} min"] if self.left_s is not None and self.left_s >= 60 else []
        return ", ".join(words)


class Display:
    # How much of a failed job's log is shown.
    LINES = 40

    def __init__(self, interval_s: float | None = None):
        self.began = time.monotonic()
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.interval_s = interval_s or float(os.environ.get("PROGRESS_INTERVAL", "60"))
        self.next = self.began + self.interval_s
        self.drawn = False

    def clear(self) -> None:
        if self.drawn:
            print("\r\033[K", end="", flush=True)
        self.drawn = False

    def line(self, text: str) -> None:
        self.clear()
        print(text, flush=True)

    def say(self, text: str) -> None:
        self.line(f"{self.clock()} {text}")

    def clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        return f"[{minutes:2}:{seconds:02}]"

    def draw(self, running: list[Process], plan: Plan | None = None) -> None:
        now = time.monotonic()
        if not running or (not self.live and now < self.next):
            return
        text = "; ".join(f"{each.job.name} ... {self.how_far(each, now - each.began)}" for each in running)
        if plan and str(plan):
            text = f"{plan}; {text}"
        if not self.live:
            self.next = now + self.interval_s
            self.say(text)
            return
        width = shutil.get_terminal_size().columns
        print(f"\r{f'{self.clock()} {text}'[: width - 1]}\033[K", end="", flush=True)
        self.drawn = True

    @staticmethod
    def how_far(process: Process, seconds: float) -> str:
        text = process.job.reader.so_far()
        return f"{text}, {seconds:.0f} s" if text else f"{seconds:.0f} s"

    def ended(self, process: Process, status: int) -> None:
        failed = [result for result in process.job.reader.results if not result.passed]
        text = f"{process.job.name}: {self.how_far(process, process.wall_s)}"
        if process.before and not failed:
            passed = len(process.job.reader.results)
            text = f"{process.job.name}: {passed} passed before ({date(process.before)}, the same inputs)"
        self.say(f"{text}, failed with status {status}" if failed and status else text)
        if failed:
            self.show(process, failed)

    def show(self, process: Process, failed: list[Result]) -> None:
        for result in failed:
            self.line(f"not ok - {result.name}" + (f" ({result.why})" if result.why else ""))
        self.line(f"--- the end of {process.job.log}")
        lines = process.job.log.read_text(errors="replace").splitlines()
        for line in lines[-self.LINES :]:
            self.line(line)
        self.line("---")
