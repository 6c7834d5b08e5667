# SPDX-License-Identifier: MIT
"""Counts instructions of one function of a program, and of what it calls: the same on a busy machine."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def counted(function: str, program: str, *words: object, each: bool = False) -> list[int]:
    """Of all its calls together; each: of each call by itself, in their order."""
    with tempfile.TemporaryDirectory() as work:
        options = [f"--toggle-collect={function}", f"--callgrind-out-file={work}/counts"]
        options += [f"--dump-after={function}"] if each else []
        command = ["valgrind", "--tool=callgrind", *options, program, *map(str, words)]
        try:
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        except FileNotFoundError:
            sys.exit("valgrind is missing; run ci/deps")
        if ran.returncode:
            sys.exit(ran.stdout)
        files = Path(work).glob("counts.*" if each else "counts")
        ordered = sorted(files, key=lambda path: int(path.suffix[1:] or 0))
        return [int(re.findall(r"^(?:summary|totals): (\d+)", path.read_text(), re.M)[-1]) for path in ordered]
