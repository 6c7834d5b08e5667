# SPDX-License-Identifier: MIT
"""Whether the module that DKMS builds for users is the test module: the same objects of ours, and elsewhere
what Debian has built. Prints TAP."""

import lzma
from hashlib import sha256
from pathlib import Path

from .compare import Comparison
from .elf import Object
from .link import note
from .main import HEADERS, STAMPS, TestModule


class Tap:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.passed = True

    def ok(self, name: str, wrong: list[str]) -> bool:
        self.lines.append(f"{'not ok' if wrong else 'ok'} {1 + self.count} - {name}")
        self.lines += [f"# {each}" for each in wrong[:30]]
        self.passed &= not wrong
        return not wrong

    @property
    def count(self) -> int:
        return sum(not line.startswith("#") for line in self.lines)


def different_objects(built: Path, objects: dict[str, Path]) -> list[str]:
    """Returns the names of those that differ between `built`, which build-module wrote, and the test module."""
    hashes = dict(reversed(line.split()) for line in built.read_text().splitlines())
    ours = {name: sha256(path.read_bytes()).hexdigest() for name, path in objects.items()}
    return [f"{name} is another" for name in ours if hashes.get(name) != ours[name]]


def compared(tap: Tap, stock: bytes, whole: bytes, ours: list[Object]) -> None:
    found = Comparison(Object(stock), Object(whole), ours)
    tap.ok(f"{found.functions} functions and {found.variables} variables of its other objects are Debian's", found.differences)
    for what, changed in (("byte", flip_byte(whole)), ("relocation", flip_relocation(whole))):
        seen = Comparison(Object(stock), Object(changed), ours).differences
        wrong = [] if len(seen) == 1 else [f"noticed {len(seen)} differences instead of one", *seen]
        tap.ok(f"one changed {what} in it is noticed", wrong)


def flip_byte(whole: bytes) -> bytes:
    """In the middle of the text, which is code of the display, in the first byte of a function."""
    module = Object(whole)
    functions = [each for each in module.definitions[".text"] if each.is_function]
    start = whole.index(module.by_name[".text"].data) + functions[len(functions) // 2].start
    return whole[:start] + bytes([whole[start] ^ 1]) + whole[start + 1 :]


def flip_relocation(whole: bytes) -> bytes:
    """The addend of a relocation in the middle of the text."""
    rows = Object(whole).by_name[".rela.text"].data
    addend = whole.index(rows) + len(rows) // 48 * 24 + 16
    return whole[:addend] + bytes([whole[addend] ^ 1]) + whole[addend + 1 :]


def main() -> int:
    module = TestModule("")
    module.make()
    built = module.by_dkms()
    tap = Tap()
    objects = module.objects()
    tap.ok(f"the {len(objects)} objects of the test module are in DKMS's build, byte for byte", different_objects(built.with_name("objects"), objects))
    stock = lzma.decompress(module.stock.read_bytes()) if module.stock.suffix == ".xz" else module.stock.read_bytes()
    compared(tap, stock, built.read_bytes(), [Object.load(path) for path in objects.values()])
    unlisted = module.unlisted_headers
    if unlisted and tap.passed:
        note(f"the changes of headers outside amdkfd do not reach other objects: add {unlisted} to {HEADERS}")
    tap.ok("the changes of headers outside amdkfd are listed", [f"{HEADERS} does not have {unlisted}"] if unlisted else [])
    text = "".join(f"{line}\n" for line in [*tap.lines, f"1..{tap.count}"])
    print(text, end="")
    if tap.passed:
        # Its time is the date that test-module prints.
        STAMPS.mkdir(parents=True, exist_ok=True)
        (STAMPS / "passed.tap").write_text(text)
    return int(not tap.passed)
