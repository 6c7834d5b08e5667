# SPDX-License-Identifier: MIT
"""Programs and kernel modules without what costs a boot time: names, debug data, signatures."""

import lzma
import re
import subprocess
from pathlib import Path
from typing import Iterable

from ..module.elf import RELOCATION, Object, cut
from .layers import Store

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
    table = Object(data)
    relocations, places = table.by_name.get(f".rela{MCOUNT}"), table.by_name.get(MCOUNT)
    if not relocations or not places:
        return data
    wanted = [(each.section, each.value, each.value + each.size) for each in table.functions() if each.name in names]
    kept = []
    for _, info, addend in RELOCATION.iter_unpack(relocations.data):
        symbol = table.symbols[info >> 32]
        target = symbol.value + addend
        if any(symbol.section == section and start <= target < end for section, start, end in wanted):
            kept.append(RELOCATION.pack(len(kept) * 8, info, addend))
    result = bytearray(data)
    cut(result, relocations, b"".join(kept))
    cut(result, places, places.data[: len(kept) * 8])
    return bytes(result)
