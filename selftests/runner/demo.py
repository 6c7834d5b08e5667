# SPDX-License-Identifier: MIT
"""ci/demo: the main job in a virtual machine, or two jobs on one GPU, or in its VRAM. The last line is PASS: ... or FAIL: ..."""

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


class BootReader(BuildReader):
    text = "starting"

    def line(self, text: str) -> None:
        if "amdgpu ready" in text:
            self.text = ""


def measurement(line: str) -> str | None:
    return None if line.startswith("@") else line


def in_guest(
    name: str, command: list[str], build: Path, shown: Callable[[str], str | None], rocm: bool = False, boot_options: tuple[str, ...] = ()
) -> int:
    """Builds the guest and runs the command in it; says why when that failed."""
    logs = build / "logs" / name
    shutil.rmtree(logs, ignore_errors=True)
    options = ["--no-build", "--named", *(["--rocm"] if rocm else []), *boot_options, "--out", str(logs / "boot")]
    boot = Job(
        "virtual machine",
        [str(VM / "run"), *options, "--timeout", "900" if rocm else "300", "--", *command],
        BootReader(),
        logs / "boot.log",
        {"guest"},
        {**os.environ, "BUILD_DIR": str(build)},
        is_build=True,
        shown=shown,
    )
    jobs = builds.jobs(logs, build, demo=True, rocm=rocm)
    engine = Engine([*jobs, boot], slots=4, display=Display())
    status = follow(engine)
    if status or engine.failed_build:
        what = engine.failed_build.name if engine.failed_build else "the run"
        print(f"FAIL: {what} did not succeed; the logs are in {logs}")
        return status or 1
    return 0


def output(build: Path, name: str) -> list[str]:
    """What the program in the guest said; only this counts."""
    path = build / "logs" / name / "boot" / "output.log"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def one(name: str, build: Path, *boot_options: str) -> int:
    # The verdict is left out: it is the last line of all.
    if status := in_guest(name, [name], build, lambda line: None if line.startswith("PASS: ") else line, boot_options=boot_options):
        return status
    for line in output(build, name):
        if PASS[name].fullmatch(line):
            print(line)
            return 0
    print(f"FAIL: the guest did not report success; the logs are in {build / 'logs' / name}")
    return 1


def two(build: Path, words: list[str]) -> int:
    if status := in_guest("two-jobs", ["two-jobs", *words], build, measurement, rocm=True):
        return status
    modes = two_jobs.read(output(build, "two-jobs"))
    picture = build / "logs" / "two-jobs" / "timeline.svg"
    picture.write_text(timeline.svg(modes))
    print(f"\n{two_jobs.table(modes)}\n\ntimeline: {picture}")
    verdict = two_jobs.verdict(modes)
    print(verdict)
    return int(not verdict.startswith("PASS: "))


def main() -> int:
    build = Path(os.environ.get("BUILD_DIR", REPO / "build/dev")).absolute()
    words = sys.argv[1:]
    if words[:1] == ["two-jobs"]:
        return two(build, words[1:])
    # 256 MiB of VRAM are soon filled.
    return one("demo-yield", build, "--param", "vramlimit=256") if words == ["yield"] else one("demo", build)


if __name__ == "__main__":
    sys.exit(main())
