# SPDX-License-Identifier: MIT
"""Compares the measured costs of a run with selftests/budget.toml."""

import json
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
from .jobs import Job, Process
from .paths import REPO
from .results import BootReader, Result

FILE = REPO / "selftests" / "budget.toml"

# Room for differences between two runs of the same part. Counts of the run have none.
CPU_ROOM, COUNT_ROOM = 1.5, 1.2
# The load of the machine moves the shortest parts by more than their half.
LEAST_CPU_ROOM_S, LEAST_COUNT_ROOM = 5, 2000

HEADER = """\
# SPDX-License-Identifier: MIT
# The costs that ci/test may have; above them the run fails. Written by selftests/run --budget, judged by runner/budget.py.
#   yardstick  CPU seconds that runner/yardstick.py took when the parts were measured
#   counts     exact, the same on every machine
#   sums       CPU seconds of all parts together
#   parts      of each part CPU seconds of that machine, with half of room; of a boot MMIO accesses and wave
#              instructions, with a fifth of room
"""


@dataclass
class Cost:
    """The cost of one part."""

    cpu_s: float = 0
    mmio: int = 0
    waves: int = 0

    UNITS = {"cpu_s": "CPU s", "mmio": "MMIO accesses", "waves": "wave instructions"}

    def allowed(self, kind: str) -> float:
        value = getattr(self, kind)
        if kind == "cpu_s":
            return max(value * CPU_ROOM, value + LEAST_CPU_ROOM_S)
        return max(value * COUNT_ROOM, value + LEAST_COUNT_ROOM)


@dataclass
class Budget:
    yardstick_s: float = 0
    counts: dict[str, int] = field(default_factory=dict)
    sum_s: float = 0
    parts: dict[str, Cost] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Nothing was ever measured, so nothing is judged."""
        return not self.parts

    @classmethod
    def read(cls, path: Path | None = None) -> "Budget":
        path = path or FILE
        try:
            table = tomllib.loads(path.read_text())
            return cls(
                table.get("yardstick", {}).get("cpu_s", 0),
                table.get("counts", {}),
                table.get("sums", {}).get("cpu_s", 0),
                {name: Cost(**part) for name, part in table.get("parts", {}).items()},
            )
        except FileNotFoundError:
            return cls()
        except (tomllib.TOMLDecodeError, TypeError) as error:
            raise Refusal(f"{path}: {error}") from error

    def write(self) -> None:
        lines = [HEADER, "[yardstick]", f"cpu_s = {self.yardstick_s:.2f}", "", "[counts]"]
        lines += [f'"{name}" = {count}' for name, count in self.counts.items()]
        lines += ["", "[sums]", f"cpu_s = {math.ceil(self.sum_s)}", "", "[parts]"]
        for name, cost in sorted(self.parts.items()):
            words = [f"cpu_s = {math.ceil(cost.cpu_s)}"]
            words += [f"{kind} = {getattr(cost, kind)}" for kind in ("mmio", "waves") if getattr(cost, kind)]
            lines.append(f'"{name}" = {{ {", ".join(words)} }}')
        write(FILE, "\n".join(lines) + "\n")

    def judge_counts(self, measured: dict[str, int]) -> list[Result]:
        results = []
        for name, count in measured.items():
            if name not in self.counts:
                results.append(missing(f"the number of {name}"))
            elif count > self.counts[name]:
                results.append(Result(f"no more than {self.counts[name]} {name}", False, f"there are {count}"))
        return results

    def judge(self, name: str, cost: Cost) -> list[Result]:
        """Returns a failure for each kind of cost that is above its budget."""
        if name not in self.parts:
            return [missing(f"part {name}")]
        budget, results = self.parts[name], []
        for kind, unit in Cost.UNITS.items():
            used, allowed = getattr(cost, kind), budget.allowed(kind)
            if used > allowed:
                where = " of the reference machine" if kind == "cpu_s" else ""
                results.append(Result(f"{name} stays within {allowed:.0f} {unit}", False, f"it took {used:.0f}{where}"))
        return results

    def judge_sum(self, used_s: float) -> list[Result]:
        if not self.sum_s or used_s <= self.sum_s * CPU_ROOM:
            return []
        allowed_s = self.sum_s * CPU_ROOM
        why = f"they took {used_s:.0f} of the reference machine"
        return [Result(f"all parts together stay within {allowed_s:.0f} CPU s", False, why)]

    def text(self, name: str, cost: Cost) -> str:
        """Used and allowed."""
        budget = self.parts.get(name)
        words = []
        for kind, unit in Cost.UNITS.items():
            used = getattr(cost, kind)
            if used and budget:
                words.append(f"{used:.0f} of {budget.allowed(kind):.0f} {unit}")
        return ", ".join(words)


def missing(thing: str) -> Result:
    return Result(f"{thing} has a budget", False, "run selftests/run --budget")


def cost_of(process: Process, factor: float, logs: Path) -> Cost:
    cost = Cost(process.cpu_s / factor)
    if isinstance(process.job.reader, BootReader):
        for path in (logs / process.job.name.replace("/", "-", 1)).glob("vgpu*.json"):
            counters = json.loads(path.read_text())
            cost.mmio += counters["mmio_reads"] + counters["mmio_writes"]
            cost.waves += counters["wave_instructions"]
    return cost


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
