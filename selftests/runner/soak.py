# SPDX-License-Identifier: MIT
"""The results of a ci/soak that runs in pieces, in the directory of its --resume.

The file `results` has a line of JSON for each step that has ended, and one for each part, after all of its steps. A line is
never changed. It has the identity of the tree and of the machine; a line with another one does not count.
"""

import json
import os
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Iterable

from .digests import Digests, trusted
from .errors import Refusal
from .identity import Identity, NotKept
from .keeper import commit
from .passed import date
from .paths import REPO

# Where the table goes: its commit must not make the results those of another tree. No part reads it.
NO_INPUT = "selftests/RESULTS.md"
PART, STEP = "part", "step"


@dataclass(frozen=True)
class Place:
    """What a result belongs to."""

    # A git tree of the files as they are, committed or not.
    tree: str
    machine: str

    def __str__(self) -> str:
        return f"{self.tree}+{self.machine}"


@dataclass(frozen=True)
class Line:
    kind: str
    name: str
    passed: int
    failed: int
    seconds: int
    when: float
    commit: str
    tree: str
    machine: str

    @property
    def place(self) -> Place:
        return Place(self.tree, self.machine)

    @property
    def date(self) -> str:
        return date(self.when)

    @property
    def good(self) -> bool:
        return self.passed > 0 and not self.failed


def git(*words: str, **more: str) -> str:
    environment = {**os.environ, **more}
    ran = subprocess.run(["git", *words], cwd=REPO, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Refusal(f"git {words[0]}: {' '.join(ran.stderr.split())}")
    return ran.stdout.strip()


def tree() -> str:
    """All files that are tracked or would be, but the one with the results of before."""
    with tempfile.TemporaryDirectory() as directory:
        index = f"{directory}/index"
        git("read-tree", "HEAD", GIT_INDEX_FILE=index)
        git("add", "--all", GIT_INDEX_FILE=index)
        git("rm", "--cached", "--quiet", "--ignore-unmatch", "--", NO_INPUT, GIT_INDEX_FILE=index)
        return git("write-tree", GIT_INDEX_FILE=index)


def place() -> Place:
    identity = Identity(Digests())
    try:
        identity.host()
    except NotKept as error:
        raise Refusal(str(error)) from error
    return Place(tree(), str(identity)[:12])


class Results:
    def __init__(self, directory: Path):
        self.directory = directory.absolute()
        self.file = self.directory / "results"
        self.settings = self.directory / "settings"

    def begin(self, seed: int | None, minutes: int | None) -> tuple[int, int]:
        """Makes the directory, or refuses one that is the place of another run or would be part of the tree.

        Returns the seed and the minutes of the first run.
        """
        if self.directory.is_relative_to(REPO):
            ignored = subprocess.run(["git", "check-ignore", "--quiet", self.directory], cwd=REPO, check=False)
            if ignored.returncode:
                raise Refusal(f"{self.directory} is in the tree and not ignored by git, so each result would change the tree")
        self.directory.mkdir(parents=True, exist_ok=True)
        if not trusted(self.directory):
            raise Refusal(f"others can write to {self.directory}")
        asked = {name: value for name, value in (("seed", seed), ("minutes", minutes)) if value is not None}
        first = {"seed": int(time.time()), "minutes": 60, **asked}
        if not self.settings.exists():
            self.settings.write_text(json.dumps(first) + "\n")
        known = json.loads(self.settings.read_text())
        for name, value in asked.items():
            if known[name] != value:
                raise Refusal(f"--{name} {value}: the results in {self.directory} are of --{name} {known[name]}")
        return known["seed"], known["minutes"]

    def lines(self) -> list[Line]:
        """A line that was cut off, when the machine stopped, is no result."""
        text = self.file.read_text() if self.file.exists() else ""
        found = []
        for each in text.splitlines(keepends=True):
            try:
                found.append(Line(**json.loads(each)) if each.endswith("\n") else None)
            except (ValueError, TypeError):
                found.append(None)
        return [line for line in found if line]

    def find(self, kind: str, name: str, here: Place) -> Line | None:
        """The last one counts, and runs of the same tree before it are in the table."""
        same = [line for line in self.lines() if (line.kind, line.name, line.place) == (kind, name, here)]
        return same[-1] if same else None

    def keep(self, kind: str, name: str, passed: int, failed: int, seconds: int, before: Place) -> None:
        """before: where it began."""
        now = place()
        if now != before:
            raise Refusal(f"{name}: the tree or the packages changed while it ran, so its result is not kept")
        dirty = "+" if git("status", "--porcelain", "--", ":/", f":!/{NO_INPUT}") else ""
        facts = (passed, failed, seconds, time.time(), commit() + dirty, now.tree, now.machine)
        self.add(Line(kind, name, *facts))

    def add(self, line: Line) -> None:
        text = json.dumps(asdict(line)) + "\n"
        if self.file.exists() and not self.file.read_bytes().endswith(b"\n"):
            text = "\n" + text
        with self.file.open("a") as file:
            file.write(text)


def differences(one: str, other: str) -> str:
    """In how many files two trees differ, or why that is not known."""
    try:
        names = git("diff-tree", "-r", "--name-only", one, other).splitlines()
    except Refusal:
        return "another tree that git no longer has"
    tops = sorted({name.split("/")[0] for name in names})
    return f"another tree: {len(names)} files differ, in {' '.join(tops)}"


def minutes(seconds: int) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds} s"


def row(name: str, here: Place, lines: list[Line]) -> tuple[str, Line | None]:
    """The row of a part, and its result if that counts."""
    its = [line for line in lines if line.kind == PART and line.name == name]
    same = [line for line in its if line.place == here]
    if same:
        last = same[-1]
        bad = sum(not line.good for line in same[:-1])
        earlier = f"; {len(same)} runs, {bad} of those before failed" if len(same) > 1 else ""
        text = f"{last.passed} passed, {last.failed} failed, {minutes(last.seconds)}, {last.date}, commit {last.commit}{earlier}"
        return f"| {name} | {text} |", last
    steps = {line.name for line in lines if line.kind == STEP and line.place == here and line.name.split("/")[0] == name}
    if steps:
        return f"| {name} | not finished: {len(steps)} steps have ended |", None
    if its:
        last = its[-1]
        why = differences(last.tree, here.tree) if last.tree != here.tree else "other packages or another machine"
        return f"| {name} | not counted ({why}): {last.passed} passed, {last.failed} failed, {last.date}, commit {last.commit} |", None
    return f"| {name} | not run |", None


def table(parts: Iterable[str], here: Place, lines: list[Line]) -> tuple[list[str], bool]:
    """The table for RESULTS.md and the line below it; whether every part has a result, and that is good."""
    rows, counted = [], []
    for name in parts:
        text, line = row(name, here, lines)
        rows.append(text)
        counted.append(line)
    ended = [line for line in counted if line]
    count = f"{sum(line.passed for line in ended)} passed, {sum(line.failed for line in ended)} failed"
    lack = len(counted) - len(ended)
    rest = f"; {lack} of {len(counted)} parts have no result of this tree" if lack else ""
    return ["| part | result |", "|---|---|", *rows, "", count + rest], not lack and all(line.good for line in ended)
