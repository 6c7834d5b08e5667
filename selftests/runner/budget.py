# SPDX-License-Identifier: MIT
"""Compares the measured costs of a run with selftests/budget.toml."""

import math
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable

from . import hip
from .digests import write
from .errors import Refusal
from .jobs import Job
from .paths import REPO
from .results import BootReader, Result

FILE = REPO / "selftests" / "budget.toml"

# Room for differences between two runs of the same part. Counts of the run have none. MMIO accesses and wave
# instructions of a boot are no ceilings: with the load of the machine they doubled where a job spins or a wait polls.
ROOM = 1.5
# The load of the machine moves the shortest parts by more than their half.
LEAST_ROOM_S = 5

HEADER = """\
# SPDX-License-Identifier: MIT
# The costs that ci/test may have; above them the run fails. Written by selftests/run --budget, judged by runner/budget.py.
#   yardstick  CPU seconds that runner/yardstick.py took when the parts were measured
#   counts     exact, the same on every machine
#   sums       CPU seconds of all parts together
#   parts      CPU seconds of each part on that machine; half of them is room
"""


@dataclass
class Budget:
    yardstick_s: float = 0
    counts: dict[str, int] = field(default_factory=dict)
    sum_s: float = 0
    parts: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None = None) -> "Budget":
        path = path or FILE
        try:
            table = tomllib.loads(path.read_text())
            return cls(
                table.get("yardstick", {}).get("cpu_s", 0),
                table.get("counts", {}),
                table.get("sums", {}).get("cpu_s", 0),
                {name: float(cpu_s) for name, cpu_s in table.get("parts", {}).items()},
            )
        except FileNotFoundError:
            return cls()
        except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
            raise Refusal(f"{path}: {error}") from error

    def write(self) -> None:
        lines = [HEADER, "[yardstick]", f"cpu_s = {self.yardstick_s:.2f}", "", "[counts]"]
        lines += [f'"{name}" = {count}' for name, count in self.counts.items()]
        lines += ["", "[sums]", f"cpu_s = {math.ceil(self.sum_s)}", "", "[parts]"]
        lines += [f'"{name}" = {math.ceil(cpu_s)}' for name, cpu_s in sorted(self.parts.items())]
        write(FILE, "\n".join(lines) + "\n")

    def judge_counts(self, measured: dict[str, int]) -> list[Result]:
        results = []
        for name, count in measured.items():
            if name not in self.counts:
                results.append(missing(f"the number of {name}"))
            elif count > self.counts[name]:
                results.append(Result(f"no more than {self.counts[name]} {name}", False, f"there are {count}"))
        return results

    def allowed_s(self, name: str) -> float:
        return max(self.parts[name] * ROOM, self.parts[name] + LEAST_ROOM_S)

    def judge(self, name: str, used_s: float) -> list[Result]:
        """Returns a failure if the part is above its budget."""
        if name not in self.parts:
            return [missing(f"part {name}")]
        if used_s <= self.allowed_s(name):
            return []
        why = f"it took {used_s:.0f} of the reference machine"
        return [Result(f"{name} stays within {self.allowed_s(name):.0f} CPU s", False, why)]

    def judge_sum(self, used_s: float) -> list[Result]:
        if not self.sum_s or used_s <= self.sum_s * ROOM:
            return []
        allowed_s = self.sum_s * ROOM
        why = f"they took {used_s:.0f} of the reference machine"
        return [Result(f"all parts together stay within {allowed_s:.0f} CPU s", False, why)]

    def text(self, name: str, used_s: float) -> str:
        """Used and allowed."""
        return f"{used_s:.0f} of {self.allowed_s(name):.0f} CPU s" if name in self.parts else ""


def missing(thing: str) -> Result:
    return Result(f"{thing} has a budget", False, "run selftests/run --budget")


def counts(jobs: list[Job], build: Path, logs: Path) -> dict[str, int]:
    """The work of a complete run from nothing. It does not depend on the parts that this run had.

    jobs: those of all suites.
    """
    measured = {"boots": sum(isinstance(job.reader, BootReader) for job in jobs)}
    needs = hip.needs_of(job.rocm for job in jobs if job.rocm).values()
    measured["HIP programs"] = sum(len(each.programs) * len(each.archs) for each in needs)
    for option, name in (("", "packages"), ("--demo", "packages of the demo")):
        words = [str(REPO / "ci/deps"), "--names", *([option] if option else [])]
        listed = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        measured[name] = len(listed.stdout.split())
    ninja = build / "build.ninja"
    if ninja.exists():
        rules = re.findall(r"^build .*?: (C|CXX)_([A-Z]+)(_[A-Z_]*)?__", ninja.read_text(), re.MULTILINE)
        measured["C++ and C objects"] = sum(kind == "COMPILER" for _, kind, _ in rules)
        measured["links"] = sum(kind in ("EXECUTABLE", "SHARED", "MODULE") for _, kind, _ in rules)
    driver = logs / "driver.log"
    if driver.exists() and (found := re.search(r"^module: .* with (\d+) objects of ours", driver.read_text(), re.MULTILINE)):
        measured["objects of the test module"] = int(found[1])
    return measured
