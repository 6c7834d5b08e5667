# SPDX-License-Identifier: MIT
import io
import struct
import subprocess
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path
from unittest import mock

from runner.module import sources, whole
from runner.module.compare import Comparison
from runner.module.elf import SHT_SYMTAB, Object
from runner.module.link import replaced_names
from runner.module.main import TestModule
from runner.paths import VM

BEFORE = """
extern int printk(const char *, ...);
extern int ours(int);
static int counter;
const int table[] = {1, 2, 3};
static __attribute__((noinline)) int helper(int x) { return x * table[x & 1] + counter++; }
int first(int x) { printk("first %d", x); return helper(x) + ours(x); }
int second(int x) { printk("second %d", x); return helper(x + 1) - ours(x); }
"""
OURS = """
extern int printk(const char *, ...);
int ours(int x) { printk("ours"); return x + NUMBER; }
"""
AFTER = """
extern int printk(const char *, ...);
extern int ours(int);
static int counter;
int last(int x) { printk("last %s", __func__); return ours(x) + counter++; }
int (*const calls[])(int) = {last, ours};
"""


def built(work: Path, name: str, text: str) -> Path:
    source, made = work / f"{name}.c", work / f"{name}.o"
    source.write_text(text)
    subprocess.run(["gcc", "-O2", "-fno-pic", "-mcmodel=kernel", "-c", source, "-o", made], check=True)
    return made


def linked(work: Path, name: str, *parts: Path) -> bytes:
    made = work / f"{name}.ko"
    subprocess.run(["ld", "-r", "-o", made, *parts], check=True)
    return made.read_bytes()


class Modules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.work = Path(directory.name)
        before, after = built(cls.work, "before", BEFORE), built(cls.work, "after", AFTER)
        theirs = built(cls.work, "theirs", OURS.replace("NUMBER", "1") + "int old(int x) { return x; }")
        cls.ours = built(cls.work, "ours", OURS.replace("NUMBER", "1000") + 'int new(int x) { return printk("new") + x; }')
        cls.stock = linked(cls.work, "stock", before, theirs, after)
        cls.whole = linked(cls.work, "whole", before, cls.ours, after)

    def differences(self, whole: bytes) -> list[str]:
        return Comparison(Object(self.stock), Object(whole), [Object.load(self.ours)]).differences

    def flipped(self, offset: int) -> bytes:
        content = bytearray(self.whole)
        content[offset] ^= 1
        return bytes(content)

    def place(self, name: str) -> int:
        """The offset in the file of a definition."""
        module = Object(self.whole)
        symbol = next(each for each in module.symbols if each.name == name)
        (table,) = struct.unpack_from("<Q", self.whole, 40)
        return struct.unpack_from("<Q", self.whole, table + 64 * symbol.section + 24)[0] + symbol.value

    def relocation(self, section: str, name: str) -> int:
        """The offset in the file of the first relocation of a definition."""
        module = Object(self.whole)
        table = self.whole.index(module.by_name[f".rela{section}"].data)
        definition = next(each for each in module.definitions[section] if name in each.names)
        wanted = module.relocations_of(definition)[0].offset
        rows = struct.iter_unpack("<QQq", module.by_name[f".rela{section}"].data)
        return table + 24 * next(index for index, row in enumerate(rows) if row[0] == wanted)

    def test_modules_with_other_objects_of_ours_are_equal_elsewhere(self):
        found = Comparison(Object(self.stock), Object(self.whole), [Object.load(self.ours)])
        self.assertEqual(found.differences, [])
        self.assertEqual((found.functions, found.variables), (4, 5))

    def test_a_byte_of_another_function_is_noticed(self):
        for name in ("helper", "second", "last"):
            self.assertEqual(self.differences(self.flipped(self.place(name))), [f"{name}: its bytes differ"])

    def test_a_byte_of_a_variable_is_noticed(self):
        self.assertEqual(self.differences(self.flipped(self.place("table"))), ["table: its bytes differ"])

    def test_a_relocation_to_another_symbol_is_noticed(self):
        offset = self.relocation(".text", "first") + 12
        module = Object(self.whole)
        other = next(index for index, each in enumerate(module.symbols) if each.name == "last")
        content = bytearray(self.whole)
        struct.pack_into("<I", content, offset, other)
        self.assertRegex(self.differences(bytes(content))[0], r"^first: 0x\w+ refers to last")

    def test_a_relocation_to_another_place_is_noticed(self):
        for section, name in ((".text", "first"), (".text", "last"), (".text", "helper"), (".rodata", "calls")):
            # The addend.
            found = self.differences(self.flipped(self.relocation(section, name) + 16))
            self.assertRegex(found[0], rf"^{name}: 0x\w+ refers to ")

    def test_a_relocation_that_is_not_there_is_noticed(self):
        content = bytearray(self.whole)
        struct.pack_into("<Q", content, self.relocation(".text", "last"), 1 << 20)
        self.assertRegex(self.differences(bytes(content))[0], r"^last: it has \d relocations instead of \d")

    def test_a_variable_of_another_size_is_noticed(self):
        module = Object(self.whole)
        number = next(index for index, each in enumerate(module.symbols) if each.name == "counter")
        table = next(section.data for section in module.sections if section.kind == SHT_SYMTAB)
        content = bytearray(self.whole)
        struct.pack_into("<Q", content, self.whole.index(table) + 24 * number + 16, 2)
        self.assertRegex(self.differences(bytes(content))[0], "^helper: 0x.* refers to counter of 2 bytes [+] 0 instead of counter of 4 bytes [+] 0")

    def test_two_variables_of_one_name_that_are_exchanged_are_noticed(self):
        module = Object(self.whole)
        table = self.whole.index(module.by_name[".rela.text"].data)
        last = module.definitions[".text"][-1]
        content, exchanged = bytearray(self.whole), 0
        for number, row in enumerate(struct.iter_unpack("<QQq", module.by_name[".rela.text"].data)):
            symbol = module.symbols[row[1] >> 32]
            if not symbol.is_global and module.sections[symbol.section].name == ".bss":
                # Both are of four bytes, and the only ones there.
                struct.pack_into("<q", content, table + 24 * number + 16, row[2] + (4 if row[0] < last.start else -4))
                exchanged += 1
        self.assertGreater(exchanged, 2)
        self.assertEqual(self.differences(bytes(content)), ["counter: it is at another place in .bss"])

    def test_another_string_is_noticed(self):
        whole = self.whole.replace(b"second %d", b"SECOND %d")
        self.assertRegex(self.differences(whole)[0], r"^second: 0x\w+ refers to .*SECOND")

    def test_a_function_that_is_not_debians_is_noticed(self):
        after = built(self.work, "longer", AFTER + 'int more(int x) { return printk("more") + x; }')
        whole = linked(self.work, "longer", self.work / "before.o", self.ours, after)
        self.assertIn(".text: Debian's ends before more", self.differences(whole))

    def test_a_module_without_an_object_of_ours_is_noticed(self):
        self.assertRegex(self.differences(self.stock)[0], "ours and what follows in our object is not in the module")


class Names(unittest.TestCase):
    def test_local_functions_that_ours_replace_are_found(self):
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        local = "static __attribute__((noinline, used)) int {}(int x) {{ return x; }}\n"
        theirs = built(work, "theirs", local.format("same") + local.format("gone") + local.format("now_global") + "int elsewhere(int x) { return x; }")
        ours = built(work, "ours", local.format("same") + local.format("elsewhere") + "int now_global(int x) { return x; }")
        self.assertEqual(replaced_names(Object.load(theirs), [Object.load(ours)]), {"same", "now_global"})


class CommandLine(unittest.TestCase):
    def test_wrong_words_of_test_module_are_named(self):
        for words, status, text in ((["--mutant", "none"], 1, "no mutant 'none'"), (["--bogus"], 64, "usage: test-module"), (["--mutant"], 64, "usage")):
            ran = subprocess.run([VM / "test-module", *words], capture_output=True, text=True, check=False)
            self.assertEqual((ran.returncode, ran.stdout), (status, ""))
            self.assertIn(text, ran.stderr)


class Builds(unittest.TestCase):
    """A module of one object and one changed header of amdgpu."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = Path(directory.name)
        self.module = TestModule.__new__(TestModule)
        self.module.pristine, self.module.result = self.work / "pristine", self.work / "result"
        self.module.series, self.module.headers, self.module.stock = "linux-6.12", Path("headers"), self.work / "stock.ko"
        self.module.mutant, self.module.kernel = None, "6.12.117+deb12-amd64"
        self.header(self.module.pristine, "before")
        for name in ("linked.ko", "amdkfd/ours.o", "dkms/amdgpu.ko", "stock.ko"):
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(name)
        self.dkms_has(self.work / "amdkfd/ours.o")

    def header(self, root: Path, text: str) -> None:
        (root / sources.AMD / "amdgpu").mkdir(parents=True)
        (root / sources.AMD / "amdgpu/amdgpu.h").write_text(text)

    def dkms_has(self, built: Path) -> None:
        (self.work / "dkms/objects").write_text(f"{sha256(built.read_bytes()).hexdigest()}  amdkfd/ours.o\n")

    def make(self, listed: str) -> str:
        """Returns the content of the module."""
        (self.work / "headers").write_text(listed)
        with (
            mock.patch("runner.module.sources.lay_out", lambda pristine, tree, *rest: self.header(tree, "after")),
            mock.patch("runner.module.link.compile_ours", return_value=[self.work / "amdkfd/ours.o"]),
            mock.patch("runner.module.link.link", return_value=self.work / "linked.ko"),
            mock.patch.object(TestModule, "by_dkms", return_value=self.work / "dkms/amdgpu.ko"),
            mock.patch("runner.module.main.HEADERS", self.work / "headers"),
            redirect_stderr(io.StringIO()),
        ):
            self.module.build(self.work)
        return (self.module.result / "amdgpu.ko").read_text()

    def test_changes_of_headers_that_are_not_listed_have_the_module_built_whole(self):
        self.assertEqual(self.make(listed=""), "dkms/amdgpu.ko")
        unlisted = self.module.unlisted_headers
        self.assertEqual(self.module.summary(), "module: all of amdgpu.ko as DKMS builds it for 6.12.117+deb12-amd64")
        self.assertEqual(self.make(listed=f"# comment\n{unlisted}\n"), "linked.ko")
        self.assertRegex(self.module.summary(), "^module: Debian's amdgpu.ko 6.12.117 with 1 objects of ours; the whole build by DKMS last passed ")

    def suite(self, differences: list[str]) -> tuple[int, str]:
        printed = io.StringIO()
        with (
            mock.patch("runner.module.whole.TestModule", return_value=self.module),
            mock.patch.object(TestModule, "make"),
            mock.patch.object(TestModule, "by_dkms", return_value=self.work / "dkms/amdgpu.ko"),
            mock.patch("runner.module.whole.compared", lambda tap, *rest: tap.ok("the rest", differences)),
            mock.patch("runner.module.whole.Object"),
            mock.patch("runner.module.whole.STAMPS", self.work / "stamps"),
            redirect_stdout(printed),
            redirect_stderr(io.StringIO()),
        ):
            return whole.main(), printed.getvalue()

    def test_the_suite_fails_for_another_object_and_notes_only_a_pass(self):
        self.make(listed="")
        known = self.module.unlisted_headers
        status, text = self.suite([])
        self.assertEqual(status, 1)
        self.assertIn(f"does not have {known}", text)
        self.make(listed=known)
        self.dkms_has(self.work / "linked.ko")
        status, text = self.suite([])
        self.assertEqual(status, 1)
        self.assertIn("# amdkfd/ours.o is another", text)
        self.dkms_has(self.work / "amdkfd/ours.o")
        self.assertEqual(self.suite(["a function is another"])[0], 1)
        self.assertFalse((self.work / "stamps").exists())
        self.assertEqual(self.suite([])[0], 0)
        self.assertTrue((self.work / "stamps/passed.tap").exists())


class Sources(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.old, self.new, self.tree = (Path(directory.name) / name for name in ("old", "new", "tree"))
        for root in (self.old, self.new):
            (root / sources.AMD / "amdgpu").mkdir(parents=True)
            (root / sources.AMD / "amdgpu/a.h").write_text("one\ntwo\nthree\n")

    def header(self, root: Path) -> Path:
        return root / sources.AMD / "amdgpu/a.h"

    def test_only_a_file_that_has_changed_gets_a_new_time(self):
        for root in (self.old, self.new):
            (root / sources.AMD / "amdgpu/b.c").write_text("same")
        sources.update(self.old, self.tree)
        before = [path.stat().st_mtime_ns for path in sorted(self.tree.rglob("*.[ch]"))]
        (self.tree / sources.AMD / "amdgpu/gone.c").write_text("of an earlier patch")
        (self.tree / sources.AMD / "amdgpu/b.o").write_text("built")
        self.header(self.new).write_text("one\n2\nthree\n")
        sources.update(self.new, self.tree)
        after = [path.stat().st_mtime_ns for path in sorted(self.tree.rglob("*.[ch]"))]
        self.assertEqual([x == y for x, y in zip(before, after, strict=True)], [False, True])
        self.assertEqual(self.header(self.tree).read_text(), "one\n2\nthree\n")
        self.assertTrue((self.tree / sources.AMD / "amdgpu/b.o").exists())

    def test_a_changed_header_of_amdkfd_reaches_the_files_that_include_it(self):
        files = {
            "amdkfd/changed.h": "",
            "amdkfd/between.h": '#include "changed.h"',
            "amdgpu/far.c": '#include <linux/mm.h>\n#include "../amdkfd/between.h"',
            "amdgpu/near.c": ' # include "changed.h"',
            "amdgpu/other.c": '#include "a.h"',
            "amdgpu/patched.c": "",
        }
        for name, text in files.items():
            (self.new / sources.AMD / name).parent.mkdir(exist_ok=True)
            (self.new / sources.AMD / name).write_text(text)
        changed = [Path("amdkfd/changed.h"), Path("amdgpu/a.h"), Path("amdgpu/patched.c")]
        found = [str(path) for path in sources.reached(self.new, changed)]
        self.assertEqual(found, ["amdgpu/far.c", "amdgpu/near.c", "amdgpu/patched.c"])

    def test_a_changed_header_is_hashed_by_its_changed_lines(self):
        def hashed():
            paths = sources.changed(self.old, self.new)
            return sources.lines_changed(self.old, self.new, paths)

        nothing = hashed()
        self.header(self.new).write_text("one\n2\nthree\n")
        changed = hashed()
        self.assertNotEqual(nothing, changed)
        # Debian's next release has another line above.
        self.header(self.old).write_text("zero\none\ntwo\nthree\n")
        self.header(self.new).write_text("zero\none\n2\nthree\n")
        self.assertEqual(hashed(), changed)
        self.header(self.new).write_text("zero\none\n2\nthree\nfour\n")
        self.assertNotEqual(hashed(), changed)
