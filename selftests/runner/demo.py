# SPDX-License-Identifier: MIT
"""ci/demo: the main job in a virtual machine. The last line is PASS: ... or FAIL: ..."""

import os
import re
import shutil
import sys
from pathlib import Path

from . import builds
from .builds import BuildReader
from .engine import Engine
from .jobs import Job
from .main import follow
from .paths import REPO, VM
from .progress import Display

PASS = re.compile(r"PASS: stopped at iteration \d+, held 2 s without progress, resumed, checksum ok")


class BootReader(BuildReader):
    text = "starting"

    def line(self, text: str) -> None:
        if "amdgpu ready" in text:
            self.text = ""


def main() -> int:
    build = Path(os.environ.get("BUILD_DIR", REPO / "build/dev")).absolute()
    logs = build / "logs" / "demo"
    shutil.rmtree(logs, ignore_errors=True)
    boot = Job(
        "virtual machine",
        [str(VM / "run"), "--no-build", "--out", str(logs / "boot"), "--timeout", "300", "--", "demo"],
        BootReader(),
        logs / "boot.log",
        {"guest"},
        {**os.environ, "BUILD_DIR": str(build)},
        is_build=True,
        # The verdict is left out: it is the last line of all.
        shown=lambda line: None if line.startswith("PASS: ") else line,
    )
    engine = Engine([*builds.jobs(logs, build, demo=True), boot], slots=4, display=Display())
    status = follow(engine)
    if status or engine.failed_build:
        what = engine.failed_build.name if engine.failed_build else "the run"
        print(f"FAIL: {what} did not succeed; the logs are in {logs}")
        return status or 1
    # Only what the program in the guest said counts, and only this.
    output = logs / "boot" / "output.log"
    for line in output.read_text(errors="replace").splitlines() if output.exists() else []:
        if PASS.fullmatch(line):
            print(line)
            return 0
    print(f"FAIL: the guest did not report success; the logs are in {logs}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
