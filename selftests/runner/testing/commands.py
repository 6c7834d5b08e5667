# SPDX-License-Identifier: MIT
"""Fixtures of tests that run commands: a directory of their own, made-up files and commands, a command's run."""

import os
import re
import shlex
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Callable, Iterable, Mapping

# Programs under test: run-tests is given PROGRAM=PATH for each.
PROGRAMS: dict[str, Path] = {}


def program(name: str) -> Path:
    if name not in PROGRAMS:
        raise LookupError(f"run-tests needs {name}=PATH")
    return PROGRAMS[name]


class cases:  # pylint: disable=invalid-name # a decorator
    """Makes one test of each row: its name, then the arguments of the decorated method."""

    def __init__(self, *rows: tuple):
        self.rows = rows

    def __call__(self, method: Callable) -> "cases":
        self.method = method
        return self

    def __set_name__(self, owner: type, _: str) -> None:
        for name, *arguments in self.rows:
            full = "test_" + name.replace(" ", "_")
            assert not hasattr(owner, full), f"two tests are called '{name}'"
            setattr(owner, full, lambda test, given=tuple(arguments): self.method(test, *given))


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    command: str
    status: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def __str__(self) -> str:
        return f"{self.command}: status {self.status}\nstdout: {self.stdout}\nstderr: {self.stderr}"


@dataclass(frozen=True)
class Expected:
    """The status of a command, and a pattern of a line of one stream; the other stream is empty if it is alone."""

    status: int
    stream: str
    pattern: str
    alone: bool = True


def run_command(command: Iterable[object], environment: Mapping[str, object], **options) -> Ran:
    words = [str(word) for word in command]
    options = {"timeout": 600, **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options}
    texts = {name: str(value) for name, value in environment.items()}
    done = subprocess.run(words, env=texts, text=True, errors="backslashreplace", capture_output=True, check=False, **options)
    return Ran(shlex.join(words), done.returncode, done.stdout, done.stderr)


def prints(pattern: str, status: int = 0, alone: bool = True) -> Expected:
    return Expected(status, "stdout", pattern, alone)


def fails(status: int, pattern: str) -> Expected:
    return Expected(status, "stderr", pattern)


def each(row: tuple[str, str, Expected], *values: str) -> list[tuple[str, str, Expected]]:
    """One row of `cases` for each value, which {} stands for."""
    name, words, expected = row
    return [
        (name.format(value), words.format(value), replace(expected, pattern=expected.pattern.format(value)))
        for value in values
    ]


class CommandTest(unittest.TestCase):
    """A test with `work`, a directory of its own, and `environment`, that of the commands that it runs."""

    maxDiff = None
    POLL_S, PATIENCE_S = 0.01, 60

    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.bin = self.work / "bin"
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        # Values of $NAME in words and patterns.
        self.names: dict[str, object] = {"work": self.work}

    def filled(self, text: str) -> str:
        return Template(text).safe_substitute(self.names)

    def write(self, path: Path | str, text: str = "", mode: int | None = None) -> Path:
        path = self.work / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if mode is not None:
            path.chmod(mode)
        return path

    def fake_command(self, name: str, script: str) -> Path:
        """A command of that name, found before the real one. The script begins with its #! line, or is of sh."""
        return self.write(self.bin / name, script if script.startswith("#!") else f"#!/bin/sh\n{script}\n", 0o755)

    def ran(self, *command: object, env: Mapping[str, object] | None = None, **options) -> Ran:
        return run_command(command, {**self.environment, **(env or {})}, **options)

    def succeeds(self, *command: object, **options) -> Ran:
        ran = self.ran(*command, **options)
        self.assertEqual(ran.status, 0, ran)
        return ran

    def meets(self, expected: Expected, *command: object, **options) -> Ran:
        """Fails unless the command ends and prints as expected; the command's $NAMES are filled in."""
        ran = self.ran(*(self.filled(str(word)) for word in command), **options)
        other = ran.stderr if expected.stream == "stdout" else ran.stdout
        pattern = self.filled(expected.pattern)
        self.assertEqual(ran.status, expected.status, ran)
        self.assertTrue(matches(pattern, getattr(ran, expected.stream)), f"no '{pattern}' on {expected.stream} of {ran}")
        self.assertFalse(expected.alone and other, f"not only on {expected.stream}: {ran}")
        return ran

    def soon(self, condition: Callable[[], bool], what: object = "") -> None:
        """Fails unless the condition becomes true; a machine may be busy."""
        end = time.monotonic() + self.PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, what or condition)
            time.sleep(self.POLL_S)


def matches(pattern: str, text: str) -> bool:
    """Whether a line of the text matches, as grep -E finds it."""
    return any(re.search(pattern, line) for line in text.splitlines())


def blocks_signals(pid: int) -> bool:
    """Whether a program that waits for signals with a signalfd has begun to; before, a signal ends it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(re.search(r"^SigBlk:\s*(\w+)", status, re.MULTILINE)[1], 16))
