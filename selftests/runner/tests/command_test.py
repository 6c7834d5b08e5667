# SPDX-License-Identifier: MIT
"""The command lines of selftests/run, ci/test, ci/demo and ci/deps."""

import subprocess
import unittest

from runner.paths import REPO


def said(*command: str) -> tuple[int, str]:
    ran = subprocess.run(
        [REPO / command[0], *command[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.returncode, ran.stdout


class Commands(unittest.TestCase):
    def refused(self, text: str, *command: str):
        status, output = said(*command)
        self.assertEqual(status, 64, output)
        self.assertIn(text, output)

    def test_wrong_words_are_named(self):
        self.refused("no suite 'demos'", "ci/test", "demos")
        self.refused("no suite 'vm/nothing'", "selftests/run", "vm/nothing")
        self.refused("no suite 'nothing'", "selftests/run", "--kernel", "no-such-kernel", "nothing")
        self.refused("--frob", "selftests/run", "--frob")
        self.refused("--filter (", "selftests/run", "--filter", "(")
        self.refused("nothing to run", "selftests/run", "--filter", "^no such test$")
        self.refused("/none.toml", "selftests/run", "--suites", "/none.toml")
        self.refused("--fast", "ci/demo", "--fast")
        self.refused("vm", "ci/demo", "--help", "vm")
        self.refused("no mode 'fast'", "ci/demo", "two-jobs", "free", "fast")
        self.refused("yield twice", "ci/demo", "yield", "twice")
        self.refused("--tests", "ci/deps", "--tests")

    def test_the_list_has_boots_and_their_commands(self):
        status, output = said("selftests/run", "--list", "vm/driver-hws", "lint")
        self.assertEqual(status, 0)
        self.assertEqual([line for line in output.splitlines() if not line.startswith(" ")], ["vm/driver-hws", "lint"])
        self.assertIn("    preempt_test\n", output)

    def test_a_filter_leaves_the_commands_that_match(self):
        _, output = said("selftests/run", "--list", "--filter", "vm/no-hws-xcc4: suspend")
        self.assertEqual(output.splitlines(), ["vm/no-hws-xcc4", "    suspend_test"])

    def test_a_boot_by_its_own_name(self):
        _, output = said("selftests/run", "--list", "hws-xcc8")
        self.assertEqual(output.splitlines()[0], "vm/hws-xcc8")

    def test_a_reader_of_the_list_that_goes_away(self):
        command = [REPO / "selftests/run", "--list"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, 141)

    def test_help_of_the_demo(self):
        self.assertIn("usage: ci/demo [yield | two-jobs [MODE]...]\n", said("ci/demo", "--help")[1])
