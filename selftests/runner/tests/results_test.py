# SPDX-License-Identifier: MIT
import unittest

from runner.results import BootReader, CtestReader, TapReader


def read(reader, text: str, status: int = 0) -> list[tuple[str, bool]]:
    for line in text.splitlines():
        reader.line(line)
    reader.end(status)
    return [(result.name, result.passed) for result in reader.results]


class Tap(unittest.TestCase):
    def test_names_of_all_dialects(self):
        text = "TAP version 13\n1..3\nok 1 - a b\nok 2 c\nok - d\n# ok 9 - a comment\n    ok 1 part of a test"
        self.assertEqual(read(TapReader(), text), [("a b", True), ("c", True), ("d", True)])

    def test_a_skipped_test_has_failed(self):
        self.assertEqual(read(TapReader(), "ok 1 - a # SKIP no GPU"), [("a", False)])
        self.assertEqual(read(TapReader(), "ok 1 # SKIP no GPU"), [("", False)])

    def test_a_failed_test(self):
        self.assertEqual(read(TapReader(), "not ok 1 - a", 1), [("a", False)])

    def test_a_command_that_fails_without_a_failed_test(self):
        self.assertEqual(read(TapReader(), "ok 1 - a", 3), [("a", True), ("the command", False)])

    def test_a_command_without_any_test(self):
        self.assertEqual(read(TapReader(), "all is well"), [("the command", False)])

    def test_words_that_begin_like_a_result(self):
        self.assertEqual(read(TapReader(), "okay\nok 1 - a"), [("a", True)])

    def test_a_plan_with_more_tests_than_ran(self):
        for text in ("1..3\nok 1 - a\nok 2 - b", "ok 1 - a\nok 2 - b\n1..3", "ok 1 - a\n1..1\nok 1 - b\n1..2"):
            with self.subTest(text):
                wanted = [("a", True), ("b", True), ("as many tests run as planned", False)]
                self.assertEqual(read(TapReader(), text), wanted)

    def test_a_plan_with_fewer_tests_than_ran(self):
        reader = TapReader()
        read(reader, "1..1\nok 1 - a\nok 2 - b")
        self.assertEqual(reader.results[-1].why, "planned 1, but 2 ran")

    def test_plans_of_scripts_that_run_one_after_the_other(self):
        for text in ("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c", "ok 1 - a\n1..1\nok 1 - b\nok 2 - c\n1..2 # end"):
            self.assertEqual([good for _, good in read(TapReader(), text)], [True, True, True])

    def test_a_test_that_a_forked_child_prints_once_more(self):
        for text in ("1..2\nok 1 - a\nok 1 - a", "ok 1 - a\nok 1 - b\n1..2"):
            with self.subTest(text):
                self.assertEqual([good for _, good in read(TapReader(), text, 1)], [True, False])

    def test_a_script_without_numbers_may_repeat_a_name(self):
        self.assertEqual([good for _, good in read(TapReader(), "ok - a\nok - a")], [True, True])

    def test_the_same_name_of_two_tests(self):
        self.assertEqual(read(TapReader(), "1..2\nok 1 - a\nok 2 - a"), [("a", True), ("a", True)])

    def test_the_same_name_in_two_scripts(self):
        self.assertEqual(read(TapReader(), "ok 1 - a\n1..1\nok 1 - a\n1..1"), [("a", True), ("a", True)])

    def test_a_skipped_test_of_ctest(self):
        text = "1/1 Test #1: Ring.Wraps .....***Skipped   0.01 sec\n100% tests passed, 0 tests failed out of 1\n"
        reader = CtestReader()
        self.assertEqual(read(reader, text), [("Ring.Wraps", False)])
        self.assertIn("Skipped", reader.results[0].why)

    def test_ctest_that_lost_a_line(self):
        text = "1/2 Test #1: Ring.Wraps ..... Passed   0.01 sec\n100% tests passed, 0 tests failed out of 2\n"
        self.assertEqual(read(CtestReader(), text)[-1], ("as many tests run as planned", False))

    def test_lines_of_ctest(self):
        text = (
            "      Start  1: Ring.Wraps\n"
            " 1/12 Test  #1: Ring.Wraps ....................   Passed    0.01 sec\n"
            "12/12 Test #12: Ring.Full .....................***Failed    0.02 sec\n"
        )
        self.assertEqual(read(CtestReader(), text, 8), [("Ring.Wraps", True), ("Ring.Full", False)])


class Boot(unittest.TestCase):
    WELL = ("b: kernel log and vgpu have nothing to complain about", True)

    def test_each_test_of_each_command(self):
        text = "@run one\nok 1 - a\n@exit 0\n@run two\nok 1 - b\nok 2 - c\n@exit 0"
        wanted = [("b: one: a", True), ("b: two: b", True), ("b: two: c", True), self.WELL]
        self.assertEqual(read(BootReader("b", ["one", "two"]), text), wanted)

    def test_a_command_that_ran_no_test(self):
        wanted = [("b: one", False), self.WELL]
        self.assertEqual(read(BootReader("b", ["one"]), "@run one\n@exit 0"), wanted)

    def test_the_plan_of_each_command(self):
        text = "@run one\n1..2\nok 1 - a\n@exit 0\n@run two\n1..1\nok 1 - a\n@exit 0"
        wanted = [("b: one: a", True), ("b: one: as many tests run as planned", False), ("b: two: a", True), self.WELL]
        self.assertEqual(read(BootReader("b", ["one", "two"]), text), wanted)

    def test_a_test_that_one_command_prints_twice(self):
        text = "@run one\n1..2\nok 1 - a\nok 1 - a\n@exit 0"
        self.assertEqual([good for _, good in read(BootReader("b", ["one"]), text)], [True, False, True])

    def test_a_command_that_crashed_after_its_tests(self):
        text = "@run one\nok 1 - a\n@exit 139"
        self.assertEqual(read(BootReader("b", ["one"]), text), [("b: one: a", True), ("b: one", False), self.WELL])

    def test_a_command_that_did_not_end(self):
        text = "@run one\nok 1 - a\nrun: logs in x\nrun: timeout: nothing finished"
        reader = BootReader("b", ["one", "two"])
        names = read(reader, text, 124)
        self.assertEqual([good for _, good in names], [True, False, False])
        self.assertEqual(reader.results[-1].why, "the run ended with status 124: timeout: nothing finished")

    def test_a_boot_that_must_fail(self):
        text = "@run one\nok 1 - a\nnot ok 2 - b\n@exit 1"
        self.assertEqual(
            read(BootReader("b", ["one"], must_fail=True), text, 1),
            [("b: fails as it must: one", True), self.WELL],
        )

    def test_a_boot_that_must_fail_and_passes_or_crashes(self):
        for text in ("@run one\nok 1 - a\n@exit 0", "@run one\n@exit 1", "@run one\nnot ok 1 - a\n@exit 127"):
            with self.subTest(text):
                self.assertFalse(read(BootReader("b", ["one"], must_fail=True), text, 1)[0][1])
