# SPDX-License-Identifier: MIT
"""ci/demo passes by lines that programs print: the patterns must match these programs, and nothing else."""

import re
import unittest

from runner import demo
from runner.paths import REPO, VM

C_PROGRAMS = {name: REPO / f"selftests/kfd_preempt/{name}.c" for name in ("preempt_demo", "vram_job")}


def printed(name: str) -> list[str]:
    """Lines that the program prints, with numbers for its conversions and constants for %d of HOLD_SECONDS."""
    source = C_PROGRAMS[name].read_text()
    constants = dict(re.findall(r"^#define (\w+) (\d+)", source, re.MULTILINE))
    lines = []
    for text, arguments in re.findall(r'printf\("((?:[^"\\]|\\.)*)\\n"([^;]*)\);', source):
        values = iter(each.strip() for each in arguments.split(",")[1:])
        line = re.sub(r"%(?:l?u|d|s)", lambda _: constants.get(next(values), "7"), text)
        lines.append(line)
    return lines


class Patterns(unittest.TestCase):
    def test_the_success_of_preempt_demo_passes(self):
        line = [each for each in printed("preempt_demo") if each.startswith("PASS: ")]
        self.assertEqual(len(line), 1)
        self.assertEqual(demo.passed("demo", ["$ kfd-preempt list", *line]), line[0])

    def test_the_success_of_demo_yield_passes(self):
        found = re.search(r'^echo "(PASS: .*)"$', (VM / "demo-yield.sh").read_text(), re.MULTILINE)
        line = re.sub(r'\$\(mib_of "\$\w+"\)', "192", found[1])
        self.assertEqual(demo.passed("demo-yield", [line]), line)

    def test_the_line_in_readme_passes(self):
        line = re.search(r"^PASS: stopped at .*$", (REPO / "README.md").read_text(), re.MULTILINE)[0]
        self.assertTrue(demo.passed("demo", [line.replace(" K,", " 7,")]))

    def test_other_lines_do_not_pass(self):
        line = next(each for each in printed("preempt_demo") if each.startswith("PASS: "))
        for other in ("FAIL" + line[4:], line + " and more", "# " + line, line.replace("checksum ok", "checksum is right")):
            self.assertIsNone(demo.passed("demo", [other]))

    def test_the_scripts_in_the_guest_wait_for_lines_of_the_programs(self):
        scripts = {
            "demo.sh": ("preempt_demo", r"wait_for '([^']*)'", 2),
            "demo-yield.sh": ("vram_job", r"(?:grep -q '|sed -n 's/)(\^[^'/]*)['/]", 3),
        }
        for script, (program, pattern, count) in scripts.items():
            waited = re.findall(pattern, (VM / script).read_text())
            self.assertEqual(len(waited), count, script)
            for each in waited:
                self.assertTrue(any(re.search(each, line) for line in printed(program)), f"{script}: {each}")
