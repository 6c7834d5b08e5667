# SPDX-License-Identifier: MIT
"""ci/demo: the main job in a virtual machine, or two jobs on one GPU, or in its VRAM. The last line is PASS: ... or FAIL: ..."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Callable

from . import builds, timeline, two_jobs
from .builds import BuildReader
from .engine import Engine
from .jobs import Job
from .main import follow
from .paths import REPO, VM
from .progress import Display

PASS = {
    "demo": re.compile(r"PASS: stopped at iteration \d+, held 2 s without progress, resumed, checksum ok"),
    "demo-yield": re.compile(r"PASS: two jobs of \d+ and \d+ MiB of VRAM took turns, every word of both is right"),
}
# 256 MiB of VRAM are soon filled.
BOOT_OPTIONS = {"demo-yield": ["--param", "vramlimit=256"]}


class BootReader(BuildReader):
    text = "starting"

    def line(self, text: str) -> None:
        if "amdgpu ready" in text:
            self.text = ""


def measurement(line: str) -> str | None:
    return None if line.startswith("@") else line


def boot(words: list[str], out: Path, rocm: bool = False) -> list[str]:
    """The command that boots the guest as it is built and runs a program in it with arguments."""
    options = [*(["--rocm"] if rocm else []), *BOOT_OPTIONS.get(words[0], [])]
    return [str(VM / "run"), "--no-build", "--named", *options, "--timeout", "900" if rocm else "300", "--out", str(out), "--", *words]


def in_guest(words: list[str], build: Path, shown: Callable[[str], str | None], rocm: bool = False) -> int:
    """Builds the guest and runs the program in it; prints the reason if that failed."""
    logs = build / "logs" / words[0]
    shutil.rmtree(logs, ignore_errors=True)
    machine = Job(
        "virtual machine",
        boot(words, logs / "boot", rocm),
        BootReader(),
        logs / "boot.log",
        {"guest"},
        {**os.environ, "BUILD_DIR": str(build)},
        is_build=True,
        shown=shown,
    )
    jobs = builds.jobs(logs, build, demo=True, rocm=rocm)
    engine = Engine([*jobs, machine], slots=4, display=Display())
    status = follow(engine)
    if status or engine.failed_build:
        what = engine.failed_build.name if engine.failed_build else "the run"
        print(f"FAIL: {what} did not succeed; the logs are in {logs}")
        return status or 1
    return 0


def output(boot_directory: Path) -> list[str]:
    """The lines of the program in the guest; a verdict counts only there."""
    path = boot_directory / "output.log"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def passed(name: str, lines: list[str]) -> str | None:
    """The line that reports success, or None."""
    return next((line for line in lines if PASS[name].fullmatch(line)), None)


def one(name: str, build: Path) -> int:
    # The verdict is left out: it is the last line of all.
    if status := in_guest([name], build, lambda line: None if line.startswith("PASS: ") else line):
        return status
    logs = build / "logs" / name
    line = passed(name, output(logs / "boot"))
    print(line or f"FAIL: the guest did not report success; the logs are in {logs}")
    return int(line is None)


def two(build: Path, modes: list[str]) -> int:
    if status := in_guest(["two-jobs", *modes], build, measurement, rocm=True):
        return status
    logs = build / "logs" / "two-jobs"
    summary = json.loads((logs / "boot" / "vgpu.json").read_text())
    measured = two_jobs.read(output(logs / "boot"), summary)
    picture = logs / "timeline.svg"
    picture.write_text(timeline.svg(measured))
    print(f"\n{two_jobs.table(measured)}\n\ntimeline: {picture}")
    verdict = two_jobs.verdict(measured)
    print(verdict)
    return int(not verdict.startswith("PASS: "))


def main() -> int:
    build = Path(os.environ.get("BUILD_DIR", REPO / "build/test")).absolute()
    words = sys.argv[1:]
    if words[:1] == ["two-jobs"]:
        return two(build, words[1:])
    return one("demo-yield" if words == ["yield"] else "demo", build)


if __name__ == "__main__":
    sys.exit(main())
