# SPDX-License-Identifier: MIT
import os
import tempfile
import unittest
from datetime import date, timedelta
from pathlib import Path
from unittest import mock

from runner import boots, rotation, suites
from runner.errors import Refusal

DAILY = """
[a]
xccs = 4
run = ["one"]
check = ["judge"]
[b]
run = ["one"]
"""
MATRIX = """
[a]
run = ["two", "three", "four", "five"]
[c]
slice = 1
gpu = "mi250"
run = ["one", "two"]
"""


class Rotation(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in (("daily", DAILY), ("matrix", MATRIX)):
            (self.directory / name).write_text(text)
        self.boots = boots.load([self.directory / "daily"], [self.directory / "matrix"])

    def test_only_commands_of_the_rotation_are_left_with_all_options_of_their_boots(self):
        runs = {boot.name: (boot.run, boot.xccs, boot.gpu, boot.check) for boot in self.boots}
        wanted = {"a": (["two", "three", "four", "five"], [4], "mi300x", []), "c": (["one", "two"], [], "mi250", [])}
        self.assertEqual(runs, wanted)

    def test_each_day_another_slice_until_all_had_their_turn(self):
        begin = date(2026, 11, 28)
        days = [rotation.of_day(self.boots, begin + timedelta(day))[0] for day in range(5)]
        slices = [(boot.name, *boot.run) for boot in days]
        wanted = [("a", "five"), ("a", "two", "three", "four"), ("c", "one"), ("c", "two")]
        self.assertEqual(sorted(slices[:4]), wanted)
        self.assertEqual(slices[4], slices[0])

    def test_a_date_of_the_environment(self):
        with mock.patch.dict(os.environ, ROTATION="2027-03-01"):
            self.assertEqual(rotation.day(), date(2027, 3, 1))
        with mock.patch.dict(os.environ, ROTATION="yesterday"), self.assertRaises(Refusal) as caught:
            rotation.day()
        self.assertIn("ROTATION=yesterday: not a date", str(caught.exception))

    def test_the_job_says_which_slice_it_is(self):
        suite = {"boots": [self.directory / "daily"], "rotation": [self.directory / "matrix"]}
        with mock.patch.dict(os.environ, ROTATION="2027-03-01"):
            (job,) = suites.Suites(Path("/build"), self.directory).jobs("rotation", suite, lambda name, boot: boot)
        boot, note = rotation.of_day(self.boots, date(2027, 3, 1))
        self.assertEqual((job.name, job.note, job.reader.asked), (f"rotation/{boot.name}", note, boot.run))
        self.assertRegex(note, r"^slice \d of 4, that of 2027-03-01; ROTATION=2027-03-01 repeats it$")

    def test_a_boot_without_a_slice_has_no_day(self):
        (self.directory / "matrix").write_text('[a]\nslice = 0\nrun = ["x"]\n[b]\nrun = ["y"]')
        left = boots.load([self.directory / "daily"], [self.directory / "matrix"])
        self.assertEqual([boot.name for boot in rotation.slices(left)], ["b"])

    def test_a_wrong_slice_is_refused(self):
        (self.directory / "matrix").write_text('[a]\nslice = -1\nrun = ["x"]')
        with self.assertRaises(Refusal):
            boots.load([self.directory / "daily"], [self.directory / "matrix"])
