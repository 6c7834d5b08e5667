# SPDX-License-Identifier: MIT
"""Jobs of a run: each is a command, a reader of what it prints, and the jobs it waits for."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Protocol

from .boots import Boot
from .paths import REPO
from .results import Result


class Reader(Protocol):
    results: list[Result]

    def line(self, text: str) -> None: ...

    def end(self, status: int) -> None: ...

    def so_far(self) -> str: ...


@dataclass
class Job:
    name: str
    command: list[str]
    reader: Reader
    log: Path
    needs: set[str] = field(default_factory=set)
    environment: dict[str, str] | None = None
    # A boot in this suite of ROCm: the suite and the boot, or nothing.
    rocm: tuple[str, Boot] | None = None
    # A build: without it there is nothing to test, so its failure ends the run.
    is_build: bool = False
    # The run prints it before the job begins.
    note: str = ""
    # Returns the text to display for a line that the job prints, or None.
    shown: Callable[[str], str | None] = lambda text: None
    # Its processes leave the records of their boots here, if its result may be kept (passed.py).
    records: Path | None = None
    # It runs although its result is kept.
    again: bool = False


class Process:
    """One job as it runs, in a process group of its own: one signal reaches all of it."""

    def __init__(self, job: Job):
        self.job = job
        self.began = time.monotonic()
        self.partial = b""
        job.log.parent.mkdir(parents=True, exist_ok=True)
        self.log = job.log.open("wb")
        self.child = subprocess.Popen(
            job.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=job.environment,
            cwd=REPO,
            bufsize=0,
        )
        assert self.child.stdout
        self.pipe = self.child.stdout
        os.set_blocking(self.pipe.fileno(), False)
        self.cpu_s = 0.0
        self.wall_s = 0.0
        # When its oldest kept output was printed, if it has any.
        self.before: float | None = None

    def read(self) -> list[str]:
        """New whole lines. What follows the last newline waits for its rest."""
        lines: list[str] = []
        while data := self.read_some():
            self.log.write(data)
            *whole, self.partial = (self.partial + data).split(b"\n")
            lines += [each.decode(errors="replace").rstrip("\r") for each in whole]
        self.log.flush()
        return lines

    def read_some(self) -> bytes | None:
        try:
            return self.pipe.read(1 << 16)
        except BlockingIOError:
            return None

    def ended(self) -> int | None:
        """The exit status as a shell gives it, or None while the command runs."""
        pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
        if not pid:
            return None
        self.wall_s = time.monotonic() - self.began
        self.cpu_s = usage.ru_utime + usage.ru_stime
        code = os.waitstatus_to_exitcode(status)
        self.child.returncode = code
        return code if code >= 0 else 128 - code

    def close(self) -> list[str]:
        """The last lines, also the one without a newline."""
        lines = self.read()
        if self.partial:
            lines.append(self.partial.decode(errors="replace"))
        self.pipe.close()
        self.log.close()
        return lines

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def group_runs(self) -> bool:
        """Whether a process of the group runs. Zombies do not: some containers never reap them."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if int(group) == self.child.pid and state != "Z":
                return True
        return False


def stop(processes: list[Process], patience_s: float = 10) -> None:
    """Ends them: SIGTERM, and SIGKILL for what still runs after a while."""
    processes = [process for process in processes if process.group_runs()]
    for process in processes:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    for process in processes:
        while process.group_runs():
            if time.monotonic() > deadline:
                process.signal(signal.SIGKILL)
                break
            process.read()  # a full pipe must not keep it from ending
            time.sleep(0.05)
        process.child.poll()
