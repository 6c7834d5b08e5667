# SPDX-License-Identifier: MIT
import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from runner.digests import Digests


class Remembered(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.directory / "file"
        self.file.write_text("one")
        self.memory = self.directory / "digests.json"
        self.read = []
        real = Digests.of_bytes
        self.enterContext(
            mock.patch.object(Digests, "of_bytes", staticmethod(lambda path: self.read.append(path) or real(path)))
        )

    def of(self, after_s: float = 10) -> str:
        """As if the files had been written so long ago."""
        digests = Digests(self.memory)
        now = time.time_ns()
        with mock.patch("time.time_ns", lambda: now + int(after_s * 1e9)):
            digest = digests.of(self.file)
        digests.save()
        return digest

    def test_a_file_that_did_not_change_is_read_once(self):
        self.assertEqual(self.of(), self.of())
        self.assertEqual(len(self.read), 1)

    def test_a_write_of_the_same_size_within_the_same_second(self):
        # The clock of some file systems counts seconds, so the second write leaves no other time.
        with mock.patch.object(Digests, "key", staticmethod(lambda status, how: "the same")):
            before = self.of(after_s=0)
            self.file.write_text("two")
            self.assertNotEqual(self.of(after_s=0), before)

    def test_a_young_file_is_read_each_time(self):
        self.of(after_s=1)
        self.of(after_s=1)
        self.assertEqual(len(self.read), 2)

    def test_a_change_that_restores_size_and_mtime(self):
        before = self.of()
        times = self.file.stat()
        time.sleep(0.02)  # longer than the clock of the file system counts
        self.file.write_text("two")
        os.utime(self.file, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertNotEqual(self.of(), before)

    def test_a_memory_that_others_can_write(self):
        self.of()
        self.memory.chmod(0o666)
        self.of()
        self.assertEqual(len(self.read), 2)

    def test_a_program_without_its_debug_data(self):
        source = self.directory / "program.c"
        programs = []
        for name, flags in (("one", "-g0"), ("two", "-g3")):
            source.write_text("int main(void) { return 0; }\n")
            programs.append(self.directory / name)
            os.spawnlp(os.P_WAIT, "gcc", "gcc", flags, "-o", str(programs[-1]), str(source))
        digests = Digests()
        self.assertNotEqual(digests.of(programs[0]), digests.of(programs[1]))
        self.assertEqual(*(digests.of_program(program) for program in programs))
        source.write_text("int main(void) { return 1; }\n")
        os.spawnlp(os.P_WAIT, "gcc", "gcc", "-o", str(programs[1]), str(source))
        self.assertNotEqual(*(digests.of_program(program) for program in programs))

    def test_a_copy_has_the_same_digest(self):
        copy = self.directory / "copy"
        shutil.copy(self.file, copy)
        self.assertEqual(Digests().of(self.file), Digests().of(copy))
