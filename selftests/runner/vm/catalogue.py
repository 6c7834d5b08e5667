# SPDX-License-Identifier: MIT
"""The programs of a guest: the layers of each, and the other programs that it calls.

A boot gets the programs that its commands name, and what these need. A name that is forgotten is "not
found" in the guest, so a list that is too short fails at once.
"""

import json
import re
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Iterable

from ..errors import Refusal
from . import python, slim
from .layers import Store

# The command's verify is a program of its own.
SUBCOMMAND = re.compile(r"\bkfd-preempt\s+([a-z][a-z-]*)")
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
FUNCTION = re.compile(r"^\s*([A-Za-z0-9_-]+)\(\)", re.MULTILINE)
# The variable that chooses the programs of hip_test.py.
CHOICE = "PROGRAMS"
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
# The interpreter of a script, and a module of a script in Python, which is a file of the guest.
INTERPRETER = re.compile(r"#!.*?([\w-]+)\n")
MODULE = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


@dataclass
class Program:
    # Names of files in the store: the program, then its libraries.
    layers: list[str]
    # Words of a script that may be programs.
    words: list[str] = field(default_factory=list)
    # The functions of a script: as arguments of it, their names are no programs.
    functions: list[str] = field(default_factory=list)
    # "hip": a script that reads PROGRAMS runs those of them that its command names, or else all. "python": the
    # interpreter, with the modules that tests import.
    kind: str = ""


class Catalogue:
    def __init__(self, programs: dict[str, Program]):
        self.programs = programs

    @classmethod
    def read(cls, *paths: Path) -> "Catalogue":
        programs: dict[str, Program] = {}
        for path in paths:
            programs |= {name: Program(**each) for name, each in json.loads(path.read_text()).items()}
        return cls(programs)

    def write(self, path: Path) -> None:
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps({name: asdict(each) for name, each in self.programs.items()}, indent=1))
        new.rename(path)

    def named(self, text: str, others: Iterable[str] = ()) -> set[str]:
        """The programs that a command line names, with what they need, and `others` with theirs."""
        missing = set(others) - self.programs.keys()
        if missing:
            raise Refusal(f"--with {' '.join(sorted(missing))}: the build has no such program for the guest")
        found = self.closure(set(others))
        for line in text.splitlines():
            words = self.programs.keys() & words_of(line)
            words -= {each for word in words for each in self.programs[word].functions}
            found |= self.closure(words)
        return found

    def closure(self, names: set[str]) -> set[str]:
        chosen = {name for name in names if self.programs[name].kind == "hip"}
        found: set[str] = set()
        while names:
            found |= names
            names = {word for name in names for word in self.called_by(name, chosen)} - found
        return found

    def called_by(self, name: str, chosen: set[str]) -> set[str]:
        words = self.programs.keys() & set(self.programs[name].words)
        if not chosen or CHOICE not in self.programs[name].words:
            return words
        return {word for word in words if self.programs[word].kind != "hip"}

    def layers(self, names: Iterable[str]) -> list[str]:
        """Returns those of these programs, each once, in an order that depends on the programs only."""
        return sorted({layer for name in names for layer in self.programs[name].layers})


def words_of(text: str) -> set[str]:
    """Returns the words that may be names of programs."""
    return {*WORD.findall(text), *(f"kfd-preempt-{word}" for word in SUBCOMMAND.findall(text))}


def program(store: Store, source: Path, destination: str, kind: str = "") -> Program:
    """A file for the guest and, if it is dynamic, what it links to.

    A library that is not on this machine is left out: a HIP program finds it in the ROCm root.
    """
    layers = [in_store(store, source, destination)]
    layers += [in_store(store, Path(each), place_of(each)) for each in libraries(store, source)]
    layers += [python.module_layer(store, source)] if kind == "python" else []
    words, functions = store.remembered(lambda: called(source), "called", source)
    return Program(layers, words.split(), functions.split(), kind)


def place_of(library: str) -> str:
    """Where a library is in the guest: one of a build directory is not there by its path, which differs."""
    system = library.startswith(("/lib/", "/lib64/", "/usr/"))
    return library if system else f"/usr/lib/x86_64-linux-gnu/{Path(library).name}"


def libraries(store: Store, source: Path) -> list[str]:
    return store.remembered(lambda: linked(source), "linked", source)


def in_store(store: Store, source: Path, destination: str) -> str:
    def make() -> list[str]:
        return [store.pack_file(source, destination, slim.program).name]

    (layer,) = store.remembered(make, "program", source, destination)
    return layer


def linked(source: Path) -> list[str]:
    with source.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
    return re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE)


def called(source: Path) -> list[str]:
    """Returns two lines about a script: the words that may be programs, and the names of its functions."""
    data = source.read_bytes()
    if not data.startswith(b"#"):
        return ["", ""]
    text = data.decode(errors="replace")
    interpreter = INTERPRETER.match(text)
    text = COMMENT.sub("", text)
    functions = set(FUNCTION.findall(text))
    words = words_of(text) - functions | {f"{name}.py" for name in MODULE.findall(text)}
    words |= {interpreter[1]} if interpreter else set()
    return [" ".join(sorted(words)), " ".join(sorted(functions))]
