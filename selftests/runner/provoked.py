# SPDX-License-Identifier: MIT
"""Errors in the kernel log that a program of the driver's tests provokes on purpose."""

import re
import tomllib
from typing import Iterable

from .paths import REPO

TABLE = REPO / "selftests/kfd_preempt/provoked.toml"


def errors(commands: Iterable[str]) -> list[str]:
    """The expressions of the programs that are words of the commands, each once."""
    programs = {word for command in commands for word in re.findall(r"[\w-]+", command)}
    table: dict[str, list[str]] = tomllib.loads(TABLE.read_text())
    found = [each for program, expressions in table.items() if program in programs for each in expressions]
    return list(dict.fromkeys(found))
