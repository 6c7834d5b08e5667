# SPDX-License-Identifier: MIT
"""Results that are kept: the output of a part that passed, named by the identity of its inputs.

A process of a part, such as selftests/vm/run, computes the identity of its inputs. Then it either prints
the kept output, or runs and leaves a record of the run in the directory $PASSED_RECORDS. The runner stores these records when the
whole part has passed. No verdict is kept: each run judges the kept output anew.
"""

import json
import os
import random
import shutil
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Callable

from .digests import Digests, trusted, write
from .identity import Identity, NotKept
from .paths import cache

DAYS = 14
# Every entry has these facts, unless another version of the runner wrote it.
FACTS = {"date", "files", "status", "cpu_s", "tests"}
RECORDS, AGAIN, STORE = "PASSED_RECORDS", "PASSED_AGAIN", "PASSED_STORE"
# At most so many CPU seconds of kept parts are run again in a run of CI, to notice those that depend on chance.
SPOT_CHECKS_S = 60


def directory() -> Path:
    return cache() / "passed"


@dataclass
class Entry:
    """A kept run: its directory has `run.json`, the lines of its identity, and its output."""

    path: Path
    facts: dict

    @property
    def when(self) -> float:
        return self.facts["date"]

    @property
    def date(self) -> str:
        return date(self.when)


def date(when: float) -> str:
    return datetime.fromtimestamp(when).strftime("%Y-%m-%d %H:%M")


def age(seconds: float) -> str:
    """As a person says it."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


def read(path: Path) -> Entry | None:
    """The entry, or None if it is not whole, not ours, too old, or from the future."""
    files = list(path.iterdir()) if path.is_dir() and trusted(path) else []
    if not files or not all(trusted(file) and file.is_file() for file in files):
        return None
    try:
        facts = json.loads((path / "run.json").read_text())
        age_s = time.time() - facts["date"]
        whole = FACTS <= facts.keys() and facts["files"] == sorted(file.name for file in files if file.name != "run.json")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Entry(path, facts) if whole and 0 <= age_s < DAYS * 86400 else None


class Store:
    def __init__(self, path: Path | None = None):
        self.path = path.absolute() if path else directory()

    def find(self, identity: str) -> Entry | None:
        return read(self.path / identity) if trusted(self.path) else None

    def put(self, record: Path, **facts: object) -> None:
        """Moves a record that a process has left to where find() sees it."""
        known = json.loads((record / "run.json").read_text())
        known |= {"files": sorted(each.name for each in record.iterdir() if each.name != "run.json"), **facts}
        for file in record.iterdir():
            file.chmod(0o644)
        write(record / "run.json", json.dumps(known, indent=1) + "\n")
        record.chmod(0o755)
        new = self.path / f".{record.name}.{os.getpid()}"
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o755)
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(record, new)
        self.forget(record.name)
        try:
            new.rename(self.path / record.name)
        except OSError:  # another run beside us was quicker
            shutil.rmtree(new)

    def forget(self, identity: str) -> None:
        # By rename, so that no reader sees half of it.
        gone = self.path / f".gone.{identity}.{os.getpid()}"
        try:
            (self.path / identity).rename(gone)
        except FileNotFoundError:
            return
        shutil.rmtree(gone, ignore_errors=True)

    def chance(self, part: str) -> Path:
        return self.path / "chance" / part.replace("/", "+")

    def depends_on_chance(self, part: str) -> bool:
        """Whether it has had two verdicts for one identity within the days that an entry is valid."""
        try:
            return time.time() - self.chance(part).stat().st_mtime < DAYS * 86400
        except OSError:
            return False

    def note_chance(self, part: str, identity: str) -> None:
        write(self.chance(part), f"{identity}\n")

    def sweep(self) -> None:
        """Removes the entries that read() ignores because of their age."""
        for path in self.path.glob("*"):
            try:
                old = time.time() - path.stat().st_mtime > DAYS * 86400
            except OSError:
                continue
            if old and path.name not in ("chance", "digests.json", "costs.json"):
                shutil.rmtree(path, ignore_errors=True)


class Records:
    """The records that a process of a part leaves, if the runner asks for them."""

    def __init__(self, left: Path, store: Store, again: bool):
        self.left, self.store, self.again = left, store, again
        self.digests = Digests(store.path / "digests.json")

    @classmethod
    def asked(cls) -> "Records | None":
        left = os.environ.get(RECORDS, "")
        store = os.environ.get(STORE, "")
        return cls(Path(left), Store(Path(store) if store else None), bool(os.environ.get(AGAIN))) if left else None

    def identity(self, compute: Callable[[Digests], Identity], note: Callable[[str], None]) -> Identity | None:
        try:
            return compute(self.digests)
        except NotKept as error:
            note(f"not kept: {error}")
            return None
        finally:
            self.digests.save()

    def find(self, identity: Identity) -> Entry | None:
        """Returns its kept result, unless it has to run, and notes for the runner that it was taken."""
        # A run that does not end leaves no record, but its kept result has to be forgotten.
        write(self.left / f"{identity}.begun", "")
        entry = None if self.again else self.store.find(str(identity))
        if entry:
            write(self.left / f"{identity}.taken", json.dumps(entry.facts))
        return entry

    def leave(self, identity: Identity, save: Callable[[Path], dict]) -> None:
        """save() writes files into a directory and returns facts of the run."""
        new = self.left / f".{identity}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        facts = save(new)
        (new / "inputs").write_text(identity.text())
        (new / "run.json").write_text(json.dumps({"date": time.time(), **facts}))
        path = self.left / str(identity)
        shutil.rmtree(path, ignore_errors=True)
        new.rename(path)


@dataclass
class Left:
    """The notes and records that the processes of a part have left for the runner."""

    records: list[Path]
    taken: dict[str, dict]
    # Identities of all runs, also of those that left nothing else.
    begun: set[str] = field(default_factory=set)

    @classmethod
    def in_directory(cls, path: Path) -> "Left":
        each = sorted(path.glob("[0-9a-f]*")) if path.is_dir() else []
        taken = {file.stem: json.loads(file.read_text()) for file in each if file.suffix == ".taken"}
        begun = {file.stem for file in each if file.suffix == ".begun"}
        return cls([file for file in each if file.is_dir()], taken, begun)

    @property
    def identities(self) -> set[str]:
        return {record.name for record in self.records} | self.taken.keys() | self.begun

    @property
    def fresh(self) -> set[str]:
        """Identities of the runs that did not take a kept result."""
        return self.identities - self.taken.keys()


def spot_checks(costs: dict[str, float], day: str, most_s: float) -> list[str]:
    """The parts to run again on that day. costs: CPU seconds of the parts that were taken."""
    chosen, sum_s = [], 0.0
    names = sorted(costs)
    random.Random(day).shuffle(names)
    for name in names:
        if sum_s + costs[name] <= most_s:
            chosen.append(name)
            sum_s += costs[name]
    return chosen
