# SPDX-License-Identifier: MIT
"""The kernel as QEMU enters it fastest: vmlinux by its PVH entry, so that the guest unpacks nothing.

A vmlinuz unpacks itself under TCG, which takes two seconds. The unpacked kernel runs where it is
linked to: without the address that the code which unpacks it chooses at random.
"""

import lzma
import struct
import subprocess
import zlib
from pathlib import Path

from .layers import Store

# In the header of a bzImage (Documentation/arch/x86/boot.rst).
SETUP_SECTORS, MAGIC, PAYLOAD = 0x1F1, 0x202, 0x248
PVH_ENTRY = 18  # XEN_ELFNOTE_PHYS32_ENTRY
PT_NOTE = 4


def bootable(vmlinuz: Path, store: Store) -> Path:
    """The vmlinux in it, in the store; vmlinuz itself if QEMU cannot enter that one."""

    def make() -> list[str]:
        kernel = unpacked(vmlinuz.read_bytes())
        return [store.put(".vmlinux", lambda file: file.write(kernel)).name] if has_pvh_entry(kernel) else []

    names = store.remembered(make, "vmlinux", vmlinuz)
    return store.directory / names[0] if names else vmlinuz


def unpacked(image: bytes) -> bytes:
    """The payload of a bzImage that zstd, xz or gzip has packed, otherwise nothing."""
    if image[MAGIC : MAGIC + 4] != b"HdrS":
        return b""
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = (image[SETUP_SECTORS] + 1) * 512 + offset
    # The last four bytes are the unpacked size, which gzip has in its own format.
    payload = image[start : start + length]
    try:
        if payload.startswith(b"\x28\xb5\x2f\xfd"):
            return subprocess.run(["zstd", "-dcq"], input=payload[:-4], capture_output=True, check=True).stdout
        if payload.startswith(b"\xfd7zXZ"):
            return lzma.decompress(payload[:-4])
        if payload.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(wbits=31).decompress(payload)
    except (lzma.LZMAError, zlib.error, subprocess.CalledProcessError):
        pass
    return b""


def has_pvh_entry(kernel: bytes) -> bool:
    if kernel[:5] != b"\x7fELF\x02":
        return False
    offset = struct.unpack_from("<Q", kernel, 32)[0]
    size, count = struct.unpack_from("<HH", kernel, 54)
    for index in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", kernel, offset + index * size)
        if kind == PT_NOTE and PVH_ENTRY in notes(kernel[at : at + length]):
            return True
    return False


def notes(data: bytes) -> set[int]:
    """The types of Xen's notes."""
    found, at = set(), 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        if data[at + 12 : at + 12 + name_size] == b"Xen\0":
            found.add(kind)
        at += 12 + (name_size + 3 & ~3) + (size + 3 & ~3)
    return found
