# SPDX-License-Identifier: MIT
"""run-tests: each way in which a test can end is one line of TAP, and a status."""

import re

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases, fails, prints

HEAD = "import unittest\nfrom runner.testing.commands import CommandTest, cases\n\nclass Some(CommandTest):\n"


class RunTests(CommandTest):
    def run_tests(self, body, *words):
        self.write("some_test.py", HEAD + "".join(f"    {line}\n" for line in body.splitlines()))
        return self.ran(REPO / "selftests/runner/run-tests", self.work, *words)

    def results(self, body, *words):
        ran = self.run_tests(body, *words)
        return ran.status, [line for line in ran.stdout.splitlines() if not line.startswith("#")]

    @cases(
        ("passed test", "def test_it_holds(self): pass", 0, "ok 1 - it holds"),
        ("failed test", "def test_it_holds(self): self.fail('no')", 1, "not ok 1 - it holds"),
        ("test with an error", "def test_it_holds(self): self.absent", 1, "not ok 1 - it holds"),
        ("test with a failed part", "def test_it_holds(self):\n    with self.subTest('part'): self.fail()", 1, "not ok 1 - it holds"),
        ("skipped test", "@unittest.skip('no root')\ndef test_it_holds(self): pass", 0, "ok 1 - it holds # SKIP no root"),
        ("row of cases", "@cases(('it holds: 1.5', 3))\ndef row(self, number): self.assertEqual(number, 3)", 0, "ok 1 - it holds: 1.5"),
    )
    def ends(self, body, status, line):
        self.assertEqual(self.results(body), (status, [line, "1..1"]))

    def test_failed_set_up_of_a_class_is_a_failure(self):
        status, lines = self.results("@classmethod\ndef setUpClass(cls): cls.absent\ndef test_it_holds(self): pass")
        self.assertEqual((status, lines[-1]), (1, "1..1"))
        self.assertRegex(lines[0], "^not ok 1 - setUpClass")

    def test_file_that_cannot_be_read_is_a_failure(self):
        status, lines = self.results("def test_it_holds(self) pass")
        self.assertEqual((status, lines[-1]), (1, "1..1"))

    def test_directory_without_tests_fails(self):
        self.assertEqual(self.results("pass"), (1, ["1..0"]))

    def test_names_choose_tests(self):
        body = "def test_one_thing(self): pass\ndef test_another(self): self.fail()"
        self.assertEqual(self.results(body, "one thing"), (0, ["ok 1 - one thing", "1..1"]))

    def test_second_row_of_a_name_is_refused(self):
        ran = self.run_tests("@cases(('it holds',), ('it holds',))\ndef row(self): pass")
        self.assertEqual(ran.status, 1)
        self.assertIn("two tests are called 'it holds'", ran.stdout)

    def test_missing_program_is_named(self):
        ran = self.run_tests("def test_it_holds(self):\n    from runner.testing.commands import program\n    program('xpreemptd')")
        self.assertEqual(ran.status, 1)
        self.assertIn("run-tests needs xpreemptd=PATH", ran.stdout)

    def test_missing_directory_is_an_error_of_usage(self):
        ran = self.ran(REPO / "selftests/runner/run-tests", self.work / "absent")
        self.assertEqual(ran.status, 64)
        self.assertRegex(ran.stderr, "^usage: run-tests DIRECTORY")


class Expectations(CommandTest):
    """Each of these would pass if the fixtures compared nothing."""

    @cases(
        ("wrong status is not met", "echo yes; exit 1", prints("yes")),
        ("missing line is not met", "echo no", prints("yes")),
        ("line on the other stream is not met", "echo yes >&2", prints("yes")),
        ("output on both streams is not met", "echo yes; echo more >&2", prints("yes")),
        ("error without its text is not met", "echo no >&2; exit 2", fails(2, "yes")),
    )
    def not_met(self, script, expected):
        with self.assertRaises(AssertionError):
            self.meets(expected, "sh", "-c", script)

    def test_failed_command_does_not_succeed(self):
        with self.assertRaisesRegex(AssertionError, re.escape("stderr: why")):
            self.succeeds("sh", "-c", "echo why >&2; exit 3")

    def test_fake_command_is_found_before_the_real_one(self):
        self.fake_command("true", "echo fake")
        self.assertEqual(self.succeeds("true").stdout, "fake\n")
