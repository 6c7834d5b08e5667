# SPDX-License-Identifier: MIT
"""Runs the commands of kfd-preempt-sim/POLICY.md as its reader does, and compares its figures."""

import os
import re
import tempfile
from pathlib import Path

from fixture import rows_of
from runner.paths import REPO
from runner.testing.commands import CommandTest, cases, fails, program, run_command

LIBRARY = REPO / "libxpreempt"
PAGE = (REPO / "tools/kfd-preempt-sim/POLICY.md").read_text()
EXAMPLES = "/usr/share/doc/libxpreempt-dev*/examples/policy"
INSTALLED = "/usr/lib/xpreempt/policies"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Page(CommandTest):
    """The commands of the page run once, each in the directory in which the one before it has left its shell."""

    @classmethod
    def setUpClass(cls):
        cls.place = Path(cls.enterClassContext(tempfile.TemporaryDirectory())).resolve()
        commands = cls.place / "bin"
        commands.mkdir()
        for name in "kfd-preempt-sim", "xpreemptd":
            (commands / name).symlink_to(program(name))
        path = f"{commands}:{os.environ['PATH']}"
        cls.settings = {**os.environ, "PATH": path, "CPATH": LIBRARY / "include", "LC_ALL": "C"}
        cls.directory, cls.output = cls.place, {}
        for block in blocks("sh"):
            block = block.replace(EXAMPLES, str(LIBRARY / "examples/policy"))
            ran = run_command(["bash", "-euc", f"{block}\npwd > '{cls.place}/pwd'"], cls.settings, cwd=cls.directory)
            cls.output[block.splitlines()[0]] = ran
            if ran.status == 0:
                cls.directory = Path((cls.place / "pwd").read_text().strip())

    def setUp(self):
        super().setUp()
        self.environment = self.settings

    def shell(self, command):
        return self.ran("bash", "-euc", command, cwd=self.directory)

    def output_of(self, words):
        (ran,) = (ran for first, ran in self.output.items() if words in first)
        return ran.stdout

    def test_commands_of_the_page_succeed_without_a_word_on_standard_error(self):
        self.assertTrue(self.output)
        for first, ran in self.output.items():
            with self.subTest(first):
                self.assertEqual((ran.status, ran.stderr), (0, ""), ran)

    def test_page_has_the_figures_of_compare(self):
        compared = rows_of(self.output_of("compare inference-and-batch"))
        told = [row for row in rows_of(PAGE) if "p99/alone" in row]
        self.assertTrue(told)
        columns = ("p99/alone", "req/s over free", "longest wait ms")
        for row in told:
            found = [[other[column] for column in columns] for other in compared
                     if other["policy"] == row["policy"] and other["jobs"].startswith(row["job"] + " ")]
            self.assertEqual(found, [[row[column] for column in columns]], row)

    def test_short_patience_costs_the_latency_of_the_service(self):
        setting = "policy.SHORTEST-FIRST.patience"
        swept = {row[setting]: float(row["p99/alone"]) for row in rows_of(self.output_of("sweep"))
                 if row["policy"] == "SHORTEST-FIRST" and setting in row}
        self.assertGreater(swept["5ms"], 2.5)
        self.assertLess(swept["50ms"], 1.1)

    def test_check_prints_seven_tests_without_a_failure(self):
        checked = self.output_of(" check ")
        self.assertEqual(len(re.findall(r"(?m)^ok \d", checked)), 7, checked)
        self.assertTrue(checked.endswith("1..7\n"), checked)

    def test_check_finds_a_static_variable(self):
        ran = self.shell(
            "sed 's/own->last ? .* : 0/calls++ * 1000 + (&)/;s/^static int64_t decide/static int64_t calls;\\n&/' "
            "shortest_first.c > static.c; cc -std=c11 -shared -fPIC -o static.so static.c; "
            "kfd-preempt-sim check --plugin ./static.so")
        self.assertEqual(ran.status, 1, ran)
        self.assertIn("not ok 2", ran.stdout)
        self.assertIn("# seed 1, at ", ran.stdout)

    @cases(
        ("check of a missing plug-in", "check --plugin ./absent.so",
         1, "--plugin: ./absent.so: the plug-in cannot be read: No such file"),
        ("run with a plug-in that is no library", "run disb-a --plugin ./Makefile", 1, "Makefile: no shared library"),
        ("check without a plug-in", "check", 2, "--plugin"),
        ("check of no events", "check --plugin ./shortest_first.so --events 0", 2, ""),
        ("run of an unknown policy", "run disb-a --policy MINE", 1, "MINE: no such policy"),
        ("run of a part of the name of a policy", "run disb-a --plugin ./shortest_first.so --policy SHORTEST",
         1, "expected one of BAND, HPF"),
        ("run with a parameter out of range",
         "run disb-a --plugin ./shortest_first.so --set policy.SHORTEST-FIRST.turn=1us",
         1, 'turn is "1us", expected a duration from "1ms" to "1s"'),
    )
    def refused(self, words, status, text):
        ran = self.shell(f"kfd-preempt-sim {words}")
        self.assertEqual(ran.status, status, ran)
        self.assertIn(text, ran.output)

    def test_list_has_the_policy_and_its_parameters(self):
        listed = self.shell("kfd-preempt-sim list --plugin ./shortest_first.so").stdout
        self.assertIn("PARK, SHORTEST-FIRST", listed)
        self.assertIn("policy.SHORTEST-FIRST.patience", listed)

    @cases(
        ("fault of a policy ends run", "run inference-and-batch"),
        ("fault of a policy ends compare", "compare inference-and-batch"),
        ("fault of a policy ends sweep", "sweep inference-and-batch --vary gpu.capacity=1,2"),
    )
    def faulty(self, words):
        ran = self.shell(
            f"sed 's/return next_of(snapshot, states);/return 0;/' shortest_first.c > {self.work}/faulty.c; "
            f"cc -std=c11 -w -shared -fPIC -o {self.work}/faulty.so {self.work}/faulty.c; "
            f"kfd-preempt-sim {words} --plugin {self.work}/faulty.so --policy SHORTEST-FIRST")
        self.assertEqual((ran.status, ran.stdout), (1, ""), ran)
        self.assertRegex(ran.stderr, r": after 0\.\d+ s plug-in SHORTEST-FIRST returned 0 ns")

    def test_daemon_takes_the_rules_of_the_page_with_a_plugin_that_only_this_user_may_write(self):
        policies = self.work / "policies"
        policies.mkdir(mode=0o755)
        (rules,) = blocks("toml")
        file = self.write("xpreemptd.toml", rules.replace(INSTALLED, str(policies)))
        installed = policies / "shortest_first.so"
        check = ("xpreemptd", "--config", file, "--check")
        self.meets(fails(1, f"{installed} cannot be read: No such file"), *check)
        self.succeeds("install", "-D", "-m", "644", self.directory / "shortest_first.so", installed)
        self.assertIn("correct", self.succeeds(*check).stdout)
        installed.chmod(0o666)
        self.meets(fails(1, f"`chmod go-w {installed}`"), *check)

    def test_page_is_short(self):
        self.assertLessEqual(len(PAGE.split()), 900)
