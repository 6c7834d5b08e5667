# SPDX-License-Identifier: MIT
"""The suites: which jobs they are."""

import os
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Callable

from . import boots, rotation
from .boots import Boot
from .errors import Refusal
from .jobs import Job
from .paths import REPO, ROCM_SUITE
from .results import BootReader, CtestReader, TapReader


class Suites:
    def __init__(self, build: Path, logs: Path, kernel: list[str] | None = None, kept: bool = False):
        """kept: what passes is kept, and what was kept is not run again."""
        self.build, self.logs, self.kernel, self.kept = build, logs, kernel or [], kept
        self.table = Path()
        self.environment = {**os.environ, "BUILD_DIR": str(build), "LOG_DIR": str(logs)}

    def read(self, path: Path) -> dict[str, dict]:
        self.table = path
        try:
            return tomllib.loads(path.read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Refusal(f"--suites {path}: {error}") from error

    def jobs(self, name: str, suite: dict, wanted: Callable[[str, Boot], Boot | None]) -> list[Job]:
        """The jobs of one suite: one of its command, or one of each boot that is wanted."""
        needs = set(suite.get("needs", []))
        if "boots" in suite:
            found, note = self.boots(suite)
            some = [wanted(name, self.on_gpu(suite, boot)) for boot in found]
            return [self.boot(name, boot, needs, suite.get("rocm_suite", ""), note) for boot in some if boot]
        command = shlex.split(suite["command"].replace("$BUILD_DIR", str(self.build)))
        if "inputs" in suite:
            command = [str(REPO / "selftests/runner/run-suite"), str(self.table.absolute()), name]
        reader = CtestReader() if suite.get("ctest") else TapReader()
        log = self.logs / f"{name}.log"
        return [Job(name, command, reader, log, needs, self.environment, records=self.records(name))]

    def records(self, name: str) -> Path | None:
        return self.logs / "records" / name.replace("/", "-") if self.kept else None

    def boots(self, suite: dict) -> tuple[list[Boot], str]:
        """The boots of a suite, and what to say of them."""
        tables, rotated = ([REPO / each for each in suite.get(key, [])] for key in ("boots", "rotation"))
        found = boots.load(tables, rotated)
        if not rotated:
            return found, ""
        boot, note = rotation.of_day(found, rotation.day())
        return [boot], note

    def on_gpu(self, suite: dict, boot: Boot) -> Boot:
        return replace(boot, gpu=suite["gpu"]) if "gpu" in suite else boot

    def boot(self, suite: str, boot: Boot, needs: set[str], rocm_suite: str = "", note: str = "") -> Job:
        out = self.logs / f"{suite}-{boot.name}"
        log = self.logs / f"{suite}-{boot.name}.log"
        rocm = rocm_suite or ROCM_SUITE
        command = boots.checked(boot, boots.command(boot, out, self.build, self.kernel, rocm))
        # When the runner is killed, a boot still takes its guest down.
        command = ["setpriv", "--pdeathsig", "TERM", "--", *command]
        environment = {**self.environment, "OUTPUT": str(out / "output.log"), "SUMMARY": str(out / "vgpu.json")}
        environment["ROCM_SUITE"] = rocm
        if rocm_suite:
            needs = {f"{need}-{rocm_suite}" if need in ("rocm", "hip") else need for need in needs}
        reader = BootReader(boot.name, [*boot.run, *boot.check], boot.must_fail)
        name = f"{suite}/{boot.name}"
        hip = (rocm, boot) if boot.rocm else None
        return Job(name, command, reader, log, needs, environment, rocm=hip, records=self.records(name), note=note)

