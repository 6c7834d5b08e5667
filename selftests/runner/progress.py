# SPDX-License-Identifier: MIT
"""How far a run is. A terminal gets one line that is rewritten, a log one line a minute."""

import os
import shutil
import sys
import time

from .jobs import Process
from .results import Result


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

    def draw(self, running: list[Process]) -> None:
        now = time.monotonic()
        if not running or (not self.live and now < self.next):
            return
        text = "; ".join(f"{each.job.name} ... {self.how_far(each, now - each.began)}" for each in running)
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
