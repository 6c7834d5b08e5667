#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the compile_commands.json of a build with one entry for each source file.

Each file of a group that the preset `test` compiles as one (cmake/unity_groups.py) gets the group's command.

usage: single_sources.py BUILD_DIR
"""

import json
import re
import shlex
import sys
from pathlib import Path


def sources_of(file: Path) -> list[Path]:
    """The files that a file of CMake's directory Unity/ includes."""
    return [Path(name) for name in re.findall(r'^#include "(.*)"$', file.read_text(), re.MULTILINE)]


def singles(entry: dict[str, str]) -> list[dict[str, str]]:
    file = Path(entry["file"])
    sources = sources_of(file) if file.parent.name == "Unity" else [file]
    words = shlex.split(entry["command"])
    return [
        {**entry, "file": str(source), "command": shlex.join(str(source) if word == str(file) else word for word in words)}
        for source in sources
    ]


def main() -> None:
    commands = json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text())
    json.dump([single for entry in commands for single in singles(entry)], sys.stdout, indent=1)


if __name__ == "__main__":
    main()
