# SPDX-License-Identifier: MIT
"""The HIP programs that boots need, as far as the source tree can say: hipcc takes minutes for all of them."""

from dataclasses import dataclass, field
from typing import Iterable

from . import boots
from .boots import Boot
from .paths import REPO
from .vm import catalogue
from .vm.catalogue import Catalogue, Program
from .vm.options import HIP_ARCHS

HIP = REPO / "selftests" / "hip"


@dataclass
class Needs:
    """The programs and GPUs of the boots on one suite of ROCm."""

    programs: set[str] = field(default_factory=set)
    archs: set[str] = field(default_factory=set)

    def environment(self) -> dict[str, str]:
        return {"HIP_PROGRAMS": " ".join(sorted(self.programs)), "HIP_ARCHS": " ".join(sorted(self.archs))}


def source_catalogue() -> Catalogue:
    """The HIP programs and the scripts that call them, before any is built."""
    programs = {path.stem: Program([], kind="hip") for path in (*HIP.glob("*.hip"), *HIP.glob("libraries/*.hip"), *HIP.glob("debugger/*.hip"))}
    programs["scratch_O0"] = Program([], kind="hip")
    programs["libwalk_kernels.so"] = Program([])
    for path in (*REPO.glob("tools/tests/guest/*-in-guest"), HIP / "hip_test.py", HIP / "debugger" / "debugger_test.py", HIP / "wheel" / "wheel"):
        words, functions = catalogue.called(path)
        programs[path.name] = Program([], words.split(), functions.split(), "hip" if path.name == "wheel" else "")
    return Catalogue(programs)


def needs_of(wanted: Iterable[tuple[str, Boot]]) -> dict[str, Needs]:
    """For each suite of ROCm; wanted: suites of ROCm and their boots."""
    programs = source_catalogue()
    compiled = {name for name, each in programs.programs.items() if not each.words}
    needs: dict[str, Needs] = {}
    for suite, boot in wanted:
        if not boot.rocm:
            continue
        these = needs.setdefault(suite, Needs())
        # A program of --with may be one of the plain guest.
        others = set(boot.with_) & programs.programs.keys()
        these.programs |= programs.named(boots.script(boot), others) & compiled
        these.archs.add(HIP_ARCHS[boot.gpu if boot.gpu in HIP_ARCHS else "mi300x"])
    return needs
