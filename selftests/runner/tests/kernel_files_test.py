# SPDX-License-Identifier: MIT
"""The kernel and its modules as the guest gets them."""

import gzip
import lzma
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from runner.module import elf
from runner.vm import slim
from runner.vm.kernel_image import bootable, has_pvh_entry, unpacked
from runner.vm.layers import Store


def vmlinux(note: bytes) -> bytes:
    """The header of an ELF file, one program header, and a note."""
    header = struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(note), len(note), 4) + note


def note(name: bytes, kind: int, data: bytes = b"\0" * 4) -> bytes:
    return struct.pack("<III", len(name), len(data), kind) + name + b"\0" * (-len(name) % 4) + data


def bzimage(payload: bytes) -> bytes:
    image = bytearray(1024)
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 16, len(payload))
    return bytes(image) + b"\0" * 16 + payload + b"behind it"


class Kernel(unittest.TestCase):
    PVH = vmlinux(note(b"GNU\0", 18) + note(b"Xen\0", 18))

    def test_each_way_to_pack_a_kernel(self):
        size = struct.pack("<I", len(self.PVH))
        zstd = subprocess.run(["zstd", "-c"], input=self.PVH, capture_output=True, check=True).stdout
        for payload in (zstd + size, lzma.compress(self.PVH, check=lzma.CHECK_CRC32) + size, gzip.compress(self.PVH)):
            self.assertEqual(unpacked(bzimage(payload)), self.PVH)

    def test_what_it_cannot_unpack(self):
        for image in (b"", b"\0" * 4096, bzimage(b"LZ4 or so"), bzimage(b"\x28\xb5\x2f\xfdbroken"), bzimage(b"\xfd7zXZbroken")):
            self.assertEqual(unpacked(image), b"")

    def test_the_entry_that_qemu_takes(self):
        self.assertTrue(has_pvh_entry(self.PVH))
        self.assertFalse(has_pvh_entry(vmlinux(note(b"GNU\0", 18) + note(b"Xen\0", 17))))
        self.assertFalse(has_pvh_entry(b"MZ"))

    def test_a_kernel_without_it_is_booted_as_it_is(self):
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        vmlinuz, store = work / "vmlinuz", Store(work / "store")
        vmlinuz.write_bytes(bzimage(gzip.compress(vmlinux(note(b"Xen\0", 17)))))
        self.assertEqual(bootable(vmlinuz, store), vmlinuz)
        vmlinuz.write_bytes(bzimage(gzip.compress(self.PVH)))
        self.assertEqual(bootable(vmlinuz, store).read_bytes(), self.PVH)


class Modules(unittest.TestCase):
    SOURCE = "int first(int x) { return x + 1; }\nstatic __attribute__((noinline)) int second(int x) { return first(x) * 2; }\n"
    SOURCE += "int third(int x) { return second(x) * 3; }\n"

    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.work / "module.c").write_text(self.SOURCE)
        # As the kernel is compiled for its function tracer.
        flags = ["-O1", "-g", "-pg", "-mfentry", "-mrecord-mcount", "-fno-pic", "-fno-inline", "-c"]
        subprocess.run(["gcc", *flags, "module.c", "-o", "module.ko"], cwd=self.work, check=True)

    def slim(self, *traced: str) -> Path:
        slim.module(self.work / "module.ko", self.work / "slim.ko", traced)
        return self.work / "slim.ko"

    def targets(self, path: Path) -> list[int]:
        """Where the functions are that the tracer may patch."""
        module = elf.Object.load(path)
        table = module.by_name.get(".rela__mcount_loc")
        if not table or "__mcount_loc" not in module.by_name:
            return []
        self.assertEqual(module.by_name["__mcount_loc"].size, table.size // 3)
        found = list(elf.RELOCATION.iter_unpack(table.data))
        self.assertEqual([place for place, _, _ in found], [8 * index for index in range(len(found))])
        return [module.symbols[info >> 32].value + addend for _, info, addend in found]

    def addresses(self) -> dict[str, int]:
        return {each.name: each.value for each in elf.Object.load(self.work / "module.ko").functions()}

    def test_only_the_functions_that_are_traced_stay(self):
        at = self.addresses()
        self.assertEqual(sorted(self.targets(self.work / "module.ko")), sorted(at.values()))
        self.assertEqual(self.targets(self.slim("second", "no_such")), [at["second"]])
        self.assertEqual(self.targets(self.slim("third", "first")), sorted([at["first"], at["third"]]))

    def test_none_stays_where_nothing_is_traced(self):
        self.assertEqual(self.targets(self.slim()), [])

    def test_it_is_still_a_module_for_binutils(self):
        subprocess.run(["ld", "-r", "-o", self.work / "linked", self.slim("second")], check=True)
        self.assertEqual(self.targets(self.work / "linked"), [self.addresses()["second"]])

    def test_names_that_a_module_has_as_strings(self):
        path = self.work / "probes.ko"
        path.write_bytes(b"\x7fELF\0pm_send_runlist\0not a name\0")
        self.assertIn("pm_send_runlist", slim.names_in(path))
        self.assertNotIn("not a name", slim.names_in(path))

    def test_a_program_has_the_same_bytes_wherever_it_was_built(self):
        made = []
        for name in ("here", "somewhere/else"):
            source = self.work / name / "main.c"
            source.parent.mkdir(parents=True)
            source.write_text("int main(void) { return 0; }\n")
            subprocess.run(["gcc", "-g", "-Wl,--build-id", source, "-o", source.parent / "program"], check=True)
            before = (source.parent / "program").read_bytes()
            slim.program(source.parent / "program")
            made.append((before, (source.parent / "program").read_bytes()))
        (before, after), (before_there, after_there) = made
        self.assertNotEqual(before, before_there)
        self.assertEqual(after, after_there)
        ran = subprocess.run([self.work / "here" / "program"], check=False)
        self.assertEqual(ran.returncode, 0)
