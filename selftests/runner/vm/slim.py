# SPDX-License-Identifier: MIT
"""Programs and kernel modules without what costs a boot time: names, debug data, signatures."""

import lzma
import re
import struct
import subprocess
from pathlib import Path
from typing import Iterable

from .layers import Store

# Sections of a 64-bit ELF file, its symbols, its relocations.
SECTION, SYMBOL, RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
MCOUNT = "__mcount_loc"


def program(path: Path) -> None:
    """Without debug data, which is nine tenths of our programs and costs every boot three seconds of
    unpacking, and without the build id, which depends on that data and so on the directory of the build."""
    with path.open("rb") as file:
        if file.read(4) == b"\x7fELF":
            subprocess.run(["strip", "--strip-debug", "-R", ".note.gnu.build-id", path], check=True)


def module(source: Path, path: Path, traced: Iterable[str] = ()) -> None:
    """A module as the guest loads it. Without debug data and signature it loads seconds faster under
    TCG, because the kernel hashes and parses all of them.

    For each function that the function tracer may patch, 14,000 in amdgpu, the kernel looks through the names
    of all 45,000 symbols, which takes 17 s. So only those in `traced` stay. Tracepoints and kprobes do not
    need that list; but the breakpoint of a kprobe runs with interrupts off, the function tracer's call does not.
    """
    data = source.read_bytes()
    path.write_bytes(lzma.decompress(data) if source.suffix == ".xz" else data)
    remove = [".BTF", ".BTF_ids"]
    names = set(traced)
    if not names:
        remove += [MCOUNT, f".rela{MCOUNT}"]
    subprocess.run(["objcopy", "--strip-debug", *(word for each in remove for word in ("-R", each)), path], check=True)
    if names:
        path.write_bytes(with_traced(path.read_bytes(), names))


def module_layer(store: Store, source: Path, name: str, traced: Iterable[str] = ()) -> Path:
    """The layer with /modules/NAME, as module() makes it."""
    kept = sorted(traced)

    def make() -> list[str]:
        return [store.pack_file(source, f"modules/{name}", lambda path: module(source, path, kept)).name]

    (layer,) = store.remembered(make, "module", source, name, *kept)
    return store.directory / layer


def names_in(path: Path) -> set[str]:
    """All strings of a file that may be names of functions."""
    return {each.decode() for each in re.findall(rb"(?<=\0)[A-Za-z_][A-Za-z0-9_.]*(?=\0)", path.read_bytes())}


def with_traced(data: bytes, names: set[str]) -> bytes:
    """The module with only the entries of these functions in its list for the function tracer."""
    table = Elf(data)
    relocations, places = table.section(f".rela{MCOUNT}"), table.section(MCOUNT)
    if not relocations or not places:
        return data
    wanted = [(each.section, each.value, each.value + each.size) for each in table.functions() if each.name in names]
    symbols = table.symbols
    kept = []
    at, size = relocations.offset, relocations.size
    for _, info, addend in RELOCATION.iter_unpack(data[at : at + size]):
        symbol = symbols[info >> 32]
        target = symbol.value + addend
        if any(symbol.section == section and start <= target < end for section, start, end in wanted):
            kept.append(RELOCATION.pack(len(kept) * 8, info, addend))
    result = bytearray(data)
    entries = b"".join(kept)
    result[at : at + len(entries)] = entries
    table.resize(result, relocations, len(entries))
    table.resize(result, places, len(kept) * 8)
    return bytes(result)


class Section:
    def __init__(self, index: int, name: str, fields: tuple[int, ...]):
        self.index, self.name, self.fields = index, name, fields
        self.offset, self.size, self.link = fields[4], fields[5], fields[6]


class Symbol:
    def __init__(self, name: str, kind: int, section: int, value: int, size: int):
        self.name, self.kind, self.section, self.value, self.size = name, kind, section, value, size


class Elf:
    """The parts of a relocatable file that name functions."""

    FUNCTION = 2

    def __init__(self, data: bytes):
        self.data = data
        self.start = struct.unpack_from("<Q", data, 40)[0]
        count, names = struct.unpack_from("<HH", data, 60)
        headers = [SECTION.unpack_from(data, self.start + index * SECTION.size) for index in range(count)]
        self.sections = [
            Section(index, self.text(headers[names][4] + fields[0]), fields) for index, fields in enumerate(headers)
        ]
        self.symbols = self.read_symbols()

    def text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode()

    def section(self, name: str) -> Section | None:
        return next((each for each in self.sections if each.name == name), None)

    def read_symbols(self) -> list[Symbol]:
        table = self.section(".symtab")
        if not table:
            return []
        names = self.sections[table.link].offset
        return [
            Symbol(self.text(names + name), info & 15, section, value, size)
            for name, info, _, section, value, size in SYMBOL.iter_unpack(
                self.data[table.offset : table.offset + table.size]
            )
        ]

    def functions(self) -> list[Symbol]:
        return [each for each in self.symbols if each.kind == self.FUNCTION and each.section]

    def resize(self, data: bytearray, section: Section, size: int) -> None:
        fields = list(section.fields)
        fields[5] = size
        SECTION.pack_into(data, self.start + section.index * SECTION.size, *fields)
