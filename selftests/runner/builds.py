# SPDX-License-Identifier: MIT
"""The builds that tests need, and how far each is from what it prints."""

import os
import re
from pathlib import Path

from .hip import Needs
from .jobs import Job
from .paths import REPO, ROCM_SUITE, VM, cache
from .results import Result


class BuildReader:
    """A build that ends with a status other than 0 has failed; one that has not is no test."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.text = ""

    def line(self, text: str) -> None:
        pass

    def so_far(self) -> str:
        return self.text

    def end(self, status: int) -> None:
        if status:
            self.results.append(Result("the build", False, f"ended with status {status}"))


class PackagesReader(BuildReader):
    """apt-get's lines, as counts."""

    total = fetched = ready = 0

    def line(self, text: str) -> None:
        if found := re.match(r"\d+ upgraded, (\d+) newly installed", text):
            self.total = int(found[1])
        self.fetched += text.startswith("Get:") and self.total > 0
        self.ready += text.startswith("Setting up ")
        if self.total:
            self.text = f"{self.fetched} of {self.total} packages downloaded, {self.ready} installed"


class DownloadReader(BuildReader):
    def line(self, text: str) -> None:
        if found := re.match(r"[a-z-]*: ((?:downloading|unpacking) \S*)", text):
            self.text = found[1]


class NinjaReader(BuildReader):
    """ninja's [N/M]. A warning of the compiler fails the build: nothing else would show it."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self.total = 0

    def line(self, text: str) -> None:
        # The build asks ninja twice: what is there already is not news.
        if (found := re.match(r"\[(\d+)/(\d+)\] ", text)) and int(found[2]) >= self.total:
            self.total = int(found[2])
            self.text = f"{found[1]} of {found[2]} steps"
        if re.search(r"^\S+:\d+:\d+: warning: ", text):
            self.warnings.append(text)

    def end(self, status: int) -> None:
        super().end(status)
        self.results += [Result(each, False) for each in self.warnings]


class DriverReader(BuildReader):
    def line(self, text: str) -> None:
        if found := re.match(r"test-module: ((?:compiling|linking|building) .*)", text):
            self.text = found[1]


def about_module(text: str) -> str | None:
    """The line that says what the tested amdgpu.ko is made of is displayed."""
    return text if text.startswith("module: ") else None


# All of the programs, the unit tests too; selftests/vm/build has those that are made by make.
PROGRAMS = f"""
cmake -S {REPO} --preset test -B "$BUILD_DIR" -DBUILD_TESTING=ON -DXPREEMPT_ALL_TESTS=ON
cmake --build "$BUILD_DIR"
{VM}/build --rocm programs
"""

HIP = str(REPO / "libxpreempt/tests/guest/build")

# Beside forky's ROCm, which `guest` has. A boot with one of these needs `rocm-SUITE` and `hip-SUITE` where
# another needs `rocm` and `hip`.
ROCM_SUITES = (
    "bookworm",
    "experimental",
    "experimental+libraries",
    "experimental+llama",
    "forky+libraries",
)


def jobs(logs: Path, build: Path, demo: bool = False, rocm: bool = True, hip: dict[str, Needs] | None = None) -> list[Job]:
    """In the order in which they may begin. A demo needs no package of the tests, and may need no ROCm.

    hip: of each suite of ROCm the HIP programs to compile; without, all.
    """
    what = [*(["--demo"] if demo else []), *(["--rocm"] if rocm else [])]
    environment = {**os.environ, "BUILD_DIR": str(build), **compiler_cache()}

    def job(name: str, command: list[str], reader: BuildReader, *needs: str, suite: str = "") -> Job:
        chosen = hip[suite].environment() if hip and suite in hip else {}
        return Job(name, command, reader, logs / f"{name}.log", set(needs), {**environment, **chosen}, is_build=True)

    def stage(name: str, reader: BuildReader, *needs: str, suite: str = "") -> Job:
        return job(name, [str(VM / "build"), *what, name], reader, *needs, suite=suite)

    packages = job("packages", [str(REPO / "ci/deps"), *(["--demo"] if demo else [])], PackagesReader())
    rest = [
        stage("programs", NinjaReader(), "packages"),
        stage("download", DownloadReader(), "packages"),
        stage("driver", DriverReader(), "packages"),
        stage("guest", BuildReader(), "programs", "download", "driver", suite=ROCM_SUITE),
    ]
    if not demo:
        rest[0].command = ["/bin/bash", "-euc", PROGRAMS]
        rest.append(job("hip", [HIP], BuildReader(), "programs", "download", suite=ROCM_SUITE))
        for suite in ROCM_SUITES:
            rocm = ["/usr/bin/env", f"ROCM_SUITE={suite}"]
            command = [*rocm, str(VM / "build"), "--rocm", "download", "rocm"]
            rest.append(job(f"rocm-{suite}", command, DownloadReader(), "guest", suite=suite))
            rest.append(job(f"hip-{suite}", [*rocm, HIP], BuildReader(), f"rocm-{suite}", suite=suite))
    rest[2].shown = about_module
    return [packages, *rest]


def compiler_cache() -> dict[str, str]:
    """Variables by which ccache finds in a clone the objects of an earlier one."""
    return {
        "CMAKE_C_COMPILER_LAUNCHER": "ccache",
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(cache() / "ccache")),
        "CCACHE_BASEDIR": str(REPO),
        "CCACHE_NOHASHDIR": "1",
    }
