# SPDX-License-Identifier: MIT
"""Whether every page and message that lists policies lists those that the code has."""

import re
import unittest

from runner.paths import REPO

PLACES = [
    "*.md", "libxpreempt/man/*.scd", "libxpreempt/include/xpreempt/*.h", "libxpreempt/compat/**/*.h",
    "libxpreempt/src/**/*.[ch]pp", "libxpreempt/python/**/*.py", "tools/man/*.scd", "tools/*/*.md", "tools/xpreemptd/*.toml",
    "tools/xpreemptd/**/*.[ch]pp", "tools/kfd-preempt/**/*.[ch]pp",
]
LONG = 6  # fewer names are an example


def names_in(path: str, pattern: str) -> set[str]:
    """Names of policies in quotes in the part of a file of the code that the pattern finds."""
    (part,) = re.findall(pattern, (REPO / path).read_text(), re.DOTALL)
    return {spelled(name) for name in re.findall(r'"([A-Z-]+)"', part)}


def spelled(name: str) -> str:
    return name.replace("-", "")  # XSched's variable has KEDF


def lists_in(text: str, known: set[str]) -> list[set[str]]:
    """Names of policies with nothing between them but commas, "and" or "or"."""
    name = r"\b[A-Z][A-Z-]*[A-Z]\b"
    words = re.sub(r'[`*"_\\]|\n[ \t]*(//|#|\*)?', " ", text)
    found = re.findall(rf"{name}(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+){name}){{{LONG - 1},}}", words)
    lists = [{spelled(word) for word in re.findall(name, one)} for one in found]
    return [names for names in lists if len(names & known) >= LONG]


class Policies(unittest.TestCase):
    def setUp(self):
        self.of_daemon = names_in("libxpreempt/src/sched/policy.hpp", r"policy_names[^;]*?\{(.*?)\};")
        self.of_process = names_in("libxpreempt/src/capi/policies.cpp", r"(known_policies\{\{.*?\};)")
        self.assertIn("BAND", self.of_daemon)
        self.assertLess(self.of_process, self.of_daemon)

    def test_each_list_has_those_of_the_daemon_or_of_a_process(self):
        allowed = [self.of_daemon, self.of_daemon - {"BAND"}, self.of_process]
        found = 0
        for place in PLACES:
            for path in sorted(REPO.glob(place)):
                for names in lists_in(path.read_text(), self.of_daemon):
                    found += 1
                    with self.subTest(path=str(path.relative_to(REPO))):
                        nearest = min(allowed, key=lambda policies: len(policies ^ names))
                        self.assertEqual(sorted(names), sorted(nearest))
        self.assertGreater(found, LONG)

    def test_each_policy_of_the_daemon_but_the_default_has_an_entry_in_its_page(self):
        page = (REPO / "tools/man/xpreemptd-policies.5.scd").read_text()
        entries = {spelled(name) for name in re.findall(r"^\*([A-Z-]+)\*$", page, re.MULTILINE)}
        self.assertEqual(sorted(entries & self.of_daemon), sorted(self.of_daemon - {"BAND"}))
