# SPDX-License-Identifier: MIT
"""selftests/runner/run-suite: one suite, in a tree that has only its inputs; or its kept output."""

import os
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from ..identity import NotKept
from ..inputs import Inputs
from ..passed import Records
from ..paths import REPO
from .sandbox import Sandbox, is_allowed

USAGE = "usage: run-suite FILE SUITE   (FILE: a table of suites; environment: BUILD_DIR)"


def note(text: str) -> None:
    print(f"# run-suite: {text}", flush=True)


def main(words: list[str]) -> int:
    if len(words) != 2:
        print(USAGE, file=sys.stderr)
        return 64
    table = tomllib.loads(Path(words[0]).read_text())[words[1]]
    build = Path(os.environ.get("BUILD_DIR") or REPO / "build/test").absolute()
    inputs = Inputs.of(table)
    command = shlex.split(inputs.command.replace("$BUILD_DIR", str(build)))
    if not is_allowed():
        note("not kept: this machine allows no mount namespace")
        return subprocess.run(command, cwd=REPO, check=False).returncode
    records = Records.asked()
    its = records.identity(lambda digests: inputs.identity(build, digests), note) if records else None
    if records and its and (entry := records.find(its)):
        sys.stdout.buffer.write((entry.path / "output.log").read_bytes())
        note(f"passed before ({entry.date}, the same inputs)")
        return int(entry.facts["status"])
    return enclosed(words[1], inputs, build, command, records, its)


def enclosed(name: str, inputs: Inputs, build: Path, command: list[str], records, its) -> int:
    sandbox = Sandbox(build / "sandbox" / name, inputs, build)
    output = build / "sandbox" / f"{name}.log"
    try:
        try:
            sandbox.fill()
        except NotKept as error:
            note(f"cannot be run: {error}")
            return 125
        environment = {**inputs.environment(), "BUILD_DIR": str(build), "LOG_DIR": str(build / "logs")}
        began = time.monotonic()
        status, cpu_s = shown(sandbox.command(command), environment, output)
        wall_s = time.monotonic() - began

        def save(path: Path) -> dict:
            shutil.copy(output, path / "output.log")
            return {"status": status, "wall_s": wall_s, "cpu_s": cpu_s}

        if records and its:
            records.leave(its, save)
        return status
    finally:
        sandbox.remove()
        output.unlink(missing_ok=True)


def shown(command: list[str], environment: dict[str, str], output: Path) -> tuple[int, float]:
    """Runs it; its output goes to a file and to ours. Returns its status and its CPU seconds."""
    with output.open("wb") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
        assert child.stdout
        while data := os.read(child.stdout.fileno(), 1 << 16):
            file.write(data)
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    return code if code >= 0 else 128 - code, usage.ru_utime + usage.ru_stime
