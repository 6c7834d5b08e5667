# SPDX-License-Identifier: MIT
"""xpreemptd --check: the file that it reads, and what it reports."""

import os
import re
import subprocess

from runner.paths import REPO
from runner.testing.commands import CommandTest, fails, prints, program

SHIPPED = REPO / "tools/xpreemptd/xpreemptd.toml"


class Check(CommandTest):
    def setUp(self):
        super().setUp()
        self.daemon = program("xpreemptd")
        text = SHIPPED.read_text()
        self.spoiled = self.write("spoiled.toml", text + "floor = 3\n")
        self.names["wrong"] = f"{self.spoiled}:{len(text.splitlines()) + 1}"

    def test_shipped_file_is_correct(self):
        self.meets(prints(f"^{SHIPPED}: correct, 0 rules$"), self.daemon, "--check", "--config", SHIPPED)

    def test_attributes_of_rules_that_the_policy_ignores_are_named(self):
        rule = '[[rule]]\nuser = 0\nband = "high"\nweight = 3\n'
        for policy, ignored in ("BAND", "weight, priority"), ("CFS", "band, priority"):
            text = f'[policy]\nname = "{policy}"\n' + rule + '[[rule]]\nuser = 1\npriority = 2\n'
            rules = self.write("rules.toml", text)
            ran = self.meets(prints(f"^{rules}: correct, 2 rules$"), self.daemon, "--check", "--config", rules)
            self.assertRegex(ran.stdout, f"(?m)^{rules}: policy {policy} ignores {ignored}$")

    def test_error_names_file_line_and_key_without_a_level_of_the_journal(self):
        self.meets(fails(1, "^xpreemptd: $wrong:.*floor"), self.daemon, "--check", "--config", self.spoiled)

    def test_error_for_the_journal_begins_with_its_level(self):
        with open(self.work / "journal", "w+", encoding="utf-8") as journal:
            status = os.fstat(journal.fileno())
            environment = {**self.environment, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
            command = [self.daemon, "--check", "--config", self.spoiled]
            ended = subprocess.run(command, stderr=journal, env=environment, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex((self.work / "journal").read_text(), self.filled("^<3>xpreemptd: $wrong:"))

    def test_each_error_has_a_line_of_its_own(self):
        self.spoiled.write_text(self.spoiled.read_text() + "ceiling = 2\n")
        ran = self.meets(fails(1, "floor"), self.daemon, "--check", "--config", self.spoiled)
        self.assertEqual(len(re.findall(f"xpreemptd: {self.spoiled}:", ran.stderr)), 2, ran)

    def test_escape_sequences_in_the_name_of_a_file_are_escaped(self):
        """Names of files and of cgroups may hold any byte, and a terminal or a log would act on it."""
        strange = self.spoiled.rename(self.work / "rules\033[2J.toml")
        ran = self.meets(fails(1, r"/rules.x1b\[2J\.toml:.*floor"), self.daemon, "--check", "--config", strange)
        self.assertNotIn("\033", ran.stderr)

    def test_c1_control_characters_in_the_name_of_a_file_are_escaped(self):
        strange = self.spoiled.rename(self.work / "rules\x9b2J.toml")
        ran = self.meets(fails(1, r"/rules.xc2.x9b2J\.toml:.*floor"), self.daemon, "--check", "--config", strange)
        self.assertNotIn("\x9b", ran.stderr)

    def test_default_is_the_file_in_etc_which_the_help_names(self):
        # A machine may have the file or not, and it may be right or wrong: the answer names it.
        self.assertRegex(self.ran(self.daemon, "--check").output, r"(?m)(^|xpreemptd: )/etc/xpreemptd\.toml:")
        self.meets(prints("--check /etc/xpreemptd.toml"), self.daemon, "--help")
