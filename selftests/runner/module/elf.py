# SPDX-License-Identifier: MIT
"""A relocatable ELF file of x86-64: sections, definitions, and what each relocation refers to."""

import bisect
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SHT_SYMTAB, SHT_RELA, SHT_NOBITS = 2, 4, 8
SHF_MERGE, SHF_STRINGS = 0x10, 0x20
STT_OBJECT, STT_FUNC, STT_SECTION = 1, 2, 3
SHN_UNDEF, SHN_LORESERVE = 0, 0xFF00
# Sections that modpost writes, and names that objtool adds after the link of the objects.
OF_MODPOST = (".modinfo", "__versions", ".orc_header", ".gnu.linkonce.this_module")
OF_OBJTOOL = "__pfx_"
# The header of a section, and a relocation.
HEADER, RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<QQq")
# Relative to the place: R_X86_64_PC32, R_X86_64_PLT32.
PC_RELATIVE = (2, 4)


@dataclass
class Section:
    index: int
    name: str
    kind: int
    flags: int
    offset: int
    data: bytes
    size: int
    entry_size: int
    link: int
    info: int


@dataclass
class Symbol:
    name: str
    kind: int
    is_global: bool
    section: int
    value: int
    size: int


@dataclass
class Relocation:
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True)
class Definition:
    """A function or a variable. Its names are without the numbers that the compiler counts per file."""

    names: tuple[str, ...]
    section: str
    start: int
    size: int
    is_function: bool

    @property
    def shape(self) -> tuple:
        return self.names, self.size, self.is_function


class Object:
    def __init__(self, content: bytes):
        self.content = content
        self.sections = self.read_sections()
        self.by_name = {section.name: section for section in self.sections}
        self.symbols = self.read_symbols()

    @classmethod
    def load(cls, path: Path) -> "Object":
        return cls(path.read_bytes())

    def read_sections(self) -> list[Section]:
        content = self.content
        if content[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits")
        (table,) = struct.unpack_from("<Q", content, 40)
        count, names = struct.unpack_from("<HH", content, 60)
        headers = [HEADER.unpack_from(content, table + HEADER.size * i) for i in range(count)]
        strings = headers[names][4]
        sections = []
        for index, (name, kind, flags, _, offset, size, link, info, _, entry_size) in enumerate(headers):
            data = b"" if kind == SHT_NOBITS else content[offset : offset + size]
            name = text_at(content, strings + name)
            sections.append(Section(index, name, kind, flags, offset, data, size, entry_size, link, info))
        return sections

    def read_symbols(self) -> list[Symbol]:
        table = next(section for section in self.sections if section.kind == SHT_SYMTAB)
        strings = self.sections[table.link].data
        return [
            Symbol(text_at(strings, name), info & 15, info >> 4 != 0, section, value, size)
            for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", table.data)
        ]

    def functions(self) -> list[Symbol]:
        return [each for each in self.symbols if each.kind == STT_FUNC and each.section != SHN_UNDEF]

    def function_names(self, is_global: bool) -> set[str]:
        return {
            each.name
            for each in self.functions()
            if each.is_global == is_global and not each.name.startswith(OF_OBJTOOL)
        }

    @cached_property
    def relocations(self) -> dict[str, list[Relocation]]:
        found: dict[str, list[Relocation]] = {}
        for section in self.sections:
            if section.kind == SHT_RELA:
                found[self.sections[section.info].name] = sorted(
                    (
                        Relocation(offset, info & 0xFFFFFFFF, self.symbols[info >> 32], addend)
                        for offset, info, addend in RELOCATION.iter_unpack(section.data)
                    ),
                    key=lambda each: each.offset,
                )
        return found

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """Returns those of each section, in the order of their addresses."""
        names: dict[tuple[int, int], set[str]] = {}
        sizes: dict[tuple[int, int], tuple[int, bool]] = {}
        for symbol in self.symbols:
            named = symbol.kind in (STT_OBJECT, STT_FUNC) and not symbol.name.startswith(OF_OBJTOOL)
            if named and SHN_UNDEF < symbol.section < SHN_LORESERVE and symbol.size:
                place = symbol.section, symbol.value
                names.setdefault(place, set()).add(re.sub(r"\.\d+$", "", symbol.name))
                size, function = sizes.get(place, (0, False))
                sizes[place] = max(size, symbol.size), function or symbol.kind == STT_FUNC
        found: dict[str, list[Definition]] = {}
        for section, start in sorted(names):
            name = self.sections[section].name
            if name in OF_MODPOST or name.startswith(".note"):
                continue
            found.setdefault(name, []).append(Definition(tuple(sorted(names[section, start])), name, start, *sizes[section, start]))
        return found

    @cached_property
    def global_variables(self) -> dict[str, Definition]:
        at = {(each.section, each.start): each for those in self.definitions.values() for each in those}
        return {
            symbol.name: at[place]
            for symbol in self.symbols
            if symbol.is_global and symbol.kind == STT_OBJECT and symbol.section < SHN_LORESERVE
            if (place := (self.sections[symbol.section].name, symbol.value)) in at
        }

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        return {name: [each.start for each in those] for name, those in self.definitions.items()}

    def bytes_of(self, definition: Definition) -> bytes:
        return self.by_name[definition.section].data[definition.start : definition.start + definition.size]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        return {name: [each.offset for each in those] for name, those in self.relocations.items()}

    def relocations_of(self, definition: Definition) -> list[Relocation]:
        places = self.places.get(definition.section, [])
        first = bisect.bisect_left(places, definition.start)
        last = bisect.bisect_left(places, definition.start + definition.size)
        return self.relocations[definition.section][first:last] if first < last else []

    def target(self, section: str, relocation: Relocation) -> tuple:
        """Returns what a relocation in that section refers to: a tuple without addresses, in which a definition stands for
        itself."""
        symbol = relocation.symbol
        if symbol.is_global or not SHN_UNDEF < symbol.section < SHN_LORESERVE:
            return symbol.name, relocation.addend
        offset = symbol.value + relocation.addend
        if relocation.kind in PC_RELATIVE:  # to the end of the instruction
            offset += 4 + immediate_bytes(self.by_name[section].data, relocation.offset)
        return self.at(self.sections[symbol.section], offset)

    def at(self, section: Section, offset: int) -> tuple:
        if section.flags & SHF_MERGE:
            if section.flags & SHF_STRINGS:
                return "string", text_at(section.data, offset) if 0 <= offset < section.size else None
            constant = Definition((), section.name, offset, section.entry_size, False)
            return "constant", self.bytes_of(constant), *(self.target(section.name, each) for each in self.relocations_of(constant))
        starts = self.starts.get(section.name, [])
        index = bisect.bisect_right(starts, offset) - 1
        if index < 0:
            return section.name, offset
        definition = self.definitions[section.name][index]
        return definition, offset - definition.start


def cut(content: bytearray, section: Section, data: bytes) -> None:
    """Replaces the data of a section of the file by shorter data."""
    (table,) = struct.unpack_from("<Q", content, 40)
    header = table + HEADER.size * section.index
    fields = list(HEADER.unpack_from(content, header))
    fields[5] = len(data)
    HEADER.pack_into(content, header, *fields)
    content[section.offset : section.offset + len(data)] = data


def immediate_bytes(code: bytes, place: int) -> int:
    """The size of the immediate operand behind the four bytes at `place`, if these are relative to RIP."""
    modrm = code[place - 1]
    if modrm & 0xC7 != 0x05:
        return 0
    opcode, before = code[place - 2], code[place - 3]
    if before == 0x0F:
        return int(opcode in (0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6))
    if before == 0x3A and code[place - 4] == 0x0F:
        return 1
    is_test = opcode in (0xF6, 0xF7) and modrm & 0x30 == 0
    if opcode in (0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6) or is_test and opcode == 0xF6:
        return 1
    if opcode in (0x69, 0x81, 0xC7) or is_test:
        prefix = code[place - 4] if before & 0xF0 == 0x40 else before
        return 2 if prefix == 0x66 else 4
    return 0


def text_at(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode(errors="backslashreplace")
